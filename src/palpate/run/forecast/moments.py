"""The moments of a run that matter, and the modes of its loop there.

In the air, after the first touch of each surface, at the end as the contact is and as it would be if it stuck or slid,
and the worst of a few moments between. A loop that never comes to rest is also asked at the posture at which the same
run with less delay or gain ends: what it shows while it shakes says nothing of where it would stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from palpate.errors import PalpateError
from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.forecast.variants import Variants, calmer
from palpate.run.run import Run
from palpate.run.saved import carried_words, copied_memories, restore_memories
from palpate.run.tangent.along import moments_up_to
from palpate.run.tangent.loop_poles import LoopPoles, poles_here, run_until
from palpate.run.tangent.tick_map import contact_names, contact_state
from palpate.world.forces.contact import PointContact

SHAKES = 0.02  # rad/s or m/s: joints that are slower stand
MOMENTS_BETWEEN = 4  # moments between start and end that are looked at
_LOOK = 0.01  # s between two looks at the contacts
_LOOKS = 5  # at the start, up to which an arm that stands is slow
_TRIES = 20  # looks at the start for a moment at which no torque is cut
_SETTLED = 0.1  # s after a first touch
_SPAN = 0.2  # s before the end, in which states of contact are looked at
_BACK = (47, 31, 18, 7, 0)  # control ticks before the end, at which a contact that comes and goes is looked at
_STUCK = 1e6  # a coefficient of friction that lets nothing slide


@dataclass(frozen=True)
class LoopMoment:
    """A moment of a run, and the poles of its loop then.

    Attributes:
        name: in words.
        poles: see `poles`.
        stands: whether the arm stands there, so that its poles say what becomes of an error; of one that moves on,
            they hold for a moment only.
    """

    name: str
    poles: LoopPoles
    stands: bool = True

    @property
    def state(self) -> str:
        """The state of contact, in words."""
        touching = [f"{state} on {name}" for name, state in self.poles.contact.items() if state != "free"]
        return ", ".join(touching) or "in the air"


@dataclass(frozen=True)
class Asked:
    """The moments of a run, and whether it came to rest.

    Attributes:
        moments: in their order.
        rests: whether the run came to its end, and its joints were slower than 0.02 rad/s or m/s there.
        calmed: how the run was calmed at whose last posture the loop was asked; empty where it was not.
    """

    moments: tuple[LoopMoment, ...]
    rests: bool
    calmed: str = ""

    @property
    def worst(self) -> LoopMoment | None:
        """Where the arm stands, the moment of the largest pole; None where nothing is known."""
        return worst_of([moment for moment in self.moments if moment.stands])

    @property
    def stable(self) -> bool | None:
        """Whether the loop is stable wherever the arm stands; None where nothing is known."""
        return None if self.worst is None else self.worst.poles.stable


def worst_of(moments: Sequence[LoopMoment]) -> LoopMoment | None:
    """The moment of the largest pole among those whose poles say something; None where none does."""
    known = [moment for moment in moments if moment.poles.stable is not None]
    return max(known, key=lambda moment: moment.poles.largest, default=None)


def ask(variants: Variants, run: Run, *, finer: bool = True) -> Asked:
    """The poles of a run's loop at the moments that matter.

    Args:
        variants: which the run is one of.
        run: of the variants' clock.
        finer: also with physics steps of a quarter, see `poles`.
    """
    assembly = variants.ready(run)
    moments, rests, ended = _along(assembly, variants, finer)
    there = [moment for moment in moments if moment.name == "end"]
    if rests or (ended and there and all(moment.poles.stable for moment in there)):
        return Asked(tuple(moments), rests)
    moments = _all_standing(moments)
    for words, calm in calmer(run):
        if (standing := _at_posture_of(variants, calm, run, words, finer)) is not None:
            return Asked((*moments, standing), False, words)
    return Asked(tuple(moments), False)


def ask_ends(variants: Variants, run: Run, *, start: bool = True, finer: bool = False) -> Asked:
    """The same at the start and at the end alone; at the start alone if it is unstable there.

    Args:
        variants: which the run is one of.
        run: of the variants' clock.
        start: whether the start is asked too.
        finer: as for `ask`.
    """
    assembly = variants.ready(run)
    L = assembly.loop
    moments, look = [], max(1, round(_LOOK / L.period))
    if start:
        moments.append(_start(assembly, round(variants.end / L.period), look, finer))
        if moments[0].stands and moments[0].poles.stable is False:
            return Asked(tuple(moments), True)
    for time, name in ((variants.end, "end"), (variants.end + variants.after, "later")):
        there = _shown(assembly, round(time / L.period) - 1, name, finer)
        if there is not None and (_slow(assembly) or variants.moving):
            return Asked((*moments, *there, *_otherwise(assembly, True, finer)), True)
    moments = _all_standing(moments)
    if any(moment.poles.stable is False for moment in moments):
        return Asked(tuple(moments), False)
    found = transferred(standing(variants), variants.ready(run), finer=finer)
    return Asked((*moments, LoopMoment("end of the run as it is", found)), False)


def _shown(assembly: Assembly, last: int, name: str, finer: bool) -> list[LoopMoment] | None:
    """The poles in each state of contact that a few ticks up to the last one show; None where the run ends before."""
    L, found = assembly.loop, {}
    for back in _BACK:
        if not run_until(assembly, max(last - back, L.tick_count)):
            return None
        state = tuple(contact_state(contact) for contact in L.contacts if contact.surface.compliant)
        if state not in found:
            found[state] = LoopMoment(name, poles_here(assembly, finer=finer, probing=False))
    return list(found.values())


def _all_standing(moments: list[LoopMoment]) -> list[LoopMoment]:
    """The moments of a run that never rests: one that grows there is not over soon."""
    return [LoopMoment(moment.name, moment.poles) for moment in moments]


def standing(variants: Variants) -> Assembly:
    """The run as it is at its end."""
    if variants.standing is None:
        variants.standing = assemble(variants.base)
        run_until(variants.standing, round(variants.end / variants.standing.loop.period))
    return variants.standing


def _along(assembly: Assembly, variants: Variants, finer: bool) -> tuple[list[LoopMoment], bool, bool]:
    """The moments of a run as it goes, whether it rests at its end, and whether it comes there."""
    L = assembly.loop
    last, look = round(variants.end / L.period), max(1, round(_LOOK / L.period))
    moments = [_start(assembly, last, look, finer)]
    due: dict[str, int] = {}
    asked: set[str] = set()
    between, shares = [], list(np.arange(1, MOMENTS_BETWEEN + 1) / (MOMENTS_BETWEEN + 1))
    while L.tick_count < last - round(_SPAN / L.period):
        if not run_until(assembly, min(L.tick_count + look, last)):
            return [*moments, *between], False, False
        for name in touched(assembly) - due.keys():
            due[name] = L.tick_count + round(_SETTLED / L.period)
        for name in [name for name, tick in due.items() if tick <= L.tick_count and name not in asked]:
            asked.add(name)
            found = poles_here(assembly, finer=finer)
            moments.append(LoopMoment(f"{_SETTLED:g} s after the touch of {name!r}", found, _slow(assembly)))
        if shares and L.tick_count >= shares[0] * last:
            shares.pop(0)
            found = poles_here(assembly, finer=False, probing=False)
            between.append(LoopMoment("between", found, _slow(assembly)))
    if (worst := worst_of(between)) is not None:
        moments.append(LoopMoment(f"worst of {len(between)} between", worst.poles, worst.stands))
    ending, rests, ended = _ending(assembly, last, variants.moving, finer)
    return [*moments, *ending], rests, ended


def _ending(assembly: Assembly, last: int, moving: bool, finer: bool) -> tuple[list[LoopMoment], bool, bool]:
    """The states of contact before the end, and as they would be if contacts stuck or slid."""
    L = assembly.loop
    shown = moments_up_to(assembly, last, "end", finer=finer)
    rests = _slow(assembly)
    ended = L.tick_count >= last and all(moment.name == "end" for moment in shown)
    moments = [LoopMoment(moment.name, moment.poles, rests or moving) for moment in shown]
    if ended:
        moments += _otherwise(assembly, rests or moving, finer)
    return moments, rests and ended, ended


def _slow(assembly: Assembly) -> bool:
    return bool(np.abs(assembly.loop.plant.qvel).max(initial=0.0) < SHAKES)


def _start(assembly: Assembly, last: int, look: int, finer: bool) -> LoopMoment:
    """The poles as soon as the driver cuts no torque; it stands if it is still slow a little later."""
    L = assembly.loop
    found = poles_here(assembly, finer=finer)
    while found.saturated and L.tick_count < min(_TRIES * look, last) and run_until(assembly, L.tick_count + look):
        found = poles_here(assembly, finer=finer)
    slow = _slow(assembly)
    for _ in range(_LOOKS):
        slow = slow and run_until(assembly, min(L.tick_count + look, last)) and _slow(assembly)
    return LoopMoment("start", found, slow)


def touched(assembly: Assembly) -> set[str]:
    """The names of compliant contacts that are closed now."""
    pairs = zip(contact_names(assembly), assembly.loop.contacts)
    return {name for name, contact in pairs if contact.surface.compliant and contact.depth > 0.0}


def _otherwise(assembly: Assembly, stands: bool, finer: bool) -> list[LoopMoment]:
    """The poles if a contact that sticks slid, or one that slides stuck, at the same posture."""
    moments = []
    for name, contact in zip(contact_names(assembly), assembly.loop.contacts):
        state = contact_state(contact) if contact.surface.compliant else "free"
        if state == "free" or contact.surface.friction <= 0.0:
            continue
        other: Literal["slides", "sticks"] = "slides" if state == "sticks" else "sticks"
        with _made_to(contact, other):
            words = f"end, if it {'slid' if other == 'slides' else 'stuck'} on {name!r}"
            moments.append(LoopMoment(words, poles_here(assembly, finer=finer), stands))
    return moments


@contextmanager
def _made_to(contact: PointContact, state: Literal["slides", "sticks"]) -> Iterator[None]:
    """Let a contact slide without friction, or stick whatever pulls at it."""
    surface, slip = contact.surface, contact.slip.copy()
    friction = surface.friction
    surface.friction = 0.0 if state == "slides" else _STUCK
    if state == "slides":
        contact.slip[:] = 0.0
    try:
        yield
    finally:
        surface.friction = friction
        contact.slip[:] = slip


def _at_posture_of(variants: Variants, calm: Run, run: Run, words: str, finer: bool) -> LoopMoment | None:
    """The poles of a run's loop where a calmer run ends at rest; None where that one does not rest either."""
    try:
        standing = assemble(calm)
        if not run_until(standing, round(variants.end / standing.loop.period)) or not _slow(standing):
            return None
        return LoopMoment(f"end of the same run {words}", transferred(standing, assemble(run), finer=finer))
    except PalpateError:
        return None


def transferred(standing: Assembly, asked: Assembly, *, finer: bool = True) -> LoopPoles:
    """The poles of one loop in the state of another of the same parts; its delay lines hold what stands there.

    Args:
        standing: a run that stands at a control tick after its first.
        asked: the run whose poles are asked for; it is left in that state.
        finer: see `poles`.
    """
    source, goal = carried_words(standing), carried_words(asked)
    words, places = source.save(), {field.path: k for k, field in enumerate(source.fields)}
    new = goal.save()
    for k, field in enumerate(goal.fields):
        at = places.get(field.path)
        if at is not None and source.fields[at].shape == field.shape:
            new[goal.starts[k] : goal.starts[k + 1]] = words[source.starts[at] : source.starts[at + 1]]
    goal.restore(new)
    restore_memories(asked, copied_memories(standing))
    for field in goal.fields:
        if field.how.counter and field.how.line and len(field.shape) == 2 and field.shape[0] > 1:
            line: Any = field.record
            line.ring[:] = np.asarray(line.fresh)[None, :]
            line.count = max(standing.loop.tick_count, field.shape[0])
    asked.sampled = None
    return poles_here(asked, finer=finer)

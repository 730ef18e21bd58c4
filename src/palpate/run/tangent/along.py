"""Poles at the moments of a run that matter: at its start, where it first touches each surface, and at its end."""

from __future__ import annotations

from dataclasses import dataclass

from palpate.run.assemble.assemble import Assembly, assemble
from palpate.run.build import Source, as_run
from palpate.run.tangent.loop_poles import LoopPoles, poles_here, run_until
from palpate.run.tangent.tick_map import contact_names, contact_state

_LOOK = 0.01  # s between two looks at the contacts
_TRIES = 20  # looks at the start for a moment at which no torque is cut
_SPAN = 0.2  # s before the end in which a loop that does not come to rest shows its states of contact
_STATES = 4  # of contact that are asked at most
_SETTLED = 0.1  # s after the first touch, when a bounce is over


@dataclass(frozen=True)
class Moment:
    """A moment of a run: its name, and the poles of the loop then."""

    name: str
    poles: LoopPoles


def poles_along(source: Source | Assembly, *, finer: bool = True) -> list[Moment]:
    """The poles at the start of a run, a little after each surface is first touched, and at the end.

    Args:
        source: a scenario, its name or file, a `Run`, or an assembly that is ready to start.
        finer: also with shorter physics steps, see `poles`.
    """
    assembly = source if isinstance(source, Assembly) else assemble(as_run(source))
    L = assembly.loop
    end, look = L.steps // L.ratio, max(1, round(_LOOK / L.period))
    moments = [Moment("start", _after_limits(assembly, min(_TRIES * look, end), look, finer))]
    due: dict[str, int] = {}
    asked: set[str] = set()
    while L.tick_count < end - round(_SPAN / L.period):
        before = L.tick_count
        if not run_until(assembly, min(before + look, end)):
            return [*moments, _before_its_end(assembly, finer)]
        for name in _touched(assembly) - due.keys():
            due[name] = L.tick_count + round(_SETTLED / L.period)
        for name in [name for name, tick in due.items() if tick <= L.tick_count and name not in asked]:
            asked.add(name)
            moments.append(Moment(f"touching {name}", poles_here(assembly, finer=finer)))
    return moments + moments_up_to(assembly, end, "end", finer=finer)


def moments_up_to(assembly: Assembly, tick: int, name: str, *, finer: bool = True) -> list[Moment]:
    """The poles in every state of contact that the last ticks up to one show: one of a run at rest, some of a bounce.

    Args:
        assembly: that has not come to the tick yet, or stands there.
        tick: the last one.
        name: of the moment.
        finer: see `poles`.
    """
    L, seen = assembly.loop, {}
    first = tick - round(_SPAN / L.period)
    if not run_until(assembly, max(first, L.tick_count)):
        return [_before_its_end(assembly, finer)]
    while True:
        state = tuple(contact_state(contact) for contact in L.contacts if contact.surface.compliant)
        last = L.tick_count >= tick
        if last or (state not in seen and len(seen) < _STATES):
            seen[state] = Moment(name, poles_here(assembly, finer=finer))
        if last:
            return list(seen.values())
        if not run_until(assembly, L.tick_count + 1):
            return [*seen.values(), _before_its_end(assembly, finer)]


def _after_limits(assembly: Assembly, last: int, look: int, finer: bool) -> LoopPoles:
    """The poles as soon as the driver cuts no torque, at a tick up to `last`."""
    found = poles_here(assembly, finer=finer)
    while found.saturated and assembly.loop.tick_count < last and run_until(assembly, assembly.loop.tick_count + look):
        found = poles_here(assembly, finer=finer)
    return found


def _touched(assembly: Assembly) -> set[str]:
    pairs = zip(contact_names(assembly), assembly.loop.contacts)
    return {name for name, contact in pairs if contact.surface.compliant and contact.depth > 0.0}


def _before_its_end(assembly: Assembly, finer: bool) -> Moment:
    """The last tick that a run makes which ends sooner than it should."""
    L, again = assembly.loop, assemble(assembly.run)
    run_until(again, max(L.step // L.ratio - 1, 0))
    return Moment(f"before it ends at {L.step * L.dt:.4g} s", poles_here(again, finer=finer))

"""Why a run did not do what its law promises: whatever it lacked in a rerun that did.

A cause is named only if the run keeps the promise without it. Where nothing alone is a cause, all that can be removed
is removed together, and put back one by one as long as the promise is kept; where that does not help either, the cause
was not found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

import numpy as np

from palpate.checks import Array
from palpate.control.guards import GUARD_NAMES
from palpate.errors import PalpateError
from palpate.run.after.ending import End
from palpate.run.after.promise import Miss, judged, misses, not_known
from palpate.run.after.removals import Removal, removals
from palpate.run.assemble.assemble import Assembly
from palpate.run.assemble.carrier import EQUATIONS
from palpate.run.loop.state import RATE_LIMITED, TORQUE_LIMITED
from palpate.run.run import Run
from palpate.spatial import Pose, matrix_from_quat

LIMITS = {TORQUE_LIMITED: "torque limit", RATE_LIMITED: "torque-rate limit", **GUARD_NAMES}
_SMALL = {"m": (1e3, "mm"), "rad": (1e3, "mrad")}
_NOT_SEARCHED = "its cause was not searched for"
_MOST_STEPS = {EQUATIONS: 100_000}  # physics steps of a run that is repeated, by who moves the plant
_MOST_STEPS_ELSEWHERE = 10_000

Ended = tuple[Assembly, Mapping[str, Array]]  # a run that has come to its end, and its channels by name


class Repeat(Protocol):
    """Makes runs once more."""

    interrupted: bool  # whether the user wants no more of them

    def __call__(self, run: Run) -> Ended | None:
        """A run once more; None where it does not come to its end."""
        ...


class Search:
    """Reruns of a run that has ended, each made once.

    Args:
        assembly: of the run.
        named: its channels by name.
        repeat: makes a rerun; None where the run cannot be repeated.
    """

    def __init__(self, assembly: Assembly, named: Mapping[str, Array], repeat: Repeat | None) -> None:
        self._assembly, self._named, self._repeat = assembly, named, repeat
        self._removals: list[Removal] | None = None
        self._reruns: dict[tuple[str, ...], Ended | None] = {}

    @property
    def possible(self) -> bool:
        """Whether the run can be repeated, and is short enough for it."""
        most = _MOST_STEPS.get(self._assembly.carrier.name, _MOST_STEPS_ELSEWHERE)
        repeatable = self._repeat is not None and self._assembly.exact is None
        return repeatable and self._assembly.run.clock.steps <= most

    def sentence(self, vanishes: Callable[[Assembly, Mapping[str, Array]], bool], *, loads: bool = False) -> str:
        """The causes in words: whatever is to be removed so that something `vanishes` in a rerun; `loads` alone."""
        if not self.possible:
            return _NOT_SEARCHED
        if self._removals is None:
            self._removals = removals(self._assembly, self._named)
        tried = [each for each in self._removals if each.load or not loads]
        alone = [each for each in tried if self._vanishes([each], vanishes)]
        if alone:
            return f"it is kept {' or '.join(f'without {each.what}' for each in alone)}"
        together = self._together(tried, vanishes)
        if together:
            return f"it is kept without {' and '.join(each.what for each in together)} together"
        if self._repeat is not None and self._repeat.interrupted:
            return _NOT_SEARCHED
        listed = "; ".join(each.what for each in tried)
        return f"cause not found (tried without: {listed})" if tried else "cause not found"

    def _together(
        self, tried: Sequence[Removal], vanishes: Callable[[Assembly, Mapping[str, Array]], bool]
    ) -> list[Removal]:
        """Removals that help together, none of which can be left out; none if all of them do not help."""
        needed = list(tried)
        if len(needed) < 2 or not self._vanishes(needed, vanishes):
            return []
        for each in list(needed):
            fewer = [other for other in needed if other is not each]
            if self._vanishes(fewer, vanishes):
                needed = fewer
        return needed

    def _vanishes(self, removed: Sequence[Removal], vanishes: Callable[[Assembly, Mapping[str, Array]], bool]) -> bool:
        key = tuple(each.what for each in removed)
        if key not in self._reruns:
            self._reruns[key] = self._rerun(removed)
        ended = self._reruns[key]
        return ended is not None and vanishes(*ended)

    def _rerun(self, removed: Sequence[Removal]) -> Ended | None:
        assert self._repeat is not None
        try:
            return self._repeat(reduce(lambda run, each: each.without(run), removed, self._assembly.run))
        except (PalpateError, np.linalg.LinAlgError):  # no such run
            return None


# ------------------------------------------------------------------ promises


def promise_warnings(end: End, search: Search) -> list[str]:
    """A sentence for every promise of the law that was not kept, with its causes.

    Where nothing is known of how the loop settles, a promise is judged against the run without its loads: it is broken
    if that run keeps it, and comes closer than this one by more than its loop leaves.
    """
    warnings = []
    for number, missed in misses(end):

        def kept(
            assembly: Assembly, named: Mapping[str, Array], number: int = number, missed: list[Miss] = missed
        ) -> bool:
            return _again((assembly, named), number, missed) is not None

        why = search.sentence(kept)
        unreached = _unreached(missed, end) if "it is kept" not in why else ""
        warnings.append(_broken(end, missed, unreached or why))
    return [*warnings, *_broken_by_loads(end, search)] if end.run.world.attachments else warnings


def _broken_by_loads(end: End, search: Search) -> list[str]:
    """The promises of which nothing is known in this run, and that it keeps without a load."""
    warnings = []
    for number, missed in not_known(end):
        nearer: list[Miss] = []

        def closer(
            assembly: Assembly,
            named: Mapping[str, Array],
            number: int = number,
            missed: list[Miss] = missed,
            nearer: list[Miss] = nearer,
        ) -> bool:
            again = _again((assembly, named), number, missed) or []
            far = [replace(m, tolerance=a.tolerance) for m, a in zip(missed, again) if m.size > a.tolerance]
            nearer[:] = nearer or far
            return bool(far)

        why = search.sentence(closer, loads=True)
        warnings += [_broken(end, nearer, why)] if nearer else []
    return warnings


def _again(ended: Ended, number: int, missed: list[Miss]) -> list[Miss] | None:
    """The same quantities in a rerun; None where it does not keep the promise about them, or that is not known."""
    again = {(miss.what, miss.unit): miss for miss in judged(*ended, number)}
    found = [again.get((miss.what, miss.unit)) for miss in missed]
    kept = [miss for miss in found if miss is not None and miss.kept and np.isfinite(miss.tolerance)]
    return kept if len(kept) == len(missed) else None


def _broken(end: End, missed: list[Miss], why: str) -> str:
    ended = " and ".join(_miss_in_words(miss) for miss in missed)
    return f"{end.law.name} did not keep its promise: at the end {ended}; {why}"


def _miss_in_words(miss: Miss) -> str:
    off = f"{miss.what} {'still move at' if miss.moving else 'has an error of'} {_with_unit(miss.size, miss)}"
    return f"{off} (the closed loop itself leaves at most {_with_unit(miss.tolerance, miss, 2)})"


def _with_unit(size: float, miss: Miss, digits: int = 3) -> str:
    """A size of what was missed, with its unit; small lengths and angles in thousandths."""
    factor, unit = _SMALL.get(miss.unit, (1.0, miss.unit))
    return f"{factor * size:.{digits}g} {unit}"


def _unreached(missed: list[Miss], end: End) -> str:
    """A target at which no posture of the arm was found, in words; empty where one was, or none is needed."""
    miss = missed[0]
    if miss.unit not in ("m", "rad") or miss.rows is None or len(miss.rows) == 1 or end.robot.nq != end.robot.nv:
        return ""
    goal = end.named["target_position"][-1]
    pose = Pose(goal, matrix_from_quat(end.named["target_quat_wxyz"][-1]))
    try:
        end.robot.inverse_kinematics(pose if end.robot.nv >= 6 else goal, seed=end.q, restarts=5)
    except PalpateError:
        return f"no posture of {end.robot.name} was found at its target"
    return ""

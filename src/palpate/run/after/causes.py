"""Why a run did not do what its law promises: whatever it lacked in a rerun that did.

A cause is named only if the run keeps the promise without it. Where nothing alone is a cause, all that can be removed
is removed together, and put back one by one as long as the promise is kept; where that does not help either, the cause
was not found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Protocol

import numpy as np

from palpate.checks import Array
from palpate.control.guards import GUARD_NAMES
from palpate.errors import PalpateError
from palpate.run.after.removals.every import removals
from palpate.run.after.removals.removal import Removal
from palpate.run.assemble.assemble import Assembly
from palpate.run.assemble.carrier import EQUATIONS
from palpate.run.loop.state import RATE_LIMITED, TORQUE_LIMITED
from palpate.run.run import Run

LIMITS = {TORQUE_LIMITED: "torque limit", RATE_LIMITED: "torque-rate limit", **GUARD_NAMES}
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

"""Where a mode ends: margins that fall through 0, found by steps of other lengths from the same state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.contact.motion.steps import Stepper
from palpate.contact.touch.contacts import Mode
from palpate.contact.touch.records import StepControl

TOGETHER = 1e-10  # s: events closer than this are one
GRAZE = 1e-10  # m: a gap that comes closer than this without closing has grazed
_STEADY = 0.02  # how much the ratio of two successive flights may still change
UNRESOLVED = 1e-8  # s: a flight shorter than this is lost in rounding, whatever its series


@dataclass(frozen=True)
class ContactEvent:
    """Something that happened to a contact.

    Attributes:
        time: when, s.
        what: "touchdown", "impact" (without a collision), "graze", "lift-off", "slip", "stick", "reversal", "side",
            "edge", "zeno", "painleve", "dependent" (held directions) or "limit" (of a joint).
        contact: its name (a joint's for "limit").
        where: its point (a ball's centre), world, m.
        before, after: its mode.
        q: coordinates.
        v_before, v_after: velocities; they differ where there is an impulse.
        detail: impulse (N·s, world), dissipated energy (J), coefficient (1/kg), and the like, where there is one.
    """

    time: float
    what: str
    contact: str
    where: Array
    before: Mode
    after: Mode
    q: Array
    v_before: Array
    v_after: Array
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        change = f"{self.before} → {self.after}" if self.before != self.after else self.before
        return f"{self.time:14.10f} s  {self.what:<10} {self.contact:<12} {change}"


def first_fall(watch: StepControl, lengths: Array, margins: Array) -> tuple[float, float, list[int]] | None:
    """The first of the sampled intervals (its ends, s) in which a margin falls, and all that fall there."""
    armed = watch.armed.astype(bool)
    left, before = 0.0, watch.margins
    for right, values in zip(lengths, margins):
        # What was near 0 from the start counts only if it goes on falling.
        sinking = ~armed & (values < -watch.noise) & (values < before)
        fallen = np.flatnonzero((armed & (values <= 0.0)) | sinking)
        if fallen.size:
            return float(left), float(right), [int(j) for j in fallen]
        armed |= values > watch.noise
        left, before = right, values
    watch.armed[:] = armed
    return None


def dips(stepper: Stepper, lengths: Array, margins: Array) -> list[tuple[float, int, float]]:
    """Where margins are least between the samples of a step, near 0: (length, margin, value)."""
    from scipy.optimize import minimize_scalar

    minima, ends, start = [], np.append(0.0, lengths), stepper.control.margins
    for j in np.flatnonzero(np.isfinite(start) & np.isfinite(margins).all(axis=0)):
        values = np.append(start[j], margins[:, j])
        k = int(np.argmin(values))
        if not 0 < k < len(values) - 1 or not values[k] < max(values[k - 1], values[k + 1]) - values[k]:
            continue  # between two samples it falls by no more than it rises over them
        low = minimize_scalar(
            lambda length, j=j: float(stepper.margins_after(length)[j]),
            bounds=(ends[k - 1], ends[k + 1]),
            method="bounded",
            options={"xatol": 1e-9 * ends[-1]},
        )
        minima.append((float(low.x), int(j), float(low.fun)))
    return sorted(minima)


def locate(stepper: Stepper, bracket: tuple[float, float, list[int]]) -> tuple[float, list[int]]:
    """How long the step to the first margin that falls in a bracket is, and the margins that are 0 there."""
    left, right, fallen = bracket
    roots = {j: _root(stepper, j, left, right) for j in fallen}
    first = min(roots.values())
    return first, [j for j in fallen if roots[j] - first <= TOGETHER]


def _root(stepper: Stepper, j: int, left: float, right: float) -> float:
    """Where margin j is 0; where it has just jumped below, under a force that jumps."""
    from scipy.optimize import brentq

    def value(length: float) -> float:
        return float(stepper.margins_after(length)[j])

    low, high = value(left), value(right)
    if low <= 0.0 or high >= 0.0:  # it was 0 from the start, or falls exactly at the end
        return left if low <= 0.0 else right
    root, ahead = float(np.asarray(brentq(value, left, right, xtol=1e-16, rtol=np.float64(1e-15)))), 1e-16
    while value(root) > stepper.control.noise[j]:
        root, ahead = min(root + ahead, right), 2.0 * ahead
    return root


@dataclass
class Bounces:
    """One contact's bounces: when it left its surface, and for how long each time.

    A flight that begins with u lasts T = 2 u/|g̈|. With D the time between its last two departures and r the ratio of
    their flights, the next departures follow after D r, D r², …, and the series ends at L = t + D r/(1 − r). L errs by
    the third order of the flight, by the second where damping acts, so its error shrinks by r³ or r² each time; the
    last three estimates tell which (Aitken), and the rest of that series is taken off.
    """

    times: list[float] = field(default_factory=list)
    flights: list[float] = field(default_factory=list)

    def copy(self) -> Bounces:
        """Another history with the same past."""
        return Bounces(list(self.times), list(self.flights))

    def add(self, time: float, flight: float) -> None:
        """A departure and the flight after it; only the last few are kept."""
        self.times, self.flights = [*self.times[-4:], time], [*self.flights[-4:], flight]

    def limit(self) -> tuple[float, float] | None:
        """When the series ends and how far the last two estimates differ; None while it is not geometric."""
        if len(self.flights) < 4:
            return None
        T = self.flights
        r, r_before = T[-1] / T[-2], T[-2] / T[-3]
        if not (r < 1.0 and r_before < 1.0 and abs(r - r_before) < _STEADY):
            return None
        last, before = self._end(-1, r), self._end(-2, r_before)
        shrinks = r**3
        if len(T) > 4 and before != (earlier := self._end(-3, T[-3] / T[-4])):
            shrinks = min(max((last - before) / (before - earlier), r**3), r**2)
        return max(last + (last - before) * shrinks / (1 - shrinks), self.times[-1]), abs(last - before)

    def _end(self, n: int, r: float) -> float:
        """L from the n-th departure."""
        next_pause, pause = self.flights[n], self.times[n] - self.times[n - 1]
        if abs(pause - self.flights[n - 1]) > 1e-3 * pause:  # another contact strikes in between
            next_pause = pause * r
        return self.times[n] + next_pause / (1 - r)

"""Where a mode ends: margins that fall through 0, found on a step's dense output and sharpened by stepping there."""

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
_CLOSE = 1e-13  # s: how sharply a time is found
_STEADY = 0.02  # how much the ratio of two successive flights may still change
UNRESOLVED = 1e-8  # s: a flight shorter than this is lost in rounding, whatever its series


@dataclass(frozen=True)
class Event:
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


def first_fall(watch: StepControl, x: Array, margins: Array) -> tuple[float, float, list[int]] | None:
    """The first of the sampled intervals (its ends) in which a margin falls, and all that fall there."""
    armed = watch.armed.astype(bool)
    left, before = 0.0, watch.margins
    for right, values in zip(x, margins):
        # What was near 0 from the start counts only if it goes on falling.
        sinking = ~armed & (values < -watch.noise) & (values < before)
        fallen = np.flatnonzero((armed & (values <= 0.0)) | sinking)
        if fallen.size:
            return float(left), float(right), [int(j) for j in fallen]
        armed |= values > watch.noise
        left, before = right, values
    watch.armed[:] = armed
    return None


def dips(stepper: Stepper, x: Array, margins: Array, start: Array) -> list[tuple[float, int, float]]:
    """Where margins are least inside the last step, near 0: (fraction, margin, value)."""
    from scipy.optimize import minimize_scalar

    minima, places = [], np.append(0.0, x)
    for j in np.flatnonzero(np.isfinite(start) & np.isfinite(margins).all(axis=0)):
        values = np.append(start[j], margins[:, j])
        k = int(np.argmin(values))
        if not 0 < k < len(values) - 1 or not values[k] < max(values[k - 1], values[k + 1]) - values[k]:
            continue  # between two samples it falls by no more than it rises over them
        low = minimize_scalar(
            lambda at, j=j: float(stepper.margins_inside(at)[j]),
            bounds=(places[k - 1], places[k + 1]),
            method="bounded",
            options={"xatol": 1e-9},
        )
        minima.append((float(low.x), int(j), float(low.fun)))
    return sorted(minima)


def locate(stepper: Stepper, start: Array, bracket: tuple[float, float, list[int]]) -> tuple[float, list[int]]:
    """The time of the first margin to fall inside a bracket of the last step; the step is taken again up to there.

    Returns:
        How long the step to the event is, and the margins that are 0 there (to TOGETHER).
    """
    left, right, fallen = bracket
    length = stepper.step.h
    roots = {j: _root(stepper, j, left, right, start) for j in fallen}
    first = min(roots.values())
    together = [j for j in fallen if (roots[j] - first) * length <= TOGETHER]
    return _sharpen(stepper, start, first * length, together[0]), together


def _root(stepper: Stepper, j: int, left: float, right: float, start: Array) -> float:
    from scipy.optimize import brentq

    def value(x: float) -> float:
        return float(stepper.margins_inside(x)[j]) if x > 0.0 else float(start[j])

    low, high = value(left), value(right)
    if low <= 0.0 or high >= 0.0:  # it was 0 from the start, or falls exactly at the end
        return left if low <= 0.0 else right
    return float(np.asarray(brentq(value, left, right, xtol=1e-15, rtol=np.float64(1e-15))))


def _sharpen(stepper: Stepper, start: Array, length: float, j: int) -> float:
    """Newton's steps on the length of a true step, whose end is more exact than dense output."""
    if length <= 0.0:
        return 0.0
    stepper.stride(length, start)
    for _ in range(6):
        value = stepper.margins()[j]
        ahead = max(1e-7 * length, 1e-12)
        stepper.stride(length + ahead, start)
        slope = (stepper.margins()[j] - value) / ahead
        move = -value / slope if slope < 0.0 else 0.0
        move = float(np.clip(move, -0.1 * length, 0.1 * length))
        length += move
        stepper.stride(length, start)
        if abs(move) <= _CLOSE:
            break
    return length


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

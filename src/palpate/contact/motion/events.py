"""Where a mode ends: margins that fall through 0, found on a step's dense output and sharpened by stepping there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.contact.motion.stepper import Stepper
from palpate.contact.touch.contacts import Mode
from palpate.contact.touch.records import StepControl

TOGETHER = 1e-10  # s: events closer than this are one
GRAZE = 1e-10  # m: a gap that comes closer than this without closing has grazed
_CLOSE = 1e-13  # s: how sharply a time is found


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

"""The friction curve that falls with speed: F + F_s e^{−(q̇/v_s)²}, its speed v_s sought, its error in every interval.

v_s bends the curve and is not linear in the torques. Some speeds are tried, the lowest residual's neighbourhood is
refined by Gauss and Newton's steps, with one column ∂τ/∂v_s = F_s e^{−(q̇/v_s)²} 2 q̇²/v_s³ sign q̇ per joint. The same
columns stand in the last fit, so that blocks of rows tell what a v_s that is not known exactly, nor the same in every
joint, does to the other parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.tools.logs.balance import Fit, Rows, fit, with_speed
from palpate.tools.logs.cleaning import Motion
from palpate.tools.logs.model import SPEEDS, Arm

SEEN_EFFECT = 5.0  # deviations from which on a Stribeck effect is believed: several joints and speeds are tried
SUSPECTED = 2.5  # deviations from which on intervals hold the other friction curve's too
_STEPS, _FARTHEST = 6, 1.5  # Gauss–Newton steps, and the factor that one changes v_s by at most


@dataclass(frozen=True)
class Curve:
    """The friction curve with a Stribeck effect that leaves the least.

    Attributes:
        speed: v_s, rad/s.
        fit: the parameters at this speed; deviations hold the error of the speed where an effect is suspected.
        freed: the parameters where each joint has a speed of its own; None where no effect is suspected.
        strength: deviations by which the strongest joint's effect differs from 0.
    """

    speed: float
    fit: Fit
    freed: Fit | None
    strength: float

    @property
    def seen(self) -> bool:
        """Whether the recording has a Stribeck effect."""
        return self.strength > SEEN_EFFECT

    @property
    def suspected(self) -> bool:
        """Whether it may have one."""
        return self.strength > SUSPECTED


def best_curve(rows: Rows, motion: Motion, arm: Arm, kinds: tuple[str, ...]) -> Curve:
    """The Stribeck curve that leaves the least of a recording, whose thinned rows are `rows`."""
    kinds = (*kinds, "stribeck")
    tried = {speed: fit(with_speed(rows, motion, arm, speed), arm, kinds) for speed in SPEEDS}
    left = {speed: float(np.nansum(2 * np.log(one.rms))) for speed, one in tried.items()}
    speed = min(left, key=lambda one: left[one])
    strength = _strength(tried[speed], arm)
    if strength <= SUSPECTED:
        return Curve(speed, tried[speed], None, strength)
    speed, best, freed = _refined((rows, motion), arm, kinds, speed, tried[speed])
    return Curve(speed, best, freed, max(strength, _strength(best, arm)))


def _strength(one: Fit, arm: Arm) -> float:
    here = arm.columns("stribeck")
    return float(np.max(np.nan_to_num(one.values[here] / one.deviation[here]), initial=0.0))


def _refined(
    recorded: tuple[Rows, Motion], arm: Arm, kinds: tuple[str, ...], speed: float, best: Fit
) -> tuple[float, Fit, Fit]:
    """The speed after Gauss–Newton steps, its fit with the speed's error in the deviations, and the fit without it."""
    here, freed = arm.columns("stribeck"), best
    for _ in range(_STEPS):
        rows = with_speed(*recorded, arm, speed, best.values[here])
        best, freed = fit(rows.without_bend(), arm, kinds), fit(rows, arm, kinds)
        step = _common(freed.bend, freed.bend_deviation)
        if abs(step) < 0.01 * speed:
            break
        speed = float(np.clip(speed + step, speed / _FARTHEST, speed * _FARTHEST))
    return speed, replace(best, deviation=np.fmax(best.deviation, freed.deviation)), freed


def _common(values: Array, deviations: Array) -> float:
    """The mean of the joints' corrections of v_s, weighted by what is known of each."""
    weight = np.where(np.isfinite(deviations) & (deviations > 0), 1.0 / np.square(np.maximum(deviations, 1e-9)), 0.0)
    return float(weight @ np.nan_to_num(values) / weight.sum()) if weight.sum() > 0 else 0.0

"""The spread between joints: the same parameters from all joints but one, as an estimate of what the arm's model gets wrong.

Links that weigh other than the model says, or torques whose scale is off, disturb each joint in its own way. A load
that is really there is seen alike by all of them. With θ₋ₖ the estimate without joint k and σ the deviations by chance,
the jackknife over n joints adds  t₉₅(n − 1) √((n − 1)/n Σₖ max(0, |θ₋ₖ − θ| − √(σ₋ₖ² + σ²))²)  to an interval.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import t as student

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.logs.balance import Fit, Rows, fit
from palpate.tools.logs.model import Arm


def leave_one_out(rows: Rows, arm: Arm, kinds: tuple[str, ...]) -> tuple[Array, Array]:
    """Estimates and deviations without each joint, (joints, parameters); NaN where they tell nothing."""
    n, count = arm.robot.nv, len(arm.names)
    values, deviations = np.full((n, count), np.nan), np.full((n, count), np.nan)
    if n < 3:  # one joint left tells nothing about the others
        return values, deviations
    for k in range(n):
        use = rows.use.copy()
        use[:, k] = False
        if not use.any():
            continue
        try:
            one = fit(replace(rows, use=use), arm, kinds)
        except (InvalidInput, np.linalg.LinAlgError):
            continue
        values[k], deviations[k] = np.where(one.free, one.values, np.nan), one.deviation
    return values, deviations


def beyond_chance(value: Array, deviation: Array, values: Array, deviations: Array) -> Array:
    """Half widths to add, one per parameter: the jackknife over joints of what is no chance."""
    chance = np.sqrt(deviations**2 + deviation**2)
    more = np.maximum(np.nan_to_num(np.abs(values - value) - chance, nan=0.0), 0.0)
    n = len(values)
    return float(student.ppf(0.975, max(n - 1, 1))) * np.sqrt((n - 1) / n * np.sum(more**2, axis=0))


def between_joints(rows: Rows, arm: Arm, main: Fit, kinds: tuple[str, ...]) -> Array:
    """Half widths that the spread between joints adds to each parameter of a fit."""
    return beyond_chance(main.values, main.deviation, *leave_one_out(rows, arm, kinds))

"""The spread between joints: the same parameters from all joints but one tell what the arm's model gets wrong.

Links that weigh other than the model says, or torques whose scale is off, disturb each joint in its own way. A load
that is really there is seen alike by all of them. With θ₋ₖ the estimate without joint k and σ the deviations by chance,
the jackknife over n joints adds  t₉₅(n − 1) √((n − 1)/n Σₖ max(0, |θ₋ₖ − θ| − √(σ₋ₖ² + σ²))²)  to an interval.

Joints yield besides. Where motors are measured, link k hangs behind its motor by cₖ τₖ, which moves the estimate of a
rigid arm by S c, S from the regression of the sag's columns on the others. A compliance is not negative and taken to be
of the size of 0.1 mrad per N·m (10 kN·m/rad; half of a normal distribution); with the recording's own estimate ĉ ± σ_c
it is c̃ ± s, mean and deviation of the two together. A load becomes θ + S c̃ ± √(half² + (1.96 S s)²). Friction and
rotors keep their value, and |S c̃| is added to their interval: what looks like compliance may be another friction curve.

Nothing weighs less than nothing. A mass that comes out below what there would be without the model's welded bodies is
an error of the model as large as that, at least. The fit with the mass held at the lightest possible one is another
estimate of the whole load; what it differs by beyond one deviation is room that the load's intervals must have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import norm as normal, t as student

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.logs.balance import Fit, Rows, fit
from palpate.tools.logs.model import BODY, Arm

SAFETY = 1.15  # on what chance gives: blocks are few, and the weights are estimated too
YIELDS = 1e-4  # rad/(N·m), deviation of a joint's compliance before a recording is seen


def yielding_joints(rows: Rows, arm: Arm, main: Fit, kinds: tuple[str, ...]) -> tuple[Array, Array]:
    """Shifts of the parameters by compliant joints, and the half width that they add; `rows` have the sag's columns."""
    soft = fit(rows, arm, kinds)
    deviation = SAFETY * soft.t95 / 1.96 * soft.compliance_deviation
    variance = np.where(np.isfinite(deviation), deviation, np.inf) ** 2
    trust = YIELDS**2 / (YIELDS**2 + variance)
    mean, left = _not_negative(trust * np.nan_to_num(soft.compliance), YIELDS * np.sqrt(1.0 - trust))
    S = np.zeros((len(main.values), arm.robot.nv))
    free = np.flatnonzero(main.free)
    weight = np.where(rows.use, 1.0 / np.maximum(np.nan_to_num(main.rms, nan=np.inf), 1e-9), 0.0)[:, :, None]
    A = np.concatenate([rows.X[:, :, free], rows.rate[:, :, None]], axis=2) * weight
    A, B = A.reshape(-1, A.shape[2]), (rows.sag * weight).reshape(-1, arm.robot.nv)
    S[free] = -np.linalg.lstsq(A, B, rcond=1e-9)[0][:-1]
    chance = SAFETY * main.t95 * np.nan_to_num(main.deviation)
    moved_by, width = S @ mean, np.sqrt(chance**2 + (SAFETY * 1.96) ** 2 * (S**2 @ left**2)) - chance
    load = np.arange(len(width)) < len(BODY)
    return np.where(load, moved_by, 0.0), width + np.where(load, 0.0, np.abs(moved_by))


def lightest(arm: Arm) -> float:
    """The least mass of a load, kg: that of an arm without the welded bodies of its model, such as a hand."""
    return -sum(float(body[0]) for body in arm.welded.values())


def room_for_the_lightest(rows: Rows, arm: Arm, main: Fit, kinds: tuple[str, ...], mass: float) -> Array:
    """Half widths beyond chance that the ten intervals of a load need, whose mass is estimated as `mass`, kg."""
    least = lightest(arm)
    if not mass < least or not main.free[0]:
        return np.zeros(len(BODY))
    X = rows.X.copy()
    X[:, :, 0] = 0.0
    held = fit(replace(rows, y=rows.y - least * rows.X[:, :, 0], X=X), arm, kinds, intervals=False)
    moved = (held.values - main.values)[: len(BODY)] / (least - main.values[0])
    moved[0] = 1.0
    return np.maximum(np.abs(moved) * (least - mass) - np.nan_to_num(main.deviation[: len(BODY)]), 0.0)


def _not_negative(mean: Array, deviation: Array) -> tuple[Array, Array]:
    """Mean and deviation of a normal distribution of which the part below 0 is cut off."""
    deviation = np.maximum(deviation, 1e-12)
    cut = -mean / deviation
    hazard = np.exp(normal.logpdf(cut) - normal.logsf(cut))
    return mean + deviation * hazard, deviation * np.sqrt(np.maximum(1.0 + cut * hazard - hazard**2, 0.0))


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

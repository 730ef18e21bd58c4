"""Model parity: how far measured torques are from the model's, and what explains most of it.

Candidates are tried one by one on the same rows: a load, friction, offsets, another direction of gravity, another
factor (gear, unit, sign) of each joint. A factor near −1, 1000 or 1/1000 contradicts the map, and stops the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from palpate.checks import Array
from palpate.tools.logs.balance import Rows, fit, pieces, thinning
from palpate.tools.logs.cleaning import Motion
from palpate.tools.logs.model import Arm

ALIKE = 0.85  # correlation of torques with a model: less says nothing
HEAVY = 0.05  # kg: a welded body that is tried away
STEPS = {
    "raw": (),
    "with friction": ("viscous", "coulomb", "offset"),
    "with load": ("load",),
    "with both": ("load", "viscous", "coulomb", "offset"),
}


@dataclass(frozen=True)
class Parity:
    """Residuals of measured torques.

    Attributes:
        joints: names.
        residual: root mean square per joint, N·m, by step of `STEPS`.
        torque: root mean square of the measured torques about their mean, N·m.
        explained: share of the weighted residual that each candidate explains alone, largest first.
        factors: measured over modelled torque of each joint; NaN where the joint hardly has any.
        gravity: direction and size that fits best, m/s², world axes; its angle from the model's, rad.
        contradiction: "" or what in the map the torques contradict.
    """

    joints: tuple[str, ...]
    residual: dict[str, Array]
    torque: Array
    explained: dict[str, float]
    factors: Array
    gravity: Array
    tilt: float
    contradiction: str


def parity_of(rows: Rows, motion: Motion, arm: Arm) -> Parity:
    """Residuals, and what explains them."""
    residual, total = {}, {}
    for step, kinds in STEPS.items():
        one = fit(rows, arm, kinds, intervals=False)
        residual[step] = one.rms
    base = residual["raw"]
    bare = _without_bodies(rows, arm)
    residual |= bare
    measured, modelled, gravity_columns = _torques(motion, arm)
    factors = _factors(measured, modelled)
    known = np.isfinite(base) & (base > 0)

    def share(new):
        return float(1.0 - np.mean((new[known] / base[known]) ** 2)) if known.any() else 0.0

    total = {"load": share(residual["with load"]), "friction": share(residual["with friction"])}
    total |= {step: share(left) for step, left in bare.items() if "friction" not in step}
    gravity, left = _gravity(measured - modelled, gravity_columns, arm)
    total["gravity's direction"] = share(np.minimum(left, base))
    scaled = np.sqrt(np.mean((measured - factors * modelled) ** 2, axis=0))
    total["a factor per joint"] = share(np.minimum(np.where(np.isfinite(scaled), scaled, base), base))
    explained = dict(sorted(total.items(), key=lambda item: -item[1]))
    nominal = arm.robot.model.opt.gravity
    cosine = gravity @ nominal / max(np.linalg.norm(gravity) * np.linalg.norm(nominal), 1e-12)
    tilt = float(np.arccos(np.clip(cosine, -1.0, 1.0))) if np.linalg.norm(nominal) > 0 else 0.0
    spread = np.std(measured, axis=0)
    contradiction = _swapped(measured, modelled, arm) or _contradiction(factors, tilt, arm)
    return Parity(arm.robot.dof_names, residual, spread, explained, factors, gravity, tilt, contradiction)


def _without_bodies(rows: Rows, arm: Arm) -> dict[str, Array]:
    """Residuals of the model without its heaviest welded body, such as a hand, bare and with friction."""
    bodies = {name: body for name, body in arm.welded.items() if body[0] > HEAVY}
    if not bodies:
        return {}
    name = max(bodies, key=lambda one: bodies[one][0])
    bare = replace(rows, y=rows.y + rows.X[:, :, :10] @ bodies[name])
    kinds = {f"without {name}": (), f"without {name}, with friction": STEPS["with friction"]}
    return {step: fit(bare, arm, kind, intervals=False).rms for step, kind in kinds.items()}


def _torques(motion: Motion, arm: Arm) -> tuple[Array, Array, Array]:
    """Measured and modelled torques, filtered alike, and the torques per component of gravity."""
    measured, modelled, columns = [], [], []
    along = [arm.robot.with_gravity(axis) for axis in np.eye(3)]
    every = thinning(motion, motion.filter)
    for run in motion.runs:
        if len(run.time) < 3 * motion.filter.edge + 8:
            continue
        V, torque = motion.filter(run.v), motion.filter(run.torque)
        A = np.gradient(V, motion.period, axis=0)
        for whole, kept in pieces(len(V), motion.filter, every):
            Q = run.q[whole][kept]
            still = np.zeros_like(Q)
            measured.append(torque[whole][kept])
            modelled.append(motion.filter(arm.rigid(run.q[whole], V[whole], A[whole]))[kept])
            columns.append(np.stack([r.inverse_dynamics_batch(Q, still, still, losses=False) for r in along], axis=2))
    return np.concatenate(measured), np.concatenate(modelled), np.concatenate(columns)


def _swapped(measured: Array, modelled: Array, arm: Arm) -> str:
    """Two joints whose measured torques follow each other's model and not their own; "" where there are none."""
    x, y = (values - values.mean(axis=0) for values in (modelled, measured))
    sizes = np.maximum(np.linalg.norm(y, axis=0)[:, None] * np.linalg.norm(x, axis=0)[None], 1e-300)
    alike = (y.T @ x) / sizes
    own = np.diag(alike)
    for j in range(len(own)):
        for k in range(j):
            if min(alike[j, k], alike[k, j]) > ALIKE and max(own[j], own[k]) < 0.5:
                one, other = arm.robot.dof_names[k], arm.robot.dof_names[j]
                return (
                    f"the torques of {one} follow the model of {other}, and the other way round: are columns swapped?"
                )
    return ""


def _factors(measured: Array, modelled: Array) -> Array:
    """Measured over modelled torque, about the means; NaN where the model has little torque or fits badly."""
    factors = np.full(measured.shape[1], np.nan)
    for k in range(measured.shape[1]):
        x, y = modelled[:, k] - modelled[:, k].mean(), measured[:, k] - measured[:, k].mean()
        if np.std(x) < 0.3 or np.std(y) == 0 or abs(x @ y) < 0.8 * np.linalg.norm(x) * np.linalg.norm(y):
            continue
        factors[k] = np.std(y) / np.std(x) * np.sign(x @ y)
    return factors


def _gravity(difference: Array, columns: Array, arm: Arm) -> tuple[Array, Array]:
    """The gravity that fits best, m/s², and the residual that it leaves per joint."""
    weight = 1.0 / np.maximum(np.sqrt(np.mean(difference**2, axis=0)), 1e-9)
    A, b = (columns * weight[:, None]).reshape(-1, 3), (difference * weight).reshape(-1)
    change = np.linalg.lstsq(A, b, rcond=1e-6)[0]
    left = difference - columns @ change
    return arm.robot.model.opt.gravity + change, np.sqrt(np.mean(left**2, axis=0))


def _contradiction(factors: Array, tilt: float, arm: Arm) -> str:
    names = arm.robot.dof_names
    for k, factor in enumerate(factors):
        if np.isfinite(factor) and factor < 0:
            return f"measured torques of {names[k]} have the opposite sign of the model's (factor {factor:.3g})"
        if np.isfinite(factor) and not 0.2 < factor < 5.0:
            return f"measured torques of {names[k]} are {factor:.4g} times the model's: another unit, or gear"
    if tilt > np.pi / 3:
        return f"gravity points {np.degrees(tilt):.0f}° away from the model's: was the arm mounted otherwise?"
    return ""

"""What the design functions read off an arm at a posture."""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.control.steps.reach import LEVER
from palpate.errors import NoSolution
from palpate.robot.robot import Robot

STEP = 1e-6  # rad or m, of central differences


def damped_inertia(J: Array, back: Array, rows: list[int], heaviest: float) -> Array:
    """Λ, in which directions heavier than `heaviest` kg fade as they do in the laws."""
    scale = np.array([1.0 if row < 3 else LEVER for row in rows])
    mu, U = np.linalg.eigh(scale[:, None] * (J @ back @ J.T) * scale)
    least = 1.0 / heaviest
    with np.errstate(divide="ignore"):
        weight = np.where(mu >= least, 1.0 / mu, np.maximum(mu, 0.0) / least**2)
    return scale[:, None] * ((U * weight) @ U.T) * scale


def joint_damping_of(robot: Robot) -> Array:
    """Viscous damping of the joints, N·m·s/rad or N·s/m, that of joints which follow them included."""
    own = np.array(robot.model.dof_damping, dtype=float)
    return np.diag(robot.coordinates.reduce_matrix(np.diag(own))).copy()  # one leader each: diagonal


def gravity_slope(robot: Robot, q: Array) -> Array:
    """∂g/∂q, n×n, by central differences."""
    steps = STEP * np.eye(robot.nv)
    return np.column_stack([(robot.gravity(q + s) - robot.gravity(q - s)) / (2 * STEP) for s in steps])


def inverse_of(M: Array, what: str) -> Array:
    """M⁻¹ of a symmetric positive definite matrix; refused with its numbers if it is not."""
    values, vectors = np.linalg.eigh(M)
    if not values[0] > 1e-14 * max(float(values[-1]), 1e-300):
        raise NoSolution(f"the {what} is singular: eigenvalues from {values[0]:.3g} to {values[-1]:.3g}")
    return (vectors / values) @ vectors.T

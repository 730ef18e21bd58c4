"""How a posture feels and moves at a frame: task inertia and singular values, from M and J."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.spatial import euler_from_matrix, euler_rate_from_angular_velocity


def task_jacobian(J: Array, directions: ArrayLike | None) -> Array:
    """The rows of a task, k×6 over [linear; angular]; all six if none are named."""
    return J if directions is None else finite_array(directions, "directions", (None, 6)) @ J


def task_inertia(M: Array, J: Array, damping: float) -> Array | None:
    """(J M⁻¹ Jᵀ + damping² 1)⁻¹; None in a singular posture without damping."""
    mobility = J @ np.linalg.solve(M, J.T)
    eigenvalues = np.linalg.eigvalsh(mobility)
    damping = finite_number(damping, "damping", least=0.0)
    if damping == 0.0 and eigenvalues[0] <= 1e-12 * max(eigenvalues[-1], 1e-300):
        return None
    return np.linalg.inv(mobility + damping**2 * np.eye(len(J)))


def singular_values(J: Array) -> Array:
    """Of a task's Jacobian, largest first; 0 for each direction more than there are joints."""
    values = np.linalg.svd(J, compute_uv=False)
    return np.concatenate([values, np.zeros(len(J) - len(values))])


def analytical_jacobian(rotation: Array, J: Array, euler: str) -> Array:
    """J_A with [ṗ; φ̇] = J_A v, φ the Euler angles of a rotation."""
    angles = euler_from_matrix(rotation, euler)
    rates = np.column_stack([euler_rate_from_angular_velocity(angles, w, euler) for w in J[3:].T])
    return np.vstack([J[:3], rates])

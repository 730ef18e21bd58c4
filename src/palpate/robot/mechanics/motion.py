"""How coordinates, velocities and frames go together: free bases, task inertia, singular values, Euler rates.

A machine with a free base has q = [r_IB; quaternion wxyz; joints], u = [_I v_B; _B ω_IB; joint rates], u = E(q) q̇.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.spatial import euler_from_matrix, euler_rate_from_angular_velocity

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

_FREE, _BALL = 0, 1


def velocity_map(robot: Robot, q: Array) -> Array:
    """E(q), n_v × n_q, with u = E(q) q̇ for a quaternion that stays of unit length."""
    model, coordinates = robot.model, robot.coordinates
    q = coordinates.expand_position(q)
    E = np.zeros((model.nv, model.nq))
    for j in range(model.njnt):
        row, column, kind = model.jnt_dofadr[j], model.jnt_qposadr[j], model.jnt_type[j]
        if kind == _FREE:
            E[row : row + 3, column : column + 3] = np.eye(3)
            row, column = row + 3, column + 3
        if kind in (_FREE, _BALL):
            E[row : row + 3, column : column + 4] = body_rate_map(q[column : column + 4])
        else:
            E[row, column] = 1.0
    return E[np.ix_(coordinates.kept, coordinates.kept_position)]


def body_rate_map(quat_wxyz: Array) -> Array:
    """3×4 matrix with _B ω = map q̇, from q̇ = ½ q ⊗ (0, ω)."""
    w, x, y, z = quat_wxyz
    return 2 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])


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

"""Forward kinematics of a serial chain inside a law, for postures other than the measured one.

T(q) = e^{S₁ q₁} ⋯ e^{Sₙ qₙ} X_WE(0), with the joint screws Sᵢ = [v_O; ω] taken at the world's origin at q = 0.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.control.steps.linear_algebra import cholesky, cholesky_solve
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import left_jacobian, matrix_from_rotation_vector

POSE_WIDTH = 12  # position, then the rotation row by row
SCRATCH = 60


def chain_numbers(robot: Robot) -> Array:
    """[p; R; S₁ … Sₙ] at q = 0: everything `chain_pose` needs to know of a robot."""
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"{robot.name} must have only hinges and slides; it has {robot.nq} coordinates, {robot.nv} speeds"
        )
    zero = np.zeros(robot.nq)
    pose, J = robot.pose(zero), robot.jacobian(zero)
    screws = np.vstack([J[:3] - np.cross(J[3:], pose.position, axis=0), J[3:]])
    return np.concatenate([pose.position, pose.rotation.ravel(), screws.T.ravel()])


@register_jitable
def chain_pose(numbers, q, p, R, J, work):
    """Pose (p, R) and Jacobian J (6×n, world axes, at p) of the tool at q; work holds 33 numbers."""
    n = q.size
    turn, here, other = work[0:9].reshape((3, 3)), work[9:18].reshape((3, 3)), work[18:27].reshape((3, 3))
    w, at = work[27:30], work[30:33]
    for i in range(3):
        at[i] = 0.0
        for j in range(3):
            here[i, j] = 1.0 if i == j else 0.0
    for k in range(n):
        S = numbers[POSE_WIDTH + 6 * k : POSE_WIDTH + 6 * k + 6]
        _screw_in_world(S, here, at, J, k)
        for i in range(3):
            w[i] = S[3 + i] * q[k]
        left_jacobian(w, other)
        for i in range(3):
            for j in range(3):
                for m in range(3):
                    at[i] += here[i, j] * other[j, m] * S[m] * q[k]
        matrix_from_rotation_vector(w, turn)
        _product(here, turn, other)
        for i in range(3):
            for j in range(3):
                here[i, j] = other[i, j]
    X = numbers[3:POSE_WIDTH].reshape((3, 3))
    _product(here, X, R)
    for i in range(3):
        p[i] = at[i] + here[i, 0] * numbers[0] + here[i, 1] * numbers[1] + here[i, 2] * numbers[2]
    _move_to_tool(J, p, n)


@register_jitable
def _screw_in_world(S, R, at, J, k):
    """Column k of the Jacobian at the world's origin: the screw carried along by (R, at)."""
    for i in range(3):
        J[i, k] = R[i, 0] * S[0] + R[i, 1] * S[1] + R[i, 2] * S[2]
        J[3 + i, k] = R[i, 0] * S[3] + R[i, 1] * S[4] + R[i, 2] * S[5]
    J[0, k] += at[1] * J[5, k] - at[2] * J[4, k]
    J[1, k] += at[2] * J[3, k] - at[0] * J[5, k]
    J[2, k] += at[0] * J[4, k] - at[1] * J[3, k]


@register_jitable
def _move_to_tool(J, p, n):
    for k in range(n):
        J[0, k] += J[4, k] * p[2] - J[5, k] * p[1]
        J[1, k] += J[5, k] * p[0] - J[3, k] * p[2]
        J[2, k] += J[3, k] * p[1] - J[4, k] * p[0]


@register_jitable
def _product(A, B, out):
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@register_jitable
def damped_step(J, error, damping, work, step):
    """step = Jᵀ (J Jᵀ + λ² 1)⁻¹ error: least squares that stays bounded at a singular posture; work holds 42."""
    A, y = work[0:36].reshape((6, 6)), work[36:42]
    for i in range(6):
        y[i] = error[i]
        for j in range(6):
            A[i, j] = damping * damping if i == j else 0.0
            for k in range(J.shape[1]):
                A[i, j] += J[i, k] * J[j, k]
    cholesky(A, 6)
    cholesky_solve(A, 6, y)
    for k in range(J.shape[1]):
        step[k] = 0.0
        for i in range(6):
            step[k] += J[i, k] * y[i]

"""Forward kinematics of a serial chain inside a law, for postures other than the measured one.

T(q) = e^{S₁ q₁} ⋯ e^{Sₙ qₙ} X_WE(0), with the joint screws Sᵢ = [v_O; ω] taken at the world's origin at q = 0.
"""

from __future__ import annotations

import numpy as np

from palpate.control.steps.linear_algebra import cholesky, cholesky_solve
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, ReadVector, Record, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import left_jacobian, matrix_from_rotation_vector


class Chain(Record):
    """Everything `chain_pose` needs to know of a robot: the tool's pose at q = 0, and one row per joint screw."""

    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    screws: Matrix = sized("nv", 6)


class ChainPose(Record):
    """The tool's pose and Jacobian (world axes, at its origin) at a posture; then scratch."""

    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    J: Matrix = sized(6, "nv")
    origin: Vector = sized(3)  # of e^{S₁ q₁} ⋯ e^{Sᵢ qᵢ},
    axes: Matrix = sized(3, 3)  # and its rotation
    turn: Matrix = sized(3, 3)
    product: Matrix = sized(3, 3)
    w: Vector = sized(3)


class LeastSquares(Record):
    """Scratch of `damped_step`."""

    A: Matrix = sized(6, 6)
    y: Vector = sized(6)


def chain_of(robot: Robot) -> Chain:
    """A robot's chain, from its own kinematics at q = 0."""
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"{robot.name} must have only hinges and slides; it has {robot.nq} coordinates, {robot.nv} speeds"
        )
    zero = np.zeros(robot.nq)
    pose, J = robot.pose(zero), robot.jacobian(zero)
    screws = np.vstack([J[:3] - np.cross(J[3:], pose.position, axis=0), J[3:]])
    return Chain(position=pose.position, rotation=pose.rotation, screws=screws.T)


@kernel
def chain_pose(chain: Chain, q: ReadVector, x: ChainPose) -> None:
    """The tool's pose and Jacobian at q."""
    for i in range(3):
        x.origin[i] = 0.0
        for j in range(3):
            x.axes[i, j] = 1.0 if i == j else 0.0
    for k in range(q.size):
        S = chain.screws[k]
        _screw_in_world(S, k, x)
        _advance(S, q[k], x)
    _product(x.axes, chain.rotation, x.rotation)
    for i in range(3):
        x.position[i] = x.origin[i]
        for j in range(3):
            x.position[i] += x.axes[i, j] * chain.position[j]
    _move_to_tool(x.J, x.position)


@kernel
def _screw_in_world(S: Vector, k: int, x: ChainPose) -> None:
    """Column k of the Jacobian at the world's origin: the screw carried along by the joints before it."""
    R, p, J = x.axes, x.origin, x.J
    for i in range(3):
        J[i, k] = R[i, 0] * S[0] + R[i, 1] * S[1] + R[i, 2] * S[2]
        J[3 + i, k] = R[i, 0] * S[3] + R[i, 1] * S[4] + R[i, 2] * S[5]
    J[0, k] += p[1] * J[5, k] - p[2] * J[4, k]
    J[1, k] += p[2] * J[3, k] - p[0] * J[5, k]
    J[2, k] += p[0] * J[4, k] - p[1] * J[3, k]


@kernel
def _advance(S: Vector, q: float, x: ChainPose) -> None:
    """(axes, origin) ← (axes, origin) e^{S q}."""
    for i in range(3):
        x.w[i] = S[3 + i] * q
    left_jacobian(x.w, x.product)
    for i in range(3):
        for j in range(3):
            for m in range(3):
                x.origin[i] += x.axes[i, j] * x.product[j, m] * S[m] * q
    matrix_from_rotation_vector(x.w, x.turn)
    _product(x.axes, x.turn, x.product)
    for i in range(3):
        for j in range(3):
            x.axes[i, j] = x.product[i, j]


@kernel
def _move_to_tool(J: Matrix, p: Vector) -> None:
    """The Jacobian at the world's origin becomes that at p."""
    for k in range(J.shape[1]):
        J[0, k] += J[4, k] * p[2] - J[5, k] * p[1]
        J[1, k] += J[5, k] * p[0] - J[3, k] * p[2]
        J[2, k] += J[3, k] * p[1] - J[4, k] * p[0]


@kernel
def _product(A: Matrix, B: Matrix, out: Matrix) -> None:
    """out = A B, 3×3."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@kernel
def damped_step(J: Matrix, error: Vector, damping: float, work: LeastSquares, step: Vector) -> None:
    """step = Jᵀ (J Jᵀ + λ² 1)⁻¹ error, λ the damping: least squares that stays bounded at a singular posture."""
    A, y, rows = work.A, work.y, error.size
    for i in range(rows):
        y[i] = error[i]
        for j in range(rows):
            A[i, j] = damping * damping if i == j else 0.0
            for k in range(J.shape[1]):
                A[i, j] += J[i, k] * J[j, k]
    cholesky(A, rows)
    cholesky_solve(A, rows, y)
    for k in range(J.shape[1]):
        step[k] = 0.0
        for i in range(rows):
            step[k] += J[i, k] * y[i]

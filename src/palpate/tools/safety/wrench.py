"""The wrench behind a residual: at the tool, damped near singular postures, 0 along directions that cannot be known.

    r = Jᵀ F,    F = Σ_i  u_i  σ_i²/(σ_i² + λ_i²)  (u_iᵀ J r) / σ_i²,    σ_i², u_i of J Jᵀ (angular rows × 0.1 m)
    λ_i² = (1 − (σ_i/σ₀)²) λ²  below σ₀,  0 above it;  directions with σ_i < 1e-6 m are left out

It is the wrench only if the contact is at or beyond the tool's link: `link_of_contact` says which link a contact is on,
and `contact_on_link` where.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.steps.linear_algebra import cholesky, symmetric_eigen
from palpate.control.steps.reach import LEVER
from palpate.control.tick import Tick
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.robot.robot import Robot

KNOWN = 1e-6  # m, the smallest singular value of a direction that is told at all


class WrenchMemory(Record):
    """The estimate [f; n] at the tool's origin, world axes, and scratch."""

    wrench: Vector = sized(6)
    A: Matrix = sized(6, 6)
    V: Matrix = sized(6, 6)
    L: Matrix = sized(6, 6)
    right: Vector = sized(6)


@kernel
def estimate_wrench(x: Tick, residual: Vector, singular: float, m: WrenchMemory) -> None:
    """F of r = Jᵀ F; `singular` is σ₀ = λ, m."""
    _normal_equations(x, residual, m)
    for i in range(6):
        put(m.L[i], 0, m.A[i])
    # 1 / trace (A⁻¹) ≤ σ²: where it is above σ₀² nothing is damped, and the eigenvectors are not asked for.
    if cholesky(m.L, 6) and _invert_lower(m.L, m.V) * max(singular * singular, KNOWN * KNOWN) <= 1.0:
        _by_factor(m)
    else:
        _by_eigenvectors(singular, m)


@kernel
def _invert_lower(L: Matrix, X: Matrix) -> float:
    """X = L⁻¹ of a 6×6 lower triangle; returns trace (L Lᵀ)⁻¹, the sum of its squares."""
    total = 0.0
    for j in range(6):
        X[j, j] = 1.0 / L[j, j]
        total += X[j, j] * X[j, j]
        for i in range(j + 1, 6):
            entry = 0.0
            for k in range(j, i):
                entry -= L[i, k] * X[k, j]
            X[i, j] = entry / L[i, i]
            total += X[i, j] * X[i, j]
    return total


@kernel
def _by_factor(m: WrenchMemory) -> None:
    """F = L⁻ᵀ L⁻¹ J r with the inverse of the factor, in `V`."""
    clear(m.wrench)
    for i in range(6):
        part = 0.0
        for j in range(i + 1):
            part += m.V[i, j] * m.right[j]
        for j in range(i + 1):
            m.wrench[j] += m.V[i, j] * part
    for i in range(3, 6):
        m.wrench[i] *= LEVER


@kernel
def _normal_equations(x: Tick, residual: Vector, m: WrenchMemory) -> None:
    """A = J Jᵀ and J r, angular rows × lever."""
    J, n = x.J, x.v.size
    for i in range(6):
        scale = LEVER if i > 2 else 1.0
        m.right[i] = scale * dot(J[i], residual, n)
        for j in range(i + 1):
            m.A[i, j] = m.A[j, i] = dot(J[i], J[j], n) * scale * (LEVER if j > 2 else 1.0)


@kernel
def _by_eigenvectors(singular: float, m: WrenchMemory) -> None:
    """F direction by direction: damped below σ₀, left out where it cannot be known."""
    A, V = m.A, m.V
    symmetric_eigen(A, V, 6)
    clear(m.wrench)
    for k in range(6):
        square, part = A[k, k], 0.0
        if square <= KNOWN * KNOWN:
            continue
        left = max(1.0 - square / (singular * singular), 0.0) if singular > 0.0 else 0.0
        for i in range(6):
            part += V[i, k] * m.right[i]
        part /= square + left * singular * singular
        for i in range(6):
            m.wrench[i] += V[i, k] * part * (LEVER if i > 2 else 1.0)


def link_of_contact(residual: Array, threshold: Array) -> int:
    """The last joint whose residual is above its threshold, −1 if none: the contact is on the link behind it.

    A contact on a link does not load the joints beyond it. One close to the axis of a joint does not load that joint
    either, and is then told one link too near the base.
    """
    above = np.flatnonzero(np.abs(residual) > threshold)
    return int(above[-1]) if above.size else -1


@dataclass(frozen=True)
class ContactOnLink:
    """Where a contact is.

    Attributes:
        joint: index of the joint that moves the link.
        distance: m, from that joint's origin along the link's line to the next joint or the tool.
        position: of the contact, world axes, m.
        force: of it on the robot, world axes, N.
        left: part of the residual that this contact does not explain, N·m.
    """

    joint: int
    distance: float
    position: Array
    force: Array
    left: float


def contact_on_link(robot: Robot, q: Array, residual: Array, joint: int) -> ContactOnLink:
    """A contact without moment at a point of the line from a joint's origin to the next one (or the tool).

    Along that line the force is not known from fewer than four joints and is taken as 0: the force is normal to the
    link. The distance is that at which the residual is explained best.
    """
    start, end = _ends(robot, q, joint)
    length = float(np.linalg.norm(end - start))
    line = (end - start) / max(length, 1e-12)
    J = robot.terms(q, np.zeros(robot.nv))
    tool, jacobian = np.array(J.position), np.array(J.J)

    def fit(s: float) -> tuple[float, Array]:
        arm = start + s * line - tool
        rows = (jacobian[:3] - np.cross(arm, jacobian[3:], axis=0))[:, : joint + 1]
        normal = np.eye(3) - np.outer(line, line)
        force = (
            normal @ np.linalg.pinv(normal @ rows @ rows.T @ normal, rcond=1e-9) @ normal @ rows @ residual[: joint + 1]
        )
        return float(np.linalg.norm(rows.T @ force - residual[: joint + 1])), force

    grid = np.linspace(0.0, length, 201)
    best = int(np.argmin([fit(float(s))[0] for s in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, 200)]
    for _ in range(80):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if fit(float(a))[0] <= fit(float(b))[0] else (a, high)
    distance = 0.5 * float(low + high)
    left, force = fit(distance)
    return ContactOnLink(joint, distance, start + distance * line, force, left)


def _ends(robot: Robot, q: Array, joint: int) -> tuple[Array, Array]:
    """Origins of a joint and of the next one, or of the tool behind the last, world axes."""
    import mujoco

    data = mujoco.MjData(robot.model)
    data.qpos[:] = robot.coordinates.expand_position(q)
    mujoco.mj_kinematics(robot.model, data)
    anchors = [np.array(data.xanchor[robot.model.joint(name).id]) for name in robot.joint_names]
    tool = np.array(robot.terms(q, np.zeros(robot.nv)).position)
    return anchors[joint], anchors[joint + 1] if joint + 1 < len(anchors) else tool

"""The wrench behind a residual: at the tool, damped near singular postures, 0 along directions that cannot be known.

    r = Jᵀ F,    F = Σ_i  u_i  σ_i²/(σ_i² + λ_i²)  (u_iᵀ J r) / σ_i²,    σ_i², u_i of J Jᵀ (angular rows × 0.1 m)
    λ_i² = (1 − (σ_i/σ₀)²) λ²  below σ₀,  0 above it;  directions with σ_i < 1e-6 m are left out

It is the wrench only if the contact is at or beyond the tool's link: `link_of_contact` says which link a contact is on,
and `contact_on_link` where.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    if cholesky(m.L, 6) and _is_regular(m, max(singular * singular, KNOWN * KNOWN)):
        _by_factor(m)
    else:
        _by_eigenvectors(singular, m)


@kernel
def _is_regular(m: WrenchMemory, square: float) -> bool:
    """Whether every σ² is surely above a square, so that nothing is damped and no eigenvector is asked for.

    1/σ² is at most trace (A⁻¹), and at most |A⁻¹| of Frobenius, which is nearer; `V` holds L⁻¹ after it.
    """
    if _invert_lower(m.L, m.V) * square <= 1.0:
        return True
    total = 0.0
    for i in range(6):
        for j in range(i + 1):
            entry = 0.0
            for k in range(j + 1):
                entry += m.V[i, k] * m.V[j, k]
            total += (1.0 if i == j else 2.0) * entry * entry
    return total * square * square <= 1.0


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


def contact_on_link(robot: Robot, q: Array, residual: Array, joint: int, noise: float = 0.0) -> ContactOnLink:
    """A contact without moment at a point of the line from a joint's origin to the next one (or the tool).

    Of all distances that at which a force explains the residual best. A force across the link is taken where it leaves
    no more than the noise. Otherwise one in any direction, if the joints before it can tell so much: four of an arm in
    space, three of a planar one. Where several points explain the residual alike, the force that is most across.

    Args:
        robot: the arm.
        q: posture.
        residual: of all joints, N·m.
        joint: that moves the touched link, from 0; `link_of_contact` tells it.
        noise: what a residual may differ by without meaning anything, N·m.
    """
    start, end = _ends(robot, q, joint)
    length = float(np.linalg.norm(end - start))
    line = (end - start) / max(length, 1e-12)
    terms, felt = robot.terms(q, np.zeros(robot.nv)), residual[: joint + 1]
    tool, jacobian = np.array(terms.position), np.array(terms.J)[:, : joint + 1]

    def rows(s: float) -> Array:
        return jacobian[:3] - np.cross(start + s * line - tool, jacobian[3:], axis=0)

    def fit(s: float, along: bool) -> tuple[float, Array]:
        within = np.eye(3) if along else np.eye(3) - np.outer(line, line)
        force = within @ np.linalg.pinv((within @ rows(s)).T, rcond=1e-9) @ felt
        return float(np.linalg.norm(rows(s).T @ force - felt)), force

    def contact(along: bool) -> ContactOnLink:
        found = [
            (left, abs(float(line @ force)) / max(float(np.linalg.norm(force)), 1e-300), s, force)
            for s in _least_points(lambda s: fit(s, along)[0], length)
            for left, force in [fit(s, along)]
        ]
        least = min(left for left, *_ in found)
        alike = [one for one in found if one[0] <= least + max(noise, 1e-6 * float(np.linalg.norm(felt)))]
        left, _, s, force = min(alike, key=lambda one: one[1])
        return ContactOnLink(joint, s, start + s * line, force, left)

    across = contact(along=False)
    told = np.linalg.matrix_rank(np.vstack([rows(0.0), jacobian[3:]]), tol=1e-6)
    enough = told > np.linalg.matrix_rank(rows(0.5 * length), tol=1e-6)
    if not enough or across.left <= max(noise, 1e-6 * float(np.linalg.norm(felt))):
        return across
    free = contact(along=True)
    return free if free.left < across.left else across


def _least_points(error: Callable[[float], float], length: float) -> list[float]:
    """Where a function of a distance between 0 and a length has its local minima."""
    grid = np.linspace(0.0, length, 201)
    values = np.array([error(float(s)) for s in grid])
    padded, points = np.concatenate([[math.inf], values, [math.inf]]), []
    for k in np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:])):
        low, high = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, 200)])
        for _ in range(80):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, b) if error(a) <= error(b) else (a, high)
        points.append(0.5 * (low + high))
    return points


def residual_of_force(robot: Robot, q: Array, force: Array, point: Array, joint: int | None = None) -> Array:
    """r = J_Cᵀ f of a force at a point of the link behind a joint (the last if not given), world axes, N·m."""
    terms = robot.terms(q, np.zeros(robot.nv))
    J, last = np.array(terms.J), robot.nv - 1 if joint is None else joint
    rows = J[:3] - np.cross(np.asarray(point) - np.array(terms.position), J[3:], axis=0)
    return np.where(np.arange(robot.nv) <= last, rows.T @ np.asarray(force, dtype=float), 0.0)


def residual_of_payload(robot: Robot, q: Array, mass: float, offset: Array | None = None) -> Array:
    """r = J_Cᵀ m g of a mass that the model lacks, at rest, N·m; `offset` of its centre, in the tool's frame."""
    terms = robot.terms(q, np.zeros(robot.nv))
    centre = np.array(terms.position) + (0.0 if offset is None else np.array(terms.rotation) @ np.asarray(offset))
    return residual_of_force(robot, q, mass * np.array(robot.model.opt.gravity), centre)


def _ends(robot: Robot, q: Array, joint: int) -> tuple[Array, Array]:
    """Origins of a joint and of the next one, or of the tool behind the last, world axes."""
    import mujoco

    data = mujoco.MjData(robot.model)
    data.qpos[:] = robot.coordinates.expand_position(q)
    mujoco.mj_kinematics(robot.model, data)
    anchors = [np.array(data.xanchor[robot.model.joint(name).id]) for name in robot.joint_names]
    tool = np.array(robot.terms(q, np.zeros(robot.nv)).position)
    return anchors[joint], anchors[joint + 1] if joint + 1 < len(anchors) else tool

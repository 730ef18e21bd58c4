"""The sampled loop of a force law on an undamped wall, to first order, before there are gains to run it with.

    τ_k = Jᵀ (−K J q − D J v) − Jᵀ_f I_k − N (K₀ q + D₀ v) + ∂g q,     I_k = I_{k−1} − k_i T F_k,     F = −k_w J_w q

with K = 0 along force directions f for direct force control, and K there too for parallel force control; the command
arrives d periods late and is held over one. The loop is stable where every eigenvalue of the map of one period is
within the unit circle. A run is asked for its own poles (`palpate.run.poles`); this is for `force_defaults` alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.design.hold import zero_order_hold
from palpate.control.steps.reach import DIRECTIONS, LEVER, AxesAt, lost_mass, reachable
from palpate.errors import NoSolution
from palpate.robot.robot import Robot

_STEP = 1e-6  # rad or m, of central differences
_STANDING = 1e-6  # in z: motion of an arm that nothing holds
_ROUNDING = 1e-12
_LIMIT = 1e150  # entries beyond this overflow when multiplied: no such loop is stable


def joint_damping_of(robot: Robot) -> Array:
    """Viscous damping of the joints, N·m·s/rad or N·s/m, that of joints which follow them included."""
    own = np.array(robot.model.dof_damping, dtype=float)
    return np.diag(robot.coordinates.reduce_matrix(np.diag(own))).copy()  # one leader each: diagonal


@dataclass(frozen=True)
class ForceTask:
    """Terms of an arm at a posture that the loop needs: n joints, k task directions.

    Attributes:
        rows: of each direction among x … rz.
        J: k×n, along the directions.
        mobility: M⁻¹, n×n.
        damping: of the joints, n×n.
        null_space: N, n×n; zeros if the task leaves nothing free.
        gravity: ∂g/∂q, n×n.
    """

    rows: list[int]
    J: Array
    mobility: Array
    damping: Array
    null_space: Array
    gravity: Array

    @property
    def task_mobility(self) -> Array:
        """J M⁻¹ Jᵀ."""
        return self.J @ self.mobility @ self.J.T


@dataclass(frozen=True)
class ForceGains:
    """Gains over k task directions.

    Attributes:
        stiffness, damping: K, D, k×k.
        force: which of the directions are force-controlled, k booleans.
        integral: k_i, 1/s.
        posture_stiffness, posture_damping: of the null space, one for all joints or one each.
    """

    stiffness: Array
    damping: Array
    force: Array
    integral: float = 0.0
    posture_stiffness: float | Array = 0.0
    posture_damping: float | Array = 0.0


def force_task(robot: Robot, q: Array, rows: list[int], axes: AxesAt, heaviest: float | None = None) -> ForceTask:
    """The arm at a posture, along some directions of the law's axes.

    Args:
        robot: as the law knows it.
        q: posture, which is also the target.
        rows: of the directions, among x … rz.
        axes: of the directions, for the tool's rotation.
        heaviest: kg, from which on a direction is lost; `lost_mass` if not given.
    """
    terms, n, names = robot.terms(q, np.zeros(robot.nv)), robot.nv, [DIRECTIONS[row] for row in rows]
    R = axes(terms.rotation)
    linear, angular = (R, R) if R.ndim == 2 else R
    into = np.zeros((6, 6))
    into[:3, :3], into[3:, 3:] = linear.T, angular.T
    J, back = (into @ terms.J)[rows], _inverse(terms.M, robot.name)
    N = np.zeros((n, n))
    if len(reachable(robot, names, axes)) < n:
        N = np.eye(n) - J.T @ _damped_inertia(J, back, rows, heaviest or lost_mass(robot, names, axes)) @ J @ back
    steps = _STEP * np.eye(n)
    weight = np.column_stack([(robot.gravity(q + s) - robot.gravity(q - s)) / (2 * _STEP) for s in steps])
    return ForceTask(rows, J, back, np.diag(joint_damping_of(robot)), N, weight)


def force_loop_stable(
    task: ForceTask, gains: ForceGains, direction: int, wall: float, period: float, delay: int
) -> bool:
    """Whether direct and parallel force control are both stable on an undamped wall along one direction.

    Args:
        task: the arm.
        gains: of the law.
        direction: of the task, along which the wall is.
        wall: its stiffness, N/m or N·m/rad.
        period: T, s.
        delay: samples between measurement and command.
    """
    motion = np.diag((~gains.force).astype(float))
    stiffnesses = (motion @ gains.stiffness @ motion, gains.stiffness)
    with np.errstate(over="ignore", invalid="ignore"):
        maps = [_period_map(task, gains, K, direction, wall, period, delay) for K in stiffnesses]
    return all(_dies_out(A) for A in maps)


def _period_map(
    task: ForceTask, gains: ForceGains, K: Array, direction: int, wall: float, period: float, delay: int
) -> Array:
    """The map of [q; v; I; commands under way, the latest first] over a period."""
    J, n, f = task.J, len(task.mobility), int(gains.force.sum())
    on_wall = np.outer(J[direction], J[direction]) * wall
    zero, one = np.zeros((n, n)), np.eye(n)
    A = np.block([[zero, one], [-task.mobility @ (on_wall + task.gravity), -task.mobility @ task.damping]])
    Phi, Gamma = zero_order_hold(A, np.vstack([zero, task.mobility]), period)
    touched = np.zeros((f, len(J)))
    touched[np.arange(f), np.flatnonzero(gains.force)] = 1.0
    # Of the force directions, the one that meets the wall reads it.
    integral = gains.integral * period * wall * np.outer(touched[:, direction], J[direction])
    on_q = -J.T @ K @ J - task.null_space * gains.posture_stiffness + task.gravity
    on_v = -J.T @ gains.damping @ J - task.null_space * gains.posture_damping
    carry = J[gains.force].T
    xi = np.hstack([integral, np.zeros((f, n)), np.eye(f)])
    u = np.hstack([on_q, on_v, np.zeros((n, f))]) - carry @ xi
    size, late = 2 * n + f, n * delay
    whole = np.zeros((size + late, size + late))
    whole[: 2 * n, : 2 * n] = Phi
    whole[2 * n : size, :size] = xi
    if delay == 0:
        whole[: 2 * n, :size] += Gamma @ u
        return whole
    whole[: 2 * n, size + late - n :] = Gamma
    whole[size : size + n, :size] = u
    whole[size + n :, size : size + late - n] = np.eye(late - n)
    return whole


def _dies_out(A: Array) -> bool:
    """Whether every pole is within the unit circle, but for those of motion that nothing holds."""
    if not np.abs(A).max(initial=0.0) < _LIMIT:
        return False
    poles = np.linalg.eigvals(A)
    counted = np.abs(poles[np.abs(poles - 1.0) > _STANDING])
    return bool(counted.max(initial=0.0) < 1.0 - _ROUNDING)


def _damped_inertia(J: Array, back: Array, rows: list[int], heaviest: float) -> Array:
    """Λ, in which directions heavier than `heaviest` kg fade as they do in the laws."""
    scale = np.array([1.0 if row < 3 else LEVER for row in rows])
    mu, U = np.linalg.eigh(scale[:, None] * (J @ back @ J.T) * scale)
    least = 1.0 / heaviest
    with np.errstate(divide="ignore"):
        weight = np.where(mu >= least, 1.0 / mu, np.maximum(mu, 0.0) / least**2)
    return scale[:, None] * ((U * weight) @ U.T) * scale


def _inverse(M: Array, name: str) -> Array:
    """M⁻¹ of a symmetric positive definite matrix; refused with its numbers if it is not."""
    values, vectors = np.linalg.eigh(M)
    if not values[0] > 1e-14 * max(float(values[-1]), 1e-300):
        raise NoSolution(f"the mass matrix of {name} is singular: eigenvalues from {values[0]:.3g} to {values[-1]:.3g}")
    return (vectors / values) @ vectors.T

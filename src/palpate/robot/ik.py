"""Inverse kinematics of any frame: damped least squares within joint limits, with restarts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput, Unreachable
from palpate.robot import kernels
from palpate.spatial import Pose
from palpate.spatial.kernels import rotation_vector_from_matrix

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

_ITERATIONS = 200


def solve(
    robot: Robot,
    target: Pose | ArrayLike,
    frame: str | None,
    seed: ArrayLike | None,
    restarts: int,
    position_tolerance: float,
    angle_tolerance: float,
) -> Array:
    """Search from the seed, then from random postures inside the limits; see `Robot.inverse_kinematics`."""
    if robot.nq != robot.nv or robot._coupling is not None:
        raise InvalidInput(f"inverse kinematics needs plain joints; {robot.name} has a free base or coupled joints")
    position, rotation, rows = _target(target)
    lower, upper = _bounds(robot)
    start = robot.home if seed is None else robot._q(seed, "seed")
    finite_array(start, "seed")
    best, best_error = np.clip(start, lower, upper), (math.inf, math.inf)
    random = np.random.default_rng(0)
    for attempt in range(restarts + 1):
        q = np.clip(start, lower, upper) if attempt == 0 else random.uniform(lower, upper)
        error = _descend(robot, frame, q, position, rotation, rows, lower, upper, position_tolerance, angle_tolerance)
        if error[0] <= position_tolerance and error[1] <= angle_tolerance:
            return q
        if sum(error) < sum(best_error):
            best, best_error = q, error
    raise Unreachable(
        f"no posture of {robot.name} within its limits brings frame {frame or robot.tool_frame!r} there;"
        f" nearest: {best_error[0] * 1e3:.3g} mm and {math.degrees(best_error[1]):.3g}° away"
        f" after {restarts + 1} starts",
        best,
        *best_error,
    )


def _target(target: Pose | ArrayLike) -> tuple[Array, Array, int]:
    if isinstance(target, Pose):
        return np.array(target.position), np.array(target.rotation), 6
    return finite_array(target, "target position", (3,)), np.eye(3), 3


def _bounds(robot: Robot) -> tuple[Array, Array]:
    """Joint limits; a joint without them is searched over one turn, or one metre, either way."""
    span = np.where(np.array(robot.dof_units) == "rad", math.pi, 1.0)
    lower, upper = robot.limits.lower, robot.limits.upper
    return np.where(np.isfinite(lower), lower, -span), np.where(np.isfinite(upper), upper, span)


def _descend(
    robot: Robot,
    frame: str | None,
    q: Array,
    position: Array,
    rotation: Array,
    rows: int,
    lower: Array,
    upper: Array,
    position_tolerance: float,
    angle_tolerance: float,
) -> tuple[float, float]:
    """Improve q in place; returns the remaining (position, angle) error."""
    place = robot.frame(frame)
    return _descend_kernel(
        robot._work.handle, place.body, place.offset, place.turn, q, position, rotation, rows, lower, upper,
        position_tolerance, angle_tolerance, _ITERATIONS,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _task_error(p, R, position, rotation, out):
    """[p_d − p; log(R_d Rᵀ)], world axes."""
    turn = np.empty((3, 3))
    for i in range(3):
        out[i] = position[i] - p[i]
        for j in range(3):
            turn[i, j] = rotation[i, 0] * R[j, 0] + rotation[i, 1] * R[j, 1] + rotation[i, 2] * R[j, 2]
    rotation_vector_from_matrix(turn, out[3:6])


@njit(cache=True, nogil=True)
def _step_within(J, e, q, lower, upper, damping):
    """Damped least-squares step whose joints at a limit do not push beyond it."""
    n = q.size
    blocked = np.zeros(n, dtype=np.bool_)
    step = np.zeros(n)
    for _ in range(n):
        A = J.copy()
        for j in range(n):
            if blocked[j]:
                A[:, j] = 0.0
        step = A.T @ np.linalg.solve(A @ A.T + damping * np.eye(len(e)), e)
        fresh = False
        for j in range(n):
            outward = (q[j] >= upper[j] and step[j] > 0) or (q[j] <= lower[j] and step[j] < 0)
            if outward and not blocked[j]:
                blocked[j] = True
                fresh = True
        if not fresh:
            break
    largest = np.abs(step).max()
    return step * min(1.0, 0.5 / largest) if largest > 0 else step


@njit(cache=True, nogil=True)
def _descend_kernel(
    handle, body, offset, turn, q, position, rotation, rows, lower, upper, position_tol, angle_tol, iterations
):
    """Levenberg–Marquardt: the damping shrinks while the error falls and grows when a step fails."""
    n = q.size
    p, R, J, e = np.empty(3), np.empty((3, 3)), np.empty((6, n)), np.zeros(6)
    kernels.pose_and_jacobian(handle, q, body, offset, turn, p, R, J)
    _task_error(p, R, position, rotation, e)
    damping, trial, e_trial, stalled = 1e-3, np.empty(n), np.zeros(6), 0
    for _ in range(iterations):
        position_error = np.sqrt((e[:3] ** 2).sum())
        angle_error = np.sqrt((e[3:] ** 2).sum()) if rows == 6 else 0.0
        if (position_error <= 0.1 * position_tol and angle_error <= 0.1 * angle_tol) or stalled > 8:
            break
        step = _step_within(np.ascontiguousarray(J[:rows]), e[:rows].copy(), q, lower, upper, damping)
        for j in range(n):
            trial[j] = min(max(q[j] + step[j], lower[j]), upper[j])
        kernels.pose_and_jacobian(handle, trial, body, offset, turn, p, R, J)
        _task_error(p, R, position, rotation, e_trial)
        if (e_trial[:rows] ** 2).sum() < (e[:rows] ** 2).sum():
            q[:] = trial
            e[:] = e_trial
            damping = max(damping * 0.2, 1e-12)
            stalled = 0
        else:
            damping = min(damping * 8.0, 1e3)
            stalled += 1
            kernels.pose_and_jacobian(handle, q, body, offset, turn, p, R, J)
    return np.sqrt((e[:3] ** 2).sum()), (np.sqrt((e[3:] ** 2).sum()) if rows == 6 else 0.0)

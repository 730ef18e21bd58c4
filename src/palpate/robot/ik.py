"""Inverse kinematics of any frame: damped least squares within joint limits, with restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.engine import kernel
from palpate.errors import InvalidInput, Unreachable
from palpate.robot import kernels
from palpate.spatial import Pose
from palpate.spatial.kernels import rotation_vector_from_matrix

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

_ITERATIONS = 200


@dataclass(frozen=True)
class _Space:
    """What the search may move: x, with all the engine's coordinates q = fixed + position_map x, v = velocity_map ẋ.

    A coupled joint follows its leader; a free base stands still.
    """

    start: Array
    lower: Array
    upper: Array
    fixed: Array
    position_map: Array
    velocity_map: Array
    turns: np.ndarray  # which of x are angles that nothing follows


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
    position, rotation, rows = _target(target)
    finite_number(restarts, "restarts", least=0)
    tolerances = (
        finite_number(position_tolerance, "position_tolerance", above=0.0),
        finite_number(angle_tolerance, "angle_tolerance", above=0.0),
    )
    q0 = robot._plain(robot.home if seed is None else seed, "seed", robot.nq, finite=True)
    space, place = _space(robot, q0), robot.frame(frame)
    random, best, best_error = np.random.default_rng(0), space.start, (math.inf, math.inf)
    for attempt in range(int(restarts) + 1):
        x = space.start.copy() if attempt == 0 else random.uniform(space.lower, space.upper)
        error = _descend(
            robot._work.handle, place.body, place.offset, place.turn, x, space.fixed, space.position_map,
            space.velocity_map, position, rotation, rows, space.lower, space.upper, *tolerances, _ITERATIONS,
        )  # fmt: skip
        if error[0] <= tolerances[0] and error[1] <= tolerances[1]:
            return _coordinates(robot, q0, _unwound(x, space))
        if sum(error) < sum(best_error):
            best, best_error = x, error
    raise Unreachable(
        f"no posture of {robot.name} within its limits brings frame {place.name!r} there;"
        f" nearest: {best_error[0] * 1e3:.3g} mm and {math.degrees(best_error[1]):.3g}° away"
        f" after {int(restarts) + 1} starts",
        _coordinates(robot, q0, best),
        *best_error,
    )


def _target(target: Pose | ArrayLike) -> tuple[Array, Array, int]:
    if isinstance(target, Pose):
        return np.array(target.position), np.array(target.rotation), 6
    if np.shape(target) not in ((3,), (3, 1), (1, 3)):
        raise InvalidInput(
            f"the target must be a Pose or a position of three numbers, got an array of shape {np.shape(target)}",
            hint="Pose.from_matrix takes a homogeneous matrix, Pose.from_quat a position and a quaternion (wxyz)",
        )
    return finite_array(target, "target position").reshape(3).copy(), np.eye(3), 3


def _space(robot: Robot, q0: Array) -> _Space:
    model, coupling = robot.model, robot._coupling
    lower, upper = _bounds(robot)
    if coupling is not None:
        G = np.ascontiguousarray(coupling.map)
        alone = np.count_nonzero(G, axis=0) == 1
        angles = np.array(robot.dof_units) == "rad"
        return _Space(np.clip(q0, lower, upper), lower, upper, coupling.offset, G, G, angles & alone)
    if np.any(model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)):
        raise InvalidInput(f"inverse kinematics of ball joints is not supported, and {robot.name} has some")
    joints = _scalar_joints(robot)
    places, dofs = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    fixed = q0.copy()
    fixed[places] = 0.0
    position_map = np.ascontiguousarray(np.eye(model.nq)[:, places])
    velocity_map = np.ascontiguousarray(np.eye(model.nv)[:, dofs])
    lower, upper = lower[dofs], upper[dofs]
    turns = model.jnt_type[joints] == int(mujoco.mjtJoint.mjJNT_HINGE)
    return _Space(np.clip(q0[places], lower, upper), lower, upper, fixed, position_map, velocity_map, turns)


def _scalar_joints(robot: Robot) -> np.ndarray:
    return np.flatnonzero(robot.model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE))


def _bounds(robot: Robot) -> tuple[Array, Array]:
    """Joint limits; a joint without them is searched over one turn, or one metre, either way."""
    span = np.where(np.array(robot.dof_units) == "rad", math.pi, 1.0)
    lower, upper = robot.limits.lower, robot.limits.upper
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * span, -span))
    return low, np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * span, span))


def _unwound(x: Array, space: _Space) -> Array:
    """The same posture without needless full turns away from the start."""
    whole = np.round((x - space.start) / math.tau) * math.tau
    near = x - whole
    inside = space.turns & (near >= space.lower) & (near <= space.upper)
    return np.where(inside, near, x)


def _coordinates(robot: Robot, q0: Array, x: Array) -> Array:
    if robot._coupling is not None:
        return x
    q = q0.copy()
    q[robot.model.jnt_qposadr[_scalar_joints(robot)]] = x
    return q


@kernel("void(float64[::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1])")
def _task_error(p, R, position, rotation, out):
    """[p_d − p; log(R_d Rᵀ)], world axes."""
    turn = np.empty((3, 3))
    for i in range(3):
        out[i] = position[i] - p[i]
        for j in range(3):
            turn[i, j] = rotation[i, 0] * R[j, 0] + rotation[i, 1] * R[j, 1] + rotation[i, 2] * R[j, 2]
    rotation_vector_from_matrix(turn, out[3:6])


@kernel("float64[::1](float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], float64)")
def _step_within(J, e, x, lower, upper, damping):
    """Damped least-squares step whose joints at a limit do not push beyond it."""
    n = x.size
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
            outward = (x[j] >= upper[j] and step[j] > 0) or (x[j] <= lower[j] and step[j] < 0)
            if outward and not blocked[j]:
                blocked[j] = True
                fresh = True
        if not fresh:
            break
    largest = np.abs(step).max()
    return step * min(1.0, 0.5 / largest) if largest > 0 else step


@kernel(
    "UniTuple(float64, 2)(int64[::1], int64, float64[::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1], int64, float64[::1], float64[::1],"
    " float64, float64, int64)"
)
def _descend(
    handle, body, offset, turn, x, fixed, position_map, velocity_map,
    position, rotation, rows, lower, upper, position_tol, angle_tol, iterations,
):  # fmt: skip
    """Levenberg–Marquardt on x, in place: the damping shrinks while the error falls and grows when a step fails.

    Returns the remaining (position, angle) error.
    """
    n, nv = x.size, velocity_map.shape[0]
    p, R, J, e = np.empty(3), np.empty((3, 3)), np.empty((6, nv)), np.zeros(6)
    kernels.pose_and_jacobian(handle, fixed + position_map @ x, body, offset, turn, p, R, J)
    _task_error(p, R, position, rotation, e)
    damping, trial, e_trial, stalled = 1e-3, np.empty(n), np.zeros(6), 0
    for _ in range(iterations):
        position_error = np.sqrt((e[:3] ** 2).sum())
        angle_error = np.sqrt((e[3:] ** 2).sum()) if rows == 6 else 0.0
        if (position_error <= 0.1 * position_tol and angle_error <= 0.1 * angle_tol) or stalled > 8:
            break
        step = _step_within(J[:rows] @ velocity_map, e[:rows].copy(), x, lower, upper, damping)
        for j in range(n):
            trial[j] = min(max(x[j] + step[j], lower[j]), upper[j])
        kernels.pose_and_jacobian(handle, fixed + position_map @ trial, body, offset, turn, p, R, J)
        _task_error(p, R, position, rotation, e_trial)
        if (e_trial[:rows] ** 2).sum() < (e[:rows] ** 2).sum():
            x[:] = trial
            e[:] = e_trial
            damping = max(damping * 0.2, 1e-12)
            stalled = 0
        else:
            damping = min(damping * 8.0, 1e3)
            stalled += 1
            kernels.pose_and_jacobian(handle, fixed + position_map @ x, body, offset, turn, p, R, J)
    return np.sqrt((e[:3] ** 2).sum()), (np.sqrt((e[3:] ** 2).sum()) if rows == 6 else 0.0)

"""Inverse kinematics of any frame: damped least squares within joint limits, with restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.engine import address_of, kernel, mju_cholFactor, mju_cholSolve
from palpate.errors import InvalidInput, Unreachable
from palpate.robot import kernels
from palpate.spatial import Pose
from palpate.spatial.kernels import rotation_vector_from_matrix

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

_ITERATIONS = 200
LONGEST_STEP = 0.5  # rad or m per iteration


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
    """Every scalar joint that follows no other; what follows it moves along."""
    if np.any(robot.model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)):
        raise InvalidInput(f"inverse kinematics of ball joints is not supported, and {robot.name} has some")
    places, dofs = scalar_places(robot)
    coupling, (lower, upper) = robot.coupling, _bounds(robot)
    P, G = np.eye(robot.nq), np.eye(robot.nv)
    fixed, turns = q0.copy(), (np.array(robot.dof_units) == "rad")[dofs]
    fixed[places] = 0.0
    if coupling is not None:
        fixed, P, G = coupling.expand_position(fixed), coupling.position_map, coupling.map
        turns &= np.count_nonzero(G, axis=0)[dofs] == 1
    position_map, velocity_map = np.ascontiguousarray(P[:, places]), np.ascontiguousarray(G[:, dofs])
    lower, upper = lower[dofs], upper[dofs]
    return _Space(np.clip(q0[places], lower, upper), lower, upper, fixed, position_map, velocity_map, turns)


def scalar_places(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Where the joints of one degree of freedom stand in the robot's q, and where in its v."""
    places, dofs, place, dof = [], [], 0, 0
    for name in robot.joint_names:
        kind = int(robot.model.joint(name).type[0])
        if kind >= int(mujoco.mjtJoint.mjJNT_SLIDE):
            places.append(place)
            dofs.append(dof)
        place, dof = place + (7, 4, 1, 1)[kind], dof + (6, 3, 1, 1)[kind]
    return np.array(places, dtype=int), np.array(dofs, dtype=int)


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
    q = q0.copy()
    q[scalar_places(robot)[0]] = x
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


@kernel("void(float64[:, ::1], float64[::1], float64, boolean[::1], float64[:, ::1], float64[::1])")
def _damped_step(J, e, damping, blocked, A, step):
    """step = Jᵀ (J Jᵀ + damping 1)⁻¹ e over the joints that are not blocked. A is scratch, rows × rows."""
    rows, n = J.shape
    for i in range(rows):
        for k in range(rows):
            A[i, k] = damping if i == k else 0.0
            for j in range(n):
                if not blocked[j]:
                    A[i, k] += J[i, j] * J[k, j]
    y = np.empty(rows)
    mju_cholFactor(address_of(A), rows, 1e-300)
    mju_cholSolve(address_of(y), address_of(A), address_of(e), rows)
    for j in range(n):
        step[j] = 0.0
        for i in range(rows):
            step[j] += 0.0 if blocked[j] else J[i, j] * y[i]


@kernel(
    "void(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], float64, float64[:, ::1],"
    " float64[::1])"
)
def _step_within(J, e, x, lower, upper, damping, A, step):
    """Damped least-squares step whose joints at a limit do not push beyond it."""
    n = x.size
    blocked = np.zeros(n, dtype=np.bool_)
    for _ in range(n + 1):
        _damped_step(J, e, damping, blocked, A, step)
        fresh = False
        for j in range(n):
            outward = (x[j] >= upper[j] and step[j] > 0) or (x[j] <= lower[j] and step[j] < 0)
            if outward and not blocked[j]:
                blocked[j] = True
                fresh = True
        if not fresh:
            break
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(step[j]))
    if largest > LONGEST_STEP:
        for j in range(n):
            step[j] *= LONGEST_STEP / largest


@kernel("void(float64[:, ::1], float64[::1], float64[::1], float64[::1])")
def _expand(position_map, x, fixed, q):
    """q = fixed + position_map x."""
    for i in range(q.size):
        q[i] = fixed[i]
        for j in range(x.size):
            q[i] += position_map[i, j] * x[j]


@kernel("void(float64[:, ::1], float64[:, ::1], float64[:, ::1])")
def _reduce(J_all, velocity_map, J):
    """The first rows of J_all velocity_map."""
    rows, n = J.shape
    for i in range(rows):
        for j in range(n):
            J[i, j] = 0.0
            for k in range(velocity_map.shape[0]):
                J[i, j] += J_all[i, k] * velocity_map[k, j]


@kernel("float64(float64[::1], int64, int64)")
def _square(e, start, stop):
    total = 0.0
    for i in range(start, stop):
        total += e[i] * e[i]
    return total


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
    p, R, J_all, J = np.empty(3), np.empty((3, 3)), np.empty((6, nv)), np.empty((rows, n))
    q, step, trial, A = np.empty(fixed.size), np.empty(n), np.empty(n), np.empty((rows, rows))
    e, e_trial, damping, stalled = np.zeros(6), np.zeros(6), 1e-3, 0
    _expand(position_map, x, fixed, q)
    kernels.pose_and_jacobian(handle, q, body, offset, turn, p, R, J_all)
    _task_error(p, R, position, rotation, e)
    _reduce(J_all, velocity_map, J)
    for _ in range(iterations):
        close = _square(e, 0, 3) <= (0.1 * position_tol) ** 2 and _square(e, 3, rows) <= (0.1 * angle_tol) ** 2
        if close or stalled > 8:
            break
        _step_within(J, e, x, lower, upper, damping, A, step)
        for j in range(n):
            trial[j] = min(max(x[j] + step[j], lower[j]), upper[j])
        _expand(position_map, trial, fixed, q)
        kernels.pose_and_jacobian(handle, q, body, offset, turn, p, R, J_all)
        _task_error(p, R, position, rotation, e_trial)
        if _square(e_trial, 0, rows) < _square(e, 0, rows):
            x[:], e[:] = trial, e_trial
            _reduce(J_all, velocity_map, J)
            damping, stalled = max(damping * 0.2, 1e-12), 0
        else:
            damping, stalled = min(damping * 8.0, 1e3), stalled + 1
    return math.sqrt(_square(e, 0, 3)), math.sqrt(_square(e, 3, rows))

"""Inverse kinematics of any frame: damped least squares within joint limits, with restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.engine.kernels import kernel, put
from palpate.engine.library import mju_cholFactor, mju_cholSolve
from palpate.engine.physics import Physics
from palpate.engine.records import Integers, Matrix, Record, Vector, sized
from palpate.engine.views import address_of, part
from palpate.errors import InvalidInput, Unreachable
from palpate.robot.mechanics import kernels, queries
from palpate.spatial import Pose
from palpate.spatial.kernels import rotation_vector_from_matrix

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

_ITERATIONS = 200
LONGEST_STEP = 0.5  # rad or m per iteration; a slide without limits may go a tenth of the way that is searched


@dataclass(frozen=True)
class _Space:
    """The joints that the search may move: those of one freedom that follow no other. A free base stands still.

    Attributes:
        q0: the robot's coordinates at the start.
        indices, dofs: where those joints stand in q and in v.
        lower, upper: how far each is searched.
        unwindable: which of them are angles that nothing follows.
        unbounded: which of them are slides without limits.
    """

    q0: Array
    indices: np.ndarray
    dofs: np.ndarray
    lower: Array
    upper: Array
    unwindable: np.ndarray
    unbounded: np.ndarray

    @property
    def start(self) -> Array:
        return np.clip(self.q0[self.indices], self.lower, self.upper)

    def coordinates(self, x: Array) -> Array:
        """The robot's coordinates with those joints at x."""
        q = self.q0.copy()
        q[self.indices] = x
        return q

    def unwound(self, x: Array) -> Array:
        """The same posture without needless full turns away from the start."""
        near = x - np.round((x - self.start) / math.tau) * math.tau
        return np.where(self.unwindable & (near >= self.lower) & (near <= self.upper), near, x)


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
    frame_info, c = robot.frame(frame), robot.coordinates
    space = _space(robot, q0, float(np.linalg.norm(position - robot.pose(q0, frame).position)))
    fixed, start = c.expand_position(space.coordinates(np.zeros(len(space.indices)))), space.start
    longest = np.where(space.unbounded, np.maximum(0.05 * (space.upper - space.lower), LONGEST_STEP), LONGEST_STEP)
    goal = IkSearch(
        {"rows": rows, "n": len(start), "nq": len(fixed), "nv": len(c.map)}, frame=frame_info.record, fixed=fixed,
        position_map=np.ascontiguousarray(c.position_map[:, space.indices]),
        velocity_map=np.ascontiguousarray(c.map[:, space.dofs]),
        lower=space.lower, upper=space.upper, longest=longest, position=position, rotation=rotation,
        position_tolerance=tolerances[0], angle_tolerance=tolerances[1],
    )  # fmt: skip
    random, best, best_error = np.random.default_rng(0), start, (math.inf, math.inf)
    for attempt in range(int(restarts) + 1):
        x = start.copy() if attempt == 0 else random.uniform(space.lower, space.upper)
        error = _descend(robot._work.physics.address, goal.address, x)
        if error[0] <= tolerances[0] and error[1] <= tolerances[1]:
            return space.coordinates(space.unwound(x))
        if sum(error) < sum(best_error):
            best, best_error = x, error
    raise Unreachable(
        f"no posture of {robot.name} {_searched(robot, space)} brings frame {frame_info.name!r} there;"
        f" nearest: {best_error[0] * 1e3:.3g} mm and {math.degrees(best_error[1]):.3g}° away"
        f" after {int(restarts) + 1} starts",
        space.coordinates(best),
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


def _searched(robot: Robot, space: _Space) -> str:
    """Where the search went, in words: limits are those of the joints, but slides without them end somewhere too."""
    if not space.unbounded.any():
        return "within its limits"
    names = np.array(robot.dof_names)[space.dofs]
    ranges = zip(names[space.unbounded], space.lower[space.unbounded], space.upper[space.unbounded])
    searched = ", ".join(f"{name} from {low:.3g} to {high:.3g} m" for name, low, high in ranges)
    return f"within its limits ({searched}: without limits, searched so far)"


def _space(robot: Robot, q0: Array, distance: float) -> _Space:
    """Joint limits; without them a hinge is searched over one turn, a slide as far as the target and the arm reach.

    The target is `distance` metres off.
    """
    if np.any(robot.model.jnt_type == int(mujoco.mjtJoint.mjJNT_BALL)):
        raise InvalidInput(f"inverse kinematics of ball joints is not supported, and {robot.name} has some")
    c = robot.coordinates
    dofs = np.flatnonzero(c.position_of[c.kept] >= 0)
    indices = np.searchsorted(c.kept_position, c.position_of[c.kept[dofs]])
    hinges, x = (np.array(robot.dof_units) == "rad")[dofs], q0[indices]
    reach = distance + 2.0 * float(np.linalg.norm(robot.model.body_pos, axis=1).sum())
    span, centre = np.where(hinges, math.pi, max(reach, 1.0)), np.where(hinges, 0.0, x)
    lower, upper = robot.limits.lower[dofs], robot.limits.upper[dofs]
    below, above = np.where(hinges, upper, np.minimum(upper, x)), np.where(hinges, lower, np.maximum(lower, x))
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), below - 2 * span, centre - span))
    high = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), above + 2 * span, centre + span))
    unwindable = hinges & (np.count_nonzero(c.map, axis=0)[dofs] == 1)
    return _Space(q0, indices, dofs, low, high, unwindable, ~hinges & ~(np.isfinite(lower) & np.isfinite(upper)))


class IkSearch(Record):
    """One search: what may move and how far, where to, and scratch. The task has 6 rows (pose) or 3 (position)."""

    frame: kernels.FrameOnBody
    fixed: Vector = sized("nq")
    position_map: Matrix = sized("nq", "n")
    velocity_map: Matrix = sized("nv", "n")
    lower: Vector = sized("n")
    upper: Vector = sized("n")
    longest: Vector = sized("n", start=LONGEST_STEP)  # rad or m per iteration
    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    position_tolerance: float
    angle_tolerance: float
    # scratch
    p: Vector = sized(3)
    R: Matrix = sized(3, 3)
    R_error: Matrix = sized(3, 3)
    J_all: Matrix = sized(6, "nv")
    J: Matrix = sized("rows", "n")
    q: Vector = sized("nq")
    step: Vector = sized("n")
    trial: Vector = sized("n")
    error: Vector = sized(6)
    error_trial: Vector = sized(6)
    A: Matrix = sized("rows", "rows")
    y: Vector = sized("rows")
    blocked: Integers = sized("n")


@kernel
def _pose_error(p: Physics, s: IkSearch, x: Vector, error: Vector) -> None:
    """Stage x; error = [p_d − p; log(R_d Rᵀ)], world axes."""
    for i in range(s.q.size):
        s.q[i] = s.fixed[i]
        for j in range(x.size):
            s.q[i] += s.position_map[i, j] * x[j]
    queries.pose_and_jacobian(p, s.q, s.frame, s.p, s.R, s.J_all)
    R_d, R = s.rotation, s.R
    for i in range(3):
        error[i] = s.position[i] - s.p[i]
        for j in range(3):
            s.R_error[i, j] = R_d[i, 0] * R[j, 0] + R_d[i, 1] * R[j, 1] + R_d[i, 2] * R[j, 2]
    rotation_vector_from_matrix(s.R_error, part(error, 3, 3))


@kernel
def _damped_step(s: IkSearch, damping: float) -> None:
    """step = Jᵀ (J Jᵀ + damping 1)⁻¹ e over the joints that are not blocked."""
    J, A = s.J, s.A
    rows, n = J.shape
    for i in range(rows):
        for k in range(rows):
            A[i, k] = damping if i == k else 0.0
            for j in range(n):
                if s.blocked[j] == 0:
                    A[i, k] += J[i, j] * J[k, j]
    mju_cholFactor(address_of(A), rows, 1e-300)
    mju_cholSolve(address_of(s.y), address_of(A), address_of(s.error), rows)
    for j in range(n):
        s.step[j] = 0.0
        for i in range(rows):
            s.step[j] += J[i, j] * s.y[i] if s.blocked[j] == 0 else 0.0


@kernel
def _step_within(s: IkSearch, x: Vector, damping: float) -> None:
    """Damped least-squares step whose joints at a limit do not push beyond it."""
    n, step = x.size, s.step
    for j in range(n):
        s.blocked[j] = 0
    for _ in range(n + 1):
        _damped_step(s, damping)
        fresh = False
        for j in range(n):
            outward = (x[j] >= s.upper[j] and step[j] > 0) or (x[j] <= s.lower[j] and step[j] < 0)
            if outward and s.blocked[j] == 0:
                s.blocked[j], fresh = 1, True
        if not fresh:
            break
    excess = 1.0
    for j in range(n):
        excess = max(excess, abs(step[j]) / s.longest[j])
    for j in range(n):
        step[j] /= excess


@kernel
def _reduce(s: IkSearch) -> None:
    """J = the first rows of J_all velocity_map."""
    for i in range(s.J.shape[0]):
        for j in range(s.J.shape[1]):
            s.J[i, j] = 0.0
            for k in range(s.velocity_map.shape[0]):
                s.J[i, j] += s.J_all[i, k] * s.velocity_map[k, j]


@kernel
def _square(e: Vector, start: int, stop: int) -> float:
    total = 0.0
    for i in range(start, stop):
        total += e[i] * e[i]
    return total


@kernel
def _descend(p: Physics, s: IkSearch, x: Vector) -> tuple[float, float]:
    """Levenberg–Marquardt on x, in place: the damping shrinks while the error falls and grows when a step fails.

    Returns the remaining (position, angle) error.
    """
    rows, damping, stalled, e = s.J.shape[0], 1e-3, 0, s.error
    _pose_error(p, s, x, e)
    _reduce(s)
    for _ in range(_ITERATIONS):
        near = _square(e, 0, 3) <= (0.1 * s.position_tolerance) ** 2
        if (near and _square(e, 3, rows) <= (0.1 * s.angle_tolerance) ** 2) or stalled > 8:
            break
        _step_within(s, x, damping)
        for j in range(x.size):
            s.trial[j] = min(max(x[j] + s.step[j], s.lower[j]), s.upper[j])
        _pose_error(p, s, s.trial, s.error_trial)
        if _square(s.error_trial, 0, rows) < _square(e, 0, rows):
            put(x, 0, s.trial)
            put(e, 0, s.error_trial)
            _reduce(s)
            damping, stalled = max(damping * 0.2, 1e-12), 0
        else:
            damping, stalled = min(damping * 8.0, 1e3), stalled + 1
    return math.sqrt(_square(e, 0, 3)), math.sqrt(_square(e, 3, rows))

"""Joint velocities for tasks that stay the same: `differential_ik` as one compiled call.

A frame's rows are S J with S [p_d − p; log(R_d Rᵀ)] as their error, a posture's are rows of 1 with (q_d − q) / d; each
wants gain · error + feed-forward. The limits are those of `limit_rows.velocity_limits`, the optimum that of
`solve_stack`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.solve.active_set import shortest_inside
from palpate.control.solve.hierarchy import free_optimum, solve_stack
from palpate.control.solve.priorities import Answer, Levels, differential_ik, groups_of
from palpate.control.solve.stack import Stack, make_stack
from palpate.control.solve.tasks import (
    FrameOrientation,
    FramePose,
    FramePosition,
    JointMiddle,
    Posture,
    Task,
    middle_of_limits,
)
from palpate.engine.kernels import clear, dot, kernel
from palpate.engine.records import Matrix, ReadVector, Record, Vector, sized
from palpate.engine.views import part
from palpate.errors import InvalidInput, check_names
from palpate.robot.mechanics.kernels import OK
from palpate.robot.mechanics.tree_frames import RobotFrames, robot_frames, update_robot_frames
from palpate.robot.mechanics.tree_kernels import BAD_SHAPE, STATUSES
from palpate.robot.robot import Robot
from palpate.robot.terms import reason_for_engine, refusal
from palpate.spatial import Pose
from palpate.spatial.kernels import rotation_vector_from_matrix

_UNSOLVED = STATUSES  # beside the statuses of a state: the limits had to be widened, or the search did not end
_FRAME_ROWS = {FramePose: slice(0, 6), FramePosition: slice(0, 3), FrameOrientation: slice(3, 6)}


class _Entry(Record):
    """One task: a frame's number, or −1 for the joints; its first row; S over six directions or over the joints."""

    frame: int
    first: int
    gain: float
    root_weight: float
    S: Matrix = sized("rows", "width")
    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    posture: Vector = sized("nv")
    divisor: Vector = sized("nv", start=1.0)
    feedforward: Vector = sized("rows")
    error: Vector = sized(6)


class _Work(Record):
    """Everything that a call reads and writes."""

    nv: int
    dt: float
    limited: bool
    bounded: bool  # whether positions have limits over the step: not beside a free base
    kept: bool  # whether every limit could be kept
    robot: RobotFrames
    entries: list[_Entry]
    stack: Stack
    lowest: Vector = sized("nv")
    highest: Vector = sized("nv")
    fastest: Vector = sized("nv")
    strongest: Vector = sized("nv")
    R_error: Matrix = sized(3, 3)


@kernel
def _frame_rows(e: _Entry, w: _Work) -> None:
    """S J and gain S [p_d − p; log(R_d Rᵀ)] + feed-forward, weighted."""
    A, b, f = w.stack.level.A, w.stack.level.b, w.robot.frames[e.frame]
    for i in range(3):
        e.error[i] = e.position[i] - f.position[i]
        for j in range(3):
            w.R_error[i, j] = dot(e.rotation[i], f.rotation[j], 3)
    rotation_vector_from_matrix(w.R_error, part(e.error, 3, 3))
    for i in range(e.S.shape[0]):
        row, error = A[e.first + i], 0.0
        clear(row)
        for k in range(6):
            s = e.S[i, k]
            if s != 0.0:
                error += s * e.error[k]
                for j in range(row.size):
                    row[j] += s * f.J[k, j]
        b[e.first + i] = e.root_weight * (e.gain * error + e.feedforward[i])
        for j in range(row.size):
            row[j] *= e.root_weight


@kernel
def _joint_rows(e: _Entry, q: ReadVector, w: _Work) -> None:
    """S and gain S (q_d − q) / d + feed-forward, weighted."""
    A, b = w.stack.level.A, w.stack.level.b
    for i in range(e.S.shape[0]):
        error = 0.0
        for j in range(w.nv):
            A[e.first + i, j] = e.root_weight * e.S[i, j]
            if e.S[i, j] != 0.0:
                error += e.S[i, j] * ((e.posture[j] - q[j]) / e.divisor[j])
        b[e.first + i] = e.root_weight * (e.gain * error + e.feedforward[i])


@kernel
def _limit(q: ReadVector, v: ReadVector, braked: bool, w: _Work) -> None:
    """lower ≤ v ≤ upper as `velocity_limits` has them: position gives way first, acceleration last."""
    s = w.stack.search
    w.kept = True
    for i in range(s.lower.size):
        lower, upper = -w.fastest[i], w.fastest[i]
        if braked:
            room = w.strongest[i] * w.dt
            lower, upper = max(lower, v[i] - room), min(upper, v[i] + room)
            if lower > upper:
                lower = upper = lower if v[i] > 0.0 else upper
                w.kept = False
        if w.bounded:
            below, above = (w.lowest[i] - q[i]) / w.dt, (w.highest[i] - q[i]) / w.dt
            if below > upper or above < lower:
                w.kept = False
            lower, upper = min(max(below, lower), upper), min(max(above, lower), upper)
        s.lower[i], s.upper[i] = lower, upper


@kernel
def _choose_held(w: _Work) -> bool:
    """Hold x at every limit that it breaks, let go what pulls inwards; whether that changes what is held."""
    s, changed = w.stack.search, False
    for j in range(w.nv):
        side = 0
        if s.active[j] == 0:
            if s.x[j] > s.upper[j]:
                side = 1
            elif s.x[j] < s.lower[j]:
                side = -1
        elif s.active[j] * s.pull[j] >= 0.0:
            side = int(s.active[j])
        if side != s.active[j]:
            s.active[j], changed = side, True
        if side != 0:
            s.x[j] = s.upper[j] if side > 0 else s.lower[j]
    return changed


@kernel
def _least_of_others(w: _Work) -> bool:
    """Bring the joints that are not held to the least |A x − b|; False where that does not settle every one."""
    level, s, left = w.stack.level, w.stack.search, 0
    rows = level.last - level.first
    for i in range(rows):
        s.residual[i], left = level.b[level.first + i], 0
        for j in range(w.nv):
            a = level.A[level.first + i, j]
            if s.active[j] != 0:
                s.residual[i] -= a * s.x[j]
            else:
                s.inner_factor[i, left] = a
                left += 1
    if left == 0 or shortest_inside(s, rows, left, level.floor) < left:
        return False
    left = 0
    for j in range(w.nv):
        if s.active[j] == 0:
            s.x[j] = s.row[left]
            left += 1
    return True


@kernel
def _set_pulls(w: _Work) -> None:
    """pull = Aᵀ (b − A x): where every joint would go."""
    level, s = w.stack.level, w.stack.search
    clear(s.pull)
    for i in range(level.first, level.last):
        miss = level.b[i] - dot(level.A[i], s.x, w.nv)
        for j in range(w.nv):
            s.pull[j] += level.A[i, j] * miss


@kernel
def _optimum_of_one_level(w: _Work) -> bool:
    """The optimum within the limits, of one level that settles every joint, from the one without limits.

    Limits that are broken are held, those that pull inwards let go, until nothing changes: x is then within the limits
    and pulls outwards wherever it is held, so that it is the one optimum (Karush, Kuhn and Tucker). That most often
    ends after two changes; False where it does not end, which leaves it to the search.
    """
    if w.stack.starts.size != 2 or w.stack.unsettled > 0:
        return False
    for _ in range(w.nv):
        if not _choose_held(w):
            return True
        if not _least_of_others(w):
            return False
        _set_pulls(w)
    return False


@kernel
def _velocities(q: ReadVector, v: ReadVector, braked: bool, w: _Work) -> int:
    """Velocities of the joints in `stack.search.x`, or why there are none."""
    status = update_robot_frames(q, v, w.robot)
    if status != OK:
        return status
    for k in range(len(w.entries)):
        e = w.entries[k]
        if e.frame < 0:
            _joint_rows(e, q, w)
        else:
            _frame_rows(e, w)
    if w.limited:
        _limit(q, v, braked, w)
    if not free_optimum(w.stack) and not _optimum_of_one_level(w):
        relaxed, failed = solve_stack(w.stack)
        if relaxed > 0.0 or failed != 0:
            return _UNSOLVED
    for i in range(w.nv):
        if not math.isfinite(w.stack.search.x[i]):
            return _UNSOLVED
    return OK


class VelocitySolver:
    """Joint velocities for tasks that stay the same, a few microseconds each: `differential_ik` in one compiled call.

        solve = VelocitySolver(robot, levels, dt=1e-3)
        v = solve(q)
        solve.aim(0, Pose(...))  # the target of the first task from now on

    The tasks are read once, except for their targets, which `aim` changes. The numbers are those of
    `differential_ik` to rounding, and so are the errors; `answer` gives its whole report. One thread at a time.

    Args:
        robot: the arm; its `limits` count.
        levels: tasks, or groups of equal priority, highest first: `FramePose`, `FramePosition`, `FrameOrientation`,
            `Posture`, `JointMiddle`.
        dt: for how long the velocities will be held, s.
        limits: False to ignore all of them.

    Raises:
        InvalidInput: a task of another kind, or a robot without compiled equations.
    """

    def __init__(self, robot: Robot, levels: Levels, *, dt: float, limits: bool = True) -> None:
        _refuse_uncompiled(robot)
        self.robot, self.dt, self.limited = robot, finite_number(dt, "dt", above=0.0), limits
        groups = groups_of(levels)
        self._tasks, self._groups = [task for group in groups for task in group], [len(group) for group in groups]
        names = list(dict.fromkeys(_frame_of(robot, task) for task in self._tasks if type(task) in _FRAME_ROWS))
        entries, starts = list[_Entry](), [0]
        for group in groups:
            for task in group:
                first = entries[-1].first + len(entries[-1].S) if entries else 0
                entries.append(_entry(robot, task, names, first))
            starts.append(entries[-1].first + len(entries[-1].S))
        self._entries, self._work = entries, _work(robot, entries, starts, names, self.dt, limits)
        self._address, self._x, self._still = self._work.address, self._work.stack.search.x, np.zeros(robot.nv)

    def __call__(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Velocities at q, rad/s or m/s; given the current v, within acceleration limits too."""
        try:  # plain arrays go straight in
            plain = type(q) is np.ndarray and (v is None or type(v) is np.ndarray)
            speed: ArrayLike = self._still if v is None else v
            status = _velocities(q, speed, v is not None, self._address) if plain else BAD_SHAPE  # pyright: ignore[reportArgumentType]
        except InvalidInput:
            status = BAD_SHAPE
        return self._x.copy() if status == OK else self._anew(status, q, v)

    def _anew(self, status: int, q: ArrayLike, v: ArrayLike | None) -> Array:
        """Velocities where the call with the arguments as they came gave none."""
        q = finite_array(q, "q", (self.robot.nq,))
        speed = self._still if v is None else finite_array(v, "v", (self.robot.nv,))
        if status == BAD_SHAPE:
            status = _velocities(np.ascontiguousarray(q), np.ascontiguousarray(speed), v is not None, self._address)
        if status == OK:
            return self._x.copy()
        if status == _UNSOLVED:
            return self.answer(q, v).command
        raise refusal(self.robot, status, (q, speed))

    def answer(self, q: ArrayLike, v: ArrayLike | None = None) -> Answer:
        """The whole report of `differential_ik` for the same tasks: what is met, which limits are reached, notes."""
        left = iter(self._tasks)
        levels = [[next(left) for _ in range(count)] for count in self._groups]
        return differential_ik(self.robot, q, levels, dt=self.dt, v=v, limits=self.limited)

    @property
    def limits(self) -> tuple[str, ...]:
        """The joints that the last call held at a limit."""
        return tuple(name for name, side in zip(self.robot.dof_names, self._work.stack.search.active) if side)

    @property
    def kept(self) -> bool:
        """Whether every limit could be kept at the last call; where not, `answer` names those that could not."""
        return self._work.kept

    def aim(self, task: int, target: Pose | ArrayLike) -> None:
        """Give a task another target: its number, counted through all levels from 0, and what its `target` takes."""
        if not 0 <= task < len(self._tasks):
            raise InvalidInput(f"there is no task {task}; valid are 0 to {len(self._tasks) - 1}")
        known = self._tasks[task]
        if not hasattr(known, "target"):
            raise InvalidInput(f"task {task} ({known.title}) has no target")
        self._tasks[task] = again = _replaced(known, target)
        _write_target(self.robot, again, self._entries[task])


def _replaced(task: Task, target: Pose | ArrayLike) -> Task:
    """The task with another target."""
    values = {name: getattr(task, name) for name in task.__dataclass_fields__}
    if isinstance(task, FramePose) and not isinstance(target, Pose):
        raise InvalidInput(f"target of {task.title} must be a Pose, got {type(target).__name__}")
    return type(task)(**{**values, "target": target})


def _refuse_uncompiled(robot: Robot) -> None:
    reason = "it has coupled joints" if robot.coordinates.coupled else reason_for_engine(robot.model)
    if reason is not None:
        raise InvalidInput(
            f"{robot.name} has no compiled equations for one call: {reason}", hint="use `differential_ik`"
        )


def _frame_of(robot: Robot, task: Task) -> str:
    return robot.frame(getattr(task, "frame", None)).name


def _entry(robot: Robot, task: Task, frames: Sequence[str], first: int) -> _Entry:
    """A task as compiled code takes it; refused where it is of another kind."""
    kind, wide = type(task), type(task) in _FRAME_ROWS
    if not wide and kind not in (Posture, JointMiddle):
        known = ", ".join(sorted(k.__name__ for k in (*_FRAME_ROWS, Posture, JointMiddle)))
        raise InvalidInput(
            f"{task.title} is no task of a compiled call; these are: {known}", hint="use `differential_ik`"
        )
    S = _directions(task) if wide else _joints(robot, task)
    numbers = {"first": first, "gain": task.gain, "root_weight": task.weight**0.5, "S": S}
    entry = _Entry(
        {"rows": len(S), "nv": robot.nv}, frame=frames.index(_frame_of(robot, task)) if wide else -1, **numbers
    )
    if task.feedforward is not None:
        entry.feedforward[:] = finite_array(task.feedforward, f"feedforward of {task.title}", (len(S),))
    _write_target(robot, task, entry)
    return entry


def _directions(task: Task) -> Array:
    """S over the six directions of a frame."""
    rows = np.eye(6)[_FRAME_ROWS[type(task)]]
    chosen = getattr(task, "directions", None)
    return rows if chosen is None else finite_array(chosen, f"directions of {task.title}", (None, len(rows))) @ rows


def _joints(robot: Robot, task: Task) -> Array:
    """Rows of 1 for the joints that count."""
    if robot.nq != robot.nv:
        raise InvalidInput(f"{task.title}: {robot.name} has a free or ball joint; this task is for scalar joints only")
    joints: tuple[str, ...] = getattr(task, "joints", ()) or robot.dof_names
    check_names("joint", joints, robot.dof_names)
    return np.eye(robot.nv)[[robot.dof_names.index(name) for name in joints]]


def _write_target(robot: Robot, task: Task, entry: _Entry) -> None:
    """Where a task wants its frame or the joints, in the record."""
    if isinstance(task, FramePose):
        entry.position[:], entry.rotation[:] = task.target.position, task.target.rotation
    elif isinstance(task, FramePosition):
        entry.position[:] = task.target
    elif isinstance(task, FrameOrientation):
        entry.rotation[:] = task.target
    elif isinstance(task, Posture):
        entry.posture[:] = finite_array(task.target, f"target of {task.title}", (robot.nv,))
    else:
        entry.posture[:], entry.divisor[:] = middle_of_limits(robot)


def _work(robot: Robot, entries: list[_Entry], starts: list[int], names: list[str], dt: float, limits: bool) -> _Work:
    """All that a call reads and writes."""
    n, known = robot.nv, robot.limits
    stack = make_stack(n, starts[-1], len(starts) - 1, n if limits else 0)
    stack.starts[:] = starts
    if limits:
        stack.search.C[:] = np.eye(n)
        stack.units[:] = np.where(np.isfinite(known.velocity), known.velocity, 1.0)
    numbers = {"nv": n, "dt": dt, "limited": limits, "bounded": robot.nq == n, "kept": True}
    bounds = {"fastest": known.velocity, "strongest": known.acceleration}
    if robot.nq == n:
        bounds |= {"lowest": known.lower, "highest": known.upper}
    return _Work({"nv": n}, **numbers, **bounds, robot=robot_frames(robot, names), entries=entries, stack=stack)

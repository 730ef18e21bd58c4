"""Inverse dynamics with strict priorities as a law: a stack of tasks within torque limits (document 003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from palpate.checks import Array
from palpate.config import Config, PerJoint, Vector3, required, setting
from palpate.control.law import BoundLaw, Follows, Law, Tick, law_kernel, per_joint, refuse_free_base
from palpate.control.solve.hierarchy import make_stack
from palpate.control.solve.priorities import Answer, inverse_dynamics
from palpate.control.solve.task_stack import Entry, FrameNow, TaskStack, missed, solve_tasks
from palpate.control.solve.tasks import Rows, State, Task
from palpate.control.steps.frames import motion_of, tree_of
from palpate.control.steps.task_space import DIRECTIONS, Direction
from palpate.engine.kernels import kernel
from palpate.engine.records import Integers, Record, Vector, sized
from palpate.errors import InvalidInput, PalpateError, UnknownName
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat
from palpate.spatial.kernels import rotation_vector_from_matrix

_INSIDE = 1.0 - 1e-12  # torques stop this far inside their limits, so that rounding never leaves them
_OF = {"position": DIRECTIONS[:3], "orientation": DIRECTIONS[3:], "pose": DIRECTIONS}


class Level(Config):
    """A task of the stack: a frame's pose or part of it, or the joints, as ë + 2 ζ ω ė + ω² e = 0."""

    kind: Literal["position", "orientation", "pose", "direction", "posture"] = required("1", "what is wanted")
    frame: str | None = setting(
        None, "1", "whose pose; the tool's if not given. Another frame should be where the wanted posture q_d puts it"
    )
    directions: tuple[Direction, ...] = setting(
        (), "1", "of position, orientation or pose: the ones that count, world axes; all if none is given"
    )
    along: Vector3 | None = setting(None, "1", "of direction: the line along which the position counts, world axes")
    joints: tuple[str, ...] = setting((), "1", "of posture: the joints that count; all if none is given")
    frequency: float = setting(10.0, "rad/s", "ω of the task's error", gt=0)
    damping_ratio: float = setting(1.0, "1", "ζ of the task's error", gt=0)
    weight: float = setting(1.0, "1", "among entries that share a level", gt=0)
    shared: bool = setting(False, "1", "whether it stands beside the entry before it, at equal priority, by weight")

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if (self.along is not None) != (self.kind == "direction"):
            raise InvalidInput(f"`along` goes with kind direction and must be given there, kind is {self.kind}")
        if self.along is not None and not np.linalg.norm(self.along) > 1e-9:
            raise InvalidInput(f"`along` must point somewhere, got {self.along}")
        if self.joints and self.kind != "posture":
            raise InvalidInput(f"`joints` goes with kind posture, kind is {self.kind}")
        if self.frame is not None and self.kind == "posture":
            raise InvalidInput("a posture has no `frame`", hint="choose joints by `joints`")
        wrong = [name for name in self.directions if name not in _OF.get(self.kind, ())]
        if wrong or len(set(self.directions)) != len(self.directions):
            fit = ", ".join(_OF.get(self.kind, ())) or "none"
            raise InvalidInput(f"directions of kind {self.kind} are {fit}, each once; got {', '.join(self.directions)}")
        return self

    @property
    def unit(self) -> str:
        """Of its residual."""
        return {"position": "m/s²", "direction": "m/s²", "pose": "m/s², rad/s²"}.get(self.kind, "rad/s²")

    def rows(self) -> Array:
        """S over [linear; angular] world axes, k×6."""
        if self.along is not None:
            return np.array([[*(np.array(self.along) / np.linalg.norm(self.along)), 0.0, 0.0, 0.0]])
        chosen = self.directions or _OF[self.kind]
        return np.eye(6)[[DIRECTIONS.index(name) for name in chosen]]


_DEFAULT = (Level(kind="pose"), Level(kind="posture"))


class Gains(Record):
    """D of the fallback, and the bound on |τ|, which is infinite where there is none."""

    fallback_damping: Vector = sized("nv")
    most: Vector = sized("nv")


class Counts(Record):
    """At how many ticks what decided; per entry of the stack, at how many it was relaxed, and the worst of it."""

    ticks: int = 0
    limited: int = 0
    fallback: int = 0
    relaxed: Integers = sized("entries")
    worst: Vector = sized("entries")


class Memory(Counts):
    """The same, then room for a tick."""

    tasks: TaskStack


class Terms(Record):
    """What the torque is made of."""

    priorities: Vector = sized("nv")


@kernel
def _count(m: Memory, relaxed: float) -> None:
    """Which limits were met, and which entries were not."""
    search, tasks = m.tasks.stack.search, m.tasks
    met = 0
    for i in range(search.active.size):
        met += search.active[i] != 0
    m.limited += relaxed == 0.0 and met > 0
    for k in range(len(tasks.entries)):
        miss = missed(tasks.entries[k], tasks)
        if miss > 0.0:
            m.relaxed[k] += 1
            m.worst[k] = max(m.worst[k], miss)


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    m.ticks += 1
    torque = out.priorities
    relaxed, solved = solve_tasks(x, m.tasks, torque)
    if solved:
        _count(m, relaxed)
        return
    m.fallback += 1
    for j in range(torque.size):
        torque[j] = min(max(x.gravity[j] - k.fallback_damping[j] * x.v[j], -k.most[j]), k.most[j])


class _Goal:
    """What is wanted at one tick, worked out once per frame."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def set(self, target: Any) -> None:
        """Begin a tick with its target."""
        self.target = target
        self.q, self.v, self.a = target.q, target.v, target.a
        self._frames: dict[str, tuple[Array, Array, Array, Array]] = {}

    def frame(self, name: str) -> tuple[Array, Array, Array, Array]:
        """Position, rotation, twist and acceleration: the tool's are given, others follow from the wanted posture."""
        if name not in self._frames:
            self._frames[name] = self._given() if name == self.robot.tool_frame else self._followed(name)
        return self._frames[name]

    def _given(self) -> tuple[Array, Array, Array, Array]:
        x = self.target
        return x.position, matrix_from_quat(x.quat_wxyz), x.twist, x.acceleration

    def _followed(self, name: str) -> tuple[Array, Array, Array, Array]:
        at = self.robot.terms(self.q, self.v, name)
        return at.position, at.rotation, at.J @ self.v, at.J @ self.a + at.drift


@dataclass(frozen=True, kw_only=True)
class _FrameTask(Task):
    """Rows S of a frame's pose, towards the tick's goal; made once, so that a tick has nothing to check again."""

    goal: _Goal
    frame: str
    S: Array

    def rows(self, state: State) -> Rows:
        position, rotation, _, _ = self.goal.frame(self.frame)
        t, error = state.terms(self.frame), np.empty(6)
        error[:3] = position - t.position
        rotation_vector_from_matrix(rotation @ t.rotation.T, error[3:])
        return Rows(self.S @ t.J, self.S @ t.drift, self.S @ error)

    def acceleration(self, rows: Rows, v: Array) -> Array:
        _, _, twist, a = self.goal.frame(self.frame)
        return self.kp * rows.error + self.kd * (self.S @ twist - rows.J @ v) + self.S @ a


@dataclass(frozen=True, kw_only=True)
class _PostureTask(Task):
    """Rows S of the joints, towards the tick's goal."""

    goal: _Goal
    S: Array

    def rows(self, state: State) -> Rows:
        return Rows(self.S, np.zeros(len(self.S)), self.S @ (self.goal.q - state.q))

    def acceleration(self, rows: Rows, v: Array) -> Array:
        return self.kp * rows.error + self.S @ (self.kd * (self.goal.v - v) + self.goal.a)


def _stacked(robot: Robot, entries: tuple[Level, ...], goal: _Goal) -> list[list[Task]]:
    """Levels, highest first, each a group of equal priority; a task's name is its place among the entries."""
    levels: list[list[Task]] = []
    for i, entry in enumerate(entries):
        task = _task(robot, entry, goal, str(i))
        if entry.shared:
            levels[-1].append(task)
        else:
            levels.append([task])
    return levels


def _task(robot: Robot, entry: Level, goal: _Goal, name: str) -> Task:
    w = entry.frequency
    gains: dict[str, Any] = {"name": name, "kp": w * w, "kd": 2 * entry.damping_ratio * w, "weight": entry.weight}
    if entry.kind == "posture":
        joints = [_place("joint", joint, robot.dof_names) for joint in entry.joints or robot.dof_names]
        return _PostureTask(goal=goal, S=np.eye(robot.nv)[joints], **gains)
    frame = entry.frame or robot.tool_frame
    _place("frame", frame, robot.frame_names)
    return _FrameTask(goal=goal, frame=frame, S=entry.rows(), **gains)


def _place(what: str, name: str, known: tuple[str, ...]) -> int:
    if name not in known:
        raise UnknownName(what, name, known)
    return known.index(name)


class Priorities(Law):
    """A stack of tasks, strict priority, within torque limits: τ = M v̇ + b with the lexicographic least |J_k v̇ − a_k|.

    a_k = a_d + 2 ζ ω (ẋ_d − J_k v) + ω² e_k − J̇_k v for level k = 1, 2, …, highest first. Each level is met within the
    freedom that the higher ones and |τ| ≤ τ_max leave, or relaxed by the least amount; see
    `palpate.control.solve.priorities.inverse_dynamics`, which gives the same torques from Python.

    Closed loop: ë + 2 ζ ω ė + ω² e = −J_k M⁻¹ Jᵀ F of every level that can be met, F from outside; lower levels never
    disturb it. A level that is not met strays; the run's remarks say at how many ticks and by how much at worst.
    Without an answer the arm is held by τ = g − D v within the torque limits, and that is counted and said.
    Assumes: true model, fixed base, torques that follow at once. With `shares`, or coupled joints, it is plain Python.
    """

    name: ClassVar[str] = "priorities"
    kernel = _kernel
    literature = ("10.1177/0278364914521306",)

    levels: tuple[Level, ...] = setting((), "1", "the stack, highest first; pose above posture if none is given")
    torque_limits: bool = setting(True, "1", "whether the robot's torque limits count")
    torque_share: float = setting(1.0, "1", "share of the robot's torque limits that the law may use", gt=0, le=1)
    fallback_damping: PerJoint = setting(2.0, "N·m·s/rad", "D ≥ 0 of the fallback, one for all joints or one each")
    shares: bool = setting(
        False, "1", "whether terms bias, level1, level2, … are recorded, at the price of one more solution per level"
    )

    @model_validator(mode="after")
    def _first_stands_alone(self) -> Self:
        if self.levels and self.levels[0].shared:
            raise InvalidInput("the first of the levels cannot be shared: there is none before it")
        return self

    @property
    def stack(self) -> tuple[Level, ...]:
        """The levels that count."""
        return self.levels or _DEFAULT

    @property
    def follows(self) -> Follows:
        """The tool, unless the stack holds postures alone."""
        return "joints" if all(level.kind == "posture" for level in self.stack) else "tool"

    def gains(self, robot: Robot) -> Gains:
        """D of the fallback, and the bound on |τ|."""
        refuse_free_base(robot, self.name)
        most = robot.limits.torque * self.torque_share if self.torque_limits else np.full(robot.nv, np.inf)
        damping = per_joint(robot, self.fallback_damping, "fallback_damping", least=0.0)
        return Gains(fallback_damping=damping, most=most * _INSIDE)

    def memory(self, robot: Robot) -> Memory:
        """Counters, and room for a tick."""
        return Memory({"entries": len(self.stack)}, tasks=_room(robot, self.stack, self.gains(robot).most))

    def remarks(self, memory: Counts) -> list[str]:
        """Which entries below the first were relaxed, and how often limits decided."""
        said = [line for i in range(1, len(self.stack)) for line in self._relaxed(memory, i)]
        if memory.limited:
            said.append(f"torque limits were met at {memory.limited} of {memory.ticks} ticks")
        return [f"{self.name}: {line}" for line in said]

    def alarms(self, memory: Counts) -> list[str]:
        """An entry with nothing above it that was relaxed all the same, and ticks without an answer."""
        said = self._relaxed(memory, 0)
        if memory.fallback:
            said.append(f"no answer at {memory.fallback} of {memory.ticks} ticks: held by gravity and damping instead")
        return [f"{self.name}: {line}" for line in said]

    def _relaxed(self, memory: Counts, i: int) -> list[str]:
        """What there is to say of an entry of the stack that was not met."""
        entry, count = self.stack[i], int(memory.relaxed[i])
        amount = f"at {count} of {memory.ticks} ticks, at worst by {memory.worst[i]:.3g} {entry.unit}"
        return [f"entry {i + 1}, {entry.kind}: relaxed {amount}"] if count else []

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot."""
        compiled = not self.shares and not robot.coordinates.coupled
        return super().bind(robot) if compiled else self.bind_python(robot)

    def bind_python(self, robot: Robot) -> BoundLaw:
        """The law in plain Python; it asks the robot for the terms of every frame of its stack."""
        goal = _Goal(robot)
        levels = _stacked(robot, self.stack, goal)
        count = len(levels) if self.shares else 1
        names = ("bias", *(f"level{k + 1}" for k in range(len(levels)))) if self.shares else ("priorities",)

        def law(tick: Any, gains: Gains, memory: Counts) -> dict[str, Array]:
            memory.ticks += 1
            goal.set(tick.target)
            try:
                answers = _answers(robot, tick.q, tick.v, levels, gains.most, count)
            except PalpateError:  # the stack itself was checked: what is wrong is the state, or the solver
                answers = []
            if not answers:
                memory.fallback += 1
                held = np.clip(tick.gravity - gains.fallback_damping * tick.v, -gains.most, gains.most)
                return {name: held if name == names[0] else np.zeros(robot.nv) for name in names}
            _note(memory, answers[-1][0])
            torques = [np.clip(torque, -gains.most, gains.most) for _, torque in answers]
            if not self.shares:
                return {names[0]: torques[-1]}
            return dict(zip(names, [tick.bias, *np.diff([tick.bias, *torques], axis=0)]))

        rows = np.zeros((len(names), robot.nv))
        return BoundLaw(
            self.name, law, names, self.command, self.gains(robot), Counts({"entries": len(self.stack)}), rows,
            needs=self.needed(), remarks=self.remarks, alarms=self.alarms,
        )  # fmt: skip


def _room(robot: Robot, entries: tuple[Level, ...], most: Array) -> TaskStack:
    """Everything a tick of the stack writes, for a robot."""
    tasks, starts = [task for level in _stacked(robot, entries, _Goal(robot)) for task in level], [0]
    names = list(dict.fromkeys(task.frame for task in tasks if isinstance(task, _FrameTask)))
    made: list[Entry] = []
    for task, entry in zip(tasks, entries):
        rows = task.S  # pyright: ignore[reportAttributeAccessIssue]
        place = names.index(task.frame) if isinstance(task, _FrameTask) else -1
        gains = {"kp": task.kp, "kd": task.kd, "root_weight": task.weight**0.5}
        made.append(Entry(frame=place, first=starts[-1], S=rows, **gains))
        if entry.shared:
            starts.pop()
        starts.append(made[-1].first + len(rows))
    n, rows = robot.nv, starts[-1]
    stack = make_stack(n, rows, len(starts) - 1, n)
    stack.starts[:], stack.units[:] = starts, np.where(np.isfinite(most), most, 1.0)
    frames = [FrameNow({"nv": n}, place=robot.frame(name).place, tool=name == robot.tool_frame) for name in names]
    return TaskStack(
        {"rows": rows, "nv": n},
        entries=made,
        frames=frames,
        tree=tree_of(robot, [robot.frame(name).body for name in names if name != robot.tool_frame]),
        now=motion_of(robot),
        wanted=motion_of(robot),
        stack=stack,
        most=most,
    )


def _answers(
    robot: Robot, q: Array, v: Array, levels: list[list[Task]], most: Array, count: int
) -> list[tuple[Answer, Array]]:
    """Solutions of the stack and their torques, the last one whole, those before without its lowest levels; or none."""
    answers = []
    for last in range(len(levels) - count + 1, len(levels) + 1):
        found = inverse_dynamics(robot, q, v, levels[:last], torque=most)
        if found.solver == "fallback" or found.torque is None or not np.isfinite(found.torque).all():
            return []
        answers.append((found, found.torque))
    return answers


def _note(memory: Counts, answer: Answer) -> None:
    memory.limited += bool(answer.limits)
    for name, met in answer.met.items():
        if not met:
            entry = int(name)
            memory.relaxed[entry] += 1
            memory.worst[entry] = max(memory.worst[entry], float(np.linalg.norm(answer.residuals[name])))

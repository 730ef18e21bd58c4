"""Inverse dynamics with strict priorities as a law: a stack of tasks within torque limits."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from palpate.checks import Array
from palpate.config import Config, PerJoint, Vector3, required, setting
from palpate.control.fitting import per_joint, refuse_free_base
from palpate.control.law import Law
from palpate.control.promise import Promise
from palpate.control.report import LawReport
from palpate.control.solve.stack import make_stack
from palpate.control.solve.task_stack import FrameNow, StackEntry, TaskStack, entry_residual, solve_levels, update_tasks
from palpate.control.steps.frames import motion_of, tree_of
from palpate.control.steps.reach import reachable
from palpate.control.steps.task_space import DIRECTIONS, Direction
from palpate.control.tick import Tick, law_kernel, sizes_of
from palpate.control.traits import Follows, LawTraits
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, Vector, sized
from palpate.engine.views import flat
from palpate.errors import InvalidInput, check_names
from palpate.robot.robot import Robot

_INSIDE = 1.0 - 1e-12  # torques stop this far inside their limits, so that rounding never leaves them
_OF = {"position": DIRECTIONS[:3], "orientation": DIRECTIONS[3:], "pose": DIRECTIONS}


class Level(Config):
    """A task of the stack: a frame's pose or part of it, or the joints, as ë + 2 ζ ω ė + ω² e = 0."""

    kind: Literal["position", "orientation", "pose", "direction", "posture"] = required("1", "what is wanted")
    frame: str | None = setting(
        None, "1", "whose pose; the tool's if not given. Another frame's target is its pose in the posture q_d"
    )
    directions: tuple[Direction, ...] = setting(
        (), "1", "of position, orientation or pose: the ones that count, world axes; all if none is given"
    )
    along: Vector3 | None = setting(None, "1", "of direction: the line along which the position counts, world axes")
    joints: tuple[str, ...] = setting((), "1", "of posture: the joints that count; all if none is given")
    frequency: float = setting(10.0, "rad/s", "ω of the task's error", gt=0)
    damping_ratio: float = setting(1.0, "1", "ζ of the task's error", gt=0)
    weight: float = setting(1.0, "1", "among entries that share a level", gt=0)
    shared: bool = setting(False, "1", "whether it shares the level of the entry before it, by weight")

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

    def rows(self, robot: Robot) -> Array:
        """S: over the joints of a posture, else over [linear; angular] world axes, k×6."""
        if self.kind == "posture":
            joints = self.joints or robot.dof_names
            check_names("joint", joints, robot.dof_names)
            return np.eye(robot.nv)[[robot.dof_names.index(joint) for joint in joints]]
        if self.along is not None:
            return np.array([[*(np.array(self.along) / np.linalg.norm(self.along)), 0.0, 0.0, 0.0]])
        chosen = self.directions or _OF[self.kind]
        return np.eye(6)[[DIRECTIONS.index(name) for name in chosen]]


_DEFAULT = (Level(kind="pose"), Level(kind="posture"))


class Gains(Record):
    """D of the fallback, and the bound on |τ|, which is infinite where there is none."""

    fallback_damping: Vector = sized("nv")
    most: Vector = sized("nv")


class Memory(Record):
    """At how many ticks what decided; per entry of the stack, at how many it was relaxed, and the worst of it."""

    ticks: Kept[int] = 0
    limited: Kept[int] = 0
    fallback: Kept[int] = 0
    relaxed: Kept[Integers] = sized("entries")
    worst: Kept[Vector] = sized("entries")
    tasks: TaskStack  # scratch


class Terms(Record):
    """Terms of the torque: one row for all levels, or the bias and the share of each level."""

    torques: Matrix = sized("terms", "nv")


@kernel
def _count(m: Memory, relaxed: float) -> None:
    """Which limits were met, and which entries were not."""
    search, tasks = m.tasks.stack.search, m.tasks
    met = 0
    for i in range(search.active.size):
        met += search.active[i] != 0
    m.limited += relaxed == 0.0 and met > 0
    for k in range(len(tasks.entries)):
        miss = entry_residual(tasks.entries[k], tasks)
        if miss > 0.0:
            m.relaxed[k] += 1
            m.worst[k] = max(m.worst[k], miss)


@kernel
def _fall_back(x: Tick, k: Gains, m: Memory, torque: Vector) -> None:
    """τ = g − D v within the limits; counted."""
    m.fallback += 1
    for j in range(torque.size):
        torque[j] = min(max(x.gravity[j] - k.fallback_damping[j] * x.v[j], -k.most[j]), k.most[j])


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    m.ticks += 1
    torques, relaxed, solved = out.torques, 0.0, update_tasks(x, m.tasks)
    last = torques.shape[0] - 1  # 0 where all levels are one term
    put(torques[0], 0, x.bias)
    for i in range(min(last, 1), last + 1):
        if solved:
            relaxed, solved = solve_levels(x, m.tasks, i if last > 0 else m.tasks.starts.size - 1, torques[i])
    if not solved:
        clear(flat(torques))
        _fall_back(x, k, m, torques[0])
        return
    _count(m, relaxed)
    for i in range(last, 0, -1):  # what level i adds to the torque of those above it
        for j in range(x.v.size):
            torques[i, j] -= torques[i - 1, j]


class Priorities(Law):
    """A stack of tasks, strict priority, within torque limits: τ = M v̇ + b with the lexicographic least |J_k v̇ − a_k|.

    a_k = a_d + 2 ζ ω (ẋ_d − J_k v) + ω² e_k − J̇_k v for level k = 1, 2, …, highest first. Each level is met within the
    freedom that the higher ones and |τ| ≤ τ_max leave, or relaxed by the least amount; see
    `palpate.control.solve.priorities.inverse_dynamics`, which gives the same torques from Python.

    Closed loop: ë + 2 ζ ω ė + ω² e = −J_k M⁻¹ Jᵀ F of every level that can be met, F from outside; lower levels never
    disturb it. A level that is not met strays; the run's remarks say at how many ticks and by how much at worst.
    Without an answer the arm is held by τ = g − D v within the torque limits, and that is counted and said.
    Assumes: true model, fixed base, torques that follow at once. With coupled joints, frames other than the tool's are
    refused.
    """

    name: ClassVar[str] = "priorities"
    kernel = _kernel

    levels: tuple[Level, ...] = setting((), "1", "the stack, highest first; pose above posture if none is given")
    torque_limits: bool = setting(True, "1", "whether the robot's torque limits apply")
    torque_share: float = setting(1.0, "1", "share of the robot's torque limits that the law may use", gt=0, le=1)
    fallback_damping: PerJoint = setting(2.0, "N·m·s/rad", "D ≥ 0 of the fallback, one number, or one per joint")
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
    def traits(self) -> LawTraits:
        """Quantities that the stack follows, and the promise of its first entry."""
        return replace(super().traits, follows=self.followed_target(), promises=self.promises_for)

    @property
    def report(self) -> LawReport:
        """Entries that were relaxed, and its literature."""
        return LawReport(remarks=self.remarks_of, alarms=self.alarms_of, literature=("10.1177/0278364914521306",))

    def followed_target(self) -> Follows | None:
        """The joints where the stack holds postures alone, the tool where it holds none, else both."""
        postures = [level.kind == "posture" for level in self.stack]
        return None if any(postures) and not all(postures) else "joints" if all(postures) else "tool"

    def promises_for(self, robot: Robot) -> tuple[Promise, ...]:
        """Of the first entry its target, where it is about the tool along the world's axes, or about every joint."""
        first = self.stack[0]
        rate = first.frequency * min(first.damping_ratio, 1.0)
        if first.kind == "posture":
            return (Promise(joints=True, rate=rate),) if not first.joints else ()
        if first.along is not None or first.frame not in (None, robot.tool_frame):
            return ()
        return (Promise(motion=reachable(robot, first.directions or _OF[first.kind]), rate=rate),)

    def gains(self, robot: Robot) -> Gains:
        """D of the fallback, and the bound on |τ|."""
        refuse_free_base(robot, self.name)
        most = robot.limits.torque * self.torque_share if self.torque_limits else np.full(robot.nv, np.inf)
        damping = per_joint(robot, self.fallback_damping, "fallback_damping", least=0.0)
        return Gains(fallback_damping=damping, most=most * _INSIDE)

    def memory(self, robot: Robot) -> Memory:
        """Counters, and scratch."""
        return Memory({"entries": len(self.stack)}, tasks=_task_stack(robot, self.stack, self.gains(robot).most))

    @property
    def terms(self) -> tuple[str, ...]:
        """One term, or with `shares` the bias and one for each level."""
        if not self.shares:
            return ("priorities",)
        return ("bias", *(f"level{k + 1}" for k in range(sum(not level.shared for level in self.stack))))

    def record_sizes(self, robot: Robot) -> dict[str, int]:
        """With the number of terms."""
        return {**sizes_of(robot), "terms": len(self.terms)}

    def remarks_of(self, memory: Memory) -> list[str]:
        """Which entries below the first were relaxed, and how often limits decided."""
        lines = [line for i in range(1, len(self.stack)) for line in self._relaxed(memory, i)]
        if memory.limited:
            lines.append(f"torque limits were active at {memory.limited} of {memory.ticks} ticks")
        return [f"{self.name}: {line}" for line in lines]

    def alarms_of(self, memory: Memory) -> list[str]:
        """An entry with nothing above it that was relaxed all the same, and ticks without an answer."""
        lines = self._relaxed(memory, 0)
        if memory.fallback:
            lines.append(f"no solution at {memory.fallback} of {memory.ticks} ticks: gravity and damping were used")
        return [f"{self.name}: {line}" for line in lines]

    def _relaxed(self, memory: Memory, i: int) -> list[str]:
        """Remarks on an entry of the stack that was not met."""
        entry, count = self.stack[i], int(memory.relaxed[i])
        amount = f"at {count} of {memory.ticks} ticks, at worst by {memory.worst[i]:.3g} {entry.unit}"
        return [f"entry {i + 1}, {entry.kind}: relaxed {amount}"] if count else []


def _frames(robot: Robot, entries: tuple[Level, ...]) -> list[str]:
    """The frames that a stack is about, each once; of a robot with coupled joints the tool's alone."""
    named = [entry.frame or robot.tool_frame for entry in entries if entry.kind != "posture"]
    check_names("frame", named, robot.frame_names)
    for name in named:
        if robot.coordinates.coupled and name != robot.tool_frame:
            raise InvalidInput(
                f"{robot.name} has coupled joints, for which only the tool's frame can be a task, not {name!r}",
                hint=f"leave `frame` out, or load the robot with {name!r} as its tool",
            )
    return list(dict.fromkeys(named))


def _task_stack(robot: Robot, entries: tuple[Level, ...], most: Array) -> TaskStack:
    """The tasks of a robot, and everything that a tick writes of them."""
    names, starts, made = _frames(robot, entries), [0], list[StackEntry]()
    for entry in entries:
        S, w = entry.rows(robot), entry.frequency
        frame = -1 if entry.kind == "posture" else names.index(entry.frame or robot.tool_frame)
        gains = {"kp": w * w, "kd": 2 * entry.damping_ratio * w, "root_weight": entry.weight**0.5}
        made.append(StackEntry(frame=frame, first=starts[-1], S=S, **gains))
        if entry.shared:
            starts.pop()
        starts.append(made[-1].first + len(S))
    n, rows = robot.nv, starts[-1]
    stack = make_stack(n, rows, len(starts) - 1, n)
    stack.units[:] = np.where(np.isfinite(most), most, 1.0)
    frames = [FrameNow({"nv": n}, frame=robot.frame(name).record, tool=name == robot.tool_frame) for name in names]
    return TaskStack(
        {"rows": rows, "nv": n},
        entries=made,
        starts=starts,
        frames=frames,
        tree=tree_of(robot, [robot.frame(name).body for name in names if name != robot.tool_frame]),
        now=motion_of(robot),
        wanted=motion_of(robot),
        stack=stack,
        most=most,
    )

"""Inverse dynamics with strict priorities as a law: a stack of tasks within torque limits (document 003)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from palpate.checks import Array
from palpate.config import Config, PerJoint, Vector3, required, setting
from palpate.control.law import (
    NEEDS_BIAS,
    NEEDS_GRAVITY,
    T_ACCELERATION,
    T_POSITION,
    T_QUAT,
    T_TWIST,
    BoundLaw,
    Law,
    TargetLayout,
    per_joint,
    refuse_free_base,
)
from palpate.control.priorities import Priorities, inverse_dynamics
from palpate.control.task_space import DIRECTIONS, Direction
from palpate.control.tasks import FramePose, Posture, Task
from palpate.errors import InvalidInput, PalpateError, UnknownName
from palpate.robot.robot import Robot
from palpate.spatial import Pose, matrix_from_quat

# Places in the law's memory; then, for every entry of the stack, at how many ticks it was relaxed and the worst of it.
C_TICKS, C_LIMITS, C_FALLBACK, C_ENTRIES = 0, 1, 2, 3
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


class _Stack:
    """The entries of a law for one robot, turned into tasks at a target."""

    def __init__(self, robot: Robot, entries: tuple[Level, ...]) -> None:
        self.robot, self.layout = robot, TargetLayout(robot.nq, robot.nv)
        self.entries = [(entry, None if entry.kind == "posture" else entry.rows()) for entry in entries]
        self.names = [f"{i + 1} {entry.kind}" for i, entry in enumerate(entries)]
        for entry in entries:
            _check_names(robot, entry)

    def tasks(self, target: Array) -> list[list[Task]]:
        """Levels, highest first, each a group of equal priority."""
        levels: list[list[Task]] = []
        for name, (entry, S) in zip(self.names, self.entries):
            task = self._posture(name, entry, target) if S is None else self._frame(name, entry, S, target)
            if entry.shared:
                levels[-1].append(task)
            else:
                levels.append([task])
        return levels

    def _posture(self, name: str, entry: Level, target: Array) -> Task:
        n, names = self.robot.nv, self.robot.dof_names
        ahead = _ahead(entry, target[n : 2 * n], target[2 * n : 3 * n])
        if entry.joints:
            ahead = ahead[[names.index(joint) for joint in entry.joints]]
        return Posture(target=target[:n], joints=entry.joints, feedforward=ahead, **_gains(name, entry))

    def _frame(self, name: str, entry: Level, S: Array, target: Array) -> Task:
        pose, twist, acceleration = self._wanted(entry.frame, target)
        ahead = S @ _ahead(entry, twist, acceleration)
        return FramePose(target=pose, frame=entry.frame, directions=S, feedforward=ahead, **_gains(name, entry))

    def _wanted(self, frame: str | None, target: Array) -> tuple[Pose, Array, Array]:
        """Pose, twist and acceleration of a frame: the tool's are in the target, others follow from its joint part."""
        if frame is None or frame == self.robot.tool_frame:
            x = target[self.layout.task :]
            pose = Pose(x[T_POSITION : T_POSITION + 3], matrix_from_quat(x[T_QUAT : T_QUAT + 4]))
            return pose, x[T_TWIST : T_TWIST + 6], x[T_ACCELERATION : T_ACCELERATION + 6]
        n = self.robot.nv
        q, v, a = target[:n], target[n : 2 * n], target[2 * n : 3 * n]
        at = self.robot.terms(q, v, frame)
        return Pose(at.position, at.rotation), at.J @ v, at.J @ a + at.drift


def _check_names(robot: Robot, entry: Level) -> None:
    if entry.frame is not None and entry.frame not in robot.frame_names:
        raise UnknownName("frame", entry.frame, robot.frame_names)
    for joint in entry.joints:
        if joint not in robot.dof_names:
            raise UnknownName("joint", joint, robot.dof_names)


def _ahead(entry: Level, velocity: Array, acceleration: Array) -> Array:
    """The feed-forward velocity that, times k_d, adds the wanted acceleration as well."""
    return velocity + acceleration / (2 * entry.damping_ratio * entry.frequency)


def _gains(name: str, entry: Level) -> dict[str, Any]:
    w = entry.frequency
    return {"name": name, "kp": w * w, "kd": 2 * entry.damping_ratio * w, "weight": entry.weight}


class StrictPriorities(Law):
    """A stack of tasks, strict priority, within torque limits: τ = M v̇ + b with the lexicographic least |J_k v̇ − a_k|.

    a_k = a_d + 2 ζ ω (ẋ_d − J_k v) + ω² e_k − J̇_k v for level k = 1, 2, …, highest first. Each level is met within the
    freedom that the higher ones and |τ| ≤ τ_max leave, or relaxed by the least amount; see
    `palpate.control.priorities.inverse_dynamics`, which this law calls at every tick.

    Closed loop: ë + 2 ζ ω ė + ω² e = −J_k M⁻¹ Jᵀ F of every level that can be met, F from outside; lower levels never
    disturb it. A level that is not met strays; the run's remarks say at how many ticks and by how much at worst.
    Without an answer the arm is held by τ = g − D v within the torque limits, and that is counted and said.
    Assumes: true model, fixed base, torques that follow at once. It is plain Python.
    """

    name: ClassVar[str] = "priorities"
    terms: ClassVar[tuple[str, ...]] = ("priorities",)
    needs: ClassVar[int] = NEEDS_BIAS | NEEDS_GRAVITY

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

    def gains(self, robot: Robot) -> Array:
        """[D; bound on |τ|], which is infinite where there is none."""
        refuse_free_base(robot, self.name)
        most = robot.limits.torque * self.torque_share if self.torque_limits else np.full(robot.nv, np.inf)
        return np.concatenate([per_joint(robot, self.fallback_damping, "fallback_damping", least=0.0), most * _INSIDE])

    def memory(self, robot: Robot) -> Array:
        """Counters, then relaxations by entry."""
        return np.zeros(C_ENTRIES + 2 * len(self.stack))

    def remarks(self, memory: Array) -> list[str]:
        """Which levels were relaxed, and how often limits or the fallback decided."""
        total, said = int(memory[C_TICKS]), []
        for i, entry in enumerate(self.stack):
            count, worst = memory[C_ENTRIES + 2 * i : C_ENTRIES + 2 * i + 2]
            if count:
                amount = f"at {int(count)} of {total} ticks, at worst by {worst:.3g} {entry.unit}"
                said.append(f"entry {i + 1}, {entry.kind}: relaxed {amount}")
        if memory[C_LIMITS]:
            said.append(f"torque limits were met at {int(memory[C_LIMITS])} of {total} ticks")
        if memory[C_FALLBACK]:
            said.append(f"no answer at {int(memory[C_FALLBACK])} of {total} ticks: held by gravity and damping instead")
        return [f"{self.name}: {line}" for line in said]

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot; it asks the robot for the terms of every frame of its stack."""
        gains, n, shares = self.gains(robot), robot.nv, self.shares
        stack = _Stack(robot, self.stack)
        depth = sum(not entry.shared for entry in self.stack)

        def law(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms) -> None:
            most = gains[n:]
            memory[C_TICKS] += 1
            try:
                answers = _answers(robot, q, v, stack.tasks(target), most, depth if shares else 1)
            except PalpateError:  # the stack itself was checked: what is wrong is the state, or the solver
                answers = []
            if not answers:
                memory[C_FALLBACK] += 1
                terms[:] = 0.0
                terms[0] = np.clip(gravity - gains[:n] * v, -most, most)
                return
            _note(memory, answers[-1][0], stack.names)
            torques = [np.clip(torque, -most, most) for _, torque in answers]
            if shares:
                terms[0] = bias
                terms[1:] = np.diff([bias, *torques], axis=0)
            else:
                terms[0] = torques[-1]

        names = ("bias", *(f"level{k + 1}" for k in range(depth))) if shares else self.terms
        return BoundLaw(
            self.name, law, names, self.command, gains, self.memory(robot), self.needs, False, self.remarks
        )  # fmt: skip


def _answers(
    robot: Robot, q: Array, v: Array, levels: list[list[Task]], most: Array, count: int
) -> list[tuple[Priorities, Array]]:
    """Solutions of the stack and their torques, the last one whole, those before without its lowest levels; or none."""
    answers = []
    for last in range(len(levels) - count + 1, len(levels) + 1):
        found = inverse_dynamics(robot, q, v, levels[:last], torque=most)
        if found.solver == "fallback" or found.torque is None or not np.isfinite(found.torque).all():
            return []
        answers.append((found, found.torque))
    return answers


def _note(memory: Array, answer: Priorities, names: list[str]) -> None:
    memory[C_LIMITS] += bool(answer.limits)
    for i, name in enumerate(names):
        if not answer.met[name]:
            place = C_ENTRIES + 2 * i
            memory[place] += 1
            memory[place + 1] = max(memory[place + 1], float(np.linalg.norm(answer.residuals[name])))

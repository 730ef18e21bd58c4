"""Tasks: what an arm should do, as rows J v = w (velocity level) or J v̇ + drift = a (acceleration level).

Each task reads the robot at (q, v) and answers with `rows`: its Jacobian, its drift J̇ v, and its error, so that the
wanted velocity is gain · error + feed-forward and the wanted acceleration kp · error + kd · (feed-forward − J v) + …
World axes throughout; errors are desired − measured, rotations as rotation vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import BadShape, InvalidInput, check_names
from palpate.robot.robot import Robot, Terms
from palpate.spatial import Pose, kernels, skew


@dataclass(frozen=True)
class TaskRows:
    """A task at one state: J (m×n), drift J̇ v (m), error (m)."""

    J: Array
    drift: Array
    error: Array


class State:
    """A robot at (q, v), its terms computed once per frame."""

    def __init__(self, robot: Robot, q: Array, v: Array) -> None:
        self.robot, self.q, self.v = robot, q, v
        self._terms: dict[str, Terms] = {}

    def terms(self, frame: str | None = None) -> Terms:
        """Everything the model says for a frame; the tool frame by default."""
        name = self.robot.tool_frame if frame is None else frame
        if name not in self._terms:
            self._terms[name] = self.robot.terms(self.q, self.v, name)
        return self._terms[name]


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Something to do, with its gains.

    Attributes:
        gain: of the error at velocity level, 1/s.
        kp, kd: of error and velocity at acceleration level, 1/s² and 1/s.
        feedforward: wanted task velocity, one number per row; none by default.
        weight: among tasks of one level.
        name: how results call it.
    """

    gain: float = 1.0
    kp: float = 100.0
    kd: float = 20.0
    feedforward: ArrayLike | None = None
    weight: float = 1.0
    name: str = ""

    def __post_init__(self) -> None:
        for value, label in ((self.gain, "gain"), (self.kp, "kp"), (self.kd, "kd")):
            finite_number(value, f"{label} of {self.title}", least=0.0)
        finite_number(self.weight, f"weight of {self.title}", above=0.0)

    def _store(self, name: str, value: Array) -> None:
        """Keep a checked copy of a field, so that a tick need not check it again."""
        object.__setattr__(self, name, value)

    @property
    def title(self) -> str:
        """Its name, or what it is."""
        return self.name or type(self).__name__

    @abstractmethod
    def rows(self, state: State) -> TaskRows:
        """The task at a state."""

    def velocity(self, rows: TaskRows) -> Array:
        """Wanted task velocity: gain · error + feed-forward."""
        wanted = self.gain * rows.error
        return wanted if self.feedforward is None else wanted + self._wanted(rows)

    def acceleration(self, rows: TaskRows, v: Array) -> Array:
        """Wanted task acceleration: kp · error + kd · (feed-forward − J v)."""
        if self.feedforward is None:
            return self.kp * rows.error - self.kd * (rows.J @ v)
        return self.kp * rows.error + self.kd * (self._wanted(rows) - rows.J @ v)

    def _wanted(self, rows: TaskRows) -> Array:
        assert self.feedforward is not None
        return finite_array(self.feedforward, f"feedforward of {self.title}", rows.error.shape)


@dataclass(frozen=True, kw_only=True)
class FramePose(Task):
    """A frame at a pose, or the chosen directions of it.

    Attributes:
        target: X_WE wanted.
        frame: E; the tool frame by default.
        directions: rows over [linear; angular] world axes, k×6; all six by default.
    """

    target: Pose
    frame: str | None = None
    directions: ArrayLike | None = None

    def rows(self, state: State) -> TaskRows:
        """e = S [p_d − p; log(R_d Rᵀ)]."""
        t, error = state.terms(self.frame), np.empty(6)
        error[:3] = self.target.position
        error[:3] -= t.position
        error[3:] = _rotation_error(self.target.rotation, t.rotation)
        if self.directions is None:
            return TaskRows(t.J, t.drift, error)
        S = finite_array(self.directions, f"directions of {self.title}", (None, 6))
        return TaskRows(S @ t.J, S @ t.drift, S @ error)


@dataclass(frozen=True, kw_only=True)
class FramePosition(Task):
    """A frame's origin at a position, m, world axes; or only the chosen directions, k×3, of it."""

    target: ArrayLike
    frame: str | None = None
    directions: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("target", finite_array(self.target, f"target of {self.title}", (3,)))

    def rows(self, state: State) -> TaskRows:
        """e = S (p_d − p)."""
        t = state.terms(self.frame)
        error = self.target - t.position
        if self.directions is None:
            return TaskRows(t.J[:3], t.drift[:3], error)
        S = finite_array(self.directions, f"directions of {self.title}", (None, 3))
        return TaskRows(S @ t.J[:3], S @ t.drift[:3], S @ error)


@dataclass(frozen=True, kw_only=True)
class FrameOrientation(Task):
    """A frame turned to a rotation matrix R_WE."""

    target: ArrayLike
    frame: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = finite_array(self.target, f"target of {self.title}", (3, 3))
        self._store("target", Pose(np.zeros(3), wanted).rotation)

    def rows(self, state: State) -> TaskRows:
        """e = log(R_d Rᵀ)."""
        t = state.terms(self.frame)
        return TaskRows(t.J[3:], t.drift[3:], _rotation_error(np.asarray(self.target), t.rotation))


@dataclass(frozen=True, kw_only=True)
class RelativePose(Task):
    """Frame `frame` at a pose X_AB in frame `reference`, both moving; error and rows in A's axes."""

    target: Pose
    frame: str
    reference: str

    def rows(self, state: State) -> TaskRows:
        """ṗ_AB = Rᵀ (v_B − v_A − ω_A × r), ω_AB = Rᵀ (ω_B − ω_A), with R = R_WA and r = p_B − p_A."""
        a, b, v = state.terms(self.reference), state.terms(self.frame), state.v
        R, r = a.rotation, b.position - a.position
        J = np.vstack([R.T @ (b.J[:3] - a.J[:3] + skew(r) @ a.J[3:]), R.T @ (b.J[3:] - a.J[3:])])
        omega, speed = a.J[3:] @ v, (b.J[:3] - a.J[:3]) @ v
        slide = speed - np.cross(omega, r)
        # d/dt of Rᵀ x is Rᵀ (ẋ − ω × x).
        linear = b.drift[:3] - a.drift[:3] - np.cross(a.drift[3:], r) - np.cross(omega, speed) - np.cross(omega, slide)
        angular = b.drift[3:] - a.drift[3:] - np.cross(omega, (b.J[3:] - a.J[3:]) @ v)
        angular_error = _rotation_error(self.target.rotation, R.T @ b.rotation)
        return TaskRows(
            J,
            np.concatenate([R.T @ linear, R.T @ angular]),
            np.concatenate([self.target.position - R.T @ r, angular_error]),
        )


@dataclass(frozen=True, kw_only=True)
class CentreOfMass(Task):
    """The robot's centre of mass at a position, m; or the chosen directions, k×3, of it."""

    target: ArrayLike
    directions: ArrayLike | None = None

    def rows(self, state: State) -> TaskRows:
        """J = Σ m_i J_i / m; its drift by central differences."""
        robot, q, v = state.robot, state.q, state.v
        if robot.model.nv != robot.nv:
            raise InvalidInput(f"{self.title}: {robot.name} has coupled joints, for which this task is not defined")
        data = mujoco.MjData(robot.model)
        position, J = _com(robot, data, q)
        step = 1e-6 / max(1.0, float(np.abs(v).max(initial=0.0)))
        ahead = _com(robot, data, robot.integrate(q, v, step))[1]
        behind = _com(robot, data, robot.integrate(q, v, -step))[1]
        S = np.eye(3) if self.directions is None else finite_array(self.directions, "directions", (None, 3))
        error = finite_array(self.target, f"target of {self.title}", (3,)) - position
        return TaskRows(S @ J, S @ ((ahead - behind) @ v) / (2 * step), S @ error)


@dataclass(frozen=True, kw_only=True)
class Posture(Task):
    """All joints, or the named ones, at a posture."""

    target: ArrayLike
    joints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._store("target", finite_array(self.target, f"target of {self.title}", (None,)))

    def rows(self, state: State) -> TaskRows:
        """e = q_d − q; a fixed base is assumed."""
        robot = _scalar_joints(state, self.title)
        if np.shape(self.target) != (robot.nv,):
            raise BadShape(f"target of {self.title} must have {robot.nv} entries, got {np.shape(self.target)}")
        error = self.target - state.q
        return _rows_of_joints(robot, self.joints, unit_matrix(robot.nv), error)


@dataclass(frozen=True, kw_only=True)
class JointMiddle(Task):
    """Distance from the joint limits: descend H = ½ Σ ((q − middle) / range)², joints without limits left out."""

    joints: tuple[str, ...] = ()

    def rows(self, state: State) -> TaskRows:
        """e = −∂H/∂q."""
        robot = _scalar_joints(state, self.title)
        middle, divisor = middle_of_limits(robot)
        return _rows_of_joints(robot, self.joints, np.eye(robot.nv), (middle - state.q) / divisor)


@dataclass(frozen=True, kw_only=True)
class Manipulability(Task):
    """Away from singular postures: climb w = √det(J Jᵀ).

    Attributes:
        frame: whose; the tool frame by default.
        directions: rows that count, k×6.
    """

    frame: str | None = None
    directions: ArrayLike | None = field(default=None)

    def rows(self, state: State) -> TaskRows:
        """e = ∂w/∂q, by central differences."""
        robot, q = _scalar_joints(state, self.title), state.q

        def slope(i: int) -> float:
            step = np.zeros(robot.nv)
            step[i] = 1e-5
            up = robot.manipulability(q + step, self.frame, directions=self.directions)
            return (up - robot.manipulability(q - step, self.frame, directions=self.directions)) / 2e-5

        return TaskRows(np.eye(robot.nv), np.zeros(robot.nv), np.array([slope(i) for i in range(robot.nv)]))


def middle_of_limits(robot: Robot) -> tuple[Array, Array]:
    """The middle of every joint's range, and range²; 0 and infinity for joints without limits."""
    limits, middle, divisor = robot._limits, np.zeros(robot.nv), np.full(robot.nv, np.inf)
    limited = np.isfinite(limits.upper) & np.isfinite(limits.lower)
    lower, upper = limits.lower[limited], limits.upper[limited]
    middle[limited], divisor[limited] = (lower + upper) / 2, (upper - lower) ** 2
    return middle, divisor


@lru_cache(maxsize=64)
def unit_matrix(n: int) -> Array:
    """1, read-only, for many to share."""
    one = np.eye(n)
    one.flags.writeable = False
    return one


def _rows_of_joints(robot: Robot, joints: tuple[str, ...], J: Array, error: Array) -> TaskRows:
    if not joints:
        return TaskRows(J, np.zeros(len(J)), error)
    check_names("joint", joints, robot.dof_names)
    chosen = [robot.dof_names.index(name) for name in joints]
    return TaskRows(np.ascontiguousarray(J[chosen]), np.zeros(len(chosen)), error[chosen])


def _scalar_joints(state: State, title: str) -> Robot:
    robot = state.robot
    if robot.nq != robot.nv:
        raise InvalidInput(f"{title}: {robot.name} has a free or ball joint; this task is for scalar joints only")
    return robot


def _com(robot: Robot, data: mujoco.MjData, q: Array) -> tuple[Array, Array]:
    data.qpos[:] = q
    mujoco.mj_kinematics(robot.model, data)
    mujoco.mj_comPos(robot.model, data)
    J = np.zeros((3, robot.model.nv))
    mujoco.mj_jacSubtreeCom(robot.model, data, J, 0)
    return data.subtree_com[0].copy(), J


def _rotation_error(wanted: Array, actual: Array) -> Array:
    """log(R_d Rᵀ), the shorter way; both are known to be rotations."""
    out = np.empty(3)
    kernels.rotation_vector_from_matrix(np.ascontiguousarray(wanted @ actual.T), out)
    return out

"""What a control law is: a pure function of measurement, model terms, target and memory, with one fixed signature.

    law(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms)

    t, dt           s; the control tick's time and the control period
    q, v            measured joint positions and velocities
    M, bias, gravity, p, R, J, drift
                    the nominal model's terms at (q, v), see `palpate.robot.Terms`; p and R are the pose X_WE of the
                    tool frame E
    wrench          measured wrench of the environment on the robot, at E's origin, world axes [f; n]
    tau             measured joint torques
    target          what is wanted now, laid out by `target_layout`
    gains           the law's own numbers
    memory          the law's own memory, kept between ticks
    terms           output: one row per named term; their sum is the command

A law writes every element of `terms` and may write `memory`; it changes nothing else. Compiled or plain Python, the
loop treats it the same.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numba import types
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import Config
from palpate.engine import kernel
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot, Terms
from palpate.spatial.kernels import quat_from_matrix

CommandKind = Literal["torque", "acceleration", "velocity", "position"]
COMMANDS: tuple[CommandKind, ...] = ("torque", "acceleration", "velocity", "position")

# What a law reads of the model; the loop computes nothing else.
NEEDS_M, NEEDS_BIAS, NEEDS_GRAVITY, NEEDS_JACOBIAN, NEEDS_DRIFT = 1, 2, 4, 8, 16
NEEDS_ALL = 31

_f, _v, _m = types.float64, types.float64[::1], types.float64[:, ::1]
LAW_SIGNATURE = types.void(_f, _f, _v, _v, _m, _v, _v, _v, _m, _m, _v, _v, _v, _v, _v, _v, _m)
LAW_TYPE = types.FunctionType(LAW_SIGNATURE)

# A target after its joint part [q_d (n_q), v_d (n_v), a_d (n_v)]: places relative to the end of that part.
# The last six are no wish but what is seen of a pole on the tool: AB and its rate, world axes (0 without a pole).
T_POSITION, T_QUAT, T_TWIST, T_ACCELERATION, T_WRENCH, T_POLE, T_WIDTH = 0, 3, 7, 13, 19, 25, 31


def law_kernel(function: Callable[..., None]) -> Callable[..., None]:
    """Compile a law to the fixed signature, cached on disk."""
    return kernel(LAW_SIGNATURE)(function)


@dataclass(frozen=True)
class TargetLayout:
    """Where the parts of a target lie in its flat array."""

    nq: int
    nv: int

    @property
    def task(self) -> int:
        """Start of the Cartesian part."""
        return self.nq + 2 * self.nv

    @property
    def width(self) -> int:
        """Length of a target."""
        return self.task + T_WIDTH


@dataclass(frozen=True)
class Tick:
    """What a law answered at one control tick.

    Attributes:
        terms: the named terms; their sum is the command.
        command: one number per degree of freedom, in the unit of `kind`.
    """

    terms: dict[str, Array]
    command: Array
    kind: CommandKind


def _no_remarks(memory: Array) -> list[str]:
    return []


@dataclass(frozen=True)
class BoundLaw:
    """A law made ready for one robot: code, gains and memory as flat numbers.

    Attributes:
        remarks: from the memory after a run, what the law did that its reader should know, in plain words.
    """

    name: str
    function: Callable[..., None]
    terms: tuple[str, ...]
    command: CommandKind
    gains: Array
    memory: Array
    needs: int = NEEDS_ALL
    compiled: bool = True
    remarks: Callable[[Array], list[str]] = _no_remarks

    def tick(
        self,
        robot: Robot,
        q: ArrayLike,
        v: ArrayLike,
        *,
        target: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        tau: ArrayLike | None = None,
        t: float = 0.0,
        dt: float = 1e-3,
    ) -> Tick:
        """One control tick from Python, model terms included; the law's memory moves on.

        Args:
            robot: the robot the law was bound to.
            q, v: measured joint positions and velocities.
            target: laid out by `TargetLayout`; standing still at q by default (see `reference.joint_target`).
            wrench: measured wrench [f; n] of the environment on the robot; zero by default.
            tau: measured joint torques; zero by default.
            t, dt: time and control period, s.
        """
        x, width = robot.terms(q, v), TargetLayout(robot.nq, robot.nv).width
        wanted = _resting_target(robot, q, x) if target is None else finite_array(target, "target", (width,))
        rows = np.zeros((len(self.terms), robot.nv))
        felt = np.zeros(6) if wrench is None else finite_array(wrench, "wrench", (6,))
        torque = np.zeros(robot.nv) if tau is None else finite_array(tau, "tau", (robot.nv,))
        q, v = np.array(q, dtype=np.float64), np.array(v, dtype=np.float64)
        self.function(
            float(t), float(dt), q, v, x.M, x.bias, x.gravity, x.position, x.rotation, x.J, x.drift,
            felt, torque, wanted, self.gains, self.memory, rows,
        )  # fmt: skip
        return Tick(dict(zip(self.terms, rows)), rows.sum(axis=0), self.command)


def _resting_target(robot: Robot, q: ArrayLike, terms: Terms) -> Array:
    layout = TargetLayout(robot.nq, robot.nv)
    row = np.zeros(layout.width)
    row[: robot.nq] = q
    row[layout.task + T_POSITION : layout.task + T_POSITION + 3] = terms.position
    quat_from_matrix(terms.rotation, row[layout.task + T_QUAT : layout.task + T_QUAT + 4])
    return row


class Law(Config):
    """Settings of a control law; a subclass adds its gains, its kernel and its docstring's equation."""

    name: ClassVar[str]
    terms: ClassVar[tuple[str, ...]]
    command: ClassVar[CommandKind] = "torque"
    needs: ClassVar[int] = NEEDS_ALL
    kernel: ClassVar[Any]

    @abstractmethod
    def gains(self, robot: Robot) -> Array:
        """The gains as the flat array the kernel reads, checked against the robot."""

    def memory(self, robot: Robot) -> Array:
        """The memory at the start."""
        return np.zeros(1)

    def remarks(self, memory: Array) -> list[str]:
        """What the law did during a run that its reader should know, from its memory at the end."""
        return []

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot."""
        return BoundLaw(
            self.name,
            type(self).kernel,
            self.terms,
            self.command,
            self.gains(robot),
            self.memory(robot),
            self.needs,
            remarks=self.remarks,
        )

    def tick(self, robot: Robot, q: ArrayLike, v: ArrayLike, **inputs: Any) -> Tick:
        """One control tick with fresh memory; see `BoundLaw.tick`, which keeps its memory between ticks."""
        return self.bind(robot).tick(robot, q, v, **inputs)


@dataclass(frozen=True)
class PythonLaw:
    """A law written in plain Python with the fixed signature: slower, the same loop and the same trace.

    Attributes:
        function: called as in this module's docstring.
        terms: names of the rows it writes.
        command: what their sum means.
        gains, memory: handed to it as they are.
    """

    function: Callable[..., None]
    terms: tuple[str, ...] = ("torque",)
    command: CommandKind = "torque"
    gains: Array = field(default_factory=lambda: np.zeros(1))
    memory: Array = field(default_factory=lambda: np.zeros(1))
    name: str = "python"

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot."""
        if self.command not in COMMANDS:
            raise InvalidInput(f"command must be one of {', '.join(COMMANDS)}, got {self.command!r}")
        if not self.terms or len(set(self.terms)) != len(self.terms):
            raise InvalidInput(f"a law needs terms of different names, got {self.terms}")
        gains, memory = finite_array(self.gains, "gains", (None,)), finite_array(self.memory, "memory", (None,))
        return BoundLaw(self.name, self.function, self.terms, self.command, gains, memory.copy(), compiled=False)


def per_joint(
    robot: Robot, value: float | tuple[float, ...], name: str, *, least: float | None = None, above: float | None = None
) -> Array:
    """One number per degree of freedom, from one for all or one each; `least` and `above` are lower bounds."""
    if isinstance(value, int | float):
        return np.full(robot.nv, finite_number(value, name, least=least, above=above))
    numbers = finite_array(value, f"{name} for {robot.name}", (robot.nv,))
    for joint, number in zip(robot.dof_names, numbers):
        finite_number(number, f"{name} of joint {joint}", least=least, above=above)
    return numbers


def refuse_free_base(robot: Robot, law: str) -> None:
    """Laws that subtract coordinates need as many of them as velocities: no free base, no ball joint."""
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"law {law!r} cannot drive {robot.name}: it has {robot.nq} coordinates for {robot.nv} velocities",
            hint="use a robot with a fixed base and single-axis joints",
        )

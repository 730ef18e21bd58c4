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

from palpate.checks import Array, finite_array
from palpate.config import Config
from palpate.engine import kernel
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

CommandKind = Literal["torque", "acceleration", "velocity", "position"]
COMMANDS: tuple[CommandKind, ...] = ("torque", "acceleration", "velocity", "position")

# What a law reads of the model; the loop computes nothing else.
NEEDS_M, NEEDS_BIAS, NEEDS_GRAVITY, NEEDS_JACOBIAN, NEEDS_DRIFT = 1, 2, 4, 8, 16
NEEDS_ALL = 31

_f, _v, _m = types.float64, types.float64[::1], types.float64[:, ::1]
LAW_SIGNATURE = types.void(_f, _f, _v, _v, _m, _v, _v, _v, _m, _m, _v, _v, _v, _v, _v, _v, _m)
LAW_TYPE = types.FunctionType(LAW_SIGNATURE)

# A target after its joint part [q_d (n_q), v_d (n_v), a_d (n_v)]: places relative to the end of that part.
T_POSITION, T_QUAT, T_TWIST, T_ACCELERATION, T_WRENCH, T_WIDTH = 0, 3, 7, 13, 19, 25


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
class BoundLaw:
    """A law made ready for one robot: code, gains and memory as flat numbers."""

    name: str
    function: Callable[..., None]
    terms: tuple[str, ...]
    command: CommandKind
    gains: Array
    memory: Array
    needs: int = NEEDS_ALL
    compiled: bool = True


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

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot."""
        return BoundLaw(
            self.name, type(self).kernel, self.terms, self.command, self.gains(robot), self.memory(robot), self.needs
        )


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


def per_joint(robot: Robot, value: float | tuple[float, ...], name: str) -> Array:
    """One number per degree of freedom, from one for all or one each."""
    if isinstance(value, int | float):
        return np.full(robot.nv, float(value))
    return finite_array(value, f"{name} for {robot.name}", (robot.nv,))

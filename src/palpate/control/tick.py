"""A law's kernel and what it is called with at a tick: the robot's state and model, its target, what sensors see."""

from __future__ import annotations

from collections.abc import Callable

from palpate.config import MOST_SENSOR_VALUES
from palpate.engine.kernels import Kernel, kernel
from palpate.engine.records import Record, Vector, sized
from palpate.robot.mechanics.kernels import ModelTerms
from palpate.robot.robot import Robot


class Target(Record):
    """Targets of this tick: joints, and the tool in world axes; the wrench is that of the environment on the tool."""

    q: Vector = sized("nq")
    v: Vector = sized("nv")
    a: Vector = sized("nv")
    position: Vector = sized(3)
    quat_wxyz: Vector = sized(4)
    twist: Vector = sized(6)
    acceleration: Vector = sized(6)
    wrench: Vector = sized(6)


class PoleView(Record):
    """A pole on the tool as it is seen: from its foot A to its sphere B, and the rate of that, world axes.

    A camera takes pictures: they show AB alone (`rated` is False), `age` seconds ago; `fresh` says that one has
    just come.
    """

    AB: Vector = sized(3)
    AB_rate: Vector = sized(3)
    rated: bool = True
    fresh: bool = True
    age: float = 0.0


class Seen(Record):
    """Readings of sensors beyond joints and wrist; `values` are those of custom sensors. 0 where there is no sensor."""

    pole: PoleView
    values: Vector = sized(MOST_SENSOR_VALUES)


class Tick(ModelTerms):
    """Knowledge of a law at a control tick: the nominal model's terms at (q, v), see `ModelTerms`, and

    t, dt           s; the tick's time and the control period
    q, v            measured joint positions and velocities
    wrench          measured wrench of the environment on the robot, at the tool's origin, world axes [f; n]
    tau             measured joint torques
    target, seen    what is wanted; what other sensors see
    """

    t: float = 0.0
    dt: float = 1e-3
    q: Vector = sized("nq")
    v: Vector = sized("nv")
    wrench: Vector = sized(6)
    tau: Vector = sized("nv")
    target: Target
    seen: Seen


class NoMemory(Record):
    """The memory of a law that needs none."""


def law_kernel(function: Callable[..., None]) -> Kernel:
    """Compile a law `(x: Tick, k: Gains, m: Memory, out: Terms)`, cached on disk."""
    return kernel(function)


def sizes_of(robot: Robot) -> dict[str, int]:
    """The sizes that records of laws are made with."""
    return {"nq": robot.nq, "nv": robot.nv}

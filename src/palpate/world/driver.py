"""The driver between a law and the joints, as data: what a maker's interface does to a command.

    command → delay, lost packets, jitter → low-pass → rate limits → what the interface adds → torque limit → joint

A preset is what is published of an interface; every number of it may be given otherwise. What a maker does not publish
is absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import model_validator

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.errors import InvalidInput
from palpate.forking import cached_property
from palpate.toml import toml_data
from palpate.world.sensing.sensor import Late

if TYPE_CHECKING:
    from palpate.robot.robot import Robot

NONE = 0.0  # of a limit or a cut-off: there is none
DEFAULT_BANDWIDTH = 60.0  # rad/s
SERVO_GIVE = 0.05  # rad


@dataclass(frozen=True)
class DriverFacts:
    """Numbers of a driver, all of them known; 0 is no limit and no filter. See `Driver` for units.

    Attributes:
        arms: of the catalogue that have this interface; empty for any.
        of: the numbers that differ for an arm, by its name.
        Others as in `Driver`.
    """

    arms: tuple[str, ...] = ()
    of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rate: float = NONE
    cutoff: float = NONE
    torque_limit: bool = True
    torque_rate_limit: bool | PerJoint = True
    joint_speed_limit: PerJoint = NONE
    joint_acceleration_limit: PerJoint = NONE
    joint_jerk_limit: PerJoint = NONE
    tool_speed_limit: tuple[float, float] = (NONE, NONE)
    tool_acceleration_limit: tuple[float, float] = (NONE, NONE)
    loss: float = 0.0
    stop_after: int = 0
    jitter: float = 0.0
    adds_gravity: bool = False
    viscous_compensation: PerJoint = 0.0
    coulomb_compensation: PerJoint = 0.0
    servo_bandwidth: float = DEFAULT_BANDWIDTH
    torque_feedback: PerJoint = 0.0
    torque_rate_feedback: PerJoint = 0.0
    torque_bandwidth: float = NONE


def _preset(table: Mapping[str, Any]) -> DriverFacts:
    facts = _hashable(table)
    facts["of"] = {arm: _hashable(differing) for arm, differing in table.get("of", {}).items()}
    return DriverFacts(**facts)


def _hashable(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


_PUBLISHED = toml_data(Path(__file__).with_name("drivers.toml").read_text(encoding="utf-8"))
PRESETS: dict[str, DriverFacts] = {name: _preset(table) for name, table in _PUBLISHED.items()}
Preset = Literal["ideal", "libfranka", "ur-direct-torque", "fri", "ros2-control"]


class Driver(Late):
    """Path from a law's command to a joint: a maker's interface, its filter and limits, and its servo.

    In this order: the command arrives `delay` samples late, or not at all (then the last one is held), and up to
    `jitter` later in its period; a first-order low-pass y ← y + g (u − y), g = T / (T + 1/(2π f)); rate limits per
    tick, which are also what the filter remembers; what the interface adds by itself; the torque limit. What is not
    given is as the preset has it; 0 (or false) takes a filter or a limit of the preset away.
    """

    preset: Preset = setting("ideal", "1", "whose interface; docs/driver.md lists what is published")
    rate: float | None = setting(None, "Hz", "at which the interface takes commands; 0 for any", ge=0)
    cutoff: float | None = setting(None, "Hz", "of the low-pass on commands, below half the rate; 0 for none", ge=0)
    torque_limit: bool | None = setting(None, "1", "respect the robot's torque limits")
    torque_rate_limit: bool | PerJoint | None = setting(
        None, "N·m/s or N/s", "of torque commands: one, one per joint, true for the robot's own, false for none"
    )
    joint_speed_limit: PerJoint | None = setting(None, "rad/s or m/s", "of position and velocity commands; 0 for none")
    joint_acceleration_limit: PerJoint | None = setting(None, "rad/s² or m/s²", "of the same; 0 for none")
    joint_jerk_limit: PerJoint | None = setting(None, "rad/s³ or m/s³", "of the same; 0 for none")
    tool_speed_limit: tuple[float, float] | None = setting(
        None, "m/s, rad/s", "of the tool under position and velocity commands; beyond it there is a warning; 0 for none"
    )
    tool_acceleration_limit: tuple[float, float] | None = setting(
        None, "m/s², rad/s²", "of the target of such commands; beyond it there is a warning; 0 for none"
    )
    loss: float | None = setting(None, "1", "probability that a command is lost; the last one is held", ge=0, lt=1)
    stop_after: int | None = setting(None, "commands", "lost in a row at which the arm stops; 0 for never", ge=0)
    jitter: float | None = setting(None, "s", "a command acts up to so much later in its period, uniformly", ge=0)
    adds_gravity: bool | None = setting(None, "1", "the interface adds gravity: the law's own is not sent")
    viscous_compensation: PerJoint | None = setting(
        None, "1", "share of viscous joint friction that it compensates; see docs/driver.md for what the preset does"
    )
    coulomb_compensation: PerJoint | None = setting(None, "1", "share of Coulomb joint friction that it compensates")
    servo_bandwidth: float | None = setting(
        None, "rad/s", "of the joint servo behind position and velocity commands", gt=0
    )
    torque_feedback: PerJoint | None = setting(
        None, "1", "of the torque loop of elastic joints: k (command − sensed torque) is added; 0 for none"
    )
    torque_rate_feedback: PerJoint | None = setting(None, "s", "of the same: so much of the sensed torque's rate")
    torque_bandwidth: float | None = setting(
        None, "Hz", "of the torque that an elastic joint's motor makes, first order; 0 for at once", ge=0
    )

    @model_validator(mode="after")
    def _numbers_are_sensible(self) -> Self:
        if "facts" in vars(self):  # looked at when it was made: a world that takes it over asks again
            return self
        for name in _LIMITS:
            if np.min(getattr(self.facts, name)) < 0:
                raise InvalidInput(f"{name} must not be negative, got {getattr(self, name)}")
        for name in ("torque_feedback", "torque_rate_feedback"):
            if np.min(getattr(self.facts, name)) < 0:
                raise InvalidInput(f"{name} must not be negative, got {getattr(self, name)}")
        for name in ("viscous_compensation", "coulomb_compensation"):
            if not 0.0 <= np.min(getattr(self.facts, name)) <= np.max(getattr(self.facts, name)) <= 1.0:
                raise InvalidInput(f"{name} is a share between 0 and 1, got {getattr(self, name)}")
        return self

    @cached_property
    def facts(self) -> DriverFacts:
        """The preset with everything that is given in its place, for any arm; see `facts_for`."""
        return replace(PRESETS[self.preset], **self._given)

    def facts_for(self, robot: Robot) -> DriverFacts:
        """The preset, the numbers that differ for this arm, and everything that is given in their place.

        Friction that was identified behind the maker's compensation (`Robot.friction_remains`) is what that leaves: the
        preset compensates nothing of it again. Shares that are given apply to whatever friction the model has.
        """
        preset = PRESETS[self.preset]
        own = dict(preset.of.get(robot.name, {}))
        if robot.friction_remains:
            own |= {"viscous_compensation": 0.0, "coulomb_compensation": 0.0}
        return replace(preset, **(own | self._given))

    @property
    def _given(self) -> dict[str, Any]:
        values = {known.name: getattr(self, known.name, None) for known in fields(DriverFacts)}
        return {name: value for name, value in values.items() if value is not None}

    def refuse_misfit(self, robot: Robot, period: float, timestep: float) -> None:
        """Refuse a robot or a clock that this driver cannot serve.

        Raises:
            InvalidInput: a clock of another rate, a cut-off or jitter too large for it, or numbers for other joints.
        """
        facts = self.facts
        self._refuse_other_arms(robot)
        if facts.rate and abs(period * facts.rate - 1.0) > 1e-6:
            raise InvalidInput(
                f"the driver {self.preset!r} takes commands at {facts.rate:g} Hz, the control period is {period:g} s",
                hint=f"set run.rate={facts.rate:g}, or world.driver.rate=0 for an interface of any rate",
            )
        if facts.cutoff > 0.5 / period:
            raise InvalidInput(
                f"world.driver.cutoff of {facts.cutoff:g} Hz is above half the control rate, {0.5 / period:g} Hz",
                hint="lower it, or set it to 0 for no filter",
            )
        if facts.jitter and not timestep <= facts.jitter < period:
            raise InvalidInput(
                f"world.driver.jitter of {facts.jitter:g} s must be at least a physics step ({timestep:g} s) and less"
                f" than the control period ({period:g} s)"
            )

    def _refuse_other_arms(self, robot: Robot) -> None:
        from palpate.robot.catalogue import names

        arms = self.facts.arms
        if arms and robot.name not in arms and robot.name in names():
            raise InvalidInput(
                f"the driver {self.preset!r} is the interface of {', '.join(arms)}, and {robot.name} is another arm",
                hint='set world.driver.preset to "ideal" or "ros2-control" and give its numbers, such as cutoff = 100',
            )
        for name in (*_LIMITS, "viscous_compensation", "coulomb_compensation"):
            if name not in _OF_TOOL:
                per_joint(robot, getattr(self.facts_for(robot), name), name)


_OF_TOOL = ("tool_speed_limit", "tool_acceleration_limit")
_LIMITS = ("torque_rate_limit", "joint_speed_limit", "joint_acceleration_limit", "joint_jerk_limit", *_OF_TOOL)


def filter_gain(cutoff: float, period: float) -> float:
    """g = T / (T + 1/(2π f)) of a first-order low-pass, once per period; 1 without a cut-off."""
    return period / (period + 1.0 / (2.0 * math.pi * cutoff)) if cutoff else 1.0


def per_joint(robot: Robot, value: PerJoint, name: str) -> Array:
    """One number per degree of freedom, none negative, from one for all or one each."""
    numbers = np.full(robot.nv, float(value)) if isinstance(value, float | int) else np.array(value, dtype=float)
    if len(numbers) != robot.nv:
        raise InvalidInput(f"{name}: {robot.name} has {robot.nv} joints, got {len(numbers)} values")
    if numbers.min(initial=0.0) < 0:
        raise InvalidInput(f"{name} of {robot.name} must not be negative, got {value}")
    return numbers


def servo_rotors(robot: Robot, driver: Driver) -> Array:
    """Rotor inertia that a joint servo is assumed to have where the model knows none, per joint, kg·m².

    A servo τ = (M̂ + rotors) (ω² e + 2 ω ė) of a wrist without rotors would give way to a finger. The least inertia is
    assumed with which it gives way by `SERVO_GIVE` under the joint's largest torque, τ_max / (ω² · give).
    """
    if robot.unresisted or robot.nq != robot.nv:
        return np.zeros(robot.nv)
    own, most = np.diag(robot.mass_matrix(robot.home)), robot.limits.torque
    known = robot.model.dof_armature[robot.coordinates.kept] > 0.0
    turning = np.array([unit == "rad" for unit in robot.dof_units])
    needed = most / (driver.facts.servo_bandwidth**2 * SERVO_GIVE)
    return np.where(turning & ~known & np.isfinite(most), np.maximum(needed - own, 0.0), 0.0)


def friction_left(robot: Robot, driver: Driver) -> tuple[Array, Array]:
    """Shares of the robot's viscous and Coulomb friction that are left under the driver's compensation, per joint."""
    facts = driver.facts_for(robot)
    viscous = per_joint(robot, facts.viscous_compensation, "viscous_compensation")
    return 1.0 - viscous, 1.0 - per_joint(robot, facts.coulomb_compensation, "coulomb_compensation")


def limits_of(robot: Robot, value: PerJoint, name: str) -> Array:
    """Limits per degree of freedom; 0 in the settings is none, infinity here."""
    numbers = per_joint(robot, value, name)
    return np.where(numbers > 0.0, numbers, np.inf)


def torque_rates(robot: Robot, facts: DriverFacts) -> Array:
    """Torque-rate limits per degree of freedom, N·m/s or N/s; infinite where there is none."""
    limit = facts.torque_rate_limit
    if isinstance(limit, bool):
        return robot.limits.torque_rate.copy() if limit else np.full(robot.nv, np.inf)
    return limits_of(robot, limit, "torque_rate_limit")

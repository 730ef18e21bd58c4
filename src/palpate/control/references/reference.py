"""References of a law over time: targets sampled at the control ticks."""

from __future__ import annotations

import json
from abc import abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import numpy as np
from pydantic import field_validator

from palpate.checks import Array
from palpate.config import Config, Quaternion, Vector3, Vector6, setting
from palpate.control.tick import Target, sizes_of
from palpate.control.traits import Follows
from palpate.robot.robot import Robot
from palpate.user_code import blamed, is_address

ZERO6: Vector6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
WrenchAxes = Literal["world", "tool", "target", "surface"]
WRENCH_AXES: tuple[WrenchAxes, ...] = ("world", "tool", "target", "surface")
_CLOSE = 1e-9  # s; a tick k·dt may miss a given instant by rounding


class Reference(Protocol):
    """Anything that can say what is wanted at given times."""

    def sample(self, times: Array, robot: Robot, q_start: Array) -> Array:
        """Targets, one row per time: the fields of `Target` one after another."""
        ...


class Targets:
    """Targets as one array (times × width) and views of its columns, named like the fields of `Target`."""

    def __init__(self, count: int, robot: Robot) -> None:
        sizes = sizes_of(robot)
        self.array: Array = np.zeros((count, Target.width(sizes)))
        views = Target.columns(self.array, sizes)
        self.q, self.v, self.a, self.wrench = views["q"], views["v"], views["a"], views["wrench"]
        self.position, self.quat_wxyz = views["position"], views["quat_wxyz"]
        self.twist, self.acceleration = views["twist"], views["acceleration"]


def joint_target(robot: Robot, q: Array) -> Target:
    """A target that stands still at posture q, its Cartesian part at q's tool pose."""
    return Target.over(Hold().sample(np.zeros(1), robot, q)[0], sizes_of(robot))


class WantedWrench(Config):
    """The wrench that the environment is wanted to do to the robot: constant, or changing once, at once or evenly."""

    value: Vector6 = setting(ZERO6, "N, N·m", "[f; n] at the tool's origin, along `wrench_axes`, from the start")
    then: Vector6 | None = setting(None, "N, N·m", "[f; n] from `at` on; no change if not given")
    at: float = setting(0.0, "s", "when the change begins", ge=0)
    ramp: float = setting(0.0, "s", "how long the change takes; 0 for a step", ge=0)

    def sample(self, times: Array) -> Array:
        """Wrenches, one row per time."""
        start = np.array(self.value)
        if self.then is None:
            return np.tile(start, (len(times), 1))
        since = times - self.at
        done = (since >= -_CLOSE).astype(float) if self.ramp == 0 else np.clip(since / self.ramp, 0.0, 1.0)
        return start + done[:, None] * (np.array(self.then) - start)


if TYPE_CHECKING:
    GivenWrench = WantedWrench | Vector6
else:  # six numbers become one
    GivenWrench = WantedWrench


class ReferenceSettings(Config):
    """Settings of every reference of a scenario: its kind, and the wrench wanted beside the motion."""

    kind: str
    wrench: GivenWrench = setting(WantedWrench(), "1", "desired wrench; six numbers for a constant one")
    wrench_axes: WrenchAxes = setting(
        "world", "1", "whose axes it is along: the world's, the tool's, the target's, or z the normal of the surface"
    )

    @field_validator("wrench", mode="before")
    @classmethod
    def _constant(cls, value: Any) -> Any:
        if isinstance(value, list | tuple | np.ndarray):
            value = {"value": list(value)}
        # As JSON, because there a list is a tuple and yet "1" is no number.
        if not isinstance(value, dict):
            return value
        return WantedWrench.__pydantic_validator__.validate_json(json.dumps(value), strict=True)

    @property
    def wanted_wrench(self) -> WantedWrench:
        """The wrench, whether six numbers or a table gave it."""
        return cast(WantedWrench, self.wrench)

    @property
    def moves(self) -> Follows:
        """Whose target it moves; one of the joints moves the tool's too."""
        return "tool"

    @property
    def end(self) -> float:
        """When the motion has ended, s."""
        return 0.0

    def sample(self, times: Array, robot: Robot, q_start: Array) -> Array:
        """Targets, one row per time: still at the start, then what this reference changes, then the wrench."""
        targets = Targets(len(times), robot)
        pose = robot.pose(q_start)
        targets.q[:], targets.position[:], targets.quat_wxyz[:] = q_start, pose.position, pose.quat_wxyz
        with blamed(self.fill.__code__.co_filename) if is_address(self.kind) else nullcontext():
            self.fill(targets, np.asarray(times, dtype=float), robot, np.asarray(q_start, dtype=float))
        targets.wrench[:] += self.wanted_wrench.sample(times)
        return targets.array

    @abstractmethod
    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """Write the motion into targets that stand still at the start."""


class Hold(ReferenceSettings):
    """Stay: where the tool starts, at a given place, or displaced from it.

    The joint part stays at the start posture.
    """

    kind: Literal["hold"] = setting("hold", "1", "stay")  # pyright: ignore[reportIncompatibleVariableOverride]
    position: Vector3 | None = setting(None, "m", "desired position of the tool, world axes; its start if not given")
    quat_wxyz: Quaternion | None = setting(None, "1", "its orientation; as at the start if not given")
    offset: Vector3 = setting((0.0, 0.0, 0.0), "m", "displacement from there, world axes")

    @property
    def moves(self) -> Follows:
        """The tool's, where it is to be elsewhere than at its start."""
        stays = self.position is None and self.quat_wxyz is None and not any(self.offset)
        return "nothing" if stays else "tool"

    def fill(self, targets: Targets, times: Array, robot: Robot, q_start: Array) -> None:
        """The same target at every time."""
        from palpate.spatial import Pose

        if self.position is not None:
            targets.position[:] = self.position
        if self.quat_wxyz is not None:
            targets.quat_wxyz[:] = Pose.from_quat((0, 0, 0), self.quat_wxyz).quat_wxyz
        targets.position[:] += self.offset

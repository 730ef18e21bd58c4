"""What makes a Franka stop a motion: limits of commands and of the measured state, and thresholds of contact.

Each check returns the maker's name of the error, or None. Limits are those of the maker's control parameters page; the
tolerances are ours: a client computes from single-precision numbers, and rounding must not look like a jump.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from palpate.checks import Array
from palpate.robot.robot import Robot
from palpate.serving.model import stopping

LOST_IN_A_ROW = 20  # packets, after which the robot stops
TORQUE_RATE = 1000.0  # N·m/s
JOINT_JERK = 5000.0  # rad/s³
# Velocity, acceleration, jerk: translation and rotation.
CARTESIAN = ((3.0, 9.0, 4500.0), (2.5, 17.0, 8500.0))
_ROUNDING = 1e-3  # of a limit
_SPEED_ROUNDING = 1e-3  # rad/s: half a step of a single-precision angle in 1 ms is a fifth of it
_JERK_ROUNDING = 0.25  # of a limit: single precision in, differenced three times over 1 ms


@dataclass
class Thresholds:
    """From which external torques and forces on there is a contact (lower) or a collision (upper).

    N·m for joints; N and N·m for the frame K. The values at the start are ours.
    """

    lower_torque: Array = field(default_factory=lambda: np.full(7, 20.0))
    upper_torque: Array = field(default_factory=lambda: np.full(7, 20.0))
    lower_force: Array = field(default_factory=lambda: np.full(6, 20.0))
    upper_force: Array = field(default_factory=lambda: np.full(6, 20.0))

    def set(self, numbers: tuple[float, ...]) -> bool:
        """Take the eight lists of a request: of each pair those for steady motion; False if one is not positive."""
        values = np.array(numbers)
        if not (np.isfinite(values).all() and (values > 0).all()):
            return False
        self.lower_torque, self.upper_torque = values[14:21], values[21:28]
        self.lower_force, self.upper_force = values[40:46], values[46:52]
        return True

    def reflex(self, torque: Array, wrench: Array) -> str | None:
        """The error of an external torque or wrench beyond the upper thresholds."""
        if (np.abs(wrench) > self.upper_force).any():
            return "cartesian_reflex"
        return "joint_reflex" if (np.abs(torque) > self.upper_torque).any() else None


class Limits:
    """Limits of a robot's joints, in motion and in command."""

    def __init__(self, robot: Robot, period: float) -> None:
        self.period, self.joints = period, robot.limits
        self._offset, self._deceleration = stopping(robot)

    def velocity(self, q: Array) -> tuple[Array, Array]:
        """Smallest and greatest joint velocity at a posture, rad/s."""
        most = self.joints.velocity
        up = np.sqrt(np.maximum(2.0 * self._deceleration * (self.joints.upper - q), 0.0)) - self._offset
        down = np.sqrt(np.maximum(2.0 * self._deceleration * (q - self.joints.lower), 0.0)) - self._offset
        return -np.clip(down, 0.0, most), np.clip(up, 0.0, most)

    def measured(self, q: Array, v: Array) -> str | None:
        """The error of a measured state."""
        if (q < self.joints.lower).any() or (q > self.joints.upper).any():
            return "joint_position_limits_violation"
        return "joint_velocity_violation" if (np.abs(v) > 1.05 * self.joints.velocity).any() else None

    def torque(self, wanted: Array, last: Array, gravity: Array, ticks: int) -> str | None:
        """The error of a commanded torque, `ticks` after the last that arrived."""
        if (np.abs(wanted - last) > TORQUE_RATE * (1.0 + _ROUNDING) * self.period * ticks).any():
            return "controller_torque_discontinuity"
        return "tau_j_range_violation" if (np.abs(wanted + gravity) > self.joints.torque).any() else None

    def joint_motion(
        self, q: Array, v: Array, a: Array, jerk: Array, *, kind: str = "joint_motion_generator"
    ) -> str | None:
        """The error of a commanded joint motion."""
        if (q < self.joints.lower).any() or (q > self.joints.upper).any():
            return f"{kind}_position_limits_violation"
        low, high = self.velocity(q)
        if (v < low - _SPEED_ROUNDING).any() or (v > high + _SPEED_ROUNDING).any():
            return f"{kind}_velocity_limits_violation"
        if (np.abs(a) > self.joints.acceleration + _SPEED_ROUNDING / self.period).any():
            return f"{kind}_velocity_discontinuity"
        return (
            f"{kind}_acceleration_discontinuity" if (np.abs(jerk) > JOINT_JERK * (1 + _JERK_ROUNDING)).any() else None
        )


def cartesian_motion(twist: Array, acceleration: Array, jerk: Array) -> str | None:
    """The error of a commanded tool motion: [v; ω] and its two derivatives."""
    names = ("velocity_limits_violation", "velocity_discontinuity", "acceleration_discontinuity")
    for part, limits in zip((slice(0, 3), slice(3, 6)), CARTESIAN):
        for values, limit, slack, name in zip(
            (twist, acceleration, jerk), limits, (_ROUNDING, 2e-2, _JERK_ROUNDING), names
        ):
            if np.linalg.norm(values[part]) > limit * (1.0 + slack):
                return f"cartesian_motion_generator_{name}"
    return None

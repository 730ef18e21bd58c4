"""What makes a Franka refuse a setting or stop a motion: ranges, limits of commands and measurements, thresholds.

Each check returns the maker's name of the error, or None. Limits are those of the maker's headers and of its control
parameters page; the tolerances are ours: a client computes from single-precision numbers, and rounding must not look
like a jump.
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.robot.robot import Robot
from palpate.serving.arm_kernels import Told
from palpate.serving.franka import stopping

LOST_IN_A_ROW = 20  # packets, after which the robot stops
TORQUE_RATE = 1000.0  # N·m/s
JOINT_JERK = 5000.0  # rad/s³
# Velocity, acceleration, jerk: translation and rotation.
CARTESIAN = ((3.0, 9.0, 4500.0), (2.5, 17.0, 8500.0))
_PARTS = (slice(0, 3), slice(3, 6))
_ROUNDING = 1e-3  # of a limit
_SPEED_ROUNDING = 1e-3  # rad/s: half a step of a single-precision angle in 1 ms is a fifth of it
_JERK_ROUNDING = 0.25  # of a limit: single precision in, differenced three times over 1 ms


_COUNTS = (7, 7, 7, 7, 6, 6, 6, 6)  # numbers of the lists of SetCollisionBehavior
_AT_START = 20.0  # N·m, N
_STEADY = 0.01  # of the greatest acceleration: a motion with less of it moves steadily


class Thresholds:
    """From which external torques and forces on there is a contact (lower) or a collision (upper).

    N·m for joints; N and N·m for the frame K: 7 and 6 numbers each, for motions that accelerate and for all others.
    The values at the start are ours.
    """

    def __init__(self) -> None:
        self.accelerating = (np.full(13, _AT_START), np.full(13, _AT_START))
        self.steady = (np.full(13, _AT_START), np.full(13, _AT_START))

    def set(self, numbers: tuple[float, ...]) -> bool:
        """Take the eight lists of a request; False if a number is not positive."""
        values = np.array(numbers)
        if not (np.isfinite(values).all() and (values > 0).all()):
            return False
        lists = np.split(values, np.cumsum(_COUNTS)[:-1])
        low, high, steady_low, steady_high = (np.concatenate([lists[k], lists[k + 4]]) for k in range(4))
        self.accelerating, self.steady = (low, high), (steady_low, steady_high)
        return True

    def use(self, told: Told, accelerates: bool) -> None:
        """Let those of a phase hold."""
        told.lower[:], told.upper[:] = self.accelerating if accelerates else self.steady


FARTHEST = 10.0  # m: no frame of such an arm lies farther from its flange or its base
_ORTHOGONAL = 1e-4  # of R Rᵀ, from single-precision numbers


def pose_from(numbers: Array) -> Array | None:
    """The 4×4 pose of 16 numbers by columns; None where they are no rotation, or lie beyond any arm's reach."""
    X = np.ascontiguousarray(numbers.astype(np.float64).reshape(4, 4).T)
    R = X[:3, :3]
    if not np.isfinite(X).all() or np.abs(X).max() > FARTHEST or np.abs(X[3] - [0, 0, 0, 1]).max() > 1e-9:
        return None
    return X if np.abs(R @ R.T - np.eye(3)).max() < _ORTHOGONAL and np.linalg.det(R) > 0 else None


# Ranges of settings. Stiffness: robot.h; the load: the payload that the arm is rated for, which robot.h leaves open.
JOINT_STIFFNESS_RANGE = (0.0, 14250.0)  # N·m/rad
TRANSLATION_STIFFNESS_RANGE, ROTATION_STIFFNESS_RANGE = (10.0, 3000.0), (1.0, 300.0)  # N/m, N·m/rad
HEAVIEST = 3.0  # kg
BULKIEST = 100.0  # kg·m²


def _within(numbers: Array, limits: tuple[float, float]) -> bool:
    return bool(((numbers >= limits[0]) & (numbers <= limits[1])).all())


def joint_stiffness_from(numbers: Array) -> Array | None:
    """The stiffness of seven joints; None where one is out of its range."""
    return numbers if _within(numbers, JOINT_STIFFNESS_RANGE) else None


def cartesian_stiffness_from(numbers: Array) -> Array | None:
    """The stiffness along and about three axes; None where one is out of its range."""
    translation, rotation = numbers[:3], numbers[3:]
    good = _within(translation, TRANSLATION_STIFFNESS_RANGE) and _within(rotation, ROTATION_STIFFNESS_RANGE)
    return numbers if good else None


def load_from(numbers: Array) -> tuple[float, Array, Array] | None:
    """Mass, centre of mass and inertia tensor; None where no load of this arm has these."""
    mass, com, tensor = float(numbers[0]), numbers[1:4], numbers[4:].reshape(3, 3).T
    if not np.isfinite(numbers).all() or not 0.0 <= mass <= HEAVIEST:
        return None
    if np.abs(com).max() > FARTHEST or np.abs(tensor).max() > BULKIEST or np.abs(tensor - tensor.T).max() > 1e-6:
        return None
    return (mass, com, tensor) if np.linalg.eigvalsh(tensor)[0] >= -1e-9 else None


class Limits:
    """Limits of a robot's joints, in motion and in command."""

    def __init__(self, robot: Robot, period: float) -> None:
        self.period, self.joints = period, robot.limits
        self._offset, self._deceleration = stopping(robot)

    def accelerates(self, joints: Array, tool: Array) -> bool:
        """Whether a commanded motion speeds up or slows down: rad/s² of joints, [m/s²; rad/s²] of the tool."""
        if (np.abs(joints) > _STEADY * self.joints.acceleration).any():
            return True
        return any(np.linalg.norm(tool[part]) > _STEADY * limits[1] for part, limits in zip(_PARTS, CARTESIAN))

    def velocity(self, q: Array) -> tuple[Array, Array]:
        """Smallest and greatest joint velocity at a posture, rad/s."""
        distances = np.array([q - self.joints.lower, self.joints.upper - q])
        speeds = np.sqrt(np.maximum(2.0 * self._deceleration * distances, 0.0)) - self._offset
        down, up = np.clip(speeds, 0.0, self.joints.velocity)
        return -down, up

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
        joints, (low, high) = self.joints, self.velocity(q)
        exceeded = {
            "position_limits_violation": (q < joints.lower) | (q > joints.upper),
            "velocity_limits_violation": (v < low - _SPEED_ROUNDING) | (v > high + _SPEED_ROUNDING),
            "velocity_discontinuity": np.abs(a) > joints.acceleration + _SPEED_ROUNDING / self.period,
            "acceleration_discontinuity": np.abs(jerk) > JOINT_JERK * (1 + _JERK_ROUNDING),
        }
        return next((f"{kind}_{name}" for name, of_joints in exceeded.items() if of_joints.any()), None)


def cartesian_motion(twist: Array, acceleration: Array, jerk: Array) -> str | None:
    """The error of a commanded tool motion: [v; ω] and its two derivatives."""
    names = ("velocity_limits_violation", "velocity_discontinuity", "acceleration_discontinuity")
    for part, limits in zip(_PARTS, CARTESIAN):
        for values, limit, slack, name in zip(
            (twist, acceleration, jerk), limits, (_ROUNDING, 2e-2, _JERK_ROUNDING), names
        ):
            if np.linalg.norm(values[part]) > limit * (1.0 + slack):
                return f"cartesian_motion_generator_{name}"
    return None

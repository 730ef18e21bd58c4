"""Limits of a Franka, beyond which it refuses a setting or stops a motion: ranges, commands, measurements, thresholds.

Each check returns the maker's name of the error, or None. Limits are those of the maker's headers and of its control
parameters page; the tolerances are ours: a client computes from single-precision numbers, and rounding must not look
like a jump.
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.robot.robot import Robot
from palpate.tools.serving.arm import limits_kernels as kernels
from palpate.tools.serving.arm.arm_kernels import Told
from palpate.tools.serving.arm.franka import stopping
from palpate.tools.serving.arm.limits_kernels import FARTHEST, JointLimits

LOST_IN_A_ROW = 20  # packets, after which the robot stops


_COUNTS = (7, 7, 7, 7, 6, 6, 6, 6)  # numbers of the lists of SetCollisionBehavior
_AT_START = 20.0  # N·m, N


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


def pose_from(numbers: Array) -> Array | None:
    """The 4×4 pose of 16 numbers by columns; None where they are no rotation, or lie beyond any arm's reach."""
    X = np.empty((4, 4))
    return X if kernels.read_pose(numbers.astype(np.float64), X) else None


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


_MEASURED = (None, "joint_position_limits_violation", "joint_velocity_violation")
_TORQUE = (None, "controller_torque_discontinuity", "tau_j_range_violation")
_JOINTS = (
    "position_limits_violation",
    "velocity_limits_violation",
    "velocity_discontinuity",
    "acceleration_discontinuity",
)
_TOOL = _JOINTS[1:]


class Limits:
    """Limits of a robot's joints, in motion and in command."""

    def __init__(self, robot: Robot, period: float) -> None:
        self.period, self.joints = period, robot.limits
        self._record = record = JointLimits()
        record.period, (record.offset[:], record.deceleration[:]) = period, stopping(robot)
        for name in ("lower", "upper", "velocity", "acceleration", "torque"):
            getattr(record, name)[:] = getattr(robot.limits, name)

    def compile(self) -> None:
        """Compile or load all checks: a client does not wait for them."""
        q, x = np.zeros(7), np.zeros(6)
        self.velocity(q)
        self.measured(q, q)
        self.torque(q, q, q, 1)
        self.joint_motion(q, q, q, q)
        cartesian_motion(x, x, x)
        self.accelerates(q, x)
        pose_from(np.zeros(16))

    def accelerates(self, joints: Array, tool: Array) -> bool:
        """Whether a commanded motion speeds up or slows down: rad/s² of joints, [m/s²; rad/s²] of the tool."""
        return bool(kernels.accelerates(self._record.address, joints, tool))

    def velocity(self, q: Array) -> tuple[Array, Array]:
        """Smallest and greatest joint velocity at a posture, rad/s."""
        low, high = np.empty(7), np.empty(7)
        kernels.speeds(self._record.address, q, low, high)
        return low, high

    def measured(self, q: Array, v: Array) -> str | None:
        """The error of a measured state."""
        return _MEASURED[kernels.measured(self._record.address, q, v)]

    def torque(self, wanted: Array, last: Array, gravity: Array, ticks: int) -> str | None:
        """The error of a commanded torque, `ticks` after the last that arrived."""
        return _TORQUE[kernels.torque(self._record.address, wanted, last, gravity, ticks)]

    def joint_motion(
        self, q: Array, v: Array, a: Array, jerk: Array, *, kind: str = "joint_motion_generator"
    ) -> str | None:
        """The error of a commanded joint motion."""
        passed = kernels.joint_motion(self._record.address, q, v, a, jerk)
        return f"{kind}_{_JOINTS[passed - 1]}" if passed else None


def cartesian_motion(twist: Array, acceleration: Array, jerk: Array) -> str | None:
    """The error of a commanded tool motion: [v; ω] and its two derivatives."""
    passed = kernels.tool_motion(twist, acceleration, jerk)
    return f"cartesian_motion_generator_{_TOOL[passed - 1]}" if passed else None

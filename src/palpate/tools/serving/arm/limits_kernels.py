"""Compiled checks of commands and measurements; each returns 0, or the number of the limit that is passed.

Comparisons are written so that a number which is none passes every limit.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Record, Vector, sized

TORQUE_RATE = 1000.0  # N·m/s
JOINT_JERK = 5000.0  # rad/s³
# Velocity, acceleration, jerk of the tool: translation and rotation.
CARTESIAN = ((3.0, 9.0, 4500.0), (2.5, 17.0, 8500.0))
(_SPEED, _ACCELERATION, _JERK), (_TURN_SPEED, _TURN_ACCELERATION, _TURN_JERK) = CARTESIAN
_ROUNDING = 1e-3  # of a limit
_ACCELERATION_ROUNDING = 2e-2  # of a limit of the tool
_SPEED_ROUNDING = 1e-3  # rad/s: half a step of a single-precision angle in 1 ms is a fifth of it
_JERK_ROUNDING = 0.25  # of a limit: single precision in, differenced three times over 1 ms
_OVER = 1.05  # of the rated speed, which a measured one may be
_STEADY = 0.01  # of the greatest acceleration: a motion with less of it moves steadily


FARTHEST = 10.0  # m: no frame of such an arm lies farther from its flange or its base
_ORTHOGONAL = 1e-4  # of R Rᵀ, from single-precision numbers


class JointLimits(Record):
    """Limits of seven joints, and how the greatest speed falls towards a stop: √(2 a (q_max − q)) − offset."""

    period: float = 1e-3
    lower: Vector = sized(7)
    upper: Vector = sized(7)
    velocity: Vector = sized(7)
    acceleration: Vector = sized(7)
    torque: Vector = sized(7)
    offset: Vector = sized(7)
    deceleration: Vector = sized(7)


@kernel
def _towards_stop(L: JointLimits, joint: int, distance: float) -> float:
    """The greatest speed so far from a stop, rad/s."""
    speed = math.sqrt(max(2.0 * L.deceleration[joint] * distance, 0.0)) - L.offset[joint]
    return min(max(speed, 0.0), L.velocity[joint])


@kernel
def speeds(L: JointLimits, q: Vector, low: Vector, high: Vector) -> None:
    """Smallest and greatest velocity of each joint at a posture, rad/s."""
    for i in range(7):
        low[i] = -_towards_stop(L, i, q[i] - L.lower[i])
        high[i] = _towards_stop(L, i, L.upper[i] - q[i])


@kernel
def measured(L: JointLimits, q: Vector, v: Vector) -> int:
    """1 position, 2 velocity of a measured state."""
    fast = 0
    for i in range(7):
        if not L.lower[i] <= q[i] <= L.upper[i]:
            return 1
        if not abs(v[i]) <= _OVER * L.velocity[i]:
            fast = 2
    return fast


@kernel
def torque(L: JointLimits, wanted: Vector, last: Vector, gravity: Vector, ticks: int) -> int:
    """1 rate, 2 range of a commanded torque, `ticks` after the last that arrived."""
    beyond = 0
    for i in range(7):
        if not abs(wanted[i] - last[i]) <= TORQUE_RATE * (1.0 + _ROUNDING) * L.period * ticks:
            return 1
        if not abs(wanted[i] + gravity[i]) <= L.torque[i]:
            beyond = 2
    return beyond


@kernel
def joint_motion(L: JointLimits, q: Vector, v: Vector, a: Vector, jerk: Vector) -> int:
    """1 position, 2 velocity, 3 acceleration, 4 jerk of a commanded joint motion."""
    first = 5
    for i in range(7):
        if not L.lower[i] <= q[i] <= L.upper[i]:
            return 1
        low = -_towards_stop(L, i, q[i] - L.lower[i]) - _SPEED_ROUNDING
        high = _towards_stop(L, i, L.upper[i] - q[i]) + _SPEED_ROUNDING
        if not low <= v[i] <= high:
            first = min(first, 2)
        if not abs(a[i]) <= L.acceleration[i] + _SPEED_ROUNDING / L.period:
            first = min(first, 3)
        if not abs(jerk[i]) <= JOINT_JERK * (1.0 + _JERK_ROUNDING):
            first = min(first, 4)
    return first % 5


@kernel
def _size(x: Vector, start: int) -> float:
    return math.sqrt(x[start] * x[start] + x[start + 1] * x[start + 1] + x[start + 2] * x[start + 2])


@kernel
def tool_motion(twist: Vector, acceleration: Vector, jerk: Vector) -> int:
    """1 velocity, 2 acceleration, 3 jerk of a commanded tool motion, [v; ω] and its two derivatives."""
    if not (_size(twist, 0) <= _SPEED * (1.0 + _ROUNDING) and _size(twist, 3) <= _TURN_SPEED * (1.0 + _ROUNDING)):
        return 1
    most = 1.0 + _ACCELERATION_ROUNDING
    if not (_size(acceleration, 0) <= _ACCELERATION * most and _size(acceleration, 3) <= _TURN_ACCELERATION * most):
        return 2
    most = 1.0 + _JERK_ROUNDING
    return 0 if _size(jerk, 0) <= _JERK * most and _size(jerk, 3) <= _TURN_JERK * most else 3


@kernel
def accelerates(L: JointLimits, joints: Vector, tool: Vector) -> bool:
    """Whether a commanded motion speeds up or slows down: rad/s² of joints, [m/s²; rad/s²] of the tool."""
    for i in range(7):
        if abs(joints[i]) > _STEADY * L.acceleration[i]:
            return True
    return _size(tool, 0) > _STEADY * _ACCELERATION or _size(tool, 3) > _STEADY * _TURN_ACCELERATION


@kernel
def read_pose(numbers: Vector, X: Matrix) -> bool:
    """The 4×4 pose of 16 numbers by columns; False where they are no rotation, or lie beyond any arm's reach."""
    for i in range(4):
        for j in range(4):
            X[i, j] = numbers[4 * j + i]
            if not abs(X[i, j]) <= FARTHEST:
                return False
    for j in range(4):
        if not abs(X[3, j] - (1.0 if j == 3 else 0.0)) <= 1e-9:
            return False
    for i in range(3):
        for j in range(3):
            product = X[i, 0] * X[j, 0] + X[i, 1] * X[j, 1] + X[i, 2] * X[j, 2]
            if not abs(product - (1.0 if i == j else 0.0)) < _ORTHOGONAL:
                return False
    volume = X[0, 0] * (X[1, 1] * X[2, 2] - X[1, 2] * X[2, 1])
    volume += X[0, 1] * (X[1, 2] * X[2, 0] - X[1, 0] * X[2, 2])
    return volume + X[0, 2] * (X[1, 0] * X[2, 1] - X[1, 1] * X[2, 0]) > 0.0

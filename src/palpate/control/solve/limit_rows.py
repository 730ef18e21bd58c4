"""Limits of the joints as rows lower ≤ C x ≤ upper: torques, velocities and accelerations over a step."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_number
from palpate.control.solve.tasks import unit_matrix
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot


class LimitRows(NamedTuple):
    """lower ≤ C x ≤ upper, each row with a name and a size."""

    C: Array
    lower: Array
    upper: Array
    size: Array
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


@lru_cache(maxsize=64)
def _limit_names(kind: str, joints: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{kind} of {joint}" for joint in joints)


def no_limits(n: int) -> LimitRows:
    """No rows, for n joints."""
    return LimitRows(np.zeros((0, n)), np.zeros(0), np.zeros(0), np.zeros(0), ())


def torque_limits(robot: Robot, M: Array, bias: Array, torque: ArrayLike | None) -> LimitRows:
    """Limits of τ = M v̇ + bias as rows of the accelerations v̇."""
    most = robot._limits.torque if torque is None else np.asarray(torque, dtype=float)
    if most.shape != (robot.nv,) or not (most > 0).all():
        raise InvalidInput(f"torque must be {robot.nv} positive numbers, got {torque}")
    names = _limit_names("torque", robot.dof_names)
    return LimitRows(M, -most - bias, most - bias, _sizes(most), names)


def velocity_limits(robot: Robot, q: Array, v: Array | None, dt: float) -> LimitRows:
    """Limits of the joint velocities: of velocity, of position over the step, and, given v, of acceleration."""
    known, notes = robot._limits, ()
    lower, upper = -known.velocity, known.velocity
    if v is not None:
        room = known.acceleration * dt
        lower, upper = np.maximum(lower, v - room), np.minimum(upper, v + room)
        crossed = lower > upper
        if (
            crossed.any()
        ):  # acceleration cannot bring a joint below its speed limit in one step: brake as hard as it can
            best = np.where(v > 0, lower, upper)
            lower, upper = np.where(crossed, best, lower), np.where(crossed, best, upper)
            notes = _named("velocity", crossed, robot)
    if robot.nq == robot.nv:
        below, above = (known.lower - q) / dt, (known.upper - q) / dt
        low, high = np.minimum(np.maximum(below, lower), upper), np.minimum(np.maximum(above, lower), upper)
        if (below > low).any() or (above < high).any():
            notes += _named("position", (below > upper) | (above < lower), robot)
        lower, upper = low, high
    names, size = _limit_names("speed", robot.dof_names), _sizes(known.velocity)
    return LimitRows(unit_matrix(robot.nv), lower, upper, size, names, notes)


def _sizes(most: Array) -> Array:
    """The units in which limits give way: themselves, 1 for those that are infinite."""
    return np.where(np.isfinite(most), most, 1.0)


def acceleration_limits(robot: Robot, q: Array, v: Array, dt: float | None) -> LimitRows:
    """Limits of the joint accelerations; given dt, those of velocity and position over the step too."""
    known = robot._limits
    lower, upper, notes = -known.acceleration, known.acceleration, ()
    if dt is not None:
        dt = finite_number(dt, "dt", above=0.0)
        low, high = (-known.velocity - v) / dt, (known.velocity - v) / dt
        if robot.nq == robot.nv:
            low = np.maximum(low, 2 * (known.lower - q - v * dt) / dt**2)
            high = np.minimum(high, 2 * (known.upper - q - v * dt) / dt**2)
        missed = (low > upper) | (high < lower) | (low > high)
        notes = _named("speed and position", missed, robot)
        low, high = np.clip(low, lower, upper), np.clip(high, lower, upper)
        lower, upper = np.minimum(low, high), np.maximum(low, high)
    names, size = _limit_names("acceleration", robot.dof_names), _sizes(known.acceleration)
    return LimitRows(unit_matrix(robot.nv), lower, upper, size, names, notes)


def _named(kind: str, missed: Array, robot: Robot) -> tuple[str, ...]:
    if not missed.any():
        return ()
    joints = ", ".join(name for name, is_missed in zip(robot.dof_names, missed) if is_missed)
    return (f"the {kind} limit of {joints} cannot be kept within the stronger ones; approached as fast as they allow",)


def joined_limits(a: LimitRows, b: LimitRows) -> LimitRows:
    """The rows of both."""
    C, lower, upper, size = (np.concatenate(pair) for pair in zip(a[:4], b[:4]))
    return LimitRows(C, lower, upper, size, a.names + b.names, a.notes + b.notes)

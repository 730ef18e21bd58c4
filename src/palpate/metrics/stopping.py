"""Metrics of a stop: how long a tool that moves at first goes on, how far, and how straight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.errors import NeverHappened, NotApplicable
from palpate.metrics.signals import channel, once, steady
from palpate.spatial import rows
from palpate.trace import Trace

STILL = 0.02  # stopped: slower than this share of the first speed
LEAST_SPEED = 1e-4  # m/s; a slower tool has no direction worth the name


@dataclass(frozen=True)
class MeasuredStop:
    """A stop: its duration, s, and the way p − p₀ until then, m, along the first direction and across it."""

    time: float
    along: Array
    across: Array


@once
def stop_of(trace: Trace) -> MeasuredStop:
    """The stop of the tool's origin: until |ṗ| stays below 2 % of |ṗ₀|, the end interpolated between samples."""
    velocity, position, late = channel(trace, "tool_twist")[:, :3], channel(trace, "tool_position"), steady(trace)
    if rows.length(velocity[0]) < LEAST_SPEED:
        raise NotApplicable("the tool does not move at first")
    speed = rows.length(velocity)
    moving = speed >= STILL * speed[0]
    if moving[late].any():
        raise NeverHappened("the tool has not stopped by the end")
    k = int(np.flatnonzero(moving)[-1])
    share = (speed[k] - STILL * speed[0]) / (speed[k] - speed[k + 1])
    last = position[k] + share * (position[k + 1] - position[k])
    way, direction = np.vstack([position[: k + 1], last]) - position[0], velocity[0] / speed[0]
    along = way @ direction
    time = trace.time[k] + share * (trace.time[k + 1] - trace.time[k]) - trace.time[0]
    return MeasuredStop(float(time), along, rows.length(way - np.outer(along, direction)))


def stop_time(trace: Trace) -> float:
    """s until the tool's speed stays below 2 % of its first."""
    return stop_of(trace).time


def stop_distance(trace: Trace) -> float:
    """(p − p₀)·ṗ₀/|ṗ₀| at the stop, m."""
    return float(stop_of(trace).along[-1])


def stop_deviation(trace: Trace) -> float:
    """Largest distance from the line through p₀ along ṗ₀ until the stop, m."""
    return float(stop_of(trace).across.max())

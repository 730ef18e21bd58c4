"""Building blocks of metrics: channels that must be there, means over time, intervals of contact, rotations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import TypeVar

import numpy as np

from palpate.checks import Array
from palpate.errors import NeverHappened, NotApplicable
from palpate.metrics.kernels import integral_of_squares, lengths, rotation_errors
from palpate.trace import Channel, Trace

_FIRST = np.zeros(1, dtype=int)
LAST = 0.1  # share of the run over which it counts as steady
S = TypeVar("S")


def once(signal: Callable[[Trace], S]) -> Callable[[Trace], S]:
    """Work a signal out once per trace: several metrics are made of it."""
    name = f"{signal.__module__}.{signal.__name__}"

    @wraps(signal)
    def computed(trace: Trace) -> S:
        known = trace.signals.get(name)
        if known is None:
            try:
                known = signal(trace), None
            except NotApplicable as error:
                known = None, error
            trace.signals[name] = known
        value, why = known
        if value is None and isinstance(why, NeverHappened):
            raise NeverHappened(str(why))
        if value is None:
            raise NotApplicable(str(why))
        return value

    return computed


def channel(trace: Trace, name: str) -> Array:
    """A channel's samples; NotApplicable where it was not recorded or holds fewer than two samples."""
    if name not in trace:
        raise NotApplicable(f"channel {name!r} was not recorded")
    if len(trace) < 2:
        raise NeverHappened("the trace has fewer than two samples")
    return trace[name]


def columns_with_unit(trace: Trace, name: str, unit: str) -> list[int]:
    """Indices of a channel's columns that have a unit."""
    channel(trace, name)
    return _columns_with_unit(trace.channels[name], unit)


@cache
def _columns_with_unit(channel: Channel, unit: str) -> list[int]:
    return [i for i, column_unit in enumerate(channel.column_units) if column_unit == unit]


def largest(signal: str | Callable[[Trace], Array]) -> Callable[[Trace], float]:
    """The metric max s(t) of a channel or a signal."""
    return lambda trace: float((channel(trace, signal) if isinstance(signal, str) else signal(trace)).max())


def rms_of(signal: Callable[[Trace], Array]) -> Callable[[Trace], float]:
    """The metric √(∫ s² dt / T) of a signal."""
    return lambda trace: rms(trace.time, signal(trace))


def rms(time: Array, error: Array) -> float:
    """√(∫ e² dt / T), trapezoidal."""
    square = integral_of_squares(error.reshape(-1, 1), _FIRST, time, 0)
    return float(np.sqrt(square / (time[-1] - time[0])))


def changes(on: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples at which a flag comes on (the first counts if it is on) and goes off."""
    turns = np.flatnonzero(on[1:] != on[:-1]) + 1
    turns = np.concatenate([[0], turns]) if len(on) and on[0] else turns
    return turns[::2], turns[1::2]


@once
def touching(trace: Trace) -> np.ndarray:
    """Whether the robot is in contact, per sample."""
    return channel(trace, "contact_force") > 0


@once
def contact_changes(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Samples at which contact begins and ends."""
    return changes(touching(trace))


@once
def steady(trace: Trace) -> slice:
    """The samples of the last tenth of the run; NotApplicable where the run failed."""
    if not trace.outcome.ok:
        raise NeverHappened(f"the run {_HOW[trace.outcome.kind]}")
    if len(trace) < 2:
        raise NeverHappened("the trace has fewer than two samples")
    since = trace.time[-1] - LAST * (trace.time[-1] - trace.time[0])
    return slice(int(np.searchsorted(trace.time, since)), None)


_HOW = {"diverged": "diverged", "interrupted": "was interrupted"}


def refuse_without_target(trace: Trace) -> None:
    """NotApplicable under a law that follows no target."""
    if trace.facts.follows == "nothing":
        raise NotApplicable(f"{trace.facts.law} follows no target")


@once
def orientation_error(trace: Trace) -> Array:
    """log(R_d R⁻¹) per sample, rad, world axes: how the tool must turn to reach its target."""
    refuse_without_target(trace)
    wanted, actual = channel(trace, "target_quat_wxyz"), channel(trace, "tool_quat_wxyz")
    error = np.empty((len(actual), 3))
    rotation_errors(wanted, actual, error)
    return error


@once
def position_error(trace: Trace) -> Array:
    """p_d − p per sample, m, world axes."""
    refuse_without_target(trace)
    return channel(trace, "target_position") - channel(trace, "tool_position")


@once
def position_distance(trace: Trace) -> Array:
    """|p_d − p| per sample, m."""
    return _lengths(position_error(trace))


@once
def orientation_angle(trace: Trace) -> Array:
    """Angle between the tool and its target per sample, rad."""
    return _lengths(orientation_error(trace))


def _lengths(vectors: Array) -> Array:
    sizes = np.empty(len(vectors))
    lengths(vectors, sizes)
    return sizes

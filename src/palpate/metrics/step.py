"""Step responses: how the tool or the force went from where it began to where it ended.

The response y(t) is a vector: the tool's position, its rotation vector from the start, or the contact force. It goes
from y₀, its first value, to y∞, its mean over the last tenth of the run, by d = y∞ − y₀. Progress is
s = (y − y₀)·d / |d|².
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from palpate.checks import Array
from palpate.errors import NeverHappened, NotApplicable
from palpate.metrics.kernels import between, force_along, last_jump, measure_step, rotation_errors, steady_mean
from palpate.metrics.signals import (
    LAST,
    channel,
    once,
    orientation_error,
    position_error,
    steady,
    touching,
)
from palpate.spatial import rows
from palpate.trace import Trace

BAND = 0.02  # settled: within this share of the step
FARTHEST = 5.0  # times the step: a motion that goes farther on its way is none


class Response(NamedTuple):
    """A step response, from its start on.

    Attributes:
        size: |d|.
        way: largest |y − y₀|.
        peak: largest progress.
        low, high: when progress first passes 10 % and 90 %, s, interpolated between samples.
        far: the last sample that is more than 2 % of the step away from y∞, −1 if there is none.
        settled: when it comes within that for good, s; infinite if that is in the last tenth.
    """

    size: float
    way: float
    peak: float
    low: float
    high: float
    far: int
    settled: float


def _response(trace: Trace, y: Array, least: float, what: str, first: int = 0) -> Response:
    late = steady(trace).start
    response = Response(*measure_step(np.ascontiguousarray(y), trace.time, first, late, BAND))
    if response.size < least:
        raise NeverHappened(f"the {what} does not change from its start to its end")
    if response.way > FARTHEST * response.size:
        farther = response.way / response.size
        raise NeverHappened(f"the {what} goes {farther:.3g} times as far as its final displacement: not a step")
    if response.far >= 0 and trace.time[response.far] > trace.time[-1] - LAST * (trace.time[-1] - trace.time[first]):
        return response._replace(settled=math.inf)
    return response


@once
def position_response(trace: Trace) -> Response:
    """The tool's position, m, from the run's start."""
    return _response(trace, channel(trace, "tool_position"), 1e-5, "tool's position")


@once
def orientation_response(trace: Trace) -> Response:
    """The tool's rotation vector from its first orientation, rad."""
    quat = channel(trace, "tool_quat_wxyz")
    turned = np.empty((len(quat), 3))
    rotation_errors(quat, quat[:1], turned)
    return _response(trace, turned, 1e-4, "tool's orientation")


@once
def force_response(trace: Trace) -> Response:
    """The contact force, N, from the last sample before first contact."""
    force, on = channel(trace, "contact_wrench")[:, :3], touching(trace)
    if not on.any():
        raise NeverHappened("there is no contact")
    return _response(trace, force, 1e-2, "contact force", first=max(int(np.argmax(on)) - 1, 0))


def force_step_settling(trace: Trace) -> float:
    """s from the wanted force's last step until |f_d − f| stays within 2 % of that step, interpolated."""
    target, measured = channel(trace, "target_wrench"), channel(trace, "contact_wrench")[:, :3]
    first, wanted = last_jump(target, 3), target[:, :3]
    if not first:
        raise NotApplicable("the desired force does not change")
    size = float(np.linalg.norm(wanted[first] - wanted[first - 1]))
    off = rows.length(wanted[first:] - measured[first:]) / size
    far, time = np.flatnonzero(off > BAND), trace.time[first:] - trace.time[first]
    if not len(far):
        return 0.0
    k = int(far[-1])
    if k + 1 >= len(off):
        raise NeverHappened("it has not settled by the end")
    return between(BAND, off[k], off[k + 1], time[k], time[k + 1])


def rise_time(response: Response) -> float:
    """s from 10 % to 90 % of the step, first crossings, interpolated between samples."""
    return response.high - response.low  # progress reaches 1 in the mean of the last tenth, so it passes both


def overshoot(response: Response) -> float:
    """Largest excess beyond the final value along the step, as a share of the step."""
    return max(response.peak - 1.0, 0.0)


def settling_time(response: Response) -> float:
    """s until |y − y∞| stays within 2 % of the step, interpolated between samples."""
    if response.settled == math.inf:
        raise NeverHappened("it has not settled by the end")
    return response.settled


def position_steady_error(trace: Trace) -> float:
    """|mean of p_d − p over the last tenth|, m."""
    return _steady_size(trace, position_error(trace), "target_position")


def orientation_steady_error(trace: Trace) -> float:
    """|mean of log(R_d R⁻¹) over the last tenth|, rad."""
    return _steady_size(trace, orientation_error(trace), "target_quat_wxyz")


def force_steady_error(trace: Trace) -> float:
    """|mean of f_d − f over the last tenth| along the wanted force, N."""
    return _steady_size(trace, force_error(trace).reshape(-1, 1), "target_wrench")


def _steady_size(trace: Trace, error: Array, target: str) -> float:
    """|mean of an error over the last tenth|, where the target stands still."""
    means = np.empty(error.shape[1])
    if steady_mean(error, channel(trace, target), steady(trace).start, means) > 1e-9:
        raise NotApplicable("the target still moves in the last tenth of the run")
    return math.hypot(*means)


@once
def force_error(trace: Trace) -> Array:
    """(f_d − f)·f_d/|f_d| per sample, N: along the wanted force; what friction adds across it is no error."""
    error = np.empty(len(trace))
    if not force_along(channel(trace, "target_wrench"), channel(trace, "contact_wrench"), error):
        raise NotApplicable("no force is desired")
    return error


def measured_on(
    response: Callable[[Trace], Response], measure: Callable[[Response], float]
) -> Callable[[Trace], float]:
    """A measure of a response as a function of the trace."""
    return lambda trace: measure(response(trace))

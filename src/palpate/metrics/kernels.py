"""Compiled passes over the samples of a trace: a sweep computes every metric of every run."""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.records import Integers, Matrix, ReadMatrix, ReadVector, Record, Vector, sized
from palpate.spatial.kernels import quat_error_world


class StepNumbers(Record):
    """A response y(t) from its sample `first` to the mean over the samples from `late` on; times count from `first`.

    Attributes:
        size: |d|, the step.
        way: largest |y − y₀|.
        peak: largest progress.
        reached: when progress first passes 10 % and 90 %, s.
        far: the last sample more than the band away, −1 if there is none.
        settled: when it enters the band for good, s.
    """

    size: float = 0.0
    way: float = 0.0
    peak: float = 0.0
    reached: Vector = sized(2)
    far: int = -1
    settled: float = 0.0
    final: Vector = sized(3)
    d: Vector = sized(3)


@kernel
def _between(level: float, before: float, after: float, start: float, end: float) -> float:
    """When a value that goes from before to after in a straight line passes a level."""
    return start + (end - start) / (after - before) * (level - before)


@kernel
def _apart(a: ReadVector, b: ReadVector) -> float:
    """|a − b|."""
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return math.sqrt(x * x + y * y + z * z)


@kernel
def _progress(y: ReadVector, start: ReadVector, d: ReadVector, square: float) -> float:
    """(y − y₀)·d / |d|²."""
    return ((y[0] - start[0]) * d[0] + (y[1] - start[1]) * d[1] + (y[2] - start[2]) * d[2]) / square


@kernel
def measure_step(y: ReadMatrix, time: ReadVector, first: int, late: int, band: float, out: StepNumbers) -> None:
    """The numbers of a step response, (samples, 3)."""
    count, start = y.shape[0], y[first]
    for i in range(3):
        total = 0.0
        for k in range(late, count):
            total += y[k, i]
        out.final[i] = total / (count - late)
        out.d[i] = out.final[i] - start[i]
    out.size = _apart(out.final, start)
    square = out.d[0] * out.d[0] + out.d[1] * out.d[1] + out.d[2] * out.d[2]
    low, high = -1, -1
    for k in range(first, count):
        out.way = max(out.way, _apart(y[k], start))
        s = _progress(y[k], start, out.d, square)
        out.peak = max(out.peak, s)
        low = k if low < 0 and s >= 0.1 else low
        high = k if high < 0 and s >= 0.9 else high
        out.far = k if _apart(y[k], out.final) / out.size > band else out.far
    for side in range(2):
        level, k = (0.1, low) if side == 0 else (0.9, high)
        if k > first:
            before, after = _progress(y[k - 1], start, out.d, square), _progress(y[k], start, out.d, square)
            out.reached[side] = _between(level, before, after, time[k - 1] - time[first], time[k] - time[first])
    if 0 <= out.far < count - 1:
        before, after = _apart(y[out.far], out.final) / out.size, _apart(y[out.far + 1], out.final) / out.size
        out.settled = _between(band, before, after, time[out.far] - time[first], time[out.far + 1] - time[first])


@kernel
def rotation_errors(wanted: ReadMatrix, actual: ReadMatrix, out: Matrix) -> None:
    """log(R_d R⁻¹) of each sample, world axes; the last of fewer actual ones is taken for the rest."""
    for k in range(wanted.shape[0]):
        quat_error_world(wanted[k], actual[min(k, actual.shape[0] - 1)], out[k])


@kernel
def distances(a: ReadMatrix, b: ReadMatrix, out: Vector) -> None:
    """|a − b| of each sample, of three columns."""
    for k in range(a.shape[0]):
        out[k] = _apart(a[k], b[k])


@kernel
def force_along(wanted: ReadMatrix, measured: ReadMatrix, out: Vector) -> bool:
    """(f_d − f)·f_d/|f_d| of each sample of two wrenches, 0 where no force is wanted; whether one ever is."""
    any_wanted = False
    for k in range(wanted.shape[0]):
        f, m = wanted[k], measured[k]
        size = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
        along = (f[0] - m[0]) * f[0] + (f[1] - m[1]) * f[1] + (f[2] - m[2]) * f[2]
        out[k] = along / size if size > 0.0 else 0.0
        any_wanted = any_wanted or size > 0.0
    return any_wanted


@kernel
def integral_of_squares(values: ReadMatrix, columns: Integers, time: ReadVector, first: int) -> float:
    """∫ Σ x² dt over some columns from a sample on, trapezoidal."""
    total, before = 0.0, 0.0
    for k in range(first, values.shape[0]):
        now = 0.0
        for j in range(columns.size):
            now += values[k, columns[j]] * values[k, columns[j]]
        total += 0.5 * (now + before) * (time[k] - time[k - 1]) if k > first else 0.0
        before = now
    return total


@kernel
def largest_of_columns(values: ReadMatrix, out: Vector) -> None:
    """max |x| of each column."""
    for k in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[j] = max(out[j], abs(values[k, j]))


@kernel
def energy_given(wrench: ReadMatrix, twist: ReadMatrix, time: ReadVector, out: Vector) -> None:
    """E(t) = −∫ Fᵀ V dt, trapezoidal."""
    total, before = 0.0, 0.0
    for k in range(wrench.shape[0]):
        power = 0.0
        for i in range(6):
            power -= wrench[k, i] * twist[k, i]
        total += (time[k] - time[k - 1]) * (power + before) / 2 if k > 0 else 0.0
        before = power
        out[k] = total

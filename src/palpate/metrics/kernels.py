"""Compiled passes over the samples of a trace: a sweep computes every metric of every run."""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.records import Integers, Matrix, ReadMatrix, ReadVector, Vector
from palpate.spatial.kernels import quat_error_world


@kernel
def between(level: float, before: float, after: float, start: float, end: float) -> float:
    """When a value that goes from before to after in a straight line passes a level."""
    return start + (end - start) / (after - before) * (level - before)


@kernel
def _larger(most: float, x: float) -> float:
    """The larger of two; a NaN in either comes out, as NumPy's maximum has it."""
    return x if x > most or x != x else most


@kernel
def _apart(a: ReadVector, x: float, y: float, z: float) -> float:
    """|a − (x, y, z)|."""
    x, y, z = a[0] - x, a[1] - y, a[2] - z
    return math.sqrt(x * x + y * y + z * z)


@kernel
def _progress(y: ReadVector, start: ReadVector, dx: float, dy: float, dz: float) -> float:
    """(y − y₀)·d / |d|²."""
    along = (y[0] - start[0]) * dx + (y[1] - start[1]) * dy + (y[2] - start[2]) * dz
    return along / (dx * dx + dy * dy + dz * dz)


@kernel
def _mean(y: ReadMatrix, column: int, first: int) -> float:
    total = 0.0
    for k in range(first, y.shape[0]):
        total += y[k, column]
    return total / (y.shape[0] - first)


@kernel
def measure_step(
    y: ReadMatrix, time: ReadVector, first: int, late: int, band: float
) -> tuple[float, float, float, float, float, int, float]:
    """A response y(t), (samples, 3), from its sample `first` to its mean over the samples from `late` on.

    Returns:
        |d|; the largest |y − y₀|; the largest progress; when progress first passes 10 % and 90 %, s; the last sample
        more than the band away, −1 if there is none; when the band is entered for good, s. Times count from `first`.
    """
    count, start, begin = y.shape[0], y[first], time[first]
    fx, fy, fz = _mean(y, 0, late), _mean(y, 1, late), _mean(y, 2, late)
    dx, dy, dz = fx - start[0], fy - start[1], fz - start[2]
    size = math.sqrt(dx * dx + dy * dy + dz * dz)
    way, peak, low, high, far, before = 0.0, 0.0, -1.0, -1.0, -1, 0.0
    for k in range(first, count):
        way = _larger(way, _apart(y[k], start[0], start[1], start[2]))
        s = _progress(y[k], start, dx, dy, dz)
        peak = _larger(peak, s)
        if low < 0.0 and s >= 0.1:
            low = 0.0 if k == first else between(0.1, before, s, time[k - 1] - begin, time[k] - begin)
        if high < 0.0 and s >= 0.9:
            high = 0.0 if k == first else between(0.9, before, s, time[k - 1] - begin, time[k] - begin)
        far = k if _apart(y[k], fx, fy, fz) / size > band else far
        before = s
    settled = 0.0
    if 0 <= far < count - 1:
        off, within = _apart(y[far], fx, fy, fz) / size, _apart(y[far + 1], fx, fy, fz) / size
        settled = between(band, off, within, time[far] - begin, time[far + 1] - begin)
    return size, way, peak, max(low, 0.0), max(high, 0.0), far, settled


@kernel
def rotation_errors(wanted: ReadMatrix, actual: ReadMatrix, out: Matrix) -> None:
    """log(R_d R⁻¹) of each sample, world axes; the last of fewer actual ones is taken for the rest."""
    for k in range(wanted.shape[0]):
        quat_error_world(wanted[k], actual[min(k, actual.shape[0] - 1)], out[k])


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
            out[j] = _larger(out[j], abs(values[k, j]))


@kernel
def steady_mean(error: ReadMatrix, target: ReadMatrix, first: int, out: Vector) -> float:
    """Mean of each column of an error from a sample on; returns how far the target moves over those samples."""
    for j in range(error.shape[1]):
        out[j] = _mean(error, j, first)
    widest = 0.0
    for j in range(target.shape[1]):
        least, most = target[first, j], target[first, j]
        for k in range(first, target.shape[0]):
            least, most = min(least, target[k, j]), max(most, target[k, j])
        widest = max(widest, most - least)
    return widest


@kernel
def lengths(vectors: ReadMatrix, out: Vector) -> None:
    """|x| of each row."""
    for k in range(vectors.shape[0]):
        total = 0.0
        for j in range(vectors.shape[1]):
            total += vectors[k, j] * vectors[k, j]
        out[k] = math.sqrt(total)


@kernel
def time_above_zero(values: ReadVector, time: ReadVector) -> float:
    """Time during which a value is above zero, s; each sample holds until the next."""
    total = 0.0
    for k in range(values.size - 1):
        total += time[k + 1] - time[k] if values[k] > 0.0 else 0.0
    return total


@kernel
def last_jump(values: ReadMatrix, columns: int) -> int:
    """The last sample at which one of the first columns is another than in the sample before, 0 if there is none."""
    for k in range(values.shape[0] - 1, 0, -1):
        for j in range(columns):
            if values[k, j] != values[k - 1, j]:
                return k
    return 0


@kernel
def largest_imbalance(
    kinetic: ReadVector,
    potential: ReadVector,
    stored: ReadVector,
    injected: ReadVector,
    pushed: ReadVector,
    dissipated: ReadVector,
) -> float:
    """max |Δ(kinetic + potential + stored) − Δ(injected + pushed − dissipated)|."""
    first, most = 0.0, 0.0
    for k in range(kinetic.size):
        balance = kinetic[k] + potential[k] + stored[k] - (injected[k] + pushed[k]) + dissipated[k]
        first = balance if k == 0 else first
        most = _larger(most, abs(balance - first))
    return most


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

"""Compiled: one step of the eighth-order Runge–Kutta method of Dormand and Prince.

The right-hand side is a kernel `rate(record, t, y, dy, margins) -> status` at an address, so that the motion of a robot
and the growth of an impulse are integrated by the same code. Beyond the state's own rates `dy` may hold rates of
quantities that do not act back on it (work done): they are summed with the method's weights, not controlled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from palpate.engine.kernels import caller, clear, kernel, put
from palpate.engine.maths import power
from palpate.engine.records import Matrix, Record, Vector, sized

OK = 0
STAGES = 12  # then the slope at the end
_SLOWEST, _FASTEST, _SAFETY = 0.2, 5.0, 0.9  # how a step may shrink and grow, and what is kept back of its best length
_ORDER = 8


class Step(Record):
    """One step: where its right-hand side is, the method's tables, stages and result."""

    rate: int = 0
    record: int = 0
    A: Matrix
    B: Vector
    C: Vector
    E3: Vector
    E5: Vector
    relative: float
    absolute: float
    t: float = 0.0
    h: float = 0.0
    error: float = 0.0  # over the tolerance
    K: Matrix = sized(13, "width")
    origin: Vector = sized("size")  # the state it starts from
    point: Vector = sized("size")
    y: Vector = sized("size")
    slope: Vector = sized("width")  # of an evaluation that is no stage
    integrals: Vector = sized("further")  # of the quantities beyond the state, over the accepted steps
    margins: Vector = sized("margins")  # of the last evaluation
    lowest: Vector = sized("margins")  # of each margin over the stages
    highest: Vector = sized("margins")


def make_step(rate: Any, record: Record, sizes: tuple[int, int, int], relative: float, absolute: float) -> Step:
    """A step for a kernel and its record; sizes of the state, of what is integrated along with it, of the margins."""
    from scipy.integrate import DOP853

    tables = {name: np.array(getattr(DOP853, name), dtype=np.float64) for name in ("A", "B", "C", "E3", "E5")}
    size, further, margins = sizes
    lengths = {"size": size, "further": further, "width": size + further, "margins": margins}
    return Step(lengths, rate=rate.pointer, record=record.address, relative=relative, absolute=absolute, **tables)


# rate(record, t, y, dy, margins) at an address.
_call_rate = caller(types.int64, types.int64, types.float64, *[types.float64[::1]] * 3)


@kernel
def evaluate(step: Step, t: float, y: Vector, dy: Vector) -> int:
    """Rates and margins at a state."""
    return _call_rate(step.rate, step.record, t, y, dy, step.margins)


@kernel
def _fill_stage(step: Step, row: Vector, used: int, out: Vector) -> None:
    """out = origin + h Σ row[s] K[s] over the first `used` stages."""
    clear(out)
    for s in range(used):
        share, slope = row[s], step.K[s]
        if share != 0.0:
            for i in range(out.size):
                out[i] += share * slope[i]
    for i in range(out.size):
        out[i] = step.origin[i] + step.h * out[i]


@kernel
def _note_margins(step: Step) -> None:
    """Widen the range of every margin seen so far."""
    for j in range(step.margins.size):
        step.lowest[j] = min(step.lowest[j], step.margins[j])
        step.highest[j] = max(step.highest[j], step.margins[j])


@kernel
def try_step(step: Step, margins: Vector) -> int:
    """Try a step of length h from t: y, the slope at its end (K[12]), the error; K[0] is the slope at its start.

    The margins' range over the stages, from those at the start on, is kept: it shows where to look closer.
    """
    for j in range(margins.size):
        step.lowest[j] = step.highest[j] = margins[j]
    for s in range(1, STAGES):
        _fill_stage(step, step.A[s], s, step.point)
        status = evaluate(step, step.t + step.C[s] * step.h, step.point, step.K[s])
        if status != OK:
            return status
        _note_margins(step)
    _fill_stage(step, step.B, STAGES, step.y)
    status = evaluate(step, step.t + step.h, step.y, step.K[STAGES])
    _note_margins(step)
    step.error = _error(step)
    return status


@kernel
def _error(step: Step) -> float:
    """Dormand and Prince's estimate of the step's error over the tolerance: below 1 is good."""
    third = fifth = 0.0
    for i in range(step.y.size):
        scale = step.absolute + step.relative * max(abs(step.origin[i]), abs(step.y[i]))
        a = b = 0.0
        for s in range(STAGES + 1):
            a += step.K[s, i] * step.E5[s]
            b += step.K[s, i] * step.E3[s]
        fifth += (a / scale) ** 2
        third += (b / scale) ** 2
    if fifth == 0.0 and third == 0.0:
        return 0.0
    return abs(step.h) * fifth / math.sqrt((fifth + 0.01 * third) * step.y.size)


@kernel
def next_length(step: Step) -> float:
    """The length to try after a step with this error, good or not."""
    if not math.isfinite(step.error):
        return step.h * _SLOWEST
    if step.error == 0.0:
        return step.h * _FASTEST
    change = _SAFETY * power(step.error, -1.0 / _ORDER)
    return step.h * min(max(change, _SLOWEST), _FASTEST)


@kernel
def accept(step: Step) -> None:
    """Make the step's end the new state, its slope there the first stage, and sum what is integrated along."""
    size = step.y.size
    for k in range(step.integrals.size):
        for s in range(STAGES):
            step.integrals[k] += step.h * step.B[s] * step.K[s, size + k]
    step.t += step.h
    put(step.origin, 0, step.y)
    put(step.K[0], 0, step.K[STAGES])

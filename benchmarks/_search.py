"""How far something can be taken: the largest value of one number for which a run still goes well."""

from __future__ import annotations

from collections.abc import Callable

from palpate.checks import finite_number
from palpate.errors import InvalidInput


def bisect(holds: Callable[[float], bool], low: float, high: float, tolerance: float) -> float:
    """The largest value in [low, high] for which a condition holds, to `tolerance`, by halving.

    The answer is a value at which the condition was seen to hold. It is the largest one if the condition, once lost,
    stays lost; otherwise it is one of the edges.

    Args:
        holds: the condition, such as "the run with this push completes".
        low: a value at which it holds.
        high: the largest value of interest; returned if it holds there too.
        tolerance: how close to the edge the answer lies, above 0.
    """
    low, high = finite_number(low, "low"), finite_number(high, "high", above=low)
    finite_number(tolerance, "tolerance", above=0.0)
    if not holds(low):
        raise InvalidInput(f"the condition does not hold at the lower end {low:g}", hint="start lower")
    if holds(high):
        return high
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if holds(middle):
            low = middle
        else:
            high = middle
    return low

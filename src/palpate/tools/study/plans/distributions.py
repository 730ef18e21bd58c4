"""Parameters that are drawn from a distribution: normal, uniform, loguniform, integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from palpate.errors import InvalidInput, check_names
from palpate.tools.study.plans.axis import Axis, Quantile, Span


def _uniform(low: float, high: float, log: bool = False) -> Span:
    name, least = ("loguniform", "0 < ") if log else ("uniform", "")
    _require(low < high and (low > 0 or not log), f"{name}(low, high) needs {least}low < high")
    return Span(low, high, log)


def _integers(low: float, high: float) -> Quantile:
    _require(low <= high and low == round(low) and high == round(high), "integers(low, high) needs whole low ≤ high")
    return lambda u: round(low) + int(u * (round(high) - round(low) + 1))


def _normal(mean: float, deviation: float, low: float = -np.inf, high: float = np.inf) -> Quantile:
    from scipy.special import ndtr, ndtri

    _require(deviation > 0 and low < high, "normal(mean, deviation[, low, high]) needs deviation > 0 and low < high")
    side = -1.0 if low > mean else 1.0  # an upper tail is the mirror of a lower one, where digits are not lost
    bottom, top = (float(ndtr(side * (end - mean) / deviation)) for end in (low, high))
    _require(bottom != top, "normal(mean, deviation, low, high) leaves nothing between low and high")

    def quantile(u: float) -> float:
        return float(min(max(mean + side * deviation * float(ndtri(bottom + u * (top - bottom))), low), high))

    return quantile


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise InvalidInput(text)


# By name: from its numbers to the stretch that it fills evenly, or to its quantile; and how many numbers it takes.
DISTRIBUTIONS: dict[str, tuple[Callable[..., Span | Quantile], tuple[int, ...]]] = {
    "normal": (_normal, (2, 4)),
    "uniform": (_uniform, (2,)),
    "loguniform": (partial(_uniform, log=True), (2,)),
    "integers": (_integers, (2,)),
}
# NumPy's names of grids, in the words of a range
_RANGES = {"linspace": "{0}:{1}:{2}", "geomspace": "{0}:{1}:{2}:log", "logspace": "1e{0}:1e{1}:{2}:log"}


def distribution_axis(key: str, spec: str, name: str, inside: str) -> Axis:
    """A parameter from the name and the numbers of its distribution."""
    if name in _RANGES and len(parts := [part.strip() for part in inside.split(",")]) == 3:
        range_ = _RANGES[name].format(*parts)
        raise InvalidInput(f"{key}: {name} is not a distribution", hint=f"write the range as {key}={range_}")
    check_names(f"distribution for {key}", [name], DISTRIBUTIONS)
    make, counts = DISTRIBUTIONS[name]
    try:
        numbers = [float(part) for part in inside.split(",")]
        if len(numbers) not in counts or not np.isfinite(numbers).all():
            raise InvalidInput(f"{name} takes {' or '.join(map(str, counts))} numbers")
        made = make(*numbers)
    except ValueError as error:  # of float, or of the distribution itself
        raise InvalidInput(f"{key}: {spec!r} is not understood: {error}") from error
    return Axis(key, spec, None, made, made.at) if isinstance(made, Span) else Axis(key, spec, None, None, made)

"""A parameter of a sweep: its key, its values, and how a number from 0 to 1 chooses one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

Value = Any  # what TOML can hold
Spec = str | Sequence[Value]
Quantile = Callable[[float], Value]  # from (0, 1) to a value
_TINY = 2.0**-54


@dataclass(frozen=True)
class Span:
    """A stretch of numbers, even in the number or in its logarithm."""

    low: float
    high: float
    log: bool = False

    def at(self, fraction: float) -> float:
        """The number at a place from 0 to 1."""
        fraction = float(fraction)  # numpy's numbers do not go into a scenario
        if fraction in (0.0, 1.0):
            return self.high if fraction else self.low
        if self.log:
            return rounded(exp(log(self.low) + fraction * (log(self.high) - log(self.low))))
        return rounded(self.low + fraction * (self.high - self.low))

    def place(self, value: float) -> float:
        """Where a number lies: 0 at `low`, 1 at `high`."""
        if self.log:
            return (log(value) - log(self.low)) / (log(self.high) - log(self.low))
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Axis:
    """One parameter: its key, what it may be, and how a number from 0 to 1 chooses.

    Attributes:
        key: of the scenario; ends with * where it multiplies.
        spec: what was asked for, as it can be written down again.
        values: every value it may have, or None for a distribution.
        span: the stretch it lies on, or None.
        quantile: from (0, 1) to a value.
    """

    key: str
    spec: str | list[Value]
    values: tuple[Value, ...] | None
    span: Span | None
    quantile: Quantile

    def at(self, chance: float) -> Value:
        """The value that a number from 0 to 1 chooses: the quantile."""
        return self.quantile(min(max(float(chance), _TINY), 1.0 - 2.0**-53))

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return isinstance(self.at(0.5), int) and not isinstance(self.at(0.5), bool)


def rounded(value: float) -> float:
    """A number in fourteen digits, so that commands hold 400 and not 400.00000000000017."""
    return float(f"{value:.14g}")

"""What a parameter may be: a grid, a list, or a distribution, in the words of the command line.

    100:2000:20            20 numbers from 100 to 2000; 1e3:1e5:20:log spaces them evenly in the logarithm
    soft, stiff, 400       these values, as TOML writes them
    normal(1, 0.05)        and normal(1, 0.05, 0.9, 1.1), cut off at 0.9 and 1.1
    uniform(0, 0.2)        loguniform(1e3, 1e5)        integers(0, 3), both ends included

A key is one of the scenario's, as `--set` takes it. With `*` behind it, the number multiplies the scenario's own
value, entry by entry where that is a list: "control.stiffness*".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, log
from typing import Any

import numpy as np

from palpate.errors import InvalidInput, ScenarioError, check_names, value_text
from palpate.scenario.file.overrides import parse_override
from palpate.toml import toml_value

Value = Any  # what TOML can hold
Spec = str | Sequence[Value]
Quantile = Callable[[float], Value]  # from (0, 1) to a value
MOST_VALUES = 1_000_000
_NUMBER = r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
_RANGE = re.compile(rf"{_NUMBER}:{_NUMBER}(?::\s*(\d+)\s*)?(?::\s*(log)\s*)?")
_CALL = re.compile(r"\s*([A-Za-z_]+)\s*\((.*)\)\s*")
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
            return _rounded(exp(log(self.low) + fraction * (log(self.high) - log(self.low))))
        return _rounded(self.low + fraction * (self.high - self.low))

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


def parse_axis(key: str, spec: Spec) -> Axis:
    """Read what a key may be.

    Raises:
        InvalidInput: not understood, or out of order; the message shows what would be right.
    """
    _check_key(key)
    if not isinstance(spec, str):
        if not isinstance(spec, Iterable) or isinstance(spec, Mapping):
            raise InvalidInput(f"{key}: a text or a list of values is needed, got {value_text(spec)}")
        return _levels(key, list(spec), [_plain(key, value) for value in spec])
    if match := _RANGE.fullmatch(spec):
        return _range(key, spec, match)
    if (match := _CALL.fullmatch(spec)) and (match[1] in _DISTRIBUTIONS or "," in match[2]):
        return _distribution(key, spec, match[1], match[2])
    return _levels(key, spec, _listed(key, spec))


def parse_vary(text: str) -> tuple[str, str]:
    """`KEY=…` of the command line, in two."""
    key, equals, spec = text.partition("=")
    if not equals or not spec.strip():
        raise InvalidInput(
            f"--vary takes KEY=WHAT, got {text!r}",
            hint="such as --vary control.damping_ratio=0.2:1.2:6 or --vary 'world.plant.mass_scale=normal(1, 0.05)'",
        )
    return key.strip(), spec.strip()


def axes_of(vary: Mapping[str, Spec]) -> tuple[Axis, ...]:
    """All the parameters of a sweep."""
    if not vary:
        raise InvalidInput("nothing varies", hint="name a key: --vary control.damping_ratio=0.2:1.2:6")
    return tuple(parse_axis(key, spec) for key, spec in vary.items())


def _check_key(key: str) -> None:
    parts = key.removesuffix("*").split(".")
    if len(parts) < 2 or not all(part.strip() == part and part for part in parts):
        raise InvalidInput(f"{key!r} is not a key that can vary", hint="keys look like control.stiffness or run.seed")


def _plain(key: str, value: Value) -> Value:
    """A Python value as TOML would give it; numpy's numbers become plain ones."""
    plain = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    plain = list(plain) if isinstance(plain, tuple) else plain
    try:
        toml_value(plain)
    except InvalidInput as error:
        raise InvalidInput(f"{key}: {value!r} is not a value of a scenario") from error
    if isinstance(plain, float) and not np.isfinite(plain):
        raise InvalidInput(f"{key}: values must be finite, got {value!r}")
    return plain


# ---------------------------------------------------------------------------------------------- grids and lists


def _levels(key: str, spec: Any, values: list[Value], span: Span | None = None) -> Axis:
    if not values:
        raise InvalidInput(f"{key}: no value is given")
    chosen = tuple(values)
    plain = list(chosen) if not isinstance(spec, str) else spec
    return Axis(key, plain, chosen, span, lambda u: chosen[min(int(u * len(chosen)), len(chosen) - 1)])


def _range(key: str, spec: str, match: re.Match[str]) -> Axis:
    low, high, count = float(match[1]), float(match[2]), int(match[3] or 0)
    if match[4] and min(low, high) <= 0:
        raise InvalidInput(f"{key}: a logarithmic range needs positive ends, got {spec!r}")
    if low == high or count > MOST_VALUES or count == 1:
        raise InvalidInput(
            f"{key}: a range is start:stop:n with two different ends and n from 2 to {MOST_VALUES}, got {spec!r}"
        )
    span = Span(low, high, bool(match[4]))
    if count == 0:  # ends alone: enough for a map or a search, which choose their own points
        return Axis(key, spec, None, span, span.at)
    values: list[Value] = [span.at(i / (count - 1)) for i in range(count)]
    whole = all(re.fullmatch(r"[+-]?\d+", text) for text in match.group(1, 2))
    if whole and all(value == round(value) for value in values):
        values = [round(value) for value in values]
    return _levels(key, spec, values, span)


def _listed(key: str, spec: str) -> list[Value]:
    """Values between commas, each as `--set` would read it; brackets keep a list together."""
    parts, depth, start = [], 0, 0
    for index, letter in enumerate(spec):
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            parts.append(spec[start:index])
            start = index + 1
    parts.append(spec[start:])
    if len(parts) == 1:
        raise InvalidInput(
            f"{key}: {spec!r} is a single value",
            hint="a range is start:stop:n, a list a,b,c, a distribution uniform(a, b); fix a value with --set",
        )
    try:
        return [parse_override(f"x={part}")[1] for part in parts]
    except ScenarioError as error:
        raise InvalidInput(f"{key}: {spec!r} is not a list of values ({error})") from error


# ---------------------------------------------------------------------------------------------- distributions


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
_DISTRIBUTIONS: dict[str, tuple[Callable[..., Span | Quantile], tuple[int, ...]]] = {
    "normal": (_normal, (2, 4)),
    "uniform": (_uniform, (2,)),
    "loguniform": (partial(_uniform, log=True), (2,)),
    "integers": (_integers, (2,)),
}


# NumPy's names of grids, in the words of a range
_RANGES = {"linspace": "{0}:{1}:{2}", "geomspace": "{0}:{1}:{2}:log", "logspace": "1e{0}:1e{1}:{2}:log"}


def _distribution(key: str, spec: str, name: str, inside: str) -> Axis:
    if name in _RANGES and len(parts := [part.strip() for part in inside.split(",")]) == 3:
        range_ = _RANGES[name].format(*parts)
        raise InvalidInput(f"{key}: {name} is not a distribution", hint=f"write the range as {key}={range_}")
    check_names(f"distribution for {key}", [name], _DISTRIBUTIONS)
    make, counts = _DISTRIBUTIONS[name]
    try:
        numbers = [float(part) for part in inside.split(",")]
        if len(numbers) not in counts or not np.isfinite(numbers).all():
            raise InvalidInput(f"{name} takes {' or '.join(map(str, counts))} numbers")
        made = make(*numbers)
    except ValueError as error:  # of float, or of the distribution itself
        raise InvalidInput(f"{key}: {spec!r} is not understood: {error}") from error
    return Axis(key, spec, None, made, made.at) if isinstance(made, Span) else Axis(key, spec, None, None, made)


# ---------------------------------------------------------------------------------------------- into the scenario


def override(axis: Axis, value: Value, scenario: Mapping[str, Any]) -> str:
    """The `key=value` that puts a value of the axis into a scenario's data."""
    if not axis.key.endswith("*"):
        return f"{axis.key}={toml_value(value)}"
    key = axis.key.removesuffix("*")
    return f"{key}={toml_value(_scaled(lookup(scenario, key), value, axis.key))}"


def lookup(data: Mapping[str, Any], key: str) -> Value:
    """What stands at a key of a scenario's data; entries of a list by place or by name."""
    here: Any = data
    for part in key.split("."):
        if isinstance(here, list):
            names = [item.get("name") if isinstance(item, dict) else None for item in here]
            index = names.index(part) if part in names else int(part) if part.isdecimal() else len(here)
            here = here[index] if index < len(here) else None
        else:
            here = here.get(part) if isinstance(here, Mapping) else None
        if here is None:
            raise InvalidInput(f"the scenario has no value at {key!r}", hint="palpate explain KEY lists the keys")
    return here


def _scaled(value: Value, factor: float, key: str) -> Value:
    if isinstance(value, list):
        return [_scaled(item, factor, key) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{key}: only numbers can be multiplied, the scenario has {value!r}")
    return _rounded(float(value) * factor)


def _rounded(value: float) -> float:
    """A number in fourteen digits: nobody wants to type 400.00000000000017."""
    return float(f"{value:.14g}")

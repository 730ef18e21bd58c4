"""Parameters with a list of values: ranges that are evenly spaced, and values between commas."""

from __future__ import annotations

import re
from typing import Any

from palpate.errors import InvalidInput, ScenarioError
from palpate.scenario.file.overrides import parse_override
from palpate.tools.study.plans.axis import Axis, Span, Value

MOST_VALUES = 1_000_000


def levels_axis(key: str, spec: Any, values: list[Value], span: Span | None = None) -> Axis:
    """A parameter from a list of values."""
    if not values:
        raise InvalidInput(f"{key}: no value is given")
    chosen = tuple(values)
    plain = list(chosen) if not isinstance(spec, str) else spec
    return Axis(key, plain, chosen, span, lambda u: chosen[min(int(u * len(chosen)), len(chosen) - 1)])


def range_axis(key: str, spec: str, match: re.Match[str]) -> Axis:
    """A parameter from start:stop:n; without n it has a span and no values."""
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
    return levels_axis(key, spec, values, span)


def listed_values(key: str, spec: str) -> list[Value]:
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

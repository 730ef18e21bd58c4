"""A parameter's value in the scenario: the `key=value` text that puts it there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from palpate.errors import InvalidInput
from palpate.toml import toml_value
from palpate.tools.study.plans.axis import Axis, Value, rounded


def override(axis: Axis, value: Value, scenario: Mapping[str, Any]) -> str:
    """The `key=value` that puts a value of the axis into a scenario's data."""
    if not axis.key.endswith("*"):
        return f"{axis.key}={toml_value(value)}"
    key = axis.key.removesuffix("*")
    return f"{key}={toml_value(_scaled(lookup(scenario, key), value, axis.key))}"


def lookup(data: Mapping[str, Any], key: str) -> Value:
    """The value at a key of a scenario's data; entries of a list by index or by name."""
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
    return rounded(float(value) * factor)

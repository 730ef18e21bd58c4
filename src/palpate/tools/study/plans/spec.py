"""Specification of a parameter: a grid, a list, or a distribution, in the words of the command line.

    100:2000:20            20 numbers from 100 to 2000; 1e3:1e5:20:log spaces them evenly in the logarithm
    soft, stiff, 400       these values, as TOML writes them
    normal(1, 0.05)        and normal(1, 0.05, 0.9, 1.1), cut off at 0.9 and 1.1
    uniform(0, 0.2)        loguniform(1e3, 1e5)        integers(0, 3), both ends included

A key is one of the scenario's, as `--set` takes it. With `*` behind it, the number multiplies the scenario's own
value, entry by entry where that is a list: "control.stiffness*".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from palpate.errors import InvalidInput, value_text
from palpate.toml import toml_value
from palpate.tools.study.plans.axis import Axis, Spec, Value
from palpate.tools.study.plans.distributions import DISTRIBUTIONS, distribution_axis
from palpate.tools.study.plans.grids import levels_axis, listed_values, range_axis

_NUMBER = r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
_RANGE = re.compile(rf"{_NUMBER}:{_NUMBER}(?::\s*(\d+)\s*)?(?::\s*(log)\s*)?")
_CALL = re.compile(r"\s*([A-Za-z_]+)\s*\((.*)\)\s*")


def parse_axis(key: str, spec: Spec) -> Axis:
    """Read what a key may be.

    Raises:
        InvalidInput: not understood, or out of order; the message shows what would be right.
    """
    _check_key(key)
    if not isinstance(spec, str):
        if not isinstance(spec, Iterable) or isinstance(spec, Mapping):
            raise InvalidInput(f"{key}: a text or a list of values is needed, got {value_text(spec)}")
        return levels_axis(key, list(spec), [_plain(key, value) for value in spec])
    if match := _RANGE.fullmatch(spec):
        return range_axis(key, spec, match)
    if (match := _CALL.fullmatch(spec)) and (match[1] in DISTRIBUTIONS or "," in match[2]):
        return distribution_axis(key, spec, match[1], match[2])
    return levels_axis(key, spec, listed_values(key, spec))


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

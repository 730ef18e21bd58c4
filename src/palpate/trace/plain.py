"""Values a file can hold exactly: whole numbers, and data that JSON can carry."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex

import numpy as np

from palpate.errors import InvalidInput, NotFinite

DEEPEST = 60  # dicts and lists inside each other


def whole_number(value: SupportsIndex, name: str, least: int = 0) -> int:
    """`value` as an int not below `least`; 2.0 is refused, a numpy integer is not."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise InvalidInput(f"{name} must be a whole number, got {value!r}") from error
    if number < least:
        raise InvalidInput(f"{name} must be at least {least}, got {number}")
    return number


def plain(value: Any, where: str, depth: int = 0) -> Any:
    """A copy of `value` made of dicts with text keys, lists, text, finite numbers, booleans and None.

    Args:
        value: such data, or the same with tuples and numpy values in it.
        where: how messages call it; grows to `info.world[2].size`.
        depth: how many dicts and lists it lies in.
    """
    if depth > DEEPEST:
        raise InvalidInput(f"{where[:80]}… is nested more than {DEEPEST} deep")
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {_text_key(key, where): plain(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise NotFinite(f"{where} must be finite, got {value}", hint="leave an absent limit out, or write None")
    if value is None or isinstance(value, str | int | float):
        return value
    raise InvalidInput(
        f"{where} must be plain data, got {type(value).__name__}",
        hint="use dicts, lists, text, numbers, booleans or None",
    )


def _text_key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"{where} must have text as keys, got {key!r}")
    return key

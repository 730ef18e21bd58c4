"""Values a file can hold exactly: whole numbers, and data that JSON can carry."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, SupportsIndex

import numpy as np

from palpate.errors import InvalidInput, NotFinite

_SIMPLE = {str, int, bool, type(None)}
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


Where = str | tuple[Any, str | int]


def plain(value: Any, where: Where, depth: int = 0) -> Any:
    """A copy of `value` made of dicts with text keys, lists, text, finite numbers, booleans and None.

    Args:
        value: such data, or the same with tuples and numpy values in it.
        where: how messages call it, or what it lies in and its key or index there: put into words when it is refused.
        depth: how many dicts and lists it lies in.
    """
    if type(value) in _SIMPLE or (type(value) is float and math.isfinite(value)):
        return value
    if depth > DEEPEST:
        raise InvalidInput(f"{_in_words(where)[:80]}… is nested more than {DEEPEST} deep")
    if isinstance(value, list | tuple):
        return [plain(item, (where, i), depth + 1) for i, item in enumerate(value)]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), where, depth)
    if isinstance(value, Mapping):
        return {_text_key(key, where): plain(item, (where, key), depth + 1) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        hint = "leave an absent limit out, or write None"
        raise NotFinite(f"{_in_words(where)} must be finite, got {value}", hint=hint)
    if isinstance(value, str | int | float):
        return value
    raise InvalidInput(
        f"{_in_words(where)} must be plain data, got {type(value).__name__}",
        hint="use dicts, lists, text, numbers, booleans or None",
    )


def _in_words(where: Where) -> str:
    """Such as `facts.world[2].size`."""
    if isinstance(where, str):
        return where
    above, key = where
    return f"{_in_words(above)}[{key}]" if isinstance(key, int) else f"{_in_words(above)}.{key}"


def _text_key(key: Any, where: Where) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"{_in_words(where)} must have text as keys, got {key!r}")
    return key

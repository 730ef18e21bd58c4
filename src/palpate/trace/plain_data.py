"""Data that JSON can carry: dicts with text keys, lists, text, finite numbers, booleans and None."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from palpate.errors import InvalidInput, NotFinite

_SIMPLE = {str, int, bool, type(None)}
DEEPEST = 60  # dicts and lists inside each other
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
        if odd := [key for key in value if not isinstance(key, str)]:
            raise InvalidInput(f"{_in_words(where)} must have text as keys, got {odd[0]!r}")
        return {key: plain(item, (where, key), depth + 1) for key, item in value.items()}
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

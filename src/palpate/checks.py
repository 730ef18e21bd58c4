"""Checks of numeric input, shared by every package: finite, of the right shape, in range."""

from __future__ import annotations

import math
import operator
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palpate.errors import BadShape, InvalidInput, NotFinite, value_text

# float64 throughout; numpy's own stubs widen most results, so the element type is left open here.
Array = NDArray[Any]


def finite_array(value: ArrayLike, name: str, shape: tuple[int | None, ...] | None = None) -> Array:
    """`value` as a C-contiguous, writable float64 array, refused unless finite and of `shape`.

    What is such an array already is handed back itself; a read-only one (a channel of a trace) is copied.

    Args:
        value: real numbers in any nesting; complex, masked, text and date arrays are none.
        name: how the message calls it.
        shape: expected shape; None in a place accepts any length there.
    """
    array = as_numbers(value, name)
    if shape is not None and not _fits(array.shape, shape):
        raise BadShape(f"{name} must have shape {_text(shape)}, got {_text(array.shape)}")
    if not np.isfinite(array).all():
        raise NotFinite(f"{name} must be finite, got {_first_bad(array)}")
    return array


def as_numbers(value: ArrayLike, name: str) -> Array:
    """`value` as the C-contiguous, writable float64 array that compiled code takes; finite or not, of any shape."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.flags.carray:
        return value
    try:
        given = value if isinstance(value, np.ndarray) else np.asarray(value)
        numbers = given.dtype.kind in "fiub" or _real_objects(given)
        array = np.ascontiguousarray(given, dtype=np.float64) if numbers else None
    except (TypeError, ValueError, OverflowError, RecursionError):
        given, array = np.zeros(()), None
    if array is None or isinstance(given, np.ma.MaskedArray):
        masked = isinstance(value, np.ma.MaskedArray)
        raise InvalidInput(f"{name} must be numbers, got {'a masked array' if masked else value_text(value)}")
    if given.ndim == 0:
        array = array.reshape(())  # ascontiguousarray promotes a scalar to one dimension
    # Compiled code takes no others.
    return array if array.flags.writeable and array.flags.aligned else array.copy()


def _real_objects(array: Array) -> bool:
    """Whether these are objects that are numbers: fractions, exact numbers of a computer algebra system."""
    return array.dtype.kind == "O" and not any(x is None or isinstance(x, str | bytes | complex) for x in array.flat)


def finite_number(value: float, name: str, *, above: float | None = None, least: float | None = None) -> float:
    """`value` as a finite float; `above` is an exclusive lower bound, `least` an inclusive one."""
    known = type(value) is float and math.isfinite(value)  # the common case, at a tenth of the cost
    number = value if known else float(finite_array(value, name, ()))
    if above is not None and number <= above:
        raise InvalidInput(f"{name} must be greater than {above:g}, got {number:g}")
    if least is not None and number < least:
        raise InvalidInput(f"{name} must be at least {least:g}, got {number:g}")
    return number


def whole_number(value: SupportsIndex, name: str, least: int = 0) -> int:
    """`value` as an int not below `least`; 2.0 is refused, a numpy integer is not."""
    try:
        number = operator.index(value)
    except TypeError as error:
        raise InvalidInput(f"{name} must be a whole number, got {value!r}") from error
    if number < least:
        raise InvalidInput(f"{name} must be at least {least}, got {number}")
    return number


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(w is None or f == w for f, w in zip(shape, wanted))


def _text(shape: tuple[int | None, ...]) -> str:
    if not shape:
        return "of a single number"
    return "(" + ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


def _first_bad(array: Array) -> str:
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    where = f" at index {index[0] if len(index) == 1 else index}" if index else ""
    return f"{array[index]}{where}"

"""Spans of memory: many small copies in one compiled call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from palpate.engine.compiling.numba_parts import ExternalFunction
from palpate.engine.kernels import kernel
from palpate.engine.records import Integers, address_of_array
from palpate.engine.views import address_of

_P = types.int64
_memcpy: Any = ExternalFunction("memcpy", _P(_P, _P, _P))


def spans_of(arrays: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """The address and the bytes of each array, one after another; every array is contiguous."""
    pairs = [(address_of_array(array), array.nbytes) for array in arrays]
    return np.array(pairs, dtype=np.int64).reshape(-1)


def words_of(spans: NDArray[np.int64]) -> int:
    """How many words of eight bytes an image of the spans takes."""
    return int(-(-spans[1::2].sum() // 8))


@kernel
def take_image(spans: Integers, images: Integers, first: int) -> None:
    """Copy the spans, one after another, to the image of them that begins at a word of some images."""
    image = address_of(images) + 8 * first
    for k in range(0, spans.size, 2):
        _memcpy(image, spans[k], spans[k + 1])
        image += spans[k + 1]


@kernel
def put_image(spans: Integers, images: Integers, first: int) -> None:
    """Copy the image that begins at a word of some images back to where its spans lie."""
    image = address_of(images) + 8 * first
    for k in range(0, spans.size, 2):
        _memcpy(spans[k], image, spans[k + 1])
        image += spans[k + 1]

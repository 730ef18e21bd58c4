"""Bits of a number in kernels, and powers of two."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from llvmlite import ir
from numba import types

from palpate.engine.kernels import kernel
from palpate.engine.kinds import Kind
from palpate.engine.signatures import instructions

Word = Annotated[Any, Kind(types.uint64)]


@instructions(types.uint64, types.float64)
def bits_of(context: Any, builder: Any, x: Any) -> Any:
    """The 64 bits of a number, as a whole number without sign."""
    return builder.bitcast(x, ir.IntType(64))


@instructions(types.float64, types.uint64)
def from_bits(context: Any, builder: Any, word: Any) -> Any:
    """The number that has given 64 bits."""
    return builder.bitcast(word, ir.DoubleType())


@kernel(inline=True)
def two_to(k: int) -> float:
    """2^k for −1022 ≤ k ≤ 1023."""
    return from_bits(np.uint64(k + 1023) << np.uint64(52))


@kernel(inline=True)
def scaled_by_two_to(x: float, k: int) -> float:
    """x 2^k for |k| < 2044, with one rounding where the result is subnormal."""
    half = k // 2
    return x * two_to(half) * two_to(k - half)


W2, W32, W52, W61, W62, W63, W64 = (np.uint64(k) for k in (2, 32, 52, 61, 62, 63, 64))
LOW32, FRACTION, HIDDEN = np.uint64(2**32 - 1), np.uint64(2**52 - 1), np.uint64(2**52)
ZERO, ONE, BIAS, EXPONENTS = (np.uint64(k) for k in (0, 1, 1023, 2047))

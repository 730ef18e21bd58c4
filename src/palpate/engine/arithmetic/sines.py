"""Sine and cosine in kernels: in a straight line below LIMIT, by an exact reduction beyond it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from palpate.engine.arithmetic.bits import (
    EXPONENTS,
    FRACTION,
    HIDDEN,
    LOW32,
    ONE,
    W2,
    W32,
    W52,
    W61,
    W62,
    W63,
    W64,
    ZERO,
    Word,
    bits_of,
)
from palpate.engine.arithmetic.two_parts import quick_two_sum, times_parts
from palpate.engine.kernels import kernel
from palpate.engine.lanes import Lanes, by_quarter, near_sin_cos, polynomials
from palpate.engine.signatures import instructions

_PAIR = types.UniTuple(types.float64, 2)


@instructions(_PAIR, types.float64)
def near_sines(context: Any, builder: Any, x: Any) -> Any:
    """Sine and cosine in a straight line; NaN from LIMIT on."""
    return context.make_tuple(builder, _PAIR, near_sin_cos(builder, x))


@instructions(_PAIR, types.uint64, types.float64, types.float64)
def _turned(context: Any, builder: Any, quarter: Any, r: Any, low: Any) -> Any:
    """Sine and cosine of r + low + quarter π/2."""
    parts = by_quarter(builder, quarter, *polynomials(Lanes(builder, r), Lanes(builder, low)))
    return context.make_tuple(builder, _PAIR, [part.value for part in parts])


_INVERSE_BITS = np.array(  # 2/π, 64 bits each
    [
        0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0,
        0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4,
        0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
        0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB, 0xF0CFBC209AF4361D,
    ],
    dtype=np.uint64,
)  # fmt: skip


@kernel(inline=True)
def _high_product(a: Word, b: Word) -> Word:
    """The upper 64 of the 128 bits of a product."""
    a1, a0, b1, b0 = a >> W32, a & LOW32, b >> W32, b & LOW32
    low, one, other = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> W32) + (one & LOW32) + (other & LOW32)
    return a1 * b1 + (one >> W32) + (other >> W32) + (middle >> W32)


@kernel(inline=True)
def _window(start: int) -> Word:
    """64 bits of 2/π, the first of them `start` bits after that of weight 2^63."""
    k, shift = start // 64, np.uint64(start % 64)
    after = _INVERSE_BITS[k + 1] >> (W64 - shift) if shift > ZERO else ZERO
    return (_INVERSE_BITS[k] << shift) | after


@kernel
def far_sines(x: float) -> tuple[float, float]:
    """Sine and cosine from LIMIT on: the bits of x·2/π around the point, exactly (Payne and Hanek)."""
    bits = bits_of(abs(x))
    if bits >> W52 >= EXPONENTS:
        return x - x, x - x  # NaN
    m = (bits & FRACTION) | HIDDEN
    start = np.int64(bits >> W52) - 1075 + 62  # two bits stand before the point
    first, second = _window(start), _window(start + 64)
    low = m * second + _high_product(m, _window(start + 128))
    carry = ONE if low < m * second else ZERO
    high = m * first + _high_product(m, second) + carry
    quarter = (high + (ONE << W61)) >> W62
    high, low = (high << W2) | (low >> W62), low << W2
    negative = high >> W63 == ONE
    if negative:
        high, low = ~high + (ONE if low == ZERO else ZERO), ~low + ONE
    r, r_low = _turn_fraction(high, low)
    r, r_low = (-r, -r_low) if negative else (r, r_low)
    s, c = _turned(quarter, r, r_low)
    return (-s, c) if x < 0.0 else (s, c)


@kernel(inline=True)
def _turn_fraction(high: Word, low: Word) -> tuple[float, float]:
    """A fraction of 128 bits times π/2."""
    a, a_low = quick_two_sum(np.float64(high >> W32) * 2.0**-32, np.float64(high & LOW32) * 2.0**-64)
    b = np.float64(low >> W32) * 2.0**-96 + np.float64(low & LOW32) * 2.0**-128
    a, b = quick_two_sum(a, a_low + b) if a > 0.0 else quick_two_sum(a_low, b)
    return times_parts(a, b, 1.5707963267948966, 6.123233995736766e-17)

"""Mathematical functions of palpate's own, for compiled code: the same bits on every machine, no library called.

Laws, contact and derived programs use these in place of the C library's, whose last bits differ from build to build.
They are made of IEEE additions, multiplications, divisions and square roots of 64 bits alone, in the order written
here, never contracted to fused operations. Results are within 1 ulp of the exact value (`tests/engine/test_maths.py`
measures them against mpmath):

| function | arguments |
|---|---|
| `sin`, `cos`, `sin_cos` | all finite; below LIMIT in a straight line, beyond it by a slower exact reduction |
| `exp`, `log`, `sinh`, `cosh`, `hypot`, `atan2`, `power` | all; overflow gives inf, underflow 0 or subnormal numbers |

Special values are those of C: sin(inf), log(-1) and a negative number to a broken power are NaN, log(0) is −inf,
atan2 knows its signed zeros, power(x, 0) is 1.

`engine.lanes` holds sine and cosine below LIMIT, for these kernels and for the programs of `equations` alike.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from llvmlite import ir
from numba import types

from palpate.engine.kernels import kernel
from palpate.engine.lanes import LIMIT, Lanes, by_quarter, horner, near_sin_cos, polynomials
from palpate.engine.records import Kind
from palpate.engine.signatures import instructions

Word = Annotated[Any, Kind(types.uint64)]
_PAIR = types.UniTuple(types.float64, 2)


# ------------------------------------------------------------------------------------------------- bits in kernels


@instructions(_PAIR, types.float64)
def _near(context: Any, builder: Any, x: Any) -> Any:
    """Sine and cosine in a straight line; NaN from LIMIT on."""
    return context.make_tuple(builder, _PAIR, near_sin_cos(builder, x))


@instructions(_PAIR, types.uint64, types.float64, types.float64)
def _turned(context: Any, builder: Any, quarter: Any, r: Any, low: Any) -> Any:
    """Sine and cosine of r + low + quarter π/2."""
    parts = by_quarter(builder, quarter, *polynomials(Lanes(builder, r), Lanes(builder, low)))
    return context.make_tuple(builder, _PAIR, [part.value for part in parts])


@instructions(types.uint64, types.float64)
def bits_of(context: Any, builder: Any, x: Any) -> Any:
    """The 64 bits of a number, as a whole number without sign."""
    return builder.bitcast(x, ir.IntType(64))


@instructions(types.float64, types.uint64)
def from_bits(context: Any, builder: Any, word: Any) -> Any:
    """The number that has given 64 bits."""
    return builder.bitcast(word, ir.DoubleType())


def _polynomial(*coefficients: float) -> Any:
    """A polynomial of rising powers, by Horner's rule."""

    @instructions(types.float64, types.float64)
    def value(context: Any, builder: Any, x: Any) -> Any:
        return horner(Lanes(builder, x), coefficients).value

    return value


_EXP = _polynomial(
    0.16666666666666666, 0.04166666666666667, 0.008333333333333333, 0.0013888888888883752, 0.00019841269841266418,
    2.4801587325533502e-05, 2.7557319239947606e-06, 2.7557273661174726e-07, 2.505207801436995e-08,
    2.091467944897855e-09, 1.6084322872246576e-10,
)  # fmt: skip
_LOG = _polynomial(
    0.666666666666667, 0.39999999999899505, 0.28571428625976014, 0.22222211134708592, 0.18182889131563204,
    0.1533172139109577, 0.14616452274062186,
)  # fmt: skip
_LOG_PARTS = _polynomial(
    0.14285714285714285, 0.11111111111111474, 0.0909090909065049, 0.07692307762439045, 0.06666657340042023,
    0.05883024938227697, 0.05236453176510692, 0.05308514975168979,
)  # fmt: skip
_SINH = _polynomial(
    0.16666666666666666, 0.008333333333333333, 0.00019841269841269773, 2.755731922404034e-06, 2.505210836405804e-08,
    1.6059048396350562e-10, 7.646625361656657e-13, 2.8445264169895285e-15,
)  # fmt: skip
_ATAN = _polynomial(
    -0.3333333333333333, 0.19999999999999796, -0.142857142855555, 0.1111111106432092, -0.09090902311305767,
    0.07691773147347437, -0.06643224152596998, 0.05341717645033087,
)  # fmt: skip


# ------------------------------------------------------------------------------------- sums and products of two parts


@kernel(inline=True)
def _sum(a: float, b: float) -> tuple[float, float]:
    """a + b and what its rounding lost (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel(inline=True)
def _quick_sum(a: float, b: float) -> tuple[float, float]:
    """a + b and what its rounding lost, for |a| ≥ |b| (Dekker)."""
    s = a + b
    return s, (a - s) + b


@kernel(inline=True)
def _product(a: float, b: float) -> tuple[float, float]:
    """a·b and what its rounding lost (Veltkamp and Dekker), for sizes below 2^996."""
    p, c, d = a * b, 134217729.0 * a, 134217729.0 * b
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel(inline=True)
def _times(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """(a + a_low)(b + b_low)."""
    p, low = _product(a, b)
    return _quick_sum(p, low + (a * b_low + a_low * b))


@kernel(inline=True)
def _plus(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """(a + a_low) + (b + b_low), for |a| ≥ |b|."""
    s, low = _sum(a, b)
    return _quick_sum(s, low + (a_low + b_low))


@kernel(inline=True)
def _ratio(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """(a + a_low) / (b + b_low)."""
    q = a / b
    p, low = _product(q, b)
    return _quick_sum(q, (((a - p) - low) + (a_low - q * b_low)) / b)


@kernel(inline=True)
def _two_to(k: int) -> float:
    """2^k for −1022 ≤ k ≤ 1023."""
    return from_bits(np.uint64(k + 1023) << np.uint64(52))


@kernel(inline=True)
def _scaled(x: float, k: int) -> float:
    """x 2^k for |k| < 2044, with one rounding where the result is subnormal."""
    half = k // 2
    return x * _two_to(half) * _two_to(k - half)


# ------------------------------------------------------------------------------------------------- sine and cosine

_INVERSE_BITS = np.array(  # 2/π, 64 bits each
    [
        0, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0,
        0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4,
        0x9C845F8BBDF9283B, 0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
        0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB, 0xF0CFBC209AF4361D,
    ],
    dtype=np.uint64,
)  # fmt: skip
_W2, _W32, _W52, _W61, _W62, _W63, _W64 = (np.uint64(k) for k in (2, 32, 52, 61, 62, 63, 64))
_LOW32, _FRACTION, _HIDDEN = np.uint64(2**32 - 1), np.uint64(2**52 - 1), np.uint64(2**52)
_ZERO, _ONE, _BIAS, _EXPONENTS = (np.uint64(k) for k in (0, 1, 1023, 2047))


@kernel(inline=True)
def _high_product(a: Word, b: Word) -> Word:
    """The upper 64 of the 128 bits of a product."""
    a1, a0, b1, b0 = a >> _W32, a & _LOW32, b >> _W32, b & _LOW32
    low, one, other = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> _W32) + (one & _LOW32) + (other & _LOW32)
    return a1 * b1 + (one >> _W32) + (other >> _W32) + (middle >> _W32)


@kernel(inline=True)
def _window(start: int) -> Word:
    """64 bits of 2/π, the first of them `start` bits after that of weight 2^63."""
    k, shift = start // 64, np.uint64(start % 64)
    after = _INVERSE_BITS[k + 1] >> (_W64 - shift) if shift > _ZERO else _ZERO
    return (_INVERSE_BITS[k] << shift) | after


@kernel
def _far(x: float) -> tuple[float, float]:
    """Sine and cosine from LIMIT on: the bits of x·2/π around the point, exactly (Payne and Hanek)."""
    bits = bits_of(abs(x))
    if bits >> _W52 >= _EXPONENTS:
        return x - x, x - x  # NaN
    m = (bits & _FRACTION) | _HIDDEN
    start = np.int64(bits >> _W52) - 1075 + 62  # two bits stand before the point
    first, second = _window(start), _window(start + 64)
    low = m * second + _high_product(m, _window(start + 128))
    carry = _ONE if low < m * second else _ZERO
    high = m * first + _high_product(m, second) + carry
    quarter = (high + (_ONE << _W61)) >> _W62
    high, low = (high << _W2) | (low >> _W62), low << _W2
    negative = high >> _W63 == _ONE
    if negative:
        high, low = ~high + (_ONE if low == _ZERO else _ZERO), ~low + _ONE
    r, r_low = _turn_fraction(high, low)
    r, r_low = (-r, -r_low) if negative else (r, r_low)
    s, c = _turned(quarter, r, r_low)
    return (-s, c) if x < 0.0 else (s, c)


@kernel(inline=True)
def _turn_fraction(high: Word, low: Word) -> tuple[float, float]:
    """A fraction of 128 bits times π/2."""
    a, a_low = _quick_sum(np.float64(high >> _W32) * 2.0**-32, np.float64(high & _LOW32) * 2.0**-64)
    b = np.float64(low >> _W32) * 2.0**-96 + np.float64(low & _LOW32) * 2.0**-128
    a, b = _quick_sum(a, a_low + b) if a > 0.0 else _quick_sum(a_low, b)
    return _times(a, b, 1.5707963267948966, 6.123233995736766e-17)


@kernel
def sin_cos(x: float) -> tuple[float, float]:
    """Sine and cosine of an angle in radians."""
    if abs(x) < LIMIT:
        return _near(x)
    return _far(x)


@kernel
def sin(x: float) -> float:
    """Sine of an angle in radians."""
    return sin_cos(x)[0]


@kernel
def cos(x: float) -> float:
    """Cosine of an angle in radians."""
    return sin_cos(x)[1]


# ------------------------------------------------------------------------------------- exponentials and logarithms

_LN2, _LN2_LOW = 0.6931471805598903, 5.497923018708371e-14  # 42 bits, so that products with k are exact; the rest
_LARGEST, _SMALLEST = 709.782712893384, -745.1332191019412  # beyond, exp is inf or 0


@kernel(inline=True)
def _exp(x: float, x_low: float) -> tuple[float, float, int]:
    """exp(x + x_low) = (high + low) 2^k, 0.7 < high < 1.42, for |x| < 2000."""
    n = (x * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0
    r, r_low = _sum(x - n * _LN2, -(n * _LN2_LOW))
    r, r_low = _quick_sum(r, r_low + x_low)
    e = _EXP(r)
    p, p_low = _quick_sum(r, r * r * (0.5 + r * e) + (r_low + r_low * r))
    high, low = _quick_sum(1.0, p)
    high, low = _quick_sum(high, low + p_low)
    return high, low, int(n)


@kernel
def exp(x: float) -> float:
    """e^x."""
    if x != x:
        return x
    if x > _LARGEST or x < _SMALLEST:
        return np.inf if x > 0.0 else 0.0
    high, low, k = _exp(x, 0.0)
    return _scaled(high + low, k)


@kernel(inline=True)
def _split(x: float) -> tuple[float, int]:
    """x > 0 as m 2^k with 0.707 < m < 1.4143."""
    lifted = x < 2.2250738585072014e-308
    bits = bits_of(x * 2.0**54 if lifted else x)
    k = np.int64(bits >> _W52) - (1077 if lifted else 1023)
    m = from_bits((bits & _FRACTION) | (_BIAS << _W52))
    if m > 1.4142135623730951:
        m, k = 0.5 * m, k + 1
    return m, int(k)


@kernel
def log(x: float) -> float:
    """The natural logarithm."""
    if not x > 0.0:
        return -np.inf if x == 0.0 else np.nan
    if x == np.inf:
        return x
    m, k = _split(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z, half = s * s, 0.5 * f * f
    p = _LOG(z)
    n = np.float64(k)
    if k == 0:
        return f - (half - s * (half + z * p))
    return n * _LN2 - ((half - (s * (half + z * p) + n * _LN2_LOW)) - f)


@kernel(inline=True)
def _log(x: float) -> tuple[float, float]:
    """The logarithm of x > 0 in two parts: 2 artanh(s), s = (m − 1)/(m + 1), with z/3 and z²/5 in two parts too."""
    m, k = _split(x)
    down, down_low = _sum(m, 1.0)
    s, s_low = _ratio(m - 1.0, 0.0, down, down_low)
    z, z_low = _times(s, s_low, s, s_low)
    p = _LOG_PARTS(z)
    p, p_low = _plus(0.2, -1.1102230246251566e-17, z * p, 0.0)
    p, p_low = _times(z, z_low, p, p_low)
    p, p_low = _plus(0.3333333333333333, 1.850371707708594e-17, p, p_low)
    p, p_low = _times(z, z_low, p, p_low)
    p, p_low = _times(s, s_low, p, p_low)
    p, p_low = _plus(s, s_low, p, p_low)
    if k == 0:
        return 2.0 * p, 2.0 * p_low
    n = np.float64(k)
    return _plus(n * _LN2, n * _LN2_LOW, 2.0 * p, 2.0 * p_low)


@kernel
def power(x: float, y: float) -> float:
    """x^y, with the special values of C's pow."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return x + y
    size, whole = abs(x), abs(y) >= 2.0**53 or np.float64(np.int64(y)) == y
    odd = whole and abs(y) < 2.0**53 and np.int64(y) % 2 != 0
    sign = -1.0 if odd and np.int64(bits_of(x) >> _W63) == 1 else 1.0
    if size == 0.0 or size == np.inf or abs(y) == np.inf:
        if size == 1.0:
            return 1.0
        return sign * (np.inf if (size > 1.0) == (y > 0.0) else 0.0)
    if x < 0.0 and not whole:
        return np.nan
    return sign * _positive_power(size, y)


@kernel(inline=True)
def _positive_power(x: float, y: float) -> float:
    """x^y for positive finite x and finite y."""
    lg, lg_low = _log(x)
    rough = y * lg
    if not abs(rough) < 760.0:
        return np.inf if rough > 0.0 else 0.0
    if abs(rough) < 2.0**-60:
        return 1.0 + rough
    t, t_low = _product(y, lg)
    high, low, k = _exp(t, t_low + y * lg_low)
    return _scaled(high + low, k)


@kernel
def sinh(x: float) -> float:
    """The hyperbolic sine."""
    size = abs(x)
    if size < 1.0:
        z = x * x
        p = _SINH(z)
        return x + x * z * p
    return math.copysign(_half_exponentials(size, -1.0), x)


@kernel
def cosh(x: float) -> float:
    """The hyperbolic cosine."""
    return _half_exponentials(abs(x), 1.0)


@kernel(inline=True)
def _half_exponentials(x: float, sign: float) -> float:
    """(e^x ± e^−x)/2 for x ≥ 0."""
    if not x < 720.0:
        return np.inf if x > 0.0 else x
    high, low, k = _exp(x, 0.0)
    if x > 40.0:
        return _scaled(high + low, k - 1)
    other = sign * _two_to(-2 * k) / high
    total, roundoff = _sum(high, other)
    return _scaled(total + (roundoff + low), k - 1)


# ------------------------------------------------------------------------------------------- lengths and directions


@kernel
def hypot(x: float, y: float) -> float:
    """√(x² + y²)."""
    a, b = max(abs(x), abs(y)), min(abs(x), abs(y))
    if abs(x) == np.inf or abs(y) == np.inf:
        return np.inf
    if x != x or y != y:
        return x + y
    if b == 0.0 or b < a * 2.0**-54:
        return a + b
    scale = 1.0
    if a > 2.0**500:
        scale = 2.0**-600
    elif b < 2.0**-450:
        scale = 2.0**600
    a, b = a * scale, b * scale
    p, p_low = _product(a, a)
    q, q_low = _product(b, b)
    square, low = _plus(p, p_low, q, q_low)
    root = math.sqrt(square)
    r, r_low = _product(root, root)
    return (root + (((square - r) - r_low) + low) / (2.0 * root)) / scale


@kernel
def atan2(y: float, x: float) -> float:
    """The angle from the x axis to (x, y), in (−π, π]; −π for y = −0 and x < 0."""
    a, b = abs(x), abs(y)
    if a != a or b != b:
        return x + y
    steep = b > a
    if steep:
        a, b = b, a
    angle, low = _octant(b, a)
    if steep:
        angle, low = _plus(1.5707963267948966, 6.123233995736766e-17, -angle, -low)
    if math.copysign(1.0, x) < 0.0:
        angle, low = _plus(3.141592653589793, 1.2246467991473532e-16, -angle, -low)
    return math.copysign(angle + low, y)


@kernel
def _octant(y: float, x: float) -> tuple[float, float]:
    """The angle of (x, y), 0 ≤ y ≤ x, in two parts: that of (4, 1), (2, 1) or (1, 1), and the one from there."""
    if y == 0.0:
        return 0.0, 0.0
    if x == np.inf:
        return (0.7853981633974483, 3.061616997868383e-17) if y == x else (0.0, 0.0)
    if x > 2.0**990:
        x, y = x * 2.0**-40, y * 2.0**-40
    elif y < 2.0**-900 and x < 2.0**-60:
        x, y = x * 2.0**160, y * 2.0**160
    if y < x * 2.0**-60:
        return y / x, 0.0
    slope, base, base_low = 0.0, 0.0, 0.0
    if y > 0.72 * x:
        slope, base, base_low = 1.0, 0.7853981633974483, 3.061616997868383e-17
    elif y > 0.375 * x:
        slope, base, base_low = 0.5, 0.4636476090008061, 2.2698777452961687e-17
    elif y > 0.125 * x:
        slope, base, base_low = 0.25, 0.24497866312686414, 1.0698755618734451e-17
    up, up_low = _sum(y, -slope * x)
    along, along_low = _sum(x, slope * y)
    t, t_low = _ratio(up, up_low, along, along_low)
    z = t * t
    p = _ATAN(z)
    t, t_low = _quick_sum(t, t * z * p + t_low)
    if slope == 0.0:
        return t, t_low
    return _plus(base, base_low, t, t_low)

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

import numpy as np

from palpate.engine.arithmetic.bits import BIAS, FRACTION, W52, W63, bits_of, from_bits, scaled_by_two_to, two_to
from palpate.engine.arithmetic.coefficients import (
    ATAN_POLYNOMIAL,
    EXP_POLYNOMIAL,
    LOG_PARTS_POLYNOMIAL,
    LOG_POLYNOMIAL,
    SINH_POLYNOMIAL,
)
from palpate.engine.arithmetic.sines import far_sines, near_sines
from palpate.engine.arithmetic.two_parts import (
    plus_parts,
    quick_two_sum,
    ratio_of_parts,
    times_parts,
    two_product,
    two_sum,
)
from palpate.engine.kernels import kernel
from palpate.engine.lanes import LIMIT


@kernel
def sin_cos(x: float) -> tuple[float, float]:
    """Sine and cosine of an angle in radians."""
    if abs(x) < LIMIT:
        return near_sines(x)
    return far_sines(x)


@kernel
def sin(x: float) -> float:
    """Sine of an angle in radians."""
    return sin_cos(x)[0]


@kernel
def cos(x: float) -> float:
    """Cosine of an angle in radians."""
    return sin_cos(x)[1]


_LN2, _LN2_LOW = 0.6931471805598903, 5.497923018708371e-14  # 42 bits, so that products with k are exact; the rest
_LARGEST, _SMALLEST = 709.782712893384, -745.1332191019412  # beyond, exp is inf or 0


@kernel(inline=True)
def _exp(x: float, x_low: float) -> tuple[float, float, int]:
    """exp(x + x_low) = (high + low) 2^k, 0.7 < high < 1.42, for |x| < 2000."""
    n = (x * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0
    r, r_low = two_sum(x - n * _LN2, -(n * _LN2_LOW))
    r, r_low = quick_two_sum(r, r_low + x_low)
    e = EXP_POLYNOMIAL(r)
    p, p_low = quick_two_sum(r, r * r * (0.5 + r * e) + (r_low + r_low * r))
    high, low = quick_two_sum(1.0, p)
    high, low = quick_two_sum(high, low + p_low)
    return high, low, int(n)


@kernel
def exp(x: float) -> float:
    """e^x."""
    if x != x:
        return x
    if x > _LARGEST or x < _SMALLEST:
        return np.inf if x > 0.0 else 0.0
    high, low, k = _exp(x, 0.0)
    return scaled_by_two_to(high + low, k)


@kernel(inline=True)
def _split(x: float) -> tuple[float, int]:
    """x > 0 as m 2^k with 0.707 < m < 1.4143."""
    lifted = x < 2.2250738585072014e-308
    bits = bits_of(x * 2.0**54 if lifted else x)
    k = np.int64(bits >> W52) - (1077 if lifted else 1023)
    m = from_bits((bits & FRACTION) | (BIAS << W52))
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
    p = LOG_POLYNOMIAL(z)
    n = np.float64(k)
    if k == 0:
        return f - (half - s * (half + z * p))
    return n * _LN2 - ((half - (s * (half + z * p) + n * _LN2_LOW)) - f)


@kernel(inline=True)
def _log(x: float) -> tuple[float, float]:
    """The logarithm of x > 0 in two parts: 2 artanh(s), s = (m − 1)/(m + 1), with z/3 and z²/5 in two parts too."""
    m, k = _split(x)
    down, down_low = two_sum(m, 1.0)
    s, s_low = ratio_of_parts(m - 1.0, 0.0, down, down_low)
    z, z_low = times_parts(s, s_low, s, s_low)
    p = LOG_PARTS_POLYNOMIAL(z)
    p, p_low = plus_parts(0.2, -1.1102230246251566e-17, z * p, 0.0)
    p, p_low = times_parts(z, z_low, p, p_low)
    p, p_low = plus_parts(0.3333333333333333, 1.850371707708594e-17, p, p_low)
    p, p_low = times_parts(z, z_low, p, p_low)
    p, p_low = times_parts(s, s_low, p, p_low)
    p, p_low = plus_parts(s, s_low, p, p_low)
    if k == 0:
        return 2.0 * p, 2.0 * p_low
    n = np.float64(k)
    return plus_parts(n * _LN2, n * _LN2_LOW, 2.0 * p, 2.0 * p_low)


@kernel
def power(x: float, y: float) -> float:
    """x^y, with the special values of C's pow."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return x + y
    size, whole = abs(x), abs(y) >= 2.0**53 or np.float64(np.int64(y)) == y
    odd = whole and abs(y) < 2.0**53 and np.int64(y) % 2 != 0
    sign = -1.0 if odd and np.int64(bits_of(x) >> W63) == 1 else 1.0
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
    t, t_low = two_product(y, lg)
    high, low, k = _exp(t, t_low + y * lg_low)
    return scaled_by_two_to(high + low, k)


@kernel
def sinh(x: float) -> float:
    """The hyperbolic sine."""
    size = abs(x)
    if size < 1.0:
        z = x * x
        p = SINH_POLYNOMIAL(z)
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
        return scaled_by_two_to(high + low, k - 1)
    other = sign * two_to(-2 * k) / high
    total, roundoff = two_sum(high, other)
    return scaled_by_two_to(total + (roundoff + low), k - 1)


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
    p, p_low = two_product(a, a)
    q, q_low = two_product(b, b)
    square, low = plus_parts(p, p_low, q, q_low)
    root = math.sqrt(square)
    r, r_low = two_product(root, root)
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
        angle, low = plus_parts(1.5707963267948966, 6.123233995736766e-17, -angle, -low)
    if math.copysign(1.0, x) < 0.0:
        angle, low = plus_parts(3.141592653589793, 1.2246467991473532e-16, -angle, -low)
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
    up, up_low = two_sum(y, -slope * x)
    along, along_low = two_sum(x, slope * y)
    t, t_low = ratio_of_parts(up, up_low, along, along_low)
    z = t * t
    p = ATAN_POLYNOMIAL(z)
    t, t_low = quick_two_sum(t, t * z * p + t_low)
    if slope == 0.0:
        return t, t_low
    return plus_parts(base, base_low, t, t_low)

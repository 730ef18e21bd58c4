"""Numbers in lanes: sine and cosine in a straight line, for one number or for many lanes.

`near_sin_cos` writes sine and cosine as LLVM instructions, for one number or for a vector of them: selections, no
branch, so that each lane has the bits of the scalar. It is the only text of them: the kernels `sin`, `cos` and
`sin_cos` and the programs of `equations` call it. For |x| < LIMIT:

1. n = (x·2/π + 1.5·2^52) − 1.5·2^52, the nearest whole number; its last two bits are read from the sum's bits.
2. r + l = x − n π/2 (Cody and Waite): π/2 in three parts of 33 bits, whose products with n are exact, and a fourth;
   the second and third difference keep their rounding errors (Knuth's sum), which go to l together with the fourth.
3. z = r², sin r = r + (r z S(z) + (l − l z/2)) and cos r = w + (((1 − w) − z/2) + (z² C(z) − r l)), w = 1 − z/2,
   with polynomials S and C by Horner's rule.
4. The last bit of n exchanges the two, the one before gives the sign. Below 2^-27 in size, sine is x itself.

At LIMIT and beyond, for infinities and for NaN both are NaN: never a wrong number. The scalar kernels reduce such
arguments exactly (Payne and Hanek) and go on with step 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

LIMIT = 2.0**20
_TINY = 2.0**-27
TWO_OVER_PI = 0.6366197723675814
_ROUNDER = 1.5 * 2.0**52  # a sum with it has no room for a fraction
QUARTER_TURN = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
_SINE = (  # polynomials by rising powers of r²
    -0.16666666666666666, 0.008333333333333331, -0.00019841269841265065, 2.755731921933913e-06,
    -2.505210623243528e-08, 1.6058531617037152e-10, -7.586697002817504e-13,
)  # fmt: skip
_COSINE = (
    0.041666666666666664, -0.0013888888888887398, 2.4801587298765665e-05,
    -2.7557317271718644e-07, 2.087614626607931e-09, -1.1382632258093615e-11,
)  # fmt: skip


class Lanes:
    """An LLVM value of numbers, one or a vector of them, with the operations of IEEE."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def like(self, number: float) -> Any:
        """A constant for every lane."""
        return constant(self.value.type, number)

    def _with(self, other: Lanes | float, make: Callable[..., Any]) -> Lanes:
        right = other.value if isinstance(other, Lanes) else self.like(other)
        return Lanes(self.builder, make(self.value, right))

    def __add__(self, other: Lanes | float) -> Lanes:
        return self._with(other, self.builder.fadd)

    def __sub__(self, other: Lanes | float) -> Lanes:
        return self._with(other, self.builder.fsub)

    def __mul__(self, other: Lanes | float) -> Lanes:
        return self._with(other, self.builder.fmul)

    def __neg__(self) -> Lanes:
        return Lanes(self.builder, self.builder.fneg(self.value))

    def __lt__(self, other: float) -> Any:
        return self.builder.fcmp_ordered("<", self.value, self.like(other))

    @property
    def bits(self) -> Any:
        """The same bits as whole numbers."""
        return self.builder.bitcast(self.value, _whole(self.value.type))

    def size(self) -> Lanes:
        """|x|, by its bits."""
        kept = self.builder.and_(self.bits, constant(_whole(self.value.type), 2**63 - 1))
        return Lanes(self.builder, self.builder.bitcast(kept, self.value.type))

    def where(self, condition: Any, other: Lanes) -> Lanes:
        """These numbers where a condition holds, others elsewhere."""
        return Lanes(self.builder, self.builder.select(condition, self.value, other.value))


def _whole(kind: Any) -> Any:
    word = ir.IntType(64)
    return ir.VectorType(word, kind.count) if isinstance(kind, ir.VectorType) else word


def constant(kind: Any, number: float) -> Any:
    """A number of an LLVM type, in every lane of a vector."""
    return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)


def near_sin_cos(builder: Any, x: Any) -> tuple[Any, Any]:
    """Sine and cosine of an LLVM value, a double or a vector of doubles; NaN from LIMIT on (see the module)."""
    angle = Lanes(builder, x)
    size = angle.size()
    n = angle * TWO_OVER_PI + _ROUNDER
    quarter = n.bits
    r, low = _reduced(angle, n - _ROUNDER)
    sine, cosine = by_quarter(builder, quarter, *polynomials(r, low))
    sine = angle.where(size < _TINY, sine)
    inside, nan = size < LIMIT, Lanes(builder, angle.like(float("nan")))
    return sine.where(inside, nan).value, cosine.where(inside, nan).value


def _reduced(angle: Lanes, n: Lanes) -> tuple[Lanes, Lanes]:
    """x − n π/2 as a sum of two numbers."""
    first, second, third, fourth = QUARTER_TURN
    a, a_low = _difference(angle - n * first, n * second)
    b, b_low = _difference(a, n * third)
    low = (a_low + b_low) - n * fourth
    r = b + low
    return r, (b - r) + low


def _difference(a: Lanes, b: Lanes) -> tuple[Lanes, Lanes]:
    """a − b and what its rounding lost."""
    s = a - b
    t = s - a
    return s, (a - (s - t)) - (b + t)


def polynomials(r: Lanes, low: Lanes) -> tuple[Lanes, Lanes]:
    """Sine and cosine of r + low, |r| ≤ π/4."""
    z = r * r
    half = z * 0.5
    sine = r + (r * z * horner(z, _SINE) + (low - low * half))
    w = -half + 1.0
    cosine = w + (((-w + 1.0) - half) + (z * z * horner(z, _COSINE) - r * low))
    return sine, cosine


def horner(z: Lanes, coefficients: Sequence[float]) -> Lanes:
    """A polynomial of rising powers of z."""
    total = z * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        total = total * z + coefficient
    return total


def by_quarter(builder: Any, quarter: Any, sine: Lanes, cosine: Lanes) -> tuple[Lanes, Lanes]:
    """Sine and cosine of r + n π/2 from those of r and the last bits of n."""

    def is_set(whole: Any, bit: int) -> Any:
        return builder.icmp_unsigned("!=", builder.and_(whole, constant(whole.type, bit)), constant(whole.type, 0))

    exchanged, after = is_set(quarter, 1), builder.add(quarter, constant(quarter.type, 1))
    s, c = cosine.where(exchanged, sine), sine.where(exchanged, cosine)
    return (-s).where(is_set(quarter, 2), s), (-c).where(is_set(after, 2), c)

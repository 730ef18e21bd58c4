"""Sums, products and ratios of numbers in two parts, the second of which is lost to rounding in the first."""

from __future__ import annotations

from palpate.engine.kernels import kernel


@kernel(inline=True)
def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b and what its rounding lost (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel(inline=True)
def quick_two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b and what its rounding lost, for |a| ≥ |b| (Dekker)."""
    s = a + b
    return s, (a - s) + b


@kernel(inline=True)
def two_product(a: float, b: float) -> tuple[float, float]:
    """a·b and what its rounding lost (Veltkamp and Dekker), for sizes below 2^996."""
    p, c, d = a * b, 134217729.0 * a, 134217729.0 * b
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel(inline=True)
def times_parts(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """(a + a_low)(b + b_low)."""
    p, low = two_product(a, b)
    return quick_two_sum(p, low + (a * b_low + a_low * b))


@kernel(inline=True)
def plus_parts(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """(a + a_low) + (b + b_low), for |a| ≥ |b|."""
    s, low = two_sum(a, b)
    return quick_two_sum(s, low + (a_low + b_low))


@kernel(inline=True)
def ratio_of_parts(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """(a + a_low) / (b + b_low)."""
    q = a / b
    p, low = two_product(q, b)
    return quick_two_sum(q, (((a - p) - low) + (a_low - q * b_low)) / b)

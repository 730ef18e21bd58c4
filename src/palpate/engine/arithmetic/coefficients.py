"""Polynomials of the mathematical functions, by Horner's rule."""

from __future__ import annotations

from typing import Any

from numba import types

from palpate.engine.lanes import Lanes, horner
from palpate.engine.signatures import instructions


def _polynomial(*coefficients: float) -> Any:
    """A polynomial of rising powers, by Horner's rule."""

    @instructions(types.float64, types.float64)
    def value(context: Any, builder: Any, x: Any) -> Any:
        return horner(Lanes(builder, x), coefficients).value

    return value


EXP_POLYNOMIAL = _polynomial(
    0.16666666666666666, 0.04166666666666667, 0.008333333333333333, 0.0013888888888883752, 0.00019841269841266418,
    2.4801587325533502e-05, 2.7557319239947606e-06, 2.7557273661174726e-07, 2.505207801436995e-08,
    2.091467944897855e-09, 1.6084322872246576e-10,
)  # fmt: skip
LOG_POLYNOMIAL = _polynomial(
    0.666666666666667, 0.39999999999899505, 0.28571428625976014, 0.22222211134708592, 0.18182889131563204,
    0.1533172139109577, 0.14616452274062186,
)  # fmt: skip
LOG_PARTS_POLYNOMIAL = _polynomial(
    0.14285714285714285, 0.11111111111111474, 0.0909090909065049, 0.07692307762439045, 0.06666657340042023,
    0.05883024938227697, 0.05236453176510692, 0.05308514975168979,
)  # fmt: skip
SINH_POLYNOMIAL = _polynomial(
    0.16666666666666666, 0.008333333333333333, 0.00019841269841269773, 2.755731922404034e-06, 2.505210836405804e-08,
    1.6059048396350562e-10, 7.646625361656657e-13, 2.8445264169895285e-15,
)  # fmt: skip
ATAN_POLYNOMIAL = _polynomial(
    -0.3333333333333333, 0.19999999999999796, -0.142857142855555, 0.1111111106432092, -0.09090902311305767,
    0.07691773147347437, -0.06643224152596998, 0.05341717645033087,
)  # fmt: skip

"""Own mathematical functions: within 1 ulp of mpmath, C's special values, the same bits for each of many lanes."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from llvmlite import binding, ir

from palpate.engine import maths
from palpate.engine.lanes import LIMIT, QUARTER_TURN, TWO_OVER_PI, near_sin_cos

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
COUNT = 1500
CHANCE = random.Random(20)


def uniform(low: float, high: float) -> list[float]:
    return [CHANCE.uniform(low, high) for _ in range(COUNT)]


def powers(low: float, high: float) -> list[float]:
    """Numbers of both signs whose exponents are spread evenly."""
    return [math.copysign(2.0 ** CHANCE.uniform(low, high), CHANCE.random() - 0.5) for _ in range(COUNT)]


def quarters() -> list[float]:
    """The numbers nearest to multiples of π/2, where reduction loses most, and their neighbours."""
    with mpmath.workprec(200):
        near = [float(k * mpmath.pi / 2) for k in [*range(1, 400), *(CHANCE.randrange(1, 667_000) for _ in range(800))]]
    return [float(np.nextafter(x, to)) for x in near for to in (x, 0.0, np.inf)]


def far() -> list[float]:
    """From LIMIT on; among them the double that lies nearest to a multiple of π/2 (Kahan, McDonald)."""
    return [6381956970095103.0 * 2.0**797, 1.7976931348623157e308, LIMIT, math.pi * 2.0**30, *powers(20.0, 1023.9)]


def pairs() -> list[tuple[float, float]]:
    free = [
        *zip(uniform(-2.0, 2.0), uniform(-2.0, 2.0), strict=True),
        *zip(powers(-1074, 1023), powers(-1074, 1023), strict=True),
    ]
    return free + [(x, x * CHANCE.uniform(-2.0, 2.0)) for x in powers(-1070, 1000)]


def bases() -> Iterator[tuple[float, float]]:
    yield from zip(map(abs, uniform(0.0, 2.0)), uniform(-5.0, 5.0), strict=True)
    for x in [*map(abs, powers(-1074, 1023)), *(1.0 + y for y in powers(-40, -1))]:
        yield x, CHANCE.uniform(-1074.0, 1023.0) / math.log2(x)  # results of every exponent


ONE = {
    "sin": lambda: [*uniform(-7, 7), *uniform(-LIMIT, LIMIT), *powers(-1074, 20), *quarters(), *far()],
    "cos": lambda: [*uniform(-7, 7), *uniform(-LIMIT, LIMIT), *powers(-1074, 20), *quarters(), *far()],
    "exp": lambda: [*uniform(-1, 1), *uniform(-745.1, 709.7), *powers(-60, 9)],
    "log": lambda: [*uniform(0.5, 2), *map(abs, powers(-1074, 1023)), *(1.0 + x for x in powers(-50, -2))],
    "sinh": lambda: [*uniform(-2, 2), *uniform(-710.4, 710.4), *powers(-1074, 1)],
    "cosh": lambda: [*uniform(-2, 2), *uniform(-710.4, 710.4), *powers(-1074, 1)],
}
TWO = {"hypot": pairs, "atan2": pairs, "power": bases}
BOUNDS = {"sin": 0.85, "cos": 0.85, "exp": 0.60, "log": 0.90, "sinh": 0.85, "cosh": 0.85}
BOUNDS |= {"hypot": 0.501, "atan2": 0.52, "power": 0.65}
ARGUMENTS: dict[str, Callable[[], Any]] = {**{n: lambda n=n: ((x,) for x in ONE[n]()) for n in ONE}, **TWO}


def ulps(value: float, exact: Any) -> float:
    """How far a value lies from the exact one, in units of the exact one's last bit."""
    if abs(exact) >= mpmath.mpf(2) ** 1024 * (1 - mpmath.mpf(2) ** -54):
        return 0.0 if math.isinf(value) and (value > 0) == (exact > 0) else math.inf
    return float(abs(mpmath.mpf(value) - exact) / math.ulp(float(exact)))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_function_is_within_one_ulp(name: str) -> None:
    function, exact = getattr(maths, name), getattr(mpmath, name)
    worst = 0.0
    for arguments in ARGUMENTS[name]():
        with mpmath.workprec(1300 if name in ("sin", "cos") and abs(arguments[0]) >= LIMIT else 200):
            worst = max(worst, ulps(function(*arguments), exact(*map(mpmath.mpf, arguments))))
    assert worst < BOUNDS[name] < 1.0


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e300, -1e300, 5e-324, -5e-324, 2.0**53, -(2.0**53)]
SPECIAL += [math.inf, -math.inf, math.nan, 2.5, -2.5, 710.0, -746.0]


def of_c(name: str, *arguments: float) -> float:
    function = getattr(LIBM, {"power": "pow"}.get(name, name))
    function.restype = ctypes.c_double
    return function(*map(ctypes.c_double, arguments))


def same(value: float, expected: float) -> bool:
    if math.isnan(expected):
        return math.isnan(value)
    return math.copysign(1.0, value) == math.copysign(1.0, expected) and value == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("name", ONE)
def test_special_values_are_those_of_c(name: str) -> None:
    for x in SPECIAL:
        assert same(getattr(maths, name)(x), of_c(name, x)), x


@pytest.mark.parametrize("name", TWO)
def test_special_values_of_two_arguments_are_those_of_c(name: str) -> None:
    for x in SPECIAL:
        for y in SPECIAL:
            assert same(getattr(maths, name)(x, y), of_c(name, x, y)), (x, y)


def test_sine_and_cosine_together_are_those_alone() -> None:
    for x in [*uniform(-10, 10), *far(), math.nan]:
        expected = maths.sin(x), maths.cos(x)
        np.testing.assert_array_equal(maths.sin_cos(x), expected)


def lanes_of(width: int) -> tuple[Any, Any]:
    """A function that takes the address of `width` angles and those of their sines and cosines, and its engine."""
    module, word = ir.Module(), ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [word] * 3), "lanes")
    builder = ir.IRBuilder(function.append_basic_block())
    kind = ir.VectorType(ir.DoubleType(), width).as_pointer()
    x, s, c = (builder.inttoptr(a, kind) for a in function.args)
    for value, to in zip(near_sin_cos(builder, builder.load(x, align=8)), (s, c), strict=True):
        builder.store(value, to, align=8)
    builder.ret_void()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    engine = binding.create_mcjit_compiler(
        binding.parse_assembly(str(module)), binding.Target.from_default_triple().create_target_machine(opt=3)
    )
    engine.finalize_object()
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(engine.get_function_address("lanes")), engine


@pytest.mark.parametrize("width", [2, 4, 8])
def test_each_lane_has_the_bits_of_the_scalar(width: int) -> None:
    call, _engine = lanes_of(width)
    angles = np.array([*quarters(), *uniform(-LIMIT, LIMIT), *powers(-1074, 20), -0.0])
    angles = angles[np.abs(angles) < LIMIT]
    angles = np.concatenate([angles, np.zeros(-len(angles) % width)])
    sines, cosines = np.empty_like(angles), np.empty_like(angles)
    for start in range(0, len(angles), width):
        call(*(array[start:].ctypes.data for array in (angles, sines, cosines)))
    expected = np.array([maths.sin_cos(x) for x in angles])
    assert sines.tobytes() == expected[:, 0].tobytes()
    assert cosines.tobytes() == expected[:, 1].tobytes()


def test_lanes_beyond_the_limit_are_nan() -> None:
    call, _engine = lanes_of(4)
    angles, sines, cosines = np.array([LIMIT, -1e300, np.inf, np.nan]), np.zeros(4), np.zeros(4)
    call(*(array.ctypes.data for array in (angles, sines, cosines)))
    assert np.isnan(sines).all()
    assert np.isnan(cosines).all()


def test_parts_of_a_quarter_turn_leave_room_for_every_multiple() -> None:
    """n below 2^20 times a part of 33 bits is exact, and the parts sum to π/2 far beyond what cancels."""
    for part in QUARTER_TURN[:3]:
        assert math.frexp(part)[0] * 2.0**33 % 1.0 == 0.0
    with mpmath.workprec(300):
        assert abs(sum(map(mpmath.mpf, QUARTER_TURN)) - mpmath.pi / 2) < mpmath.mpf(2) ** -155
    assert LIMIT * TWO_OVER_PI < 2.0**20

"""Random numbers that depend on nothing but (seed, stream, count): the same run gives the same noise on any thread."""

from __future__ import annotations

import math

import numpy as np

from palpate.engine.kernels import kernel
from palpate.engine.maths import cos, log

_GOLDEN, _MIX1, _MIX2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SCALE = 1.0 / 9007199254740992.0


@kernel
def _scramble(number: int) -> int:
    x = np.uint64(number)
    x = (x ^ (x >> np.uint64(30))) * _MIX1
    x = (x ^ (x >> np.uint64(27))) * _MIX2
    return np.int64(x ^ (x >> np.uint64(31)))  # pyright: ignore[reportReturnType]


@kernel
def _uniform(number: int) -> float:
    return (np.float64(np.uint64(number) >> np.uint64(11)) + 0.5) * _SCALE


@kernel
def uniform(seed: int, stream: int, count: int) -> float:
    """A number between 0 and 1: SplitMix64 of the three integers."""
    base = _scramble(np.int64(np.uint64(seed) + _GOLDEN * (np.uint64(stream) + np.uint64(1))))
    return _uniform(_scramble(np.int64(np.uint64(base) + _GOLDEN * (np.uint64(count) + np.uint64(1)))))


@kernel
def normal(seed: int, stream: int, count: int) -> float:
    """A standard normal number: SplitMix64 of the three integers, then Box–Muller."""
    base = _scramble(np.int64(np.uint64(seed) + _GOLDEN * (np.uint64(stream) + np.uint64(1))))
    base = _scramble(np.int64(np.uint64(base) + _GOLDEN * (np.uint64(count) + np.uint64(1))))
    second = _scramble(np.int64(np.uint64(base) + _GOLDEN))
    return math.sqrt(-2.0 * log(_uniform(base))) * cos(2.0 * math.pi * _uniform(second))

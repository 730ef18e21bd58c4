"""Random numbers that depend on nothing but (seed, stream, count): the same run gives the same noise on any thread."""

from __future__ import annotations

import math

import numpy as np
from numba.extending import register_jitable

_GOLDEN, _MIX1, _MIX2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_SCALE = 1.0 / 9007199254740992.0


@register_jitable
def _scramble(x):
    x = (x ^ (x >> _S30)) * _MIX1
    x = (x ^ (x >> _S27)) * _MIX2
    return x ^ (x >> _S31)


@register_jitable
def _uniform(x):
    return (np.float64(x >> _S11) + 0.5) * _SCALE


@register_jitable
def normal(seed, stream, count):
    """A standard normal number: SplitMix64 of the three integers, then Box–Muller."""
    base = _scramble(np.uint64(seed) + _GOLDEN * (np.uint64(stream) + np.uint64(1)))
    base = _scramble(base + _GOLDEN * (np.uint64(count) + np.uint64(1)))
    first, second = _uniform(base), _uniform(_scramble(base + _GOLDEN))
    return math.sqrt(-2.0 * math.log(first)) * math.cos(2.0 * math.pi * second)

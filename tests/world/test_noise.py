"""Noise that depends on seed, stream and count alone."""

import numpy as np
from scipy import stats

from palpate.world.sensing.noise import normal

draw = normal


def test_draws_are_standard_normal():
    x = np.array([draw(3, 5, k) for k in range(20000)])
    assert stats.kstest(x, "norm").pvalue > 0.01
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.03


def test_seeds_and_streams_are_independent_and_repeatable():
    a = np.array([draw(1, 0, k) for k in range(5000)])
    np.testing.assert_array_equal(a, [draw(1, 0, k) for k in range(5000)])
    for seed, stream in [(2, 0), (1, 1), (1, 1000)]:
        b = np.array([draw(seed, stream, k) for k in range(5000)])
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.06

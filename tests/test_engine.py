"""Views of foreign memory, in Python and compiled alike."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from palpate.engine import address_of, fold, int_vector, matrix, part, vector

NUMBERS = np.arange(24.0)
COUNTS = np.arange(6, dtype=np.int32)


def _see(numbers, counts):
    at = address_of(numbers)
    folded, pieces = fold(numbers, 4, 3, 5), part(numbers, 7, 4)
    tail = matrix(at + 8 * 12, 3, 4)
    some = int_vector(address_of(counts), 4)
    return folded[2, 3], pieces[1], pieces.size, tail[1, 2], vector(at + 16, 3)[2], some[3], folded.shape[1]


@pytest.mark.parametrize("see", [_see, njit(_see)], ids=["python", "compiled"])
def test_views_see_the_numbers_where_they_lie(see):
    assert see(NUMBERS, COUNTS) == (4 + 2 * 5 + 3, 8, 4, 12 + 4 + 2, 4, 3, 5)


def test_a_part_shares_its_memory():
    @njit
    def write(array):
        part(array, 2, 3)[1] = -1.0
        fold(array, 6, 2, 2)[1, 1] = -2.0

    numbers = np.zeros(12)
    write(numbers)
    np.testing.assert_array_equal(np.flatnonzero(numbers), [3, 9])

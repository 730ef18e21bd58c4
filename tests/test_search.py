"""Bisection of a condition."""

from __future__ import annotations

import math

import pytest
from benchmarks._search import bisect

from palpate.errors import InvalidInput


def test_the_answer_holds_and_lies_within_the_tolerance_of_the_edge():
    edge = bisect(lambda x: x * x <= 2.0, 0.0, 10.0, 1e-9)
    assert edge * edge <= 2.0
    assert math.sqrt(2.0) - edge <= 1e-9


def test_the_upper_end_is_returned_where_the_condition_holds_there():
    assert bisect(lambda x: True, 1.0, 3.0, 0.1) == 3.0


def test_few_calls_are_made():
    calls = []
    bisect(lambda x: calls.append(x) or x < 0.3, 0.0, 1.0, 0.01)
    assert len(calls) == 2 + 7  # both ends, then 1 / 2⁷ < 0.01


def test_halving_ends_where_numbers_have_no_middle():
    assert bisect(lambda x: x < 1.0, 0.0, 1.0, 5e-324) < 1.0


def test_a_condition_lost_from_the_start_is_refused():
    with pytest.raises(InvalidInput, match="lower end 2"):
        bisect(lambda x: False, 2.0, 3.0, 0.1)


@pytest.mark.parametrize(("low", "high", "tolerance"), [(0.0, 0.0, 0.1), (0.0, 1.0, 0.0), (math.nan, 1.0, 0.1)])
def test_bad_bounds_are_refused(low, high, tolerance):
    with pytest.raises(InvalidInput):
        bisect(lambda x: x <= low, low, high, tolerance)

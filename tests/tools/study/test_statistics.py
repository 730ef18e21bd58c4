"""Exact intervals and counts, held to closed forms."""

from __future__ import annotations

from math import ceil, comb, log

import numpy as np
import pytest
from scipy.stats import beta, binom, binomtest

from palpate.errors import InvalidInput
from palpate.tools.study.analysis.pareto import pareto_front
from palpate.tools.study.analysis.scenario_bound import scenario_count, scenario_level
from palpate.tools.study.analysis.statistics import clopper_pearson, confidence_sequence, failure_bound, log_interval


def test_three_failures_in_a_thousand_give_the_known_interval() -> None:
    found = clopper_pearson(3, 1000)
    assert found.low == pytest.approx(0.000619099932, abs=1e-12)
    assert found.high == pytest.approx(0.008742023238, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(1, 5), (7, 20), (19, 20), (500, 1000), (3, 100_000)])
def test_the_ends_are_where_the_binomial_tails_are_half_of_alpha(k: int, n: int) -> None:
    found = clopper_pearson(k, n, 0.9)
    assert binom.sf(k - 1, n, found.low) == pytest.approx(0.05, rel=1e-9)
    assert binom.cdf(k, n, found.high) == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize(("k", "n"), [(0, 30), (1, 5), (7, 20), (20, 20), (500, 1000)])
def test_the_interval_is_that_of_scipys_test_to_its_tolerance(k: int, n: int) -> None:
    found, known = clopper_pearson(k, n, 0.9), binomtest(k, n).proportion_ci(0.9, method="exact")
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=4e-12)  # 2e-12 of its root finder


def test_no_failure_has_a_closed_form_and_tells_how_many_runs_prove_a_level() -> None:
    assert clopper_pearson(0, 1000).high == pytest.approx(1 - 0.025 ** (1 / 1000), rel=1e-12)
    assert clopper_pearson(1000, 1000).low == pytest.approx(0.025 ** (1 / 1000), rel=1e-12)
    runs = ceil(log(0.025) / log(1 - 0.0037))
    assert clopper_pearson(0, runs).high <= 0.0037 < clopper_pearson(0, runs - 1).high


def test_the_interval_covers_at_least_as_often_as_it_says() -> None:
    n = 50
    for p in (0.01, 0.1, 0.37):
        covered = sum(binom.pmf(k, n, p) for k in range(n + 1) if (i := clopper_pearson(k, n)).low <= p <= i.high)
        assert covered >= 0.95


@pytest.mark.parametrize(("k", "n", "confidence"), [(-1, 5, 0.9), (6, 5, 0.9), (0, 0, 0.9), (1, 5, 1.0), (1, 5, 0.0)])
def test_impossible_counts_are_refused(k: int, n: int, confidence: float) -> None:
    with pytest.raises(InvalidInput):
        clopper_pearson(k, n, confidence)


# ------------------------------------------------------------------ intervals that may be looked at


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 40), (40, 40), (17, 1000)])
def test_the_sequence_ends_where_the_posterior_falls_to_alpha(k: int, n: int) -> None:
    found = confidence_sequence(k, n)
    for end in (found.low, found.high):
        assert end in (0.0, 1.0) or beta.pdf(end, k + 1, n - k + 1) == pytest.approx(0.05, rel=1e-9)
    assert found.low <= k / n <= found.high


@pytest.mark.parametrize("p", [0.02, 0.2, 0.5])
def test_the_sequence_misses_the_truth_at_any_time_with_at_most_alpha(p: float) -> None:
    """Exactly, by following the distribution of the count until the truth is outside for the first time."""
    alive, missed = np.array([1.0]), 0.0
    for n in range(1, 600):
        alive = np.concatenate([alive * (1 - p), [0.0]]) + np.concatenate([[0.0], alive * p])
        k = np.arange(n + 1)
        outside = beta.pdf(p, k + 1, n - k + 1) <= 0.05
        missed += alive[outside].sum()
        alive[outside] = 0.0
    assert 0.0 < missed <= 0.05


def test_looking_costs_width_and_knowing_nothing_is_said() -> None:
    assert confidence_sequence(3, 1000).width > clopper_pearson(3, 1000).width
    assert (confidence_sequence(0, 0).low, confidence_sequence(0, 0).high) == (0.0, 1.0)


# ------------------------------------------------------------------ the scenario bound


def test_the_known_number_of_scenarios() -> None:
    assert scenario_count(2, 0.05, 1 - 1e-6) == 326


@pytest.mark.parametrize(("n", "d", "k"), [(100, 1, 0), (326, 2, 0), (500, 5, 0), (400, 1, 3), (400, 3, 2)])
def test_the_level_makes_the_sum_equal_beta(n: int, d: int, k: int) -> None:
    level = scenario_level(n, 1 - 1e-3, d, k)
    tail = sum(comb(n, i) * level**i * (1 - level) ** (n - i) for i in range(d + k))
    assert comb(k + d - 1, k) * tail == pytest.approx(1e-3, rel=1e-9)
    assert scenario_count(d, level * (1 + 1e-9), 1 - 1e-3, k) == n


def test_the_largest_of_n_draws_has_a_closed_form() -> None:
    assert scenario_level(1000, 0.95) == pytest.approx(1 - 0.05 ** (1 / 1000), rel=1e-12)


def test_too_few_runs_prove_nothing_and_nonsense_is_refused() -> None:
    assert scenario_level(2, 0.95, free=3) == 1.0
    for wrong in (
        lambda: scenario_level(10, 0.9, 0),
        lambda: scenario_count(1, 1.0, 0.9),
        lambda: scenario_level(9, 2),
    ):
        with pytest.raises(InvalidInput):
            wrong()


# ------------------------------------------------------------------ two metrics


def test_the_front_is_what_nobody_beats() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random(200), rng.random(200)
    a[3], b[5] = np.nan, np.nan
    front = pareto_front(a, b)
    valid = [i for i in range(200) if i not in (3, 5)]
    expected = {i for i in valid if not any(a[j] <= a[i] and b[j] <= b[i] and j != i for j in valid)}
    assert set(front.tolist()) == expected
    assert (np.diff(a[front]) > 0).all()


def test_equal_points_stand_once_on_the_front() -> None:
    assert pareto_front([1, 1, 2], [1, 1, 2]).tolist() == [0]
    assert pareto_front([], []).tolist() == []


def test_an_estimates_interval_is_even_in_the_logarithm() -> None:
    found = log_interval(1e-5, 0.1)
    assert found.low * found.high == pytest.approx(1e-10)
    assert np.log(found.high / 1e-5) == pytest.approx(0.1959963985, rel=1e-9)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 12), (0, 500), (3, 1000), (41, 300), (299, 300), (300, 300)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_the_bound_on_failures_is_the_one_sided_exact_one(k: int, n: int, confidence: float) -> None:
    known = binomtest(k, n, alternative="less").proportion_ci(confidence, method="exact")
    assert failure_bound(k, n, confidence) == pytest.approx(known.high, rel=1e-9)
    if k == 0:
        assert failure_bound(0, n, confidence) == pytest.approx(1 - (1 - confidence) ** (1 / n), rel=1e-12)


def test_no_failure_in_500_runs_promises_0_597_per_cent() -> None:
    assert failure_bound(0, 500) == pytest.approx(0.0059736, abs=5e-8)

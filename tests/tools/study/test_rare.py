"""Small probabilities held to normal and chi-square tails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from palpate.errors import InvalidInput
from palpate.tools.study.analysis.rare import RareEstimate, rare_failure

Score = Callable[[np.ndarray], np.ndarray]


def estimated(score: Score, dimensions: int, runs: int, seed: int) -> RareEstimate:
    steps, made, found = rare_failure(dimensions, runs, seed), 0, None
    batch = next(steps)
    while found is None:
        made += len(batch.u)
        try:
            batch = steps.send(score(batch.u))
        except StopIteration as end:
            found = end.value
    assert made == runs == found.runs
    return found


CASES: dict[str, tuple[Score, int, float]] = {
    "one normal": (lambda u: u[:, 0] - 4, 1, float(ndtr(-4))),
    "both tails": (lambda u: np.abs(u[:, 0]) - 4, 1, 2 * float(ndtr(-4))),
    "ten of them": (lambda u: u.sum(axis=1) / np.sqrt(10) - 4, 10, float(ndtr(-4))),
    "a corner": (lambda u: np.minimum(u[:, 0], u[:, 1]) - 2.5, 3, float(ndtr(-2.5)) ** 2),
    "a ball": (lambda u: np.linalg.norm(u, axis=1) - 5.5, 5, float(chi2.sf(5.5**2, 5))),
}


@pytest.mark.parametrize("case", CASES)
def test_the_estimate_is_unbiased_and_its_interval_covers(case: str) -> None:
    score, dimensions, truth = CASES[case]
    found = [estimated(score, dimensions, 3000, seed) for seed in range(150)]
    values = np.array([one.probability for one in found], dtype=float)
    scatter = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - truth) < 4 * scatter
    covered = np.mean([one.interval.low <= truth <= one.interval.high for one in found])
    assert covered > 0.88  # 95 % by the central limit, less what 150 repeats and skewed weights take


def test_four_sigma_takes_a_hundred_times_fewer_runs_than_plain_sampling() -> None:
    found = estimated(CASES["one normal"][0], 1, 3000, 0)
    p = float(ndtr(-4))
    assert found.probability == pytest.approx(p, rel=0.2)
    assert found.variation < 0.1
    plain = (1 - p) / (p * found.variation**2)  # runs of plain sampling with the same coefficient of variation
    assert plain > 100 * 3000
    assert found.plain_runs == pytest.approx(plain, rel=0.2)
    assert not found.note


def test_a_failure_that_is_not_rare_is_estimated_too() -> None:
    found = estimated(lambda u: u[:, 0], 1, 1000, 3)
    assert found.interval.low < 0.5 < found.interval.high


def test_runs_that_ended_badly_count_as_failures() -> None:
    found = estimated(lambda u: np.where(u[:, 0] > 3, np.inf, u[:, 0] - 3), 1, 2000, 1)
    assert found.interval.low < ndtr(-3) < found.interval.high


def test_without_a_failure_there_is_a_bound_and_a_remark() -> None:
    found = estimated(lambda u: np.full(len(u), -2.5), 2, 400, 0)
    assert found.probability is None
    assert found.interval.low == 0.0
    assert "came within 2.5" in found.note


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 200 runs"):
        next(rare_failure(2, 100))

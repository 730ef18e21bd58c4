"""Sensitivity held to functions whose indices are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import sobol_indices

from palpate.errors import InvalidInput
from palpate.tools.study.analysis.sobol import estimate_indices
from palpate.tools.study.plans.plan import Plan


def ishigami(x: np.ndarray) -> np.ndarray:
    return np.sin(x[..., 0]) + 7 * np.sin(x[..., 1]) ** 2 + 0.1 * x[..., 2] ** 4 * np.sin(x[..., 0])


def closed_form() -> tuple[list[float], list[float]]:
    a, b, pi = 7.0, 0.1, np.pi
    one, two, both = 0.5 * (1 + b * pi**4 / 5) ** 2, a**2 / 8, b**2 * pi**8 * 8 / 225
    total = one + two + both
    return [one / total, two / total, 0.0], [(one + both) / total, two / total, both / total]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Ishigami's function over the design that a sweep would make."""
    spread = f"uniform(-{np.pi}, {np.pi})"
    vary = {"a.x": spread, "a.y": spread, "a.z": spread}
    points = Plan({}, (), vary, "saltelli", 5 * 4000, seed=1).points(0, 5 * 4000)
    return ishigami(np.array([point.values for point in points])).reshape(-1, 5)


def test_ishigamis_indices_lie_in_their_intervals(rows: np.ndarray) -> None:
    found = estimate_indices("xyz", rows[:, 0], rows[:, 1:-1], rows[:, -1], confidence=0.99)
    for one, first, total in zip(found, *closed_form()):
        assert one.first_interval.low <= first <= one.first_interval.high
        assert one.total_interval.low <= total <= one.total_interval.high
        assert max(one.first_interval.width, one.total_interval.width) < 0.16
        assert (one.first, one.total) == pytest.approx((first, total), abs=0.06)


def test_the_indices_are_those_of_scipy_where_it_takes_the_rows(rows: np.ndarray) -> None:
    some = rows[:2048]  # SciPy takes powers of two alone, and no rows with a hole
    found = estimate_indices("xyz", some[:, 0], some[:, 1:-1], some[:, -1])
    known = sobol_indices(func={"f_A": some[:, 0], "f_B": some[:, -1], "f_AB": some[:, 1:-1].T[:, None]}, n=2048)
    np.testing.assert_allclose([one.first for one in found], known.first_order, rtol=1e-12)
    np.testing.assert_allclose([one.total for one in found], known.total_order, rtol=1e-12)


def test_the_same_seed_gives_the_same_intervals(rows: np.ndarray) -> None:
    once, again, other = (
        estimate_indices("xyz", rows[:, 0], rows[:, 1:-1], rows[:, -1], seed=seed) for seed in (1, 1, 2)
    )
    assert once == again
    assert once != other


def test_a_linear_functions_indices_are_shares_of_its_variance() -> None:
    rng = np.random.default_rng(0)
    A, B, c = rng.random((4000, 2)), rng.random((4000, 2)), np.array([3.0, 1.0])
    AB = np.stack([np.column_stack([B[:, 0], A[:, 1]]), np.column_stack([A[:, 0], B[:, 1]])], axis=1)
    found = estimate_indices("ab", A @ c, AB @ c, B @ c)
    assert [one.first for one in found] == pytest.approx([0.9, 0.1], abs=0.05)
    assert [one.total for one in found] == pytest.approx([0.9, 0.1], abs=0.06)  # some three standard errors


def test_rows_with_a_hole_are_left_out_and_a_constant_is_refused(rows: np.ndarray) -> None:
    holed = rows.copy()
    holed[::7, 2] = np.nan
    kept = np.isfinite(holed).all(axis=1)
    with_holes = estimate_indices("xyz", holed[:, 0], holed[:, 1:-1], holed[:, -1])
    without = estimate_indices("xyz", rows[kept, 0], rows[kept, 1:-1], rows[kept, -1])
    assert [one.total for one in with_holes] == [one.total for one in without]
    with pytest.raises(InvalidInput, match=r"same.*every"):
        estimate_indices("x", np.ones(5), np.ones((5, 1)), np.ones(5))
    with pytest.raises(InvalidInput, match="complete rows"):
        estimate_indices("x", np.ones(1), np.ones((1, 1)), np.ones(1))

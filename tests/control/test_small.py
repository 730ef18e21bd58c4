"""Small linear algebra against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control.steps.linear_algebra import (
    cholesky,
    cholesky_inverse,
    cholesky_solve,
    damped_step,
    symmetric_eigen,
    times,
    transpose_times,
)


def spd(n: int, seed: int) -> np.ndarray:
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 6, 7])
def test_cholesky_factors_solves_and_inverts(n: int) -> None:
    A = spd(n, n)
    L, x, inverse = A.copy(), np.arange(1.0, n + 1), np.empty((n, n))
    assert cholesky(L, n)
    assert np.tril(L) == pytest.approx(np.linalg.cholesky(A), abs=1e-12)
    wanted = np.linalg.solve(A, x)
    cholesky_solve(L, n, x)
    assert x == pytest.approx(wanted, rel=1e-9)
    assert cholesky_inverse(L, n, inverse) == pytest.approx(np.trace(np.linalg.inv(A)), rel=1e-9)
    assert inverse == pytest.approx(np.linalg.inv(A), rel=1e-8, abs=1e-9)


def test_cholesky_refuses_what_is_not_positive_definite() -> None:
    assert not cholesky(np.diag([1.0, -1e-9]), 2)
    assert not cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]), 2)
    assert not cholesky(np.array([[np.nan]]), 1)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_eigenvectors_diagonalise(n: int) -> None:
    for seed in range(5):
        A = np.random.default_rng(seed).normal(size=(n, n))
        A = A + A.T
        D, V = A.copy(), np.empty((n, n))
        symmetric_eigen(D, V, n)
        assert np.sort(np.diag(D)) == pytest.approx(np.linalg.eigvalsh(A), abs=1e-12)
        assert V @ np.diag(np.diag(D)) @ V.T == pytest.approx(A, abs=1e-12)
        assert pytest.approx(np.eye(n), abs=1e-13) == V.T @ V


def test_eigenvalues_of_a_singular_matrix_are_zero_to_rounding() -> None:
    v = np.array([1.0, 2.0, -1.0, 0.5])
    D, V = np.outer(v, v), np.empty((4, 4))
    symmetric_eigen(D, V, 4)
    assert np.sort(np.diag(D)) == pytest.approx([0, 0, 0, v @ v], abs=1e-14)


def test_products() -> None:
    A, x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 3.0]), np.array([2.0, 5.0])
    out2, out3 = np.empty(2), np.empty(3)
    times(A, x, out2)
    transpose_times(A, y, out3)
    assert out2 == pytest.approx(A @ x)
    assert out3 == pytest.approx(A.T @ y)


def test_a_damped_step_is_the_damped_least_squares_solution() -> None:
    rng = np.random.default_rng(1)
    J, e, step = rng.normal(size=(6, 7)), rng.normal(size=6), np.zeros(7)
    damped_step(J, e, 0.3, np.empty((6, 6)), np.empty(6), step)
    np.testing.assert_allclose(step, np.linalg.solve(J.T @ J + 0.09 * np.eye(7), J.T @ e), atol=1e-12)

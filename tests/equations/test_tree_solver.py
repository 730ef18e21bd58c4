"""The straight-line factor of a tree against NumPy: chains, branches, a free base."""

import numpy as np
import pytest

from palpate.equations.code.tree_solver import Sliding, slide_tree, solve_tree, solver_of

TREES = {
    "one joint": [-1],
    "chain": list(range(-1, 6)),
    "branches": [-1, 0, 1, 0, 3, 3, -1, 6],
    "free base with legs": [-1, 0, 1, 2, 3, 4, 5, 6, 5, 8, 5, 10],
}


def tree_matrix(parents, rng):
    """A positive definite matrix that is zero where neither joint carries the other: Hᵀ H with H a tree's factor."""
    n = len(parents)
    H = np.diag(rng.uniform(0.5, 2.0, n))
    for i in range(n):
        j = parents[i]
        while j >= 0:
            H[i, j] = rng.normal()
            j = parents[j]
    return H.T @ H


@pytest.mark.parametrize("parents", TREES.values(), ids=TREES.keys())
def test_the_solver_solves_what_numpy_solves(parents):
    rng = np.random.default_rng(0)
    n, (solver, _) = len(parents), solver_of(parents)
    for _ in range(20):
        M, added, f = tree_matrix(parents, rng), rng.uniform(0.0, 0.5, n), rng.normal(size=n)
        x, pivots = np.empty(n), np.empty(n)
        solve_tree(solver, M, added, f, x, pivots)
        np.testing.assert_allclose(x, np.linalg.solve(M + np.diag(added), f), rtol=1e-9, atol=1e-11)
        assert np.prod(pivots) == pytest.approx(np.linalg.det(M + np.diag(added)), rel=1e-9)


def test_a_singular_matrix_shows_a_pivot_that_is_not_positive():
    x, pivots = np.empty(3), np.empty(3)
    solve_tree(solver_of([-1, 0, 1])[0], np.ones((3, 3)), np.zeros(3), np.ones(3), x, pivots)
    assert not (pivots > 1e-13).all()


@pytest.mark.parametrize("parents", TREES.values(), ids=TREES.keys())
def test_joints_at_rest_are_left_out_of_the_equations_and_their_loads_are_told(parents):
    rng = np.random.default_rng(1)
    n, (_, slider) = len(parents), solver_of(parents)
    for _ in range(20):
        M, added, free = tree_matrix(parents, rng), rng.uniform(0.0, 0.5, n), (rng.random(n) < 0.6).astype(float)
        v, impulse, braking = rng.normal(size=(3, n))
        sliding = Sliding({"N": n}, added=added, impulse=impulse, braking=braking, free=free)
        slide_tree(slider, M, v, sliding.address)
        momentum, x, load, pivots = sliding.momentum, sliding.x, sliding.load, sliding.pivots
        A, on = M + np.diag(added), free > 0.0
        wanted = np.zeros(n)
        wanted[on] = np.linalg.solve(A[np.ix_(on, on)], (M @ v + impulse - braking)[on])
        np.testing.assert_allclose(momentum, M @ v + impulse, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(x, wanted, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(load, M @ v + impulse - A @ wanted, rtol=1e-9, atol=1e-10)
        assert (x[~on] == 0.0).all()
        assert (pivots > 0.0).all()

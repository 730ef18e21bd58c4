"""The level-by-level solver held to optimality certificates, to SciPy, and to a cascade of DAQP's QPs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog, lsq_linear, nnls

from palpate.control.solve.active_set import ActiveSet
from palpate.control.solve.daqp_cascade import daqp_hierarchy
from palpate.control.solve.hierarchy import solve_hierarchy, solve_stack
from palpate.control.solve.stack import make_stack
from palpate.errors import NoSolution


def random_problem(rng):
    """Levels of random depth and rank within limits on the variables or on a regular map of them."""
    n, depth = int(rng.integers(2, 11)), int(rng.integers(1, 5))
    sizes = rng.integers(1, 5, depth)
    blocks = [rng.normal(size=(m, n)) for m in sizes]
    for k in range(1, depth):
        if rng.random() < 0.3:  # a task that repeats part of a higher one
            blocks[k][0] = blocks[k - 1][0]
        if rng.random() < 0.2:
            blocks[k][-1] = 0.0
    C = np.eye(n) if rng.random() < 0.5 else np.eye(n) + 0.3 * rng.normal(size=(n, n))
    offset = rng.normal(size=n)
    limit = rng.uniform(0.2, 5.0, n)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.vstack(blocks), rng.normal(size=starts[-1]) * 3, starts, C, offset - limit, offset + limit


def certificate(problem, x):
    """The largest failure of the optimality conditions over the levels, each with the higher ones held."""
    A, b, starts, C, lower, upper = problem
    at, worst = C @ x, 0.0
    tops, bottoms = C[at >= upper - 1e-9], C[at <= lower + 1e-9]
    for first, last in pairwise(starts):
        B = A[first:last]
        gradient = B.T @ (B @ x - b[first:last])
        above = A[:first]
        # gradient + aboveᵀ ν + topsᵀ μ − bottomsᵀ μ' = 0 with μ, μ' ≥ 0; ν of either sign.
        columns = np.vstack([above, -above, tops, -bottoms]).T
        gap = nnls(columns, -gradient)[1] if columns.size else np.linalg.norm(gradient)
        worst = max(worst, gap / (1 + np.abs(B).max() * np.abs(b[first:last]).max()))
    return worst


def test_every_level_is_optimal_within_the_freedom_of_the_higher_ones():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        problem = random_problem(rng)
        found = solve_hierarchy(*problem, width=np.ones(len(problem[3])))
        assert found.solver == "active-set"
        assert found.relaxation == 0
        at = problem[3] @ found.x
        assert (at <= problem[5] + 1e-10).all()
        assert (at >= problem[4] - 1e-10).all()
        assert certificate(problem, found.x) < 1e-8


def test_the_answer_is_that_of_a_cascade_of_daqp():
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(300):
        problem = random_problem(rng)
        ours = solve_hierarchy(*problem, width=np.ones(len(problem[3]))).x
        try:
            errors.append(np.abs(ours - daqp_hierarchy(*problem)).max())
        except NoSolution:  # DAQP takes some singular levels at a corner of the limits for infeasible
            continue
    assert len(errors) > 250
    # DAQP regularises singular levels, so that a few of its answers are good to 1e-3 only.
    assert np.median(errors) < 1e-8
    assert np.quantile(errors, 0.97) < 1e-4


def test_a_lower_level_never_disturbs_a_higher_one():
    rng = np.random.default_rng(2)
    for _ in range(300):
        A, b, starts, C, lower, upper = random_problem(rng)
        width = np.ones(len(C))
        whole = solve_hierarchy(A, b, starts, C, lower, upper, width).x
        for k in range(1, len(starts)):
            top = starts[k]
            alone = solve_hierarchy(A[:top], b[:top], starts[: k + 1], C, lower, upper, width).x
            assert A[:top] @ whole == pytest.approx(A[:top] @ alone, abs=1e-9)


def test_one_level_in_a_box_is_bounded_least_squares():
    rng = np.random.default_rng(3)
    for _ in range(100):
        A, b = rng.normal(size=(8, 5)), rng.normal(size=8) * 3
        limit = rng.uniform(0.1, 1.0, 5)
        found = solve_hierarchy(A, b, np.array([0, 8]), np.eye(5), -limit, limit, np.ones(5))
        assert found.x == pytest.approx(lsq_linear(A, b, (-limit, limit), method="bvls", tol=1e-14).x, abs=1e-10)


def distant_problem(rng):
    """Least squares in a box whose middle, where the search begins, is half a million away in one variable."""
    n = int(rng.integers(3, 8))
    A = rng.normal(size=(n + int(rng.integers(1, 4)), n))
    b = rng.normal(size=len(A))
    A[:, 1:] *= 10.0 ** rng.uniform(-8, -5, n - 1)
    lower, upper = -rng.uniform(0.1, 1.0, n), rng.uniform(0.1, 1.0, n)
    lower[0] = -1e6
    return A, b, lower, upper


def test_a_distant_start_does_not_hide_which_limits_should_let_go():
    rng, wrong = np.random.default_rng(12), 0
    for _ in range(600):
        A, b, lower, upper = distant_problem(rng)
        found = solve_hierarchy(A, b, np.array([0, len(A)]), np.eye(len(lower)), lower, upper, np.ones(len(lower)))
        assert found.solver == "active-set"
        scale = np.linalg.norm(A, axis=0)  # for a witness that its own tolerances do not blur
        witness = lsq_linear(A / scale, b, (lower * scale, upper * scale), method="bvls", tol=1e-15).x / scale
        wrong += bool(np.abs(found.x - witness).max() > 1e-6)
    assert wrong == 0


def test_without_limits_the_document_003_priorities_come_out():
    A, b = np.array([[1.0, 0, 0], [1, 1, 0], [1, 1, 1]]), np.array([1.0, 3, 0])
    found = solve_hierarchy(A, b, np.array([0, 1, 2, 3]), np.zeros((0, 3)), np.zeros(0), np.zeros(0), np.zeros(0))
    assert found.x == pytest.approx([1, 2, -3], abs=1e-14)


def test_conflicting_limits_are_relaxed_by_the_least_amount_and_named():
    rng = np.random.default_rng(4)
    for _ in range(50):
        n, c = 3, 8
        C = rng.normal(size=(c, n))
        lower = rng.normal(size=c) * 2
        upper = lower + rng.uniform(0.01, 0.5, c)
        width = rng.uniform(0.5, 2.0, c)
        found = solve_hierarchy(np.eye(n), np.zeros(n), np.array([0, n]), C, lower, upper, width)
        least = linprog(
            np.r_[np.zeros(n), 1.0],
            A_ub=np.vstack([np.column_stack([C, -width]), np.column_stack([-C, -width])]),
            b_ub=np.r_[upper, -lower],
            bounds=[(None, None)] * n + [(0, None)],
        ).x[-1]
        assert found.relaxation == pytest.approx(least, rel=1e-6, abs=1e-8)
        if least > 1e-6:
            at = C @ found.x
            excess = np.maximum(at - upper, lower - at) / width
            assert excess.max() == pytest.approx(least, rel=1e-6)
            assert found.active.any()


def test_a_fixed_variable_stays_fixed():
    A, b = np.array([[1.0, 1.0, 1.0]]), np.array([9.0])
    lower, upper = np.array([0.5, -1.0, -5.0]), np.array([0.5, 1.0, 5.0])
    found = solve_hierarchy(A, b, np.array([0, 1]), np.eye(3), lower, upper, np.ones(3))
    assert found.x == pytest.approx([0.5, 1.0, 5.0])


def test_infinite_limits_are_no_limits():
    rng = np.random.default_rng(6)
    A, b = rng.normal(size=(2, 4)), rng.normal(size=2)
    far = np.full(4, np.inf)
    found = solve_hierarchy(A, b, np.array([0, 2]), np.eye(4), -far, far, np.ones(4))
    assert found.x == pytest.approx(np.linalg.pinv(A) @ b, abs=1e-13)


def spoil(record):
    """Fill every array of a record with what no solution may depend on; levels keep their rows."""
    for name in record.fields:
        part = getattr(record, name)
        if isinstance(part, ActiveSet):
            spoil(part)
        elif isinstance(part, np.ndarray):
            part[:] = np.nan if part.dtype == float else -7


def test_what_an_earlier_problem_left_in_a_stack_does_not_matter():
    rng = np.random.default_rng(7)
    for _ in range(100):
        A, b, starts, C, lower, upper = random_problem(rng)
        stack = make_stack(A.shape[1], len(A), len(starts) - 1, len(C))
        spoil(stack)
        stack.wide.lower[:], stack.wide.upper[:] = -np.inf, np.inf  # half of them are never limits
        s, stack.level.A[:], stack.level.b[:], stack.starts[:] = stack.search, A, b, starts
        s.C[:], s.lower[:], s.upper[:], stack.units[:] = C, lower, upper, 1.0
        assert solve_stack(stack) == (0.0, 0)
        assert s.x.tolist() == solve_hierarchy(A, b, starts, C, lower, upper, np.ones(len(C))).x.tolist()

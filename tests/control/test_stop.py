"""The fastest stop held to the document's audited numbers and to an independent linear-programming solver."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize, nnls
from scipy.sparse import block_diag, vstack

import palpate as pp
from palpate.control import fastest_stop
from palpate.control.solve.stop import TorqueBounds
from palpate.control.solve.stop_kernels import find_stop
from palpate.control.solve.stopping.problem import FOUND, LOST, StopProblem, make_stop
from palpate.errors import BadShape, InvalidInput, NoSolution, NotFinite

PI = math.pi
J_TRUE = np.array([[-1.0, -1, 0], [0, -1, -1]])
J_PRINTED = np.array([[-1.0, -1, 0], [0, 1, 1]])
H = np.array([3 * PI**2, -4 * PI**2])
U = np.array([15.0, 10, 10]) * PI
V = np.array([PI, PI, 0])


# ------------------------------------------------------------------ the document's numbers


def test_the_true_robot_stops_with_twenty_minus_four_pi():
    stop = fastest_stop(J_TRUE, H, V, U)
    assert stop.rate == pytest.approx(20 - 4 * PI, rel=1e-13)
    assert stop.acceleration == pytest.approx([14.317868804289, -31.415926535898, -31.415926535898], rel=1e-12)
    assert stop.feasible
    assert stop.deviation < 1e-12


def test_the_pseudoinverse_law_finds_no_stop_on_the_true_robot():
    method = "pseudoinverse"
    stop = fastest_stop(J_TRUE, H, V, U, method=method)
    assert not stop.feasible
    assert stop.rate == -math.inf
    # J⁺J has an exact zero in the document; in floating point it may be 1e-17, which must not become a rate.
    jittered = fastest_stop(J_TRUE + 1e-17, H, V + 1e-17, U, method=method)
    assert jittered.rate == -math.inf


@pytest.mark.parametrize("speed", [1.3, 1.5])
@pytest.mark.parametrize("method", ["optimal", "pseudoinverse"])
def test_faster_the_true_robot_cannot_keep_its_direction(speed, method):
    stop = fastest_stop(J_TRUE, H * speed**2, V * speed, U, method=method)
    assert not stop.feasible
    assert stop.rate == -math.inf
    assert stop.deviation > 1
    assert stop.violation == 0.0


@pytest.mark.parametrize(
    ("speed", "law", "optimum"),
    [
        (1.0, 17.094395102393, 17.212388980385),
        (1.3, 14.261175171573, 15.146698781102),
        (1.5, -math.inf, 11.954277686282),
    ],
)
def test_the_printed_jacobian_gives_the_printed_and_the_true_rates(speed, law, optimum):
    plain = fastest_stop(J_PRINTED, H * speed**2, V * speed, U, method="pseudoinverse")
    assert plain.rate == pytest.approx(law, rel=1e-12)
    assert fastest_stop(J_PRINTED, H * speed**2, V * speed, U).rate == pytest.approx(optimum, rel=1e-12)


def test_the_printed_commands_are_reproduced_as_printed():
    one = fastest_stop(J_PRINTED, H, V, U, method="pseudoinverse")
    assert one.acceleration == pytest.approx([-47.1239, -30.6745, 16.4493], abs=5e-5)
    two = fastest_stop(J_PRINTED, H * 1.69, V * 1.3, U, method="pseudoinverse")
    assert two.acceleration == pytest.approx([-47.1239, -19.3245, 27.7994], abs=5e-5)
    full = fastest_stop(J_PRINTED, H, V, U)
    assert full.acceleration == pytest.approx([-47.1238898038, -31.4159265359, 16.8200293687], abs=1e-9)
    third = fastest_stop(J_PRINTED, H * 2.25, V * 1.5, U)
    assert third.acceleration == pytest.approx([-47.1238898038, 1.0773066366, 31.4159265359], abs=1e-9)


def test_the_robot_itself_has_the_true_jacobian_and_drift():
    robot = pp.load_robot("planar3", length=1.0)
    q = np.array([0, PI / 2, PI / 2])
    J, drift = robot.jacobian(q)[:2], robot.jacobian_drift(q, V)[:2]
    stop = fastest_stop(J, drift, V, U)
    assert stop.rate == pytest.approx(20 - 4 * PI, rel=1e-9)


def test_a_start_outside_the_bounds_also_asks_for_a_least_rate():
    # a = (−1, −1), b = (3, 0), U = (1, 1): joint 1 needs λ ≥ 2, joint 2 allows λ ≤ 1.
    J, v = np.eye(2), np.array([1.0, 1.0])
    assert not fastest_stop(J, [-3.0, 0.0], v, [1.0, 1.0], method="pseudoinverse", velocity_of="tool").feasible
    assert not fastest_stop(J, [-3.0, 0.0], v, [1.0, 1.0], velocity_of="tool").feasible


# ------------------------------------------------------------------ against HiGHS


def cross(a, b):
    """np.cross without its overhead."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def random_arm(rng):
    """A moving arm: J (m rows of six), drift, q̇."""
    while True:
        J, drift, qd = random_chain(rng)
        if np.linalg.norm(J @ qd) > 1e-6:
            return J, drift, qd


def random_chain(rng):
    """A chain of random revolute joints in a random posture and motion."""
    n, m = int(rng.integers(2, 11)), int(rng.integers(1, 7))
    qd = rng.normal(size=n) * rng.choice([0.3, 1.0, 3.0])
    axes = rng.normal(size=(n, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    links = rng.normal(size=(n, 3)) * rng.uniform(0.1, 0.6)
    if rng.random() < 0.1:  # a singular posture: parallel axes, stretched out
        axes[:] = (0, 0, 1)
        links[:] = (rng.uniform(0.1, 1), 0, 0)
    tool = links.sum(axis=0)
    origins = np.vstack([np.zeros(3), np.cumsum(links, axis=0)[:-1]])
    J = np.vstack([np.array([cross(axis, tool - origin) for axis, origin in zip(axes, origins)]).T, axes.T])
    omega, alpha, a = np.zeros(3), np.zeros(3), np.zeros(3)
    for axis, link, speed in zip(axes, links, qd):
        alpha = alpha + cross(omega, axis * speed)
        omega = omega + axis * speed
        a = a + cross(alpha, link) + cross(omega, cross(omega, link))
    rows = np.sort(rng.permutation(6)[:m])
    return J[rows], np.concatenate([a, alpha])[rows], qd


def random_bounds(rng, n):
    scale = rng.choice([1.0, 10.0, 50.0])
    kind = rng.random()
    if kind < 0.4:
        return -scale * np.ones(n), scale * np.ones(n)
    upper = scale * rng.uniform(0.05, 1.5, n)
    lower = -scale * rng.uniform(-0.02 if kind > 0.8 else 0.05, 1.5, n)
    return np.minimum(lower, upper), upper


def highs(A, p, c, lower, upper):
    """max λ with A x + λ p = c within bounds, by HiGHS: λ, or None."""
    n = A.shape[1]
    found = linprog(
        np.r_[np.zeros(n), -1.0],
        A_eq=np.column_stack([A, p]),
        b_eq=c,
        bounds=[*zip(lower, upper), (None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "presolve": False},
    )
    return found.x[-1] if found.status == 0 else None


def highs_many(problems):
    """The same for many problems at once, as two separable programs: which are feasible, then their λ."""
    rows = [np.column_stack([J, p]) for J, p, *_ in problems]
    wanted = [-drift for _, _, drift, *_ in problems]
    boxes = [np.vstack([np.column_stack([lo, up]), [-np.inf, np.inf]]) for *_, lo, up in problems]
    # |A x + λ p − c| ≤ s row by row, the sum of all s least.
    above = block_diag([np.column_stack([A, -np.ones(len(A))]) for A in rows], format="csr")
    below = block_diag([np.column_stack([-A, -np.ones(len(A))]) for A in rows], format="csr")
    places = np.cumsum([A.shape[1] + 1 for A in rows]) - 1
    cost = np.zeros(places[-1] + 1)
    cost[places] = 1.0
    found = _highs(
        cost,
        A_ub=vstack([above, below]),
        b_ub=np.concatenate([*wanted, *(-w for w in wanted)]),
        bounds=np.vstack([np.vstack([box, [0.0, np.inf]]) for box in boxes]),
    )
    feasible = found[places] < 1e-8
    chosen = np.flatnonzero(feasible)
    ends = np.cumsum([rows[k].shape[1] for k in chosen]) - 1
    cost = np.zeros(ends[-1] + 1)
    cost[ends] = -1.0
    best = _highs(
        cost,
        A_eq=block_diag([rows[k] for k in chosen], format="csr"),
        b_eq=np.concatenate([wanted[k] for k in chosen]),
        bounds=np.vstack([boxes[k] for k in chosen]),
    )
    rates = np.full(len(problems), -np.inf)
    rates[chosen] = best[ends]
    return rates


def _highs(cost, **rows):
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, method="highs-ds", options=tight, **rows)
    assert found.status == 0
    return found.x


@pytest.mark.parametrize("batches", [10, pytest.param(50, marks=pytest.mark.slow)])
def test_thousands_of_random_stops_agree_with_highs(batches):
    rng = np.random.default_rng(2021)
    counts, worst = np.zeros(2, dtype=int), 0.0
    for _ in range(batches):
        problems = [stop_problem(rng) for _ in range(200)]
        for (J, p, drift, lower, upper), expected in zip(problems, highs_many(problems)):
            stop = fastest_stop(J, drift, p, (lower, upper), velocity_of="tool")
            feasible = np.isfinite(expected)
            counts[int(feasible)] += 1
            assert feasible == np.isfinite(stop.rate)
            assert feasible == (stop.relaxation == 0)
            assert (stop.acceleration <= upper).all()
            assert (stop.acceleration >= lower).all()
            assert stop.feasible == (expected >= -1e-12)
            if feasible:
                worst = max(worst, abs(stop.rate - expected) / (1 + abs(expected)))
            if stop.feasible:
                scale = 1 + np.abs(drift).max() + abs(stop.rate) * np.abs(p).max()
                assert np.abs(J @ stop.acceleration + drift + stop.rate * p).max() < 1e-9 * scale
    assert worst < 1e-11
    assert counts.sum() == 200 * batches
    assert counts.min() > 20 * batches


def stop_problem(rng):
    J, drift, qd = random_arm(rng)
    return J, J @ qd, drift, *random_bounds(rng, J.shape[1])


def test_torque_bounds_agree_with_highs_on_real_arms():
    rng = np.random.default_rng(3)
    for name in ("panda", "iiwa14", "ur5e"):
        robot = pp.load_robot(name)
        n, seen = robot.nv, set()
        for _ in range(40):
            q, v = robot.home + rng.uniform(-0.5, 0.5, n), rng.uniform(-1, 1, n) * rng.choice([0.5, 2.0])
            t = robot.terms(q, v)
            J, drift = t.J[:3], t.drift[:3]
            limit = robot.limits.torque * rng.choice([0.3, 1.0])
            stop = fastest_stop(J, drift, v, TorqueBounds(t.M, t.bias, limit))
            A = J @ np.linalg.inv(t.M)
            expected = highs(A, J @ v, A @ t.bias - drift, -limit, limit)
            seen.add(expected is not None)
            assert (expected is not None) == np.isfinite(stop.rate)
            assert stop.torque is not None
            assert (np.abs(stop.torque) <= limit).all()
            assert t.M @ stop.acceleration + t.bias == pytest.approx(stop.torque, abs=1e-9)
            if expected is not None:
                assert stop.rate == pytest.approx(expected, rel=1e-7)
        assert True in seen


# ------------------------------------------------------------------ the shortest of the fastest


def test_where_the_fastest_command_is_not_unique_the_shortest_is_taken():
    # Joint 1 alone bounds the stop; joints 2 and 3 share the second axis, which only needs −h.
    J = np.array([[1.0, 0, 0], [0, 1, 1]])
    stop = fastest_stop(J, [0.0, -2.0], [1.0, 0.0], [3.0, 5.0, 5.0], velocity_of="tool")
    assert stop.rate == pytest.approx(3.0)
    assert stop.acceleration == pytest.approx([-3.0, 1.0, 1.0], abs=1e-12)
    bounded = fastest_stop(J, [0.0, -2.0], [1.0, 0.0], ([-3.0, -5, -5], [3.0, 0.5, 5.0]), velocity_of="tool")
    assert bounded.acceleration == pytest.approx([-3.0, 0.5, 1.5], abs=1e-12)


def test_a_joint_that_cannot_help_is_left_alone():
    J = np.array([[1.0, 0.0, 1e-17]])
    stop = fastest_stop(J, [0.0], [1.0], [2.0, 7.0, 7.0], velocity_of="tool")
    assert stop.acceleration == pytest.approx([-2.0, 0.0, 0.0], abs=1e-12)


def test_the_shortest_command_agrees_with_a_general_optimiser():
    rng = np.random.default_rng(5)
    for _ in range(20):
        J = np.zeros((2, 6))
        J[0, :2], J[1, 2:] = rng.normal(size=2), rng.normal(size=4)
        p, drift, limit = np.array([1.0, 0.0]), rng.normal(size=2), rng.uniform(1.0, 2.0, 6)
        stop = fastest_stop(J, drift, p, limit, velocity_of="tool")
        assert np.isfinite(stop.rate)
        best = minimize(
            lambda u: u @ u,
            stop.acceleration + 0.01,
            jac=lambda u: 2 * u,
            bounds=list(zip(-limit, limit)),
            constraints={"type": "eq", "fun": lambda u: J @ u + drift + stop.rate * p, "jac": lambda u: J},  # noqa: B023
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 200},
        )
        assert best.success
        assert np.linalg.norm(stop.acceleration) <= np.linalg.norm(best.x) + 1e-7


def test_a_cap_on_the_rate_leaves_the_shortest_command_at_it():
    stop = fastest_stop(J_PRINTED, 0 * H, V, U, most=5.0)
    assert stop.rate == pytest.approx(5.0, rel=1e-12)
    assert stop.acceleration == pytest.approx(-5.0 * np.linalg.pinv(J_PRINTED) @ J_PRINTED @ V, abs=1e-10)


# ------------------------------------------------------------------ when the direction cannot be kept


def test_the_relaxation_is_what_the_bounds_lack():
    stop = fastest_stop(J_TRUE, H * 1.69, V * 1.3, U)
    assert stop.relaxation > 0.01
    just = fastest_stop(J_TRUE, H * 1.69, V * 1.3, U * (1 + stop.relaxation) * (1 + 1e-9))
    almost = fastest_stop(J_TRUE, H * 1.69, V * 1.3, U * (1 + stop.relaxation) * (1 - 1e-7))
    assert np.isfinite(just.rate)
    assert not np.isfinite(almost.rate)


def lost_states(rng, count):
    """Random states in which no command within the bounds keeps the direction without speeding up."""
    while count:
        J, drift, qd = random_arm(rng)
        lower, upper = random_bounds(rng, J.shape[1])
        stop = fastest_stop(J, drift, J @ qd, (lower, upper), velocity_of="tool")
        if not stop.feasible:
            count -= 1
            yield J, drift, J @ qd, lower, upper, stop


def test_no_command_speeds_the_tool_up_if_one_within_the_bounds_does_not():
    unavoidable = 0
    for J, drift, p, lower, upper, stop in lost_states(np.random.default_rng(1041), 1041):
        d = p / np.linalg.norm(p)
        along = -(d @ J)
        most = np.maximum(along * lower, along * upper).sum() - d @ drift  # every joint brakes as hard as it can
        assert stop.most_braking == pytest.approx(most, rel=1e-9, abs=1e-9)
        if most < 0:
            unavoidable += 1
            assert stop.braking == pytest.approx(most, rel=1e-9, abs=1e-9)
            assert "command within" in stop.account
        else:
            assert stop.braking >= -1e-9 * (1 + np.abs(drift).max())
            assert f"of at most {stop.most_braking:.4g}" in stop.account
    assert unavoidable < 300


@pytest.mark.parametrize("weight", [0.1, 1.0, 20.0])
def test_the_trade_is_the_stated_one_and_bounded_on_both_sides(weight):
    # Least |deviation|² + weight² (most − braking)² within the bounds and without speeding up: no multiplier pulls
    # the wrong way (nnls finds them all), and both parts lie between the extremes that each alone would reach.
    for J, drift, p, lower, upper, _ in lost_states(np.random.default_rng(9), 150):
        stop = fastest_stop(J, drift, p, (lower, upper), weight=weight, velocity_of="tool")
        assert stop.most_braking is not None
        d, u = p / np.linalg.norm(p), stop.acceleration
        a = J @ u + drift
        off = a - d * (d @ a)
        assert (stop.braking, stop.deviation) == pytest.approx((-d @ a, np.linalg.norm(off)), abs=1e-8)
        gradient = J.T @ (off + weight**2 * (d @ a + stop.most_braking) * d)
        near = 1e-9 * (1 + np.abs(u))
        pushes = [*np.eye(len(u))[u >= upper - near], *-np.eye(len(u))[u <= lower + near]]
        if stop.braking <= 1e-9 * (1 + np.abs(drift).max()):
            pushes.append(d @ J)
        gap = nnls(np.array(pushes).T, -gradient)[1] if pushes else np.linalg.norm(gradient)
        assert gap <= 1e-7 * (1 + np.linalg.norm(J.T) * (np.linalg.norm(drift) + weight**2 * abs(stop.most_braking)))
        hardest = np.where(d @ J > 0, lower, upper)
        swerve = np.linalg.norm((np.eye(len(d)) - np.outer(d, d)) @ (J @ hardest + drift))
        assert stop.deviation <= swerve * (1 + 1e-9) + 1e-9
        assert stop.most_braking - stop.braking <= swerve / weight + 1e-8


def test_a_greater_weight_brakes_more_and_deviates_more():
    for J, drift, p, lower, upper, _ in lost_states(np.random.default_rng(10), 50):
        stops = [
            fastest_stop(J, drift, p, (lower, upper), weight=w, velocity_of="tool")
            for w in (0.01, 0.1, 1.0, 10.0, 100.0)
        ]
        scale = 1e-7 * (1 + np.abs(drift).max())
        assert (np.diff([stop.braking for stop in stops]) >= -scale).all()
        assert (np.diff([stop.deviation for stop in stops]) >= -scale).all()


def test_a_direction_kept_only_by_speeding_up_is_told():
    stop = fastest_stop([[1.0]], [5.0], [1.0], [2.0], velocity_of="tool")
    assert stop.rate == pytest.approx(-3.0)
    assert not stop.feasible
    assert stop.acceleration == pytest.approx([-2.0])
    assert "speeding up" in stop.account
    # Here the line can be kept only while speeding up, and left while braking: the latter is done.
    J = np.array([[1.0, 1.0], [1.0, -1.0]])
    stop = fastest_stop(J, [2.0, -3.0], [1.0, 0.0], [2.0, 2.0], velocity_of="tool")
    assert stop.rate == pytest.approx(-1.0)
    assert stop.interval == pytest.approx((-3.0, -1.0))
    assert not stop.feasible
    assert stop.braking > 1.9


def test_a_singular_jacobian_that_cannot_reach_the_drift_is_infeasible_by_any_bounds():
    stop = fastest_stop([[1.0, 0.0], [0.0, 0.0]], [0.0, 1.0], [1.0, 0.0], [2.0, 2.0], velocity_of="tool")
    assert not stop.feasible
    assert stop.relaxation == math.inf
    assert stop.deviation == pytest.approx(1.0)
    assert stop.acceleration == pytest.approx([-2.0, 0.0], abs=1e-12)
    reached = fastest_stop([[1.0, 0.0], [1.0, 0.0]], [1.0, 1.0], [1.0, 1.0], [2.0, 2.0], velocity_of="tool")
    assert reached.rate == pytest.approx(1.0)


# ------------------------------------------------------------------ bad input


def test_bad_input_is_named():
    with pytest.raises(NotFinite, match="drift"):
        fastest_stop(J_TRUE, [math.nan, 0], V, U)
    with pytest.raises(NotFinite, match="J must be finite"):
        fastest_stop(np.full((2, 3), math.inf), H, [1.0, 0.0], U)
    with pytest.raises(NotFinite, match="limits"):
        fastest_stop(J_TRUE, H, V, [math.nan, 1, 1])
    with pytest.raises(NotFinite, match="mass_matrix"):
        fastest_stop(J_TRUE, H, V, TorqueBounds(np.full((3, 3), math.nan), np.zeros(3), U))
    with pytest.raises(NotFinite, match="bias"):
        fastest_stop(J_TRUE, H, V, TorqueBounds(np.eye(3), [math.inf, 0.0, 0.0], U))
    with pytest.raises(BadShape, match="mass_matrix"):
        fastest_stop(J_TRUE, H, V, TorqueBounds(np.eye(2), np.zeros(3), U))
    with pytest.raises(InvalidInput, match=r"exclude.*other"):
        fastest_stop(J_TRUE, H, V, ([2.0, 0, 0], [1.0, 1, 1]))
    with pytest.raises(InvalidInput, match=r"both.*finite"):
        fastest_stop(J_TRUE, H, V, ([-math.inf, -1, -1], [1.0, 1, 1]))
    with pytest.raises(BadShape, match=r"velocity.*2"):
        fastest_stop(J_TRUE, H, [1.0], U)
    with pytest.raises(BadShape, match="drift"):
        fastest_stop(J_TRUE, [1.0], V, U)
    with pytest.raises(BadShape, match="limits"):
        fastest_stop(J_TRUE, H, V, [1.0])
    with pytest.raises(InvalidInput, match="not move"):
        fastest_stop(J_TRUE, H, [0.0, 0.0], U)
    with pytest.raises(InvalidInput, match="method"):
        fastest_stop(J_TRUE, H, V, U, method="fast")  # pyright: ignore[reportArgumentType]
    with pytest.raises(NoSolution, match="without end"):
        fastest_stop(J_TRUE, H, V, np.full(3, math.inf))


def test_an_unbounded_joint_is_used_freely():
    bounds = ([-1.0, -math.inf], [1.0, math.inf])
    stop = fastest_stop([[1.0, 1.0], [0.0, 1.0]], [0.0, 3.0], [1.0, 0.0], bounds, velocity_of="tool")
    assert stop.acceleration == pytest.approx([-1.0, -3.0])
    assert stop.rate == pytest.approx(4.0)
    # Kept only while speeding up, and nothing bounds how hard the tool could brake off its line: no trade.
    with pytest.raises(NoSolution, match="without end"):
        fastest_stop([[1.0, 1.0], [0.0, 1.0]], [0.0, -3.0], [1.0, 0.0], bounds, velocity_of="tool")


# ------------------------------------------------------------------ what it says about itself


def test_the_documents_vectors_and_rates_are_returned():
    # The document's own numbers, from its Jacobian with the slip; then the true ones of the audit.
    printed = fastest_stop(J_PRINTED, H, V, U, method="pseudoinverse")
    assert printed.a == pytest.approx([-PI, -PI, 0.0], abs=1e-12)
    assert printed.b == pytest.approx(np.array([2.0, 7.0, 5.0]) * PI**2 / 3, rel=1e-12)
    faster = fastest_stop(J_PRINTED, H * 2.25, V * 1.5, U, method="pseudoinverse")
    assert faster.rates == pytest.approx([13.1416, 17.6622, -math.inf], abs=5e-5)
    true = fastest_stop(J_TRUE, H, V, U)
    assert true.b == pytest.approx(np.array([10.0, -1.0, -11.0]) * PI**2 / 3, rel=1e-12)
    assert true.rates[2] == -math.inf
    assert true.active.tolist() == [0, -1, -1]


def test_the_interval_of_rates_is_that_of_highs():
    rng, seen = np.random.default_rng(8), 0
    for _ in range(100):
        J, p, drift, lower, upper = stop_problem(rng)
        most, least = highs(J, p, -drift, lower, upper), highs(J, -p, -drift, lower, upper)
        stop = fastest_stop(J, drift, p, (lower, upper), velocity_of="tool")
        assert (most is None) == (stop.interval is None)
        if most is not None and least is not None:
            seen += 1
            assert stop.interval == pytest.approx((-least, most), rel=1e-7, abs=1e-7)
    assert seen > 20


def test_the_pseudoinverse_interval_holds_exactly_the_rates_that_keep_the_bounds():
    rng, seen = np.random.default_rng(8), 0
    for _ in range(200):
        J, p, drift, lower, upper = stop_problem(rng)
        stop = fastest_stop(J, drift, p, (lower, upper), method="pseudoinverse", velocity_of="tool")
        if stop.interval is None or not np.isfinite(stop.interval).all() or np.diff(stop.interval) < 1e-3:
            continue
        seen += 1
        low, high = stop.interval
        for share, kept in ((-0.01, False), (0.01, True), (0.5, True), (0.99, True), (1.01, False)):
            u = stop.a * (low + share * (high - low)) + stop.b
            assert kept == bool(((u <= upper + 1e-12) & (u >= lower - 1e-12)).all())
    assert seen > 10


def test_joint_velocities_in_the_null_space_are_refused():
    null = np.array([1.0, -1.0, 1.0])  # of J at (0, π/2, π/2); in floating point J q̇ is 1e-16, not 0
    robot = pp.load_robot("planar3", length=1.0)
    q = np.array([0, PI / 2, PI / 2])
    for J in (J_TRUE, robot.jacobian(q)[:2]):
        with pytest.raises(InvalidInput, match=r"null space.*J"):
            fastest_stop(J, H, 3.0 * null, U)
    assert fastest_stop(J_TRUE, H, 3.0 * null + 1e-6 * V, U).rate > -math.inf


def test_torque_and_acceleration_bounds_hold_together():
    rng, robot = np.random.default_rng(4), pp.load_robot("panda")
    tighter = 0
    for _ in range(40):
        q, v = robot.home + rng.uniform(-0.5, 0.5, 7), rng.uniform(-1, 1, 7)
        t = robot.terms(q, v)
        J, drift, torque, fast = t.J[:3], t.drift[:3], robot.limits.torque * 0.4, 2 * robot.limits.acceleration
        both = fastest_stop(J, drift, v, TorqueBounds(t.M, t.bias, torque, acceleration=fast))
        assert both.torque is not None
        assert (np.abs(both.torque) <= torque).all()
        assert (np.abs(both.acceleration) <= fast * (1 + 1e-12)).all()
        found = linprog(
            np.r_[np.zeros(7), -1.0],
            A_eq=np.column_stack([J, J @ v]),
            b_eq=-drift,
            A_ub=np.vstack([np.column_stack([t.M, np.zeros(7)]), np.column_stack([-t.M, np.zeros(7)])]),
            b_ub=np.concatenate([torque - t.bias, torque + t.bias]),
            bounds=[*zip(-fast, fast), (None, None)],
        )
        assert (found.status == 0) == np.isfinite(both.rate)
        if found.status == 0:
            assert both.rate == pytest.approx(found.x[-1], rel=1e-7)
            tighter += both.rate < fastest_stop(J, drift, v, fast).rate - 1e-6
    assert tighter > 3


def test_torques_and_accelerations_that_exclude_each_other_are_widened_and_told():
    robot = pp.load_robot("panda")
    q, v = robot.home, np.full(7, 0.3)
    t = robot.terms(q, v)
    weak = TorqueBounds(t.M, t.bias, np.full(7, 0.01), acceleration=np.full(7, 0.1))  # it falls faster than that
    stop = fastest_stop(t.J[:3], t.drift[:3], v, weak)
    assert stop.conflict > 1
    assert stop.violation > 0


def test_bad_weights_are_refused():
    for weight in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidInput, match="weight"):
            fastest_stop(J_TRUE, H, V, U, weight=weight)


def test_the_function_is_where_the_public_face_says():
    assert pp.control.fastest_stop is fastest_stop
    assert pp.control.fastest_stop(J_TRUE, H, V, U).rate == pytest.approx(20 - 4 * PI)


# ------------------------------------------------------------------ tick after tick


def stop_from(problem: StopProblem, arm: pp.Robot, q, v, torque) -> tuple[list[float], float, int]:
    """Fill a tick's numbers in, solve, and say what came out: u, rate, status."""
    t, s, bound = arm.terms(q, v), problem, arm.limits.acceleration
    s.J[:], s.drift[:], s.line[:], s.velocity[:] = t.J[:3], t.drift[:3], t.J[:3] @ v, t.J[:3] @ v
    s.C[:], s.most = np.vstack([np.eye(7), t.M]), 1000.0
    s.lower[:], s.upper[:] = np.r_[-bound, -torque - t.bias], np.r_[bound, torque - t.bias]
    find_stop(s.address)
    return s.u.tolist(), s.rate, s.status


def test_a_stop_that_begins_with_the_last_ticks_bounds_is_the_one_found_from_nothing():
    """Along motions whose bounds change on the way; lost lines and conflicts among them."""
    panda, rng, seen = pp.load_robot("panda"), np.random.default_rng(11), set()
    for _ in range(60):
        warm = make_stop(7, 3, 14)
        q, v = panda.home + rng.normal(size=7) * 0.3, rng.normal(size=7) * rng.uniform(0.2, 1.5)
        torque = np.abs(panda.bias(q, v)) * rng.uniform(0.9, 1.3) + rng.uniform(1.0, 30.0)
        for _ in range(15):
            u, rate, status = stop_from(warm, panda, q, v, torque)
            cold = make_stop(7, 3, 14)
            other, other_rate, other_status = stop_from(cold, panda, q, v, torque)
            assert status == other_status
            assert u == pytest.approx(other, rel=1e-9, abs=1e-9)
            assert rate == pytest.approx(other_rate, rel=1e-9)
            seen.add((status, tuple(cold.holding)))
            q, v = q + 0.01 * v, v + 0.01 * np.array(u)
    assert {FOUND, LOST} <= {status for status, _ in seen}
    assert len(seen) > 60


def test_bounds_that_held_the_last_stop_are_left_where_they_no_longer_should():
    """The opposite motion, and wider bounds, right after a stop: nothing of it may be kept."""
    panda = pp.load_robot("panda")
    q, v, torque = panda.home, np.array([0.5, -0.4, 0.3, 0.6, -0.2, 0.4, 0.1]), panda.limits.torque
    tight = np.abs(panda.bias(q, v)) + 3.0
    for later_v, later_torque in ((-v, tight), (v, torque), (0.3 * v[::-1], tight)):
        warm, cold = make_stop(7, 3, 14), make_stop(7, 3, 14)
        stop_from(warm, panda, q, v, tight)
        assert stop_from(warm, panda, q, later_v, later_torque)[0] == pytest.approx(
            stop_from(cold, panda, q, later_v, later_torque)[0], rel=1e-9, abs=1e-9
        )


def test_with_a_square_jacobian_one_says_whose_velocity_is_given():
    J, drift, qd = np.array([[1.0, 1.0], [0.0, 1.0]]), [0.0, 3.0], np.array([1.0, 2.0])
    with pytest.raises(InvalidInput, match="velocity_of"):
        fastest_stop(J, drift, qd, [9.0, 9.0])
    of_joints = fastest_stop(J, drift, qd, [9.0, 9.0], velocity_of="joints")
    of_tool = fastest_stop(J, drift, J @ qd, [9.0, 9.0], velocity_of="tool")
    assert of_joints.rate == of_tool.rate
    assert of_joints.rate != fastest_stop(J, drift, qd, [9.0, 9.0], velocity_of="tool").rate
    with pytest.raises(BadShape, match="3 \\(joint\\)"):
        fastest_stop(J_TRUE, H, [1.0, 0.0], U, velocity_of="joints")

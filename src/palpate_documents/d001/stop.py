"""Document 001: the method of the fastest stop along a line (exercise 1)."""

from __future__ import annotations

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Evidence
from palpate_documents.compare import arithmetic, corrected, formulas, printed, says
from palpate_documents.d001 import DOCUMENT
from palpate_documents.d001.stop_arm import (
    BOUNDS,
    Q0,
    V0,
    XY,
    arm,
    drift,
    jacobian,
    own_law,
    own_stop,
    rods,
    scalar_rate,
    true_stop,
)
from palpate_documents.stop_law import printed_stop

SLOW = 0.5  # times the document's speed: there the pseudo-inverse law has an answer on the true robot


def _claim_1(c: Claim) -> Evidence:
    q, v, u, h = np.array([0.3, -0.7, 1.1]), np.array([0.5, -1.2, 0.8]), np.array([1.0, 2.0, -3.0]), 1e-3

    def tip(t: float) -> np.ndarray:
        return arm().pose(q + v * t + u * t * t / 2).position[:2]

    # Fourth-order central difference.
    far, near = tip(2 * h) + tip(-2 * h), tip(h) + tip(-h)
    acceleration = (4 / 3 * near - far / 12 - 5 / 2 * tip(0)) / h**2
    yield printed("p̈ [m/s²]", jacobian(q) @ u + drift(v, q), acceleration, 1e-7)


def _claim_h_quadratic(c: Claim) -> Evidence:
    yield printed("h at 1.5 q̇ [m/s²]", 2.25 * drift(V0), drift(1.5 * V0))


def _claim_2(c: Claim) -> Evidence:
    stop = true_stop(SLOW, "pseudoinverse")
    v, J = SLOW * V0, jacobian()
    shortest = pp.control.solve.priorities.pseudo_inverse(J, -stop.rate * (J @ v) - drift(v))
    yield printed("u_0 [rad/s²]", shortest, stop.acceleration)
    yield printed("J u + h = −λ ṗ [m/s²]", -stop.rate * (J @ v), J @ stop.acceleration + drift(v))


def _claim_3(c: Claim) -> Evidence:
    stop, inverse = true_stop(SLOW, "pseudoinverse"), pp.control.solve.priorities.pseudo_inverse
    yield printed("a [rad/s]", -inverse(jacobian(), SLOW * jacobian() @ V0), stop.a)
    yield printed("b [rad/s²]", -inverse(jacobian(), drift(SLOW * V0)), stop.b)
    yield printed("u = a λ + b [rad/s²]", stop.a * stop.rate + stop.b, stop.acceleration)


def _claim_a_not_zero(c: Claim) -> Evidence:
    rng, gap = np.random.default_rng(0), 0.0
    for _ in range(20):
        q, v = rng.uniform(-3, 3, 3), rng.normal(size=3)
        a = pp.control.fastest_stop(jacobian(q), drift(v, q), v, 1e3 * BOUNDS, method="pseudoinverse").a
        gap = max(gap, float(np.abs(jacobian(q) @ (a + v)).max()))
    yield printed("largest |J a + ṗ| of 20 states [m/s]", 0.0, gap)


def _claim_footnote_1(c: Claim) -> Evidence:
    one = true_stop(SLOW, "pseudoinverse").interval
    v = SLOW * V0
    other = pp.control.fastest_stop(jacobian(), -drift(v), -v, BOUNDS, method="pseudoinverse").interval
    yield printed("λ between [1/s]", one, other)


def _claim_4(c: Claim) -> Evidence:
    from scipy.optimize import linprog

    stop = true_stop(SLOW, "pseudoinverse")
    A, limits = np.vstack([stop.a[:, None], -stop.a[:, None]]), np.concatenate([BOUNDS - stop.b, BOUNDS + stop.b])
    solution = linprog([-1.0], A_ub=A, b_ub=limits, bounds=[(0, None)])
    yield printed("λ* [1/s]", solution.x[0], stop.rate, 1e-7)


def _claim_4_optimal(c: Claim) -> Evidence:
    from scipy.optimize import linprog

    best, limited = true_stop(1.0), true_stop(1.0, "pseudoinverse")
    yield printed("λ* [1/s]", limited.rate, best.rate)
    A = np.column_stack([jacobian(), jacobian() @ V0])
    solution = linprog([0, 0, 0, -1.0], A_eq=A, b_eq=-drift(V0), bounds=[(-u, u) for u in BOUNDS] + [(None, None)])
    yield corrected("λ* of the whole problem [1/s]", solution.x[3], best.rate, 1e-7)
    yield corrected("λ* = 20 − 4π [1/s]", 20 - 4 * np.pi, best.rate)
    yield corrected("u [rad/s²]", [14.317868804289, -31.415926535898, -31.415926535898], best.acceleration)


def _claim_4_lambda_zero(c: Claim) -> Evidence:
    v = SLOW * V0
    b = true_stop(SLOW, "pseudoinverse").b
    bounds = np.array([1e3, abs(b[1]), abs(b[2])])  # a_2 < 0 and b_2 < 0: any λ > 0 takes u_2 beyond −|b_2|
    stop = pp.control.fastest_stop(jacobian(), drift(v), v, bounds, method="pseudoinverse")
    yield printed("λ* [1/s]", 0.0, stop.rate, 1e-9)
    yield printed("p̈ [m/s²]", [0, 0], jacobian() @ stop.acceleration + drift(v))


_CASES = {
    "5a": (-2.0, -3.0, -np.inf), "5b": (2.0, -3.0, 2.0), "5c": (-2.0, 0.5, 0.75), "5d": (0.0, 0.5, np.inf),
    "5e": (-2.0, 3.0, 2.0), "5f": (2.0, 3.0, -np.inf),
}  # fmt: skip


def _case_of_five(c: Claim) -> Evidence:
    a, b, value = _CASES[c.id.partition(".")[2]]
    yield printed(f"λ_i for a = {a:g}, b = {b:g}, U = 1 [1/s]", value, scalar_rate(a, b, 1.0))


for _case in _CASES:
    DOCUMENT.check(_case)(_case_of_five)


def _claim_5_bound(c: Claim) -> Evidence:
    U, b, a = 1.0, 0.0, -2.0
    counted = bool(np.isfinite(scalar_rate(a, b, U)))
    yield says("printed", "a case of (5) covers b = 0, U = 1", U <= b <= U, counted)
    yield says("corrected", "a case of (5) covers b = 0, U = 1", -U <= b <= U, counted)


def _claim_6(c: Claim) -> Evidence:
    J, a, b, U = np.eye(2), np.array([-1.0, -1]), np.array([3.0, 0]), [1.0, 1]
    law, right = (
        printed_stop(J, -b, -a, U),
        pp.control.fastest_stop(J, -b, -a, U, method="pseudoinverse", velocity_of="tool"),
    )
    yield arithmetic("λ* by (5)–(6) [1/s]", 1.0, law.rate)
    yield arithmetic("u = a λ* + b [rad/s²]", [2, -1], law.acceleration)
    yield printed("u within its bounds: excess [rad/s²]", 0.0, law.excess)
    yield corrected("λ* with lower bounds [1/s]", -np.inf, right.rate)
    yield corrected("least λ that joint 1 allows, most that joint 2 allows [1/s]", [2.0, 1.0], [
        right.a[0] * -2.0, scalar_rate(-1, 0, 1.0)])  # fmt: skip


def _claim_bullets(c: Claim) -> Evidence:
    stop = own_law(1.0)
    yield says("printed", "u_0 = b holds without a condition", True, bool(np.allclose(stop.acceleration, stop.b)))
    yield corrected("u_0* = a λ* + b for λ* > 0 [rad/s²]", stop.a * stop.rate + stop.b, stop.acceleration)


def _claim_bullet_none(c: Claim) -> Evidence:
    yield says("printed", "no λ keeps a λ + b in bounds at 1.5 times the speed", True,
               own_stop(1.5, "pseudoinverse").interval is None)  # fmt: skip


def _claim_saturates(c: Claim) -> Evidence:
    for label, stop in (
        ("printed data, law", own_law(1.0)),
        ("printed data 1.3×, law", own_law(1.3)),
        ("true robot, optimum", true_stop(1.0)),
    ):
        yield says("printed", f"{label}: a joint is at its bound", True, bool(stop.active.any()))


def _claim_no_direction(c: Claim) -> Evidence:
    law, best = own_law(1.5), own_stop(1.5)
    yield printed("λ* [1/s]", law.rate, best.rate)
    yield corrected("λ* of the whole problem [1/s]", 11.954277686282, best.rate, 1e-9)
    yield corrected("u [rad/s²]", [-47.1238898038, 1.0773066366, 31.4159265359], best.acceleration, 1e-9)


formulas(DOCUMENT, {"7": ("J", rods), "Jdot": ("Jdot", rods), "h": ("h", rods)})


def _claim_h_product(c: Claim) -> Evidence:
    t = 1e-5
    rate = (XY @ (arm().jacobian(Q0 + t * V0) - arm().jacobian(Q0 - t * V0))) / (2 * t)
    yield printed("J̇ q̇ [m/s²]", rate @ V0, drift(V0), 1e-6)

"""Document 001, exercise 1: the method."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Comparison
from palpate_documents.compare import arithmetic, corrected, formula, printed, says
from palpate_documents.d001.about import (
    BOUNDS,
    DOCUMENT,
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
Evidence = Iterator[Comparison]


@DOCUMENT.claim(
    "1", "(1)", r"\ddot{p} = J(q)\ddot{q} + \dot{J}(q)\dot{q} = J(q) u + h(q,\dot{q})",
    how="second difference of robot.pose along q(t) against J u + robot.jacobian_drift", rows="1",
)  # fmt: skip
def _second_order_kinematics(c: Claim) -> Evidence:
    """J̇ depends on q̇ as well, which the document's J̇(q) does not say."""
    q, v, u, h = np.array([0.3, -0.7, 1.1]), np.array([0.5, -1.2, 0.8]), np.array([1.0, 2.0, -3.0]), 1e-3

    def tip(t: float) -> np.ndarray:
        return arm().pose(q + v * t + u * t * t / 2).position[:2]

    # Fourth-order central difference.
    far, near = tip(2 * h) + tip(-2 * h), tip(h) + tip(-h)
    acceleration = (4 / 3 * near - far / 12 - 5 / 2 * tip(0)) / h**2
    yield printed("p̈ [m/s²]", jacobian(q) @ u + drift(v, q), acceleration, 1e-7)


@DOCUMENT.claim(
    "h-quadratic", "below (1)", r"h(q, \alpha \dot{q}) = \alpha^2 h(q, \dot{q})", how="robot.jacobian_drift", rows="1"
)
def _quadratic(c: Claim) -> Evidence:
    """h is quadratic in the joint velocities."""
    yield printed("h at 1.5 q̇ [m/s²]", 2.25 * drift(V0), drift(1.5 * V0))


@DOCUMENT.claim(
    "2", "(2)", r"u_0 = J_0^{\#} (\ddot{p}_0 - h_0) = -\lambda J_0^{\#} J_0 \dot{q}_0 - J_0^{\#} \dot{J}_0 \dot{q}_0",
    how='control.fastest_stop(method="pseudoinverse") on the true robot at half speed', rows="2",
)  # fmt: skip
def _pseudoinverse_command(c: Claim) -> Evidence:
    """Of all u with J u + h = −λ ṗ it is the shortest; that it is the only one looked at is the trouble of (4)."""
    stop = true_stop(SLOW, "pseudoinverse")
    v, J = SLOW * V0, jacobian()
    shortest = pp.control.solve.priorities.pseudo_inverse(J, -stop.rate * (J @ v) - drift(v))
    yield printed("u_0 [rad/s²]", shortest, stop.acceleration)
    yield printed("J u + h = −λ ṗ [m/s²]", -stop.rate * (J @ v), J @ stop.acceleration + drift(v))


@DOCUMENT.claim(
    "3", "(3)", r"a = -J_0^{\#} J_0 \dot{q}_0, \quad b = -J_0^{\#} \dot{J}_0 \dot{q}_0",
    how="Stop.a, Stop.b against solve.priorities.pseudo_inverse", rows="2",
)  # fmt: skip
def _a_and_b(c: Claim) -> Evidence:
    """With these u = a λ + b."""
    stop, inverse = true_stop(SLOW, "pseudoinverse"), pp.control.solve.priorities.pseudo_inverse
    yield printed("a [rad/s]", -inverse(jacobian(), SLOW * jacobian() @ V0), stop.a)
    yield printed("b [rad/s²]", -inverse(jacobian(), drift(SLOW * V0)), stop.b)
    yield printed("u = a λ + b [rad/s²]", stop.a * stop.rate + stop.b, stop.acceleration)


@DOCUMENT.claim(
    "a-not-zero", "below (4)", r"a \neq 0 \; \text{whenever} \; \dot{p}_0 = J_0 \dot{q}_0 \neq 0",
    how="Stop.a at random states", rows="2",
)  # fmt: skip
def _a_is_not_zero(c: Claim) -> Evidence:
    """J a = −ṗ, so a cannot vanish where ṗ does not."""
    rng, gap = np.random.default_rng(0), 0.0
    for _ in range(20):
        q, v = rng.uniform(-3, 3, 3), rng.normal(size=3)
        a = pp.control.fastest_stop(jacobian(q), drift(v, q), v, 1e3 * BOUNDS, method="pseudoinverse").a
        gap = max(gap, float(np.abs(jacobian(q) @ (a + v)).max()))
    yield printed("largest |J a + ṗ| of 20 states [m/s]", 0.0, gap)


@DOCUMENT.claim(
    "footnote-1", "footnote 1", r"-U \le a\lambda + b \le U \iff -U \le -a\lambda - b \le U",
    how="Stop.interval with h and q̇ reversed", rows="2",
)  # fmt: skip
def _either_sign(c: Claim) -> Evidence:
    """True because the bounds are symmetric."""
    one = true_stop(SLOW, "pseudoinverse").interval
    v = SLOW * V0
    other = pp.control.fastest_stop(jacobian(), -drift(v), -v, BOUNDS, method="pseudoinverse").interval
    yield printed("λ between [1/s]", one, other)


@DOCUMENT.claim(
    "4", "(4)", r"\max \lambda \quad \text{s.t.} \quad -U_{max} \le a \lambda + b \le U_{max}, \quad \lambda \ge 0",
    how='fastest_stop(method="pseudoinverse") against a linear program (SciPy, HiGHS)', rows="2",
)  # fmt: skip
def _linear_program(c: Claim) -> Evidence:
    """As mathematics of the restricted problem it is right: one unknown, two bounds per joint."""
    from scipy.optimize import linprog

    stop = true_stop(SLOW, "pseudoinverse")
    A, limits = np.vstack([stop.a[:, None], -stop.a[:, None]]), np.concatenate([BOUNDS - stop.b, BOUNDS + stop.b])
    found = linprog([-1.0], A_ub=A, b_ub=limits, bounds=[(0, None)])
    yield printed("λ* [1/s]", found.x[0], stop.rate, 1e-7)


@DOCUMENT.claim(
    "4-optimal", "before (2), exercise 1",
    r"\lambda^* = \max \lambda \; \text{s.t.} \; |J_0^{\#}(-\lambda \dot{p}_0 - h_0)| \le U_{max}", "wrong",
    how='fastest_stop(method="optimal"), its λ by HiGHS over (u, λ)',
    corrected=r"\lambda^* = \max_{u, \lambda} \lambda \; \text{s.t.} \; J_0 u + h_0 = -\lambda \dot{p}_0, \; "
    r"|u| \le U_{max}; \quad \text{then} \; \min |u|",
    rows="2",
)  # fmt: skip
def _not_the_optimum(c: Claim) -> Evidence:
    """The exercise asks for the fastest feasible stop and, among several, the shortest command. The solution fixes u
    to the shortest command first and looks for the fastest stop among those: another problem. On the document's own
    robot and state it finds nothing, while a stop with λ = 20 − 4π exists."""
    from scipy.optimize import linprog

    best, limited = true_stop(1.0), true_stop(1.0, "pseudoinverse")
    yield printed("λ* [1/s]", limited.rate, best.rate)
    A = np.column_stack([jacobian(), jacobian() @ V0])
    found = linprog([0, 0, 0, -1.0], A_eq=A, b_eq=-drift(V0), bounds=[(-u, u) for u in BOUNDS] + [(None, None)])
    yield corrected("λ* of the whole problem [1/s]", found.x[3], best.rate, 1e-7)
    yield corrected("λ* = 20 − 4π [1/s]", 20 - 4 * np.pi, best.rate)
    yield corrected("u [rad/s²]", [14.317868804289, -31.415926535898, -31.415926535898], best.acceleration)


@DOCUMENT.claim(
    "4-lambda-zero", "below (4)", r"\lambda = 0: \; u_0 = b, \quad \ddot{p}_0 = J_0 b + h_0 = 0",
    how="fastest_stop with bounds that leave λ = 0 only", rows="5 25",
)  # fmt: skip
def _no_deceleration(c: Claim) -> Evidence:
    """With bounds that b just meets, λ* = 0: the velocity is kept, the tip may not decelerate."""
    v = SLOW * V0
    b = true_stop(SLOW, "pseudoinverse").b
    bounds = np.array([1e3, abs(b[1]), abs(b[2])])  # a_2 < 0 and b_2 < 0: any λ > 0 takes u_2 beyond −|b_2|
    stop = pp.control.fastest_stop(jacobian(), drift(v), v, bounds, method="pseudoinverse")
    yield printed("λ* [1/s]", 0.0, stop.rate, 1e-9)
    yield printed("p̈ [m/s²]", [0, 0], jacobian() @ stop.acceleration + drift(v))


_CASES = (
    ("5a", r"\lambda_i = -\infty \quad \text{if } b_i < -U_i \text{ and } a_i \le 0", -2.0, -3.0, -np.inf, "3 4"),
    ("5b", r"\lambda_i = \frac{U_i - b_i}{a_i} \quad \text{if } b_i < -U_i \text{ and } a_i > 0", 2.0, -3.0, 2.0, "4"),
    ("5c", r"\lambda_i = \max\{-\frac{U_i + b_i}{a_i}, \frac{U_i - b_i}{a_i}\} \quad \text{if } -U_i \le b_i \le U_i"
     r" \text{ and } a_i \neq 0", -2.0, 0.5, 0.75, "4"),
    ("5d", r"\lambda_i = +\infty \quad \text{if } -U_i \le b_i \le U_i \text{ and } a_i = 0", 0.0, 0.5, np.inf, "4"),
    ("5e", r"\lambda_i = -\frac{U_i + b_i}{a_i} \quad \text{if } b_i > U_i \text{ and } a_i < 0", -2.0, 3.0, 2.0, "4"),
    ("5f", r"\lambda_i = -\infty \quad \text{if } b_i > U_i \text{ and } a_i \ge 0", 2.0, 3.0, -np.inf, "4"),
)  # fmt: skip


def _case_of_five(name: str, text: str, a: float, b: float, value: float, rows: str) -> None:
    @DOCUMENT.claim(name, "(5)", text, how="Stop.rates of one joint with U = 1", rows=rows)
    def _one_case(c: Claim) -> Evidence:
        """One line of (5), as the largest λ ≥ 0 that this joint alone allows; for lines 3 and 4 with the bound read as
        −U ≤ b ≤ U."""
        yield printed(f"λ_i for a = {a:g}, b = {b:g}, U = 1 [1/s]", value, scalar_rate(a, b, 1.0))


for _case in _CASES:
    _case_of_five(*_case)


@DOCUMENT.claim(
    "5-bound", "(5), lines 3 and 4", r"U_{max,i} \le b_i \le U_{max,i}", "typo",
    how="Stop.rates for b between the bounds", corrected=r"-U_{max,i} \le b_i \le U_{max,i}", rows="3",
)  # fmt: skip
def _lost_sign(c: Claim) -> Evidence:
    """A minus sign is lost: as it stands no case applies to a joint that starts within its bounds."""
    U, b, a = 1.0, 0.0, -2.0
    counted = bool(np.isfinite(scalar_rate(a, b, U)))
    yield says("printed", "a case of (5) covers b = 0, U = 1", U <= b <= U, counted)
    yield says("corrected", "a case of (5) covers b = 0, U = 1", -U <= b <= U, counted)


@DOCUMENT.claim(
    "6", "(6)", r"\lambda^* = \min_{i} \lambda_i", "wrong",
    how='(5) and (6) against fastest_stop(method="pseudoinverse")',
    corrected=r"\lambda^* = \min_i \lambda_i \; \text{if} \; \lambda^* \ge \max_i \lambda_{low,i}, \; "
    r"\text{else} \; -\infty",
    rows="4",
)  # fmt: skip
def _lower_bounds_forgotten(c: Claim) -> Evidence:
    """Joints that start outside their bounds (cases 2 and 5) also ask for a least λ. The minimum of the upper bounds
    forgets it: with a = (−1, −1), b = (3, 0), U = (1, 1) it gives λ* = 1 and u = (2, −1), twice the bound."""
    J, a, b, U = np.eye(2), np.array([-1.0, -1]), np.array([3.0, 0]), [1.0, 1]
    law, right = printed_stop(J, -b, -a, U), pp.control.fastest_stop(J, -b, -a, U, method="pseudoinverse")
    yield arithmetic("λ* by (5)–(6) [1/s]", 1.0, law.rate)
    yield arithmetic("u = a λ* + b [rad/s²]", [2, -1], law.acceleration)
    yield printed("u within its bounds: excess [rad/s²]", 0.0, law.excess)
    yield corrected("λ* with lower bounds [1/s]", -np.inf, right.rate)
    yield corrected("least λ that joint 1 allows, most that joint 2 allows [1/s]", [2.0, 1.0], [
        right.a[0] * -2.0, scalar_rate(-1, 0, 1.0)])  # fmt: skip


@DOCUMENT.claim(
    "bullets", "list after (6)", r"\Rightarrow \lambda^* \text{ is the optimal solution}; \quad \Rightarrow u_0 = "
    r"-J_0^{\#} \dot{J}_0 \dot{q}_0", "typo",
    how="fastest_stop with the document's data",
    corrected=r"\lambda^* > 0 \Rightarrow u_0^* = a\lambda^* + b; \quad \lambda^* = 0 \Rightarrow u_0 = b",
    rows="5",
)  # fmt: skip
def _conditions_lost(c: Claim) -> Evidence:
    """The conditions of the first two points are lost in print; with them the points are right."""
    stop = own_law(1.0)
    yield says("printed", "u_0 = b holds without a condition", True, bool(np.allclose(stop.acceleration, stop.b)))
    yield corrected("u_0* = a λ* + b for λ* > 0 [rad/s²]", stop.a * stop.rate + stop.b, stop.acceleration)


@DOCUMENT.claim(
    "bullet-none", "list after (6)", r"\lambda^* = -\infty \Rightarrow \text{the feasible set of (4) is empty}",
    how="Stop.interval", rows="5",
)  # fmt: skip
def _empty(c: Claim) -> Evidence:
    """Of (4), that is of commands u = a λ + b; not of all commands (see no-direction)."""
    yield says("printed", "no λ keeps a λ + b in bounds at 1.5 times the speed", True,
               own_stop(1.5, "pseudoinverse").interval is None)  # fmt: skip


@DOCUMENT.claim("saturates", "below (6)", r"\exists i: |u^*_{0,i}| = U_{max,i}", how="Stop.active", rows="25")
def _one_saturates(c: Claim) -> Evidence:
    """At the largest λ some joint is at its bound, for the restricted and for the whole problem."""
    for label, stop in (
        ("printed data, law", own_law(1.0)),
        ("printed data 1.3×, law", own_law(1.3)),
        ("true robot, optimum", true_stop(1.0)),
    ):
        yield says("printed", f"{label}: a joint is at its bound", True, bool(stop.active.any()))


@DOCUMENT.claim(
    "no-direction", "below (6)",
    r"\lambda^* = -\infty \Rightarrow \text{no motion along } \dot{p}_0 \text{ (in either way)}", "wrong",
    how='fastest_stop(method="optimal") with the printed J_0', rows="6",
    corrected=r"\lambda^* = -\infty \Rightarrow \text{no } u = a\lambda + b \text{ keeps the direction; others may}",
)  # fmt: skip
def _direction_is_not_lost(c: Claim) -> Evidence:
    """Only commands of the form a λ + b fail. With the document's own data at 1.5 times the speed, where it says that
    there is no solution, another command keeps the direction and brakes with λ = 11.95 1/s."""
    law, best = own_law(1.5), own_stop(1.5)
    yield printed("λ* [1/s]", law.rate, best.rate)
    yield corrected("λ* of the whole problem [1/s]", 11.954277686282, best.rate, 1e-9)
    yield corrected("u [rad/s²]", [-47.1238898038, 1.0773066366, 31.4159265359], best.acceleration, 1e-9)


@DOCUMENT.claim(
    "7", "(7)",
    r"J(q) = L \begin{pmatrix} -(s_1 + s_{12} + s_{123}) & -(s_{12} + s_{123}) & -s_{123} \\"
    r" c_1 + c_{12} + c_{123} & c_{12} + c_{123} & c_{123} \end{pmatrix}",
    how="derive(planar3).J", rows="7",
)  # fmt: skip
def _jacobian(c: Claim) -> Evidence:
    """The formula is right; its value J_0 is not."""
    yield formula("printed", c.printed, rods(), "J")


_ROW = (
    r"%s_1 \dot{q}_1 + %s_{12} (\dot{q}_1 + \dot{q}_2) + %s_{123} (\dot{q}_1 + \dot{q}_2 + \dot{q}_3) & "
    r"%s_{12} (\dot{q}_1 + \dot{q}_2) + %s_{123} (\dot{q}_1 + \dot{q}_2 + \dot{q}_3) & "
    r"%s_{123} (\dot{q}_1 + \dot{q}_2 + \dot{q}_3)"
)
_BAD_ROW = (
    r"s_1 \dot{q}_1 + s_{12} (\dot{q}_1 + \dot{q}_2) + s_{123} (\dot{q}_1 + \dot{q}_2 + \dot{q}_3) & "
    r"s_{12} (\dot{q}_1 + \dot{q}_2 + \dot{q}_3) & 0"
)


@DOCUMENT.claim(
    "Jdot", "below (7)",
    r"\dot{J}(q) = -L \begin{pmatrix} " + _ROW % (("c",) * 6) + r" \\ " + _BAD_ROW + r" \end{pmatrix}", "typo",
    how='derive(planar3)["Jdot"]',
    corrected=r"\dot{J}(q) = -L \begin{pmatrix} " + _ROW % (("c",) * 6) + r" \\ " + _ROW % (("s",) * 6)
    + r" \end{pmatrix}",
    rows="8",
)  # fmt: skip
def _jacobian_rate(c: Claim) -> Evidence:
    """In the second row two entries have run into one (the row is printed twice, with two entries each); the value
    J̇_0 further on is that of the whole matrix."""
    yield formula("printed", c.printed, rods(), "Jdot")
    yield formula("corrected", c.corrected, rods(), "Jdot")


_H = (
    r"(%s_1 + %s_{12} + %s_{123}) \dot{q}_1^2 + 2 (%s_{12} + %s_{123}) \dot{q}_1 \dot{q}_2 + 2 %s_{123} \dot{q}_1"
    r" \dot{q}_3 + (%s_{12} + %s_{123}) \dot{q}_2^2 + 2 %s_{123} \dot{q}_2 \dot{q}_3 + %s_{123} \dot{q}_3^2"
)


@DOCUMENT.claim(
    "h", "below (7)",
    r"h(q,\dot{q}) = -L \begin{pmatrix} " + r" \\ ".join(_H % ((f,) * 10) for f in "cs") + r" \end{pmatrix}",
    how='derive(planar3)["drift"]', rows="7",
)  # fmt: skip
def _drift(c: Claim) -> Evidence:
    """J̇ q̇, multiplied out."""
    yield formula("printed", c.printed, rods(), "h")


@DOCUMENT.claim("h-product", "below (7)", r"h = \dot{J} \dot{q}", how="finite difference of robot.jacobian", rows="7")
def _drift_is_the_product(c: Claim) -> Evidence:
    """The drift is J̇ q̇ with J̇ along q̇."""
    t = 1e-5
    rate = (XY @ (arm().jacobian(Q0 + t * V0) - arm().jacobian(Q0 - t * V0))) / (2 * t)
    yield printed("J̇ q̇ [m/s²]", rate @ V0, drift(V0), 1e-6)

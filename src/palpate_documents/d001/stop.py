"""Document 001, exercise 1: the fastest stop; its robots, the method and the three numerical examples."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.tools.derive import Derivation
from palpate_documents.claim import Claim, Evidence, Trajectories
from palpate_documents.compare import arithmetic, corrected, decimals, formulas, numbers, printed, remembered, says
from palpate_documents.d001 import DOCUMENT
from palpate_documents.stop_law import PrintedStop, printed_stop

XY = np.eye(6)[:2]
Q0, V0 = np.array([0.0, pi / 2, pi / 2]), np.array([pi, pi, 0.0])
BOUNDS = np.array([15.0, 10.0, 10.0]) * pi
PRINTED_J0 = np.array([[-1.0, -1.0, 0.0], [0.0, 1.0, 1.0]])
EQUAL = {"l1": "L", "l2": "L", "l3": "L", "m1": "m", "m2": "m", "m3": "m"}
RATES: dict[str, Any] = {"coordinates": ["q1", "q2", "q3"]}


@remembered
def arm() -> pp.Robot:
    """The planar 3R arm of exercise 1, L = 1 m."""
    return pp.load_robot("planar3", length=1.0)


@remembered
def rods() -> Derivation:
    """Its equations in L and m, all links equal."""
    return pp.derive(pp.load_robot("planar3"), names=EQUAL)


def jacobian(q: Any = Q0) -> Array:
    """J(q), x and y rows."""
    return XY @ arm().jacobian(q)


def drift(v: Any, q: Any = Q0) -> Array:
    """h = J̇ q̇, x and y."""
    return XY @ arm().jacobian_drift(q, v)


def true_stop(scale: float, method: Any = "optimal") -> pp.control.Stop:
    """The stop of the robot itself from `scale` times the document's speed."""
    v = scale * V0
    return pp.control.fastest_stop(jacobian(), drift(v), v, BOUNDS, method=method)


def true_law(scale: float) -> PrintedStop:
    """What (5) and (6) make of the robot itself."""
    return printed_stop(jacobian(), drift(scale * V0), scale * V0, BOUNDS)


def own_law(scale: float) -> PrintedStop:
    """What (5) and (6) make of the document's own J_0 and h_0."""
    return printed_stop(PRINTED_J0, drift(scale * V0), scale * V0, BOUNDS)


def own_stop(scale: float, method: Any = "optimal") -> pp.control.Stop:
    """The stop that follows from the document's own J_0 and h_0."""
    v = scale * V0
    return pp.control.fastest_stop(PRINTED_J0, drift(v), v, BOUNDS, method=method)


def scalar_rate(a: float, b: float, bound: float) -> float:
    """λ_i by (5) of one joint with given a and b of (3)."""
    return float(printed_stop(np.eye(2), [-b, 0.0], [-a, -1.0], [bound, 1e6]).rates[0])


# -------------------------------- the method


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


# -------------------------------- the three numerical examples


FOUR = decimals(4)


def across(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """What a command does to the true tip: acceleration across its velocity (m/s²), and the angle off it (degrees)."""
    p, a = jacobian() @ v, jacobian() @ u + drift(v)
    along = float(p @ a / np.linalg.norm(p))
    off = float(np.linalg.norm(a - along * p / np.linalg.norm(p)))
    return off, float(np.degrees(np.arctan2(off, abs(along))))


def _claim_Umax(c: Claim) -> Evidence:
    yield printed("U_max [rad/s²]", [47.1239, 31.4159, 31.4159], BOUNDS, FOUR)


def _claim_J0(c: Claim) -> Evidence:
    yield printed("J_0 [m]", PRINTED_J0, jacobian())
    yield corrected("J_0 [m]", [[-1, -1, 0], [0, -1, -1]], jacobian())
    h = 1e-5
    columns = [(arm().pose(Q0 + h * e).position - arm().pose(Q0 - h * e).position)[:2] / (2 * h) for e in np.eye(3)]
    yield corrected("differences of the tip's position [m]", [[-1, -1, 0], [0, -1, -1]], np.transpose(columns), 1e-8)


def _claim_p0(c: Claim) -> Evidence:
    yield arithmetic("ṗ_0 with the printed J_0 [m/s]", [-2 * pi, pi], PRINTED_J0 @ V0)
    yield printed("ṗ_0 [m/s]", [-2 * pi, pi], jacobian() @ V0)
    yield corrected("ṗ_0 [m/s]", [-2 * pi, -pi], jacobian() @ V0)


def _claim_Jdot0(c: Claim) -> Evidence:
    yield printed("J̇_0 [m/s]", pi * np.array([[1.0, 2, 2], [-2, -2, 0]]), rods().function("Jdot")(Q0, V0)[:2])


def _claim_h0(c: Claim) -> Evidence:
    yield printed("h_0 [m/s²]", [3 * pi**2, -4 * pi**2], drift(V0))
    yield printed("h_0, printed decimals [m/s²]", [29.6088, -39.4784], drift(V0), FOUR)


def _claim_J0pinv(c: Claim) -> Evidence:
    inverse = pp.control.solve.priorities.pseudo_inverse
    text = np.array([[-2.0, -1], [-1, 1], [1, 2]]) / 3
    pseudoinverse = np.column_stack([inverse(jacobian(), e) for e in np.eye(2)])
    yield arithmetic(
        "J_0^# of the printed J_0 [1/m]", text, np.column_stack([inverse(PRINTED_J0, e) for e in np.eye(2)])
    )
    yield printed("J_0^# [1/m]", text, pseudoinverse)
    yield corrected("J_0^# [1/m]", np.array([[-2.0, 1], [-1, -1], [1, -2]]) / 3, pseudoinverse)


def _claim_a(c: Claim) -> Evidence:
    yield printed("a [rad/s]", [-pi, -pi, 0], true_stop(1.0, "pseudoinverse").a)


def _claim_b(c: Claim) -> Evidence:
    text, b = pi**2 / 3 * np.array([2.0, 7, 5]), true_stop(1.0, "pseudoinverse").b
    yield arithmetic("b with the printed J_0 [rad/s²]", text, own_law(1.0).b)
    yield arithmetic("its decimals [rad/s²]", [6.5797, 23.0291, 16.4493], own_law(1.0).b, FOUR)
    yield printed("b [rad/s²]", text, b)
    yield corrected("b [rad/s²]", pi**2 / 3 * np.array([10.0, -1, -11]), b)


def _claim_b_inside(c: Claim) -> Evidence:
    stop = true_stop(1.0, "pseudoinverse")
    yield says("printed", "no component of b is outside the bounds", True, bool((np.abs(stop.b) <= BOUNDS).all()))
    yield corrected("λ* of the law on the robot [1/s]", -np.inf, stop.rate)


def _plot_example_1() -> Trajectories:
    """The tip under the printed command, held for 50 ms on the true robot, and under the optimum."""
    curves = []
    for label, u in (
        ("as printed: u held on the robot", np.array([-47.1239, -30.6745, 16.4493])),
        ("right: the largest λ on the robot", true_stop(1.0).acceleration),
        ("the line of ṗ_0", None),
    ):
        t = np.linspace(0, 0.05, 60)
        if u is None:
            points = arm().pose(Q0).position[:2] + np.outer(t, jacobian() @ V0)
        else:
            points = np.array([arm().pose(Q0 + V0 * s + u * s * s / 2).position[:2] for s in t])
        curves.append((label, points[:, 0].tolist(), points[:, 1].tolist()))
    return Trajectories("The tip over the first 50 ms", "x [m]", "y [m]", tuple(curves))


_EXAMPLES = {
    1.0: ("ex1", 17.0944, (-47.1239, -30.6745, 16.4493), (107.4073, -53.7036), 17.094395102393),
    1.3: ("ex2", 14.2612, (-47.1239, -19.3245, 27.7994), (116.4873, -58.2436), 14.261175171573),
}
_OFF = {1.0: (70.62, 39.8), 1.3: (119.35, 59.4)}


def _result(scale: float) -> None:
    name, rate, u, pdd, exact = _EXAMPLES[scale]

    @DOCUMENT.check(f"{name}-lambda")
    def _rate(c: Claim) -> Evidence:
        yield arithmetic("law, printed J_0 [1/s]", rate, own_law(scale).rate, FOUR)
        yield arithmetic("law, printed J_0, all digits [1/s]", exact, own_law(scale).rate)
        yield printed("law on the robot [1/s]", rate, true_law(scale).rate, FOUR)
        wanted = 20 - 4 * pi if scale == 1.0 else -np.inf
        yield corrected("optimum on the robot [1/s]", wanted, true_stop(scale).rate)

    @DOCUMENT.check(f"{name}-u", plot=_plot_example_1 if scale == 1.0 else None)
    def _command(c: Claim) -> Evidence:
        yield arithmetic("u_0*, printed J_0 [rad/s²]", u, own_law(scale).acceleration, FOUR)
        off, angle = across(np.array(u), scale * V0)
        yield printed("acceleration across ṗ_0 on the robot [m/s²]", 0.0, off)
        yield corrected("that is [m/s², degrees]", _OFF[scale], (off, angle), 0.06)
        if scale == 1.0:
            yield corrected("u_0* [rad/s²]", [14.3179, -31.4159, -31.4159], true_stop(1.0).acceleration, FOUR)
        else:
            yield says("corrected", "any command keeps the direction", False, true_stop(scale).feasible)

    @DOCUMENT.check(f"{name}-pdd")
    def _acceleration(c: Claim) -> Evidence:
        stop = own_law(scale)
        yield arithmetic("p̈_0, printed J_0 [m/s²]", pdd, PRINTED_J0 @ stop.acceleration + drift(scale * V0), FOUR)
        yield printed("p̈_0 of the robot under the printed u [m/s²]", pdd, jacobian() @ np.array(u) + drift(scale * V0),
                      FOUR)  # fmt: skip
        best = true_stop(scale)
        if scale == 1.0:
            tip_acceleration = jacobian() @ best.acceleration + drift(V0)
            yield corrected("p̈_0 = −λ* ṗ_0 [m/s²]", -best.rate * (jacobian() @ V0), tip_acceleration)
            yield corrected("p̈_0 [m/s²]", [46.7069, 23.3534], tip_acceleration, FOUR)
        else:
            yield corrected("λ* [1/s]", -np.inf, best.rate)


_VALUES: dict[float, dict[str, Any]] = {
    1.3: dict(v=4.0841, p=(-8.1681, 4.0841), J=((4.0841, 8.1681, 8.1681), (-8.1681, -8.1681, 0)),
              h=(50.0389, -66.7185), b=(11.1198, 38.9191, 27.7994)),
    1.5: dict(v=4.7124, p=(-9.4248, 4.7124), J=((4.7124, 9.4248, 9.4248), (-9.4248, -9.4248, 0)),
              h=(66.6198, -88.8264), b=(14.8044, 51.8154, 37.0110)),
}  # fmt: skip


def _data(name: str, scale: float) -> None:
    """The changed terms of examples 2 and 3."""
    n, v = _VALUES[scale], scale * V0
    plain = {
        "qdot": ("q̇_0 [rad/s]", [n["v"], n["v"], 0], lambda: v),
        "Jdot": ("J̇_0 [m/s]", n["J"], lambda: rods().function("Jdot")(Q0, v)[:2]),
        "h": ("h_0 [m/s²]", n["h"], lambda: drift(v)),
        "a": ("a [rad/s]", [-n["v"], -n["v"], 0], lambda: true_stop(scale, "pseudoinverse").a),
    }
    for key, (label, given, computed) in plain.items():
        DOCUMENT.check(f"{name}-{key}")(
            lambda c, label=label, given=given, computed=computed: iter([printed(label, given, computed(), FOUR)])
        )

    @DOCUMENT.check(f"{name}-pdot")
    def _tip(c: Claim) -> Evidence:
        yield arithmetic("ṗ_0 with the printed J_0 [m/s]", n["p"], PRINTED_J0 @ v, FOUR)
        yield printed("ṗ_0 [m/s]", n["p"], jacobian() @ v, FOUR)
        yield corrected("ṗ_0 [m/s]", (n["p"][0], -n["p"][1]), jacobian() @ v, FOUR)

    @DOCUMENT.check(f"{name}-b")
    def _b(c: Claim) -> Evidence:
        computed = true_stop(scale, "pseudoinverse").b
        yield arithmetic("b with the printed J_0 [rad/s²]", n["b"], own_law(scale).b, FOUR)
        yield printed("b [rad/s²]", n["b"], computed, FOUR)
        yield corrected("b [rad/s²]", scale**2 * pi**2 / 3 * np.array([10.0, -1, -11]), computed)

    @DOCUMENT.check(f"{name}-exceed")
    def _exceed(c: Claim) -> Evidence:
        text = {1.3: [2], 1.5: [2, 3]}[scale]
        for role, b in (("arithmetic", own_law(scale).b), ("printed", true_law(scale).b)):
            outside = (np.flatnonzero(np.abs(b) > BOUNDS) + 1).tolist()
            label = {"arithmetic": "with the printed J_0", "printed": "of the robot"}[role]
            yield numbers(role, f"components of b outside their bounds, {label}", text, outside)  # type: ignore[arg-type]
        yield corrected("components of b outside their bounds", [1, 3], outside)


_result(1.0)
_data("ex2", 1.3)


def _claim_ex2_exists(c: Claim) -> Evidence:
    best = true_stop(1.3)
    yield says("arithmetic", "a solution exists with the printed J_0", True, bool(own_law(1.3).rate > 0))
    yield says("printed", "a solution exists on the robot", True, best.feasible)
    yield says("corrected", "no λ of either sign keeps the direction", True, best.interval is None)
    yield says("corrected", "wider bounds would do", True, bool(0 < best.relaxation < np.inf))


_result(1.3)


def _claim_ex2_slower(c: Claim) -> Evidence:
    one, two = (own_stop(scale, "pseudoinverse") for scale in (1.0, 1.3))
    yield says("printed", "the second acceleration is larger", True, two.braking > one.braking)
    yield says("printed", "the second rate is smaller", True, two.rate < one.rate)


def _plot_exponential() -> Trajectories:
    """The tool's speed under the law, beside the exponential of a frozen λ."""
    trace = stopped()
    t, speed = trace
    frozen = speed[0] * np.exp(-true_stop(1.0).rate * t)
    return Trajectories(
        "Speed of the tool", "t [s]", "|ṗ| [m/s]",
        (("frozen λ: never stops", t.tolist(), frozen.tolist()), ("λ chosen anew each ms", t.tolist(), speed.tolist())),
    )  # fmt: skip


def stopped() -> tuple[np.ndarray, np.ndarray]:
    """Time and the tool's speed in the shipped scenario of the stop."""
    trace = pp.simulate(pp.load_scenario("planar3-stop", ["run.duration=0.15"]))
    speed = np.array([np.linalg.norm(XY @ arm().jacobian(q) @ v) for q, v in zip(trace["q"], trace["v"])])
    return np.asarray(trace.time), speed


def _claim_exponential(c: Claim) -> Evidence:
    rate, dt = true_stop(1.0).rate, 1e-6
    yield printed("first-order change of ṗ over 1 µs, relative", (np.exp(-rate * dt) - 1) / dt, -rate, 1e-4)
    t, speed = stopped()
    yield says("printed", "the tip stands still before 0.1 s under the law", True, bool(speed[t > 0.1].max() < 1e-2))


_data("ex3", 1.5)


def _claim_ex3_lambdas(c: Claim) -> Evidence:
    text, rates = (13.1416, 17.6622, -np.inf), true_law(1.5).rates
    yield arithmetic("λ_i with the printed J_0 [1/s]", text, own_law(1.5).rates, FOUR)
    yield printed("λ_i of the robot [1/s]", text, rates, FOUR)
    yield corrected("λ_i of the robot [1/s]", (25.7080, 5.0959, -np.inf), rates, 5.1e-5)


def _claim_ex3_none(c: Claim) -> Evidence:
    yield says("printed", "no command keeps the direction (printed J_0)", True,
               not own_stop(1.5).feasible)  # fmt: skip
    yield corrected("λ* with the printed J_0 [1/s]", 11.9542776863, own_stop(1.5).rate, 1e-9)
    yield corrected("λ* of the robot [1/s]", -np.inf, true_stop(1.5).rate)


def _claim_full_lp(c: Claim) -> Evidence:
    rates = [own_stop(scale).rate for scale in (1.0, 1.3)]
    yield printed("λ* [1/s]", [17.0944, 14.2612], rates, FOUR)
    yield corrected("λ* [1/s]", [17.212388980385, 15.146698781102], rates, 1e-9)
    yield corrected("u of example 1 [rad/s²]", [-47.1238898038, -31.4159265359, 16.8200293687],
                    own_stop(1.0).acceleration)  # fmt: skip

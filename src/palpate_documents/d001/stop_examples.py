"""Document 001: the three numerical examples of the fastest stop."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Evidence, Trajectories
from palpate_documents.compare import arithmetic, corrected, decimals, numbers, printed, says
from palpate_documents.d001 import DOCUMENT
from palpate_documents.d001.stop_arm import (
    BOUNDS,
    PRINTED_J0,
    Q0,
    V0,
    XY,
    arm,
    drift,
    jacobian,
    own_law,
    own_stop,
    rods,
    true_law,
    true_stop,
)

FOUR = decimals(4)


def deviation(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Effect of a command on the true tip: acceleration across its velocity (m/s²), the angle off it (degrees)."""
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
        off, angle = deviation(np.array(u), scale * V0)
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

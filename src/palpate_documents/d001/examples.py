"""Document 001, exercise 1: the three numerical examples."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np

import palpate as pp
from palpate_documents.claim import Claim, Comparison, Trajectories
from palpate_documents.compare import arithmetic, corrected, printed, says, to
from palpate_documents.d001.about import (
    BOUNDS,
    DOCUMENT,
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

Evidence = Iterator[Comparison]
FOUR = to(4)
_NONE = r"\text{no } u \text{ within the bounds keeps the direction}"


def across(u: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """What a command does to the true tip: acceleration across its velocity (m/s²), and the angle off it (degrees)."""
    p, a = jacobian() @ v, jacobian() @ u + drift(v)
    along = float(p @ a / np.linalg.norm(p))
    off = float(np.linalg.norm(a - along * p / np.linalg.norm(p)))
    return off, float(np.degrees(np.arctan2(off, abs(along))))


@DOCUMENT.claim(
    "Umax", "exercise 1, data", r"U_{max} = (15\pi, 10\pi, 10\pi) = (47.1239, 31.4159, 31.4159)",
    how="15π, 10π", rows="9",
)  # fmt: skip
def _bounds(c: Claim) -> Evidence:
    """rad/s²."""
    yield printed("U_max [rad/s²]", [47.1239, 31.4159, 31.4159], BOUNDS, FOUR)


@DOCUMENT.claim(
    "J0", "exercise 1, J_0", r"J_0 = \begin{pmatrix} -1 & -1 & 0 \\ 0 & 1 & 1 \end{pmatrix}", "wrong",
    how="robot.jacobian of planar3 at q_0; its columns again as differences of robot.pose",
    corrected=r"J_0 = \begin{pmatrix} -1 & -1 & 0 \\ 0 & -1 & -1 \end{pmatrix}", rows="10",
)  # fmt: skip
def _jacobian_at_start(c: Claim) -> Evidence:
    """Equation (7) at q_0 = (0, π/2, π/2) has c_12 + c_123 = 0 − 1 = −1 in its second row, not +1. No posture gives
    both the printed J_0 (c_123 = 1) and the printed J̇_0 (c_123 = −1). Everything computed from J_0 in the three
    examples belongs to another robot."""
    yield printed("J_0 [m]", PRINTED_J0, jacobian())
    yield corrected("J_0 [m]", [[-1, -1, 0], [0, -1, -1]], jacobian())
    h = 1e-5
    columns = [(arm().pose(Q0 + h * e).position - arm().pose(Q0 - h * e).position)[:2] / (2 * h) for e in np.eye(3)]
    yield corrected("differences of the tip's position [m]", [[-1, -1, 0], [0, -1, -1]], np.transpose(columns), 1e-8)


@DOCUMENT.claim(
    "p0", "exercise 1, ṗ_0", r"\dot{p}_0 = J_0 \dot{q}_0 = \begin{pmatrix} -2\pi \\ \pi \end{pmatrix}", "wrong",
    how="robot.jacobian q̇", corrected=r"\dot{p}_0 = \begin{pmatrix} -2\pi \\ -\pi \end{pmatrix}", rows="11",
)  # fmt: skip
def _tip_velocity(c: Claim) -> Evidence:
    """Follows from J_0: the tip moves down, not up."""
    yield arithmetic("ṗ_0 with the printed J_0 [m/s]", [-2 * pi, pi], PRINTED_J0 @ V0)
    yield printed("ṗ_0 [m/s]", [-2 * pi, pi], jacobian() @ V0)
    yield corrected("ṗ_0 [m/s]", [-2 * pi, -pi], jacobian() @ V0)


@DOCUMENT.claim(
    "Jdot0", "exercise 1, J̇_0",
    r"\dot{J}_0 = \begin{pmatrix} \pi & 2\pi & 2\pi \\ -2\pi & -2\pi & 0 \end{pmatrix}",
    how='derive(planar3)["Jdot"] as a function', rows="12",
)  # fmt: skip
def _jacobian_rate_at_start(c: Claim) -> Evidence:
    """Right, and with c_123 = −1, which contradicts the printed J_0."""
    yield printed("J̇_0 [m/s]", pi * np.array([[1.0, 2, 2], [-2, -2, 0]]), rods().function("Jdot")(Q0, V0)[:2])


@DOCUMENT.claim(
    "h0", "exercise 1, h_0",
    r"h_0 = \begin{pmatrix} 3\pi^2 \\ -4\pi^2 \end{pmatrix} = \begin{pmatrix} 29.6088 \\ -39.4784 \end{pmatrix}",
    how="robot.jacobian_drift", rows="12",
)  # fmt: skip
def _drift_at_start(c: Claim) -> Evidence:
    """Right."""
    yield printed("h_0 [m/s²]", [3 * pi**2, -4 * pi**2], drift(V0))
    yield printed("h_0, printed decimals [m/s²]", [29.6088, -39.4784], drift(V0), FOUR)


@DOCUMENT.claim(
    "J0pinv", "exercise 1, J_0^#",
    r"J_0^{\#} = J_0^T (J_0 J_0^T)^{-1} = \begin{pmatrix} -2/3 & -1/3 \\ -1/3 & 1/3 \\ 1/3 & 2/3"
    r" \end{pmatrix}", "wrong",
    how="solve.priorities.pseudo_inverse of robot.jacobian", rows="13",
    corrected=r"J_0^{\#} = \frac{1}{3} \begin{pmatrix} -2 & 1 \\ -1 & -1 \\ 1 & -2 \end{pmatrix}",
)  # fmt: skip
def _pseudoinverse(c: Claim) -> Evidence:
    """The pseudo-inverse of the wrong J_0."""
    inverse = pp.control.solve.priorities.pseudo_inverse
    text = np.array([[-2.0, -1], [-1, 1], [1, 2]]) / 3
    found = np.column_stack([inverse(jacobian(), e) for e in np.eye(2)])
    yield arithmetic(
        "J_0^# of the printed J_0 [1/m]", text, np.column_stack([inverse(PRINTED_J0, e) for e in np.eye(2)])
    )
    yield printed("J_0^# [1/m]", text, found)
    yield corrected("J_0^# [1/m]", np.array([[-2.0, 1], [-1, -1], [1, -2]]) / 3, found)


@DOCUMENT.claim(
    "a", "exercise 1, a", r"a = -J_0^{\#} \dot{p}_0 = (-\pi, -\pi, 0)", how="Stop.a of the true robot", rows="14"
)
def _a(c: Claim) -> Evidence:
    """Right in spite of J_0: the projector J^#J does not see the sign of a row."""
    yield printed("a [rad/s]", [-pi, -pi, 0], true_stop(1.0, "pseudoinverse").a)


@DOCUMENT.claim(
    "b", "exercise 1, b",
    r"b = -J_0^{\#} h_0 = (2\pi^2/3, 7\pi^2/3, 5\pi^2/3) = (6.5797, 23.0291, 16.4493)", "wrong",
    how="Stop.b", corrected=r"b = \frac{\pi^2}{3} (10, -1, -11) = (32.8987, -3.2899, -36.1885)", rows="15",
)  # fmt: skip
def _b(c: Claim) -> Evidence:
    """Belongs to the wrong J_0. The robot's own b_3 = −36.19 lies outside of U_3 = 31.42."""
    text, found = pi**2 / 3 * np.array([2.0, 7, 5]), true_stop(1.0, "pseudoinverse").b
    yield arithmetic("b with the printed J_0 [rad/s²]", text, own_law(1.0).b)
    yield arithmetic("its decimals [rad/s²]", [6.5797, 23.0291, 16.4493], own_law(1.0).b, FOUR)
    yield printed("b [rad/s²]", text, found)
    yield corrected("b [rad/s²]", pi**2 / 3 * np.array([10.0, -1, -11]), found)


@DOCUMENT.claim(
    "b-inside", "exercise 1, below"
        " b", r"|b_i| \le U_{max,i} \; \forall i \Rightarrow \text{a solution certainly exists}",
    "wrong", how="Stop.b against U_max; Stop.feasible",
    corrected=r"|b_3| = 36.19 > U_{max,3} = 31.42, \; a_3 = 0 \Rightarrow \text{(4) has no solution}", rows="15 16",
)  # fmt: skip
def _b_is_outside(c: Claim) -> Evidence:
    """For the robot, joint 3 starts outside of its bounds and a_3 = 0: the law (5)–(6) gives −∞ already at the first
    example."""
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
    1.0: ("ex1", "example 1", 17.0944, (-47.1239, -30.6745, 16.4493), (107.4073, -53.7036), 17.094395102393),
    1.3: ("ex2", "example 2", 14.2612, (-47.1239, -19.3245, 27.7994), (116.4873, -58.2436), 14.261175171573),
}
_OFF = {1.0: (70.62, 39.8), 1.3: (119.35, 59.4)}
_BEST = {1.0: r"\lambda^* = 20 - 4\pi = 7.4336", 1.3: _NONE}


def _result(scale: float) -> None:
    name, where, rate, u, pdd, exact = _EXAMPLES[scale]
    rows, best = {1.0: "16", 1.3: "17"}[scale], _BEST[scale]

    @DOCUMENT.claim(
        f"{name}-lambda", where, rf"\lambda^* = {rate}", "wrong",
        how="fastest_stop with the printed J_0 and with the robot's", corrected=best, rows=rows,
    )  # fmt: skip
    def _rate(c: Claim) -> Evidence:
        """The arithmetic is right for the printed J_0. On the robot the law (5)–(6) finds nothing."""
        yield arithmetic("law, printed J_0 [1/s]", rate, own_law(scale).rate, FOUR)
        yield arithmetic("law, printed J_0, all digits [1/s]", exact, own_law(scale).rate)
        yield printed("law on the robot [1/s]", rate, true_law(scale).rate, FOUR)
        wanted = 20 - 4 * pi if scale == 1.0 else -np.inf
        yield corrected("optimum on the robot [1/s]", wanted, true_stop(scale).rate)

    @DOCUMENT.claim(
        f"{name}-u", where, rf"u_0^* = {u}", "wrong", how="fastest_stop; robot.jacobian, robot.jacobian_drift",
        corrected=r"u_0^* = (14.3179, -31.4159, -31.4159)" if scale == 1.0 else _NONE, rows=rows,
        plot=_plot_example_1 if scale == 1.0 else None,
    )  # fmt: skip
    def _command(c: Claim) -> Evidence:
        """On the robot this command does not keep the direction: the tip is thrown sideways."""
        yield arithmetic("u_0*, printed J_0 [rad/s²]", u, own_law(scale).acceleration, FOUR)
        off, angle = across(np.array(u), scale * V0)
        yield printed("acceleration across ṗ_0 on the robot [m/s²]", 0.0, off)
        yield corrected("that is [m/s², degrees]", _OFF[scale], (off, angle), 0.06)
        if scale == 1.0:
            yield corrected("u_0* [rad/s²]", [14.3179, -31.4159, -31.4159], true_stop(1.0).acceleration, FOUR)
        else:
            yield says("corrected", "any command keeps the direction", False, true_stop(scale).feasible)

    @DOCUMENT.claim(
        f"{name}-pdd", where, rf"\ddot{{p}}_0 = -\lambda^* \dot{{p}}_0 = {pdd}", "wrong", how="J u + h on the robot",
        corrected=r"\ddot{p}_0 = (46.7069, 23.3534)" if scale == 1.0 else _NONE, rows=rows,
    )  # fmt: skip
    def _acceleration(c: Claim) -> Evidence:
        """With the printed J_0 the numbers fit; the robot's tip accelerates otherwise."""
        stop = own_law(scale)
        yield arithmetic("p̈_0, printed J_0 [m/s²]", pdd, PRINTED_J0 @ stop.acceleration + drift(scale * V0), FOUR)
        yield printed("p̈_0 of the robot under the printed u [m/s²]", pdd, jacobian() @ np.array(u) + drift(scale * V0),
                      FOUR)  # fmt: skip
        best = true_stop(scale)
        if scale == 1.0:
            found = jacobian() @ best.acceleration + drift(V0)
            yield corrected("p̈_0 = −λ* ṗ_0 [m/s²]", -best.rate * (jacobian() @ V0), found)
            yield corrected("p̈_0 [m/s²]", [46.7069, 23.3534], found, FOUR)
        else:
            yield corrected("λ* [1/s]", -np.inf, best.rate)


_VALUES: dict[float, dict[str, Any]] = {
    1.3: dict(v=4.0841, p=(-8.1681, 4.0841), J=((4.0841, 8.1681, 8.1681), (-8.1681, -8.1681, 0)),
              h=(50.0389, -66.7185), b=(11.1198, 38.9191, 27.7994)),
    1.5: dict(v=4.7124, p=(-9.4248, 4.7124), J=((4.7124, 9.4248, 9.4248), (-9.4248, -9.4248, 0)),
              h=(66.6198, -88.8264), b=(14.8044, 51.8154, 37.0110)),
}  # fmt: skip


def _data(scale: float) -> None:
    """The changed terms of examples 2 and 3."""
    name, where = ("ex2", "example 2") if scale == 1.3 else ("ex3", "example 3")
    rows, n = ("17" if scale == 1.3 else "18"), _VALUES[scale]
    rate = r" \\ ".join(" & ".join(map(str, row)) for row in n["J"])

    @DOCUMENT.claim(f"{name}-qdot", where, rf"\dot{{q}}_0 = ({n['v']}, {n['v']}, 0)", how=f"{scale} π", rows=rows)
    def _velocity(c: Claim) -> Evidence:
        """rad/s."""
        yield printed("q̇_0 [rad/s]", [n["v"], n["v"], 0], scale * V0, FOUR)

    @DOCUMENT.claim(
        f"{name}-pdot", where, rf"\dot{{p}}_0 = {n['p']}", "wrong", how="robot.jacobian q̇", rows=f"{rows} 11",
        corrected=rf"\dot{{p}}_0 = ({n['p'][0]}, {-n['p'][1]})",
    )  # fmt: skip
    def _tip(c: Claim) -> Evidence:
        """From the wrong J_0."""
        yield arithmetic("ṗ_0 with the printed J_0 [m/s]", n["p"], PRINTED_J0 @ V0 * scale, FOUR)
        yield printed("ṗ_0 [m/s]", n["p"], jacobian() @ V0 * scale, FOUR)
        yield corrected("ṗ_0 [m/s]", (n["p"][0], -n["p"][1]), jacobian() @ V0 * scale, FOUR)

    @DOCUMENT.claim(
        f"{name}-Jdot", where, rf"\dot{{J}}_0 = \begin{{pmatrix}} {rate} \end{{pmatrix}}",
        how='derive(planar3)["Jdot"]', rows=f"{rows} 12",
    )  # fmt: skip
    def _rate(c: Claim) -> Evidence:
        """Right."""
        yield printed("J̇_0 [m/s]", n["J"], rods().function("Jdot")(Q0, scale * V0)[:2], FOUR)

    @DOCUMENT.claim(f"{name}-h", where, rf"h_0 = {n['h']}", how="robot.jacobian_drift", rows=f"{rows} 12")
    def _h(c: Claim) -> Evidence:
        """Right."""
        yield printed("h_0 [m/s²]", n["h"], drift(scale * V0), FOUR)

    @DOCUMENT.claim(f"{name}-a", where, rf"a = (-{n['v']}, -{n['v']}, 0)", how="Stop.a", rows=f"{rows} 14")
    def _a(c: Claim) -> Evidence:
        """Right, as in example 1."""
        yield printed("a [rad/s]", [-n["v"], -n["v"], 0], true_stop(scale, "pseudoinverse").a, FOUR)

    @DOCUMENT.claim(
        f"{name}-b", where, rf"b = {n['b']}", "wrong", how="Stop.b", rows=f"{rows} 15",
        corrected=rf"b = {scale}^2 \frac{{\pi^2}}{{3}} (10, -1, -11)",
    )  # fmt: skip
    def _b(c: Claim) -> Evidence:
        """From the wrong J_0."""
        found = true_stop(scale, "pseudoinverse").b
        yield arithmetic("b with the printed J_0 [rad/s²]", n["b"], own_law(scale).b, FOUR)
        yield printed("b [rad/s²]", n["b"], found, FOUR)
        yield corrected("b [rad/s²]", scale**2 * pi**2 / 3 * np.array([10.0, -1, -11]), found)


_result(1.0)
_data(1.3)


@DOCUMENT.claim(
    "ex2-exists", "example 2", r"b_2 > U_{max,2}, \; a_2 < 0 \Rightarrow \text{an optimal solution exists}", "wrong",
    how="fastest_stop on the robot at 1.3 times the speed",
    corrected=_NONE, rows="17",
)  # fmt: skip
def _nothing_exists(c: Claim) -> Evidence:
    """For the printed J_0 it does. For the robot no command within the bounds keeps the direction, whatever λ, even
    speeding up; the bounds would have to be wider."""
    best = true_stop(1.3)
    yield says("arithmetic", "a solution exists with the printed J_0", True, bool(own_law(1.3).rate > 0))
    yield says("printed", "a solution exists on the robot", True, best.feasible)
    yield says("corrected", "no λ of either sign keeps the direction", True, best.interval is None)
    yield says("corrected", "wider bounds would do", True, bool(0 < best.relaxation < np.inf))


_result(1.3)


@DOCUMENT.claim(
    "ex2-slower", "example 2, last remark",
    r"|\ddot{p}_0| \text{ larger}, \; \lambda^* \text{ smaller than in example 1}",
    how="fastest_stop with the printed J_0", rows="17",
)  # fmt: skip
def _slower(c: Claim) -> Evidence:
    """True of the printed numbers; for the robot there is no second example to compare with."""
    one, two = (own_stop(scale, "pseudoinverse") for scale in (1.0, 1.3))
    yield says("printed", "the second acceleration is larger", True, two.braking > one.braking)
    yield says("printed", "the second rate is smaller", True, two.rate < one.rate)


def _plot_decay() -> Trajectories:
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


@DOCUMENT.claim(
    "exponential", "example 2, last formula",
    r"\ddot{p} = -\lambda \dot{p} \Rightarrow \dot{p}(t) = e^{-\lambda(t - t_0)} \dot{p}(t_0) \simeq (1 -"
    r" \lambda dt) \dot{p}_0",
    how="the formula for a frozen λ; scenario planar3-stop for λ chosen anew", rows="19", plot=_plot_decay,
)  # fmt: skip
def _exponential(c: Claim) -> Evidence:
    """Right for a frozen λ. Under the law λ is chosen anew and grows without end, and the tip stops in finite time
    (0.088 s from the document's state)."""
    rate, dt = true_stop(1.0).rate, 1e-6
    yield printed("first-order change of ṗ over 1 µs, relative", (np.exp(-rate * dt) - 1) / dt, -rate, 1e-4)
    t, speed = stopped()
    yield says("printed", "the tip stands still before 0.1 s under the law", True, bool(speed[t > 0.1].max() < 1e-2))


_data(1.5)


@DOCUMENT.claim(
    "ex3-lambdas", "example 3", r"\lambda_1 = 13.1416, \; \lambda_2 = 17.6622, \; \lambda_3 = -\infty", "wrong",
    how="Stop.rates with the printed J_0 and with the robot's", rows="18",
    corrected=r"\lambda_1 = 25.7080, \; \lambda_2 = 5.0958, \; \lambda_3 = -\infty",
)  # fmt: skip
def _rates(c: Claim) -> Evidence:
    """Right for the printed J_0; the robot's own λ_i are others."""
    text, found = (13.1416, 17.6622, -np.inf), true_law(1.5).rates
    yield arithmetic("λ_i with the printed J_0 [1/s]", text, own_law(1.5).rates, FOUR)
    yield printed("λ_i of the robot [1/s]", text, found, FOUR)
    yield corrected("λ_i of the robot [1/s]", (25.7080, 5.0958, -np.inf), found, FOUR)


@DOCUMENT.claim(
    "ex3-none", "example 3", r"a_3 = 0 \Rightarrow \text{no solution exists in this case}", "wrong",
    how="fastest_stop, optimal, with the printed J_0 and with the robot's", rows="18 6",
    corrected=r"\lambda^* = 11.9543 \text{ with the printed } J_0; \; \text{none for the robot}",
)  # fmt: skip
def _no_solution(c: Claim) -> Evidence:
    """By the document's own data there is one, with another command than a λ + b. For the robot there is none."""
    yield says("printed", "no command keeps the direction (printed J_0)", True,
               not own_stop(1.5).feasible)  # fmt: skip
    yield corrected("λ* with the printed J_0 [1/s]", 11.9542776863, own_stop(1.5).rate, 1e-9)
    yield corrected("λ* of the robot [1/s]", -np.inf, true_stop(1.5).rate)


@DOCUMENT.claim(
    "full-lp", "examples 1 and 2, whole problem with the printed J_0",
    r"\lambda^* = 17.0944, \; 14.2612", "wrong", how="fastest_stop, optimal, with the printed J_0", rows="2 16 17",
    corrected=r"\lambda^* = 17.2124, \; 15.1467",
)  # fmt: skip
def _full_lp(c: Claim) -> Evidence:
    """Even for the printed J_0 the answers are not the fastest stops."""
    found = [own_stop(scale).rate for scale in (1.0, 1.3)]
    yield printed("λ* [1/s]", [17.0944, 14.2612], found, FOUR)
    yield corrected("λ* [1/s]", [17.212388980385, 15.146698781102], found, 1e-9)
    yield corrected("u of example 1 [rad/s²]", [-47.1238898038, -31.4159265359, 16.8200293687],
                    own_stop(1.0).acceleration)  # fmt: skip

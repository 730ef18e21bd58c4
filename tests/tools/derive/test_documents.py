"""The five documents' derivations, derived anew and compared with what physics says (and what they print rightly).

Numbers are those of an independent recomputation of the documents; expressions are compared in normal form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import palpate as pp
from palpate.robot.readers.dh.table import DHLink
from palpate.robot.robot import Robot
from palpate.tools.derive import Derivation, derive_from_energy

SAME = {"atol": 5e-11, "rtol": 0}  # the reference numbers have twelve digits


def sym(text: str, **short: str) -> Any:
    """Text with c2, s12 … for cosines and sines of sums of joint angles q1, q2, q3."""
    waves = {}
    for digits in ("1", "2", "3", "12", "23", "123"):
        angle = sum(sp.Symbol(f"q{d}") for d in digits)
        waves |= {f"c{digits}": sp.cos(angle), f"s{digits}": sp.sin(angle)}
    names = {name: sp.Symbol(name) for name in ("I1", "I2", "S", "N", "E", "beta", "gamma")}
    return sp.parse_expr(text, {**names, **waves})


# ---------------------------------------------------------------------- 000: a pole on an end-effector


@pytest.fixture(scope="module")
def pole() -> Derivation:
    return derive_from_energy(
        "me*(dxA**2 + dyA**2 + dzA**2)/2 + ms*((dxA + dx)**2 + (dyA + dy)**2 + (dzA - (x*dx + y*dy)/z)**2)/2",
        "me*g*zA + ms*g*(zA + z)",
        "xA yA zA x y",
        ["fx", "fy", "fz", 0, 0],
        where={"z": "sqrt(l**2 - x**2 - y**2)"},
        values={"me": 1.0, "ms": 0.1, "l": 1.0, "g": 9.81},
    )


def test_000_mass_matrix_is_the_printed_one_with_its_typo_mended(pole: Derivation, same: Any) -> None:
    M = sp.Matrix(
        [
            ["me + ms", 0, 0, "ms", 0],
            [0, "me + ms", 0, 0, "ms"],
            [0, 0, "me + ms", "-ms*x/z", "-ms*y/z"],  # printed −m x/z² in the fourth column
            ["ms", 0, "-ms*x/z", "ms + ms*x**2/z**2", "ms*x*y/z**2"],
            [0, "ms", "-ms*y/z", "ms*x*y/z**2", "ms + ms*y**2/z**2"],
        ]
    )
    assert same(pole, pole.M, M)


def test_000_forces_of_motion_are_the_printed_ones_with_their_sign_mended(pole: Derivation, same: Any) -> None:
    third = "(me+ms)*g - ms*(dx**2*(l**2-y**2)/z**3 + dy**2*(l**2-x**2)/z**3 + 2*x*y*dx*dy/z**3)"  # printed −2 x y …
    rest = "-ms*g*{0}/z + ms*{0}*((dx**2+dy**2)/z**2 + (x*dx+y*dy)**2/z**4)"
    C = sp.Matrix([0, 0, sp.sympify(third), sp.sympify(rest.format("x")), sp.sympify(rest.format("y"))])
    difference = sp.Matrix(pole["bias"]) - C
    put = {sp.Symbol("z"): sp.sqrt(sp.sympify("l**2-x**2-y**2"))}
    at = {
        sp.Symbol(k): v
        for k, v in {"me": 1.3, "ms": 0.27, "l": 1.1, "g": 9.81, "x": -0.4, "y": 0.3, "dx": 0.17, "dy": 1.7}.items()
    }
    np.testing.assert_allclose(np.array(difference.subs(put).subs(at), dtype=float), 0, atol=1e-13)
    assert same(pole, pole.g, sp.Matrix([0, 0, "g*(me+ms)", "-g*ms*x/z", "-g*ms*y/z"]))


def test_000_vertical_force_at_the_audited_point() -> None:
    pole = derive_from_energy(
        "me*(dxA**2 + dyA**2 + dzA**2)/2 + ms*((dxA + dx)**2 + (dyA + dy)**2 + (dzA - (x*dx + y*dy)/z)**2)/2",
        "me*g*zA + ms*g*(zA + z)",
        "xA yA zA x y",
        where={"z": "sqrt(l**2 - x**2 - y**2)"},
        values={"me": 1.3, "ms": 0.27, "l": 1.1, "g": 9.81},
    )
    q = [0, 0, 0, -0.4834723645, 0.3132702392]
    v = [0, 0, 0, 0.1744999659, 1.7402896952]
    a = [0, 0, 2.1444256595, -2.7984865482, 1.3779326786]
    found = pole.function("tau")(q, v, a)
    assert found[2] == pytest.approx(17.3031541404, abs=2e-9)  # the point is given with ten digits


def test_000_accelerations_are_the_audited_ones(pole: Derivation) -> None:
    q, v, f = [0, 0, 0, 0.3, -0.4], [0.3, -0.2, 0.1, 1.5, 2.0], [1, -2, 12, 0, 0]
    M, bias = pole.function("M")(q), pole.function("bias")(q, v)
    found = np.linalg.solve(M, f - bias)
    wanted = [0.861482595125, -1.815310126833, 1.790134695040, 0.523691453624, -0.031588604832]
    np.testing.assert_allclose(found, wanted, **SAME)


def test_000_energies_as_printed_give_the_same_equations(pole: Derivation) -> None:
    """Equation (3) with its roots written out; a root gets a name by itself."""
    root = "sqrt(l**2 - x**2 - y**2)"
    T = (
        "0.5*me*(dxA**2+dyA**2+dzA**2) + 0.5*ms*(dxA**2+dyA**2+dzA**2 + dx**2 + dy**2"
        " + (x**2*dx**2 + y**2*dy**2 + 2*x*y*dx*dy)/(l**2-x**2-y**2) + 2*dxA*dx + 2*dyA*dy"
        f" - 2*dzA*(x*dx+y*dy)/{root})"
    )
    V = f"me*g*zA + ms*g*(zA + {root})"
    printed = derive_from_energy(T, V, "xA yA zA x y", values=pole.values)
    q, v, a = [0, 0, 0, 0.3, -0.4], [0.3, -0.2, 0.1, 1.5, 2.0], [1, 2, 3, 4, 5]
    np.testing.assert_allclose(printed.function("tau")(q, v, a), pole.function("tau")(q, v, a), atol=1e-13)


def test_000_linearised_about_upright_has_the_audited_eigenvalues(pole: Derivation) -> None:
    found = pole.linearise([0] * 5)
    np.testing.assert_allclose(found.eigenvalues()[:2], [3.284965753246] * 2, **SAME)
    np.testing.assert_allclose(found.eigenvalues()[-2:], [-3.284965753246] * 2, **SAME)
    assert found.u[2] == sp.sympify("g*(me + ms)")


# ---------------------------------------------------------------------- 001: planar 3R of thin rods

EQUAL = {"l1": "L", "l2": "L", "l3": "L", "m1": "m", "m2": "m", "m3": "m"}


@pytest.fixture(scope="module")
def rods() -> Derivation:
    return pp.derive(pp.load_robot("planar3"), names=EQUAL)


def test_001_mass_matrix_is_equation_12(rods: Derivation, same: Any) -> None:
    M = sp.Matrix(3, 3, lambda i, j: 0)
    upper = {
        (0, 0): "4 + 3*c2 + c23 + c3",
        (0, 1): "5/3 + 3*c2/2 + c23/2 + c3",
        (0, 2): "1/3 + c23/2 + c3/2",
        (1, 1): "5/3 + c3",
        (1, 2): "1/3 + c3/2",
        (2, 2): "1/3",
    }
    for (i, j), entry in upper.items():
        M[i, j] = M[j, i] = sym(f"m*L**2*({entry})")
    assert same(rods, rods.M, M)
    assert str(rods.M[0, 0]) == "L**2*m*(3*cos(q2) + cos(q3) + cos(q2 + q3) + 4)"


def test_001_jacobian_its_rate_and_h_are_the_printed_ones(rods: Derivation, same: Any) -> None:
    J = sp.Matrix(
        [
            [sym("-L*(s1+s12+s123)"), sym("-L*(s12+s123)"), sym("-L*s123")],
            [sym("L*(c1+c12+c123)"), sym("L*(c12+c123)"), sym("L*c123")],
        ]
    )
    assert same(rods, rods.J[:2, :], J)
    w1, w12, w123 = "dq1", "(dq1+dq2)", "(dq1+dq2+dq3)"
    rate = sp.Matrix(
        [
            [sym(f"-L*(c1*{w1}+c12*{w12}+c123*{w123})"), sym(f"-L*(c12*{w12}+c123*{w123})"), sym(f"-L*c123*{w123}")],
            [sym(f"-L*(s1*{w1}+s12*{w12}+s123*{w123})"), sym(f"-L*(s12*{w12}+s123*{w123})"), sym(f"-L*s123*{w123}")],
        ]
    )
    assert same(rods, rods["Jdot"][:2, :], rate)
    h = sp.Matrix([sym(f"-L*({x}1*{w1}**2+{x}12*{w12}**2+{x}123*{w123}**2)") for x in "cs"])
    assert same(rods, rods["drift"][:2, :], h)


def test_001_numbers_of_exercise_2() -> None:
    robot = pp.load_robot("planar3", length=0.5, mass=5.0)
    derivation = pp.derive(robot)
    q = [np.pi / 2, np.pi / 2, 0]
    np.testing.assert_allclose(derivation.function("M")(q)[0], [25 / 4, 10 / 3, 25 / 24], atol=1e-14)
    np.testing.assert_allclose(derivation.function("Lambda")(q), np.diag([35 / 3, 35 / 24]), atol=1e-12)


def test_001_the_posture_of_exercise_1_has_the_mended_jacobian(rods: Derivation) -> None:
    q, v = [0, np.pi / 2, np.pi / 2], [np.pi, np.pi, 0]
    np.testing.assert_allclose(rods.function("J")(q)[:2], [[-1, -1, 0], [0, -1, -1]], atol=1e-15)
    np.testing.assert_allclose(rods.function("drift")(q, v)[:2], [3 * np.pi**2, -4 * np.pi**2], atol=1e-12)


def test_001_cartesian_robot_of_exercise_3(same: Any) -> None:
    derivation = pp.derive(pp.load_robot("cartesian2"))
    assert same(derivation, derivation.M, sp.Matrix([["m1+m2", 0], [0, "m2"]]))
    assert same(derivation, derivation.g, sp.Matrix([0, "m2*g"]))
    assert same(derivation, derivation["Lambda"], derivation.M)  # p = q


# ---------------------------------------------------------------------- 002: two links at a wall

UNIT = {"l1": "l", "l2": "l", "m1": "m", "m2": "m"}


@pytest.fixture(scope="module")
def two() -> Derivation:
    return pp.derive(pp.load_robot("planar2"), names=UNIT)


@pytest.fixture(scope="module")
def wall(two: Derivation) -> Any:
    return two.constrain("l*sin(q1) + l*sin(q1 + q2)", solve={"q2": "-2*q1"})


def test_002_free_equations(two: Derivation, same: Any) -> None:
    first = "m*l**2*((3+2*c2)*ddq1 + (1+c2)*ddq2 - 2*s2*dq1*dq2 - s2*dq2**2) + m*g*l*(2*c1 + c12)"
    second = "m*l**2*((1+c2)*ddq1 + ddq2 + s2*dq1**2) + m*g*l*c12"
    assert same(two, two["tau"], sp.Matrix([sym(first), sym(second)]))


def test_002_constrained_equation_keeps_the_velocity_term_that_was_lost(
    wall: Any, numbers: Any, two: Any, same: Any
) -> None:
    assert same(two, wall.reduced, sp.Matrix([sym("m*l**2*((1+4*s1**2)*ddq1 + 4*s1*c1*dq1**2) + m*g*l*c1")]))
    assert list(wall.forces) == [sp.Symbol("tau1") - 2 * sp.Symbol("tau2")]
    at = {"m": 1, "l": 1, "g": 9.81, "q1": 0.4, "dq1": 1.3, "ddq1": 0.7}
    assert numbers(wall.reduced, **at)[0, 0] == pytest.approx(12.5848825453, abs=1e-10)


def test_002_second_torque_along_the_wall(wall: Any, two: Any, same: Any) -> None:
    """T2 = (−1 + cos 2θ) θ̈ − sin 2θ θ̇² + g c, without the wall's push, from the multiplier's own equation."""
    push = sp.Symbol("l") * sp.cos(sp.Symbol("q1")) * wall.multiplier_values[0]
    torque = sym("m*l**2*((-1+cos(2*q1))*ddq1 - sin(2*q1)*dq1**2) + m*g*l*c1") - sp.Symbol("tau2")
    assert same(two, push, torque)


def test_002_numbers_at_the_wall(wall: Any, numbers: Any) -> None:
    at = {"m": 1, "l": 1, "g": 9.81, "q1": 0.4, "dq1": 1.3}
    rest = numbers(wall.coriolis + wall.g, **at)[0, 0]
    acceleration = (0.5 - 2 * -0.3 - rest) / numbers(wall.M, **at)[0, 0]
    assert acceleration == pytest.approx(-6.448623472249, abs=1e-11)
    force = numbers(wall.multiplier_values, **at, ddq1=acceleration, tau1=0.5, tau2=-0.3)
    assert force[0, 0] == pytest.approx(10.942924362506, abs=1e-11)


def test_002_multipliers_solve_the_whole_system(two: Derivation, wall: Any) -> None:
    """M q̈ + C q̇ + g = T + Aᵀ λ with A q̈ + Ȧ q̇ = 0, solved as it stands, gives the same."""
    q, v, torque = [0.4, -0.8], [1.3, -2.6], np.array([0.5, -0.3])
    M, bias = two.function("M")(q), two.function("bias")(q, v)
    put = {sp.Symbol(k): x for k, x in {"l": 1, "q1": 0.4, "q2": -0.8, "dq1": 1.3, "dq2": -2.6}.items()}
    A, drift = (np.array(x.subs(put), dtype=float) for x in (wall.A, wall.drift))
    system = np.block([[M, -A.T], [A, np.zeros((1, 1))]])
    found = np.linalg.solve(system, np.concatenate([torque - bias, -drift.ravel()]))
    np.testing.assert_allclose(found, [-6.448623472249, 12.897246944498, 10.942924362506], atol=1e-11)


# ---------------------------------------------------------------------- 003: pendulum, planar arm, projection


def test_003_pendulum_from_its_energies(same: Any) -> None:
    pendulum = derive_from_energy("m*l**2*dtheta**2/2", "m*l*g*(1 - cos(theta))", "theta", [0])
    assert same(pendulum, pendulum.equation, sp.Matrix([sp.sympify("m*l**2*ddtheta + m*g*l*sin(theta)")]))
    text = pendulum.steps_text()
    assert "∂L/∂θ = −m g l sin θ" in text  # printed + ∂V/∂θ in the document


def test_003_pendulum_of_the_catalogue_is_the_same(same: Any) -> None:
    derivation = pp.derive(pp.load_robot("pendulum"), names={"q1": "theta", "l1": "l", "m1": "m"})
    assert same(derivation, derivation["tau"], sp.Matrix([sp.sympify("m*l**2*ddtheta + m*g*l*sin(theta)")]))


def test_003_planar_arm_kinematics(same: Any) -> None:
    arm = pp.derive(pp.load_robot("planar3-vertical"))
    x, z = sym("l1*s1 + l2*s12 + l3*s123"), sym("l0 + l1*c1 + l2*c12 + l3*c123")
    assert same(arm, arm["position"], sp.Matrix([x, 0, z]))
    J = sp.Matrix(
        [
            [sym("l1*c1+l2*c12+l3*c123"), sym("l2*c12+l3*c123"), sym("l3*c123")],
            [sym("-l1*s1-l2*s12-l3*s123"), sym("-l2*s12-l3*s123"), sym("-l3*s123")],
            [1, 1, 1],
        ]
    )
    assert same(arm, arm["Ja"], J)


def test_003_projected_newton_euler_has_the_dots_that_were_lost(random_arm: Any) -> None:
    """b = Σ J_Sᵀ m J̇_S q̇ + J_Rᵀ (Θ J̇_R q̇ + Ω × Θ Ω): the numeric robot's, on an arm of four joints."""
    robot = random_arm(11, 4)
    derivation = pp.derive(robot, parameters="numbers")
    q, v, h = np.full(4, 0.3), np.array([0.5, -1.0, 0.7, 0.2]), 1e-6
    b = np.zeros(4)
    for n, named in enumerate(derivation.model.links, start=1):  # type: ignore[union-attr]
        J_S, J_R, tensor = (derivation.function(f"{x}{n}") for x in ("J_P", "J_O", "I_"))
        dots = [(J(q + h * v) - J(q - h * v)) / (2 * h) for J in (J_S, J_R)]
        w, I = J_R(q) @ v, tensor(q)
        b += J_S(q).T @ (named.link.mass * dots[0] @ v) + J_R(q).T @ (I @ dots[1] @ v + np.cross(w, I @ w))
    np.testing.assert_allclose(b, robot.bias(q, v) - robot.gravity(q), atol=1e-8)  # finite differences


# ---------------------------------------------------------------------- 004: three links of a UR5e

A2, A3, D1 = -0.425, -0.3922, 0.1625
STATE = ([0.3, -0.7, 1.1], [0.5, -1.2, 0.8])


@pytest.fixture(scope="module")
def hand_in() -> Derivation:
    """The document's own table: standard DH, tensors and centres of mass in the DH frames."""
    rows = [
        DHLink(alpha=np.pi / 2, d=D1, mass=3.761, com=(0, -0.02561, 0.00193), inertia=(0.0084, 0.0064, 0.0084)),
        DHLink(a=A2, mass=8.058, com=(0.2125, 0, 0.11336), inertia=(0.0078, 0.21, 0.21)),
        DHLink(a=A3, mass=2.846, com=(0.15, 0, 0.0265), inertia=(0.0016, 0.0462, 0.0462)),
    ]
    return pp.derive(Robot.from_dh(rows))


# Centres of mass are counted from the joint here, from the far end of the link in the document.
FROM_JOINT = {"r1y": "d1 + pl12", "r1z": "pl13", "r2x": "a2 + pl21", "r2z": "pl23", "r3x": "a3 + pl31", "r3z": "pl33"}


def in_document_symbols(e: Any) -> Any:
    return (
        sp.Matrix(e).subs({sp.Symbol(k): sp.sympify(x) for k, x in FROM_JOINT.items()})
        if hasattr(e, "shape")
        else e.subs({sp.Symbol(k): sp.sympify(x) for k, x in FROM_JOINT.items()})
    )


def test_004_poses_are_equations_3_to_5(hand_in: Derivation, same: Any) -> None:
    p, R = hand_in.pose("link1")
    assert same(hand_in, R, sp.Matrix([[sym("c1"), 0, sym("s1")], [sym("s1"), 0, sym("-c1")], [0, 1, 0]]))
    assert same(hand_in, p, sp.Matrix([0, 0, "d1"]))
    p, R = hand_in.pose("link2")
    rows = [["c1*c2", "-c1*s2", "s1"], ["c2*s1", "-s1*s2", "-c1"], ["s2", "c2", "0"]]
    assert same(hand_in, R, sp.Matrix([[sym(x) for x in row] for row in rows]))
    assert same(hand_in, p, sp.Matrix([sym("a2*c1*c2"), sym("a2*c2*s1"), sym("d1 + a2*s2")]))
    rows = [["c23*c1", "-s23*c1", "s1"], ["c23*s1", "-s23*s1", "-c1"], ["s23", "c23", "0"]]
    assert same(hand_in, hand_in["rotation"], sp.Matrix([[sym(x) for x in row] for row in rows]))
    position = [sym("c1*(a3*c23 + a2*c2)"), sym("s1*(a3*c23 + a2*c2)"), sym("d1 + a3*s23 + a2*s2")]
    assert same(hand_in, hand_in["position"], sp.Matrix(position))


def test_004_centres_of_mass_are_equations_6_to_8(hand_in: Derivation, same: Any) -> None:
    first = ["pl13*s1", "-pl13*c1", "d1 + pl12"]
    second = ["pl23*s1 + (a2+pl21)*c1*c2", "-pl23*c1 + (a2+pl21)*c2*s1", "d1 + (a2+pl21)*s2"]
    third = [
        "pl31*(c1*c2*c3 - c1*s2*s3) + pl33*s1 + a2*c1*c2 + a3*c1*c2*c3 - a3*c1*s2*s3",
        "a2*c2*s1 - pl33*c1 - pl31*(s1*s2*s3 - c2*c3*s1) + a3*c2*c3*s1 - a3*s1*s2*s3",
        "d1 + a3*s23 + pl31*s23 + a2*s2",
    ]
    for number, wanted in enumerate((first, second, third), start=1):
        assert same(hand_in, in_document_symbols(hand_in[f"p_c{number}"]), sp.Matrix([sym(x) for x in wanted]))


def test_004_link_jacobians_are_equations_9_to_11(hand_in: Derivation, same: Any) -> None:
    turning = sp.Matrix([[0, sym("s1"), sym("s1")], [0, sym("-c1"), sym("-c1")], [1, 0, 0]])
    for number in (1, 2, 3):
        wanted = turning.copy()
        wanted[:, number:] = sp.zeros(3, 3 - number)
        assert same(hand_in, hand_in[f"J_O{number}"], wanted)
    first = [["pl13*c1", "0", "0"], ["pl13*s1", "0", "0"], ["0", "0", "0"]]
    second = [
        ["pl23*c1 - (a2+pl21)*c2*s1", "-c1*s2*(a2+pl21)", "0"],
        ["pl23*s1 + (a2+pl21)*c1*c2", "-s1*s2*(a2+pl21)", "0"],
        ["0", "c2*(a2+pl21)", "0"],
    ]
    for number, rows in ((1, first), (2, second)):
        wanted = sp.Matrix([[sym(x) for x in row] for row in rows])
        assert same(hand_in, in_document_symbols(hand_in[f"J_P{number}"]), wanted)


def test_004_tensors_are_equations_12_to_17_with_each_links_own_symbols(hand_in: Derivation, same: Any) -> None:
    c, s = "c1", "s1"
    one = [
        [sym("I1xx*c1**2 + I1zz*s1**2"), sym("c1*s1*(I1xx - I1zz)"), 0],
        [sym("c1*s1*(I1xx - I1zz)"), sym("I1zz*c1**2 + I1xx*s1**2"), 0],
        [0, 0, sym("I1yy")],
    ]
    assert same(hand_in, hand_in["I_1"], sp.Matrix(one))
    for number, (cos, sin) in ((2, ("c2", "s2")), (3, ("c23", "s23"))):
        I = {axis: f"I{number}{axis}" for axis in ("xx", "yy", "zz")}
        plane = f"({I['xx']}*{cos}**2 + {I['yy']}*{sin}**2)"
        mixed = f"({I['xx']} - {I['yy']})*{cos}*{sin}"
        rows = [
            [f"{plane}*{c}**2 + {I['zz']}*{s}**2", f"({plane} - {I['zz']})*{c}*{s}", f"{mixed}*{c}"],
            [f"({plane} - {I['zz']})*{c}*{s}", f"{plane}*{s}**2 + {I['zz']}*{c}**2", f"{mixed}*{s}"],
            [f"{mixed}*{c}", f"{mixed}*{s}", f"{I['yy']}*{cos}**2 + {I['xx']}*{sin}**2"],
        ]
        assert same(hand_in, hand_in[f"I_{number}"], sp.Matrix([[sym(x) for x in row] for row in rows]))


def test_004_energy_and_gravity_are_equations_18_and_25(hand_in: Derivation, same: Any) -> None:
    V = "g*m2*(d1 + a2*s2 + pl21*s2) + g*m1*(d1 + pl12) + g*m3*(d1 + a3*s23 + pl31*s23 + a2*s2)"
    assert same(hand_in, in_document_symbols(hand_in.V), sym(V))
    g = ["0", "g*m3*(pl31*c23 + a2*c2 + a3*c23) + g*m2*(a2*c2 + pl21*c2)", "g*m3*(pl31 + a3)*c23"]
    assert same(hand_in, in_document_symbols(hand_in.g), sp.Matrix([sym(x) for x in g]))


def test_004_mass_matrix_is_equation_20_with_each_links_own_tensor(hand_in: Derivation, same: Any) -> None:
    b11 = (
        "I1yy + I2xx*s2**2 + I2yy*c2**2 + I3xx*s23**2 + I3yy*c23**2 + m1*pl13**2 + m2*pl23**2 + m3*pl33**2"
        " + m2*(a2+pl21)**2*c2**2 + m3*(a2*c2 + (a3+pl31)*c23)**2"
    )
    b22 = "I2zz + I3zz + m2*(a2+pl21)**2 + m3*(a2**2 + (a3+pl31)**2 + 2*a2*(a3+pl31)*c3)"
    b23 = "I3zz + m3*((a3+pl31)**2 + a2*(a3+pl31)*c3)"
    b12 = "-m2*(a2+pl21)*pl23*s2 - m3*pl33*(a2*s2 + (a3+pl31)*s23)"
    b13 = "-m3*pl33*s23*(a3+pl31)"
    B = sp.Matrix(
        [[sym(x) for x in row] for row in ([b11, b12, b13], [b12, b22, b23], [b13, b23, "I3zz + m3*(a3+pl31)**2"])]
    )
    assert same(hand_in, in_document_symbols(hand_in.M), B)


def test_004_numbers_of_the_audit(hand_in: Derivation, three_link: Derivation) -> None:
    B = np.array([[1.3454380249, -0.1385844102, 0.0071133031], [0, 1.5668412613, 0.3460310997], [0, 0, 0.2131487506]])
    q, v = STATE
    for derivation in (hand_in, three_link):
        np.testing.assert_allclose(np.triu(derivation.function("M")(q)), B, **SAME)
        C = derivation.function("C")(q, v)
        np.testing.assert_allclose(C @ v, [-0.5302065666, 0.1984594366, 0.4167409215], **SAME)
        np.testing.assert_allclose(derivation.function("g")(q), [0, -28.1513814184, -6.2282556792], **SAME)


def test_004_coriolis_entries_22_to_33_are_the_printed_ones(hand_in: Derivation, same: Any) -> None:
    lower = [
        ["-a2*dq3*m3*s3*(a3+pl31)", "-a2*m3*s3*(dq2+dq3)*(a3+pl31)"],
        ["a2*dq2*m3*s3*(a3+pl31)", "0"],
    ]
    assert same(hand_in, in_document_symbols(hand_in.C)[1:, 1:], sp.Matrix([[sym(x) for x in row] for row in lower]))


def test_004_jacobian_is_equation_28(hand_in: Derivation, same: Any) -> None:
    rows = [
        ["-s1*(a3*c23 + a2*c2)", "-c1*(a3*s23 + a2*s2)", "-a3*s23*c1"],
        ["c1*(a3*c23 + a2*c2)", "-s1*(a3*s23 + a2*s2)", "-a3*s23*s1"],
        ["0", "a3*c23 + a2*c2", "a3*c23"],
        ["0", "s1", "s1"],
        ["0", "-c1", "-c1"],
        ["1", "0", "0"],
    ]
    assert same(hand_in, hand_in.J, sp.Matrix([[sym(x) for x in row] for row in rows]))

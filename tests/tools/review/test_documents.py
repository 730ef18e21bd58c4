"""The printed formulas of five documents: what is right agrees, and every slip is found with its correction.

The references are derived here, from energies, transformations and Jacobians; nothing of the documents is in them.
"""

from __future__ import annotations

from typing import Any

import pytest
import sympy

from palpate.errors import UnreadableExpression
from palpate.tools.review import Verdict, check_derivation

sp: Any = sympy  # its own types know too little of matrices
t = sp.Symbol("t")


def slips(verdict: Verdict) -> dict[tuple[int, int] | None, tuple[str, ...]]:
    assert not verdict.agrees, str(verdict)
    return {one.entry: one.kinds for one in verdict.differences}


def lagrange(L: Any, q: list[Any], names: list[str]) -> Any:
    """d/dt ∂L/∂q̇ − ∂L/∂q, with q̇ and q̈ as symbols dx, ddx."""
    made = [sp.diff(sp.diff(L, x.diff(t)), t) - sp.diff(L, x) for x in q]
    flat: dict[Any, Any] = {}
    for x, name in zip(q, names):
        flat[x.diff(t, 2)] = sp.Symbol(f"dd{name}")
    for x, name in zip(q, names):
        flat[x.diff(t)] = sp.Symbol(f"d{name}")
    for x, name in zip(q, names):
        flat[x] = sp.Symbol(name)
    ordered = sorted(flat.items(), key=lambda pair: -sp.count_ops(pair[0]))
    return sp.Matrix([one.subs(ordered) for one in made])


# ------------------------------------------------------------------ 000: a pole on an end-effector

POLE = ["x_A", "y_A", "z_A", "x_AB", "y_AB"]
Z_AB = {"z_{AB}": r"\sqrt{l^2 - x_{AB}^2 - y_{AB}^2}"}


@pytest.fixture(scope="module")
def pole() -> Any:
    q = [sp.Function(name)(t) for name in POLE]
    l, me, ms, g = sp.symbols("l m_e m_s g")
    height = sp.sqrt(l**2 - q[3] ** 2 - q[4] ** 2)
    position = sp.Matrix([q[0] + q[3], q[1] + q[4], q[2] + height])
    tip, sphere = sp.Matrix(q[:3]).diff(t), position.diff(t)
    T = me * tip.dot(tip) / 2 + ms * sphere.dot(sphere) / 2
    V = me * g * q[2] + ms * g * position[2]
    forces = sp.Matrix([*sp.symbols("f_x f_y f_z"), 0, 0])
    return lagrange(T - V, q, POLE) - forces


PRINTED_POLE = [
    r"(m_e + m_s)\ddot{x}_A + m_s\ddot{x}_{AB} = f_x \quad (5)",
    r"(m_e + m_s)\ddot{y}_A + m_s\ddot{y}_{AB} = f_y \quad (6)",
    r"(m_e + m_s)(\ddot{z}_A + g) - m_s \left(\dot{x}_{AB}^2 \frac{l^2 - y_{AB}^2}{z_{AB}^3} + \frac{x_{AB}}{z_{AB}}"
    r" \ddot{x}_{AB} + \dot{y}_{AB}^2 \frac{l^2 - x_{AB}^2}{z_{AB}^3} + \frac{y_{AB}}{z_{AB}} \ddot{y}_{AB}"
    r" - 2 \frac{x_{AB} y_{AB} \dot{x}_{AB} \dot{y}_{AB}}{z_{AB}^3} \right) = f_z \quad (7)",
    r"m_s(\ddot{x}_A + \ddot{x}_{AB}) - m_s x_{AB}(g + \ddot{z}_A)/z_{AB} + m_s(x_{AB}^2 \ddot{x}_{AB} + x_{AB}"
    r" \dot{x}_{AB}^2 + x_{AB} y_{AB} \ddot{y}_{AB} + x_{AB} \dot{y}_{AB}^2)/z_{AB}^2 + m_s(x_{AB}^3 \dot{x}_{AB}^2"
    r" + 2x_{AB}^2 y_{AB} \dot{x}_{AB} \dot{y}_{AB} + x_{AB} y_{AB}^2 \dot{y}_{AB}^2)/z_{AB}^4 = 0 \quad (8)",
    r"m_s(\ddot{y}_A + \ddot{y}_{AB}) - m_s y_{AB}(g + \ddot{z}_A)/z_{AB} + m_s(y_{AB}^2 \ddot{y}_{AB} + y_{AB}"
    r" \dot{y}_{AB}^2 + y_{AB} x_{AB} \ddot{x}_{AB} + y_{AB} \dot{x}_{AB}^2)/z_{AB}^2 + m_s(y_{AB}^3 \dot{y}_{AB}^2"
    r" + 2y_{AB}^2 x_{AB} \dot{y}_{AB} \dot{x}_{AB} + y_{AB} x_{AB}^2 \dot{x}_{AB}^2)/z_{AB}^4 = 0 \quad (9)",
]


@pytest.mark.parametrize("number", [0, 1, 3, 4])
def test_000_equations_5_6_8_and_9_are_right(pole: Any, number: int) -> None:
    assert check_derivation(PRINTED_POLE[number], pole[number], "equation", symbols=Z_AB, coordinates=POLE)


def test_000_equation_7_has_a_wrong_sign(pole: Any) -> None:
    verdict = check_derivation(PRINTED_POLE[2], pole[2], "equation", symbols=Z_AB, coordinates=POLE)
    assert slips(verdict) == {None: ("sign",)}
    assert r"\dot{x}_{AB} \dot{y}_{AB}" in verdict.differences[0].slips[0]
    assert check_derivation(verdict.mended + "= 0", pole[2], "equation", symbols=Z_AB, coordinates=POLE)


def test_000_mass_matrix_11_has_an_exponent_too_many(pole: Any) -> None:
    M = pole.jacobian([sp.Symbol(f"dd{name}") for name in POLE])
    printed = r"""M = \begin{bmatrix} m_e + m_s & 0 & 0 & m_s & 0 \\ 0 & m_e + m_s & 0 & 0 & m_s \\
        0 & 0 & m_e + m_s & -m_s \frac{x_{AB}}{z_{AB}^2} & -m_s \frac{y_{AB}}{z_{AB}} \\
        m_s & 0 & -m_s \frac{x_{AB}}{z_{AB}} & m_s + m_s \frac{x_{AB}^2}{z_{AB}^2} & m_s \frac{x_{AB}
        y_{AB}}{z_{AB}^2} \\
        0 & m_s & -m_s \frac{y_{AB}}{z_{AB}} & m_s \frac{x_{AB} y_{AB}}{z_{AB}^2} & m_s + m_s
        \frac{y_{AB}^2}{z_{AB}^2}
        \end{bmatrix} \quad (11)"""
    verdict = check_derivation(printed, M, "M", symbols=Z_AB, coordinates=POLE)
    assert slips(verdict) == {(3, 4): ("exponent",)}
    assert verdict.differences[0].mended == r"-m_{s} \frac{x_{AB}}{z_{AB}}"
    assert any("not symmetric: (3,4) ≠ (4,3)" in note for note in verdict.notes)


def test_000_bias_12_has_the_sign_of_7_again(pole: Any) -> None:
    rest = (pole + sp.Matrix([*sp.symbols("f_x f_y f_z"), 0, 0])).subs({sp.Symbol(f"dd{name}"): 0 for name in POLE})
    row = (
        r"-m_s g \frac{%s_{AB}}{z_{AB}} + m_s %s_{AB} \left(\frac{\dot{x}_{AB}^2 + \dot{y}_{AB}^2}{z_{AB}^2}"
        r" + \frac{(x_{AB} \dot{x}_{AB} + y_{AB} \dot{y}_{AB})^2}{z_{AB}^4} \right)"
    )
    printed = (
        r"C = \begin{bmatrix} 0 \\ 0 \\ (m_e + m_s)g - m_s \left(\dot{x}_{AB}^2 \frac{l^2 - y_{AB}^2}{z_{AB}^3}"
        r" + \dot{y}_{AB}^2 \frac{l^2 - x_{AB}^2}{z_{AB}^3} - 2 \frac{x_{AB} y_{AB} \dot{x}_{AB} \dot{y}_{AB}}"
        r"{z_{AB}^3} \right) \\ " + row % ("x", "x") + r" \\ " + row % ("y", "y") + r" \end{bmatrix} \quad (12)"
    )
    verdict = check_derivation(printed, rest, "expression", symbols=Z_AB, coordinates=POLE)
    assert slips(verdict) == {(3, 1): ("sign",)}


# ------------------------------------------------------------------ 001: planar 3R of equal thin rods

q1, q2, q3 = Q = sp.symbols("q1:4")
RATES = sp.symbols("dq1:4")
m, L = sp.symbols("m L")


def rods() -> tuple[Any, Any]:
    """M and J of three thin rods, from the kinetic energy and the tip's position."""
    angles = [sum(Q[: i + 1]) for i in range(3)]
    joint, T = sp.zeros(2, 1), sp.Integer(0)
    for i, angle in enumerate(angles):
        along = sp.Matrix([sp.cos(angle), sp.sin(angle)])
        velocity = (joint + L / 2 * along).jacobian(Q) * sp.Matrix(RATES)
        T += m * velocity.dot(velocity) / 2 + m * L**2 / 12 * sum(RATES[: i + 1]) ** 2 / 2
        joint += L * along
    return sp.hessian(T, RATES), joint.jacobian(Q)


def test_001_jacobian_7_and_drift_h_are_right() -> None:
    J = rods()[1]
    printed = r"""J(q) = \frac{\partial f(q)}{\partial q} = L \begin{pmatrix} -(s_1 + s_{12} + s_{123}) & -(s_{12}
        + s_{123})
        & -s_{123} \\ c_1 + c_{12} + c_{123} & c_{12} + c_{123} & c_{123} \end{pmatrix}, \tag{7}"""
    assert check_derivation(printed.replace(r"\frac{\partial f(q)}{\partial q} =", ""), J, "J", coordinates=Q)
    rate: Any = sum((J.diff(q) * v for q, v in zip(Q, RATES)), sp.zeros(2, 3))
    part = (
        r"(%s_1 + %s_{12} + %s_{123}) \, \dot{q}_1^2 + 2 \, (%s_{12} + %s_{123}) \, \dot{q}_1 \dot{q}_2"
        r" + 2 \, %s_{123} \, \dot{q}_1 \dot{q}_3 + (%s_{12} + %s_{123}) \, \dot{q}_2^2"
        r" + 2 \, %s_{123} \, \dot{q}_2 \dot{q}_3"
        r" + %s_{123} \, \dot{q}_3^2"
    )
    rows = r" \\ ".join(part % ((letter,) * 10) for letter in "cs")
    h = rf"\boldsymbol{{h}}(q,\dot q) = -L \begin{{pmatrix}} {rows} \end{{pmatrix}},"
    assert check_derivation(h, rate * sp.Matrix(RATES), "h", coordinates=Q)
    entries = [[f"{f}_1\\dot q_1 + {f}_{{12}}\\dot q_{{12}} + {f}_{{123}}\\dot q_{{123}}",
                f"{f}_{{12}}(\\dot q_1 + \\dot q_2) + {f}_{{123}}\\dot q_{{123}}", f"{f}_{{123}}\\dot q_{{123}}"]
               for f in "cs"]  # fmt: skip
    text = (
        r"-L \cdot \left( \begin{array}{ccc}" + r"\\".join(" & ".join(row) for row in entries) + r"\end{array}\right)"
    )
    assert check_derivation(text, rate, "Jdot", coordinates=Q)


def test_001_mass_matrix_12_is_right_with_its_lower_half_left_to_symmetry() -> None:
    printed = r"""\mathbf{M}(\mathbf{q}) = mL^{2} \begin{pmatrix} 4 + 3c_{2} + c_{23} + c_{3} & \frac{5}{3} +
        \frac{3}{2}c_{2} +
        \frac{1}{2}c_{23} + c_{3} & \frac{1}{3} + \frac{1}{2}c_{23} + \frac{1}{2}c_{3} \\ \vdots & \frac{5}{3} +
        c_{3} &
        \frac{1}{3} + \frac{1}{2}c_{3} \\ \text{symm} & \cdots & \frac{1}{3} \end{pmatrix}. \tag{12}"""
    assert check_derivation(printed, rods()[0], "M", coordinates=Q)


def test_001_jacobian_at_the_start_has_two_wrong_signs_and_what_follows_from_it_too() -> None:
    start = {q1: 0, q2: sp.pi / 2, q3: sp.pi / 2, L: 1}
    speed = sp.Matrix([sp.pi, sp.pi, 0])
    J0 = rods()[1].subs(start)
    printed = r"\boldsymbol{J}_0 = \begin{pmatrix} -1 & -1 & 0 \\ 0 & 1 & 1 \end{pmatrix},"
    verdict = check_derivation(printed, J0)
    assert slips(verdict) == {(2, 2): ("sign",), (2, 3): ("sign",)}
    assert check_derivation(verdict.mended, J0)
    velocity = check_derivation(r"\dot{\boldsymbol{p}}_0 = \begin{pmatrix} -2\pi \\ \pi \end{pmatrix}", J0 * speed)
    assert slips(velocity) == {(2, 1): ("sign",)}
    moving: Any = sum((rods()[1].diff(q) * v for q, v in zip(Q, speed)), sp.zeros(2, 3))
    rate = moving.subs(start)
    h0 = r"\begin{pmatrix} 3\pi^2 \\ -4\pi^2 \end{pmatrix} = \begin{pmatrix} 29.6088 \\ -39.4784 \end{pmatrix}"
    verdict = check_derivation(f"h_0 = {h0}", rate * speed)
    assert verdict.agrees
    assert any("digits printed" in note for note in verdict.steps[1].notes)
    pseudo = check_derivation(r"\begin{pmatrix} -2/3 & -1/3 \\ -1/3 & 1/3 \\ 1/3 & 2/3 \end{pmatrix}", J0.pinv())
    assert slips(pseudo) == {(1, 2): ("sign",), (2, 2): ("sign",), (3, 2): ("sign",)}
    b = check_derivation(r"\begin{pmatrix} 2\pi^2/3 \\ 7\pi^2/3 \\ 5\pi^2/3 \end{pmatrix}", -J0.pinv() * rate * speed)
    assert [one.entry for one in b.differences] == [(1, 1), (2, 1), (3, 1)]
    assert b.differences[0].mended == r"\frac{10 \pi^{2}}{3}"


# ------------------------------------------------------------------ 002: two links, unit masses, a wall

TH = {"theta_1": None, "theta_2": None, "g": None}
th, dth, ddth, g = sp.symbols("theta_1 dtheta_1 ddtheta_1 g")


def two_links() -> Any:
    """Torques of the free arm, unit lengths and unit masses at the link ends, angles from x."""
    a, b = (sp.Function(f"theta_{i}")(t) for i in (1, 2))
    p1 = sp.Matrix([sp.cos(a), sp.sin(a)])
    p2 = p1 + sp.Matrix([sp.cos(a + b), sp.sin(a + b)])
    T = sum(p.diff(t).dot(p.diff(t)) for p in (p1, p2)) / 2
    return lagrange(sp.expand(T - g * (p1[1] + p2[1])), [a, b], ["theta_1", "theta_2"])


def on_the_wall(torque: Any, sign: int = -2) -> Any:
    """With θ2 = −2 θ1."""
    second = {sp.Symbol(f"{d}theta_2"): sign * sp.Symbol(f"{d}theta_1") for d in ("dd", "d", "")}
    return torque.subs(second)


def check_002(text: str, reference: Any, what: str = "expression") -> Verdict:
    return check_derivation(text, reference, what, symbols=["g"], coordinates=["theta_1"])


def test_002_constrained_energy_is_right() -> None:
    text = r"""\begin{aligned} KE &= \frac{1}{2}\left(\left(-s_1 \dot{\theta}_1\right)^2 + \left(c_1
        \dot{\theta}_1\right)^2\right)
        + \frac{1}{2}\left(\left(-2s_1 \dot{\theta}_1\right)^2 + (0)^2\right) \\
        KE &= \frac{1}{2}\dot{\theta}_1^2 + 2s_1^2 \dot{\theta}_1^2 \\
        KE &= \left(\frac{1}{2} + 2s_1^2\right) \dot{\theta}_1^2\end{aligned}"""
    verdict = check_002(text, (1 + 4 * sp.sin(th) ** 2) * dth**2 / 2, "T")
    assert verdict.agrees
    assert len(verdict.steps) == 3


def test_002_time_derivative_of_the_momentum_lacks_a_factor_of_two() -> None:
    momentum = 2 * (sp.Rational(1, 2) + 2 * sp.sin(th) ** 2) * dth
    right = sp.diff(momentum, th) * dth + sp.diff(momentum, dth) * ddth
    text = r"""\frac{d}{dt}\left(\frac{\partial L}{\partial \dot{\theta}_1}\right) =
        2\left(\frac{1}{2} + 2s_1^2\right) \ddot{\theta}_1 + 4s_1 c_1 \dot{\theta}_1^2"""
    verdict = check_002(text, right)
    assert slips(verdict) == {None: ("factor of two",)}
    assert verdict.mended.endswith(r"8 s_{1} c_{1} \dot{\theta}_{1}^{2}")


def test_002_first_torque_lost_its_velocity_term() -> None:
    torque = two_links()
    right = sp.expand(on_the_wall(torque[0]) - 2 * on_the_wall(torque[1]))
    line2 = r"""T_1 = 2\left(\frac{1}{2} + 2s_1^2\right)\ddot{\theta}_1 + 4s_1c_1\dot{\theta}_1^2
        - \left(4s_1c_1\dot{\theta}_1^2 - gc_1\right)"""
    line3 = r"T_1 = 2\left(\frac{1}{2} + 2s_1^2\right)\ddot{\theta}_1 + gc_1"
    assert slips(check_002(line2, right)) == {None: ("factor of two",)}
    verdict = check_002(line3, right)
    assert slips(verdict) == {None: ("missing term",)}
    assert check_002(verdict.mended, right)
    assert check_002(r"2\left(\frac12 + 2s_1^2\right)\ddot\theta_1 + 4 s_1 c_1 \dot\theta_1^2 + g c_1", right)


FREE_T2 = r"T_2 = \ddot{\theta}_2 + (1 + c_2)\ddot{\theta}_1 + s_2\dot{\theta}_1^2 - gs_{12}"


def test_002_free_second_torque_is_right_with_angles_from_the_y_axis() -> None:
    right = two_links()[1]
    verdict = check_derivation(FREE_T2, right, "tau", coordinates=["theta_1", "theta_2"])
    assert verdict.agrees
    assert verdict.convention == "θ1 is measured from the y axis"
    turned = right.subs(th, th + sp.pi / 2)
    plain = check_derivation(FREE_T2, turned, "tau", coordinates=["theta_1", "theta_2"])
    assert plain.agrees
    assert not plain.convention


def test_002_second_torque_after_substitution_has_a_wrong_sign() -> None:
    right = on_the_wall(two_links()[1].subs(th, th + sp.pi / 2))
    text = r"T_2 = -2\ddot{\theta}_1 + (1 + \cos(2\theta_1))\ddot{\theta}_1 + \sin(2\theta_1)\dot{\theta}_1^2 + gs_1"
    verdict = check_002(text, right)
    assert slips(verdict) == {None: ("sign",)}
    assert r"-\sin" in verdict.differences[0].slips[0].split("should be")[1]


@pytest.mark.parametrize(
    "text",
    [
        r"T_2 = -2\ddot{\theta}_1 + (1 - \cos(2\theta_1))\ddot{\theta}_1 - \sin(2\theta_1)\dot{\theta}_1^2 + gc_1",
        r"(-1 - \cos(2\theta_1))\ddot{\theta}_1 - \sin(2\theta_1)\dot{\theta}_1^2 + gc_1",
    ],
)
def test_002_second_torque_after_the_rotation_has_a_wrong_sign_too(text: str) -> None:
    right = on_the_wall(two_links()[1])
    verdict = check_002(text, right)
    assert slips(verdict) == {None: ("sign",)}
    assert r"-\cos" in verdict.differences[0].slips[0].split("should be")[0]


def test_002_first_row_of_the_torques_needs_two_corrections() -> None:
    verdict = check_002(r"2\left(\frac{1}{2} + 2s_1^2\right)\ddot{\theta}_1 + gc_1", on_the_wall(two_links()[0]))
    assert set(slips(verdict)[None]) == {"extra term", "wrong number"}  # θ̈ + 3 g c


def test_002_torques_are_the_transposed_jacobian_times_the_force() -> None:
    a, b = sp.symbols("theta_1 theta_2")
    position = sp.Matrix([sp.cos(a) + sp.cos(a + b), sp.sin(a) + sp.sin(a + b)])
    J, F = position.jacobian([a, b]), sp.Matrix(sp.symbols("F_x F_y"))
    names = {"J": J, "F_x": None, "F_y": None}
    text = r"\begin{bmatrix} T_1 \\ T_2 \end{bmatrix} = (J^T)^{-1} \begin{bmatrix} F_x \\ F_y \end{bmatrix}"
    verdict = check_derivation(text, J.T * F, "tau", symbols=names, coordinates=[a, b])
    assert slips(verdict) == {(1, 1): ("wrong matrix",), (2, 1): ("wrong matrix",)}
    assert verdict.differences[0].slips == ("wrong matrix: (J^T)^{-1} should be J^T",)
    power = check_derivation(
        r"\begin{bmatrix} F_x & F_y \end{bmatrix} J", (J.T * F).T, symbols=names, coordinates=[a, b]
    )
    assert power.agrees
    assert check_derivation("J'*[F_x; F_y]", J.T * F, "tau", symbols=names, coordinates=[a, b])


# ------------------------------------------------------------------ 003: a pendulum, a planar 3R


def test_003_pendulum() -> None:
    m_, l, th_, dth_, ddth_ = sp.symbols("m ell theta dtheta ddtheta")
    names: dict[str, Any] = {"coordinates": ["theta"]}
    V = m_ * l * g * (1 - sp.cos(th_))
    assert check_derivation(r"V = m\ell g(1 - \cos \theta)", V, "V", **names)
    assert check_derivation(r"T = \frac{1}{2} m \ell^2 \dot{\theta}^2", m_ * l**2 * dth_**2 / 2, "T", **names)
    verdict = check_derivation(r"m \ell g \sin \theta", sp.diff(-V, th_), **names)
    assert slips(verdict) == {None: ("sign",)}
    motion = sp.Eq(m_ * l**2 * ddth_ + sp.diff(V, th_), 0)
    assert check_derivation(r"m \ell^2 \ddot{\theta} + m \ell g \sin \theta = 0", motion, "equation", **names)
    divided = check_derivation(r"\ddot{\theta} + \frac{g}{\ell} \sin \theta = 0", motion, "equation", **names)
    assert divided.agrees
    assert "multiplied by" in divided.notes[0]


def test_003_planar_arm() -> None:
    l = sp.symbols("l_0:4")
    angles = [sum(Q[: i + 1]) for i in range(3)]
    position = sp.Matrix([sum(l[i + 1] * sp.sin(angle) for i, angle in enumerate(angles)),
                          l[0] + sum(l[i + 1] * sp.cos(angle) for i, angle in enumerate(angles))])  # fmt: skip
    printed = r"""\chi_{eP}(q) = \begin{bmatrix} l_1 \sin q_1 + l_2 \sin(q_1 + q_2) + l_3 \sin(q_1 + q_2 + q_3) \\
        l_0 + l_1 \cos q_1 + l_2 \cos(q_1 + q_2) + l_3 \cos(q_1 + q_2 + q_3) \end{bmatrix}"""
    assert check_derivation(printed, position, "FK", coordinates=Q)
    jacobian = r"""\begin{bmatrix} l_1 c_1 + l_2 c_{12} + l_3 c_{123} & l_2 c_{12} + l_3 c_{123} & l_3 c_{123} \\
        -l_1 s_1 - l_2 s_{12} - l_3 s_{123} & -l_2 s_{12} - l_3 s_{123} & -l_3 s_{123} \end{bmatrix}"""
    assert check_derivation(jacobian, position.jacobian(Q), "J", coordinates=Q)


# ------------------------------------------------------------------ an OCR fault is told with its place


def test_004_a_line_without_its_closing_bracket_is_told_with_its_place() -> None:
    with pytest.raises(UnreadableExpression, match="expected '\\)' to close") as caught:
        check_derivation(
            r"0.5\dot{q}_1(m_3 a_3 s_3 + a_3a_3m_3s_3", sp.Symbol("x"), symbols=["m_3", "a_3"], coordinates=Q
        )
    assert caught.value.line == 1

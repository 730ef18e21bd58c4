"""What people write, and what palpate writes itself, is read: one right formula in many spellings."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import PalpateError, UnknownSymbol, UnreadableExpression
from palpate.tools.derive.derivation import Derivation
from palpate.tools.review import check_derivation, check_file

# The second torque of gravity of a planar arm, m2 g l2 cos(q1 + q2).
GRAVITY = [
    r"m_2 g l_2 \cos(q_1+q_2)",
    r"\[ m_2 g l_2 \cos(q_1+q_2) \]",
    r"\( m_2 g l_2 c_{12} \)",
    r"$$\begin{aligned} m_2 g l_2 c_{12} \end{aligned}$$",
    r"$$\begin{aligned} g_2 &= m_2 g l_2 c_{12} \end{aligned}$$",
    r"\begin{align*} g_2 &= m_2\, g\, l_2 \\ &\quad \cdot c_{12} \end{align*}",
    r"\underbrace{m_2 g l_2}_{\text{weight}} c_{12}",
    r"m_2 g l_2 \cos q_{12}",
    r"m_2 g l_2 \cos(q_1(t)+q_2(t))",
    r"\newcommand{\cc}{\cos(q_1+q_2)} m_2 g l_2 \cc",
    r"\def\mm{m_2} \mm g l_2 c_{12}",
    r"{2\over 2} m_2 g l_2 c_{12}",
    r"m_2 \, g \, L_2 \, c_{12}",
    r"m_{2}gl_{2}\mathrm{c}_{12}",
    r"m_2 g l_2 \operatorname{cos}(q_1+q_2)",
    r"m_2 g l_2 \left(c_1 c_2 - s_1 s_2\right)",
    r"m_2 g l_2 (\cos q_1 \cos q_2 - \sin q_1 \sin q_2)",
    r"m_2 g \ell_2 \cos(\theta_1+\theta_2)",
    r"m_2 g l_2 \cos\left(\vartheta_1+\vartheta_2\right)",
    'm2*g*l2*cos(q1+q2)',
    'm2*g*l2*np.cos(q1+q2)',
    'm2*g*l2*math.cos(q1 + q2)',
    'm2*g*l2*sp.cos(q1+q2)',
    'm2*g*l2*cos(q[0]+q[1])',
    'm[1]*g*l[1]*np.cos(q[0]+q[1])',
    'm2.*g.*l2.*cos(q(1)+q(2))',
    'm2*g*l2*...\n cos(q1+q2)',
    'm2*g*l2*cos(theta1+theta2)',
    'm2 g l2 c12',
    'm2*g*l2*c12',
    'm2·g·l2·cos(q1+q2)',
    'm₂ g l₂ cos(q₁+q₂)',
    'm2*g*l2*cos(q1(t)+q2(t))',
    'm_2*g*l_2*cos(q_1 + q_2)',
    'pow(m2, 1)*g*l2*cos(q1+q2)',
    'm2 g l2 (c1 c2 − s1 s2)',
    'm2*g*l2*C12',
    'm2*g*l2*cos(q1+q2);',
    'm2 * g * l2 * cos(q1 + q2)  # torque of joint 2',
    r"m_2 g l_2 \boxed{c_{12}}",
    'm_2 g l_2 c_{q_1+q_2}',
    r"\frac{2 m_2 g l_2}{2} c_{12}",
    r"\dfrac{m_2 g l_2 c_{12}}{1}",
    r"m_2 g l_2 \cos{(q_1+q_2)}",
    r"m_2 g l_2 \cos\big(q_1+q_2\big)",
    r"\mathit{m}_2 g l_2 \text{cos}(q_1+q_2)",
    r"m_2 \cdot g \cdot l_2 \cdot \cos(q_1+q_2) \tag{4}",
    r"m_2 g l_2 \cos(q_1+q_2), \quad (4)",
    'm2*g*l2*(np.cos(q1)*np.cos(q2) - np.sin(q1)*np.sin(q2))',
    'm2*g*l2*cos(q[..., 0] + q[..., 1])',
]  # fmt: skip

# The kinetic energy of a pendulum, m l² q̇²/2.
ENERGY = [
    r"\frac12 m_1 l_1^2 \dot q_1^2",
    r"{1\over2} m_1 l_1^2 {\dot q}_1^2",
    r"\frac12 m_1 l_1^2 \left(\frac{dq_1}{dt}\right)^2",
    r"\frac12 m_1 l_1^2 \left(\frac{\mathrm{d} q_1}{\mathrm{d} t}\right)^2",
    '0.5*m1*l1**2*q1dot**2',
    '0.5*m1*l1^2*theta1dot^2',
    'm1*l1**2*Derivative(q1(t), t)**2/2',
    'm1*l1**2*diff(q1, t)**2/2',
    'm1*l1**2*q1(t).diff(t)**2/2',
    r"\frac12 m l^2 \dot\theta^2",
    r"\tfrac12 m l^2 \dot{q}^2",
    '0.5*m*l**2*thetadot**2',
    '1/2*m*pow(l,2)*dq[0]**2',
    '0.5*m*(l*v[0])^2',
    r"\frac{1}{2} m l^2 \dot q^2(t)",
    r"\frac{1}{2} m l^2 \left(\frac{d}{dt} q_1\right)^2",
    '½ m1 l1² q̇1²',
    r"\frac12 m_1 l_1^2 \dot{q}_1^2(t)",
    r"\frac12 m_1 (l_1 \dot{q}_1(t))^2",
    'm*l**2*qd**2/2',
    '0.5*m1*l1**2*dq1**2',
    '0.5*m1*l1**2*q1_dot**2',
    "0.5 m1 l1^2 q1'^2",
    'm1*power(l1*qdot1, 2)/2',
]  # fmt: skip


@pytest.fixture(scope="module")
def planar2() -> Derivation:
    return pp.derive("planar2")


@pytest.fixture(scope="module")
def pendulum() -> Derivation:
    return pp.derive("pendulum")


@pytest.mark.parametrize("text", GRAVITY)
def test_every_spelling_of_a_torque_is_read(planar2: Derivation, text: str) -> None:
    assert check_derivation(text, planar2, "g", entry=(1, 0))


@pytest.mark.parametrize("text", ENERGY)
def test_every_spelling_of_an_energy_is_read(pendulum: Derivation, text: str) -> None:
    assert check_derivation(text, pendulum, "T")


def test_a_wrong_formula_is_wrong_in_every_spelling(planar2: Derivation, pendulum: Derivation) -> None:
    assert not any(check_derivation(f"2*({text})" if "\\" not in text else rf"2 {text}", planar2, "g", entry=(1, 0))
                   for text in GRAVITY[29:32])  # fmt: skip
    assert not check_derivation(r"\frac12 m l \dot\theta^2", pendulum, "T")


# ------------------------------------------------------------------ generated spellings

MASS = {"latex": ["m_2", "m_{2}", r"\mathrm{m}_2", "{m}_2"], "plain": ["m2", "m_2", "m[1]", "m₂"]}
LENGTH = {"latex": ["l_2", "l_{2}", r"\ell_2", "L_2", "L_{2}"], "plain": ["l2", "l_2", "L2", "l[1]"]}
ANGLES = {
    "latex": ["q_1 q_2", r"\theta_1 \theta_2", r"\vartheta_{1} \vartheta_{2}", "q_1(t) q_2(t)", "q_{1} q_{2}"],
    "plain": ["q1 q2", "theta1 theta2", "q[0] q[1]", "q(1) q(2)", "q_1 q_2", "q1(t) q2(t)", "θ1 θ2"],
}  # fmt: skip
COSINES = {
    "latex": [r"\cos({0}+{1})", r"\cos\left({0} + {1}\right)", r"\operatorname{{cos}}({0}+{1})",
              r"(\cos {0}\cos {1} - \sin {0}\sin {1})", r"\cos\!\big({0}+{1}\big)"],
    "plain": ["cos({0}+{1})", "np.cos({0} + {1})", "math.cos({0}+{1})", "sp.cos({0}+{1})", "numpy.cos({1}+{0})",
              "(cos({0})*cos({1}) - sin({0})*sin({1}))"],
}  # fmt: skip
BETWEEN = {"latex": [" ", r" \, ", r" \cdot ", r" \times ", "{}"], "plain": ["*", " * ", " ", ".*", "·"]}
AROUND = {
    "latex": ["{}", r"\[ {} \]", r"\( {} \)", "$${}$$", "${}$", r"\begin{{equation}} {} \end{{equation}}",
              r"\begin{{aligned}} & {} \end{{aligned}}", r"g_2 = {} .", r"{} \quad (7)", r"{} \tag{{3}}"],
    "plain": ["{}", "g2 = {}", "({})", "{};", "1*{}", "{}  # joint 2"],
}  # fmt: skip


def generated(number: int) -> str:
    """One of the many ways to write m2 g l2 cos(q1 + q2)."""
    chance = Random(number)
    kind = chance.choice(["latex", "plain"])
    factors = [chance.choice(MASS[kind]), "g", chance.choice(LENGTH[kind])]
    factors.append(chance.choice(COSINES[kind]).format(*chance.choice(ANGLES[kind]).split()))
    chance.shuffle(factors)
    return chance.choice(AROUND[kind]).format(chance.choice(BETWEEN[kind]).join(factors))


def test_two_hundred_generated_spellings_are_read(planar2: Derivation) -> None:
    refused = []
    for number in range(200):
        text = generated(number)
        try:
            assert check_derivation(text, planar2, "g", entry=(1, 0)), text
        except UnreadableExpression as error:
            refused.append((text, str(error)))
    assert not refused, refused


# ------------------------------------------------------------------ palpate's own output

SMALL = ["pendulum", "planar2", "planar3", "planar3-vertical", "cartesian2", "point3", "ur5e-3link"]


def test_every_arm_of_the_catalogue_up_to_three_joints_is_among_these() -> None:
    from palpate.robot.catalogue import names

    assert sorted(SMALL) == sorted(name for name in names() if pp.load_robot(name).nv <= 3)


WRITERS: dict[str, Callable[[Derivation], str]] = {
    "latex": Derivation.latex,
    "text": Derivation.text,
    "python": lambda derivation: derivation.python("M", "C", "g"),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("form", list(WRITERS))
def test_what_palpate_writes_palpate_reads(name: str, form: str, tmp_path: Path) -> None:
    robot = pp.load_robot(name)
    path = tmp_path / "own.txt"
    path.write_text(WRITERS[form](pp.derive(robot)), encoding="utf-8")
    verdicts = check_file(robot, path)
    assert {formula.what for formula, _ in verdicts} == {"M", "C", "g"}
    assert all(verdict for _, verdict in verdicts)


def test_a_slip_in_palpates_own_page_is_found_on_its_line(tmp_path: Path) -> None:
    page = pp.derive("planar2").text().replace("m2 g l2 c12", "m2 g l2 s12")
    path = tmp_path / "page.txt"
    path.write_text(page, encoding="utf-8")
    wrong = [(formula, verdict) for formula, verdict in check_file(pp.load_robot("planar2"), path) if not verdict]
    assert [formula.label for formula, _ in wrong] == ["g"]
    assert wrong[0][1].differences[0].kinds == ("sine for cosine",)


def test_the_command_closes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "planar2", "--latex"]) == 0
    (tmp_path / "f.tex").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["derive", "planar2", "--check", str(tmp_path / "f.tex")]) == 0
    assert "3 checked: all agree" in capsys.readouterr().out


# ------------------------------------------------------------------ files of several formulas

ALIGNED = r"""
\section{My arm}
The mass matrix and the torques of gravity are, where $c_{12} = \cos(q_1 + q_2)$ as usual,
\newcommand{\inner}{l_1 c_2 + l_2}
$$\begin{aligned}
M &= \begin{bmatrix} m_1 l_1^2 + m_2 (l_1^2 + 2 l_1 l_2 c_2 + l_2^2) & m_2 l_2 (\inner) \\
  m_2 l_2 (\inner) & m_2 l_2^2 \end{bmatrix} \\
g_1 &= (m_1 + m_2) g l_1 c_1 + m_2 g l_2 c_{12} , \quad g_2 = m_2 g l_2 c_{12}
\end{aligned}$$
(4)
"""

MATLAB = """
syms q1 q2 l1 l2
M(1,1) = m1*l1^2 + m2*(l1^2 + 2*l1*l2*cos(q2) + l2^2);
M(1,2) = m2.*l2.*(l1.*cos(q2) ...
  + l2);
g(2) = m2*g*l2*cos(q1 + q2); % joint 2
"""

PYTHON = """
import numpy as np
def gravity(q):
    s = m2*g_*l2*np.cos(q[0] + q[1])
    g = np.zeros(2)
    g[0] = (m1 + m2)*g_*l1*np.cos(q[0]) + s
    g[1] = s
    return g
"""


@pytest.mark.parametrize(("text", "labels"), [
    (ALIGNED, ["M", "g_1", "g_2"]), (MATLAB, ["M(1,1)", "M(1,2)", "g(2)"]), (PYTHON, ["g[0]", "g[1]"]),
])  # fmt: skip
def test_a_file_of_several_formulas_is_read(text: str, labels: list[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(text, encoding="utf-8")
    verdicts = check_file(pp.load_robot("planar2"), path)
    assert [formula.label for formula, _ in verdicts] == labels
    assert all(verdict for _, verdict in verdicts)


@pytest.mark.parametrize("equation", [
    r"\tau_2 = m_2 l_2 (l_1 c_2 + l_2) \ddot q_1 + m_2 l_2^2 \ddot q_2 + m_2 l_1 l_2 s_2 \dot q_1^2 + m_2 g l_2 c_{12}",
    "(m1*l1**2 + m2*(l1**2 + 2*l1*l2*c2 + l2**2))*ddq1 + m2*l2*(l1*c2 + l2)*ddq2 - m2*l1*l2*s2*(2*dq1*dq2 + dq2**2)"
    " + (m1 + m2)*g*l1*c1 + m2*g*l2*c12 = tau1",
])  # fmt: skip
def test_one_equation_of_several_is_enough(planar2: Derivation, equation: str) -> None:
    verdict = check_derivation(equation, planar2, "equation")
    assert verdict
    assert any("of 2" in note for note in verdict.notes)


# ------------------------------------------------------------------ one name for several


def test_one_length_for_all_links_is_asked_for_and_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.tex"
    path.write_text(r"J = L \begin{pmatrix} -(s_1 + s_{12} + s_{123}) & -(s_{12} + s_{123}) & -s_{123} \\ "
                    r"c_1 + c_{12} + c_{123} & c_{12} + c_{123} & c_{123} \end{pmatrix}", encoding="utf-8")  # fmt: skip
    assert main(["derive", "planar3", "--check", str(path)]) == 2
    assert "is it l1 = l2 = l3? Then add --equal L=l1,l2,l3" in capsys.readouterr().err
    assert main(["derive", "planar3", "--check", str(path), "--equal", "L=l1,l2,l3"]) == 0
    assert main(["derive", "planar3", "--check", str(path), "--equal", "L"]) == 2


def test_equal_names_must_be_the_arms(planar2: Derivation) -> None:
    with pytest.raises(PalpateError, match="l9"):
        check_derivation("L", planar2, "T", equal={"L": ["l9"]})
    with pytest.raises(UnknownSymbol, match="is it l1 = l2"):
        check_derivation("L*c1", planar2, "g", entry=(0, 0))


# ------------------------------------------------------------------ broken texts

BASES = [
    r"M = \begin{bmatrix} m_1 l_1^2 + m_2 \left(l_1^2 + 2 l_1 l_2 c_2\right) & \frac{m_2}{2} \\ "
    r"\sqrt{m_2} & \dot{q}_1^{2} \end{bmatrix}",
    "M = np.array([[m1*l1**2 + m2*(l1**2 + 2*l1*l2*cos(q2)), m2/2], [sqrt(m2), dq1**2]])",
    r"$$\begin{aligned} g_2 &= {1\over2} \underbrace{m_2 g}_{x} l_2 \cos q_{12} \\ T &= \frac{dq_1}{dt}\end{aligned}$$",
]  # fmt: skip


def broken(number: int) -> str:
    """A formula with one or two typos."""
    chance = Random(number)
    text = chance.choice(BASES)
    for _ in range(chance.choice([1, 2])):
        at = chance.randrange(len(text) + 1)
        piece = chance.choice(r"\{}[]()_^&=,.;'$%+-*/ 1q")
        rest = chance.choice(["", text[at + 1 :], piece + text[at:], piece + text[at + 1 :]])
        text = text[:at] + rest
    return text


def test_a_broken_text_is_read_or_refused_with_its_position(planar2: Derivation) -> None:
    names = ["l1", "l2", "m2", "g", "q1", "q2"]
    told = []
    for number in range(1200):
        try:
            check_derivation(broken(number), "m1", symbols=names, coordinates=["q1", "q2"])
        except UnreadableExpression as error:
            told.append(str(error))
        except PalpateError:
            pass
    assert len(told) > 300
    assert all(re.match(r"line \d+, column \d+: ", text) for text in told)


@pytest.mark.parametrize(("text", "says"), [
    (r"\begin{bmatrix} 1 \end{bmatrix", "line 1, column 23: the name"),
    (r"\begin{bmatrix", "line 1, column 7: the name"),
    (r"\frac{1}{2} m_", "line 1, column 15: a subscript"),
    ("m1^", "line 1, column 4: an exponent"),
    ("(" * 200 + "m1" + ")" * 200, "line 1, column 41: more than 40 brackets within"),
    ("m1" + "/m1" * 20_000, "line 1, column 123: more than 40 divisions"),
    ("m1" + "**2" * 3_000, "line 1, column 123: more than 40 powers"),
    (r"\newcommand{\f}[1]{#1} \f", "line 1, column 24: \\f needs"),
    (r"\def\x{\x} \x", "line 1, column 12: \\x is defined"),
    (r"\frac{d m_1}{dt}", "line 1, column 1"),
    ("diff(m1, t)", "line 1, column 1: only derivatives"),
    ("pow(m1, q1)", "line 1, column 9: the exponent"),
])  # fmt: skip
def test_what_cannot_be_read_is_told_with_line_and_column(text: str, says: str) -> None:
    with pytest.raises(UnreadableExpression) as caught:
        check_derivation(text, "m1*q1", coordinates=["q1"])
    assert says in str(caught.value)


def test_twenty_thousand_terms_are_read_and_compared() -> None:
    text = " + ".join(f"{number % 7 + 1}*m1*cos(q1)" for number in range(20_000))
    total = sum(number % 7 + 1 for number in range(20_000))
    assert check_derivation(text, f"{total}*m1*cos(q1)")
    assert not check_derivation(text[:100_000].rpartition(" + ")[0], "m1*l1*cos(q1)")  # no search for slips

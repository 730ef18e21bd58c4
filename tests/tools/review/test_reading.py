"""Formulas as people write them: LaTeX as printed, plain text, shorthand; and faults told with their place."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import pytest
import sympy as sp
from hypothesis import given, strategies as st

from palpate.errors import UnknownSymbol, UnreadableExpression
from palpate.tools.review.algebra.convert import from_sympy, to_sympy
from palpate.tools.review.algebra.names import SymbolTable, spelled
from palpate.tools.review.algebra.points import Real, Space
from palpate.tools.review.algebra.printing import Printer
from palpate.tools.review.algebra.tree import Grid, Name, Sym, as_grid
from palpate.tools.review.read.reading import SymbolText

VALUES = {
    "q1": 0.3, "q2": -0.7, "q3": 1.1, "dq1": 0.5, "dq2": -1.2, "dq3": 0.8, "ddq1": 0.2, "m": 1.3, "m_s": 0.27,
    "g": 9.81,
    "l": 1.1, "L": 0.9, "l1": 0.6, "x_AB": -0.4, "pl31": 0.15, "I_11,1": 0.02, "omega": 1.7, "t": 0.4, "a2": -0.425,
}  # fmt: skip


def table() -> SymbolTable:
    made = SymbolTable(coordinates=["q1", "q2", "q3"])
    made.learn(VALUES)
    return made


def value(text: str) -> Any:
    """The number, or the matrix of numbers, that a text is at VALUES."""
    names = table()
    read = SymbolText(text, names).claims()[-1]
    values = {names.originals[name]: number for name, number in VALUES.items()}
    point = Space(Real(None), []).point(0).with_values(values)
    if isinstance(read, Grid):
        return [[point.of(node) for node in row] for row in read.rows]
    return point.of(read)


q1, q2, q3, v1, v2 = (VALUES[name] for name in ("q1", "q2", "q3", "dq1", "dq2"))
m, ms, g, l, L, l1, x, pl = (VALUES[name] for name in ("m", "m_s", "g", "l", "L", "l1", "x_AB", "pl31"))
sin, cos = math.sin, math.cos


@pytest.mark.parametrize(
    ("text", "right"),
    [
        # shorthand, in every spelling
        ("c1", cos(q1)), ("s_1", sin(q1)), (r"c_{12}", cos(q1 + q2)), (r"S_{123}", sin(q1 + q2 + q3)), ("c12",
        cos(q1 + q2)),
        (r"c_{2.0*2}", cos(2 * q2)), (r"s_{2*2+3}", sin(2 * q2 + q3)), (r"c_{1-2}", cos(q1 - q2)), (r"c_{1,2}",
        cos(q1 + q2)),
        (r"s_{\theta_1}", sin(q1)), (r"c_{q_2}", cos(q2)),
        # rates
        (r"\dot q_1", v1), (r"\dot{q}_{1}", v1), (r"\dot{q_1}", v1), (r"\dot{\mathbf{q}}_1", v1), (r"\dot\theta_1",
        v1),
        ("q̇1", v1), ("q̇_1", v1), ("q̇₁²", v1**2), ("dq1", v1), ("qd1", v1), ("q1_dot", v1), (r"q_1'", v1),
        (r"\ddot{\theta}_1", 0.2), ("ddq1", 0.2), (r"\dot q_{12}", v1 + v2), (r"\dot q_1^2 \dot q_2", v1**2 * v2),
        # names
        (r"m_s", ms), (r"m_{s}", ms), (r"x_{AB}^2", x**2), (r"{x_{AB}}^{2}", x**2), (r"x_{AB}{}^{2}", x**2),
        (r"\mathrm{pl}_{31}", pl), (r"\operatorname{pl}_{31}^{\ 2}", pl**2), (r"\mathbf{pl_{31}}^2", pl**2),
        (r"pl_{31}{}", pl), ("pl31", pl), (r"I_{11,1}\,", 0.02), (r"\theta_1", q1), (r"\vartheta_{1}", q1),
        # products
        (r"mgl\sin\theta_1", m * g * l * sin(q1)), ("m*g*l*sin(q1)", m * g * l * sin(q1)), ("mgl", m * g * l),
        (r"mL^{2}", m * L**2), ("m L^2", m * L**2), ("mL**2", m * L**2), ("2l1c1", 2 * l1 * cos(q1)),
        (r"2 \cdot 3 \times m", 6 * m), ("2*-3*m", -6 * m), ("--m", m), ("m - -l", m + l), ("-+m", -m),
        ("-m**2", -(m**2)), (r"m(l+L)(l-L)", m * (l * l - L * L)),
        # fractions and roots
        (r"\frac{1}{2}m", m / 2), (r"\tfrac12 m", m / 2), (r"\frac12m", m / 2), (r"\frac{m}{2l}", m / 2 / l),
        ("1/2 m l", m * l / 2),
        ("m/l/L", m / l / L), ("½ m", m / 2), (r"\dfrac{m+l}{L}", (m + l) / L), (r"\sqrt{m}", m**0.5), ("sqrt(m)",
        m**0.5),
        (r"\sqrt[3]{m}", m ** (1 / 3)), (r"m^{1/2}", m**0.5), (r"m^{\frac{3}{2}}", m**1.5), (r"m^{-1}", 1 / m),
        ("m**-2", m**-2),
        # functions
        (r"\sin^2\theta_1", sin(q1) ** 2), (r"\sin^{2}(q_1)", sin(q1) ** 2), (r"\cos(2\theta_1)", cos(2 * q1)),
        (r"\cos 2\theta_1 m", cos(2 * q1) * m), (r"\sin q_1\cos q_2", sin(q1) * cos(q2)),
        (r"\sin\left(q_1 + q_2\right)", sin(q1 + q2)),
        (r"\sin{\left(q_{1} \right)}", sin(q1)), (r"\sin\omega t", sin(1.7 * 0.4)), (r"\cos\theta_1/2", cos(q1 / 2)),
        ("sin(q1)**2", sin(q1) ** 2), ("tan(q1)", math.tan(q1)), (r"\sec q_1", 1 / cos(q1)), (r"\cot(q_1)",
        1 / math.tan(q1)),
        ("exp(-l)", math.exp(-l)), (r"\cos(q_1 - \frac{\pi}{2})", sin(q1)), ("pi*m", math.pi * m), (r"\pi", math.pi),
        # layout
        (r"\left( m + l \right) \, \bigl[ L \bigr]", (m + l) * L), (r"$$ m \quad (7) $$", m), (r"m + l. \tag{12}",
        m + l),
        (r"V = m \\ + l", m + l), (r"\begin{aligned} a &= m \\ &= m \\ &\quad + l \end{aligned}", m + l),
        ("m − l · L", m - l * L),
        ("{a_2}^2" + r"\,", 0.425**2), ("m  % a comment", m),
    ],
)  # fmt: skip
def test_a_text_means_what_a_person_reads(text: str, right: float) -> None:
    assert value(text) == pytest.approx(right, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (r"\begin{bmatrix} m & l \\ 0 & 1 \end{bmatrix}", [[m, l], [0, 1]]),
        (r"L\begin{pmatrix} m \\ l \end{pmatrix}", [[L * m], [L * l]]),
        (r"\left[\begin{array}{cc} m & l \\ g & 1 \end{array}\right]", [[m, l], [g, 1]]),
        (r"\begin{bmatrix} m & l \end{bmatrix}^T", [[m], [l]]),
        (r"[q_1 \quad q_2 \quad q_3]^\top", [[q1], [q2], [q3]]),
        ("[[m, l], [g, 1]]", [[m, l], [g, 1]]),
        ("Matrix([[m, l], [g, 1]])", [[m, l], [g, 1]]),
        ("[m, l; g, 1]", [[m, l], [g, 1]]),
        ("[m, l; g, 1]'", [[m, g], [l, 1]]),
        (r"\begin{bmatrix} m & l \\ \vdots & g \end{bmatrix}", [[m, l], [l, g]]),
        (r"\begin{bmatrix} m & l \\ \text{symm} & g \end{bmatrix}", [[m, l], [l, g]]),
        (r"\begin{bmatrix} m & l \\ * & g \end{bmatrix}", [[m, l], [l, g]]),
        (r"\begin{bmatrix} m & l \\ 0 & 1 \end{bmatrix} \begin{bmatrix} 1 \\ 2 \end{bmatrix}", [[m + 2 * l], [2]]),
        (r"\begin{bmatrix} 2 & 0 \\ 0 & 4 \end{bmatrix}^{-1}", [[0.5, 0], [0, 0.25]]),
        (r"\begin{bmatrix} 2 & m \\ 0 & 4 \end{bmatrix}^{-T}", [[0.5, 0], [-m / 8, 0.25]]),
        (r"-\begin{bmatrix} m \\ l \end{bmatrix} + \begin{bmatrix} 1 \\ l \end{bmatrix}", [[1 - m], [0]]),
        (r"\dot{\mathbf{q}}", [[v1], [v2], [0.8]]),
    ],
)
def test_matrices_are_read_and_computed_with(text: str, right: list[list[float]]) -> None:
    found = value(text)
    assert [pytest.approx(row, rel=1e-14) for row in right] == found


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        (r"\frac{1}{2", 1, 11, "close the '{' of column 9"),
        ("m + (l - L", 1, 11, "close the '(' of column 5"),
        ("m +\n  * l", 2, 3, "'*' cannot stand"),
        (r"m \foo l", 1, 3, "'\\\\foo' does not"),
        ("m ? l", 1, 3, "'?' has no"),
        ("", 1, 1, "nothing to read"),
        ("m +", 1, 4, "ends where something is still to come"),
        (r"\sin + m", 1, 6, r"\sin needs an argument"),
        (r"m^{l}", 1, 3, "exponent 'l' is not"),
        (r"\sin^{-1} q_1", 1, 6, r"ambiguous; write \arcsin"),
        (r"\begin{bmatrix} m & l \\ g \end{bmatrix}", 1, 1, "rows have 2, 1 entries"),
        (r"\begin{bmatrix} m & l", 1, 1, r"never closed: \end is missing"),
        (r"\begin{bmatrix} m & l \end{pmatrix}", 1, 1, "closed by another"),
        (r"m + \begin{bmatrix} m \\ l \end{bmatrix}", 1, 3, "a matrix and a scalar are added"),
        (r"\begin{bmatrix} m & l \end{bmatrix}^2", 1, 36, "shape 1×2"),
        (r"\begin{bmatrix} m & \vdots \\ \vdots & l \end{bmatrix}", 1, 1, "entry (1,2) is empty"),
    ],
)
def test_a_fault_is_told_with_its_place(text: str, line: int, column: int, says: str) -> None:
    with pytest.raises(UnreadableExpression) as caught:
        value(text)
    assert says in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)
    caret = str(caught.value).splitlines()[2]
    assert caret == " " * (4 + column - 1) + "^"


def test_an_unknown_symbol_is_told_with_its_place_and_the_nearest_ones() -> None:
    with pytest.raises(UnknownSymbol) as caught:
        value("m*g*l1\n + m_r*l")
    assert (caught.value.line, caught.value.column) == (2, 4)
    assert "unknown symbol m_r" in str(caught.value)
    assert caught.value.hint is not None
    assert "m_s" in caught.value.hint


@given(st.text(alphabet="m l q_1{}()[]^+-*/=&\\frac sin0.5'̇,;", max_size=25))
def test_whatever_is_typed_is_read_or_refused_with_a_place(text: str) -> None:
    with suppress(UnreadableExpression):  # nothing else may be raised
        SymbolText(text, table()).claims()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("q1", Name("q", "1")), ("q_1", Name("q", "1")), (r"\dot{q}_1", Name("q", "1", 1)), ("q̈₂", Name("q", "2", 2)),
        ("x_AB", Name("x", "AB")), ("theta1", Name("theta", "1")), ("θ_1", Name("theta", "1")), ("I1_22", Name("I",
        "1,22")),
        ("q1_ddot", Name("q", "1", 2)), (r"\mathrm{pl}_{31}", Name("pl", "31")), ("ẋ", Name("x", "", 1)),
    ],
)  # fmt: skip
def test_names_are_one_however_they_are_spelled(text: str, name: Name) -> None:
    assert spelled(text) == name


def test_a_gain_kd_is_no_rate_but_dq1_is() -> None:
    names = SymbolTable(["k", "kd", "q1", "dq1", "qdd1", "d1"])
    assert [names.originals[text] for text in ("kd", "dq1", "qdd1", "d1")] == [
        Name("kd"), Name("q", "1", 1), Name("q", "1", 2), Name("d", "1"),
    ]  # fmt: skip


def test_a_known_symbol_comes_before_shorthand() -> None:
    names = SymbolTable(["c1", "s2"], ["q1", "q2"])
    assert isinstance(names.find(Name("c", "1")), Sym)


def test_sympy_goes_there_and_back() -> None:
    a, b, t = sp.symbols("a b t")
    theta = sp.Function("theta")(t)
    expressions = [
        a**2 * sp.sin(b) / (a - b) - sp.Rational(3, 7), sp.sqrt(a + b) * sp.tan(a), sp.exp(-a) * sp.pi, a / sp.sqrt(b),
        sp.cot(a), sp.Float("0.25") * a, -a - b,
    ]  # fmt: skip
    for expression in expressions:
        names = SymbolTable(["a", "b"])
        back = to_sympy(from_sympy(expression, names), {Name("a"): a, Name("b"): b})
        assert sp.simplify(back - sp.nsimplify(expression)) == 0
    names = SymbolTable(["theta"])
    assert from_sympy(theta.diff(t, 2), names).name == Name("theta", "", 2)  # type: ignore[union-attr]


@pytest.mark.parametrize("latex", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        r"-m_s \frac{x_{AB}}{l^2} + \frac12 m (l - L)^2", r"\dot q_1^2 c_{12} s_2 - \frac{1}{3} \sqrt{l + L}",
        r"-(m - l) L",
        r"m - (l - L)", r"\frac{m}{l L} \sin^2(q_1)", r"m^{-2} (-l)",
        r"\begin{bmatrix} m & -l \\ c_1 & \ddot q_1 \end{bmatrix}",
        r"\frac{m}{l}^2", r"(m l)^2 / g", r"-\frac{1}{2} m \cdot 3", r"0.50 m - 2.0 l",
    ],
)  # fmt: skip
def test_what_is_printed_is_read_as_the_same(text: str, latex: bool) -> None:
    names = table()
    read = SymbolText(text, names).claims()[0]
    again = SymbolText(Printer(names, latex).value(read), names).claims()[0]
    space = Space(Real(None), [])
    for (_, a), (_, b) in zip(as_grid(read).entries(), as_grid(again).entries()):
        assert space.point(1).of(a) == pytest.approx(space.point(1).of(b), rel=1e-13)

"""Verdicts: exact decisions, the slips one by one, conventions, references of every kind, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

from counting import calls
from palpate.errors import BadShape, DoesNotFit, InvalidInput, UnknownName, UnknownSymbol, UnluckyPoint
from palpate.robot.load import load_robot
from palpate.tools.review import Verdict, check_derivation
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.points import Modular, P, Real, Space
from palpate.tools.review.mend.edits import COSTS
from palpate.tools.review.read.reading import SymbolText

sp: Any = sympy
q1, q2, q3 = sp.symbols("q1:4")
v1, v2, v3 = sp.symbols("dq1:4")
m, m1, m2, l, l1, l2, g, k = sp.symbols("m m1 m2 l l1 l2 g k")


# ------------------------------------------------------------------ arithmetic


def test_the_modulus_is_a_prime_with_the_roots_it_needs() -> None:
    assert sp.isprime(P)
    for number in (2, 3, 5, 6):
        root = Modular().power(number, Fraction(1, 2))
        assert root * root % P == number
    assert pow(P - 1, (P - 1) // 2, P) == P - 1  # −1 is no square
    assert pow(Modular().power(7, Fraction(1, 3)), 3, P) == 7
    with pytest.raises(UnluckyPoint):
        Modular().power(P - 2, Fraction(1, 2))


@given(st.fractions(max_denominator=1999, min_value=-1, max_value=1))
def test_small_fractions_are_recognised_and_random_residues_are_not(value: Fraction) -> None:
    field = Modular()
    assert field.rational(field.number(value)) == value
    assert Real(None).rational(float(Fraction(3, 7))) == Fraction(3, 7)
    assert field.rational(Random(f"{value}").randrange(P)) is None


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("sin(q1+q2)", "s1*c2+c1*s2", True), ("cos(2*q1)", "1-2*s1**2", True), ("cos(3*q1)", "4*c1**3-3*c1", True),
        ("c1**2+s1**2", "1", True), ("cos(q1/2)**2", "(1+c1)/2", True), ("sin(q1+pi/2)", "c1", True),
        ("cos(q1-pi/3)", "c1/2+sqrt(3)*s1/2", True), ("sin(pi/4)", "sqrt(2)/2", True), ("cos(q1+pi)", "-c1", True),
        ("sqrt(m)*sqrt(l)", "sqrt(m*l)", True), ("sqrt(m**2)", "m", True), ("sqrt(q1**2)", "q1", False),
        ("tan(q1)", "s1/c1", True), ("(m**2-l**2)/(m-l)", "m+l", True), ("pi", "22/7", False), ("c1", "s1", False),
        ("c12", "c1*c2+s1*s2", False), ("sqrt(m+l)", "sqrt(m)+sqrt(l)", False), ("cos(q1*m)", "cos(m*q1)", True),
        ("cos(1)**2+sin(1)**2", "1", True), ("(m*l**3)**(1/3)", "l*m**(1/3)", True), ("q1*c1", "c1*q1", True),
    ],
)  # fmt: skip
def test_equality_is_decided_exactly(left: str, right: str, same: bool) -> None:
    verdict = check_derivation(left, right, symbols=["m", "l"], coordinates=["q1", "q2"])
    assert verdict.agrees is same, str(verdict)
    assert "prime" in verdict.method


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [("exp(m+l)", "exp(m)*exp(l)", True), ("exp(m)", "exp(l)", False), ("sinh(m)", "(exp(m)-exp(-m))/2", True),
     ("log(m*l)", "log(m)+log(l)", True), ("m**(1/5)", "m**(1/5)", True), ("cos(pi/5)", "(1+sqrt(5))/4", True)],
)  # fmt: skip
def test_what_does_not_fit_is_compared_in_floats_and_it_says_so(left: str, right: str, same: bool) -> None:
    verdict = check_derivation(left, right, symbols=["m", "l"])
    assert verdict.agrees is same
    assert "floats of 50 digits, because of" in verdict.method


def test_seven_joints_are_decided_by_little_work() -> None:
    q = sp.symbols("q1:8")
    position = sum(sp.Symbol(f"l{i}") * sp.cos(sum(q[:i])) for i in range(1, 8))
    expanded = sp.expand_trig(position)
    verdicts = [check_derivation("q1", "q1", coordinates=["q1"])]
    verdicts.clear()
    work = calls(lambda: verdicts.append(check_derivation(expanded, position, coordinates=q)))
    assert verdicts[0].agrees
    assert work < 450_000  # the conversion of the expanded form, thousands of nodes, is most of the 150 000


def test_half_angles_and_whole_ones_of_one_point_fit_together() -> None:
    table = SymbolTable(coordinates=["q1", "q2"])
    half, whole = (SymbolText(text, table).claims()[0] for text in ("2*sin(q1/2)*cos(q1/2)", "sin(q1)"))
    point = Space(Modular(), [half, whole]).point(3)  # type: ignore[list-item]
    assert point.of(half) == point.of(whole)  # type: ignore[arg-type]


# ------------------------------------------------------------------ one slip of every kind

RIGHT = m1 * l1**2 * v1**2 / 2 + m2 * (l1 * v1 + l2 * v2 * sp.cos(q2)) ** 2 - m2 * g * l2 * sp.sin(q1 + q2) * 2


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 + 2 m_2 g l_2 s_{12}", "sign"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - m_2 g l_2 s_{12}", "factor of two"),
        (r"m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}", "factor of two"),
        (r"\frac12 m_1 l_1 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}", "exponent"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2) - 2 m_2 g l_2 s_{12}", "exponent"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 s_2)^2 - 2 m_2 g l_2 s_{12}",
        "sine for cosine"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_1", "wrong index"),
        (r"\frac12 m_2 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}", "wrong index"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2 q_2 c_2)^2 - 2 m_2 g l_2 s_{12}", "dot"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\ddot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}", "dot"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 3 m_2 g l_2 s_{12}", "wrong number"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 g m_1 s_{12}", "wrong symbol"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 l_2 s_{12}", "missing factor"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2)^2 - 2 m_2 g l_2 s_{12}", "missing factor"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + g m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}",
        "extra factor"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}", "missing term"),
        (r"m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}", "missing term"),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + g + l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}",
        "extra term"),
        (r"\frac{m_1 l_1^2 \dot q_1^2}{2 g} + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 - 2 m_2 g l_2 s_{12}",
        "extra factor"),
    ],
)  # fmt: skip
def test_a_slip_is_named_mended_and_priced(wrong: str, kind: str) -> None:
    verdict = check_derivation(wrong, RIGHT, coordinates=[q1, q2])
    (found,) = verdict.differences
    assert found.kinds == (kind,)
    assert found.cost == COSTS[kind]
    assert check_derivation(verdict.mended, RIGHT, coordinates=[q1, q2])
    assert abs(found.given_value - found.right_value) > 1e-3
    values = {symbol: found.point[str(symbol)] for symbol in RIGHT.free_symbols}
    assert float(RIGHT.subs(values)) == pytest.approx(found.right_value, rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "kinds"),
    [
        (r"\frac12 m_1 l_1 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 + 2 m_2 g l_2 s_{12}", ["sign",
        "exponent"]),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_1\dot q_1 + l_2\dot q_2 c_2)^2 + 2 m_2 g l_2 c_{12}",
         ["sign", "sine for cosine"]),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_1 (l_1\dot q_1 + l_2\dot q_2 s_2)^2 - 2 m_2 g l_2 s_{12}",
         ["sine for cosine", "wrong index"]),
        (r"\frac12 m_1 l_1^2 \dot q_1^2 + m_2 (l_2\dot q_1 + l_2\dot q_2 s_2)^2 - 2 m_2 g l_2 s_{12}",
         ["sine for cosine", "wrong index"]),
    ],
    ids=["apart", "in one term", "a term and its bracket", "in one bracket"],
)  # fmt: skip
def test_two_slips_are_found_together(wrong: str, kinds: list[str]) -> None:
    verdict = check_derivation(wrong, RIGHT, coordinates=[q1, q2])
    assert sorted(verdict.differences[0].kinds, key=list(COSTS).index) == kinds
    assert check_derivation(verdict.mended, RIGHT, coordinates=[q1, q2])


@pytest.mark.parametrize("text", ["m*w + g", "m*w**2 + g*w", "w/l + w*m"])
def test_a_slip_in_a_definition_is_found_there(text: str) -> None:
    right = sp.sympify(text, locals={"w": l1 * sp.cos(q1) - l2 * sp.sin(q2)})
    names = {"w": "l1*c1 + l2*s2", "m": None, "g": None}
    verdict = check_derivation(text, right, symbols=names, coordinates=[q1, q2])
    assert verdict.differences[0].slips == ("sign in the definition of w: l2*s2 should be -l2*s2",)
    assert check_derivation(verdict.mended, right, symbols=names, coordinates=[q1, q2])


def test_swapped_indices_are_one_slip() -> None:
    verdict = check_derivation(
        "m2*l1*c1*s2", m1 * l2 * sp.cos(q1) * sp.sin(q2), symbols=["m2", "l1"], coordinates=[q1, q2]
    )
    assert verdict.differences[0].kinds == ("swapped indices",)


def test_a_slip_below_a_fraction_line_and_under_a_root_is_found() -> None:
    right = g / (m1 + m2 * sp.sin(q1) ** 2) + sp.sqrt(l1**2 - l2**2)
    below = check_derivation("g/(m1 - m2*s1**2) + sqrt(l1**2 - l2**2)", right, coordinates=[q1])
    assert below.differences[0].kinds == ("sign",)
    under = check_derivation("g/(m1 + m2*s1**2) + sqrt(l1**2 + l2**2)", right, coordinates=[q1])
    assert under.differences[0].kinds == ("sign",)


def test_the_place_of_a_slip_is_marked_in_the_text() -> None:
    text = r"m_1 l_1 c_1 + m_2 l_2 s_{12}"
    verdict = check_derivation(text, m1 * l1 * sp.cos(q1) + m2 * l2 * sp.cos(q1 + q2), coordinates=[q1, q2])
    line, caret = verdict.differences[0].caret.splitlines()
    assert line[caret.index("^") : caret.rindex("^") + 1] == "s_{12}"


def test_a_lost_term_is_found_though_the_reference_is_written_otherwise() -> None:
    right = m * l**2 * sp.cos(q1) ** 2  # ½ m l² + ½ m l² cos 2q
    verdict = check_derivation("1/2*m*l**2*cos(2*q1)", right, coordinates=[q1])
    assert verdict.differences[0].kinds == ("missing term",)
    assert check_derivation(verdict.mended, right, coordinates=[q1])


def test_a_symbol_that_is_wrong_throughout_is_one_correction() -> None:
    verdict = check_derivation("l1*c1 + l1*m1*s1 + l1*g",
    l2 * sp.cos(q1) + l2 * m1 * sp.sin(q1) + l2 * g, symbols=["l1"],
                               coordinates=[q1])  # fmt: skip
    assert verdict.differences[0].kinds == ("wrong symbol throughout",)
    assert check_derivation(verdict.mended, l2 * sp.cos(q1) + l2 * m1 * sp.sin(q1) + l2 * g, coordinates=[q1])


def test_where_nothing_small_helps_the_right_expression_is_shown() -> None:
    right = m1 * l1**2 * sp.cos(q1) + m2 * l2 * sp.sin(q2) + g * k
    verdict = check_derivation("m1 + l1 + g*c2", right, coordinates=[q1, q2], symbols=["m1", "l1", "g"])
    (found,) = verdict.differences
    assert not found.slips
    assert "two slips" in str(verdict)
    assert check_derivation(found.right, right, coordinates=[q1, q2])
    assert check_derivation(verdict.mended, right, coordinates=[q1, q2])


def test_a_sympy_expression_is_mended_as_sympy() -> None:
    verdict = check_derivation(m * sp.sin(q1), m * sp.cos(q1))
    assert verdict.mended == m * sp.cos(q1)
    matrix = check_derivation([[m, 0], [0, l]], sp.Matrix([[m, 0], [0, 2 * l]]))
    assert matrix.mended == sp.Matrix([[m, 0], [0, 2 * l]])
    time_ = sp.Symbol("t")
    theta = sp.Function("theta")(time_)
    assert check_derivation(r"m l^2 \ddot\theta", m * l**2 * theta.diff(time_, 2))


def test_the_same_slip_in_several_entries_is_told_once() -> None:
    right = sp.Matrix([[m, l * sp.cos(q2)], [l * sp.cos(q2), m]])
    verdict = check_derivation("[[m, l*s2], [l*s2, m]]", right, "M", coordinates=[q1, q2])
    assert str(verdict).count("sine for cosine") == 1
    assert "entry (2,1): as (1,2)" in str(verdict)


# ------------------------------------------------------------------ no errors, other conventions

GRAVITY = sp.Matrix([(m1 + m2) * g * l1 * sp.cos(q1) + m2 * g * l2 * sp.cos(q1 + q2), m2 * g * l2 * sp.cos(q1 + q2)])


def two_links(what: str, S: Any = None, shift: Any = (0, 0)) -> Any:
    """M, C, g, J, V or T of a 2R arm with q = S θ + shift, derived from its energies."""
    S = sp.eye(2) if S is None else S
    q, v = [q1, q2], [v1, v2]
    angle = S * sp.Matrix(q) + sp.Matrix(shift)
    p1 = l1 * sp.Matrix([sp.cos(angle[0]), sp.sin(angle[0])])
    p2 = p1 + l2 * sp.Matrix([sp.cos(angle[0] + angle[1]), sp.sin(angle[0] + angle[1])])
    speeds = [p.jacobian(q) * sp.Matrix(v) for p in (p1, p2)]
    T = (m1 * speeds[0].dot(speeds[0]) + m2 * speeds[1].dot(speeds[1])) / 2
    V = g * (m1 * p1[1] + m2 * p2[1])
    M = sp.hessian(T, v)

    def christoffel(i: int, j: int) -> Any:
        parts = (sp.diff(M[i, j], q[n]) + sp.diff(M[i, n], q[j]) - sp.diff(M[j, n], q[i]) for n in range(2))
        return sum(part * speed / 2 for part, speed in zip(parts, v))

    C = sp.Matrix(2, 2, christoffel)
    return {"M": M, "C": C, "g": sp.Matrix([V]).jacobian(q).T, "J": p2.jacobian(q), "V": V, "T": T, "FK": p2}[what]


CHANGES = [
    ("q1 is measured from the y axis", None, (sp.pi / 2, 0)),
    ("the opposite sense of rotation", -sp.eye(2), (0, 0)),
    ("q1 is measured from the y axis, in the opposite sense of rotation", -sp.eye(2), (sp.pi / 2, 0)),
    ("q2 in the opposite sense", sp.diag(1, -1), (0, 0)),
    ("angles are measured from the base, not from the link before", sp.Matrix([[1, 0], [-1, 1]]), (0, 0)),
]


@pytest.mark.parametrize("what", ["M", "g", "J", "T", "V", "FK"])
@pytest.mark.parametrize(("name", "S", "shift"), CHANGES)
def test_other_coordinates_are_named_and_no_errors(what: str, name: str, S: Any, shift: Any) -> None:
    other, plain = two_links(what, S, shift), two_links(what)
    verdict = check_derivation(other, plain, what, coordinates=[q1, q2], symbols=["g", "m1", "m2"])
    if (what, name) == ("T", "q2 in the opposite sense"):  # signs of one formula alone: as slips would be
        assert {kind for one in verdict.differences for kind in one.kinds} == {"sign"}
        assert any(name in note for note in verdict.notes)
        return
    assert verdict.agrees, str(verdict)
    if check_derivation(other, plain, coordinates=[q1, q2]):  # some quantities do not notice
        assert not verdict.convention
    elif what in ("g", "V"):  # g(−q) = −g(q): several names fit
        assert verdict.convention
    else:
        assert verdict.convention == name


def test_absolute_angles_of_a_mass_matrix_are_named() -> None:
    other = two_links("M", sp.Matrix([[1, 0], [-1, 1]]))
    assert "base" in check_derivation(other, two_links("M"), "M", coordinates=[q1, q2]).convention


def test_gravity_on_the_other_side_and_gravity_downwards_are_named() -> None:
    other = check_derivation(-GRAVITY, GRAVITY, "g", coordinates=[q1, q2])
    assert other.agrees
    assert "other side" in other.convention
    energy = check_derivation(-two_links("V"), two_links("V"), "V", coordinates=[q1, q2])
    assert energy.convention == "g is counted in the opposite direction"


def test_another_zero_of_the_potential_energy_is_named() -> None:
    verdict = check_derivation(two_links("V") + m1 * g * l1, two_links("V"), "V", coordinates=[q1, q2])
    assert "potential energy" in verdict.convention


def test_a_slip_in_one_of_many_entries_is_no_convention() -> None:
    C = two_links("C")
    wrong = sp.Matrix(C)
    wrong[0, 1] = C[0, 1].subs(v2, -v2)
    verdict = check_derivation(wrong, C, "C", coordinates=[q1, q2])
    assert not verdict.agrees
    assert any("another convention: q2" in note for note in verdict.notes)


def test_an_expression_has_no_conventions() -> None:
    assert not check_derivation(-GRAVITY, GRAVITY, coordinates=[q1, q2]).agrees


def test_another_factorisation_of_the_coriolis_forces_agrees_and_a_wrong_one_does_not() -> None:
    C = two_links("C")
    h = m2 * l1 * l2 * sp.sin(q2)
    other = sp.Matrix([[-2 * h * v2, -h * v2], [h * v1, 0]])
    verdict = check_derivation(other, C, "C", coordinates=[q1, q2])
    assert verdict.agrees
    assert "not unique" in verdict.notes[0]
    assert not check_derivation(2 * other, C, "C", coordinates=[q1, q2]).agrees
    vector = check_derivation(C * sp.Matrix([v1, v2]), C, "C", coordinates=[q1, q2])
    assert vector.agrees
    assert "compared with C q̇" in vector.notes[0]


def test_an_equation_may_be_multiplied_or_turned_round() -> None:
    a1 = sp.Symbol("ddq1")
    motion = sp.Eq(m * l**2 * a1 + m * g * l * sp.sin(q1), 0)
    for text in (r"\ddot q_1 = -\frac{g}{l} s_1", r"-m l^2 \ddot q_1 = m g l s_1", r"2 l \ddot q_1 + 2 g s_1 = 0"):
        assert check_derivation(text, motion, "equation", coordinates=[q1])
    wrong = check_derivation(r"m l^2 \ddot q_1 = m g l s_1", motion, "equation", coordinates=[q1])
    assert wrong.convention or wrong.differences[0].kinds == ("sign",)
    assert not check_derivation(r"m l^2 \ddot q_1 + m g s_1 = 0", motion, "equation", coordinates=[q1]).agrees


def test_printed_decimals_agree_to_the_digits_printed_only() -> None:
    assert "digits printed" in check_derivation("[47.1239, 31.4159]", [[15 * sp.pi, 10 * sp.pi]]).notes[0]
    assert not check_derivation("47.1249", 15 * sp.pi).agrees
    assert not check_derivation("0.3", sp.Rational(1, 3)).agrees


def test_a_chain_tells_which_part_is_wrong_first() -> None:
    verdict = check_derivation("T = m*v**2 = 2*m*v**2 = m*v*v", m * sp.Symbol("v") ** 2, "T")
    assert [step.agrees for step in verdict.steps] == [True, False, True]
    assert "part 2 of 3" in str(verdict)


# ------------------------------------------------------------------ robots and derivations


def check_robot(text: str, what: str, name: str = "planar2", **options: Any) -> Verdict:
    return check_derivation(text, load_robot(name), what, **options)


G = {"g": 9.81}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (r"\begin{bmatrix} 3+2c_2 & 1+c_2 \\ 1+c_2 & 1\end{bmatrix}", "M"),
        (r"\begin{bmatrix} -s_2\dot q_2 & -s_2(\dot q_1+\dot q_2) \\ s_2 \dot q_1 & 0\end{bmatrix}", "C"),
        (r"\begin{bmatrix} -2 s_2\dot q_1\dot q_2 - s_2\dot q_2^2 \\ s_2 \dot q_1^2 \end{bmatrix}", "c"),
        ("[2*g*c1 + g*c12, g*c12]", "g"), ("[-s1-s12, -s12; c1+c12, c12]", "J"), ("[c1+c12; s1+s12]", "FK"),
        ("[c1+c12; s1+s12; 0]", "FK"), ("[c12, -s12, 0; s12, c12, 0; 0, 0, 1]", "FK"),
        ("[-s1-s12, -s12; c1+c12, c12; 1, 1]", "J"), ("[0, 0; 0, 0; 1, 1]", "J"),
        ("g*s1 + g*(s1 + s12)", "V"), ("dq1**2/2 + (dq1**2 + (dq1+dq2)**2 + 2*c2*dq1*(dq1+dq2))/2", "T"),
        ("[3*ddq1+2*c2*ddq1+(1+c2)*ddq2-2*s2*dq1*dq2-s2*dq2**2+2*g*c1+g*c12; ddq2+(1+c2)*ddq1+s2*dq1**2+g*c12]",
        "tau"),
    ],
)  # fmt: skip
def test_the_numbers_of_a_robot_serve_as_reference(text: str, what: str) -> None:
    verdict = check_robot(text, what, symbols=G if "g" in text else None)
    assert verdict.agrees, str(verdict)
    assert not verdict.convention
    assert "floats" in verdict.method


def test_a_slip_is_mended_against_the_numbers_of_a_robot_too() -> None:
    verdict = check_robot("[3+2*c2, 1+s2; 1+c2, 1]", "M")
    assert verdict.differences[0].entry == (1, 2)
    assert verdict.differences[0].kinds == ("sine for cosine",)
    spatial = load_robot("ur5e-3link")
    q = np.array([0.3, -0.7, 1.1])
    text = "[[0],[-9.81*8.058*(-0.425+0.2125)*c2*{0} - 9.81*2.846*(-0.425*c2 + (-0.3922+0.15)*c23)*{0}],"
    text += "[-9.81*2.846*(-0.3922+0.15)*c23*{0}]]"
    assert spatial.gravity(q)[1] == pytest.approx(-28.1513814184, abs=1e-9)
    assert check_derivation(text.format("-1"), spatial, "g")
    wrong = check_derivation(text.format("-1").replace("0.15)*c23*-1]]", "0.15)*c3*-1]]"), spatial, "g")
    assert wrong.differences[0].kinds == ("wrong index",)


def test_a_function_serves_as_reference() -> None:
    def torque(at: dict[str, float]) -> float:
        return at["m"] * at["l"] ** 2 * at["ddq1"] + at["m"] * 9.81 * at["l"] * np.sin(at["q1"])

    names = ["m", "l"]
    right = check_derivation("m*l**2*ddq1 + 9.81*m*l*s1", torque, symbols=names, coordinates=["q1"])
    assert right.agrees
    assert "floats" in right.method
    wrong = check_derivation("m*l**2*ddq1 - 9.81*m*l*s1", torque, symbols=names, coordinates=["q1"])
    assert wrong.differences[0].kinds == ("sign",)


def test_a_robot_with_a_free_base_is_refused() -> None:
    with pytest.raises(InvalidInput, match="free base"):
        check_robot("[0]", "g", "quadruped")


def test_a_derivation_serves_as_reference() -> None:
    M, C, gravity, J, FK = (two_links(what) for what in ("M", "C", "g", "J", "FK"))
    made = Derived({"M": M, "C": C, "g": gravity, "J": J, "T": two_links("T"), "V": two_links("V"), "position": FK})
    assert check_derivation(M, made, "M")
    assert check_derivation("[l1*c1 + l2*c12; l1*s1 + l2*s12]", made, "FK")
    assert check_derivation(C * sp.Matrix([v1, v2]), made, "c")
    text = r"m_2 l_2^2 (\ddot q_1 + \ddot q_2) + m_2 l_1 l_2 (c_2 \ddot q_1 + s_2 \dot q_1^2) + m_2 g l_2 c_{12}"
    assert check_derivation(text, made, "tau", entry=(1, 0))
    assert check_derivation(f"{text} = \\tau_2", made, "equation", entry=(1, 0))
    assert check_derivation(text.replace("l_2^2", "l_1^2"), made, "tau", entry=(1, 0)).differences[0].kinds == (
        "wrong index",
    )
    with pytest.raises(InvalidInput, match="holds no 'h'"):
        check_derivation("0", made, "h")


class Derived:
    """A derivation that writes its quantities line by line, as long arms need it."""

    q, v, a = (q1, q2), (v1, v2), sp.symbols("ddq1 ddq2")
    parameters: dict[str, float] = {str(symbol): 1.0 for symbol in (m1, m2, l1, l2, g)}  # noqa: RUF012

    def __init__(self, quantities: dict[str, Any]) -> None:
        self.quantities = quantities

    @property
    def M(self) -> Any:
        return self["M"]

    def __getitem__(self, name: str) -> Any:
        if name not in self.quantities:
            raise UnknownName("quantity", name, self.quantities)
        return sp.Matrix([[sp.Symbol("t1")]]) if name == "T" else self.quantities[name]

    def definitions(self, name: str) -> list[tuple[Any, Any]]:
        return [(sp.Symbol("t1"), self.quantities["T"])] if name == "T" else []


def test_intermediate_symbols_of_a_derivation_are_looked_through() -> None:
    made = Derived({"M": two_links("M"), "T": two_links("T")})
    assert check_derivation(two_links("T"), made, "T")
    assert not check_derivation(2 * two_links("T"), made, "T").agrees


# ------------------------------------------------------------------ what is refused


def test_bad_input_is_refused_by_name() -> None:
    M = two_links("M")
    with pytest.raises(BadShape, match=r"matrix.*2×2.*given.*1×2"):
        check_derivation("[m1, m2]", M, "M")
    with pytest.raises(UnknownSymbol, match="unknown symbol m3"):
        check_derivation("[m1, m3; m2, 1]", M, "M")
    with pytest.raises(UnknownName, match="unknown symbol 'm3'"):
        check_derivation(sp.Matrix([[m1, sp.Symbol("m3")], [0, 0]]), M, "M")
    with pytest.raises(UnknownName, match="unknown quantity 'N'"):
        check_derivation("1", M, "N")
    for nothing in (None, object(), [["a", object()]]):
        with pytest.raises(InvalidInput):
            check_derivation(nothing, m)
    with pytest.raises(InvalidInput, match="finite"):
        check_derivation(float("nan"), m)
    with pytest.raises(InvalidInput, match=r"Integral"):
        check_derivation(sp.Integral(m, m), m)
    with pytest.raises(BadShape, match=r"entry \(3,1\) of M"):
        check_derivation("1", M, "M", entry=(2, 0))
    with pytest.raises(DoesNotFit, match="no value"):
        check_derivation("asin(2 + m**2)", "asin(2 + m**2)", symbols=["m"])


def test_a_definition_with_an_unknown_symbol_is_told_where_it_is_used() -> None:
    names = {"h": "m1*l1*w", "a": "l1 + l2"}
    assert check_derivation("a", l1 + l2, symbols=names)
    with pytest.raises(UnknownSymbol, match="unknown symbol w"):
        check_derivation("h", m1 * l1, symbols=names)


def test_two_runs_give_the_same_verdict() -> None:
    first, second = (check_derivation("m*s1", m * sp.cos(q1)) for _ in range(2))
    assert str(first) == str(second)

"""Normal forms of trigonometric polynomials, and what they are written as."""

from __future__ import annotations

import math
from typing import Any

import pytest
import sympy as sp
from hypothesis import given, settings, strategies as st

from palpate.tools.derive.closed.angles import AngleSum
from palpate.tools.derive.closed.present import Presenter, Tidy
from palpate.tools.derive.closed.trig import NotTrigonometric, Ring, TrigPolynomial

VALUES = {"a": 0.7, "b": -1.3, "q1": 0.4, "q2": 1.1, "q3": -0.8}
RUN = AngleSum(("q1", "q2", "q3"), (1, 1, 1))


def value(expression: Any) -> float:
    return float(expression.subs({sp.Symbol(k): v for k, v in VALUES.items()}))


def at(normal: TrigPolynomial, values: dict[str, float]) -> float:
    """A normal form at numbers, term by term."""
    ring, total = normal.ring, 0.0
    for (m, K, o), coefficient in normal.terms.items():
        angle = sum(k * values[name] for name, k in ring.combination(K).items())
        powers = math.prod(values[name] ** e for name, e in ring.powers(m).items())
        total += float(coefficient) * powers * (math.sin(angle) if o else math.cos(angle))
    return total


def written(text: str, *runs: AngleSum) -> Any:
    ring = Ring()
    return Presenter(ring, {"a": "length", "b": "length"}, runs or (RUN,)).write(ring.read(sp.sympify(text)))


PIECES = st.sampled_from(["a", "b", "2", "1/3", "sin(q1)", "cos(q2)", "sin(q2+q3)", "cos(q1-q3)", "cos(2*q1+q2)"])


@settings(max_examples=40)
@given(st.lists(st.lists(PIECES, min_size=1, max_size=4), min_size=1, max_size=4))
def test_reading_and_writing_keep_the_value(terms: list[list[str]]) -> None:
    expression = sp.sympify("+".join("*".join(term) for term in terms))
    ring = Ring()
    normal = ring.read(expression)
    assert at(normal, VALUES) == pytest.approx(value(expression), abs=1e-12)
    for run in (RUN, AngleSum(("q1", "q2", "q3"), (1, -1, 1))):
        assert value(Presenter(ring, {}, (run,)).write(normal)) == pytest.approx(value(expression), abs=1e-12)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sin(q1)**2 + cos(q1)**2", "1"),
        ("cos(q1+q2)", "cos(q1)*cos(q2) - sin(q1)*sin(q2)"),
        ("sin(2*q1)", "2*sin(q1)*cos(q1)"),
        ("cos(q1 - pi/2)", "sin(q1)"),
        ("(a + sin(q1))*(a - sin(q1))", "a**2 - 1 + cos(q1)**2"),
    ],
)
def test_equal_expressions_have_one_normal_form(one: str, other: str) -> None:
    ring = Ring()
    assert ring.read(sp.sympify(one)) == ring.read(sp.sympify(other))


def test_different_expressions_have_different_normal_forms() -> None:
    ring = Ring()
    assert ring.read(sp.sympify("sin(q1+q2)")) != ring.read(sp.sympify("sin(q1)*cos(q2) - cos(q1)*sin(q2)"))


@pytest.mark.parametrize("text", ["sin(q1)", "a*cos(2*q1-q2)*sin(q2)", "cos(q1)**3*b"])
def test_derivatives_are_those_of_calculus(text: str) -> None:
    ring = Ring()
    normal = ring.read(sp.sympify(text))
    for angle in ("q1", "q2"):
        expected = value(sp.diff(sp.sympify(text), sp.Symbol(angle)))
        assert at(normal.by_angle(angle), VALUES) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("text", ["1/a", "sqrt(a)", "sin(a*q1)", "exp(q1)", "sin(q1/2)"])
def test_what_is_no_trigonometric_polynomial_is_refused(text: str) -> None:
    with pytest.raises(NotTrigonometric):
        Ring().read(sp.sympify(text))


@pytest.mark.parametrize(
    ("text", "runs", "expected"),
    [
        ("cos(q1)*cos(q1+q2) + sin(q1)*sin(q1+q2)", (RUN,), "cos(q2)"),
        ("a*cos(q1)*cos(q2) - a*sin(q1)*sin(q2)", (RUN,), "a*cos(q1 + q2)"),
        (
            "cos(q1+q2+q3) + cos(q1-q2-q3)",
            (AngleSum(("q1",), (1,)), AngleSum(("q2", "q3"), (1, 1))),
            "2*cos(q1)*cos(q2 + q3)",
        ),
        ("a*(1 - cos(2*q1))/2 + b*(1 + cos(2*q1))/2", (RUN,), "a*sin(q1)**2 + b*cos(q1)**2"),
        (
            "a**2*cos(q2)**2 + 2*a*b*cos(q2)*cos(q2+q3) + b**2*cos(q2+q3)**2",
            (AngleSum(("q1",), (1,)), AngleSum(("q2", "q3"), (1, 1))),
            "(a*cos(q2) + b*cos(q2 + q3))**2",
        ),
        ("3 - 2*cos(2*q1)", (RUN,), "4*sin(q1)**2 + 1"),
        ("a*b*sin(q1) + a*b*sin(q2)", (RUN,), "a*b*(sin(q1) + sin(q2))"),
    ],
)
def test_it_is_written_as_a_person_would(text: str, runs: tuple[AngleSum, ...], expected: str) -> None:
    assert str(written(text, *runs)) == expected


def test_axes_that_point_against_each_other_subtract() -> None:
    run = AngleSum(("q1", "q2"), (1, -1))
    found = written("cos(q1)*cos(q2) + sin(q1)*sin(q2)", run)
    assert found == sp.cos(sp.Symbol("q1") - sp.Symbol("q2"))


def test_a_square_of_a_root_is_used_where_it_shortens() -> None:
    ring = Ring()
    tidy = Tidy(ring, Presenter(ring, {}, ()), {"z": sp.sympify("l**2 - x**2 - y**2")})
    assert tidy(sp.sympify("(z**2 + x**2 + y**2)/z")) == sp.sympify("l**2/z")
    assert tidy.is_zero(sp.sympify("z**2 + x**2 + y**2 - l**2"))
    assert not tidy.is_zero(sp.sympify("z**2 + x**2 - l**2"))


def test_a_hundred_products_stay_exact() -> None:
    ring = Ring()
    product = ring.one
    for _ in range(40):
        product = product * ring.cos({"q1": 1})
    assert at(product, {"q1": 0.3}) == pytest.approx(math.cos(0.3) ** 40, rel=1e-9)

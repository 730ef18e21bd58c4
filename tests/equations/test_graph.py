"""The graph of shared expressions: its rules, its derivatives, its equality by random points."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from palpate.equations.algebra.derivatives import gradient, tangent
from palpate.equations.algebra.evaluation import evaluate, needed_nodes
from palpate.equations.algebra.graph import PARAMETER, Graph, Node, Output
from palpate.equations.algebra.linear_systems import solve_symmetric
from palpate.equations.algebra.residues import P, residue, values_at_random
from palpate.equations.code.program import make_program, merge_equal_nodes, with_numbers
from palpate.errors import InvalidInput


@pytest.fixture
def g() -> Graph:
    return Graph()


def test_equal_expressions_are_one_node(g: Graph) -> None:
    x, y = g.symbol("x"), g.symbol("y")
    assert x * y is y * x
    assert x + y is y + x
    assert x - y is -(y - x)
    assert (-x) * (-y) is x * y
    assert g.sin(-x) is -g.sin(x)
    assert g.cos(-x) is g.cos(x)


def test_zeros_ones_and_numbers_vanish(g: Graph) -> None:
    x = g.symbol("x")
    assert x * 0 is g.zero
    assert x + 0 is x
    assert x * 1 is x
    assert x - x is g.zero
    assert (x * 2) * 3 is x * 6
    assert g.node(2) * g.node(Fraction(1, 2)) is g.one


def test_constants_gather_before_the_state(g: Graph) -> None:
    x, k, m = g.symbol("x"), g.symbol("k", PARAMETER), g.symbol("m", PARAMETER)
    assert k * (m * x) is (k * m) * x
    assert k + (m + x) is (k + m) + x
    assert k * x + m * x is (k + m) * x


def sample(g: Graph) -> tuple[Node, list[Node]]:
    x, y = g.symbol("x"), g.symbol("y")
    return g.sqrt(x * x + 1) / (2 + g.cos(y)) + g.sin(x * y) * x - y, [x, y]


def test_derivatives_forward_and_backward_agree_with_finite_differences(g: Graph) -> None:
    f, symbols = sample(g)
    at = {"x": 0.7, "y": -0.4}

    def value(**changed: float) -> float:
        return evaluate([f], {**at, **changed})[0]

    h = 1e-6
    for node, slope in zip(symbols, gradient(f, symbols)):
        expected = (value(**{node.name: at[node.name] + h}) - value(**{node.name: at[node.name] - h})) / (2 * h)
        assert evaluate([slope], at)[0] == pytest.approx(expected, abs=1e-8)
        forward = tangent([f], {node: g.one})
        assert evaluate(forward, at)[0] == pytest.approx(expected, abs=1e-8)


def test_only_what_is_needed_is_counted(g: Graph) -> None:
    x, k = g.symbol("x"), g.symbol("k", PARAMETER)
    _unused = x * x * x
    program = make_program([Output("f", (), (k * k * x + g.sin(x),))], {"q": ("x",)})
    counts = program.counts()
    assert (counts.multiplications, counts.additions, counts.sines, counts.once) == (1, 1, 1, 1)


def test_numbers_put_in_simplify_anew(g: Graph) -> None:
    x, k = g.symbol("x"), g.symbol("k", PARAMETER)
    output = Output("f", (), (k * g.sin(x) + (k - 1) * x,))
    [special] = with_numbers([output], {"k": 1})
    assert needed_nodes(special.nodes)[-1].op == "sin"


def test_random_points_find_what_rules_do_not(g: Graph) -> None:
    x = g.symbol("x")
    c, s = g.cos(x), g.sin(x)
    one, zero = c * c + s * s, (c + s) * (c - s) - (c * c - s * s)
    [found] = merge_equal_nodes([Output("f", (3,), (one, zero, g.symbol("y") * one))])
    assert evaluate(found.nodes, {"x": 0.3, "y": 2.0}) == pytest.approx([1.0, 0.0, 2.0])
    assert found.nodes[1] is g.zero
    assert found.nodes[2] is not found.nodes[0]


def test_a_value_in_the_field_is_the_rational_one(g: Graph) -> None:
    x = g.symbol("x")
    [value] = values_at_random([(x + 1) * (x - 1) - x * x], seed=1)
    assert value == P - 1
    assert residue(Fraction(1, 3)) * 3 % P == 1


def test_roots_have_no_value_in_the_field(g: Graph) -> None:
    with pytest.raises(InvalidInput, match="root"):
        values_at_random([g.sqrt(g.symbol("x"))], seed=1)


def test_a_symmetric_system_is_solved(g: Graph) -> None:
    rng = np.random.default_rng(0)
    half = rng.normal(size=(4, 4))
    A, B = half @ half.T + np.eye(4), rng.normal(size=(4, 2))
    names = {f"a{i}{j}": A[max(i, j), min(i, j)] for i in range(4) for j in range(4)}
    nodes = [[g.symbol(f"a{max(i, j)}{min(i, j)}") for j in range(4)] for i in range(4)]
    X = solve_symmetric(nodes, [[g.node(float(x)) for x in row] for row in B])
    values = np.array(evaluate([x for row in X for x in row], names)).reshape(4, 2)
    np.testing.assert_allclose(values, np.linalg.solve(A, B), atol=1e-12)


def test_a_whole_power_takes_few_products(g: Graph) -> None:
    x = g.symbol("x")
    assert len(needed_nodes([g.power(x, 8)])) == 4
    assert evaluate([g.power(x, -3)], {"x": 2.0}) == [0.125]
    assert math.isclose(evaluate([g.power(x, 7)], {"x": 1.1})[0], 1.1**7)


def test_sine_and_cosine_of_an_angle_lie_on_the_circle(g: Graph) -> None:
    for angle in (g.symbol("x"), g.node(0.3)):
        assert values_at_random([g.cos(angle) * g.cos(angle) + g.sin(angle) * g.sin(angle)], seed=5) == [1]


def test_constants_that_are_no_numbers_are_multiplied_in_any_order(g: Graph) -> None:
    a, b, c = g.sin(g.node(0.3)), g.cos(g.node(0.3)), g.sin(g.node(0.7))
    for product in (a * (b * c), (c * a) * b, 2 * (a * (3 * b)), (a * b) * (a * b)):
        assert math.isfinite(evaluate([product], {})[0])
    assert 2 * (3 * a) is 6 * a

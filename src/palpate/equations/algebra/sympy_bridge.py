"""SymPy expressions into graphs, and graphs back into SymPy line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy as sp

from palpate.equations.algebra.evaluation import FLOATS, needed_nodes
from palpate.equations.algebra.graph import Graph, Node, Output
from palpate.errors import InvalidInput, check_names

MATRICES = ("M", "C", "J", "Ja", "Jdot", "rotation", "Lambda")  # two-dimensional even with one column


def output_from_expression(graph: Graph, name: str, expression: Any, levels: Mapping[str, int]) -> Output:
    """A scalar, vector or matrix of expressions as a program's output."""
    reader = _Reader(graph, levels)
    if not hasattr(expression, "shape"):
        return Output(name, (), (reader.read(expression),))
    rows, columns = expression.shape
    shape = (rows,) if columns == 1 and name not in MATRICES else (rows, columns)
    return Output(name, shape, tuple(reader.read(x) for x in expression))


class _Reader:
    def __init__(self, graph: Graph, levels: Mapping[str, int]) -> None:
        self.graph, self.levels = graph, levels
        self._known: dict[Any, Node] = {}

    def read(self, e: Any) -> Node:
        if e not in self._known:
            self._known[e] = self._read(e)
        return self._known[e]

    def _read(self, e: Any) -> Node:
        graph = self.graph
        if isinstance(e, sp.Symbol):
            check_names("symbol", [e.name], self.levels)
            return graph.symbol(e.name, self.levels[e.name])
        if e.is_Rational:
            return graph.node(Fraction(int(e.p), int(e.q)))
        if e.is_number and not e.free_symbols:
            return graph.node(float(e))
        if isinstance(e, sp.Add):
            return graph.sum(self.read(x) for x in e.args)
        if isinstance(e, sp.Mul):
            return self._product(e)
        if isinstance(e, sp.Pow):
            return self._power(e)
        return self._function(e)

    def _product(self, e: Any) -> Node:
        """Constants first, so that they gather; a negative power divides."""
        top, bottom = [], []
        for factor in e.args:
            below = isinstance(factor, sp.Pow) and factor.exp.is_number and factor.exp.is_negative
            (bottom if below else top).append(sp.Pow(factor.base, -factor.exp) if below else factor)
        above = self._ordered(top)
        return above if not bottom else self.graph.div(above, self._ordered(bottom))

    def _ordered(self, factors: list[Any]) -> Node:
        result = self.graph.one
        for node in sorted((self.read(x) for x in factors), key=lambda n: (n.level, n.number)):
            result = self.graph.mul(result, node)
        return result

    def _power(self, e: Any) -> Node:
        base, exponent = self.read(e.base), e.exp
        if exponent.is_Integer:
            return self.graph.power(base, int(exponent))
        if (2 * exponent).is_Integer:
            return self.graph.power(self.graph.sqrt(base), int(2 * exponent))
        raise InvalidInput(f"cannot compute {e}: only whole powers and square roots are known")

    def _function(self, e: Any) -> Node:
        known = {sp.sin: self.graph.sin, sp.cos: self.graph.cos}
        if type(e) in known:
            return known[type(e)](self.read(e.args[0]))
        if isinstance(e, sp.Abs):
            inside = self.read(e.args[0])
            return self.graph.sqrt(inside * inside)
        if isinstance(e, sp.tan):
            angle = self.read(e.args[0])
            return self.graph.div(self.graph.sin(angle), self.graph.cos(angle))
        raise InvalidInput(f"cannot compute {e}: sines, cosines, tangents and square roots are the functions known")


def written_lines(nodes: Sequence[Node]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Definitions (symbol, expression) of what is used more than once, and the nodes in these terms.

    SymPy may cancel a symbol out of every line that would use it (t15 − t15): nodes whose symbol ends up unused are
    written again without one, so that every line printed is needed.
    """
    order = needed_nodes(list(nodes))
    written = [node for node in order if node.op not in ("sin", "cos")]  # an angle stays: c23 says more than cos t7
    uses = Counter(argument.number for node in written for argument in node.args)
    named = {n.number for n in order if n.args and n.op not in ("neg", "sin", "cos") and uses[n.number] > 1}
    while True:
        symbols, lines, made = _lines(order, named)
        entries = [made[node.number] for node in nodes]
        used = _used([expression for _, expression in lines] + entries)
        if not (dead := {number for number, symbol in symbols.items() if symbol not in used}):
            return lines, entries
        named -= dead


def _lines(
    order: Sequence[Node], named: Collection[int]
) -> tuple[dict[int, Any], list[tuple[Any, Any]], dict[int, Any]]:
    """The symbols of the nodes with these numbers, their definitions in order, and every node in these terms."""
    symbols: dict[int, Any] = {}
    lines: list[tuple[Any, Any]] = []
    made: dict[int, Any] = {}
    for node in order:
        expression = _sympy(node, [made[a.number] for a in node.args])
        if node.number in named:
            symbols[node.number] = sp.Symbol(f"t{len(lines) + 1}")
            lines.append((symbols[node.number], expression))
            expression = symbols[node.number]
        made[node.number] = expression
    return symbols, lines, made


def _used(expressions: Sequence[Any]) -> set[Any]:
    return set().union(*(expression.free_symbols for expression in expressions))


def _sympy(node: Node, a: list[Any]) -> Any:
    if node.op == "number":
        return sp.Float(node.value, 17) if isinstance(node.value, float) else _rational(Fraction(node.value))
    if node.op == "symbol":
        return sp.Symbol(node.name)
    return {**FLOATS, "mul": _times, "sin": sp.sin, "cos": sp.cos, "sqrt": sp.sqrt}[node.op](*a)


def _rational(value: Fraction) -> Any:
    """Simple fractions exactly, others as decimals."""
    if value.denominator <= 1000:
        return sp.Rational(value.numerator, value.denominator)
    return sp.Float(float(value), 15)


def _times(a: Any, b: Any) -> Any:
    if (a.is_Number and b.is_Add) or (b.is_Number and a.is_Add):
        return sp.Mul(a, b, evaluate=False)
    return a * b

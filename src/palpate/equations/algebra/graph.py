"""Expressions as a graph in which equal parts are one node, simplified as they arise and never expanded.

A node is a number, a symbol, or an operation on nodes. Making a node looks for it first, folds numbers, drops zeros and
ones, and moves signs outwards, so that what is equal by these rules is the same object. `level` says on what a node
depends: 0 numbers only, 1 parameters, 2 the robot's state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Number = int | float | Fraction
Op = Literal["number", "symbol", "neg", "add", "sub", "mul", "div", "sin", "cos", "sqrt"]
NUMBER, PARAMETER, STATE = 0, 1, 2


class Node:
    """One vertex of a Graph; use +, −, ·, / and the graph's functions to make more."""

    __slots__ = ("args", "graph", "level", "name", "number", "op", "value")

    def __init__(self, graph: Graph, op: Op, args: tuple[Node, ...], value: Number, name: str, level: int) -> None:
        self.graph, self.op, self.args, self.value, self.name, self.level = graph, op, args, value, name, level
        self.number = len(graph.nodes)

    def __add__(self, other: Node | Number) -> Node:
        return self.graph.add(self, self.graph.node(other))

    __radd__ = __add__

    def __sub__(self, other: Node | Number) -> Node:
        return self.graph.add(self, self.graph.neg(self.graph.node(other)))

    def __rsub__(self, other: Node | Number) -> Node:
        return self.graph.add(self.graph.node(other), self.graph.neg(self))

    def __mul__(self, other: Node | Number) -> Node:
        return self.graph.mul(self, self.graph.node(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Node | Number) -> Node:
        return self.graph.div(self, self.graph.node(other))

    def __rtruediv__(self, other: Node | Number) -> Node:
        return self.graph.div(self.graph.node(other), self)

    def __neg__(self) -> Node:
        return self.graph.neg(self)

    def __bool__(self) -> bool:
        """False for the number zero only."""
        return not (self.op == "number" and self.value == 0)

    def __repr__(self) -> str:
        if self.op == "number":
            return str(self.value)
        return self.name if self.op == "symbol" else f"{self.op}({', '.join(map(repr, self.args))})"


class Graph:
    """Owns nodes, and makes each only once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._made: dict[tuple[Any, ...], Node] = {}
        self.zero, self.one = self.node(0), self.node(1)

    # ------------------------------------------------------------------ making nodes

    def node(self, value: Node | Number) -> Node:
        """A number as a node; a node itself."""
        if isinstance(value, Node):
            return value
        if isinstance(value, Fraction) and value.denominator == 1:
            value = int(value)
        if value < 0:
            return self.neg(self.node(-value))
        return self._make("number", (), value, level=NUMBER)

    def symbol(self, name: str, level: int = STATE) -> Node:
        """A named input: a parameter (level 1) or part of the state (level 2)."""
        return self._make("symbol", (), 0, name, level)

    def _make(
        self, op: Op, args: tuple[Node, ...], value: Number = 0, name: str = "", level: int | None = None
    ) -> Node:
        key = (op, *(a.number for a in args), value, name)
        node = self._made.get(key)
        if node is None:
            level = max(a.level for a in args) if level is None else level
            node = self._made[key] = Node(self, op, args, value, name, level)
            self.nodes.append(node)
        return node

    def neg(self, a: Node) -> Node:
        """−a; a difference turns round instead, so that signs stay on the outside."""
        if a.op == "neg":
            return a.args[0]
        if not a:
            return a
        return self._make("neg", (a,))

    def add(self, a: Node, b: Node) -> Node:
        """a + b."""
        if not a:
            return b
        if not b:
            return a
        if a.op == "neg" and b.op == "neg":
            return self.neg(self.add(a.args[0], b.args[0]))
        if a.op == "neg":
            return self._difference(b, a.args[0])
        if b.op == "neg":
            return self._difference(a, b.args[0])
        if a.op == b.op == "number":
            return self.node(a.value + b.value)
        if a is b:
            return self.mul(self.node(2), a)
        common = self._common_factor(a, b, 1)
        if common is not None:
            return common
        return self._constants_first(a, b) or self._make("add", (a, b) if a.number < b.number else (b, a))

    def _constants_first(self, a: Node, b: Node) -> Node | None:
        """k₁ + (k₂ ± x) = (k₁ + k₂) ± x, the constants added once."""
        if a.level == STATE:
            a, b = b, a
        if a.level == STATE or b.level < STATE or b.op not in ("add", "sub"):
            return None
        first, second = b.args
        if first.level < STATE:
            return self.add(self.add(a, first), second if b.op == "add" else self.neg(second))
        if second.level < STATE:
            return self.add(first, self.add(a, second if b.op == "add" else self.neg(second)))
        return None

    def _difference(self, a: Node, b: Node) -> Node:
        if a is b:
            return self.zero
        if a.op == b.op == "number":
            return self.node(a.value - b.value)
        common = self._common_factor(a, b, -1)
        if common is not None:
            return common
        if a.number < b.number:
            return self._make("sub", (a, b))
        return self.neg(self._make("sub", (b, a)))

    def _common_factor(self, a: Node, b: Node, sign: int) -> Node | None:
        """k x ± k y = k (x ± y): one product less."""
        if a.op != "mul" or b.op != "mul":
            return None
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            if a.args[i] is b.args[j]:
                x, y = a.args[1 - i], b.args[1 - j]
                return self.mul(a.args[i], self.add(x, y if sign > 0 else self.neg(y)))
        return None

    def mul(self, a: Node, b: Node) -> Node:
        """a · b; constants gather, so that k₁ (k₂ x) costs one product."""
        if not a or not b:
            return self.zero
        if a.op == "neg":
            return self.neg(self.mul(a.args[0], b))
        if b.op == "neg":
            return self.neg(self.mul(a, b.args[0]))
        if a is self.one:
            return b
        if b is self.one:
            return a
        if a.op == b.op == "number":
            return self.node(a.value * b.value)
        if _product_order(a) > _product_order(b):
            a, b = b, a
        if a.level < STATE and b.op == "mul" and b.args[0].level < STATE and b.level == STATE:
            return self.mul(self.mul(a, b.args[0]), b.args[1])
        if a.op == "number" and b.op == "mul" and b.args[0].op == "number":
            return self.mul(self.mul(a, b.args[0]), b.args[1])
        return self._make("mul", (a, b))

    def div(self, a: Node, b: Node) -> Node:
        """a / b; by a constant, it becomes a product with the constant's inverse."""
        if not a or b is self.one:
            return a
        if a is b:
            return self.one
        if a.op == "neg":
            return self.neg(self.div(a.args[0], b))
        if b.op == "neg":
            return self.neg(self.div(a, b.args[0]))
        if a.op == b.op == "number":
            return self.node(Fraction(a.value) / Fraction(b.value))
        if b.level < STATE and a is not self.one:
            return self.mul(a, self.div(self.one, b))
        return self._make("div", (a, b))

    def sin(self, a: Node) -> Node:
        """sin a, odd."""
        if a.op == "neg":
            return self.neg(self.sin(a.args[0]))
        return self.zero if not a else self._make("sin", (a,))

    def cos(self, a: Node) -> Node:
        """cos a, even."""
        if a.op == "neg":
            return self.cos(a.args[0])
        return self.one if not a else self._make("cos", (a,))

    def sqrt(self, a: Node) -> Node:
        """√a."""
        return a if not a or a is self.one else self._make("sqrt", (a,))

    def power(self, a: Node, exponent: int) -> Node:
        """a to a whole power, by squaring."""
        if exponent < 0:
            return self.div(self.one, self.power(a, -exponent))
        result, square = self.one, a
        while exponent:
            if exponent & 1:
                result = self.mul(result, square)
            square, exponent = self.mul(square, square), exponent >> 1
        return result

    def sum(self, nodes: Iterable[Node]) -> Node:
        """Their sum."""
        total = self.zero
        for node in nodes:
            total = self.add(total, node)
        return total


@dataclass(frozen=True)
class Output:
    """A named array of a program: its shape, and a node for each entry in row order."""

    name: str
    shape: tuple[int, ...]
    nodes: tuple[Node, ...]


def _product_order(node: Node) -> tuple[int, bool, int]:
    """Factors in order: numbers, constants such as the sine of a number, parameters, the state; each by its age."""
    return node.level, node.op != "number", node.number

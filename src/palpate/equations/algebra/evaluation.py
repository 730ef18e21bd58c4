"""Walks over the nodes of a graph that outputs depend on, and their values for given symbols."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from palpate.equations.algebra.graph import Node


def needed_nodes(outputs: Iterable[Node], known: Container[int] = ()) -> list[Node]:
    """Every node the outputs depend on, arguments before what uses them; not what nodes of `known` numbers need."""
    seen: set[int] = set()
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node.number not in seen:
            seen.add(node.number)
            if node.number not in known:
                waiting += node.args
    nodes = next(iter(outputs)).graph.nodes if seen else []
    return [nodes[number] for number in sorted(seen)]  # a node is always younger than its arguments


Operations = Mapping[str, Callable[..., Any]]
FLOATS: Operations = {
    "number": float,
    "neg": operator.neg,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "sin": math.sin,
    "cos": math.cos,
    "sqrt": math.sqrt,
}


def evaluate(outputs: Sequence[Node], symbols: Mapping[str, Any], operations: Operations = FLOATS) -> list[Any]:
    """The outputs' values for given symbols, in whatever arithmetic the operations are."""
    values: dict[int, Any] = {}
    for node in needed_nodes(outputs):
        if node.op == "number":
            values[node.number] = operations["number"](node.value)
        elif node.op == "symbol":
            values[node.number] = symbols[node.name]
        else:
            values[node.number] = operations[node.op](*(values[a.number] for a in node.args))
    return [values[node.number] for node in outputs]

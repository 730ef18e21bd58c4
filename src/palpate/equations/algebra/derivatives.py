"""Derivatives of nodes of a graph: forward along a direction, or backward to every symbol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from palpate.equations.algebra.evaluation import needed_nodes
from palpate.equations.algebra.graph import Node

# d output/d argument of each operation, times a seed: for (node, seed).
_SHARES: dict[str, tuple[Callable[[Node, Node], Node], ...]] = {
    "neg": (lambda node, s: -s,),
    "add": (lambda node, s: s, lambda node, s: s),
    "sub": (lambda node, s: s, lambda node, s: -s),
    "mul": (lambda node, s: s * node.args[1], lambda node, s: node.args[0] * s),
    "div": (lambda node, s: s / node.args[1], lambda node, s: -s * node / node.args[1]),
    "sin": (lambda node, s: s * node.graph.cos(node.args[0]),),
    "cos": (lambda node, s: -node.graph.sin(node.args[0]) * s,),
    "sqrt": (lambda node, s: s / (2 * node),),
}


def tangent(outputs: Sequence[Node], seeds: Mapping[Node, Node]) -> list[Node]:
    """Directional derivatives Σ ∂output/∂symbol · seed, forward through the graph."""
    graph = outputs[0].graph
    rate: dict[int, Node] = {symbol.number: seed for symbol, seed in seeds.items()}
    for node in needed_nodes(outputs):
        if node.args:
            rates = [rate[a.number] for a in node.args]
            rate[node.number] = graph.sum(share(node, d) for share, d in zip(_SHARES[node.op], rates) if d)
        else:
            rate.setdefault(node.number, graph.zero)
    return [rate[node.number] for node in outputs]


def gradient(output: Node, symbols: Sequence[Node]) -> list[Node]:
    """∂output/∂symbol for every symbol, backward through the graph."""
    graph = output.graph
    sensitivity: dict[int, Node] = {output.number: graph.one}
    for node in reversed(needed_nodes([output])):
        s = sensitivity.get(node.number)
        if s is not None and node.args:
            for argument, share in zip(node.args, _SHARES[node.op]):
                before = sensitivity.get(argument.number, graph.zero)
                sensitivity[argument.number] = before + share(node, s)
    return [sensitivity.get(symbol.number, graph.zero) for symbol in symbols]

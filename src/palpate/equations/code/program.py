"""Straight-line programs from graphs: what is computed once for the parameters, what for every state, and its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from palpate.equations.algebra.evaluation import evaluate, needed_nodes
from palpate.equations.algebra.graph import NUMBER, PARAMETER, STATE, Graph, Node, Number, Output
from palpate.equations.algebra.residues import P, all_values
from palpate.errors import InvalidInput
from palpate.forking import cached_property

INLINE = 60  # characters up to which an expression used once stays in its line
_FUNCTIONS = ("sin", "cos", "sqrt")  # by these names in C and in NumPy


@dataclass(frozen=True)
class OperationCounts:
    """Operations for one state. Signs are free; what depends on parameters alone is done once, and counted apart."""

    multiplications: int
    additions: int
    divisions: int
    sines: int
    roots: int
    once: int

    def __str__(self) -> str:
        parts = [f"{self.multiplications} multiplications", f"{self.additions} additions"]
        parts += [f"{self.divisions} divisions"] if self.divisions else []
        parts += [f"{self.sines} sines and cosines"] if self.sines else []
        parts += [f"{self.roots} roots"] if self.roots else []
        return ", ".join(parts) + (f"; {self.once} operations once for the parameters" if self.once else "")


@dataclass(frozen=True)
class Program:
    """Outputs as functions of (q, v, a) and of parameters.

    Attributes:
        inputs: names of the entries of each input array that is used, in order: {"q": (…), "v": (…), "a": (…)}.
        parameters: names of the parameters used, in order.
        outputs: what is computed.
    """

    inputs: Mapping[str, tuple[str, ...]]
    parameters: tuple[str, ...]
    outputs: tuple[Output, ...]

    @cached_property
    def nodes(self) -> list[Node]:
        """Every output's entries, one after the other."""
        return [node for output in self.outputs for node in output.nodes]

    def counts(self) -> OperationCounts:
        """How much there is to compute."""
        computed = [node for node in needed_nodes(self.nodes) if node.op not in ("number", "symbol", "neg")]
        n = Counter(node.op for node in computed if node.level == STATE)
        once = len(computed) - n.total()
        return OperationCounts(n["mul"], n["add"] + n["sub"], n["div"], n["sin"] + n["cos"], n["sqrt"], once)

    def constants(self) -> list[Node]:
        """Nodes that depend on the parameters alone and are used with the state or given out, in order."""
        parameters: dict[int, Node] = {}
        for node in needed_nodes(self.nodes):
            if node.level == STATE:
                parameters.update({a.number: a for a in node.args if a.level == PARAMETER})
        parameters.update({node.number: node for node in self.nodes if node.level == PARAMETER})
        return [parameters[number] for number in sorted(parameters)]


def make_program(outputs: Sequence[Output], inputs: Mapping[str, Sequence[str]], always: Sequence[str] = ()) -> Program:
    """A program of these outputs; inputs that are used become arguments, and those of `always`."""
    nodes = [node for output in outputs for node in output.nodes]
    used = {node.name: node.level for node in needed_nodes(nodes) if node.op == "symbol"} if nodes else {}
    kept = {
        name: tuple(entries) for name, entries in inputs.items() if name in always or any(e in used for e in entries)
    }
    parameters = tuple(name for name, level in used.items() if level == PARAMETER)
    return Program(kept, parameters, tuple(outputs))


def with_numbers(outputs: Sequence[Output], values: Mapping[str, Number]) -> list[Output]:
    """The same outputs with numbers for parameters, simplified again."""

    def leaf(graph: Graph, node: Node) -> Node | None:
        if node.op == "symbol" and node.name in values:
            return graph.node(values[node.name])
        return None

    return _copied(outputs, leaf)


def fold_constants(outputs: Sequence[Output]) -> list[Output]:
    """The same outputs with what depends on numbers alone, such as the sine of a fixed angle, worked out."""
    constant = [node for node in needed_nodes([n for output in outputs for n in output.nodes]) if node.level == NUMBER]
    values = dict(zip((node.number for node in constant), evaluate(constant, {})))

    def leaf(graph: Graph, node: Node) -> Node | None:
        return graph.node(values[node.number]) if node.level == NUMBER and node.args else None

    return _copied(outputs, leaf)


def _copied(outputs: Sequence[Output], leaf: Callable[[Graph, Node], Node | None]) -> list[Output]:
    """The outputs in a graph of their own, simplified again; `leaf` may give another node for one of the old graph."""
    graph = Graph()
    made: dict[int, Node] = {}
    for node in needed_nodes([n for output in outputs for n in output.nodes]):
        instead = leaf(graph, node)
        if instead is None and node.op == "number":
            instead = graph.node(node.value)
        elif instead is None and node.op == "symbol":
            instead = graph.symbol(node.name, node.level)
        if instead is None:
            instead = _rebuilt(graph, node, [made[a.number] for a in node.args])
        made[node.number] = instead
    return [Output(o.name, o.shape, tuple(made[n.number] for n in o.nodes)) for o in outputs]


def merge_equal_nodes(outputs: Sequence[Output], quaternion: Sequence[str] = ()) -> list[Output]:
    """The same outputs with nodes that are equal made one, and those that are zero dropped.

    Equality is decided at two random points modulo 2¹²⁷ − 3489: it finds what no local rule sees (a joint torque that
    gravity cannot have, cos² + sin²), and errs with a chance below 1e-60. Graphs with roots are left as they are.
    """
    nodes = [n for output in outputs for n in output.nodes]
    try:
        points = [all_values(nodes, seed, quaternion) for seed in (11, 12)]
    except InvalidInput:
        return list(outputs)
    graph = nodes[0].graph
    first: dict[tuple[int, ...], Node] = {}
    made: dict[int, Node] = {}
    for node in needed_nodes(nodes):
        key = tuple(values[node.number] for values in points)
        opposite = tuple(-value % P for value in key)
        if not any(key):
            made[node.number] = graph.zero
        elif key in first:
            made[node.number] = first[key]
        elif opposite in first:
            made[node.number] = graph.neg(first[opposite])
        else:
            rebuilt = _rebuilt(graph, node, [made[a.number] for a in node.args]) if node.args else node
            made[node.number] = rebuilt
            first[key] = rebuilt
    return [Output(o.name, o.shape, tuple(made[n.number] for n in o.nodes)) for o in outputs]


def _rebuilt(graph: Graph, node: Node, a: list[Node]) -> Node:
    if node.op == "sub":
        return graph.add(a[0], graph.neg(a[1]))
    return getattr(graph, node.op)(*a)


class Writer:
    """Turns nodes into lines of Python or C.

    Args:
        names: how each symbol is spelt.
        module: before the name of a function ("np." for "np.sin").
        prefix: of temporaries.
    """

    def __init__(self, names: Mapping[str, str], module: str = "", prefix: str = "t") -> None:
        self.names, self.module, self.prefix = names, module, prefix
        self.lines: list[tuple[str, str]] = []  # temporaries and their expressions, in Python's and C's notation
        self._text: dict[int, tuple[str, int]] = {}

    def give(self, node: Node, text: str) -> None:
        """Spell a node by a name that exists already."""
        self._text[node.number] = text, 9

    def write(self, nodes: Sequence[Node]) -> None:
        """Lines for everything the nodes need."""
        order = [node for node in needed_nodes(nodes, self._text) if node.number not in self._text]
        uses = Counter(argument.number for node in order for argument in node.args)
        uses.update(node.number for node in nodes)
        for node in order:
            text, rank = self._spelt(node)
            once = uses[node.number] <= 1 and len(text) <= INLINE and node.op not in _FUNCTIONS
            if once or node.op in ("number", "symbol", "neg"):
                self._text[node.number] = text, rank
            else:
                name = f"{self.prefix}{len(self.lines) + 1}"
                self.lines.append((name, text))
                self._text[node.number] = name, 9

    def text(self, node: Node) -> str:
        """A written node."""
        return self._text[node.number][0]

    def _spelt(self, node: Node) -> tuple[str, int]:
        """Text and binding strength: 1 sums, 2 products, 3 signs, 9 atoms."""
        if node.op == "number":
            return repr(float(node.value)), 9  # good in Python and in C
        if node.op == "symbol":
            return self.names[node.name], 9
        if node.op in _FUNCTIONS:
            return f"{self.module}{node.op}({self._inside(node.args[0], 0)})", 9
        a = node.args
        if node.op == "neg":
            return f"-{self._inside(a[0], 3)}", 2
        if node.op in ("add", "sub"):
            sign = " + " if node.op == "add" else " - "
            return f"{self._inside(a[0], 1)}{sign}{self._inside(a[1], 2)}", 1
        sign = "*" if node.op == "mul" else "/"
        return f"{self._inside(a[0], 2)}{sign}{self._inside(a[1], 3)}", 2

    def _inside(self, node: Node, least: int) -> str:
        text, rank = self._text[node.number]
        return text if rank >= least and not (text.startswith("-") and least > 1) else f"({text})"

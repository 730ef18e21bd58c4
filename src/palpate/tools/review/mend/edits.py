"""The slips people make, what each costs, and how one is undone in a tree.

| slip | cost |
|---|---|
| a sign; a factor 2 or ½; an exponent off by one; sin for cos; a wrong index; a missing or extra dot | 1 |
| another wrong number; a wrong symbol; indices swapped; a factor lost or too many; an exponent off by more | 1.5 |
| a matrix transposed or inverted, or another matrix in its place; two entries exchanged | 1.5 |
| a term lost or too many; one symbol wrong throughout | 2 |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.printing import Printer
from palpate.tools.review.algebra.tree import Node, Span

COSTS = {  # among equals, what is named first is believed first
    "sign": 1.0, "factor of two": 1.0, "exponent": 1.0, "sine for cosine": 1.0, "wrong index": 1.0, "dot": 1.0,
    "wrong number": 1.5, "wrong symbol": 1.5, "swapped indices": 1.5, "extra factor": 1.5, "missing factor": 1.5,
    "wrong exponent": 1.5, "wrong matrix": 1.5, "swapped entries": 1.5, "extra term": 2.0, "missing term": 2.0,
    "wrong symbol throughout": 2.0, "wrong angle and function": 2.0,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Edit:
    """One slip and its correction.

    Attributes:
        kind: a key of COSTS.
        around: the term the slip is in, or the sum that lacks a term.
        changes, after: what `tree.rewrite` is to do.
        span: the place of the slip in the text, where it is known.
        term: the term that is missing or too many.
        where: words that say where, such as "in the definition of σ1".
    """

    kind: str
    around: Node
    changes: Mapping[int, Node] = field(default_factory=dict)
    after: Mapping[int, Callable[[Node], Node]] = field(default_factory=dict)
    span: Span = None
    term: Node | None = None
    where: str = ""

    def message(self, printer: Printer) -> str:
        """The correction in words."""
        where = f" {self.where}" if self.where else ""
        if self.term is not None:
            says = "is missing" if self.kind == "missing term" else "does not belong"
            return f"{self.kind}{where}: {printer.node(self.term)} {says}"
        was, becomes = printer.node(self.around), printer.node(edited(self.around, [self]))
        return f"{self.kind}{where}: {was} should be {becomes}"


def edited(tree: Node, edits: Iterable[Edit]) -> Node:
    """The tree with the corrections made."""
    changes: dict[int, Node] = {}
    after: dict[int, Callable[[Node], Node]] = {}
    for edit in edits:
        changes.update(edit.changes)
        for key, change in edit.after.items():
            after[key] = _both(after[key], change) if key in after else change
    return algebra.tidy_tree(algebra.rewrite(tree, changes, after))


def _both(first: Callable[[Node], Node], second: Callable[[Node], Node]) -> Callable[[Node], Node]:
    return lambda node: second(first(node))


def likelihood_of_all(edits: Iterable[Edit]) -> tuple[float, int]:
    """Sorts groups of corrections: the cheaper first, and among equals those that COSTS names first."""
    kinds = [edit.kind for edit in edits]
    return sum(COSTS[kind] for kind in kinds), sum(list(COSTS).index(kind) for kind in kinds)

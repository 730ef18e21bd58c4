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
from fractions import Fraction

from palpate.errors import DoesNotFit
from palpate.review.algebra.points import polynomial
from palpate.review.algebra.printing import Printer
from palpate.review.algebra.tree import (
    ONE,
    Neg,
    Node,
    Num,
    Power,
    Prod,
    Quot,
    Ref,
    Span,
    Sum,
    Sym,
    Trig,
    number,
    rewrite,
    tidied,
)  # fmt: skip

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
        place: words that say where, such as "in the definition of σ1".
    """

    kind: str
    around: Node
    changes: Mapping[int, Node] = field(default_factory=dict)
    after: Mapping[int, Callable[[Node], Node]] = field(default_factory=dict)
    span: Span = None
    term: Node | None = None
    place: str = ""

    @property
    def cost(self) -> float:
        """What the slip costs."""
        return COSTS[self.kind]

    def told(self, printer: Printer) -> str:
        """The correction in words."""
        where = f" {self.place}" if self.place else ""
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
    return tidied(rewrite(tree, changes, after))


def _both(first: Callable[[Node], Node], second: Callable[[Node], Node]) -> Callable[[Node], Node]:
    return lambda node: second(first(node))


def likelihood(edit: Edit) -> tuple[float, int]:
    """Sorts corrections: the cheaper first, and among equals the one that COSTS names first."""
    return edit.cost, list(COSTS).index(edit.kind)


def likelihood_of_all(edits: Iterable[Edit]) -> tuple[float, int]:
    """Sorts groups of corrections."""
    ranks = [likelihood(edit) for edit in edits]
    return sum(price for price, _ in ranks), sum(rank for _, rank in ranks)


def cost(edits: Iterable[Edit]) -> float:
    """What several slips cost together."""
    return sum(edit.cost for edit in edits)


# ------------------------------------------------------------------ ways to change a product


def with_factor(node: Node, factor: Node) -> Node:
    """node · factor, the factor put where a person would: a number in front, a symbol at the end, above the line."""
    match node:
        case Neg(operand=inner):
            return Neg(with_factor(inner, factor), node.span)
        case Quot(top=top, bottom=bottom):
            return Quot(with_factor(top, factor), bottom, node.span)
        case Prod(factors=factors) if isinstance(factor, Num):
            return _numbered(list(factors), factor, node.span)
        case Prod(factors=factors):
            return Prod((*factors, factor), node.span)
        case Num(value=value) if value == 1:
            return factor
        case Num(value=value) if isinstance(factor, Num):
            return number(value * factor.value)
    return Prod((factor, node) if isinstance(factor, Num) else (node, factor))


def _numbered(factors: list[Node], factor: Num, span: Span) -> Node:
    first = factors[0]
    if isinstance(first, Num):
        return Prod((number(first.value * factor.value), *factors[1:]), span)
    return Prod((factor, *factors), span)


def with_divisor(node: Node, divisor: Node) -> Node:
    """node / divisor."""
    match node:
        case Neg(operand=inner):
            return Neg(with_divisor(inner, divisor), node.span)
        case Quot(top=top, bottom=bottom):
            return Quot(top, with_factor(bottom, divisor), node.span)
    return Quot(node, divisor)


def with_term(node: Node, term: Node) -> Node:
    """node + term."""
    return Sum((*node.terms, term), node.span) if isinstance(node, Sum) else Sum((node, term))


def without_sign(node: Node) -> Node:
    """The operand of a minus, a minus otherwise; of a sum, every term's."""
    if isinstance(node, Sum):
        return Sum(tuple(without_sign(term) for term in node.terms), node.span)
    return node.operand if isinstance(node, Neg) else Neg(node)


def powered(node: Node, exponent: Fraction) -> Node:
    """node^e, without a needless exponent."""
    return ONE if exponent == 0 else node if exponent == 1 else Power(node, exponent)


# ------------------------------------------------------------------ what a change of a factor is called


def substitution(old: Node, new: Node) -> str:
    """The kind of slip that puts `old` in the place of `new`."""
    if isinstance(old, Trig) and isinstance(new, Trig):
        if old.function == new.function:
            return "wrong index"
        return "sine for cosine" if _same_angle(old.angle, new.angle) else "wrong angle and function"
    if isinstance(old, Sym | Ref) and isinstance(new, Sym | Ref):
        a, b = old.name, new.name
        if (a.base, a.sub) == (b.base, b.sub):
            return "dot"
        if (a.base, a.dots) == (b.base, b.dots) and a.sub and b.sub:
            return "wrong index"
    return "wrong symbol"


def _same_angle(a: Node, b: Node) -> bool:
    try:
        return polynomial(a) == polynomial(b)
    except DoesNotFit:
        return False


def coefficient_slip(ratio: Fraction) -> str:
    """The kind of slip that makes a term wrong by 1/ratio."""
    if ratio == -1:
        return "sign"
    return "factor of two" if ratio in (2, Fraction(1, 2)) else "wrong number"

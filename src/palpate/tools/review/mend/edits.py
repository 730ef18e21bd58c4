"""The slips people make, what each costs, and how one is undone in a tree.

| slip | cost |
|---|---|
| a sign; a factor 2 or ½; an exponent off by one; sin for cos; a wrong index; a missing or extra dot | 1 |
| another wrong number; a wrong symbol; indices swapped; a factor lost or too many; an exponent off by more | 1.5 |
| a matrix transposed or inverted, or another matrix in its place; two entries exchanged | 1.5 |
| a term lost or too many; one symbol wrong throughout | 2 |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

from palpate.errors import DoesNotFit
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.points import Point, polynomial
from palpate.tools.review.algebra.printing import Printer
from palpate.tools.review.algebra.tree import Neg, Node, Num, Power, Prod, Quot, Ref, Span, Sum, Sym, Trig

COSTS = {  # among equals, what is named first is believed first
    "sign": 1.0, "factor of two": 1.0, "exponent": 1.0, "sine for cosine": 1.0, "wrong index": 1.0, "dot": 1.0,
    "wrong number": 1.5, "wrong symbol": 1.5, "swapped indices": 1.5, "extra factor": 1.5, "missing factor": 1.5,
    "wrong exponent": 1.5, "wrong matrix": 1.5, "swapped entries": 1.5, "extra term": 2.0, "missing term": 2.0,
    "wrong symbol throughout": 2.0, "wrong angle and function": 2.0,
}  # fmt: skip
_ONE = Fraction(1)


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
    return algebra.tidied(algebra.rewrite(tree, changes, after))


def _both(first: Callable[[Node], Node], second: Callable[[Node], Node]) -> Callable[[Node], Node]:
    return lambda node: second(first(node))


def likelihood_of_all(edits: Iterable[Edit]) -> tuple[float, int]:
    """Sorts groups of corrections: the cheaper first, and among equals those that COSTS names first."""
    kinds = [edit.kind for edit in edits]
    return sum(COSTS[kind] for kind in kinds), sum(list(COSTS).index(kind) for kind in kinds)


# ------------------------------------------------------------------ ways to change a product


def with_factor(node: Node, factor: Node) -> Node:
    """node · factor, the factor put where a person would: a number in front, a symbol at the end, above the line."""
    match node:
        case Neg(operand=inner):
            return Neg(with_factor(inner, factor), node.span)
        case Quot(top=top, bottom=bottom):
            return Quot(with_factor(top, factor), bottom, node.span)
        case Prod(factors=(Num(value=value), *others)) if isinstance(factor, Num):
            return Prod((algebra.number(value * factor.value), *others), node.span)
        case Prod(factors=factors) if isinstance(factor, Num):
            return Prod((factor, *factors), node.span)
        case Prod(factors=factors):
            return Prod((*factors, factor), node.span)
        case Num(value=value) if value == 1:
            return factor
        case Num(value=value) if isinstance(factor, Num):
            return algebra.number(value * factor.value)
    return Prod((factor, node) if isinstance(factor, Num) else (node, factor))


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
    return algebra.ONE if exponent == 0 else node if exponent == 1 else Power(node, exponent)


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


@dataclass(frozen=True, eq=False)
class Factor:
    """base^exponent, all of it to the power `outer` (−1 below a fraction line).

    Attributes:
        base: a symbol, function, sum or definition.
        holder: the node that an exponent belongs to; the base itself where there is none.
    """

    base: Node
    holder: Node
    exponent: Fraction
    outer: Fraction

    @property
    def total(self) -> Fraction:
        """The exponent in the whole term."""
        return self.exponent * self.outer


@dataclass(frozen=True, eq=False)
class Product:
    """A term seen as a product: its sign, numbers and factors, wherever brackets, fractions and powers hide them.

    If a term must become ρ times itself, a slip in it shows in ρ alone: ρ = −1 is a sign, ρ = y/x the symbol x in the
    place of y, ρ = x an exponent one too low.
    """

    node: Node
    factors: list[Factor] = field(default_factory=list)
    numbers: list[tuple[Num, Fraction]] = field(default_factory=list)
    signs: list[Neg] = field(default_factory=list)
    powers: list[tuple[Node, Fraction]] = field(default_factory=list)  # products under a common exponent: (a b)^2

    # ------------------------------------------------------------------ corrections

    def scaled(self, ratio: Fraction) -> Edit:
        """The term times a number."""
        kind = "sign" if ratio == -1 else "factor of two" if ratio in (2, Fraction(1, 2)) else "wrong number"
        number, power = next((pair for pair in self.numbers if abs(pair[1]) == 1), (None, _ONE))
        size = abs(ratio)
        if number is None or size == 1:
            return Edit(kind, self.node, {}, self._signed(ratio < 0, size), self.node.span)
        changes: dict[int, Node] = {id(number): algebra.number(number.value * size ** int(power))}
        return Edit(kind, self.node, changes, self._signed(ratio < 0, _ONE), number.span)

    def _signed(self, minus: bool, size: Fraction) -> dict[int, Callable[[Node], Node]]:
        """What changes the sign of the whole term, and multiplies it by a number put in front."""
        if minus and self.signs and size == 1:
            return {id(self.signs[0]): without_sign}
        if not minus and size == 1:
            return {}
        return {id(self.node): lambda node: _times_number(without_sign(node) if minus else node, size)}

    def without(self, factor: Factor) -> Edit:
        """The term without a factor."""
        return Edit("extra factor", self.node, {id(factor.holder): algebra.ONE}, {}, factor.holder.span)

    def exponent(self, factor: Factor, exponent: Fraction) -> Edit:
        """The term with another exponent of a factor."""
        if exponent == 0:
            return self.without(factor)
        kind = "exponent" if abs(exponent - factor.exponent) == 1 else "wrong exponent"
        return Edit(kind, self.node, {id(factor.holder): powered(factor.base, exponent)}, {}, factor.holder.span)

    def replaced(self, factor: Factor, atom: Node) -> Edit:
        """The term with another base of a factor."""
        kind = substitution(factor.base, atom)
        return Edit(kind, self.node, {id(factor.base): atom}, {}, factor.base.span)

    def swapped(self, one: Factor, other: Factor, atoms: tuple[Node, Node]) -> Edit:
        """The term with the indices of two factors exchanged."""
        changes = {id(one.base): atoms[0], id(other.base): atoms[1]}
        return Edit("swapped indices", self.node, changes, {}, one.base.span)

    def times(self, atom: Node, exponent: Fraction = _ONE) -> Edit:
        """The term with one more factor, or divided by one."""
        size = powered(atom, abs(exponent))
        put = with_factor if exponent > 0 else with_divisor
        return Edit("missing factor", self.node, {}, {id(self.node): lambda node: put(node, size)}, self.node.span)

    def removed(self) -> Edit:
        """No such term."""
        return Edit("extra term", self.node, {id(self.node): algebra.ZERO}, {}, self.node.span, self.node)

    def widened(self, factor: Factor, term: Node) -> Edit:
        """A factor that is the first term of a sum whose other term was lost."""
        after = {id(factor.base): lambda node: with_term(node, term)}
        return Edit("missing term", self.node, {}, after, factor.base.span, term)


def _times_number(node: Node, size: Fraction) -> Node:
    return node if size == 1 else with_factor(node, algebra.number(size))


def product(node: Node) -> Product:
    """The parts of a term."""
    parts = Product(node)
    _collect(node, _ONE, parts)
    return parts


def _collect(node: Node, outer: Fraction, parts: Product) -> None:
    match node:
        case Neg(operand=operand):
            if outer.numerator % 2:
                parts.signs.append(node)
            _collect(operand, outer, parts)
        case Prod(factors=factors):
            for factor in factors:
                _collect(factor, outer, parts)
        case Quot(top=top, bottom=bottom):
            _collect(top, outer, parts)
            _collect(bottom, -outer, parts)
        case Num():
            parts.numbers.append((node, outer))
        case Power(base=Prod() | Neg() | Quot() as base, exponent=exponent):
            parts.powers.append((base, outer * exponent))
            _collect(base, outer * exponent, parts)
        case Power(base=base, exponent=exponent):
            parts.factors.append(Factor(base, node, exponent, outer))
        case _:
            parts.factors.append(Factor(node, node, _ONE, outer))


def index(node: Node) -> str:
    """The subscript of a symbol, or of the single coordinate in a sine."""
    symbol = node.angle if isinstance(node, Trig) else node
    return symbol.name.sub if isinstance(symbol, Sym) else ""


def with_index(node: Node, sub: str) -> Node:
    """A symbol, or a sine of one coordinate, with another subscript."""
    if isinstance(node, Trig):
        return Trig(node.function, with_index(node.angle, sub), node.short)
    return Sym(node.name._replace(sub=sub)) if isinstance(node, Sym) else node


def swaps(parts: Product, point: Point) -> Iterator[tuple[Factor, Factor, tuple[Node, Node], Any]]:
    """Pairs of factors whose subscripts may have been exchanged, and by what exchanging them multiplies the term."""
    field, marked = point.field, [factor for factor in parts.factors if index(factor.base)]
    for one, other in combinations(marked, 2):
        if index(one.base) == index(other.base):
            continue
        new = with_index(one.base, index(other.base)), with_index(other.base, index(one.base))
        ratio = 1
        for factor, node in zip((one, other), new):
            quotient = field.mul(point.of(node), field.inverse(point.of(factor.base)))
            ratio = field.mul(ratio, field.power(quotient, factor.total))
        yield one, other, new, ratio


def is_sum(factor: Factor) -> bool:
    """Whether a factor is a bracket."""
    return isinstance(factor.base, Sum)

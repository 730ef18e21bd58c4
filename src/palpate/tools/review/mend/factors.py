"""A term as a product of factors, and the slips that a change of one of them can undo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

from palpate.errors import DoesNotFit
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.points import Point, polynomial
from palpate.tools.review.algebra.tree import Neg, Node, Num, Power, Prod, Quot, Ref, Sum, Sym, Trig
from palpate.tools.review.mend.edits import Edit
from palpate.tools.review.mend.node_changes import (
    powered,
    times_number,
    with_divisor,
    with_factor,
    with_term,
    without_sign,
)

_ONE = Fraction(1)


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
        """The rewrites that change the sign of the whole term, and multiply it by a number put in front."""
        if minus and self.signs and size == 1:
            return {id(self.signs[0]): without_sign}
        if not minus and size == 1:
            return {}
        return {id(self.node): lambda node: times_number(without_sign(node) if minus else node, size)}

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

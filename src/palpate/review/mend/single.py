"""One slip: the value each part of an expression would need to have, and what it could have been meant to be.

With the error e = wanted − given of a sum, each of its terms t would have to become t + e, or ρ t with ρ = 1 + e/t.
A factor f^n of t would have to become f ρ^(1/n): if f is a sum itself, its error is f (ρ^(1/n) − 1), and so on down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.review.algebra.points import Point
from palpate.review.algebra.tree import ZERO, Node, Num, Sum
from palpate.review.mend.atoms import Atoms
from palpate.review.mend.edits import Edit, with_term
from palpate.review.mend.missing import MissingTerm
from palpate.review.mend.products import Factor, Product, is_sum, product, swaps

_EXPONENT_STEPS = tuple(Fraction(step) for step in (1, -1, 2, -2, 3, -3, 4))


@dataclass(frozen=True)
class Step:
    """The way into a factor of a term, on the way down to a nested sum."""

    term: Node
    factor: Factor


class SingleSlip:
    """The search for one slip in an expression, at one point."""

    def __init__(self, point: Point, atoms: Atoms, missing: MissingTerm) -> None:
        self.point, self.field, self.atoms, self.missing = point, point.field, atoms, missing

    def edits(self, tree: Node, error: Any, thorough: bool = False) -> Iterator[Edit]:
        """Every correction of one slip that removes the error; `thorough` looks for lost terms nobody knows."""
        yield from self._sum(tree, error, () if thorough else None)

    def _sum(self, node: Node, error: Any, way: tuple[Step, ...] | None) -> Iterator[Edit]:
        if isinstance(node, Sum):
            twice = self._written_twice(node, error)
            yield from twice
            yield from self._whole_sum(node, error)
            for term in node.terms if not twice else ():
                yield from self._sum(term, error, way) if isinstance(term, Sum) else self._term(term, error, way)
        elif not (isinstance(node, Num) and node.value == 0):
            yield from self._term(node, error, way)
        for term in self.missing.terms(error, way):
            yield _adding(node, term)

    def _whole_sum(self, node: Sum, error: Any) -> Iterator[Edit]:
        """A number or a factor lost from, or too many before, all of a sum."""
        value = self.point.of(node)
        if self.field.is_zero(value):
            return
        parts = product(node)
        ratio = self.field.add(1, self.field.mul(error, self.field.inverse(value)))
        number = self.field.rational(ratio)
        if number is not None and number != 0:
            yield parts.scaled(number)
        for exponent in _EXPONENT_STEPS if number is None else ():
            yield from (parts.times(atom.node, exponent) for atom in self.atoms.raised(exponent).get(ratio))

    def _written_twice(self, node: Sum, error: Any) -> list[Edit]:
        """A term that does not belong and stands there twice: both go, rather than one getting a minus."""
        half = self.field.mul(error, self.field.number(Fraction(-1, 2)))
        same = [term for term in node.terms if self.field.equal(self.point.of(term), half)]
        if len(same) != 2:
            return []
        return [Edit("extra term", node, {id(term): ZERO for term in same}, {}, same[0].span, Sum(tuple(same)))]

    def _term(self, node: Node, error: Any, way: tuple[Step, ...] | None) -> Iterator[Edit]:
        value = self.point.of(node)
        if self.field.is_zero(value):
            return
        parts = product(node)
        ratio = self.field.add(1, self.field.mul(error, self.field.inverse(value)))
        if self.field.is_zero(ratio):
            yield parts.removed()
            return
        number = self.field.rational(ratio)
        if number is not None:
            yield parts.scaled(number)
        yield from self._factors(parts, ratio)
        for factor in parts.factors:
            if is_sum(factor):
                yield from self._inside(node, factor, ratio, way)
        for base, exponent in parts.powers:
            yield from self._beside(base, ratio, exponent)

    def _beside(self, base: Node, ratio: Any, exponent: Fraction) -> Iterator[Edit]:
        """(a b)^2 that should be (a b + c)^2."""
        value = self.point.of(base)
        for needed in self._roots(ratio, exponent):
            error = self.field.mul(value, self.field.sub(needed, 1))
            for term in self.missing.terms(error, None):
                yield _adding(base, term)

    def _inside(self, node: Node, factor: Factor, ratio: Any, way: tuple[Step, ...] | None) -> Iterator[Edit]:
        """Slips within a bracket."""
        value = self.point.of(factor.base)
        for needed in self._roots(ratio, factor.total):
            error = self.field.mul(value, self.field.sub(needed, 1))
            yield from self._sum(factor.base, error, None if way is None else (*way, Step(node, factor)))

    def brackets(self, node: Node, error: Any) -> Iterator[tuple[Node, Any]]:
        """Brackets under an exponent or below a fraction line, each with the error it would have to make up for."""
        for term in node.terms if isinstance(node, Sum) else (node,):
            value = self.point.of(term)
            if isinstance(term, Sum) or self.field.is_zero(value):
                continue
            ratio = self.field.add(1, self.field.mul(error, self.field.inverse(value)))
            for factor in filter(is_sum, product(term).factors):
                for needed in self._roots(ratio, factor.total) if not self.field.is_zero(ratio) else ():
                    inner = self.field.mul(self.point.of(factor.base), self.field.sub(needed, 1))
                    if factor.total != 1:
                        yield factor.base, inner
                    yield from self.brackets(factor.base, inner)

    def _roots(self, ratio: Any, exponent: Fraction) -> list[Any]:
        """Every value whose power is the ratio."""
        try:
            root = self.field.power(ratio, 1 / exponent)
        except (UnluckyPoint, DoesNotFit):
            return []
        return [root, self.field.sub(0, root)] if exponent.numerator % 2 == 0 else [root]

    # ------------------------------------------------------------------ slips in a product

    def _factors(self, parts: Product, ratio: Any) -> Iterator[Edit]:
        for factor in parts.factors:
            yield from self._factor(parts, factor, ratio)
        for exponent in _EXPONENT_STEPS:
            matching_atoms = self.atoms.raised(exponent).get(ratio)
            yield from (parts.times(atom.node, exponent) for atom in matching_atoms)
        for one, other, nodes, change in swaps(parts, self.point):
            if self.field.equal(change, ratio):
                yield parts.swapped(one, other, nodes)

    def _factor(self, parts: Product, factor: Factor, ratio: Any) -> Iterator[Edit]:
        field, value = self.field, self.point.of(factor.base)
        for step in _EXPONENT_STEPS:
            if field.equal(ratio, field.power(value, step * factor.outer)):
                yield parts.exponent(factor, factor.exponent + step)
        total = factor.total
        if abs(total) > 2 and field.equal(ratio, field.power(value, -total)):
            yield parts.without(factor)
        wanted = field.mul(ratio, field.power(value, total))
        for atom in self.atoms.raised(total).get(wanted):
            yield parts.replaced(factor, atom.node)
        if abs(total) == 1 and len(parts.factors) > 1 and not is_sum(factor):
            lost = field.sub(field.power(wanted, total), value)
            yield from (parts.widened(factor, term) for term in self.missing.beside(lost))


def _adding(node: Node, term: Node) -> Edit:
    return Edit("missing term", node, {}, {id(node): lambda old: with_term(old, term)}, node.span, term)

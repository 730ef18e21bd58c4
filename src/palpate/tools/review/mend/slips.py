"""One slip, or two: what makes an expression right.

One: the value each part would need to have, and what it could have been meant to be. With the error e = wanted − given
of a sum, each of its terms t would have to become t + e, or ρ t with ρ = 1 + e/t. A factor f^n of t would have to
become f ρ^(1/n): if f is a sum itself, its error is f (ρ^(1/n) − 1), and so on down.

Two, by meeting in the middle: every correction of one slip changes the whole by some Δ. Two slips in different terms
are right together if Δ₁ + Δ₂ is the whole error: all Δ are kept in a table, and error − Δ₁ is looked up for each. Two
slips in one term multiply it by ρ₁ ρ₂; a slip in a term and one in a bracket of it give Δ₁ + ρ₁ Δ₂. These are looked
up in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.tools.review.algebra.points import Field, Table
from palpate.tools.review.algebra.tree import ZERO, Node, Num, Sum, Sym, Trig
from palpate.tools.review.mend.edits import Edit, likelihood_of_all
from palpate.tools.review.mend.factors import Factor, Product, is_sum, product, swaps
from palpate.tools.review.mend.node_changes import with_term
from palpate.tools.review.mend.terms import BracketStep, MissingTerm

_EXPONENT_STEPS = tuple(Fraction(step) for step in (1, -1, 2, -2, 3, -3, 4))
_NUMBERS = (
    *(Fraction(n) for n in (-1, 2, -2, 3, -3, 4, 6)), *(Fraction(1, n) for n in (2, -2, 3, -3, 4, 6)),
    *(Fraction(a, b) for a, b in ((3, 2), (2, 3), (3, 4), (4, 3))),
)  # fmt: skip
_STEPS = (Fraction(1), Fraction(-1))
_MOST_HITS = 60
_ONE = Fraction(1)
Lift: TypeAlias = Callable[[Any], Any]  # from a change of a part to the change of the whole
Make: TypeAlias = Callable[[], Edit]


class SingleSlip:
    """The search for one slip in an expression, at one point."""

    def __init__(self, missing: MissingTerm) -> None:
        self.missing, self.atoms, self.point, self.field = missing, missing.atoms, missing.point, missing.field

    def edits(self, tree: Node, error: Any, thorough: bool = False) -> Iterator[Edit]:
        """Every correction of one slip that removes the error; `thorough` also looks for unknown lost terms."""
        yield from self._sum(tree, error, () if thorough else None)

    def _sum(self, node: Node, error: Any, path: tuple[BracketStep, ...] | None) -> Iterator[Edit]:
        if isinstance(node, Sum):
            twice = self._written_twice(node, error)
            yield from twice
            yield from self._whole_sum(node, error)
            for term in node.terms if not twice else ():
                yield from self._sum(term, error, path) if isinstance(term, Sum) else self._term(term, error, path)
        elif not (isinstance(node, Num) and node.value == 0):
            yield from self._term(node, error, path)
        for term in self.missing.terms(error, path):
            yield _adding(node, term)

    def _whole_sum(self, node: Sum, error: Any) -> Iterator[Edit]:
        """A number or a factor lost from, or too many before, all of a sum."""
        ratio = self._needed(node, error)
        if ratio is None:
            return
        parts, number = product(node), self.field.rational(ratio)
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

    def _needed(self, node: Node, error: Any) -> Any:
        """ρ = 1 + e/t, by which a term would have to be multiplied to remove the error; None where the term is zero."""
        value = self.point.of(node)
        if self.field.is_zero(value):
            return None
        return self.field.add(1, self.field.mul(error, self.field.inverse(value)))

    def _term(self, node: Node, error: Any, path: tuple[BracketStep, ...] | None) -> Iterator[Edit]:
        ratio = self._needed(node, error)
        if ratio is None:
            return
        parts = product(node)
        if self.field.is_zero(ratio):
            yield parts.removed()
            return
        number = self.field.rational(ratio)
        if number is not None:
            yield parts.scaled(number)
        yield from self._factors(parts, ratio)
        for factor in filter(is_sum, parts.factors):
            below = None if path is None else (*path, BracketStep(node, factor))
            for inner in self._errors_of_base(factor.base, factor.total, ratio):
                yield from self._sum(factor.base, inner, below)
        for base, exponent in parts.powers:  # (a b)^2 that should be (a b + c)^2
            for inner in self._errors_of_base(base, exponent, ratio):
                yield from (_adding(base, term) for term in self.missing.terms(inner, None))

    def brackets(self, node: Node, error: Any) -> Iterator[tuple[Node, Any]]:
        """Brackets under an exponent or below a fraction line, each with the error it would have to make up for."""
        for term in node.terms if isinstance(node, Sum) else (node,):
            ratio = None if isinstance(term, Sum) else self._needed(term, error)
            if ratio is None or self.field.is_zero(ratio):
                continue
            for factor in filter(is_sum, product(term).factors):
                for inner in self._errors_of_base(factor.base, factor.total, ratio):
                    if factor.total != 1:
                        yield factor.base, inner
                    yield from self.brackets(factor.base, inner)

    def _errors_of_base(self, base: Node, exponent: Fraction, ratio: Any) -> list[Any]:
        """f (ρ^(1/n) − 1), the errors of a base f if f^n has to become ρ times as large; two where n is even."""
        sub = self.field.sub
        try:
            root = self.field.power(ratio, 1 / exponent)
        except (UnluckyPoint, DoesNotFit):
            return []
        roots = [root, sub(0, root)] if exponent.numerator % 2 == 0 else [root]
        return [self.field.mul(self.point.of(base), sub(one, 1)) for one in roots]

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


@dataclass(eq=False)
class Option:
    """A correction of one slip: what it multiplies its term by, and what it changes the whole by."""

    make: Make
    site: Site
    ratio: Any
    change: Any = None
    inverse: Any = None
    number: int = 0  # pairs are listed in this order


@dataclass(eq=False)
class Site:
    """A term, or a sum that may lack one; `above` are the terms it lies in the brackets of."""

    value: Any
    lift: Lift
    affine: bool
    above: tuple[Site, ...]
    parts: Product | None = None
    options: list[Option] = field(default_factory=list)


class DoubleSlip:
    """The search for two slips in an expression, at one point."""

    def __init__(self, missing: MissingTerm) -> None:
        self.missing, self.atoms, self.point, self.field = missing, missing.atoms, missing.point, missing.field
        self.sites: list[Site] = []

    def edits(self, tree: Node, error: Any) -> Iterator[list[Edit]]:
        """Pairs of corrections that together remove the error, cheapest first."""
        self.sites = []
        self._gather(tree, lambda change: change, True, ())
        table: Table[Option] = self.field.table()
        options = [option for site in self.sites for option in site.options]
        for number, option in enumerate(options):
            option.number = number
            table.put(option.change, option)
        _invert(self.field, [option for option in options if option.site.parts is not None])
        pairs = [*self._apart(options, table, error), *self._nested(options, table, error), *self._together(error)]
        made = sorted(([a.make(), b.make()] for a, b in pairs[: 40 * _MOST_HITS]), key=likelihood_of_all)
        yield from made[:_MOST_HITS]

    # ------------------------------------------------------------------ all corrections of one slip

    def _gather(self, node: Node, lift: Lift, affine: bool, above: tuple[Site, ...]) -> None:
        terms = node.terms if isinstance(node, Sum) else (node,)
        here = Site(None, lift, affine, above)
        known = self.missing.values
        here.options = [Option(partial(_adding, node, term), here, None, lift(value)) for value, term in known]
        self.sites.append(here)
        for term in terms:
            if isinstance(term, Sum):
                self._gather(term, lift, affine, above)
            elif not isinstance(term, Num) or term.value != 0:
                self._gather_term(term, lift, affine, above)

    def _gather_term(self, node: Node, lift: Lift, affine: bool, above: tuple[Site, ...]) -> None:
        value = self.point.of(node)
        if self.field.is_zero(value):
            return
        site = Site(value, lift, affine, above, product(node))
        for make, ratio in self._ratios(site):
            change = lift(self.field.mul(value, self.field.sub(ratio, 1)))
            site.options.append(Option(make, site, ratio, change))
        self.sites.append(site)
        assert site.parts is not None
        for factor in site.parts.factors:
            if is_sum(factor):
                inner = self._inner(value, factor, lift)
                self._gather(factor.base, inner, affine and factor.total == 1, (*above, site))

    def _inner(self, value: Any, factor: Factor, lift: Lift) -> Lift:
        """How a change within a bracket changes the whole."""
        mul, base, total = self.field.mul, self.point.of(factor.base), factor.total
        share = self.field.inverse(base)
        if total == 1:
            scale = mul(value, share)
            return lambda change: lift(mul(change, scale))

        def through(change: Any) -> Any:
            ratio = self.field.add(1, mul(change, share))
            if self.field.is_zero(ratio) and total < 0:
                return lift(value)
            return lift(mul(value, self.field.sub(self.field.power(ratio, total), 1)))

        return through

    def _ratios(self, site: Site) -> Iterator[tuple[Make, Any]]:
        parts = site.parts
        assert parts is not None
        yield parts.removed, 0
        for number in _NUMBERS:
            yield partial(parts.scaled, number), self.field.number(number)
        for factor in parts.factors:
            yield from self._factor_ratios(parts, factor)
        for atom in self.atoms.all:
            yield partial(parts.times, atom.node), atom.value
        for one, other, nodes, ratio in swaps(parts, self.point):
            yield partial(parts.swapped, one, other, nodes), ratio

    def _factor_ratios(self, parts: Product, factor: Factor) -> Iterator[tuple[Make, Any]]:
        power, mul = self.field.power, self.field.mul
        value = self.point.of(factor.base)
        away = power(value, -factor.total)
        yield partial(parts.without, factor), away
        for step in _STEPS:
            if factor.exponent + step != 0:
                yield partial(parts.exponent, factor, factor.exponent + step), power(value, step * factor.outer)
        if is_sum(factor):
            return
        for atom, raised in self.atoms.powers(factor.total):  # a sine for a sine, a symbol for anything else
            if isinstance(atom.node, Trig if isinstance(factor.base, Trig) else Sym):
                yield partial(parts.replaced, factor, atom.node), mul(raised, away)
        if len(parts.factors) > 1 and isinstance(factor.base, Sym):
            for atom in self.atoms.symbols:  # the other term of a bracket that is gone
                wider = power(self.field.add(value, atom.value), factor.total)
                yield partial(parts.widened, factor, atom.node), mul(wider, away)

    # ------------------------------------------------------------------ pairs

    def _apart(self, options: list[Option], table: Table[Option], error: Any) -> Iterator[tuple[Option, Option]]:
        for one in options:
            for other in table.get(self.field.sub(error, one.change)):
                missing = one.site is other.site and one.site.parts is None  # two terms missing in one sum
                elsewhere = one.site is not other.site and one.site not in other.site.above
                if one.number <= other.number and (missing or elsewhere):
                    yield one, other

    def _nested(self, options: list[Option], table: Table[Option], error: Any) -> Iterator[tuple[Option, Option]]:
        holding = {id(above) for site in self.sites for above in site.above[-1:]}
        for one in options:
            if id(one.site) in holding and one.inverse is not None:
                remaining = self.field.mul(self.field.sub(error, one.change), one.inverse)
                yield from ((one, other) for other in table.get(remaining) if one.site in other.site.above)

    def _together(self, error: Any) -> Iterator[tuple[Option, Option]]:
        """Two slips in one term."""
        mul = self.field.mul
        for site in self.sites:
            if site.parts is None or not site.affine:
                continue
            ratio = self.field.add(1, mul(error, self.field.inverse(site.lift(site.value))))
            table: Table[Option] = self.field.table()
            for option in site.options:
                table.put(option.ratio, option)
            for one in site.options:
                if one.inverse is not None:
                    others = table.get(mul(ratio, one.inverse))
                    yield from ((one, other) for other in others if one.number < other.number)


def _invert(field: Field, options: Sequence[Option]) -> None:
    """The inverses of all ratios by one division: prefix products up, one inverse, and down again."""
    kept = [option for option in options if not field.is_zero(option.ratio)]
    products, running = [], field.number(_ONE)
    for option in kept:
        products.append(running)
        running = field.mul(running, option.ratio)
    if not field.exact:
        for option in kept:
            option.inverse = field.inverse(option.ratio)
        return
    below = field.inverse(running)
    for option, before in zip(reversed(kept), reversed(products)):
        option.inverse = field.mul(below, before)
        below = field.mul(below, option.ratio)

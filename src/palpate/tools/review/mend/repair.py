"""The smallest correction that makes an expression right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.points import P, Point, Space
from palpate.tools.review.algebra.tree import Name, Node, Ref, Sym, Trig, symbols, walk
from palpate.tools.review.mend.edits import COSTS, Edit, edited, likelihood_of_all
from palpate.tools.review.mend.factors import product
from palpate.tools.review.mend.slips import DoubleSlip, SingleSlip
from palpate.tools.review.mend.terms import Atoms, MissingTerm, expanded, quotient_terms, terms_of

_SEARCH, _FRESH = 10, 11  # numbers of the point of the search, and of the first that confirms what it found
_MOST_TRIED = 80
_MOST_NODES = 6_000  # symbols, numbers and operations of an expression that is still searched for slips
_MOST_OPTIONS = 120_000  # single corrections that are still combined in pairs
_MOST_WORK = 3_000_000  # nodes that a search throughout may evaluate
_MOST_DEGREE = 4  # of an expression in one of its symbols, where a few values give it for all


@dataclass(frozen=True)
class Repair:
    """The corrections, and the expression they make.

    Attributes:
        edits: one or two corrections.
        mended: the corrected expression.
        cost: what the slips cost (see `edits.COSTS`).
    """

    edits: tuple[Edit, ...]
    mended: Node

    @property
    def cost(self) -> float:
        """The sum of the slips' costs."""
        return sum(COSTS[edit.kind] for edit in self.edits)


class Repairer:
    """Searches one expression for slips.

    Args:
        tree: the expression as given.
        wanted: what it should be.
        space: where points come from.
        table: the symbols in use.
        others: further expressions whose symbols and terms may be meant, such as the reference.
    """

    def __init__(self, tree: Node, wanted: Node, space: Space, table: SymbolTable, others: Sequence[Node]) -> None:
        self.tree, self.wanted, self.space, self.table = tree, wanted, space, table
        self.size = sum(1 for _ in islice(walk(tree), _MOST_NODES + 1))
        self.point, self.error = self._start()
        if self.size > _MOST_NODES:
            return
        self.atoms = Atoms(self.point, [tree, *others], table)
        terms = [term for other in others for term in (*terms_of(other), *expanded(other))]
        known = [term for term in terms if not self._has_foreign_names(term)]
        self.missing = MissingTerm(self.atoms, [*known, *terms_of(tree)], self._error)
        self.search = SingleSlip(self.missing)

    def _has_foreign_names(self, term: Node) -> bool:
        """Whether a term is written with intermediate symbols of the reference, which the writer does not know."""
        return any(isinstance(node, Ref) and node.name not in self.table.definitions for node in walk(term))

    def _start(self) -> tuple[Point, Any]:
        for number in range(_SEARCH, _SEARCH + 4000, 50):
            try:
                point = self.space.point(number)
                return point, self._error(point)
            except UnluckyPoint:
                continue
        raise UnluckyPoint("no point at which the expression has a value")

    def _error(self, point: Point) -> Any:
        return self.space.field.sub(point.of(self.wanted), point.of(self.tree))

    def best(self) -> Repair | None:
        """The cheapest correction found, or None."""
        searches = (self._one, self._lost, self._throughout, self._multiplied, self._two)
        for search in searches if self.size <= _MOST_NODES else ():
            for edits in search():
                if made := self._confirmed(edits):
                    return made
        return None

    def _one(self) -> Iterator[list[Edit]]:
        edits = [*self.search.edits(self.tree, self.error), *self._in_definitions()]
        yield from sorted(([edit] for edit in edits), key=likelihood_of_all)

    def _lost(self) -> Iterator[list[Edit]]:
        """A lost term that is none of the reference's, because that is written otherwise."""
        edits = self.search.edits(self.tree, self.error, thorough=True)
        yield from ([edit] for edit in edits if edit.kind == "missing term")

    def _multiplied(self) -> Iterator[list[Edit]]:
        """A product of several symbols lost from the whole expression."""
        with suppress(UnluckyPoint):
            terms = quotient_terms(self.atoms, self.wanted, self.tree)
            yield from ([product(self.tree).times(term)] for term in terms)

    def _two(self) -> Iterator[list[Edit]]:
        factors = sum(isinstance(node, Sym | Trig) for node in walk(self.tree))
        if factors * len(self.atoms.all) > _MOST_OPTIONS:
            return
        search = DoubleSlip(self.missing)
        edit_pairs = list(search.edits(self.tree, self.error))
        for bracket, error in self.search.brackets(self.tree, self.error):
            edit_pairs += search.edits(bracket, error)  # two slips under one square do not add up in the whole
        yield from sorted(edit_pairs, key=likelihood_of_all)[:_MOST_TRIED]

    # ------------------------------------------------------------------ slips that show in several places

    def _in_definitions(self) -> Iterator[Edit]:
        """A slip in the definition of a name such as σ1, which may stand in several places."""
        bodies = {id(node.body): node for node in walk(self.tree) if isinstance(node, Ref)}
        for node in bodies.values():
            for error in self._needed(node.body):
                location = f"in the definition of {node.name}"
                yield from (replace(edit, where=location) for edit in self.search.edits(node.body, error))

    def _needed(self, body: Node) -> list[Any]:
        """By how much a definition's value would have to change: f₁ h + f₂ h² = error, with f of at most degree 2."""
        field, value = self.point.field, self.point.of(body)
        start = self.point.of(self.tree)

        def risen(step: int) -> Any:
            point = self.point.with_body(body, field.add(value, field.number(Fraction(step))))
            return field.sub(point.of(self.tree), start)

        one, two, three = (risen(step) for step in (1, 2, 3))
        half = field.number(Fraction(1, 2))
        square = field.mul(field.sub(two, field.mul(2, one)), half)
        slope = field.sub(one, square)
        if not field.equal(three, field.add(field.mul(3, slope), field.mul(9, square))):
            return []
        if field.is_zero(square):
            return [] if field.is_zero(slope) else [field.mul(self.error, field.inverse(slope))]
        return self._quadratic(square, slope)

    def _quadratic(self, square: Any, slope: Any) -> list[Any]:
        field = self.point.field
        inside = field.add(field.mul(slope, slope), field.mul(4, field.mul(square, self.error)))
        try:
            root = field.power(inside, Fraction(1, 2))
        except UnluckyPoint:
            return []
        below = field.inverse(field.mul(2, square))
        return [field.mul(field.sub(sign, slope), below) for sign in (root, field.sub(0, root))]

    def _throughout(self) -> Iterator[list[Edit]]:
        """One symbol that stands for another everywhere."""
        size = sum(1 for _ in walk(self.tree))
        few = size * len(symbols(self.tree)) * len(self.atoms.symbols) > _MOST_WORK
        places: dict[Name, list[Sym]] = {}
        for node in walk(self.tree):
            if isinstance(node, Sym):
                places.setdefault(node.name, []).append(node)
        for old, occurrences in sorted(places.items()):
            others = [one for one in self.atoms.symbols if isinstance(one.node, Sym) and one.node.name != old]
            others = [one for one in others if not few or one.node.name.base == old.base]  # type: ignore[union-attr]
            if len(occurrences) < 2 or not others:
                continue
            fits = self._is_right_with(old)
            for atom in others:
                if fits(atom.value):
                    changes: dict[int, Node] = {id(node): atom.node for node in occurrences}
                    yield [Edit("wrong symbol throughout", occurrences[0], changes, {}, occurrences[0].span)]

    def _is_right_with(self, old: Name) -> Callable[[Any], bool]:
        """A test whether the expression has the wanted value where a symbol has another one.

        An expression is mostly a polynomial of low degree in each of its symbols: a few values give it for all.
        """
        field, wanted = self.point.field, self.point.of(self.wanted)

        def value(at: Any) -> Any:
            return self.point.with_values({old: at}).of(self.tree)

        def directly(at: Any) -> bool:
            with suppress(UnluckyPoint):
                return field.equal(value(at), wanted)
            return False

        try:
            slopes = _newton(value) if field.exact else None
        except UnluckyPoint:
            slopes = None
        if slopes is None:
            return directly
        return lambda at: field.equal(_at(slopes, at), wanted)

    # ------------------------------------------------------------------ confirming

    def _confirmed(self, edits: list[Edit]) -> Repair | None:
        """The repair, if it is right at fresh points too."""
        mended = edited(self.tree, edits)
        with suppress(DoesNotFit):
            if self.space.agree(mended, self.wanted, _FRESH):
                return Repair(tuple(edits), mended)
        return None


def _newton(value: Callable[[Any], Any]) -> list[int] | None:
    """Newton's coefficients of a polynomial from its values at 0, 1, …; None if its degree is too large."""
    values = [value(step) % P for step in range(_MOST_DEGREE + 2)]
    slopes = [values[0]]
    for step in range(1, len(values)):
        inverse = pow(step, -1, P)
        values = [(b - a) * inverse % P for a, b in pairwise(values)]
        slopes.append(values[0])
    return slopes[:-1] if slopes[-1] == 0 else None


def _at(slopes: list[int], at: int) -> int:
    """The value of a polynomial by Newton's coefficients."""
    total = 0
    for step, slope in reversed(list(enumerate(slopes))):
        total = (total * (at - step) + slope) % P
    return total

"""A given matrix beside the one wanted: which entries differ, and whether the difference is one at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.points import MOST_POINTS, POINTS, Modular, Point, Real, Space
from palpate.tools.review.algebra.tree import Grid, Name, Node, Prod, Sym
from palpate.tools.review.algebra.wanted import Selection, fitting_selections, quantity
from palpate.tools.review.compare.case import Case, Claim
from palpate.tools.review.compare.conventions import Convention, EntryIndex, conventions, rewritten
from palpate.tools.review.compare.rounding import decimal_numbers, within_rounding
from palpate.tools.review.mend.terms import Atoms, quotient_terms

_DIGITS = 50
_LARGE = 10_000  # nodes; larger entries are all compared last


@dataclass(eq=False)
class MatrixComparison:
    """A given matrix and what is wanted in its place.

    Attributes:
        given: what is compared, entry by entry.
        whole: the whole quantity.
        selection: the part of it that is given.
        wanted: that part.
        space: where points come from.
        differing: the entries that differ.
        notes: how shapes were read.
        method: the arithmetic, in words.
    """

    case: Case
    given: Grid
    whole: Grid
    selection: Selection
    wanted: Grid
    space: Space
    method: str
    notes: list[str] = field(default_factory=list)
    differing: list[EntryIndex] = field(default_factory=list)
    single: bool = False  # one entry of a larger quantity, which alone shows no convention
    others: list[MatrixComparison] = field(default_factory=list)  # with other parts of the quantity that have its shape

    # ------------------------------------------------------------------ differences that are none

    def agrees_to_the_digits(self) -> bool:
        """Whether every difference is below what rounding the printed decimals can cause."""
        trees = [self.given[index] for index in self.differing]
        if not all(decimal_numbers(tree) for tree in trees):
            return False
        space = Space(Real(_DIGITS), [], self.space.signed)
        return all(within_rounding(space, self.given[index], self.wanted[index]) for index in self.differing)

    def same_forces(self) -> bool:
        """Whether C q̇ agrees, row by row, though C does not."""
        n, names = self.given.shape[0], self.case.table.coordinates
        if not self.given.shape == (n, n) == (len(names), len(names)):
            return False
        return all(
            self.space.field.equal(*self._forces(row, self.space.point(number)))
            for number in range(POINTS)
            for row in range(n)
        )

    def _forces(self, row: int, point: Point) -> tuple[Any, Any]:
        """Σ_j C_ij q̇_j, given and wanted."""
        mul, add = self.space.field.mul, self.space.field.add
        mine = right = self.space.field.number(Fraction(0))
        for column, name in enumerate(self.case.table.coordinates):
            speed = point.value(name._replace(dots=1))
            mine = add(mine, mul(point.of(self.given[row, column]), speed))
            right = add(right, mul(point.of(self.wanted[row, column]), speed))
        return mine, right

    def differs_by_a_constant(self) -> bool:
        """Whether the difference does not depend on the coordinates."""
        moving = {name._replace(dots=dots) for name in self.case.table.coordinates for dots in range(3)}
        return all(self._is_constant(index, moving) for index in self.differing)

    def _is_constant(self, index: EntryIndex, moving: set[Name]) -> bool:
        try:
            start = self.space.point(0)
            first = self._error(index, start)
            still = {name: value for name, value in start.values.items() if name not in moving}
            return all(
                self.space.field.equal(self._error(index, Point(self.space, f"moved {number}", still)), first)
                for number in range(POINTS)
            )
        except UnluckyPoint:
            return False

    def _error(self, index: EntryIndex, point: Point) -> Any:
        return self.space.field.sub(point.of(self.given[index]), point.of(self.wanted[index]))

    def conventions(self) -> Iterator[Convention]:
        """The conventions that there may be, the commonest first."""
        reference = self.given if self.whole.is_numeric else self.whole
        return conventions(reference, self.case.what, self.case.table.coordinates)

    def other_conventions(self) -> Iterator[Convention]:
        """Other conventions in which everything agrees."""
        return (change for change in self.conventions() if self.agrees_in(change))

    @property
    def alone(self) -> bool:
        """Whether one of many entries differs: rather a slip than a convention, which would show in more."""
        return len(self.differing) == 1 and sum(not algebra.is_number(node, 0) for _, node in self.given.entries()) > 2

    def agrees_in(self, change: Convention) -> bool:
        """Whether everything agrees in another convention, be it with another part of the quantity."""
        return any(one._agrees_in(change) for one in (self, *self.others))

    def _agrees_in(self, change: Convention) -> bool:
        wanted = rewritten(self.whole, self.case.what, change, self.case.table.coordinates)
        indices = sorted((index for index, _ in self.given.entries()), key=self._size)
        try:
            return all(self._is(index, wanted(self.selection.index(*index))) for index in indices)
        except DoesNotFit:  # an angle that this change cuts into unknown parts
            return False

    def _is(self, index: EntryIndex, wanted: Node) -> bool:
        node = self.given[index]
        opposite = self.case.what == "equation"
        return self.space.agree(node, wanted) or (opposite and self.space.agree(node, algebra.Neg(wanted)))

    def _size(self, index: EntryIndex) -> int:
        return sum(1 for _ in islice(algebra.walk(self.given[index]), _LARGE))

    def in_convention(self, change: Convention) -> MatrixComparison:
        """The same comparison with what is wanted written in another convention; with the part that fits best there."""
        return _best([one._in_convention(change) for one in (self, *self.others)])

    def _in_convention(self, change: Convention) -> MatrixComparison:
        entry = rewritten(self.whole, self.case.what, change, self.case.table.coordinates)
        rows, columns = self.whole.shape
        whole = Grid(tuple(tuple(entry((i, j)) for j in range(columns)) for i in range(rows)))
        wanted = self.selection.part(whole)
        return replace(
            self,
            whole=whole,
            wanted=wanted,
            notes=list(self.notes),
            differing=differing(self.given, wanted, self.space),
        )

    def multiples(self) -> list[Node] | None:
        """For every equation the number or product that it is a multiple by; None if one is no multiple."""
        factors: list[Node] = []
        for index, node in self.given.entries():
            tree = self.wanted.expression(index)
            factor = None if tree is None else _multiple(self, node, tree)
            if factor is None:
                return None
            factors.append(factor)
        return factors


def compare_matrices(case: Case, claim: Claim, seed: int) -> MatrixComparison:
    """Compare what is given with what is wanted, in the shape that fits best."""
    given, whole, notes = claim.value, case.wanted, []
    if claim.selection is None:
        given, whole, notes = _coriolis(case, _all_zeros(given, whole))
    comparisons: list[MatrixComparison] = []
    selections = [claim.selection] if claim.selection else fitting_selections(given.shape, whole.shape, case.what)
    for selection in selections:
        comparisons.append(_in_field(case, given, whole, selection, seed))
        comparisons[-1].notes = [*notes, selection.words] if selection.words else notes
    best = _best(comparisons)
    best.single = claim.selection is not None
    best.others = [one for one in comparisons if one is not best]
    if case.what == "M" and best.differing:
        best.notes += _asymmetry(best)
    return best


def _best(comparisons: list[MatrixComparison]) -> MatrixComparison:
    """The one with the fewest entries that differ; of several, the likest."""
    return min(comparisons, key=lambda one: (len(one.differing), _unlikeness(one)))


def _unlikeness(one: MatrixComparison) -> int:
    """How many symbols only one side has: of several equations that could be meant, the likest is."""
    given = set().union(*(algebra.symbols(node) for _, node in one.given.entries()))
    wanted = set().union(*(algebra.symbols(node) for _, node in one.wanted.entries()))
    return len(given ^ wanted)


def _all_zeros(given: Grid, wanted: Grid) -> Grid:
    """A lone 0 stands for a vector or matrix of zeros."""
    rows, columns = wanted.shape
    lone = given.shape == (1, 1) != wanted.shape and algebra.is_number(given.rows[0][0], 0)
    return Grid((given.rows[0] * columns,) * rows) if lone else given


def _coriolis(case: Case, given: Grid) -> tuple[Grid, Grid, list[str]]:
    """C given as a vector C q̇, or wanted as one."""
    wanted = case.wanted
    n = len(case.table.coordinates)
    if case.what not in ("C", "c") or n < 2 or wanted.is_numeric:
        return given, wanted, []
    rates = algebra.grid([[Sym(name._replace(dots=1))] for name in case.table.coordinates])
    if given.shape == (n, 1) and wanted.shape == (n, n):
        return given, algebra.as_grid(algebra.times(wanted, rates)), ["a vector: compared with C q̇"]
    if given.shape == (n, n) and wanted.shape == (n, 1):
        return algebra.as_grid(algebra.times(given, rates)), wanted, ["C q̇ is compared: the reference is a vector"]
    return given, wanted, []


def _in_field(case: Case, given: Grid, whole: Grid, selection: Selection, seed: int) -> MatrixComparison:
    """Compare exactly, or in floats where the expressions do not fit."""
    wanted = selection.part(whole)
    trees = [node for _, node in (*given.entries(), *wanted.entries())]
    signed = {name._replace(dots=dots) for name in case.table.coordinates for dots in range(4)}
    reason = ""
    for field_ in [case.field] + ([Real(_DIGITS)] if isinstance(case.field, Modular) else []):
        try:
            space = Space(field_, trees, signed, seed)
            mismatches = differing(given, wanted, space)
        except DoesNotFit as error:
            reason = str(error)
            continue
        method = field_.words + (f", because of {reason}" if field_ is not case.field else "")
        return MatrixComparison(case, given, whole, selection, wanted, space, method, differing=mismatches)
    raise DoesNotFit(f"{quantity(case.what).title} has no value that could be compared: {reason}")


def differing(given: Grid, wanted: Grid, space: Space) -> list[EntryIndex]:
    """The entries that differ at one of several random points."""
    return [index for index, node in given.entries() if not space.agree(node, wanted[index])]


def _asymmetry(one: MatrixComparison) -> list[str]:
    n = one.given.shape[0]
    if one.given.shape != (n, n):
        return []
    mirrored = differing(one.given, one.given.transposed(), one.space)
    return [f"M is not symmetric: ({i + 1},{j + 1}) ≠ ({j + 1},{i + 1})" for i, j in mirrored if i < j]


def _multiple(one: MatrixComparison, given: Node, wanted: Node) -> Node | None:
    for number in range(MOST_POINTS):
        try:
            point = one.space.point(number)
            terms = quotient_terms(Atoms(point, [given, wanted], one.case.table), given, wanted)
        except UnluckyPoint:
            continue
        return next((term for term in terms if one.space.agree(Prod((term, wanted)), given, number + 1)), None)
    return None

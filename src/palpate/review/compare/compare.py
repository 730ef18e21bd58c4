"""A given matrix beside the one wanted: which entries differ, and whether the difference is one at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, TypeAlias

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.review.algebra import tree as algebra
from palpate.review.algebra.points import MOST_POINTS, POINTS, Modular, Point, Real, Space
from palpate.review.algebra.tree import Grid, Name, Node, Num, Prod, Sym
from palpate.review.algebra.wanted import fitting, quantity
from palpate.review.compare.case import Case
from palpate.review.mend.terms import Atoms, quotient_terms

EntryIndex: TypeAlias = tuple[int, int]

_DIGITS = 50


@dataclass
class MatrixComparison:
    """A given matrix and what is wanted in its place.

    Attributes:
        given: what is compared, entry by entry.
        wanted: with what.
        space: where points come from.
        differing: the entries that differ.
        notes: how shapes were read.
        method: the arithmetic, in words.
    """

    case: Case
    given: Grid
    wanted: Grid
    space: Space
    method: str
    notes: list[str] = field(default_factory=list)
    differing: list[EntryIndex] = field(default_factory=list)

    # ------------------------------------------------------------------ differences that are none

    def agrees_to_the_digits(self) -> bool:
        """Whether every difference is below what rounding the printed decimals can cause."""
        trees = [self.given[index] for index in self.differing]
        if not all(_decimals(tree) for tree in trees):
            return False
        space = Space(Real(_DIGITS), [], self.space.signed)
        return all(_within_rounding(space, self.given[index], self.wanted[index]) for index in self.differing)

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

    def convention(self) -> str:
        """The name of another convention in which everything agrees, or ""."""
        case, grid_ = self.case, self.given if self.wanted.is_numeric else self.wanted
        indices = sorted((index for index, _ in self.given.entries()), key=self._size)
        points = [self.space.point(number) for number in range(POINTS)]
        for change in conventions(grid_, case.what, case.table.coordinates):
            try:
                if all(self._agrees_in(change, point, indices) for point in points):
                    return change.name
            except (UnluckyPoint, DoesNotFit):  # an angle that this change cuts into unknown parts
                continue
        return ""

    @property
    def alone(self) -> bool:
        """Whether one of many entries differs: rather a slip than a convention, which would show in more."""
        return len(self.differing) == 1 and sum(not algebra.is_number(node, 0) for _, node in self.given.entries()) > 2

    def _size(self, index: EntryIndex) -> int:
        return sum(1 for _ in algebra.walk(self.given[index]))

    def _agrees_in(self, change: Convention, point: Point, indices: list[EntryIndex]) -> bool:
        what, field_ = self.case.what, self.space.field
        moved = point.moved(self.case.table.coordinates, change.S, change.quarters, change.reversed_symbol)
        other = _rewritten(self.wanted, what, change, point, moved)
        for index in indices:
            mine, right = point.of(self.given[index]), other(index)
            opposite = what == "equation" and field_.equal(mine, field_.sub(0, right))
            if not field_.equal(mine, right) and not opposite:
                return False
        return True

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


def compared(case: Case, given: Grid, seed: int) -> MatrixComparison:
    """Compare what is given with what is wanted, in the shape that fits best."""
    given, wanted, notes = _coriolis(case, _all_zeros(given, case.wanted))
    comparisons: list[MatrixComparison] = []
    for words, part in fitting(given.shape, wanted, case.what):
        comparisons.append(_in_field(case, given, part, seed))
        comparisons[-1].notes = [*notes, words] if words else notes
    best = min(comparisons, key=lambda one: (len(one.differing), _unlikeness(one)))
    if case.what == "M" and best.differing:
        best.notes += _asymmetry(best)
    return best


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


def _in_field(case: Case, given: Grid, wanted: Grid, seed: int) -> MatrixComparison:
    """Compare exactly, or in floats where the expressions do not fit."""
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
        return MatrixComparison(case, given, wanted, space, method, differing=mismatches)
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


# ------------------------------------------------------------------ equations, decimals


def _multiple(one: MatrixComparison, given: Node, wanted: Node) -> Node | None:
    for number in range(MOST_POINTS):
        try:
            point = one.space.point(number)
            terms = quotient_terms(Atoms(point, [given, wanted], one.case.table), given, wanted)
        except UnluckyPoint:
            continue
        return next((term for term in terms if one.space.agree(Prod((term, wanted)), given, number + 1)), None)
    return None


def _decimals(tree: Node) -> list[Num]:
    """Numbers that may be rounded: printed with at least three decimals."""
    return [node for node in algebra.walk(tree) if isinstance(node, Num) and (node.decimals or 0) > 2]


def _within_rounding(space: Space, tree: Node, wanted: Node) -> bool:
    """Whether moving each decimal by half a unit of its last digit can make up for the difference."""
    for number in range(POINTS):
        try:
            point = space.point(number)
            value = point.of(tree)
            slack = 0
            for one in _decimals(tree):
                half = Fraction(1, 2 * 10 ** (one.decimals or 0))
                slack += abs(point.of(algebra.rewrite(tree, {id(one): Num(one.value + half)})) - value)
            if abs(value - point.of(wanted)) > slack * 1.001:
                return False
        except (UnluckyPoint, DoesNotFit):
            return False
    return True


# ------------------------------------------------------------------ other conventions

Matrix: TypeAlias = tuple[tuple[int, ...], ...]

_SIDES = {1: "the y axis", 2: "the opposite direction", 3: "the negative y axis"}


@dataclass(frozen=True)
class Convention:
    """Another way to write the same, and so no error: q = S θ + quarters · π/2 on the first joint, or opposite signs.

    If q = S θ + const, then M(θ) = Sᵀ M S, C = Sᵀ C S, g = Sᵀ g, τ = Sᵀ τ, J = J S, and energies stay as they are.

    Attributes:
        name: in words.
        S: how the coordinates q follow from the writer's θ.
        quarters: by how many right angles the first joint's zero is rotated.
        minus: whether everything has the opposite sign.
        reversed_symbol: a symbol that is counted in the opposite direction.
    """

    name: str
    S: Matrix
    quarters: int = 0
    minus: bool = False
    reversed_symbol: Name | None = None


def conventions(reference: Grid, what: str, coordinates: Sequence[Name]) -> Iterator[Convention]:
    """Other conventions, the commonest first."""
    if what == "expression":
        return
    same = _diagonal([1] * len(coordinates))
    if what in ("g", "tau", "c"):
        yield Convention("it stands on the other side of the equation (opposite sign throughout)", same, minus=True)
    for name in sorted({name for _, entry in reference.entries() for name in algebra.symbols(entry)}):
        if name.base in ("g", "G") and not name.dots:
            yield Convention(f"{name} is counted in the opposite direction", same, reversed_symbol=name)
    for change in _changes(reference, coordinates):
        yield change
        if what == "g":
            yield replace(change, name=f"{change.name}, and on the other side of the equation", minus=True)


def _changes(reference: Grid, coordinates: Sequence[Name]) -> Iterator[Convention]:
    n = len(coordinates)
    if not n:
        return
    turning = reference.angular()
    same, backwards = _diagonal([1] * n), _diagonal([-1] * n)
    quarters = (1, 3, 2) if coordinates[0] in turning else ()
    for count in quarters:
        yield Convention(f"{coordinates[0]} is measured from {_SIDES[count]}", same, count)
    yield Convention("the opposite sense of rotation" if turning else "the opposite directions", backwards)
    for count in quarters:
        name = f"{coordinates[0]} is measured from {_SIDES[count]}, in the opposite sense of rotation"
        yield Convention(name, backwards, count)
    if 1 < n <= 3:
        yield from _single_joints(coordinates)
    if n > 1:
        yield from _absolute(n, bool(quarters))


def _single_joints(coordinates: Sequence[Name]) -> Iterator[Convention]:
    for signs in product((1, -1), repeat=len(coordinates)):
        reversed_joints = [str(name) for name, sign in zip(coordinates, signs) if sign < 0]
        if 0 < len(reversed_joints) < len(coordinates):
            yield Convention(f"{' and '.join(reversed_joints)} in the opposite sense", _diagonal(signs))


def _absolute(n: int, quarters: bool) -> Iterator[Convention]:
    """θ_i = q_1 + … + q_i, so q_i = θ_i − θ_{i−1}."""
    S = tuple(tuple(1 if j == i else -1 if j == i - 1 else 0 for j in range(n)) for i in range(n))
    yield Convention("angles are measured from the base, not from the link before", S)
    for count in (1, 3) if quarters else ():
        yield Convention(f"all angles are measured from {_SIDES[count]}, not from the link before", S, count)


def _diagonal(signs: Sequence[int]) -> Matrix:
    return tuple(tuple(sign if i == j else 0 for j in range(len(signs))) for i, sign in enumerate(signs))


def _rewritten(wanted: Grid, what: str, change: Convention, point: Point, moved: Point) -> Callable[[EntryIndex], Any]:
    """The entries (Sᵀ X S)_ij in another convention, with X at q = S θ + const, the point `moved`."""
    kind, S, field_ = quantity(what), change.S, point.field
    left, right = kind.left and wanted.shape[0] == len(S), kind.right and wanted.shape[1] == len(S)
    entry = cache(lambda i, j: moved.of(wanted[i, j]))

    def at(index: EntryIndex) -> Any:
        total = field_.number(Fraction(0))
        rows = [(k, S[k][index[0]]) for k in range(len(S))] if left else [(index[0], 1)]
        columns = [(k, S[k][index[1]]) for k in range(len(S))] if right else [(index[1], 1)]
        for (i, a), (j, b) in product(rows, columns):
            if a * b:
                total = field_.add(total, field_.mul(a * b, entry(i, j)))
        return field_.sub(0, total) if change.minus else total

    return at

"""A given matrix beside the one wanted: which entries differ, and whether the difference is one at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from palpate.derive.checking.atoms import Atoms
from palpate.derive.checking.case import Case
from palpate.derive.checking.conventions import conventions
from palpate.derive.checking.fields import Field, Modular, Real
from palpate.derive.checking.grid import Grid, as_grid, grid, times
from palpate.derive.checking.missing import MissingTerm
from palpate.derive.checking.points import Point, Space
from palpate.derive.checking.quantities import quantity
from palpate.derive.checking.tree import Name, Node, Num, Sym, rewrite, symbols, walk
from palpate.derive.checking.wanted import Symbolic, Wanted, fitting
from palpate.errors import DoesNotFit, UnluckyPoint

Place: TypeAlias = tuple[int, int]

_POINTS, _MOST = 2, 400  # points at which entries must agree, and how many may be tried to find them
_DIGITS = 50


@dataclass
class Comparison:
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
    wanted: Wanted
    space: Space
    method: str
    notes: list[str] = field(default_factory=list)
    differing: list[Place] = field(default_factory=list)

    # ------------------------------------------------------------------ differences that are none

    def agrees_to_the_digits(self) -> bool:
        """Whether every difference is below what rounding the printed decimals can cause."""
        trees = [self.given.rows[i][j] for i, j in self.differing]
        if not all(_decimals(tree) for tree in trees):
            return False
        space = Space(Real(_DIGITS), [], self.space.signed)
        return all(_within_rounding(space, tree, self.wanted, place) for tree, place in zip(trees, self.differing))

    def same_forces(self) -> bool:
        """Whether C q̇ agrees, row by row, though C does not."""
        if self.given.shape[0] != self.given.shape[1] or not isinstance(self.wanted, Symbolic):
            return self._same_numeric_forces()
        rates = self._rates()
        if rates is None:
            return False
        given, wanted = (as_grid(times(C, rates)) for C in (self.given, self.wanted.grid))
        return not differing(given, Symbolic(wanted), self.space)

    def _rates(self) -> Grid | None:
        names = self.case.table.coordinates
        return grid([[Sym(name._replace(dots=1))] for name in names]) if len(names) == self.given.shape[1] else None

    def _same_numeric_forces(self) -> bool:
        rates = self._rates()
        if rates is None or self.given.shape != self.wanted.shape:
            return False
        n = self.given.shape[0]
        for number in range(_POINTS):
            point = self.space.point(number)
            speeds = [point.of(row[0]) for row in rates.rows]
            for i in range(n):
                mine = sum(point.of(self.given.rows[i][j]) * speeds[j] for j in range(n))
                right = sum(self.wanted.at((i, j), point) * speeds[j] for j in range(n))
                if not self.space.field.equal(mine, right):
                    return False
        return True

    def differs_by_a_constant(self) -> bool:
        """Whether the difference does not depend on the coordinates."""
        moving = {name._replace(dots=dots) for name in self.case.table.coordinates for dots in range(3)}
        return all(self._is_constant(place, moving) for place in self.differing)

    def _is_constant(self, place: Place, moving: set[Name]) -> bool:
        try:
            start = self.space.point(0)
            first = self._error(place, start)
            still = {name: value for name, value in start.values.items() if name not in moving}
            return all(
                self.space.field.equal(self._error(place, Point(self.space, f"moved {number}", still)), first)
                for number in range(_POINTS)
            )
        except UnluckyPoint:
            return False

    def _error(self, place: Place, point: Point) -> Any:
        return self.space.field.sub(point.of(self.given.rows[place[0]][place[1]]), self.wanted.at(place, point))

    def convention(self) -> str:
        """The name of another convention in which everything agrees, or ""."""
        if not isinstance(self.wanted, Symbolic):
            return self._numeric_sign()
        kind = quantity(self.case.what)
        for other in conventions(self.wanted.grid, kind, self.case.what, self.case.table.coordinates):
            if other.reference.shape == self.given.shape and self._agrees_with(other.reference):
                return other.name
        return ""

    def _agrees_with(self, reference: Grid) -> bool:
        if differing(self.given, Symbolic(reference), self.space):
            return self.case.what == "equation" and _multiples(self, Symbolic(reference)) is not None
        return True

    def _numeric_sign(self) -> str:
        if self.case.what not in ("g", "c", "tau"):
            return ""
        field = self.space.field
        for number in range(_POINTS):
            point = self.space.point(number)
            for (i, j), node in self.given.entries():
                if not field.is_zero(field.add(point.of(node), self.wanted.at((i, j), point))):
                    return ""
        return "it stands on the other side of the equation (opposite sign throughout)"

    def multiples(self) -> list[Node] | None:
        """The factors by which equations differ from the wanted ones, if that is all that differs."""
        return _multiples(self, self.wanted)


def compared(case: Case, given: Grid, seed: int) -> Comparison:
    """Compare what is given with what is wanted, in the shape that fits best."""
    given, wanted, notes = _coriolis(case, given)
    best: Comparison | None = None
    for words, part in fitting(given.shape, wanted, case.what):
        one = _in_field(case, given, part, seed)
        one.notes = [*notes, words] if words else notes
        if best is None or len(one.differing) < len(best.differing):
            best = one
    assert best is not None
    if case.what == "M" and best.differing:
        best.notes += _asymmetry(best)
    return best


def _coriolis(case: Case, given: Grid) -> tuple[Grid, Wanted, list[str]]:
    """C given as a vector C q̇, or wanted as one."""
    wanted = case.wanted
    n = len(case.table.coordinates)
    if case.what not in ("C", "c") or n < 2 or not isinstance(wanted, Symbolic):
        return given, wanted, []
    rates = grid([[Sym(name._replace(dots=1))] for name in case.table.coordinates])
    if given.shape == (n, 1) and wanted.shape == (n, n):
        return given, Symbolic(as_grid(times(wanted.grid, rates))), ["a vector: compared with C q̇"]
    if given.shape == (n, n) and wanted.shape == (n, 1):
        return as_grid(times(given, rates)), wanted, ["C q̇ is compared: the reference is a vector"]
    return given, wanted, []


def _in_field(case: Case, given: Grid, wanted: Wanted, seed: int) -> Comparison:
    """Compare exactly, or in floats where the expressions do not fit."""
    trees = [node for _, node in given.entries()]
    trees += [tree for place, _ in given.entries() if (tree := wanted.tree(place)) is not None]
    signed = {name._replace(dots=dots) for name in case.table.coordinates for dots in range(4)}
    for field_ in [case.field] + ([Real(_DIGITS)] if isinstance(case.field, Modular) else []):
        try:
            space = Space(field_, trees, signed, seed)
            found = differing(given, wanted, space)
        except DoesNotFit as error:
            reason = str(error)
            continue
        method = _method(field_) + (f", because of {reason}" if field_ is not case.field else "")
        return Comparison(case, given, wanted, space, method, differing=found)
    raise DoesNotFit(f"{quantity(case.what).title} has no value that could be compared: {reason}")


def _method(field_: Field) -> str:
    if isinstance(field_, Modular):
        return "exactly, modulo a prime of 127 bits"
    digits = getattr(field_, "functions", None)
    return f"in floats of {_DIGITS} digits" if hasattr(digits, "dps") else "in floats, to 1e-9"


def differing(given: Grid, wanted: Wanted, space: Space) -> list[Place]:
    """The entries that differ at one of several random points."""
    points: list[Point] = []
    return [place for place, node in given.entries() if not _agrees(node, wanted, place, space, points)]


def _agrees(node: Node, wanted: Wanted, place: Place, space: Space, points: list[Point]) -> bool:
    passed = 0
    for number in range(_MOST):
        if number == len(points):
            points.append(space.point(number))
        try:
            if not space.field.equal(points[number].of(node), wanted.at(place, points[number])):
                return False
        except UnluckyPoint:
            continue
        passed += 1
        if passed == _POINTS:
            return True
    raise DoesNotFit("roots or divisions that hardly any random point allows")


def _asymmetry(one: Comparison) -> list[str]:
    n = one.given.shape[0]
    if one.given.shape != (n, n):
        return []
    mirrored = differing(one.given, Symbolic(one.given.transposed()), one.space)
    return [f"M is not symmetric: ({i + 1},{j + 1}) ≠ ({j + 1},{i + 1})" for i, j in mirrored if i < j]


# ------------------------------------------------------------------ equations, decimals


def _multiples(one: Comparison, wanted: Wanted) -> list[Node] | None:
    """For every equation the number or product that it is a multiple by; None if one is no multiple."""
    found: list[Node] = []
    for place, node in one.given.entries():
        tree = wanted.tree(place)
        factor = None if tree is None else _multiple(one, node, tree)
        if factor is None:
            return None
        found.append(factor)
    return found


def _multiple(one: Comparison, given: Node, wanted: Node) -> Node | None:
    space, field_ = one.space, one.space.field

    def ratio(point: Point) -> Any:
        return field_.mul(point.of(given), field_.inverse(point.of(wanted)))

    for point in _usable(space, ratio):
        atoms = Atoms(point, [given, wanted], one.case.table)
        terms = MissingTerm(point, atoms, [], ratio).terms(ratio(point), ())
        return next((term for term in terms if _holds(space, term, ratio)), None)
    return None


def _usable(space: Space, function: Any) -> Iterator[Point]:
    for number in range(_MOST):
        point = space.point(number)
        try:
            function(point)
        except UnluckyPoint:
            continue
        yield point


def _holds(space: Space, term: Node, ratio: Any) -> bool:
    points = _usable(space, ratio)
    next(points)
    return all(space.field.equal(point.of(term), ratio(point)) for point in (next(points), next(points)))


def _decimals(tree: Node) -> list[Num]:
    """Numbers that may be rounded: printed with at least three decimals."""
    return [node for node in walk(tree) if isinstance(node, Num) and node.decimals is not None and node.decimals > 2]


def _within_rounding(space: Space, tree: Node, wanted: Wanted, place: Place) -> bool:
    """Whether moving each decimal by half a unit of its last digit can make up for the difference."""
    for number in range(_POINTS):
        try:
            point = space.point(number)
            value = point.of(tree)
            slack = 0
            for one in _decimals(tree):
                half = Fraction(1, 2 * 10 ** (one.decimals or 0))
                slack += abs(point.of(rewrite(tree, {id(one): Num(one.value + half)})) - value)
            if abs(value - wanted.at(place, point)) > slack * 1.001:
                return False
        except (UnluckyPoint, DoesNotFit):
            return False
    return True


def names_of(one: Comparison, place: Place) -> list[Name]:
    """The symbols of an entry, given and wanted."""
    tree = one.wanted.tree(place)
    found = symbols(one.given.rows[place[0]][place[1]]) | (symbols(tree) if tree is not None else set())
    return sorted(found)

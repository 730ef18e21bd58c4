"""Differences that are no errors: other coordinates, the other side of the equation, another zero.

If q = S θ + const, then M(θ) = Sᵀ M S, C = Sᵀ C S, g = Sᵀ g, τ = Sᵀ τ, J = J S, and energies stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

from palpate.review.algebra.grid import Grid
from palpate.review.algebra.points import Point
from palpate.review.algebra.quantities import Quantity
from palpate.review.algebra.tree import Name, symbols
from palpate.review.algebra.wanted import Wanted

Matrix: TypeAlias = tuple[tuple[int, ...], ...]

_SIDES = {1: "the y axis", 2: "the opposite direction", 3: "the negative y axis"}


@dataclass(frozen=True)
class Convention:
    """Another way to write the same: q = S θ + quarters · π/2 on the first joint, signs turned.

    Attributes:
        name: in words.
        S: how the coordinates q follow from the writer's θ.
        quarters: by how many right angles the first joint's zero is turned.
        minus: whether everything has the opposite sign.
        turned: a symbol that is counted in the opposite direction.
    """

    name: str
    S: Matrix
    quarters: int = 0
    minus: bool = False
    turned: Name | None = None


def conventions(reference: Grid, what: str, coordinates: Sequence[Name]) -> Iterator[Convention]:
    """Other conventions, the commonest first."""
    if what == "expression":
        return
    same = _diagonal([1] * len(coordinates))
    if what in ("g", "tau", "c"):
        yield Convention("it stands on the other side of the equation (opposite sign throughout)", same, minus=True)
    for name in sorted({name for _, entry in reference.entries() for name in symbols(entry)}):
        if name.base in ("g", "G") and not name.dots:
            yield Convention(f"{name} is counted in the opposite direction", same, turned=name)
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
        turned = [str(name) for name, sign in zip(coordinates, signs) if sign < 0]
        if 0 < len(turned) < len(coordinates):
            yield Convention(f"{' and '.join(turned)} in the opposite sense", _diagonal(signs))


def _absolute(n: int, quarters: bool) -> Iterator[Convention]:
    """θ_i = q_1 + … + q_i, so q_i = θ_i − θ_{i−1}."""
    S = tuple(tuple(1 if j == i else -1 if j == i - 1 else 0 for j in range(n)) for i in range(n))
    yield Convention("angles are measured from the base, not from the link before", S)
    for count in (1, 3) if quarters else ():
        yield Convention(f"all angles are measured from {_SIDES[count]}, not from the link before", S, count)


def _diagonal(signs: Sequence[int]) -> Matrix:
    return tuple(tuple(sign if i == j else 0 for j in range(len(signs))) for i, sign in enumerate(signs))


class Rewritten:
    """The wanted quantity in another convention, at one point; entries are worked out when asked for."""

    def __init__(
        self, wanted: Wanted, kind: Quantity, coordinates: Sequence[Name], change: Convention, point: Point
    ) -> None:
        self.wanted, self.change, self.field = wanted, change, point.field
        n = len(coordinates)
        self.left = kind.left and wanted.shape[0] == n
        self.right = kind.right and wanted.shape[1] == n
        self.point = point.moved(coordinates, change.S, change.quarters, change.turned)
        self._known: dict[tuple[int, int], Any] = {}

    def at(self, index: tuple[int, int]) -> Any:
        """(Sᵀ X S)_ij, with X at q = S θ + const."""
        S, total = self.change.S, self.field.number(Fraction(0))
        rows = [(k, S[k][index[0]]) for k in range(len(S))] if self.left else [(index[0], 1)]
        columns = [(k, S[k][index[1]]) for k in range(len(S))] if self.right else [(index[1], 1)]
        for (i, a), (j, b) in product(rows, columns):
            if a * b:
                total = self.field.add(total, self.field.mul(a * b, self._entry((i, j))))
        return self.field.sub(0, total) if self.change.minus else total

    def _entry(self, index: tuple[int, int]) -> Any:
        if index not in self._known:
            self._known[index] = self.wanted.at(index, self.point)
        return self._known[index]

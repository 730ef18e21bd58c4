"""What a given expression should be: a matrix of trees, or numbers from a robot; and the fitting of shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

from palpate.errors import BadShape
from palpate.review.algebra.grid import Grid, grid, shown
from palpate.review.algebra.points import Point
from palpate.review.algebra.quantities import quantity
from palpate.review.algebra.tree import Node

Selection: TypeAlias = tuple[str, tuple[int, ...], tuple[int, ...]]  # (in words, rows, columns)


@dataclass(frozen=True)
class Symbolic:
    """Entries as expressions."""

    grid: Grid

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.grid.shape

    def at(self, index: tuple[int, int], point: Point) -> Any:
        """The value of an entry at a point."""
        return point.of(self.grid.rows[index[0]][index[1]])

    def tree(self, index: tuple[int, int]) -> Node | None:
        """The expression of an entry."""
        return self.grid.rows[index[0]][index[1]]

    def chosen(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> Wanted:
        """Some of the rows and columns."""
        return Symbolic(grid([[self.grid.rows[i][j] for j in columns] for i in rows]))

    def transposed(self) -> Wanted:
        """The transpose."""
        return Symbolic(self.grid.transposed())


class Numeric:
    """Entries as numbers that a function of a point gives."""

    def __init__(self, function: Callable[[Point], Any], shape: tuple[int, int]) -> None:
        self.function, self._shape = function, shape
        self._known: list[tuple[Point, Any]] = []

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self._shape

    def _array(self, point: Point) -> Any:
        for known, array in self._known:
            if known is point:
                return array
        array = self.function(point)
        self._known = [*self._known[-20:], (point, array)]
        return array

    def at(self, index: tuple[int, int], point: Point) -> Any:
        """The value of an entry at a point."""
        return float(self._array(point)[index[0], index[1]])

    def tree(self, index: tuple[int, int]) -> Node | None:
        """None: there is no expression."""
        return None

    def chosen(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> Wanted:
        """Some of the rows and columns."""
        return Numeric(lambda point: self._array(point)[list(rows)][:, list(columns)], (len(rows), len(columns)))

    def transposed(self) -> Wanted:
        """The transpose."""
        return Numeric(lambda point: self._array(point).T, (self._shape[1], self._shape[0]))


Wanted: TypeAlias = Symbolic | Numeric


def fitting(given: tuple[int, int], wanted: Wanted, what: str) -> list[tuple[str, Wanted]]:
    """The parts of what is wanted that a given shape can mean, each with words that say so.

    Raises:
        BadShape: no part has this shape.
    """
    shape = wanted.shape
    if given == shape:
        return [("", wanted)]
    if given == shape[::-1] and 1 in shape:
        return [("read as its transpose", wanted.transposed())]
    candidates = [(words, wanted.chosen(rows, columns)) for words, rows, columns in _parts(given, shape, what)]
    if not candidates:
        raise BadShape(
            f"{quantity(what).title} is {shown(shape)}, the one given is {shown(given)}",
            hint="give all of its entries; a Jacobian or a position may also have its x, y or z rows only",
        )
    return candidates


def _parts(given: tuple[int, int], shape: tuple[int, int], what: str) -> Iterable[Selection]:
    every = tuple(range(shape[1]))
    if what in ("equation", "tau", "g", "c") and given[1] == shape[1] == 1 and given[0] < shape[0]:
        for rows in combinations(range(shape[0]), given[0]):
            yield f"equation {' and '.join(str(row + 1) for row in rows)} of {shape[0]}", rows, every
    if what == "FK" and shape == (4, 4):
        yield from _pose_parts(given)
    elif what in ("J", "Jdot", "h", "FK") and given[1] == shape[1] and given[0] < shape[0]:
        linear = tuple(range(min(3, shape[0])))
        if given[0] == 3:
            yield "its linear rows", linear, every
            yield from [("its angular rows", (3, 4, 5), every)] if shape[0] == 6 else []
        groups = combinations(range(shape[0]), given[0]) if given[0] < 3 else ()
        for rows in groups:
            yield f"rows {' and '.join(str(row + 1) for row in rows)} of {shape[0]}", rows, every
        if given[0] == 3 and shape[0] == 6:  # a planar arm: two directions and the angle
            for pair, angle in ((pair, angle) for pair in combinations(range(3), 2) for angle in range(3, 6)):
                yield f"rows {pair[0] + 1}, {pair[1] + 1} and {angle + 1} of 6", (*pair, angle), every


def _pose_parts(given: tuple[int, int]) -> Iterable[Selection]:
    if given == (3, 3):
        yield "its rotation", (0, 1, 2), (0, 1, 2)
    elif given == (3, 1):
        yield "its position", (0, 1, 2), (3,)
    elif given[0] < 3 and given[1] == 1:
        for rows in combinations(range(3), given[0]):
            yield f"{' and '.join('xyz'[row] for row in rows)} of its position", rows, (3,)

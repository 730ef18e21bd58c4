"""Matrices of expressions, and the algebra that a printed formula may ask of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from palpate.errors import BadShape
from palpate.review.algebra.tree import (
    ZERO,
    Name,
    Neg,
    Node,
    Num,
    Power,
    Quot,
    Sum,
    Trig,
    add,
    fresh,
    is_number,
    multiply,
    symbols,
    walk,
)


@dataclass(frozen=True, eq=False)
class Grid:
    """A matrix: rows of expressions. A vector has one column (or one row)."""

    rows: tuple[tuple[Node, ...], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self.rows), len(self.rows[0])

    def entries(self) -> list[tuple[tuple[int, int], Node]]:
        """Every entry with its place, counted from 0."""
        return [((i, j), node) for i, row in enumerate(self.rows) for j, node in enumerate(row)]

    def each(self, change: Callable[[Node], Node]) -> Grid:
        """The matrix with every entry changed."""
        return Grid(tuple(tuple(change(node) for node in row) for row in self.rows))

    def angular(self) -> set[Name]:
        """The symbols that stand in a sine or cosine."""
        trigs = [node for _, entry in self.entries() for node in walk(entry) if isinstance(node, Trig)]
        return set().union(*(symbols(trig.angle) for trig in trigs))

    def transposed(self) -> Grid:
        """The transpose."""
        return Grid(tuple(zip(*self.rows)))


Value: TypeAlias = Node | Grid


def grid(rows: Sequence[Sequence[Node]]) -> Grid:
    """A matrix from rows, all of one length."""
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise BadShape(f"a matrix whose rows have {', '.join(str(len(row)) for row in rows)} entries")
    return Grid(tuple(map(tuple, rows)))


def as_grid(value: Value) -> Grid:
    """A scalar as a matrix of one entry."""
    return value if isinstance(value, Grid) else Grid(((value,),))


def plus(a: Value, b: Value, minus: bool = False) -> Value:
    """a + b, or a − b."""
    if isinstance(a, Grid) != isinstance(b, Grid):
        scalar = b if isinstance(a, Grid) else a
        if isinstance(scalar, Num) and scalar.value == 0:  # a zero vector is often written 0
            return a if isinstance(a, Grid) else negative(b) if minus else b
        raise BadShape("a matrix and a scalar are added")
    if isinstance(a, Grid) and isinstance(b, Grid):
        if a.shape != b.shape:
            raise BadShape(f"matrices of shapes {shown(a.shape)} and {shown(b.shape)} are added")
        return grid([[_plus(x, y, minus) for x, y in zip(*rows)] for rows in zip(a.rows, b.rows)])
    assert not isinstance(a, Grid)
    assert not isinstance(b, Grid)
    return _plus(a, b, minus)


def _plus(a: Node, b: Node, minus: bool) -> Node:
    left = list(a.terms) if isinstance(a, Sum) and a.span is None else [a]
    right = Neg(b, b.span) if minus and not is_number(b, 0) else b
    return add([*left, right])


def negative(a: Value) -> Value:
    """−a."""
    return a.each(opposite) if isinstance(a, Grid) else opposite(a)


def opposite(node: Node) -> Node:
    """−node."""
    return node if is_number(node, 0) else Neg(node, node.span)


def times(a: Value, b: Value) -> Value:
    """a · b: of scalars, a scalar and a matrix, or matrices whose shapes fit."""
    if isinstance(a, Grid) and isinstance(b, Grid):
        if a.shape[1] != b.shape[0]:
            if (1, 1) in (a.shape, b.shape):
                scalar, other = (a, b) if a.shape == (1, 1) else (b, a)
                return times(scalar.rows[0][0], other)
            raise BadShape(f"matrices of shapes {shown(a.shape)} and {shown(b.shape)} are multiplied")
        columns = b.transposed().rows
        made = grid([[_dot(row, column) for column in columns] for row in a.rows])
        return made.rows[0][0] if made.shape == (1, 1) else made
    if isinstance(a, Grid):
        assert not isinstance(b, Grid)
        return a.each(lambda node: multiply([node, fresh(b)]))
    if isinstance(b, Grid):
        return b.each(lambda node: multiply([fresh(a), node]))
    return multiply([a, b])


def _dot(row: Sequence[Node], column: Sequence[Node]) -> Node:
    return add([multiply([fresh(x), fresh(y)]) for x, y in zip(row, column)])


def over(a: Value, b: Value) -> Value:
    """a / b, b a scalar."""
    if isinstance(b, Grid):
        raise BadShape("a division by a matrix; write its inverse, J^{-1}")
    return a.each(lambda node: Quot(node, fresh(b))) if isinstance(a, Grid) else Quot(a, b)


def raised(a: Value, exponent: Fraction) -> Value:
    """a^e: of a scalar, or a whole power of a square matrix."""
    if not isinstance(a, Grid):
        return Power(a, exponent)
    if a.shape[0] != a.shape[1] or exponent.denominator != 1:
        raise BadShape(f"a matrix of shape {shown(a.shape)} to the power {exponent}")
    if exponent < 0:
        a, exponent = inverse(a), -exponent
    made: Value = a
    for _ in range(exponent.numerator - 1):
        made = times(made, a)
    return made


def inverse(a: Grid) -> Grid:
    """The inverse by cofactors; for matrices up to 4 by 4."""
    n = a.shape[0]
    if n > 4:
        raise BadShape(f"the inverse of a {n}×{n} matrix is not written out; at most 4×4")
    bottom = _determinant(a.rows)
    if n == 1:
        return Grid(((Power(bottom, Fraction(-1)),),))
    cofactor = [[_cofactor(a.rows, j, i) for j in range(n)] for i in range(n)]
    return grid([[Quot(node, fresh(bottom)) for node in row] for row in cofactor])


def _cofactor(rows: Sequence[Sequence[Node]], i: int, j: int) -> Node:
    minor = [[node for c, node in enumerate(row) if c != j] for r, row in enumerate(rows) if r != i]
    determinant = _determinant(minor)
    return determinant if (i + j) % 2 == 0 else opposite(determinant)


def _determinant(rows: Sequence[Sequence[Node]]) -> Node:
    if len(rows) == 1:
        return fresh(rows[0][0])
    parts = [multiply([fresh(node), _cofactor(rows, 0, j)]) for j, node in enumerate(rows[0])]
    return add([part for part in parts if not is_number(part, 0)] or [ZERO])


def shown(shape: tuple[int, int]) -> str:
    """A shape as text: 3×2."""
    return f"{shape[0]}×{shape[1]}"

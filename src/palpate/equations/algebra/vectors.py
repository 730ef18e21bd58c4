"""Small vectors and matrices as lists, over all that adds and multiplies: nodes, trigonometric polynomials, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

SYMMETRIC = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # the order of a symmetric matrix's six entries


class RingElement(Protocol):
    """An entry of a vector."""

    def __add__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __bool__(self) -> bool: ...


E = TypeVar("E", bound=RingElement)
T = TypeVar("T")


def plus(a: Sequence[E], b: Sequence[E]) -> list[E]:
    """a + b."""
    return [x + y for x, y in zip(a, b)]


def minus(a: Sequence[E], b: Sequence[E]) -> list[E]:
    """a − b."""
    return [x - y for x, y in zip(a, b)]


def cross(a: Sequence[E], b: Sequence[E]) -> list[E]:
    """a × b."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a: Sequence[E], b: Sequence[E]) -> E:
    """aᵀ b."""
    total: Any = sum((x * y for x, y in zip(a, b) if x and y), a[0] * 0)
    return total


def times(A: Iterable[Sequence[E]], v: Sequence[E]) -> list[E]:
    """A v."""
    return [dot(row, v) for row in A]


def multiply(A: Iterable[Sequence[E]], B: Sequence[Sequence[E]]) -> list[list[E]]:
    """A B."""
    columns = transposed(B)
    return [times(columns, row) for row in A]


def transposed(A: Iterable[Sequence[T]]) -> list[list[T]]:
    """Aᵀ."""
    return [list(column) for column in zip(*A)]


def congruent(transform: Callable[[list[T]], list[T]], A: Iterable[list[T]]) -> list[list[T]]:
    """R A Rᵀ, from the function that takes a vector x to R x."""
    rows = [transform(row) for row in A]
    return transposed([transform(column) for column in transposed(rows)])


def symmetric(entries: Sequence[T]) -> list[list[T]]:
    """A symmetric matrix from its six entries."""
    xx, yy, zz, xy, xz, yz = entries
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def six_entries(A: Sequence[Sequence[T]]) -> list[T]:
    """The six entries of a symmetric matrix."""
    return [A[j][i] for i, j in SYMMETRIC]

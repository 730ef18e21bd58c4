"""Differences that are no errors: other coordinates, the other side of the equation, another zero.

If q = S θ + const, then M(θ) = Sᵀ M S, C = Sᵀ C S, g = Sᵀ g, τ = Sᵀ τ, J = J S, and energies stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from palpate.derive.checking.grid import Grid, as_grid, grid, negative, times
from palpate.derive.checking.points import PI
from palpate.derive.checking.quantities import Quantity
from palpate.derive.checking.tree import Name, Neg, Node, Num, Quot, Sym, Trig, add, multiply, number, rename, walk

_SIDES = {1: "the y axis", 2: "the opposite direction", 3: "the negative y axis"}


@dataclass(frozen=True)
class Convention:
    """Another way to write the same: its name, and the reference written so."""

    name: str
    reference: Grid


@dataclass(frozen=True)
class _Coordinates:
    """q = S θ + quarters · π/2 on the first joint."""

    name: str
    S: tuple[tuple[int, ...], ...]
    quarters: int = 0


def conventions(reference: Grid, kind: Quantity, what: str, coordinates: Sequence[Name]) -> Iterator[Convention]:
    """The reference in other conventions, the commonest first."""
    if what == "expression":
        return
    if what in ("g", "tau", "c"):
        yield Convention("it stands on the other side of the equation (opposite sign throughout)", _opposite(reference))
    yield from _gravity(reference)
    for change in _changes(reference, coordinates):
        yield Convention(change.name, _written(reference, kind, coordinates, change))
        if what == "g":
            moved = _written(reference, kind, coordinates, change)
            yield Convention(f"{change.name}, and on the other side of the equation", _opposite(moved))


def _opposite(reference: Grid) -> Grid:
    return as_grid(negative(reference))


def _gravity(reference: Grid) -> Iterator[Convention]:
    """The symbol of gravity with the opposite sign."""
    used = {node.name for _, entry in reference.entries() for node in walk(entry) if isinstance(node, Sym)}
    for name in sorted(used):
        if name.base in ("g", "G") and not name.dots:
            turned = reference.each(lambda node, one=name: rename(node, {one: Neg(Sym(one))}))
            yield Convention(f"{name} is counted in the opposite direction", turned)


def _changes(reference: Grid, coordinates: Sequence[Name]) -> Iterator[_Coordinates]:
    n = len(coordinates)
    turning = {
        one.name
        for _, entry in reference.entries()
        for node in walk(entry)
        if isinstance(node, Trig)
        for one in walk(node.angle)
        if isinstance(one, Sym)
    }
    if not n:
        return
    same, reversed_ = _diagonal([1] * n), _diagonal([-1] * n)
    first = coordinates[0] in turning
    for quarters in (1, 3, 2) if first else ():
        yield _Coordinates(f"{coordinates[0]} is measured from {_SIDES[quarters]}", same, quarters)
    yield _Coordinates("the opposite sense of rotation" if turning else "the opposite directions", reversed_)
    for quarters in (1, 3, 2) if first else ():
        name = f"{coordinates[0]} is measured from {_SIDES[quarters]}, in the opposite sense of rotation"
        yield _Coordinates(name, reversed_, quarters)
    if 1 < n <= 3:
        yield from _single_joints(coordinates)
    if n > 1:
        yield from _absolute(n, first, coordinates[0])


def _single_joints(coordinates: Sequence[Name]) -> Iterator[_Coordinates]:
    for signs in product((1, -1), repeat=len(coordinates)):
        turned = [str(name) for name, sign in zip(coordinates, signs) if sign < 0]
        if 0 < len(turned) < len(coordinates):
            yield _Coordinates(f"{' and '.join(turned)} in the opposite sense", _diagonal(signs))


def _absolute(n: int, first: bool, name: Name) -> Iterator[_Coordinates]:
    """θ_i = q_1 + … + q_i, so q_i = θ_i − θ_{i−1}."""
    S = tuple(tuple(1 if j == i else -1 if j == i - 1 else 0 for j in range(n)) for i in range(n))
    yield _Coordinates("angles are measured from the base, not from the link before", S)
    for quarters in (1, 3) if first else ():
        side = _SIDES[quarters]
        yield _Coordinates(f"all angles are measured from {side}, not from the link before", S, quarters)


def _diagonal(signs: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sign if i == j else 0 for j in range(len(signs))) for i, sign in enumerate(signs))


def _written(reference: Grid, kind: Quantity, coordinates: Sequence[Name], change: _Coordinates) -> Grid:
    names: dict[Name, Node] = {}
    for i, name in enumerate(coordinates):
        for dots in range(3):
            parts = [_signed(change.S[i][j], Sym(other._replace(dots=dots))) for j, other in enumerate(coordinates)]
            if dots == 0 and i == 0 and change.quarters:
                parts.append(_quarters(change.quarters))
            names[name._replace(dots=dots)] = add(parts)
    moved = reference.each(lambda node: rename(node, names))
    S = grid([[number(value) for value in row] for row in change.S])
    n = len(coordinates)
    if kind.left and moved.shape[0] == n:
        moved = as_grid(times(S.transposed(), moved))
    if kind.right and moved.shape[1] == n:
        moved = as_grid(times(moved, S))
    return moved


def _signed(sign: int, node: Node) -> Node:
    return Num(Fraction(0)) if sign == 0 else node if sign > 0 else Neg(node)


def _quarters(count: int) -> Node:
    return Quot(multiply([number(count), Sym(PI)]), number(2))

"""Other conventions in which a formula is right: zeros and senses of angles, the direction of gravity, the side of the
equation on which a term stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from palpate.errors import DoesNotFit
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.points import PI, Point, polynomial
from palpate.tools.review.algebra.tree import Grid, Name, Neg, Node, Numeric, Sym, Trig
from palpate.tools.review.algebra.wanted import quantity

EntryIndex: TypeAlias = tuple[int, int]
Matrix: TypeAlias = tuple[tuple[int, ...], ...]

_SIDES = {1: "the y axis", 2: "the opposite direction", 3: "the negative y axis"}
OTHER_SIDE = "it stands on the other side of the equation (opposite sign throughout)"


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

    @property
    def frame(self) -> tuple[Matrix, int, Name | None]:
        """The choices that all formulas of one writer share: the coordinates and the direction of gravity."""
        return self.S, self.quarters, self.reversed_symbol


def conventions(reference: Grid, what: str, coordinates: Sequence[Name]) -> Iterator[Convention]:
    """Other conventions, the commonest first."""
    if what == "expression":
        return
    same = diagonal([1] * len(coordinates))
    if what in ("g", "tau", "c"):
        yield Convention(OTHER_SIDE, same, minus=True)
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
    same, backwards = diagonal([1] * n), diagonal([-1] * n)
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
            yield Convention(f"{' and '.join(reversed_joints)} in the opposite sense", diagonal(signs))


def _absolute(n: int, quarters: bool) -> Iterator[Convention]:
    """θ_i = q_1 + … + q_i, so q_i = θ_i − θ_{i−1}."""
    S = tuple(tuple(1 if j == i else -1 if j == i - 1 else 0 for j in range(n)) for i in range(n))
    yield Convention("angles are measured from the base, not from the link before", S)
    for count in (1, 3) if quarters else ():
        yield Convention(f"all angles are measured from {_SIDES[count]}, not from the link before", S, count)


def diagonal(signs: Sequence[int]) -> Matrix:
    """The matrix with these numbers on its diagonal."""
    return tuple(tuple(sign if i == j else 0 for j in range(len(signs))) for i, sign in enumerate(signs))


def rewritten(wanted: Grid, what: str, change: Convention, coordinates: Sequence[Name]) -> Callable[[EntryIndex], Node]:
    """The entries (Sᵀ X S)_ij of a quantity X in another convention, X at q = S θ + const; made when asked for."""
    kind, S, names = quantity(what), change.S, _names(change, coordinates)
    left, right = kind.left and wanted.shape[0] == len(S), kind.right and wanted.shape[1] == len(S)
    if wanted.is_numeric:
        return _numeric(wanted, change, names, left, right)
    renamed: dict[int, Node] = {}  # definitions that several entries share are rewritten once
    entry = cache(lambda i, j: _renamed(wanted[i, j], names, renamed))

    @cache
    def at(index: EntryIndex) -> Node:
        rows = [(k, S[k][index[0]]) for k in range(len(S))] if left else [(index[0], 1)]
        columns = [(k, S[k][index[1]]) for k in range(len(S))] if right else [(index[1], 1)]
        parts = [(a * b, entry(i, j)) for (i, a), (j, b) in product(rows, columns) if a * b]
        return algebra.tidy_tree(
            algebra.add([_signed(sign * (-1 if change.minus else 1), node) for sign, node in parts])
        )

    return at


def _numeric(
    wanted: Grid, change: Convention, names: dict[Name, Node], left: bool, right: bool
) -> Callable[[EntryIndex], Node]:
    """The same for a reference of numbers."""
    matrix, S = wanted.rows[0][0].matrix, np.array(change.S)  # type: ignore[union-attr]

    def moved(point: Point) -> Any:
        value = matrix(point.with_values({name: point.of(node) for name, node in names.items()}))
        value = S.T @ value if left else value
        value = value @ S if right else value
        return -value if change.minus else value

    remembered = cache(moved)
    return lambda index: Numeric(remembered, *index)


def _names(change: Convention, coordinates: Sequence[Name]) -> dict[Name, Node]:
    """The expressions that replace q, its rates and the reversed symbol."""
    names: dict[Name, Node] = {}
    for dots, (k, name) in product(range(3), enumerate(coordinates)):
        terms = [_signed(a, Sym(one._replace(dots=dots))) for one, a in zip(coordinates, change.S[k]) if a]
        if k == dots == 0 and change.quarters:
            terms.append(algebra.multiply([algebra.number(Fraction(change.quarters, 2)), Sym(PI)]))
        names[name._replace(dots=dots)] = algebra.add(terms)
    if change.reversed_symbol is not None:
        names[change.reversed_symbol] = Neg(Sym(change.reversed_symbol))
    return {name: node for name, node in names.items() if not (isinstance(node, Sym) and node.name == name)}


def _signed(sign: int, node: Node) -> Node:
    if sign < 0:
        return node.operand if isinstance(node, Neg) else algebra.opposite(node)
    return node


def _renamed(node: Node, names: dict[Name, Node], made: dict[int, Node]) -> Node:
    """The tree with these names replaced, right angles taken out of its sines; shared parts stay shared."""
    if id(node) not in made:
        if isinstance(node, Sym):
            made[id(node)] = names.get(node.name, node)
        else:
            below = algebra.children(node)
            changed = tuple(_renamed(child, names, made) for child in below)
            same = all(a is b for a, b in zip(below, changed))
            result = node if same else algebra.with_children(node, changed)
            made[id(node)] = _reduced(result) if isinstance(result, Trig) and not same else result
    return made[id(node)]


def _reduced(node: Trig) -> Node:
    """cos(π/2 − q) as sin q: right angles and a leading minus taken out of a sine or cosine of a sum of angles."""
    try:
        angle = polynomial(node.angle)
    except DoesNotFit:
        return node
    quarters = 2 * angle.pop(((PI, 1),), Fraction(0))
    terms = [(monomial[0], times) for monomial, times in angle.items() if len(monomial) == 1]
    linear = len(terms) == len(angle) and all(power == 1 for (_, power), _ in terms)
    if node.function == "tan" or quarters.denominator != 1 or not linear or not terms:
        return node
    turns, sign = int(quarters) % 4, 1
    if all(times < 0 for _, times in terms):  # cos(−a + k π/2) = cos(a − k π/2), the sine its opposite
        terms, turns = [(one, -times) for one, times in terms], -turns % 4
        sign = -1 if node.function == "sin" else 1
    function = node.function
    for _ in range(turns):  # cos(a + π/2) = −sin a, sin(a + π/2) = cos a
        sign, function = (-sign, "sin") if function == "cos" else (sign, "cos")
    made = Trig(function, _angle(terms), node.short)
    return made if sign > 0 else Neg(made)


def _angle(terms: Sequence[tuple[tuple[Name, int], Fraction]]) -> Node:
    parts = [(times, Sym(name)) for (name, _), times in terms]
    parts.sort(key=lambda part: part[0] < 0)  # q2 − q1 rather than −q1 + q2
    return algebra.add(
        [
            _signed(1 if times > 0 else -1, algebra.multiply([algebra.number(abs(times)), symbol]))
            for times, symbol in parts
        ]
    )

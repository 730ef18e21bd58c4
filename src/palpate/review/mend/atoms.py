"""What a factor could have been meant to be: every symbol and every sine or cosine that makes sense here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.review.algebra.fields import Table
from palpate.review.algebra.names import SymbolTable
from palpate.review.algebra.points import Point, Polynomial, polynomial
from palpate.review.algebra.tree import Name, Neg, Node, Ref, Sym, Trig, add, children, multiply, number, walk

_MOST_SUBSETS = 4  # joints up to which every sum of angles is tried, not only neighbours


@dataclass(frozen=True)
class Atom:
    """A symbol, sine or cosine, with its value at the point of the search."""

    node: Node
    value: Any


class Atoms:
    """The atoms of a check.

    Args:
        point: where they are evaluated.
        trees: the given and the reference expressions.
        table: the symbols in use.
    """

    def __init__(self, point: Point, trees: Iterable[Node], table: SymbolTable) -> None:
        nodes = [node for tree in trees for node in _open(tree)]
        self.point = point
        self.short = any(isinstance(node, Trig) and node.short for node in nodes)
        self.names = _names(nodes, table)
        self.symbols = _valued(point, [Sym(name) for name in self.names])
        self.definitions = _valued(
            point, {node.name: Ref(node.name, node.body) for node in nodes if isinstance(node, Ref)}.values()
        )
        self.angles = _angles(nodes, table)
        self.sines = _valued(point, [Trig(word, a, self.short) for a in self.angles for word in ("cos", "sin")])
        self.all = [*self.symbols, *self.sines, *self.definitions]
        self._tables: dict[Fraction, Table[Atom]] = {}

    def raised(self, exponent: Fraction) -> Table[Atom]:
        """The atoms to a power, to be looked up by value."""
        table = self._tables.get(exponent)
        if table is None:
            table = self._tables[exponent] = self.point.field.table()
            for atom in self.all:
                try:
                    table.put(self.point.field.power(atom.value, exponent), atom)
                except UnluckyPoint:
                    continue
        return table

    def meaning(self, node: Node) -> list[Atom]:
        """What could stand in the place of a factor: sines for sines, symbols for the rest."""
        return self.sines if isinstance(node, Trig) else self.symbols


def _open(tree: Node) -> Iterable[Node]:
    """All nodes, the angles of sines left closed."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Trig):
            waiting.extend(children(node))


def _valued(point: Point, nodes: Iterable[Node]) -> list[Atom]:
    atoms = []
    for node in nodes:
        try:
            value = point.of(node)
        except (UnluckyPoint, DoesNotFit):
            continue
        if not point.field.is_zero(value):
            atoms.append(Atom(node, value))
    return atoms


def _names(nodes: list[Node], table: SymbolTable) -> list[Name]:
    """Symbols outside angles; where rates occur, the rates of every coordinate."""
    used = {node.name for node in nodes if isinstance(node, Sym)}
    angular = set(table.coordinates)
    names = used | {name for name in table.known if name not in angular}
    highest = max((name.dots for name in used), default=0)
    names |= {name._replace(dots=dots) for name in table.coordinates for dots in range(1, highest + 1)}
    return sorted(names)


def _angles(nodes: list[Node], table: SymbolTable) -> list[Node]:
    """Angles seen; sums of coordinates; twice what was seen; what was seen with one coordinate more or less."""
    written = {id(node.angle): node.angle for node in nodes if isinstance(node, Trig)}.values()
    seen = {node.name for angle in written for node in walk(angle) if isinstance(node, Sym)}
    turning = [name for name in table.coordinates if name in seen]
    observed = {frozenset(angle.items()): angle for angle in map(_linear, written)}.values()
    plain = [{((name, 1),): Fraction(1) for name in group} for group in _groups(turning)]
    kept = [angle for angle in observed if angle]
    doubled = [{key: 2 * value for key, value in angle.items()} for angle in kept]
    nearby = [_shifted(angle, name, sign) for angle in kept for name in turning for sign in (1, -1)]
    distinct: dict[frozenset[Any], Polynomial] = {}
    for angle in (*kept, *plain, *doubled, *nearby):
        opposite = frozenset((key, -value) for key, value in angle.items())
        if angle and opposite not in distinct:
            distinct.setdefault(frozenset(angle.items()), angle)
    return [_angle(angle, table) for angle in distinct.values()]


def _linear(angle: Node) -> Polynomial:
    try:
        return polynomial(angle)
    except DoesNotFit:
        return {}


def _groups(names: list[Name]) -> list[tuple[Name, ...]]:
    sizes = range(1, len(names) + 1)
    if len(names) <= _MOST_SUBSETS:
        return [group for size in sizes for group in combinations(names, size)]
    return [tuple(names[i : i + size]) for size in sizes for i in range(len(names) - size + 1)]


def _shifted(angle: Polynomial, name: Name, sign: int) -> Polynomial:
    key = ((name, 1),)
    moved = {**angle, key: angle.get(key, Fraction(0)) + sign}
    return {key: value for key, value in moved.items() if value}


def _angle(angle: Polynomial, table: SymbolTable) -> Node:
    order = {name: index for index, name in enumerate(table.coordinates)}
    keys = sorted(angle, key=lambda key: [(order.get(name, -1), name) for name, _ in key])
    return add([_term(angle[key], key) for key in keys])


def _term(coefficient: Fraction, monomial: tuple[tuple[Name, int], ...]) -> Node:
    symbols: list[Node] = [Sym(name) for name, power in monomial for _ in range(power)]
    size = abs(coefficient)
    made = multiply([number(size), *symbols]) if size != 1 or not symbols else multiply(symbols)
    return Neg(made) if coefficient < 0 else made

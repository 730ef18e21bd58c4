"""A term that was lost: which product of symbols, sines and a number has this value?

Two ways. The terms of the reference, and of the expression itself, are looked up. And the exponent of every symbol is
found by itself: if the term is c x^k (…), then at a point where only x is multiplied by λ it is λ^k times as large.
What is left is a number, or a number times a product of sines and cosines, which is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations, combinations_with_replacement
from typing import Any

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.forking import cached_property
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.names import SymbolTable
from palpate.tools.review.algebra.points import Point, Polynomial, Table, polynomial
from palpate.tools.review.algebra.tree import Name, Neg, Node, Num, Power, Prod, Quot, Ref, Sum, Sym, Trig
from palpate.tools.review.mend.factors import Factor
from palpate.tools.review.mend.node_changes import powered

_MOST_SUBSETS = 4  # joints up to which every sum of angles is tried, not only neighbours
_NUMBERS = tuple(Fraction(a, b) for b in (1, 2, 3, 4, 6, 12) for a in (1, -1, 2, -2, 3, -3, 5, -5, 4, -4))
_DEGREES = range(-4, 7)
_MOST_SINES = 30
_MOST_TERMS = 200  # of an expression multiplied out
_SCALE = Fraction(7, 5)


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
        self._powers: dict[Fraction, list[tuple[Atom, Any]]] = {}
        self._tables: dict[Fraction, Table[Atom]] = {}

    def powers(self, exponent: Fraction) -> list[tuple[Atom, Any]]:
        """Every atom with its value to a power, but for those that have none."""
        if exponent not in self._powers:
            powers = self._powers[exponent] = []
            for atom in self.all:
                with suppress(UnluckyPoint):
                    powers.append((atom, self.point.field.power(atom.value, exponent)))
        return self._powers[exponent]

    def raised(self, exponent: Fraction) -> Table[Atom]:
        """The atoms to a power, to be looked up by value."""
        if exponent not in self._tables:
            table = self._tables[exponent] = self.point.field.table()
            for atom, value in self.powers(exponent):
                table.put(value, atom)
        return self._tables[exponent]


def _open(tree: Node) -> Iterable[Node]:
    """All nodes, the angles of sines left closed."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Trig):
            waiting.extend(algebra.children(node))


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
    seen = {node.name for angle in written for node in algebra.walk(angle) if isinstance(node, Sym)}
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
    return algebra.add([_term(angle[key], key) for key in keys])


def _term(coefficient: Fraction, monomial: tuple[tuple[Name, int], ...]) -> Node:
    return _signed(coefficient, [Sym(name) for name, power in monomial for _ in range(power)])


@dataclass(frozen=True)
class BracketStep:
    """A step into a bracket, on the way down to a nested sum: the term, and the factor of it that is the bracket."""

    term: Node
    factor: Factor


class MissingTerm:
    """Looks for a lost term.

    Args:
        atoms: what a term may be made of, with values at the point of the search.
        known: terms of the given and the reference expressions.
        error: wanted − given of the whole expression, as a function of a point.
    """

    def __init__(self, atoms: Atoms, known: Iterable[Node], error: Callable[[Point], Any]) -> None:
        self.point, self.field, self.atoms, self.error = atoms.point, atoms.point.field, atoms, error
        self.known: Table[Node] = self.field.table()
        self.values: list[tuple[Any, Node]] = []
        for node in known:
            self._keep(node)
        self._powers: Table[int] = self.field.table()
        for degree in _DEGREES:
            self._powers.put(self.field.power(self.field.number(_SCALE), Fraction(degree)), degree)

    def _keep(self, node: Node) -> None:
        try:
            value = self.point.of(node)
        except (UnluckyPoint, DoesNotFit):
            return
        if self.field.is_zero(value) or self.known.get(value):
            return
        for one, size in ((node, value), (_negative(node), self.field.sub(0, value))):
            self.known.put(size, one)
            self.values.append((size, one))

    def terms(self, error: Any, path: Sequence[BracketStep] | None) -> list[Node]:
        """Terms with this value that the sum at the end of the path may lack; without a path, known ones only."""
        if self.field.is_zero(error):
            return []
        known_terms = self.known.get(error)
        return known_terms or ([] if path is None else self._monomial(error, path))

    def beside(self, value: Any) -> list[Node]:
        """Terms that may have stood beside a factor in a bracket that is gone: a symbol, sine, or known term."""
        matches = [atom.node for atom in self.atoms.raised(Fraction(1)).get(value)]
        opposite = self.atoms.raised(Fraction(1)).get(self.field.sub(0, value))
        whole = self.field.rational(value)
        return matches or [Neg(atom.node) for atom in opposite] or ([_signed(whole, ())] if whole else [])

    # ------------------------------------------------------------------ exponent by exponent

    def _monomial(self, error: Any, path: Sequence[BracketStep]) -> list[Node]:
        if any(abs(step.factor.total) != 1 for step in path):
            return []
        powers: dict[Name, int] = {}
        below = self.field.inverse(error)
        remaining = error
        for name, point, whole in self._points:
            try:
                scaled_error = _error_at(point, whole, path)
            except UnluckyPoint:
                return []
            degrees = self._powers.get(self.field.mul(scaled_error, below))
            if not degrees:
                return []
            powers[name] = degrees[0]
            remaining = self.field.mul(remaining, self.field.power(self.point.value(name), Fraction(-degrees[0])))
        return self._finished(powers, remaining)

    @cached_property
    def _points(self) -> list[tuple[Name, Point, Any]]:
        """A point for each symbol, where it alone is larger, and the whole error there."""
        scaled: list[tuple[Name, Point, Any]] = []
        sines = () if self.field.exact else self.atoms.sines
        inside = {one.name for atom in sines for one in algebra.walk(atom.node) if isinstance(one, Sym)}
        for name in self.atoms.names:
            larger = self.field.mul(self.point.value(name), self.field.number(_SCALE))
            point = self.point.with_values({name: larger})
            with suppress(UnluckyPoint):
                scaled += [] if name in inside else [(name, point, self.error(point))]
        return scaled

    def _finished(self, powers: dict[Name, int], remaining: Any) -> list[Node]:
        whole = self.field.rational(remaining)
        if whole is not None:
            return [_assembled(whole, powers, ())]
        for size in _NUMBERS:
            for sines in self._sine_products.get(self.field.mul(remaining, self.field.number(1 / size))):
                return [_assembled(size, powers, sines)]
        return []

    @cached_property
    def _sine_products(self) -> Table[tuple[Atom, ...]]:
        table: Table[tuple[Atom, ...]] = self.field.table()
        for count in (1, 2, 3):
            for group in combinations_with_replacement(self.atoms.sines[:_MOST_SINES], count):
                table.put(reduce(self.field.mul, (atom.value for atom in group)), group)
        return table


def quotient_terms(atoms: Atoms, top: Node, bottom: Node) -> list[Node]:
    """The product of symbols, sines and a number that one expression divided by another is; none if it is no product.

    Raises:
        UnluckyPoint: at the atoms' point the quotient has no value.
    """
    field = atoms.point.field

    def ratio(point: Point) -> Any:
        return field.mul(point.of(top), field.inverse(point.of(bottom)))

    return MissingTerm(atoms, [], ratio).terms(ratio(atoms.point), ())


def _error_at(point: Point, error: Any, path: Sequence[BracketStep]) -> Any:
    """The error of the sum at the end of a path, from the error of the whole."""
    field = point.field
    for step in path:
        ratio = field.add(1, field.mul(error, field.inverse(point.of(step.term))))
        needed = field.power(ratio, step.factor.total)
        error = field.mul(point.of(step.factor.base), field.sub(needed, 1))
    return error


def _assembled(size: Fraction, powers: dict[Name, int], sines: tuple[Atom, ...]) -> Node:
    top: list[Node] = [powered(Sym(name), Fraction(power)) for name, power in powers.items() if power > 0]
    bottom: list[Node] = [powered(Sym(name), Fraction(-power)) for name, power in powers.items() if power < 0]
    grouped = {id(atom): (atom.node, sines.count(atom)) for atom in sines}
    top += [powered(node, Fraction(count)) for node, count in grouped.values()]
    return _signed(size, top, bottom)


def _signed(size: Fraction, top: Sequence[Node], bottom: Sequence[Node] = ()) -> Node:
    """A number times factors over others, a minus in front of everything."""
    made = algebra.multiply([algebra.number(abs(size)), *top])
    made = Quot(made, algebra.multiply(list(bottom))) if bottom else made
    return Neg(made) if size < 0 else made


def _negative(node: Node) -> Node:
    return node.operand if isinstance(node, Neg) else Neg(node)


def terms_of(tree: Node) -> list[Node]:
    """Every term of every sum, and every product, that an expression contains."""
    terms: list[Node] = []
    for node in algebra.walk(tree):
        if isinstance(node, Sum):
            terms += [term for term in node.terms if not isinstance(term, Num)]
        elif isinstance(node, Prod | Quot):
            terms.append(node)
    return terms


def expanded(tree: Node) -> list[Node]:
    """The terms of an expression multiplied out; none if they would be too many."""
    try:
        return [algebra.multiply([_signed(size, ()), *factors]) for size, factors in _expand(tree)]
    except DoesNotFit:
        return []


def _expand(node: Node) -> list[tuple[Fraction, list[Node]]]:
    made: list[tuple[Fraction, list[Node]]]
    match node:
        case Num(value=value):
            return [(value, [])]
        case Neg(operand=operand):
            return [(-size, factors) for size, factors in _expand(operand)]
        case Sum(terms=terms):
            made = [part for term in terms for part in _expand(term)]
        case Prod(factors=factors):
            made = [(Fraction(1), [])]
            for factor in factors:
                made = [(a * b, [*x, *y]) for a, x in made for b, y in _expand(factor)]
                _few(made)
        case Power(base=Sum() as base, exponent=exponent) if exponent in (2, 3):
            return _expand(Prod((base,) * int(exponent)))
        case Quot(top=top, bottom=bottom):
            made = [(size, [Quot(algebra.multiply(factors), bottom)]) for size, factors in _expand(top)]
        case _:
            return [(Fraction(1), [node])]
    return _few(made)


def _few(parts: list[tuple[Fraction, list[Node]]]) -> list[tuple[Fraction, list[Node]]]:
    if len(parts) > _MOST_TERMS:
        raise DoesNotFit("too many terms to multiply out")
    return parts

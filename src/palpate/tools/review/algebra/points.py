"""Random points, and what an expression is worth there, modulo a large prime or in floats.

An angle is a random point of the unit circle: sines and cosines of integer (or fractional) combinations of angles
follow from the addition formulas, exactly. A symbol that stands both inside and outside a sine is two independent
values, because q and (cos q, sin q) satisfy no algebraic relation. π outside an angle is transcendental: any value.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import lcm
from random import Random
from typing import Any, Generic, TypeAlias, TypeVar

from palpate.equations.algebra.residues import LARGEST, P, Residues
from palpate.equations.spelling import Name
from palpate.errors import DoesNotFit, TooLarge, UnluckyPoint
from palpate.tools.review.algebra.effort import spend
from palpate.tools.review.algebra.tree import (
    Call,
    Neg,
    Node,
    Num,
    Numeric,
    Power,
    Prod,
    Quot,
    Ref,
    Sum,
    Sym,
    Trig,
    distinct,
)

Item = TypeVar("Item")

_MOST_BITS = 4096  # of a coefficient
_STEPS_PER_PAIR = 20  # of monomials that are multiplied
_STEPS_PER_SEARCH = 40  # in a sorted table, whose numbers may have fifty digits
POINTS, MOST_POINTS = 2, 400  # points at which expressions must agree, and how many may be tried to find them


class ResidueTable(Generic[Item]):
    """A table of exact values."""

    def __init__(self) -> None:
        self._items: dict[int, list[Item]] = {}

    def put(self, value: int, item: Item) -> None:
        """Keep an item under a value."""
        self._items.setdefault(value, []).append(item)

    def get(self, value: int) -> list[Item]:
        """The items kept under this value."""
        items = self._items.get(value, [])
        spend(1 + len(items))
        return items


class Modular(Residues):
    """Residues modulo P, with what a search looks up in."""

    exact = True
    words = "exactly, modulo a prime of 127 bits"

    def sample(self, random: Random, positive: bool) -> int:
        """A random residue; a square counts as positive."""
        residue = random.randrange(2, P)
        return residue * residue % P if positive else residue

    def table(self) -> ResidueTable[Any]:
        """A table of exact values."""
        return ResidueTable()


class SortedTable(Generic[Item]):
    """A table of floats: a value finds what lies within the tolerance."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance
        self._pairs: list[tuple[Any, int, Item]] = []
        self._sorted = True

    def put(self, value: Any, item: Item) -> None:
        """Keep an item under a value."""
        self._pairs.append((value, len(self._pairs), item))
        self._sorted = False

    def get(self, value: Any) -> list[Item]:
        """The items kept under this value."""
        if not self._sorted:
            self._pairs.sort(key=lambda pair: pair[:2])
            self._sorted = True
        slack = abs(value) * self.tolerance
        at = bisect_left(self._pairs, value - slack, key=lambda pair: pair[0])
        items = []
        while at < len(self._pairs) and self._pairs[at][0] <= value + slack:
            items.append(self._pairs[at][2])
            at += 1
        spend(_STEPS_PER_SEARCH + 4 * len(items))
        return items


class Real:
    """Floats: of `digits` digits, or the machine's where digits is None."""

    functions: Any
    type: Any
    exact = False
    mul, add, sub = staticmethod(operator.mul), staticmethod(operator.add), staticmethod(operator.sub)

    def __init__(self, digits: int | None = 50) -> None:
        if digits is None:
            self.functions, self.tolerance, self.type = math, 1e-9, float
            self.words = "in floats, to 1e-9"
        else:
            self.words = f"in floats of {digits} digits"
            from mpmath import MPContext

            self.functions, self.tolerance = MPContext(), 10.0 ** -(digits * 3 // 5)
            self.functions.dps, self.type = digits, self.functions.mpf

    def inverse(self, a: Any) -> Any:
        """1/a."""
        if abs(a) < self.tolerance**2:
            raise UnluckyPoint("division by zero at a random point")
        return 1 / a

    def number(self, value: Fraction) -> Any:
        """A rational number."""
        return self.type(value.numerator) / value.denominator

    def power(self, a: Any, exponent: Fraction) -> Any:
        """a^e; UnluckyPoint where a is negative and e no whole number."""
        if exponent.denominator == 1:
            return a**exponent.numerator if exponent > 0 else self.inverse(a) ** -exponent.numerator
        if a < 0:
            raise UnluckyPoint("a root of a negative number at a random point")
        return a ** self.number(exponent)

    def is_zero(self, a: Any) -> bool:
        """Whether a is zero beside quantities of order one."""
        return bool(abs(a) < self.tolerance)

    def equal(self, a: Any, b: Any) -> bool:
        """Whether a is b to the tolerance."""
        return bool(abs(a - b) <= self.tolerance * max(1.0, abs(a), abs(b)))

    def rational(self, a: Any) -> Fraction | None:
        """The fraction with a small denominator that a is to the tolerance."""
        if abs(a) > LARGEST or (a != 0 and abs(a) * LARGEST < 1):
            return None
        fraction = Fraction(float(a)).limit_denominator(200)
        return fraction if abs(self.number(fraction) - a) <= self.tolerance * max(1.0, abs(a)) else None

    def sample(self, random: Random, positive: bool) -> Any:
        """A random number between 0.4 and 1.9, of either sign unless positive."""
        magnitude = self.type(random.randrange(4 * 10**17, 19 * 10**17)) / 10**18
        return magnitude if positive or random.random() < 0.5 else -magnitude

    def table(self) -> SortedTable[Any]:
        """A table within the tolerance."""
        return SortedTable(self.tolerance)


Field = Modular | Real
Table = ResidueTable[Item] | SortedTable[Item]


PI = Name("pi")
Monomial: TypeAlias = tuple[tuple[Name, int], ...]
Polynomial: TypeAlias = dict[Monomial, Fraction]
Circle: TypeAlias = tuple[Any, Any]  # (cosine, sine)

_CONSTANT: Monomial = ()
_PI: Monomial = ((PI, 1),)


def polynomial(node: Node) -> Polynomial:
    """An angle, multiplied out: {monomial: coefficient}."""
    match node:
        case Num(value=value):
            return {_CONSTANT: value} if value else {}
        case Sym(name=name):
            return {((name, 1),): Fraction(1)}
        case Ref(body=body):
            return polynomial(body)
        case Neg(operand=operand):
            return {key: -value for key, value in polynomial(operand).items()}
        case Sum(terms=terms):
            return _sum(polynomial(term) for term in terms)
        case Prod(factors=factors):
            return _product(polynomial(factor) for factor in factors)
        case Power(base=base, exponent=exponent) if exponent.denominator == 1 and 0 < exponent < 9:
            return _product([polynomial(base)] * exponent.numerator)
        case Quot(top=top, bottom=bottom):
            below = polynomial(bottom)
            if set(below) == {_CONSTANT}:
                return {key: value / below[_CONSTANT] for key, value in polynomial(top).items()}
    raise DoesNotFit("an angle that is no polynomial of its symbols")


def _sum(parts: Iterable[Polynomial]) -> Polynomial:
    total: Polynomial = {}
    for part in parts:
        for key, value in part.items():
            total[key] = total.get(key, Fraction(0)) + value
    return {key: value for key, value in total.items() if value}


def _product(parts: Iterable[Polynomial]) -> Polynomial:
    total: Polynomial = {_CONSTANT: Fraction(1)}
    for part in parts:
        spend(_STEPS_PER_PAIR * len(total) * len(part))
        total = _sum({_times(a, b): x * y} for a, x in total.items() for b, y in part.items())
        if any(max(abs(value.numerator), value.denominator).bit_length() > _MOST_BITS for value in total.values()):
            raise TooLarge(f"an angle or exponent with a number of more than {_MOST_BITS} bits")
    return total


def _times(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for name, exponent in b:
        powers[name] = powers.get(name, 0) + exponent
    return tuple(sorted(powers.items()))


class Space:
    """The common properties of points: the arithmetic, the finest part of an angle, which symbols may be negative."""

    def __init__(self, field: Field, trees: Iterable[Node], signed: Iterable[Name] = (), seed: int = 0) -> None:
        self.field = field
        self.signed = frozenset(signed)
        self.seed = seed
        self._angles: dict[int, tuple[Node, Polynomial, Any]] = {}
        self._points: dict[int, Point] = {}
        self.parts = 1
        if isinstance(field, Modular):
            coefficients = [value for tree in trees for value in self._coefficients(tree)]
            self.parts = lcm(*(value.denominator for value in coefficients)) if coefficients else 1

    def _coefficients(self, tree: Node) -> Iterable[Fraction]:
        for node in distinct(tree):
            if isinstance(node, Trig):
                yield from (value for key, value in self.known_angle(node)[1].items() if key != _PI)

    def known_angle(self, node: Trig) -> tuple[Node, Polynomial, Any]:
        """The angle's node, what it is multiplied out, and a key for that."""
        known = self._angles.get(id(node.angle))
        if known is None:
            expanded = polynomial(node.angle)
            known = self._angles[id(node.angle)] = (node.angle, expanded, frozenset(expanded.items()))
        return known

    def point(self, number: int) -> Point:
        """The random point of this number; the same one whenever asked."""
        if number not in self._points:
            self._points[number] = Point(self, f"{self.seed}:{number}")
        return self._points[number]

    def agree(self, a: Node, b: Node, first: int = 0) -> bool:
        """Whether two expressions have the same values at random points from number `first` on.

        Raises:
            DoesNotFit: at hardly any point they have values at all.
        """
        passed = 0
        for number in range(first, first + MOST_POINTS):
            point = self.point(number)
            try:
                if not self.field.equal(point.of(a), point.of(b)):
                    return False
            except UnluckyPoint:
                continue
            passed += 1
            if passed == POINTS:
                return True
        raise DoesNotFit("roots or divisions that hardly any random point allows")


class Point:
    """Values for every symbol and angle, drawn when first asked for."""

    def __init__(self, space: Space, label: str, values: Mapping[Name, Any] | None = None) -> None:
        self.space, self.field, self.label, self.exact = space, space.field, label, space.field.exact
        self.values: dict[Name, Any] = dict(values or {})
        self._circle: dict[Any, Circle] = {}
        self._bodies: dict[int, tuple[Node, Any]] = {}  # sums and definitions may stand in many places

    def with_values(self, values: Mapping[Name, Any]) -> Point:
        """The same point, some symbols set otherwise; angles of an exact point stay."""
        other = Point(self.space, self.label, {**self.values, **values})
        other._circle = self._circle
        return other

    def with_body(self, body: Node, value: Any) -> Point:
        """The same point, a definition's body taken to have another value."""
        other = self.with_values({})
        other._bodies[id(body)] = (body, value)
        return other

    def value(self, name: Name) -> Any:
        """The value of a symbol."""
        value = self.values.get(name)
        if value is None:
            if name == PI and isinstance(self.field, Real):
                value = self.field.type(self.field.functions.pi)
            else:
                random = Random(f"{self.label}:{name}")
                value = self.field.sample(random, positive=name not in self.space.signed)
            self.values[name] = value
        return value

    def of(self, node: Node) -> Any:
        """The value of an expression."""
        spend()
        return _RULES[type(node)](self, node)

    def _total(self, node: Sum) -> Any:
        known = self._bodies.get(id(node))
        if known is None:
            spend(len(node.terms))
            total = _RULES[type(node.terms[0])](self, node.terms[0])
            for term in node.terms[1:]:
                total += _RULES[type(term)](self, term)
            known = self._bodies[id(node)] = (node, total % P if self.exact else total)
        return known[1]

    def _product(self, node: Prod) -> Any:
        spend(len(node.factors))
        total = _RULES[type(node.factors[0])](self, node.factors[0])
        for factor in node.factors[1:]:
            value = _RULES[type(factor)](self, factor)
            total = total * value % P if self.exact else total * value
        return total

    def _body(self, node: Ref) -> Any:
        known = self._bodies.get(id(node.body))
        if known is None:
            known = self._bodies[id(node.body)] = (node.body, self.of(node.body))
        return known[1]

    def _call(self, node: Call) -> Any:
        if not isinstance(self.field, Real):
            raise DoesNotFit(f"{node.function} modulo a prime")
        function = getattr(self.field.functions, node.function, None) or abs
        try:
            value = function(self.of(node.argument))
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            raise UnluckyPoint(f"{node.function} is not defined at a random point") from error
        if value.imag:
            raise UnluckyPoint(f"{node.function} is not real at a random point")
        return value

    def _trig(self, node: Trig) -> Any:
        cosine, sine = self.circle(node)
        if node.function == "tan":
            return self.field.mul(sine, self.field.inverse(cosine))
        return cosine if node.function == "cos" else sine

    def circle(self, node: Trig) -> Circle:
        """Cosine and sine of a node's angle."""
        if isinstance(self.field, Real):
            angle, functions = self.of(node.angle), self.field.functions
            return functions.cos(angle), functions.sin(angle)
        _, angle, key = self.space.known_angle(node)
        cos_sin = self._circle.get(key)
        if cos_sin is None:
            cos_sin = self._circle[key] = self._combined(angle)
        return cos_sin

    def _combined(self, angle: Polynomial) -> Circle:
        total: Circle = (1, 0)
        for monomial, coefficient in angle.items():
            if monomial == _PI:
                rotation, times = self._twelfth(), coefficient * 12
            else:
                rotation, times = self._unit(monomial), coefficient * self.space.parts
            if times.denominator != 1:
                raise DoesNotFit(f"{coefficient} of an angle modulo a prime")
            total = _rotated(total, _multiple(rotation, times.numerator))
        return total

    def _unit(self, monomial: Monomial) -> Circle:
        """A random point of the circle: t = tan(θ/2) gives ((1 − t²)/(1 + t²), 2t/(1 + t²))."""
        known = self._circle.get(monomial)
        if known is None:
            t = self.field.sample(Random(f"{self.label}:angle:{monomial}"), positive=False)
            below = self.field.inverse(1 + t * t)
            mul = self.field.mul
            known = self._circle[monomial] = (mul(1 - t * t, below), mul(2 * t, below))
        return known

    def _twelfth(self) -> Circle:
        """cos and sin of π/12 = (√6 ± √2)/4."""
        power, number = self.field.power, self.field.number
        two, six = (power(number(Fraction(n)), Fraction(1, 2)) for n in (2, 6))
        quarter = number(Fraction(1, 4))
        return self.field.mul(six + two, quarter), self.field.mul(six - two, quarter)


def _rotated(a: Circle, b: Circle) -> Circle:
    return (a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P


def _multiple(rotation: Circle, times: int) -> Circle:
    if times < 0:
        rotation, times = (rotation[0], -rotation[1]), -times
    total: Circle = (1, 0)
    while times:
        if times & 1:
            total = _rotated(total, rotation)
        rotation, times = _rotated(rotation, rotation), times >> 1
    return total


_RULES: dict[type, Any] = {
    Num: lambda point, node: point.field.number(node.value),
    Sym: lambda point, node: point.value(node.name),
    Neg: lambda point, node: point.field.sub(0, point.of(node.operand)),
    Sum: Point._total,
    Prod: Point._product,
    Quot: lambda point, node: point.field.mul(point.of(node.top), point.field.inverse(point.of(node.bottom))),
    Power: lambda point, node: point.field.power(point.of(node.base), node.exponent),
    Ref: Point._body,
    Call: Point._call,
    Trig: Point._trig,
    Numeric: lambda point, node: float(node.matrix(point)[node.row, node.column]),
}

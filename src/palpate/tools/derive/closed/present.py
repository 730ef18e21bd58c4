"""Normal forms turned into SymPy expressions that read like a textbook's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations
from math import gcd, isqrt, lcm, prod
from typing import Any

import sympy as sp

from palpate.tools.derive.closed.angles import AngleSum, Wave
from palpate.tools.derive.closed.harmonics import in_waves
from palpate.tools.derive.closed.trig import COS, NotTrigonometric, Ring, TrigPolynomial

Monomial = tuple[tuple[int, int], ...]  # (generator, exponent), generators ascending
Poly = dict[Monomial, Fraction]
# What people gather by before anything else: a few more signs are worth it.
_PREFERENCE = {"acceleration": 0.75, "rate": 0.75, "mass": 0.85}
SEARCH_TERMS = 60  # above this: no search among ways of gathering
GROUPS = ("mass", "gravity", "length", "other", "coordinate", "wave", "rate", "acceleration", "force")


@dataclass(frozen=True)
class PolynomialFactor:
    """A factor of a polynomial's terms: a symbol or a wave, the class it is gathered by, and its place in a product."""

    expression: Any
    group: str  # "mass", "gravity", "length", "wave", "rate", "acceleration", "coordinate", "other"
    order: tuple[Any, ...]


@dataclass(frozen=True)
class Written:
    """A way to write a polynomial: its SymPy tree and how much there is to write."""

    expression: Any
    cost: int


class Arranger:
    """Arranges polynomials over one table of generators; equal questions are answered once.

    Given a polynomial in parameters, rates and waves (c2, s12 …), looks for the cheapest way to write it: a common
    factor in front; terms gathered by mass, by rate or by wave, equal brackets joined; small sums factored outright.
    """

    def __init__(self, generators: list[PolynomialFactor]) -> None:
        self.generators = generators
        self._known: dict[frozenset[tuple[Monomial, Fraction]], Written] = {}
        self._groups = ("acceleration", "rate", "gravity", "mass", "wave")

    def arrange(self, poly: Poly) -> Written:
        """The cheapest writing found."""
        key = frozenset(poly.items())
        if key not in self._known:
            self._known[key] = self._arranged(poly)
        return self._known[key]

    def _arranged(self, poly: Poly) -> Written:
        if not poly:
            return Written(sp.Integer(0), 0)
        number, front, remainder = self._taken_out(poly)
        if len(remainder) == 1:
            return self._product(number * next(iter(remainder.values())), front, [])
        if not front and number == -1:  # a lone minus before a bracket is no simpler
            number, remainder = Fraction(1), poly
        inner = self._sum(remainder)
        return self._product(number, front, [inner]) if front or number != 1 else inner

    def _sum(self, poly: Poly) -> Written:
        """A polynomial of two or more terms without a common factor."""
        if (factored := self._factored(poly)) is not None:
            return factored
        candidates = [(self._plain(poly), 1.0)]
        groups = self._groups if len(poly) <= SEARCH_TERMS else self._first_group(poly)
        moving = any(self.generators[g].group == "rate" for m in poly for g, _ in m)
        for group in groups:
            if (gathered := self._gathered(poly, group)) is not None:
                candidates.append((gathered, 1.0 if group == "mass" and moving else _PREFERENCE.get(group, 1.0)))
        if (by_degree := self._by_degree(poly)) is not None:
            candidates.append((by_degree, 1.0))
        return min(candidates, key=lambda candidate: candidate[0].cost * candidate[1])[0]

    def _by_degree(self, poly: Poly) -> Written | None:
        """Terms of one degree in the waves together: what is constant beside a square, for one."""
        parts: dict[int, Poly] = {}
        for m, value in poly.items():
            parts.setdefault(sum(e for _, e in self._part(m, "wave")), {})[m] = value
        if len(parts) == 1:
            return None
        return self._add([self.arrange(part) for _, part in sorted(parts.items())])

    def _first_group(self, poly: Poly) -> tuple[str, ...]:
        """For a long sum: the first class by which its terms differ."""
        for group in self._groups:
            if len({self._part(m, group) for m in poly}) > 1:
                return (group,)
        return ()

    # ------------------------------------------------------------------ ways to write a sum

    def _plain(self, poly: Poly) -> Written:
        return self._add([self._product(value, m, []) for m, value in self._sorted(poly)])

    def _gathered(self, poly: Poly, group: str) -> Written | None:
        """Σ part · bracket over the monomials of one class, brackets that are equal up to a factor joined."""
        brackets: dict[frozenset[tuple[Monomial, Fraction]], tuple[Poly, Poly]] = {}
        parts: dict[Monomial, Poly] = {}
        for m, value in poly.items():
            part = self._part(m, group)
            parts.setdefault(part, {})[_quotient(m, part)] = value
        if len(parts) == 1:
            return None
        for part, inner in parts.items():
            number, front, bracket = self._taken_out(inner)
            outside, _ = brackets.setdefault(frozenset(bracket.items()), ({}, bracket))
            outside[_times(part, front)] = outside.get(_times(part, front), Fraction(0)) + number
        if len(brackets) == len(poly) or any(len(outside) == len(poly) for outside, _ in brackets.values()):
            return None  # nothing is gathered
        ordered = sorted(brackets.values(), key=lambda pair: self._rank(self._sorted(pair[0])[0][0]))
        return self._add([self._bracket(outside, bracket) for outside, bracket in ordered])

    def _bracket(self, outside: Poly, inside: Poly) -> Written:
        if set(inside) == {()}:
            return self.arrange({m: v * inside[()] for m, v in outside.items()})
        first = self.arrange(outside)
        if set(outside) == {()}:
            return self._product(outside[()], (), [self.arrange(inside)])
        return self._joined([first, self.arrange(inside)])

    def _factored(self, poly: Poly) -> Written | None:
        """A product of two brackets, or the square of one."""
        if (root := _square_root(poly, self._rank)) is not None:
            base = self.arrange(root)
            return Written(sp.Pow(base.expression, 2), base.cost + 1)
        for g in {g for m in poly for g, e in m if e == 1}:
            parts = [{m: v for m, v in poly.items() if ((g, 1) in m) == with_it} for with_it in (True, False)]
            if not parts[1]:
                continue
            (n1, f1, r1), (n2, f2, r2) = (self._taken_out(part) for part in parts)
            if len(r1) > 1 and r1 == r2:
                return self._joined([self.arrange({f1: n1, f2: n2}), self.arrange(r1)])
        return None

    # ------------------------------------------------------------------ pieces

    def _taken_out(self, poly: Poly) -> tuple[Fraction, Monomial, Poly]:
        """Number and monomial common to all terms, and what is left; its first term positive."""
        front = reduce(_common, poly)
        number = self._common_number(list(poly.values()))
        inner = {_quotient(m, front): value / number for m, value in poly.items()}
        if len(inner) > 1 and self._sorted(inner)[0][1] < 0 and sum(v < 0 for v in inner.values()) * 2 >= len(inner):
            number, inner = -number, {m: -v for m, v in inner.items()}
        return number, front, inner

    @staticmethod
    def _common_number(values: list[Fraction]) -> Fraction:
        """A factor that leaves whole numbers ±1, or a whole factor; 1 if taking it out would not help."""
        if len(values) == 1:
            return values[0]
        content = Fraction(reduce(gcd, (v.numerator for v in values)), reduce(lcm, (v.denominator for v in values)))
        if content.denominator == 1 or all(abs(v / content) == 1 for v in values):
            return content
        return Fraction(1)

    def _part(self, m: Monomial, group: str) -> Monomial:
        return tuple((g, e) for g, e in m if self.generators[g].group == group)

    def _rank(self, m: Monomial) -> tuple[Any, ...]:
        return tuple((self.generators[g].order, -e) for g, e in sorted(m, key=lambda x: self.generators[x[0]].order))

    def _sorted(self, poly: Poly) -> list[tuple[Monomial, Fraction]]:
        return sorted(poly.items(), key=lambda item: (not item[0], self._rank(item[0])))

    def _product(self, number: Fraction, m: Monomial, more: list[Written]) -> Written:
        ordered = sorted(m, key=lambda x: self.generators[x[0]].order)
        factors = [Written(sp.Pow(self.generators[g].expression, e), 1 if e == 1 else 2) for g, e in ordered]
        return self._joined([*factors, *more], number)

    @staticmethod
    def _joined(factors: list[Written], number: Fraction = Fraction(1)) -> Written:
        """A product, with brackets left standing."""
        head = [] if number == 1 else [sp.Rational(number.numerator, number.denominator)]
        flat = [part for factor in factors for part in sp.Mul.make_args(factor.expression)]
        numbers = [x for x in flat if x.is_Number]
        head_value = prod([*head, *numbers], start=sp.Integer(1))
        symbolic = [x for x in flat if not x.is_Number]
        cost = sum(f.cost for f in factors) + (0 if abs(head_value) == 1 else 1)
        if not symbolic:
            return Written(head_value, max(cost, 1))
        if len(symbolic) == 1 and isinstance(symbolic[0], sp.Add) and head_value != 1:
            return Written(sp.Mul(head_value, symbolic[0], evaluate=False), cost)  # SymPy would multiply it out
        return Written(sp.Mul(head_value, *symbolic), cost)

    @staticmethod
    def _add(terms: list[Written]) -> Written:
        if len(terms) == 1:
            return terms[0]
        return Written(sp.Add(*(t.expression for t in terms)), sum(t.cost for t in terms) + len(terms) - 1)


def _common(a: Monomial, b: Monomial) -> Monomial:
    other = dict(b)
    return tuple((g, min(e, other[g])) for g, e in a if g in other)


def _quotient(m: Monomial, part: Monomial) -> Monomial:
    out = dict(part)
    return tuple((g, e - out.get(g, 0)) for g, e in m if e > out.get(g, 0))


def _times(a: Monomial, b: Monomial) -> Monomial:
    total = dict(a)
    for g, e in b:
        total[g] = total.get(g, 0) + e
    return tuple(sorted(total.items()))


def _square_root(poly: Poly, rank: Callable[[Monomial], Any]) -> Poly | None:
    """r with r² = poly, if there is one of up to four terms."""
    count = {3: 2, 6: 3, 10: 4}.get(len(poly))  # a square of n terms has n (n + 1)/2
    if count is None:
        return None
    squares = [(m, v) for m, v in poly.items() if all(e % 2 == 0 for _, e in m) and _root(v) is not None]
    for chosen in combinations(sorted(squares, key=lambda item: rank(item[0])), count):
        root = {tuple((g, e // 2) for g, e in m): _root(v) or Fraction(0) for m, v in chosen}
        first, *others = root
        for m in others:
            if poly.get(_times(first, m), Fraction(0)) < 0:
                root[m] = -root[m]
        if _squared(root) == poly:
            return root
    return None


def _squared(poly: Poly) -> Poly:
    total: Poly = {}
    for a, x in poly.items():
        for b, y in poly.items():
            total[_times(a, b)] = total.get(_times(a, b), Fraction(0)) + x * y
    return {m: v for m, v in total.items() if v}


def _root(value: Fraction) -> Fraction | None:
    if value <= 0:
        return None
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    return Fraction(top, bottom) if top**2 == value.numerator and bottom**2 == value.denominator else None


class Presenter:
    """Writes trigonometric polynomials of one ring.

    Args:
        ring: whose variables and angles they use.
        groups: the class of each variable ("mass", "length", "rate" …), "other" where none is given.
        runs: angles that add up; those in no run stand alone.
    """

    def __init__(self, ring: Ring, groups: Mapping[str, str], runs: Sequence[AngleSum]) -> None:
        self.ring, self.groups, self._runs = ring, groups, tuple(runs)
        self._generators: list[PolynomialFactor] = []
        self._index: dict[Any, int] = {}
        self._arranger = Arranger(self._generators)

    def write(self, trig: TrigPolynomial) -> Any:
        """One expression: the cheaper of products of waves and waves of sums."""
        candidates = [self._arranger.arrange(self._poly(trig, products)) for products in (True, False)]
        return min(candidates, key=lambda candidate: candidate.cost).expression

    def matrix(self, rows: Iterable[Iterable[TrigPolynomial]]) -> Any:
        """A matrix of expressions."""
        return sp.ImmutableMatrix([[self.write(x) for x in row] for row in rows])

    def vector(self, entries: Iterable[TrigPolynomial]) -> Any:
        """A column of expressions."""
        return sp.ImmutableMatrix([[self.write(x)] for x in entries])

    def runs(self) -> list[AngleSum]:
        """Every angle in a run, alone if need be."""
        taken = {name for run in self._runs for name in run.names}
        return [*self._runs, *(AngleSum((name,), (1,)) for name in self.ring.angles if name not in taken)]

    def _poly(self, trig: TrigPolynomial, products: bool) -> Poly:
        poly: Poly = {}
        for (m, waves), value in in_waves(trig, self.runs(), products).items():
            key = self._monomial(m, waves)
            poly[key] = poly.get(key, Fraction(0)) + Fraction(value)
        return {m: v for m, v in poly.items() if v}

    def _monomial(self, m: int, waves: tuple[Wave, ...]) -> Monomial:
        powers: dict[int, int] = {}
        for name, exponent in self.ring.powers(m).items():
            powers[self._symbol(name)] = exponent
        for wave in waves:
            index = self._wave(wave)
            powers[index] = powers.get(index, 0) + 1
        return tuple(sorted(powers.items()))

    def _symbol(self, name: str) -> int:
        if name not in self._index:
            group = self.groups.get(name, "other")
            group = group if group in GROUPS else "other"
            self._add(name, PolynomialFactor(sp.Symbol(name), group, (GROUPS.index(group), *natural(name))))
        return self._index[name]

    def _wave(self, wave: Wave) -> int:
        if wave not in self._index:
            kind, angle = wave
            argument = sp.Add(*(k * sp.Symbol(name) for name, k in angle))
            expression = sp.cos(argument) if kind == COS else sp.sin(argument)
            order = (GROUPS.index("wave"), tuple(natural(name) for name, _ in angle), kind)
            self._add(wave, PolynomialFactor(expression, "wave", order))
        return self._index[wave]

    def _add(self, key: Any, generator: PolynomialFactor) -> None:
        self._index[key] = len(self._generators)
        self._generators.append(generator)


def natural(name: str) -> tuple[Any, ...]:
    """A sort key in which q2 comes before q10 and l1 before m1."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.findall(r"\d+|\D+", name))


class Tidy:
    """Writes expressions over one ring.

    Args:
        ring: of the derivation.
        presenter: writes its normal forms.
        squares: for a symbol that stands for a root, what its square is.
    """

    def __init__(self, ring: Ring, presenter: Presenter, squares: Mapping[str, Any]) -> None:
        self.ring, self.presenter, self.squares = ring, presenter, squares

    def __call__(self, expression: Any) -> Any:
        """The expression, rewritten; unchanged if it holds something that is neither a wave nor a quotient."""
        if hasattr(expression, "shape"):
            return sp.ImmutableMatrix([[self(x) for x in row] for row in expression.tolist()])
        try:
            return self._quotient(sp.sympify(expression))
        except NotTrigonometric:
            return sp.factor_terms(expression)

    def _quotient(self, expression: Any) -> Any:
        try:
            return self._polynomial(expression)
        except NotTrigonometric:
            pass
        top, bottom = sp.fraction(sp.cancel(sp.together(expression)))
        return self._polynomial(top) / self._polynomial(bottom)

    def _polynomial(self, expression: Any) -> Any:
        normal = self.ring.read(expression)
        short = self._reduced(normal)
        return self.presenter.write(short if len(short.terms) < len(normal.terms) else normal)

    def _reduced(self, normal: TrigPolynomial) -> TrigPolynomial:
        """With every square of a root replaced by what it is."""
        for name, square in self.squares.items():
            by_power = normal.coefficients([name])
            total = self.ring.zero
            inside = self.ring.read(square)
            for monomial, inner in by_power.items():
                power = self.ring.powers(monomial).get(name, 0)
                total = total + inner * inside ** (power // 2) * self.ring.variable(name) ** (power % 2)
            normal = total
        return normal

    def is_zero(self, expression: Any) -> bool:
        """Whether an expression vanishes identically, decided in normal form."""
        top, _ = sp.fraction(sp.together(expression))
        return not self._reduced(self.ring.read(top))

"""Trigonometric polynomials in one normal form: sums of coefficient · monomial · cos or sin of multiples of angles.

Products of cosines become sums of cosines of sums, so equal expressions have equal terms: no simplifying, no guessing.
A monomial is one integer, eight bits of exponent per variable; a combination of angles is one integer, a balanced digit
per angle; multiplying is adding integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

import sympy as sp

from palpate.errors import InvalidInput

COS, SIN = 0, 1
Key = tuple[int, int, int]  # monomial, combination of angles, COS or SIN
Coefficient = int | Fraction
_BITS = 8
_MASK, _HALF_BASE = (1 << _BITS) - 1, 1 << (_BITS - 1)


class NotTrigonometric(InvalidInput):
    """An expression that is no trigonometric polynomial (a root, a quotient, a sine of a product …)."""


class Ring:
    """The variables and angles of one derivation; both are added when first asked for."""

    def __init__(self) -> None:
        self.variables: dict[str, int] = {}  # each with its number
        self.angles: dict[str, int] = {}
        self.zero = TrigPolynomial(self, {})
        self.one = self.number(1)

    def number(self, value: Coefficient) -> TrigPolynomial:
        """A constant."""
        return TrigPolynomial(self, {(0, 0, COS): _whole(value)} if value else {})

    def variable(self, name: str) -> TrigPolynomial:
        """A parameter, a rate, an acceleration, or a coordinate that is no angle."""
        return TrigPolynomial(self, {(self._unit(name), 0, COS): 1})

    def cos(self, combination: Mapping[str, int]) -> TrigPolynomial:
        """cos Σ k·angle."""
        return self._wave(combination, COS)

    def sin(self, combination: Mapping[str, int]) -> TrigPolynomial:
        """sin Σ k·angle."""
        return self._wave(combination, SIN)

    def _wave(self, combination: Mapping[str, int], kind: int) -> TrigPolynomial:
        K = sum(k << (_BITS * self.angles.setdefault(name, len(self.angles))) for name, k in combination.items())
        terms: dict[Key, Coefficient] = {}
        _put(terms, 0, K, kind, 1)
        return TrigPolynomial(self, terms)

    def _unit(self, name: str) -> int:
        return 1 << (_BITS * self.variables.setdefault(name, len(self.variables)))

    def powers(self, monomial: int) -> dict[str, int]:
        """Exponents by name."""
        exponents = {}
        for name in self.variables:
            if monomial & _MASK:
                exponents[name] = monomial & _MASK
            monomial >>= _BITS
        return exponents

    def combination(self, K: int) -> dict[str, int]:
        """Whole multiples by angle."""
        multiples = {}
        for name in self.angles:
            digit = ((K + _HALF_BASE) & _MASK) - _HALF_BASE
            if digit:
                multiples[name] = digit
            K = (K - digit) >> _BITS
        return multiples

    # ------------------------------------------------------------------ from sympy

    def read(self, expression: Any) -> TrigPolynomial:
        """A SymPy expression in normal form.

        Raises:
            NotTrigonometric: it is no trigonometric polynomial.
        """
        return self._read(sp.sympify(expression))

    def _read(self, e: sp.Basic) -> TrigPolynomial:
        if isinstance(e, sp.Symbol):
            return self.variable(e.name)
        if isinstance(e, sp.Rational):
            return self.number(Fraction(int(e.p), int(e.q)))
        if isinstance(e, sp.Float):
            return self.number(Fraction(repr(float(e))))
        if isinstance(e, sp.Add):
            return sum((self._read(x) for x in e.args), self.zero)
        if isinstance(e, sp.Mul):
            return prod((self._read(x) for x in e.args), start=self.one)
        if isinstance(e, sp.Pow) and e.exp.is_Integer and int(e.exp) > 0:
            return self._read(e.base) ** int(e.exp)
        if isinstance(e, sp.sin | sp.cos):
            return self._read_wave(e)
        raise NotTrigonometric(f"{e} is no trigonometric polynomial")

    def _read_wave(self, e: sp.Basic) -> TrigPolynomial:
        combination, quarters = {}, 0
        for term in sp.Add.make_args(sp.expand(e.args[0])):
            factor, angle = term.as_coeff_Mul()
            if angle == sp.pi and (2 * factor).is_Integer:
                quarters += int(2 * factor)
            elif isinstance(angle, sp.Symbol) and factor.is_Integer:
                combination[angle.name] = int(factor)
            else:
                raise NotTrigonometric(f"{e}: the angle is no whole combination of symbols")
        quarters += 0 if isinstance(e, sp.cos) else -1  # sin x = cos(x − π/2)
        wave, sign = ((self.cos, 1), (self.sin, -1), (self.cos, -1), (self.sin, 1))[quarters % 4]
        return wave(combination) * sign


class TrigPolynomial:
    """A trigonometric polynomial; +, − and · with others, · also with numbers."""

    __slots__ = ("ring", "terms")

    def __init__(self, ring: Ring, terms: dict[Key, Coefficient]) -> None:
        self.ring, self.terms = ring, terms

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrigPolynomial) and self.terms == other.terms

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: TrigPolynomial) -> TrigPolynomial:
        if len(self.terms) < len(other.terms):
            self, other = other, self
        terms = dict(self.terms)
        for key, value in other.terms.items():
            total = terms.get(key, 0) + value
            if total:
                terms[key] = total
            else:
                del terms[key]
        return TrigPolynomial(self.ring, terms)

    def __neg__(self) -> TrigPolynomial:
        return TrigPolynomial(self.ring, {key: -value for key, value in self.terms.items()})

    def __sub__(self, other: TrigPolynomial) -> TrigPolynomial:
        return self + (-other)

    def __mul__(self, other: TrigPolynomial | Coefficient) -> TrigPolynomial:
        if not isinstance(other, TrigPolynomial):
            return TrigPolynomial(self.ring, {k: _whole(v * other) for k, v in self.terms.items()} if other else {})
        terms: dict[Key, Coefficient] = {}
        for (m1, K1, o1), a in self.terms.items():
            for (m2, K2, o2), b in other.terms.items():
                _product(terms, m1 + m2, (K1, o1), (K2, o2), a * b)
        return TrigPolynomial(self.ring, {key: _whole(value) for key, value in terms.items() if value})

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> TrigPolynomial:
        return prod([self] * exponent, start=self.ring.one)

    # ------------------------------------------------------------------ calculus

    def by_variable(self, name: str) -> TrigPolynomial:
        """∂/∂variable."""
        unit, shift = self.ring._unit(name), _BITS * self.ring.variables[name]
        terms = {}
        for (m, K, o), value in self.terms.items():
            exponent = (m >> shift) & _MASK
            if exponent:
                terms[m - unit, K, o] = value * exponent
        return TrigPolynomial(self.ring, terms)

    def by_angle(self, name: str) -> TrigPolynomial:
        """∂/∂angle: cos → −k sin, sin → k cos."""
        terms: dict[Key, Coefficient] = {}
        for (m, K, o), value in self.terms.items():
            k = self.ring.combination(K).get(name, 0)
            if k:
                _put(terms, m, K, 1 - o, value * (k if o == SIN else -k))
        return TrigPolynomial(self.ring, terms)

    def coefficients(self, names: Iterable[str]) -> dict[int, TrigPolynomial]:
        """The polynomial by monomials in the named variables: {monomial: cofactor}."""
        known = self.ring.variables
        mask = sum(_MASK << (_BITS * known[n]) for n in names if n in known)
        parts: dict[int, dict[Key, Coefficient]] = {}
        for (m, K, o), value in self.terms.items():
            parts.setdefault(m & mask, {})[m & ~mask, K, o] = value
        return {inner: TrigPolynomial(self.ring, terms) for inner, terms in parts.items()}

    def coefficient(self, name: str) -> TrigPolynomial:
        """The coefficient of the first power of a variable."""
        unit = self.ring._unit(name)
        return self.coefficients([name]).get(unit, self.ring.zero)

    def __repr__(self) -> str:
        return f"Trig({len(self.terms)} terms)"


def _whole(value: Coefficient) -> Coefficient:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _put(terms: dict[Key, Coefficient], m: int, K: int, o: int, value: Coefficient) -> None:
    """Add value · cos K or sin K, K made positive."""
    if K < 0:
        K, value = -K, -value if o else value
    if K == 0 and o:
        return
    key = (m, K, o)
    terms[key] = terms.get(key, 0) + value


def _product(terms: dict[Key, Coefficient], m: int, a: tuple[int, int], b: tuple[int, int], value: Coefficient) -> None:
    """Add value · wave a · wave b by cos a cos b = ½ (cos(a+b) + cos(a−b)) and its kin."""
    (K1, o1), (K2, o2) = a, b
    if K1 == 0:
        _put(terms, m, K2, o2, value)
        return
    if K2 == 0:
        _put(terms, m, K1, o1, value)
        return
    half = Fraction(value, 2)
    if o1 == o2:
        _put(terms, m, K1 + K2, COS, -half if o1 else half)
        _put(terms, m, K1 - K2, COS, half)
    else:
        _put(terms, m, K1 + K2, SIN, half)
        _put(terms, m, K1 - K2, SIN, half if o1 else -half)

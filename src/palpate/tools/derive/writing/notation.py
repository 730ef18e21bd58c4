"""How expressions are put on paper: order, signs, brackets and shorthand, the same for text, LaTeX and MathML.

A `Notation` walks a SymPy tree and asks a `Style` to spell its pieces. Products are ordered as people write them:
numbers, masses, gravity, lengths, sines and cosines, rates, accelerations. c12 stands for cos(q1 + q2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from palpate.equations.model.naming import CoordinateNames
from palpate.equations.spelling import Name, Style, split_name
from palpate.tools.derive.closed.present import GROUPS, natural

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4


@dataclass
class Notation:
    """Writes expressions of one derivation in one style.

    Attributes:
        decimals: write fractions as decimals, as one does where numbers were put in.
        shorthand: what was abbreviated so far: {"c12": ("cos", q1 + q2)}.
        used: names of the symbols written so far.
    """

    style: Style
    names: CoordinateNames
    groups: Mapping[str, str]
    decimals: bool = False
    shorthand: dict[str, tuple[str, Any]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    # ------------------------------------------------------------------ names

    def symbol(self, name: str) -> str:
        """A symbol by its plain name."""
        self.used.add(name)
        return self.style.name(self.split_name(name))

    def split_name(self, name: str) -> Name:
        """Head, subscript and dots of a plain name: dq1 is q̇1 where q1 is a coordinate, dvx is v̇x of a free base."""
        for dots in (2, 1):
            base = name[dots:]
            if name.startswith("d" * dots) and base in (*self.names.q, *self.names.v):
                inner = self.split_name(base)
                return inner._replace(dots=inner.dots + dots)
        return split_name(name)

    def label(self, text: str) -> str:
        """The left side of a formula: a name, or pieces such as "d/dt ∂L/∂dq1"."""
        pieces = []
        for piece in text.split(" "):
            parts = [self._label_part(part) for part in piece.split("/")]
            pieces.append(parts[0] if len(parts) == 1 else self.style.quotient(parts[0], parts[1], False))
        return self.style.product(pieces) if len(pieces) > 1 else pieces[0]

    def _label_part(self, part: str) -> str:
        if part.startswith("∂"):
            return self.style.partial(self._label_part(part[1:]))
        if part in ("d", "dt"):
            return self.style.name(Name(part))
        if part in ("dq", "ddq"):
            return self.style.name(Name("q", "", len(part) - 1))
        if re.match(r"d[A-Z]", part):
            return self.style.name(Name(part[1], part[2:].lstrip("_"), 1))
        return self.symbol(part)

    # ------------------------------------------------------------------ expressions

    def write(self, expression: Any) -> str:
        """An expression, a matrix, or a scalar."""
        if hasattr(expression, "shape"):
            return self.style.matrix([[self.write(x) for x in row] for row in expression.tolist()])
        return self._write(sp.sympify(expression))[0]

    def _write(self, e: Any) -> tuple[str, int]:
        if isinstance(e, sp.Symbol):
            return self.symbol(e.name), ATOM
        if e.is_Number:
            return self._number(e)
        if isinstance(e, sp.Add):
            return self._sum(e), SUM
        if isinstance(e, sp.Mul):
            return self._product(e)
        if isinstance(e, sp.Pow):
            return self._power(e)
        if isinstance(e, sp.sin | sp.cos):
            return self._wave(e)
        if e == sp.pi:
            return self.style.name(Name("pi")), ATOM
        if isinstance(e, sp.Abs):
            return self.style.absolute(self.write(e.args[0])), ATOM
        inside = ", ".join(self.write(a) for a in e.args)
        return self.style.function(type(e).__name__, inside, False), ATOM

    def _number(self, e: Any) -> tuple[str, int]:
        if e.is_negative:
            return self.style.sum([(True, self._number(-e)[0])]), SUM
        if e.is_Rational and not e.is_Integer:
            if self.decimals or int(e.q) > 1000:
                return self.style.number(float(e)), ATOM
            return self.style.quotient(self.style.number(int(e.p)), self.style.number(int(e.q)), True), PRODUCT
        return self.style.number(int(e) if e.is_Integer else float(e)), ATOM

    def _sum(self, e: Any) -> str:
        spelt = []
        for term in sorted(e.args, key=self._term_key):
            negative = _is_negative(term)
            bare = term if not negative else _positive(term) if isinstance(term, sp.Mul) else -term
            text, strength = self._write(bare)
            spelt.append((negative, self.style.brackets(text) if strength == SUM else text))
        return self.style.sum(spelt)

    def _product(self, e: Any) -> tuple[str, int]:
        e = _brackets_positive(e)
        if _is_negative(e):
            text, strength = self._write(_positive(e))
            return self.style.sum([(True, self.style.brackets(text) if strength == SUM else text)]), SUM
        number, top, bottom = _parts(e)
        p, q = (int(number.p), int(number.q)) if number.is_Rational else (number, 1)
        if q > 1000 or (q > 1 and self.decimals):
            p, q = sp.Float(number, 17), 1
        return self._assembled(p, q, sorted(top, key=self._key), sorted(bottom, key=self._key)), PRODUCT

    def _assembled(self, p: Any, q: int, top: list[Any], bottom: list[Any]) -> str:
        """p/q · Π top / Π bottom: on one line with a stroke, otherwise with small fractions of numbers in front."""
        style = self.style
        leading = [] if p == 1 else [style.number(p if isinstance(p, int) else float(p))]
        factors = [self._factor(x) for x in top]
        if not bottom and q == 1:
            return style.product([*leading, *factors])
        if not bottom and not style.inline:
            return style.product([style.quotient(style.number(p), style.number(q), True), *factors])
        divisors = [*([style.number(q)] if q != 1 else []), *(self._factor(x) for x in bottom)]
        high, low = style.product([*leading, *factors] or [style.number(1)]), style.product(divisors)
        if style.inline:
            low = low if len(divisors) == 1 else style.brackets(low)
        else:  # over and under a line, a single sum needs no brackets
            high = self.write(top[0]) if len(top) == 1 and not leading else high
            low = self.write(bottom[0]) if len(divisors) == 1 else low
        return style.quotient(high, low, False)

    def _factor(self, e: Any) -> str:
        text, strength = self._write(e)
        return self.style.brackets(text) if strength < POWER else text

    def _power(self, e: Any) -> tuple[str, int]:
        base, exponent = e.base, e.exp
        if exponent == sp.Rational(1, 2):
            return self.style.root(self.write(base)), ATOM
        if exponent.is_negative:
            below = sp.Pow(base, -exponent)
            text = self._factor(below) if self.style.inline else self.write(below)
            return self.style.quotient(self.style.number(1), text, False), PRODUCT
        text, strength = self._write(base)
        if strength < ATOM:
            text = self.style.brackets(text)
        return self.style.power(text, self.write(exponent)), POWER

    def _wave(self, e: Any) -> tuple[str, int]:
        kind, argument = type(e).__name__, e.args[0]
        short = self.short(kind, argument)
        if short is not None:
            self.shorthand.setdefault(short, (kind, argument))
            return self.style.name(Name(short[0], short[1:])), ATOM
        return self.style.function(kind, self.write(argument), isinstance(argument, sp.Symbol)), POWER

    def short(self, kind: str, argument: Any) -> str | None:
        """c12 for cos(q1 + q2), where the angles are q1 … q9 (or another letter) counted once."""
        digits, heads = [], set()
        for term in sp.Add.make_args(argument):
            if not isinstance(term, sp.Symbol) or term.name not in self.names.q:
                return None
            name = split_name(term.name)
            if not re.fullmatch(r"[1-9]", name.sub):
                return None
            digits.append(name.sub)
            heads.add(name.base)
        if len(heads) > 1 or (len(self.names.q) > 9):
            return None
        return kind[0] + "".join(sorted(digits))

    # ------------------------------------------------------------------ order

    def _key(self, e: Any) -> tuple[Any, ...]:
        """Place of a factor in a product: by class, then by name; mixed brackets between lengths and waves."""
        base = e.base if isinstance(e, sp.Pow) else e
        if isinstance(base, sp.Symbol):
            return (self._class(base.name), 0, (natural(base.name),))
        if isinstance(base, sp.sin | sp.cos):
            return (GROUPS.index("wave"), 0, _names(base), isinstance(base, sp.sin))
        if isinstance(base, sp.Add):
            classes = {self._class(name) for name in free_names(base) - set(self.names.q)}
            only = len(classes) == 1 and not base.atoms(sp.sin, sp.cos)
            return (classes.pop() if only else GROUPS.index("coordinate") - 0.5, 1, _names(base))
        return (GROUPS.index("other"), 2, _names(base))

    def _class(self, name: str) -> float:
        group = self.groups.get(name, "other")
        return GROUPS.index(group if group in GROUPS else "other")

    def _term_key(self, e: Any) -> tuple[Any, ...]:
        """Place of a term in a sum: by accelerations, by rates, the rest, gravity; numbers first among equals."""
        factors = [x for x in sp.Mul.make_args(e) if not x.is_Number]
        names = free_names(e)
        for rank, table in ((0, self.names.a), (1, self.names.v)):
            if names & set(table):
                moving = [x for x in factors if free_names(x) & set(table)]
                inner = tuple(name for x in moving for name in _names(x) for _ in range(_times(x)))
                return (rank, inner, self._rest_key(factors))
        rank = 3 if any(self.groups.get(n) == "gravity" for n in names) else 2
        return (rank, (), self._rest_key(factors))

    def _rest_key(self, factors: Sequence[Any]) -> tuple[Any, ...]:
        keys = [(k[0], k[2]) for x in factors for k in [self._key(x)] for _ in range(_times(x))]
        return tuple(sorted(keys))


def free_names(e: Any) -> set[str]:
    """Names of the symbols in an expression."""
    return {symbol.name for symbol in e.free_symbols}


def _names(e: Any) -> tuple[Any, ...]:
    """Names in an expression, in natural order; nested tuples, comparable."""
    return tuple(sorted(natural(name) for name in free_names(e)))


def _times(e: Any) -> int:
    return int(e.exp) if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp > 0 else 1


def _is_negative(e: Any) -> bool:
    if e.is_Number:
        return bool(e.is_negative)
    return isinstance(e, sp.Mul) and e.args[0].is_Number and bool(e.args[0].is_negative)


def _brackets_positive(e: Any) -> Any:
    """A product whose brackets hold no sums of negative terms only: c (−a − b) = −c (a + b)."""
    sign, factors = 1, []
    for x in e.args:
        if isinstance(x, sp.Add) and all(_is_negative(t) for t in x.args):
            sign, x = -sign, sp.Add(*(-t for t in x.args))
        factors.append(x)
    if sign > 0 and factors == list(e.args):
        return e
    number = factors.pop(0) if factors[0].is_Number else sp.Integer(1)
    head = [] if sign * number == 1 else [sign * number]
    return sp.Mul(*head, *factors, evaluate=False)


def _positive(e: Any) -> Any:
    """−e for a product that starts with a negative number, its brackets left standing."""
    number, *factors = e.args
    if number == -1:
        return factors[0] if len(factors) == 1 else sp.Mul(*factors)
    return sp.Mul(-number, *factors, evaluate=False)


def _parts(e: Any) -> tuple[Any, list[Any], list[Any]]:
    """Number, factors above and factors below the line."""
    number, top, bottom = sp.Integer(1), [], []
    for x in e.args:
        if x.is_Number:
            number *= x
        elif isinstance(x, sp.Pow) and x.exp.is_number and x.exp.is_negative:
            bottom.append(sp.Pow(x.base, -x.exp))
        else:
            top.append(x)
    return number, top, bottom

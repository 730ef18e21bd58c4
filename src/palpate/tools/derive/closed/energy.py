"""Equations of motion from given energies: T quadratic in the rates, V of the coordinates, any generalised forces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp

from palpate.equations.algebra.graph import Output
from palpate.equations.model.naming import CoordinateNames, NamedConstant
from palpate.errors import InvalidInput, UnknownName, check_names
from palpate.forking import cached_property
from palpate.tools.derive.closed.angles import AngleSum
from palpate.tools.derive.closed.forms import WrittenForms
from palpate.tools.derive.closed.present import Presenter, Tidy, natural
from palpate.tools.derive.closed.trig import NotTrigonometric, Ring

AVAILABLE = ("T", "V", "M", "C", "g", "bias", "tau")


class EnergyForms(WrittenForms):
    """Lagrange's equations of a system given by its energies.

    Args:
        T, V: energies in plain symbols.
        q: names of the coordinates; the rate of "x" is "dx".
        forces: generalised forces, one per coordinate.
        where: shorthand that depends on the coordinates, {"z": sqrt(l**2 - x**2)}.
        values: numbers for parameters; symbols outside are unknown if any are given.
    """

    def __init__(
        self, T: Any, V: Any, q: tuple[str, ...], forces: Sequence[Any] | None, where: Mapping[str, Any],
        values: Mapping[str, float] | None,
    ) -> None:  # fmt: skip
        self.T, self.V, self.where = T, V, dict(where)
        names = CoordinateNames(
            q, tuple(f"d{x}" for x in q), tuple(f"dd{x}" for x in q), tuple(f"Q{i + 1}" for i in range(len(q))), ()
        )
        self.forces: Any = sp.ImmutableMatrix([[f] for f in forces or map(sp.Symbol, names.tau)])
        super().__init__(names, self._parameters_used(names, values))
        self.groups |= dict.fromkeys(self.where, "coordinate")
        known = {*self.names.q, *self.names.v, *self.names.a, *self.parameters, *self.where}
        self.inputs = tuple(sorted({s.name for f in self.forces for s in f.free_symbols} - known, key=natural))
        self.ring = Ring()
        angles = {s.name for e in (T, V) for wave in e.atoms(sp.sin, sp.cos) for s in wave.free_symbols}
        run = tuple(name for name in q if name in angles)
        self.presenter = Presenter(self.ring, self.groups, [AngleSum(run, (1,) * len(run))] if run else [])
        self._tidy = Tidy(self.ring, self.presenter, self._squares())
        self._check()

    # ------------------------------------------------------------------ what is given

    def _parameters_used(self, names: CoordinateNames, values: Mapping[str, float] | None) -> dict[str, NamedConstant]:
        """Every symbol of the energies that is no coordinate, rate or shorthand."""
        state = {*names.q, *names.v, *names.a, *self.where}
        inside = [self.T, self.V, *self.where.values()]
        used = sorted({s.name for e in inside for s in e.free_symbols} - state, key=natural)
        if values is not None and (unknown := [name for name in used if name not in values]):
            raise UnknownName("symbol", unknown[0], [*names.q, *names.v, *self.where, *values])
        numbers = {name: float(values[name]) if values else float("nan") for name in used}
        return {name: NamedConstant(name, value, _group(name), "", "") for name, value in numbers.items()}

    def _squares(self) -> dict[str, Any]:
        roots = {name: e for name, e in self.where.items() if isinstance(e, sp.Pow) and e.exp == sp.Rational(1, 2)}
        return {name: e.base for name, e in roots.items()}

    def _check(self) -> None:
        rates = [sp.Symbol(v) for v in self.names.v]
        for what, e, wrong in (("V", self.V, [*rates]), ("T", self.T, [])):
            bad = [s for s in (*wrong, *map(sp.Symbol, self.names.a)) if s in self._full(e).free_symbols]
            if bad:
                raise InvalidInput(f"{what} must not depend on {', '.join(map(str, bad))}")
        for i, entry in enumerate(self._hessian):
            bad = [s for s in rates if s in entry.free_symbols and not self.is_zero(sp.diff(entry, s))]
            if bad:
                row, column = divmod(i, len(rates))
                where = f"∂²T/∂{rates[row]}∂{rates[column]} still holds {', '.join(map(str, bad))}"
                raise InvalidInput(
                    f"T is not quadratic in the rates: {where}",
                    hint="T must be ½ q̇ᵀ M(q) q̇; check powers of the rates",
                )
        v = sp.Matrix(rates)
        remainder = self.T - (v.T * self._hessian * v)[0] / 2
        if not self.is_zero(remainder):
            raise InvalidInput(
                f"T is not quadratic in the rates: beside ½ q̇ᵀ M q̇ it holds {self.tidy(sp.expand(remainder))}",
                hint="terms of first or zeroth degree in the rates (a moving frame) belong in V or the forces",
            )

    def _full(self, e: Any) -> Any:
        """Without shorthand."""
        return e.subs({sp.Symbol(name): value for name, value in self.where.items()})

    def is_zero(self, e: Any) -> bool:
        """Whether an expression vanishes identically: in normal form, or at random points where there is none."""
        if e == 0:
            return True
        try:
            return self._tidy.is_zero(e)
        except NotTrigonometric:
            return vanishes(self._full(e))

    # ------------------------------------------------------------------ calculus

    def partial(self, e: Any, name: str) -> Any:
        """∂e/∂coordinate, shorthand included: z = √R gives ∂z = ∂R / 2z."""
        x = sp.Symbol(name)
        total = sp.diff(e, x)
        squares = self._squares()
        for short, meaning in self.where.items():
            z = sp.Symbol(short)
            if z in e.free_symbols:
                inner = sp.diff(squares[short], x) / (2 * z) if short in squares else sp.diff(meaning, x)
                total += sp.diff(e, z) * inner
        return total

    @cached_property
    def _hessian(self) -> Any:
        return sp.hessian(self.T, [sp.Symbol(v) for v in self.names.v])

    @cached_property
    def M(self) -> Any:
        """∂²T/∂q̇², written."""
        return self.tidy(self._hessian)

    @cached_property
    def C(self) -> Any:
        """Christoffel's Coriolis matrix, written."""
        n, q = len(self.names.q), self.names.q
        D = [[[self.partial(self.M[i, j], name) for name in q] for j in range(n)] for i in range(n)]
        rates = [sp.Symbol(v) for v in self.names.v]
        return self.tidy(
            sp.Matrix(n, n, lambda i, j: sum((D[i][j][k] + D[i][k][j] - D[j][k][i]) * rates[k] / 2 for k in range(n)))
        )

    @cached_property
    def g(self) -> Any:
        """∂V/∂q, written."""
        return self.tidy(sp.Matrix([[self.partial(self.V, name)] for name in self.names.q]))

    # ------------------------------------------------------------------ by name

    def expression(self, name: str) -> Any:
        """A quantity as SymPy."""
        check_names("quantity of a system given by its energies", [name], AVAILABLE)
        if name not in ("bias", "tau"):
            return getattr(self, name)
        v, a = (sp.Matrix([sp.Symbol(x) for x in names]) for names in (self.names.v, self.names.a))
        rows = self.C * v + self.g if name == "bias" else self.M * a + self.C * v + self.g
        return sp.ImmutableMatrix([[self.gathered(row)] for row in rows])

    def gathered(self, row: Any) -> Any:
        """One expression by accelerations and products of rates."""
        symbols = [sp.Symbol(x) for x in (*self.names.v, *self.names.a)]
        parts = sp.Poly(sp.expand(row), *symbols).terms() if row != 0 else []
        total = sp.Integer(0)
        for exponents, inner in parts:
            total += sp.Mul(*(s**e for s, e in zip(symbols, exponents))) * self.tidy(inner)
        return total

    def _read(self, name: str, expression: Any) -> Output:
        return super()._read(name, self._full(expression))  # shorthand written out

    def tidy(self, expression: Any) -> Any:
        """Any expression in this system's symbols, written as a person would."""
        return self._tidy(expression)


def _group(name: str) -> Any:
    """A guess at what a parameter is, for the order in which it is written."""
    first = name[0]
    if first == "g" and len(name) <= 2:
        return "gravity"
    return "mass" if first in "mMIJ" else "length"


def vanishes(e: Any) -> bool:
    """Whether an expression is zero at three random points, with fifty digits."""
    import random

    chance = random.Random(0)
    for _ in range(3):
        at = {s: sp.Rational(chance.randint(1, 10**6), 10**7 + 19) for s in e.free_symbols}
        value = sp.N(e.subs(at), 50)
        if not value.is_number or abs(value) > sp.Float("1e-35"):
            return False
    return True

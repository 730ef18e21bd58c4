"""Holonomic constraints φ(q) = 0 on a derivation: multipliers, and equations in the coordinates that are left.

With A = ∂φ/∂q: M q̈ + C q̇ + g = Q + Aᵀ λ and A q̈ + Ȧ q̇ = 0. With q = q(y) and E = ∂q/∂y, the constraint forces do no
work along E: Eᵀ M E ÿ + Eᵀ (M Ė ẏ + C E ẏ) + Eᵀ g = Eᵀ Q.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from palpate.equations.spelling import Latex, Text
from palpate.errors import InvalidInput, UnknownName, check_names
from palpate.forking import cached_property
from palpate.tools.derive.closed.energy import vanishes
from palpate.tools.derive.start import expression
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.latex import as_latex
from palpate.tools.derive.writing.plain_text import as_text

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation


@dataclass(frozen=True)
class ConstrainedDerivation:
    """A derivation under constraints.

    Attributes:
        constraints: φ, each zero along every motion.
        solved: dependent coordinates in terms of the others, or None if no way to solve for them is known.
    """

    derivation: Derivation
    constraints: tuple[Any, ...]
    solved: dict[Any, Any] | None

    # ------------------------------------------------------------------ with multipliers

    @cached_property
    def A(self) -> Any:
        """∂φ/∂q, one row per constraint."""
        return self._tidy(sp.Matrix(self.constraints).jacobian(self.derivation.q))

    @cached_property
    def drift(self) -> Any:
        """Ȧ q̇."""
        v = sp.Matrix(self.derivation.v)
        return self._tidy((self.A * v).jacobian(self.derivation.q) * v)

    @property
    def multipliers(self) -> tuple[Any, ...]:
        """λ, the generalised forces of the constraints."""
        return tuple(sp.Symbol(f"lambda{i + 1}") for i in range(len(self.constraints)))

    @cached_property
    def equations(self) -> Any:
        """M q̈ + C q̇ + g − Q − Aᵀ λ above A q̈ + Ȧ q̇; zero along every motion."""
        d = self.derivation
        upper = sp.Matrix(d["tau"]) - sp.Matrix(d.forces) - self.A.T * sp.Matrix(self.multipliers)
        return sp.ImmutableMatrix(sp.Matrix.vstack(upper, self.A * sp.Matrix(d.a) + self.drift))

    # ------------------------------------------------------------------ reduced

    @property
    def independent(self) -> tuple[Any, ...]:
        """Coordinates that are left."""
        return tuple(q for q in self.derivation.q if q not in self._solution)

    @property
    def _solution(self) -> dict[Any, Any]:
        if self.solved is None:
            raise InvalidInput(
                "no closed form of the dependent coordinates is known for these constraints",
                hint="give one: solve={'q2': '-2*q1'}; the equations with multipliers are there without it",
            )
        return self.solved

    @cached_property
    def _E(self) -> Any:
        return sp.Matrix([self._solution.get(q, q) for q in self.derivation.q]).jacobian(self.independent)

    def _rates(self, table: Sequence[Any]) -> Any:
        """The independent ones of a list of symbols in the order of the coordinates."""
        return sp.Matrix([table[self.derivation.q.index(y)] for y in self.independent])

    @cached_property
    def _motion(self) -> tuple[Any, Any, Any]:
        """q̇, Ė ẏ and the substitution that puts the constraints into an expression."""
        d = self.derivation
        y_rate = self._rates(d.v)
        q_rate = self._E * y_rate
        put = dict(self._solution) | {v: x for v, x in zip(d.v, q_rate) if v != x}
        return q_rate, q_rate.jacobian(self.independent) * y_rate, put

    def _substituted(self, e: Any) -> Any:
        """An expression with the constraints put in."""
        return sp.sympify(e).subs(self._motion[2], simultaneous=True)

    @cached_property
    def M(self) -> Any:
        """Eᵀ M E."""
        return self._tidy(self._E.T * self._substituted(sp.Matrix(self.derivation.M)) * self._E)

    @cached_property
    def coriolis(self) -> Any:
        """Eᵀ (M Ė ẏ + C E ẏ)."""
        q_rate, E_drift, _ = self._motion
        M, C = (self._substituted(sp.Matrix(matrix)) for matrix in (self.derivation.M, self.derivation.C))
        return self._tidy(self._E.T * (M * E_drift + C * q_rate))

    @cached_property
    def g(self) -> Any:
        """Eᵀ g."""
        return self._tidy(self._E.T * self._substituted(sp.Matrix(self.derivation.g)))

    @cached_property
    def forces(self) -> Any:
        """Eᵀ Q."""
        return sp.ImmutableMatrix(self._E.T * self._substituted(sp.Matrix(self.derivation.forces)))

    @cached_property
    def reduced(self) -> Any:
        """Eᵀ M E ÿ + Eᵀ (M Ė ẏ + C E ẏ) + Eᵀ g, which equals Eᵀ Q."""
        y_acc = self._rates(self.derivation.a)
        return sp.ImmutableMatrix(self.M * y_acc + self.coriolis + self.g)

    @cached_property
    def multiplier_values(self) -> Any:
        """λ along a motion, from the equations of the dependent coordinates: A_dᵀ λ = (M q̈ + C q̇ + g − Q)_d."""
        d = self.derivation
        _, E_drift, _ = self._motion
        acc = self._E * self._rates(d.a) + E_drift
        left = self._substituted(sp.Matrix(d.M)) * acc + self._substituted(sp.Matrix(d["bias"]) - sp.Matrix(d.forces))
        dependent = [i for i, q in enumerate(d.q) if q in self._solution]
        inner = self._substituted(sp.Matrix(self.A))[:, dependent].T
        values = inner.LUsolve(sp.Matrix([left[i] for i in dependent]))
        return self._tidy(values)

    def _tidy(self, e: Any) -> Any:
        return self.derivation.forms.tidy(e)

    # ------------------------------------------------------------------ documents

    def sections(self) -> list[Section]:
        """The constraint, its Jacobian, the multipliers' equations, and the reduced ones where they are known."""
        d = self.derivation
        first = [Formula(f"phi_{i + 1}", phi) for i, phi in enumerate(self.constraints)]
        made = [
            Section("Constraints φ(q) = 0", (), tuple(first)),
            Section(
                "With multipliers: M q̈ + C q̇ + g = Q + Aᵀ λ, A q̈ + Ȧ q̇ = 0",
                (),
                (Formula("A", self.A), Formula("dA dq", self.drift), Formula("M", d.M), Formula("g", d.g)),
            ),
        ]
        if self.solved is None:
            return made
        solution = [Formula(str(q), e) for q, e in self.solved.items()]
        rows = [Formula(f"Q_{y}", e) for y, e in zip(self.independent, self.reduced)]
        forces = [Formula(f"Q_{y}", e) for y, e in zip(self.independent, self.forces)]
        values = [Formula(str(s), e) for s, e in zip(self.multipliers, self.multiplier_values)]
        return [
            *made,
            Section("Dependent coordinates", (), tuple(solution)),
            Section("Reduced equations", ("The constraint forces do no work along E = ∂q/∂y.",), (*rows, *forces)),
            Section("Constraint forces", (), tuple(values)),
        ]

    def text(self) -> str:
        """Everything as plain text."""
        notation = self.derivation.notation(Text())
        return as_text(self.sections(), notation) + "\n\n" + self.derivation.legend(notation)

    def latex(self) -> str:
        """Everything as LaTeX."""
        return as_latex(self.sections(), self.derivation.notation(Latex()))


def constrained(derivation: Derivation, constraints: Any, solve: Mapping[Any, Any] | None) -> ConstrainedDerivation:
    """Read the constraints, refuse those that are not holonomic, and solve for dependent coordinates if possible."""
    given = [constraints] if isinstance(constraints, str | sp.Basic) else list(constraints)
    phi = tuple(_read(derivation, value, i) for i, value in enumerate(given))
    if not phi or len(phi) >= len(derivation.q):
        raise InvalidInput(f"between 1 and {len(derivation.q) - 1} constraints leave something to move, got {len(phi)}")
    _check_independent(derivation, phi)
    solved = _solved_linear(derivation, phi) if solve is None else _checked_solution(derivation, phi, solve)
    return ConstrainedDerivation(derivation, phi, solved)


def _read(derivation: Derivation, value: Any, index: int) -> Any:
    what = f"constraint {index + 1}"
    phi = expression(value, what)
    rates = [s for s in (*derivation.v, *derivation.a) if s in phi.free_symbols]
    if rates:
        raise InvalidInput(
            f"{what} depends on {', '.join(map(str, rates))}: it is not holonomic", hint=_rate_hint(derivation, phi)
        )
    known = {s.name for s in derivation.q} | set(derivation.parameters)
    for symbol in sorted(phi.free_symbols, key=str):
        check_names(f"symbol in {what}", [symbol.name], known)
    if not phi.free_symbols & set(derivation.q):
        raise InvalidInput(f"{what} holds no coordinate: {phi}")
    return phi


def _rate_hint(derivation: Derivation, phi: Any) -> str:
    """Whether a constraint on rates is the rate of one on coordinates."""
    parts = [sp.diff(phi, v) for v in derivation.v]
    linear = sp.expand(phi - sum(p * v for p, v in zip(parts, derivation.v))) == 0
    curl = [sp.diff(a, y) - sp.diff(b, x) for a, x in zip(parts, derivation.q) for b, y in zip(parts, derivation.q)]
    if linear and all(sp.simplify(c) == 0 for c in curl):
        return "it is the rate of a constraint on coordinates: give that one"
    return "only constraints on coordinates, φ(q) = 0, are handled; this one cannot be integrated"


def _check_independent(derivation: Derivation, phi: tuple[Any, ...]) -> None:
    A = sp.Matrix(phi).jacobian(derivation.q)
    at = {s: sp.Float(0.3 + 0.17 * i) for i, s in enumerate(sorted(A.free_symbols, key=str))}
    if A.subs(at).rank(iszerofunc=lambda x: abs(x) < 1e-12) < len(phi):
        raise InvalidInput("the constraints depend on each other", hint="leave one of them out")


def _solved_linear(derivation: Derivation, phi: tuple[Any, ...]) -> dict[Any, Any] | None:
    """Solve constraints that are linear in a coordinate, one after the other; None if one is not."""
    solved: dict[Any, Any] = {}
    for p in phi:
        p = p.subs(solved)
        for q in reversed(derivation.q):
            slope = sp.diff(p, q)
            if slope != 0 and not slope.free_symbols & set(derivation.q):
                value = sp.expand(q - p / slope)
                solved = {k: sp.expand(e.subs(q, value)) for k, e in solved.items()} | {q: value}
                break
        else:
            return None
    return solved


def _checked_solution(derivation: Derivation, phi: tuple[Any, ...], solve: Mapping[Any, Any]) -> dict[Any, Any]:
    solved = {}
    for key, value in solve.items():
        q = sp.Symbol(str(key))
        if q not in derivation.q:
            raise UnknownName("coordinate in solve", str(key), derivation.names.q)
        solved[q] = expression(value, f"solve[{key!s}]")
    bad = [q for q, e in solved.items() if e.free_symbols & set(solved)]
    if bad:
        raise InvalidInput(f"solve must give {bad[0]} in coordinates that are left, got {solved[bad[0]]}")
    if len(solved) != len(phi):
        raise InvalidInput(f"{len(phi)} constraint(s) need as many dependent coordinates, got {len(solved)}")
    for p in phi:
        left = p.subs(solved)
        if not vanishes(left):
            raise InvalidInput(f"with these dependent coordinates the constraint {p} is {left}, not zero")
    return solved

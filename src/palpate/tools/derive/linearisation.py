"""Equations of motion about a point: M δq̈ + D δq̇ + K δq = B δu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from palpate.checks import Array
from palpate.equations.algebra.derivatives import tangent
from palpate.equations.algebra.evaluation import evaluate
from palpate.equations.spelling import Text
from palpate.errors import BadShape, InvalidInput
from palpate.tools.derive.writing.document import Formula, Section
from palpate.tools.derive.writing.plain_text import as_text

if TYPE_CHECKING:
    from palpate.tools.derive.derivation import Derivation


@dataclass(frozen=True)
class Linearisation:
    """M δq̈ + D δq̇ + K δq = B δu about (q, v), held there by the inputs `u`.

    Attributes:
        M, D, K, B: SymPy matrices.
        inputs: names of the inputs u.
        u: the inputs that hold the state, one per input.
    """

    derivation: Derivation
    q: tuple[Any, ...]
    v: tuple[Any, ...]
    M: Any
    D: Any
    K: Any
    B: Any
    inputs: tuple[str, ...]
    u: Any

    @property
    def state_matrix(self) -> Any:
        """[[0, 1], [−M⁻¹ K, −M⁻¹ D]], for the state (δq, δq̇)."""
        n = self.M.shape[0]
        inner = self._solved(sp.Matrix.hstack(-self.K, -self.D))
        return sp.ImmutableMatrix(sp.Matrix.vstack(sp.Matrix.hstack(sp.zeros(n), sp.eye(n)), inner))

    def _solved(self, right: Any) -> Any:
        """M⁻¹ right in symbols; written out for two coordinates, otherwise as elimination leaves it."""
        solved = sp.Matrix(self.M).LUsolve(sp.Matrix(right))
        return self._tidy(solved) if self.M.shape[0] <= 2 or not self.M.free_symbols else solved

    def numeric(self) -> tuple[Array, Array]:
        """State and input matrix with the parameters' values put in."""
        M, D, K, B = (self._numbers(x) for x in (self.M, self.D, self.K, self.B))
        n, k = B.shape
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
        return A, np.vstack([np.zeros((n, k)), np.linalg.solve(M, B)])

    def eigenvalues(self) -> Array:
        """Of the state matrix, with the parameters' values put in; by falling real part."""
        values = np.linalg.eigvals(self.numeric()[0])
        return values[np.lexsort((-values.imag, -values.real))]

    def _numbers(self, matrix: Any) -> Array:
        put = {sp.Symbol(name): value for name, value in self.derivation.values.items()}
        known = matrix.subs(put)
        self.derivation.refuse_unknown_values(sorted(map(str, known.free_symbols)))
        return np.array(known.evalf().tolist(), dtype=float)

    def _tidy(self, e: Any) -> Any:
        try:
            return self.derivation.forms.tidy(e)
        except InvalidInput:
            return e

    def __str__(self) -> str:
        notation = self.derivation.notation(Text())
        point = ", ".join(
            f"{notation.symbol(n)} = {notation.write(x)}" for n, x in zip(self.derivation.names.q, self.q)
        )
        held = [Formula(name, e) for name, e in zip(self.inputs, self.u)]
        formulas = [Formula(name, e) for name, e in (("M", self.M), ("D", self.D), ("K", self.K), ("B", self.B))]
        return as_text([Section(f"Linearised about {point}", (), (*formulas, *held))], notation)


def linearise_derivation(
    derivation: Derivation, q: Sequence[Any] | Array, v: Sequence[Any] | Array | None, parameters: str
) -> Linearisation:
    """Linearise about a state that inputs can hold; with `parameters` "numbers", values are put in first."""
    if derivation.model is not None and derivation.model.mechanism.floating:
        raise InvalidInput("a free base's quaternion has no linear coordinates of its own; linearise the fixed machine")
    if parameters not in ("symbols", "numbers"):
        raise InvalidInput(f"parameters must be 'symbols' or 'numbers', got {parameters!r}")
    n = len(derivation.q)
    point = _point(q, n, "q"), _point([0] * n if v is None else v, n, "v")
    if derivation.engine == "recursive":
        return _from_graph(derivation, *point)
    return _from_forms(derivation, *point, parameters == "numbers")


def _point(values: Sequence[Any] | Array, n: int, what: str) -> tuple[Any, ...]:
    entries = tuple(sp.sympify(x) for x in values)
    if len(entries) != n:
        raise BadShape(f"{what} must have {n} entries, got {len(entries)}")
    return entries


def _from_forms(derivation: Derivation, q: tuple[Any, ...], v: tuple[Any, ...], numbers: bool) -> Linearisation:
    d = derivation
    put = dict(zip(d.q, q)) | dict(zip(d.v, v)) | dict.fromkeys(d.a, sp.Integer(0))
    full = getattr(d.forms, "_full", lambda e: e)  # shorthand of energies written out
    if numbers:
        put |= {sp.Symbol(name): sp.Float(repr(value), 17) for name, value in d.values.items()}
    bias, forces = sp.Matrix(full(d["bias"])), sp.Matrix(full(d.forces))
    inputs = getattr(d.forms, "inputs", d.names.tau)
    u = [sp.Symbol(name) for name in inputs]
    B = forces.jacobian(u).subs(put) if u else sp.zeros(len(d.q), 0)
    held = _holding_inputs(d, (bias - forces).subs(put), B, u)
    at = put | dict(zip(u, held))
    residual = bias - forces
    D, K = residual.jacobian(list(d.v)).subs(at), residual.jacobian(list(d.q)).subs(at)
    M = sp.Matrix(full(d.M)).subs(put)

    def tidy(e: Any) -> Any:  # parameters are lengths and masses: √(l²) is l
        return d.forms.tidy(e.applyfunc(lambda x: sp.powdenest(x, force=True)))

    return Linearisation(
        d, q, v, tidy(M), tidy(D), tidy(K), sp.ImmutableMatrix(B), tuple(inputs), tidy(sp.Matrix(held))
    )


def _holding_inputs(derivation: Derivation, residual: Any, B: Any, u: list[Any]) -> list[Any]:
    """Inputs with B u = what the state needs; refused where no input can hold it."""
    need = residual.subs(dict.fromkeys(u, 0))
    inputs = [sp.Integer(0)] * len(u)
    for row in range(B.shape[0]):
        acting = [k for k in range(B.shape[1]) if B[row, k] != 0]
        if not acting and sp.simplify(need[row]) != 0:
            name = derivation.names.q[row]
            raise InvalidInput(
                f"not an equilibrium: nothing holds {name}, which needs {sp.simplify(need[row])}",
                hint="choose a point at which the forces without input vanish",
            )
    if u:
        try:
            inputs = list((B.T * B).LUsolve(B.T * need))
        except ValueError as error:
            raise InvalidInput("the inputs do not act independently; give fewer") from error
    return inputs


def _from_graph(derivation: Derivation, q: tuple[Any, ...], v: tuple[Any, ...]) -> Linearisation:
    """With numbers, through derivatives on the graph."""
    d, graph = derivation, derivation.forms.graph
    values: dict[str, float] = dict(d.values)
    values |= {name: float(x) for name, x in zip((*d.names.q, *d.names.v), (*q, *v))}
    bias, M = d.forms.output("bias").nodes, d.forms.output("M").nodes
    n = len(bias)

    def columns(names: Sequence[str]) -> Any:
        made = [evaluate(tangent(bias, {graph.symbol(name): graph.one}), values) for name in names]
        return sp.ImmutableMatrix(np.array(made).T.tolist())

    M0 = sp.ImmutableMatrix(n, n, evaluate(M, values))
    u = sp.ImmutableMatrix([[x] for x in evaluate(bias, values)])
    return Linearisation(d, q, v, M0, columns(d.names.v), columns(d.names.q), sp.eye(n), d.names.tau, u)

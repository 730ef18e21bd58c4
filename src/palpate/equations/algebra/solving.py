"""Solving with symmetric positive definite matrices of nodes, without pivoting: A = L D Lᵀ."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from palpate.equations.algebra.graph import Node, Output

Matrix = list[list[Node]]


class TaskSpace:
    """Λ, μ and p of a task, from nodes of M, J, J̇ v, C v + g and g; `rows` are the task's rows of J."""

    def __init__(
        self, M: Matrix, J: Matrix, drift: list[Node], bias: list[Node], gravity: list[Node], rows: Sequence[int]
    ) -> None:
        self.M, self.J = M, [J[row] for row in rows]
        self.drift, self.gravity = [drift[row] for row in rows], gravity
        self.coriolis = [b - g for b, g in zip(bias, gravity)]
        self.graph = M[0][0].graph

    @cached_property
    def _dual(self) -> Matrix:
        """J M⁻¹, one row per task direction."""
        return [list(column) for column in zip(*solved(self.M, [list(c) for c in zip(*self.J)]))]

    @cached_property
    def inertia(self) -> Matrix:
        """Λ = (J M⁻¹ Jᵀ)⁻¹."""
        mobility = [[self.graph.sum(a * b for a, b in zip(row, dual)) for dual in self._dual] for row in self.J]
        k = len(self.J)
        return solved(mobility, [[self.graph.one if i == j else self.graph.zero for j in range(k)] for i in range(k)])

    def output(self, name: str) -> Output:
        """One of Lambda, mu, p."""
        k = len(self.J)
        if name == "Lambda":
            return Output(name, (k, k), tuple(x for row in self.inertia for x in row))
        force = self.gravity if name == "p" else self.coriolis
        inner = [self.graph.sum(a * b for a, b in zip(dual, force)) for dual in self._dual]
        if name == "mu":
            inner = [x - d for x, d in zip(inner, self.drift)]
        values = [self.graph.sum(a * b for a, b in zip(row, inner)) for row in self.inertia]
        return Output(name, (k,), tuple(values))


def solved(A: Matrix, B: Matrix) -> Matrix:
    """X with A X = B."""
    L, D = _factored(A)
    return [list(row) for row in zip(*(_substituted(L, D, list(column)) for column in zip(*B)))]


def _factored(A: Matrix) -> tuple[Matrix, list[Node]]:
    n, graph = len(A), A[0][0].graph
    L = [[graph.one if i == j else graph.zero for j in range(n)] for i in range(n)]
    D: list[Node] = []
    for j in range(n):
        D.append(A[j][j] - graph.sum(L[j][k] * (L[j][k] * D[k]) for k in range(j)))
        inverse = graph.one / D[j]
        for i in range(j + 1, n):
            L[i][j] = (A[i][j] - graph.sum(L[i][k] * (L[j][k] * D[k]) for k in range(j))) * inverse
    return L, D


def _substituted(L: Matrix, D: list[Node], b: list[Node]) -> list[Node]:
    n, graph = len(b), L[0][0].graph
    y: list[Node] = []
    for i in range(n):
        y.append(b[i] - graph.sum(L[i][k] * y[k] for k in range(i)))
    x = [value / d for value, d in zip(y, D)]
    for i in reversed(range(n)):
        x[i] = x[i] - graph.sum(L[k][i] * x[k] for k in range(i + 1, n))
    return x

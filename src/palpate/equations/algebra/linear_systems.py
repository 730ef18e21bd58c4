"""Linear systems of nodes with symmetric positive definite matrices, and the task-space terms made of them."""

from __future__ import annotations

from collections.abc import Sequence

from palpate.equations.algebra.graph import Node, Output
from palpate.equations.algebra.vectors import times, transposed

Matrix = list[list[Node]]


def task_space(
    name: str, M: Matrix, J: Matrix, drift: list[Node], bias: list[Node], gravity: list[Node], rows: Sequence[int]
) -> Output:
    """One of a task's Lambda, mu, p, from nodes of M, J, J̇ v, C v + g and g; `rows` are the task's rows of J.

    Λ = (J M⁻¹ Jᵀ)⁻¹, μ = Λ (J M⁻¹ C v − J̇ v), p = Λ J M⁻¹ g.
    """
    graph, task = M[0][0].graph, [J[row] for row in rows]
    dual = transposed(solve_symmetric(M, transposed(task)))  # J M⁻¹, one row per task direction
    unit = [[graph.one if i == j else graph.zero for j in rows] for i in rows]
    inertia = solve_symmetric(transposed([times(task, row) for row in dual]), unit)
    if name == "Lambda":
        return Output(name, (len(rows), len(rows)), tuple(x for row in inertia for x in row))
    inner = times(dual, gravity if name == "p" else [b - g for b, g in zip(bias, gravity)])
    if name == "mu":
        inner = [x - drift[row] for x, row in zip(inner, rows)]
    return Output(name, (len(rows),), tuple(times(inertia, inner)))


def solve_symmetric(A: Matrix, B: Matrix) -> Matrix:
    """X with A X = B, A symmetric positive definite."""
    before = [list(range(k - 1, -1, -1)) for k in range(len(A))]
    return transposed(solve_in_tree(A, column, before)[0] for column in transposed(B))


def solve_in_tree(A: Matrix, f: list[Node], carriers: list[list[int]]) -> tuple[list[Node], list[Node]]:
    """x with A x = f, and D, of A = Lᵀ D L without pivoting, from the last row to the first.

    Row k of the symmetric A, read below its diagonal, has entries in the columns carriers[k] alone, the nearest first:
    of a tree's mass matrix, the joints that carry joint k; and no others come in on the way.
    """
    n, one = len(f), f[0].graph.one
    A, x, inverse = [list(row) for row in A], list(f), [one] * n
    for k in range(n - 1, -1, -1):
        inverse[k] = one / A[k][k]
        share = {i: A[k][i] * inverse[k] for i in carriers[k]}
        for i in carriers[k]:
            for j in [i, *carriers[i]]:
                A[i][j] = A[i][j] - share[i] * A[k][j]
            x[i] = x[i] - share[i] * x[k]
        for i in carriers[k]:
            A[k][i] = share[i]
    for k in range(n):
        x[k] = x[k] * inverse[k]
        for i in reversed(carriers[k]):
            x[k] = x[k] - A[k][i] * x[i]
    return x, [A[k][k] for k in range(n)]

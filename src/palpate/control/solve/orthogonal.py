"""Orthogonal (LQ) factors of small matrices in compiled code: no allocation, everything in the caller's arrays."""

from __future__ import annotations

import math

from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Integers, Matrix, ReadVector, Record, Vector, sized
from palpate.engine.views import part


@kernel
def lq_factor(A: Matrix, rows: int, columns: int, Q: Matrix, order: Integers, floor: float) -> int:
    """A[order] = [L 0] Qᵀ by Householder reflections with row pivoting, in place; returns the rank.

    Q (columns × columns) is orthogonal; its columns beyond the rank span the null space of A. A row whose remainder
    is not longer than `floor` counts as dependent.
    """
    for i in range(columns):
        for j in range(columns):
            Q[i, j] = 1.0 if i == j else 0.0
    for i in range(rows):
        order[i] = i
    for k in range(min(rows, columns)):
        best, norm = _longest_remainder(A, k, rows, columns)
        if norm <= floor or norm < 1e-150:
            return k
        _swap_rows(A, order, k, best, columns)
        _reflect(A, Q, k, rows, columns, norm)
    return min(rows, columns)


@kernel
def _longest_remainder(A: Matrix, k: int, rows: int, columns: int) -> tuple[int, float]:
    """Which of the rows from k on is longest, its first k entries left out, and how long."""
    best, top = k, -1.0
    for i in range(k, rows):
        size = 0.0
        for j in range(k, columns):
            size += A[i, j] * A[i, j]
        if size > top:
            best, top = i, size
    return best, math.sqrt(top)


@kernel
def longest_row(A: Matrix, first: int, last: int) -> float:
    """The length of the longest of A's rows first … last − 1."""
    top = 0.0
    for i in range(first, last):
        top = max(top, dot(A[i], A[i], A.shape[1]))
    return math.sqrt(top)


@kernel
def _swap_rows(A: Matrix, order: Integers, a: int, b: int, columns: int) -> None:
    if a == b:
        return
    order[a], order[b] = order[b], order[a]
    for j in range(columns):
        A[a, j], A[b, j] = A[b, j], A[a, j]


@kernel
def _reflect(A: Matrix, Q: Matrix, k: int, rows: int, columns: int, norm: float) -> None:
    """Turn row k of A onto its diagonal, the rows below and Q alike."""
    pivot = A[k, k]
    alpha = -math.copysign(norm, pivot)
    A[k, k] = pivot - alpha
    beta = 1.0 / (norm * (norm + abs(pivot)))
    mirror = part(A[k], k, columns - k)
    for i in range(k + 1, rows):
        _reflect_row(part(A[i], k, columns - k), mirror, beta)
    for i in range(columns):
        _reflect_row(part(Q[i], k, columns - k), mirror, beta)
    A[k, k] = alpha
    for j in range(k + 1, columns):
        A[k, j] = 0.0


@kernel(inline=True)
def _reflect_row(row: Vector, mirror: Vector, beta: float) -> None:
    """row −= β (row · w) w, the Householder reflection along w."""
    total = beta * dot(row, mirror, mirror.size)
    for j in range(mirror.size):
        row[j] -= total * mirror[j]


@kernel
def trapezoid_solve(L: Matrix, rows: int, rank: int, b: Vector) -> None:
    """w = argmin |L w − b| for the lower trapezoid of `lq_factor`; w replaces b[:rank]. L and b are used up."""
    if rows > rank:
        for k in range(rank):
            _reflect_column(L, b, k, rows, rank)
        for i in range(rank - 1, -1, -1):
            for j in range(i + 1, rank):
                b[i] -= L[i, j] * b[j]
            b[i] /= L[i, i]
        return
    for i in range(rank):
        for j in range(i):
            b[i] -= L[i, j] * b[j]
        b[i] /= L[i, i]


@kernel
def _reflect_column(L: Matrix, b: Vector, k: int, rows: int, rank: int) -> None:
    norm = 0.0
    for i in range(k, rows):
        norm += L[i, k] * L[i, k]
    norm = math.sqrt(norm)
    pivot = L[k, k]
    L[k, k] = pivot + math.copysign(norm, pivot)
    beta = 1.0 / (norm * (norm + abs(pivot)))
    for j in range(k + 1, rank):
        total = 0.0
        for i in range(k, rows):
            total += L[i, k] * L[i, j]
        total *= beta
        for i in range(k, rows):
            L[i, j] -= total * L[i, k]
    total = 0.0
    for i in range(k, rows):
        total += L[i, k] * b[i]
    total *= beta
    for i in range(k, rows):
        b[i] -= total * L[i, k]
    L[k, k] = -math.copysign(norm, pivot)


class Factors(Record):
    """LQ factors of a matrix, and scratch to solve with them."""

    L: Matrix = sized("rows", "columns")
    Q: Matrix = sized("columns", "columns")
    order: Integers = sized("rows")
    rank: int = 0
    used: Matrix = sized("rows", "columns")
    right: Vector = sized("rows")


@kernel
def factor(f: Factors, floor: float) -> None:
    """L and Q of the matrix in L, whose rows shorter than a share of the longest count as none."""
    rows, columns = f.L.shape
    f.rank = lq_factor(f.L, rows, columns, f.Q, f.order, floor * longest_row(f.L, 0, rows))


@kernel
def solve_factored(f: Factors, b: ReadVector, out: Vector) -> None:
    """out = A⁺ b: the shortest of the least squares solutions of A x = b."""
    rows, columns = f.L.shape
    for i in range(rows):
        f.right[i] = b[f.order[i]]
        if rows > f.rank:  # `trapezoid_solve` uses up what it is given
            put(f.used[i], 0, f.L[i])
    trapezoid_solve(f.used if rows > f.rank else f.L, rows, f.rank, f.right)
    for i in range(columns):
        out[i] = dot(f.Q[i], f.right, f.rank)

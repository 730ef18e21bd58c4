"""Orthogonal factors of small matrices in compiled code: no allocation, everything in the caller's arrays."""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.records import Integers, Matrix, Vector


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
        best, norm = _longest_rest(A, k, rows, columns)
        if norm <= floor or norm < 1e-150:
            return k
        _swap_rows(A, order, k, best, columns)
        _reflect(A, Q, k, rows, columns, norm)
    return min(rows, columns)


@kernel
def _longest_rest(A: Matrix, k: int, rows: int, columns: int) -> tuple[int, float]:
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
        size = 0.0
        for j in range(A.shape[1]):
            size += A[i, j] * A[i, j]
        top = max(top, size)
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
    for i in range(k + 1, rows):
        total = 0.0
        for j in range(k, columns):
            total += A[i, j] * A[k, j]
        total *= beta
        for j in range(k, columns):
            A[i, j] -= total * A[k, j]
    for i in range(columns):
        total = 0.0
        for j in range(k, columns):
            total += Q[i, j] * A[k, j]
        total *= beta
        for j in range(k, columns):
            Q[i, j] -= total * A[k, j]
    A[k, k] = alpha
    for j in range(k + 1, columns):
        A[k, j] = 0.0


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

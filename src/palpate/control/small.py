"""Small dense linear algebra for compiled laws: in place, without allocation."""

from __future__ import annotations

import math

from numba.extending import register_jitable


@register_jitable
def cholesky(A, n):
    """Factor the leading n×n block of A in place, A = L Lᵀ (lower triangle); False if it is not positive definite."""
    for j in range(n):
        diagonal = A[j, j]
        for k in range(j):
            diagonal -= A[j, k] * A[j, k]
        if not diagonal > 0.0:
            return False
        diagonal = math.sqrt(diagonal)
        A[j, j] = diagonal
        for i in range(j + 1, n):
            entry = A[i, j]
            for k in range(j):
                entry -= A[i, k] * A[j, k]
            A[i, j] = entry / diagonal
    return True


@register_jitable
def cholesky_solve(L, n, x):
    """x ← A⁻¹ x with A = L Lᵀ."""
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@register_jitable
def times(A, x, out):
    """out = A x."""
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        out[i] = total


@register_jitable
def transpose_times(A, x, out):
    """out = Aᵀ x."""
    for j in range(A.shape[1]):
        total = 0.0
        for i in range(A.shape[0]):
            total += A[i, j] * x[i]
        out[j] = total

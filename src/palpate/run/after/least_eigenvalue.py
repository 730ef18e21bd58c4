"""Which of many symmetric matrices has the smallest eigenvalue, without the eigenvalues of them all."""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Vector
from palpate.engine.views import fold

_COARSE = 20  # of so many matrices one is looked at first
_REFINED = 3  # steps of inverse iteration
_NEAR = 1e-11  # of the largest entry: eigenvalues so near to each other are not told apart by rounded matrices


@kernel
def form_grams(J: Vector, rows: int, columns: int, gram: Vector) -> None:
    """J Jᵀ of matrices of so many rows and columns, one after another, or Jᵀ J where that is smaller."""
    count, size = J.size // (rows * columns), min(rows, columns)
    for k in range(count):
        here, out = fold(J, k * rows * columns, rows, columns), fold(gram, k * size * size, size, size)
        for i in range(size):
            for j in range(i + 1):
                total = 0.0
                if rows <= columns:
                    for m in range(columns):
                        total += here[i, m] * here[j, m]
                else:
                    for m in range(rows):
                        total += here[m, i] * here[m, j]
                out[i, j] = out[j, i] = total


@kernel
def choose_least(gram: Vector, size: int, factor: Matrix, x: Vector, chosen: Vector) -> None:
    """Mark the matrices, symmetric and one after another, that may have the smallest eigenvalue of all.

    A Rayleigh quotient is no less than the smallest eigenvalue of its matrix; the least of all bounds the smallest from
    above. Matrices that stay positive definite with that bound taken off their diagonal are ruled out, most of them by
    the bound that a few give.
    """
    entries, least, largest = size * size, math.inf, 0.0
    for k in range(gram.size):
        largest = max(largest, abs(gram[k]))
    for k in range(chosen.size):
        chosen[k] = 1.0
    for stride in (_COARSE, 1):
        for k in range(0, chosen.size, stride):
            here = fold(gram, k * entries, size, size)
            if least < math.inf and _factored(here, -(least + _NEAR * largest), factor):
                chosen[k] = 0.0
            else:
                least = min(least, _rayleigh(here, factor, x, _NEAR * largest))
    for k in range(chosen.size):
        here = fold(gram, k * entries, size, size)
        if chosen[k] > 0.0 and _factored(here, -(least + _NEAR * largest), factor):
            chosen[k] = 0.0


@kernel
def _factored(A: Matrix, shift: float, L: Matrix) -> bool:
    """L Lᵀ = A + shift·1, below the diagonal; whether that is positive definite."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            total = A[i, j] + (shift if i == j else 0.0)
            for k in range(j):
                total -= L[i, k] * L[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                L[i, i] = math.sqrt(total)
            else:
                L[i, j] = total / L[j, j]
    return True


@kernel
def _rayleigh(A: Matrix, L: Matrix, x: Vector, shift: float) -> float:
    """xᵀ A x / xᵀ x of a vector near the smallest eigenvalue's, by inverse iteration."""
    n = A.shape[0]
    for i in range(n):
        x[i] = 1.0 + 0.1 * i  # across no eigenvector but by chance, which costs no more than a wider choice
    if _factored(A, shift, L):
        for _ in range(_REFINED):
            _solve(L, x)
    across, along = 0.0, 0.0
    for i in range(n):
        along += x[i] * x[i]
        for j in range(n):
            across += x[i] * A[i, j] * x[j]
    return across / along


@kernel
def _solve(L: Matrix, x: Vector) -> None:
    """x ← (L Lᵀ)⁻¹ x, to a length of 1."""
    n = x.size
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    length = 0.0
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]
        length += x[i] * x[i]
    length = math.sqrt(length)
    for i in range(n):
        x[i] /= length

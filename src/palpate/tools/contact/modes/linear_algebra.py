"""Compiled linear algebra of the constrained equations: small, dense, and honest about rank."""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.maths import hypot
from palpate.engine.records import Matrix, Vector

RANK_CUT = 1e-12  # of the contacts' typical mobility: below it a constraint counts as dependent


@kernel
def cholesky(M: Matrix, L: Matrix) -> bool:
    """Cholesky: M = L Lᵀ. False where M is not positive definite."""
    n = M.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = M[i, j]
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
def cholesky_solve(L: Matrix, x: Vector) -> None:
    """x ← (L Lᵀ)⁻¹ x."""
    n = L.shape[0]
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@kernel
def gauss_solve(A: Matrix, b: Vector, m: int, scale: float) -> tuple[float, bool]:
    """Gauss with column pivots on the m×m head of A (destroyed): b becomes the solution.

    Returns the determinant over scaleᵐ, and whether every pivot is above the rank cut.
    """
    determinant, regular = 1.0, True
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if best != k:
            determinant = -determinant
            b[k], b[best] = b[best], b[k]
            for j in range(m):
                A[k, j], A[best, j] = A[best, j], A[k, j]
        pivot = A[k, k]
        determinant *= pivot / scale
        if not abs(pivot) > RANK_CUT * scale:
            return 0.0, False
        for i in range(k + 1, m):
            share = A[i, k] / pivot
            for j in range(k + 1, m):
                A[i, j] -= share * A[k, j]
            b[i] -= share * b[k]
    for k in range(m - 1, -1, -1):
        for j in range(k + 1, m):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]
    return determinant, regular


@kernel
def _rotate_columns(U: Matrix, V: Matrix, m: int, i: int, j: int) -> float:
    """One rotation that makes columns i and j of U orthogonal, in V too; how far from it they were."""
    a = b = c = 0.0
    for k in range(m):
        a += U[k, i] * U[k, i]
        b += U[k, j] * U[k, j]
        c += U[k, i] * U[k, j]
    if abs(c) <= 1e-16 * math.sqrt(a * b) or c == 0.0:
        return 0.0
    tilt = (b - a) / (2.0 * c)
    tangent = math.copysign(1.0, tilt) / (abs(tilt) + hypot(1.0, tilt))
    cosine = 1.0 / hypot(1.0, tangent)
    sine = cosine * tangent
    for k in range(m):
        U[k, i], U[k, j] = cosine * U[k, i] - sine * U[k, j], sine * U[k, i] + cosine * U[k, j]
        V[k, i], V[k, j] = cosine * V[k, i] - sine * V[k, j], sine * V[k, i] + cosine * V[k, j]
    return abs(c) / math.sqrt(a * b)


@kernel
def least_norm(U: Matrix, V: Matrix, b: Vector, x: Vector, m: int, scale: float) -> int:
    """x = A⁺ b for the m×m head of U = A (destroyed), by one-sided Jacobi rotations; returns the rank."""
    for i in range(m):
        for j in range(m):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(60):
        worst = 0.0
        for i in range(m - 1):
            for j in range(i + 1, m):
                worst = max(worst, _rotate_columns(U, V, m, i, j))
        if worst < 1e-15:
            break
    rank = 0
    for i in range(m):
        x[i] = 0.0
    for j in range(m):
        size = share = 0.0
        for k in range(m):
            size += U[k, j] * U[k, j]
            share += U[k, j] * b[k]
        if math.sqrt(size) > RANK_CUT * scale:
            rank += 1
            for i in range(m):
                x[i] += V[i, j] * share / size
    return rank

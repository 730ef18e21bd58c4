"""Small dense linear algebra for compiled laws: in place, without allocation."""

from __future__ import annotations

import math

from palpate.control.steps.straight import add_transpose_times_6_6, add_transpose_times_6_7, times_6_6, times_6_7
from palpate.engine.kernels import clear, kernel
from palpate.engine.records import Matrix, Vector
from palpate.engine.views import address_of


@kernel(inline=True)
def cholesky(A: Matrix, n: int) -> bool:
    """Factor the leading n×n block of A in place, A = L Lᵀ (lower triangle); False if it is not positive definite."""
    for j in range(n):
        diagonal = A[j, j]
        for k in range(j):
            diagonal -= A[j, k] * A[j, k]
        if not diagonal > 0.0:
            return False
        diagonal = math.sqrt(diagonal)
        A[j, j] = diagonal
        inverse = 1.0 / diagonal
        for i in range(j + 1, n):
            entry = A[i, j]
            for k in range(j):
                entry -= A[i, k] * A[j, k]
            A[i, j] = entry * inverse
    return True


@kernel
def cholesky_solve(L: Matrix, n: int, x: Vector) -> None:
    """x ← A⁻¹ x with A = L Lᵀ."""
    for i in range(n):
        entry = x[i]
        for k in range(i):
            entry -= L[i, k] * x[k]
        x[i] = entry / L[i, i]
    for i in range(n - 1, -1, -1):
        entry = x[i]
        for k in range(i + 1, n):
            entry -= L[k, i] * x[k]
        x[i] = entry / L[i, i]


@kernel(inline=True)
def cholesky_solve_rows(L: Matrix, n: int, X: Matrix, count: int) -> None:
    """Each of the first rows of X ← A⁻¹ that row. All rows advance together: a processor overlaps them."""
    for i in range(n):
        inverse = 1.0 / L[i, i]
        for row in range(count):
            entry = X[row, i]
            for k in range(i):
                entry -= L[i, k] * X[row, k]
            X[row, i] = entry * inverse
    for i in range(n - 1, -1, -1):
        inverse = 1.0 / L[i, i]
        for row in range(count):
            entry = X[row, i]
            for k in range(i + 1, n):
                entry -= L[k, i] * X[row, k]
            X[row, i] = entry * inverse


@kernel(inline=True)
def times(A: Matrix, x: Vector, out: Vector) -> None:
    """out = A x. Addresses are handed on, which are a third of the words of an array."""
    rows, n = A.shape
    if rows == 6 and n == 7:
        _times_6_7(address_of(A), address_of(x), address_of(out))
    elif rows == 6 and n == 6:
        _times_6_6(address_of(A), address_of(x), address_of(out))
    else:
        _times(A, rows, n, x, out)


@kernel
def _times_6_7(A: int, x: int, out: int) -> None:
    times_6_7(A, x, out)  # pyright: ignore[reportCallIssue]


@kernel
def _times_6_6(A: int, x: int, out: int) -> None:
    times_6_6(A, x, out)  # pyright: ignore[reportCallIssue]


@kernel
def _times(A: Matrix, rows: int, n: int, x: Vector, out: Vector) -> None:
    for i in range(rows):
        total = 0.0
        for j in range(n):
            total += A[i, j] * x[j]
        out[i] = total


@kernel
def product(A: Matrix, B: Matrix, out: Matrix) -> None:
    """out = A B, 3×3."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@kernel(inline=True)
def transpose_times(A: Matrix, x: Vector, out: Vector) -> None:
    """out = Aᵀ x."""
    clear(out)
    add_transpose_times(A, x, 1.0, out)


@kernel(inline=True)
def add_transpose_times(A: Matrix, x: Vector, sign: float, out: Vector) -> None:
    """out += sign Aᵀ x, row by row."""
    rows, n = A.shape
    if rows == 6 and n == 7:
        _add_transpose_times_6_7(address_of(A), address_of(x), sign, address_of(out))
    elif rows == 6 and n == 6:
        _add_transpose_times_6_6(address_of(A), address_of(x), sign, address_of(out))
    else:
        _add_transpose_times(A, rows, n, x, sign, out)


@kernel
def _add_transpose_times_6_7(A: int, x: int, sign: float, out: int) -> None:
    add_transpose_times_6_7(A, x, sign, out)  # pyright: ignore[reportCallIssue]


@kernel
def _add_transpose_times_6_6(A: int, x: int, sign: float, out: int) -> None:
    add_transpose_times_6_6(A, x, sign, out)  # pyright: ignore[reportCallIssue]


@kernel
def _add_transpose_times(A: Matrix, rows: int, n: int, x: Vector, sign: float, out: Vector) -> None:
    for j in range(n):
        total = out[j]
        for i in range(rows):
            total += A[i, j] * (sign * x[i])
        out[j] = total


@kernel(inline=True)
def cholesky_inverse(L: Matrix, n: int, out: Matrix) -> float:
    """out = A⁻¹ with A = L Lᵀ; returns its trace."""
    for i in range(n):
        for j in range(n):
            out[i, j] = 1.0 if i == j else 0.0
    cholesky_solve_rows(L, n, out, n)  # A⁻¹ is symmetric: its rows are its columns
    trace = 0.0
    for i in range(n):
        trace += out[i, i]
    return trace


@kernel
def damped_step(J: Matrix, error: Vector, damping: float, A: Matrix, y: Vector, step: Vector) -> None:
    """step = Jᵀ (J Jᵀ + λ² 1)⁻¹ error, λ the damping: least squares that stays bounded at a singular posture.

    A and y are scratch.
    """
    rows = error.size
    for i in range(rows):
        y[i] = error[i]
        for j in range(rows):
            A[i, j] = damping * damping if i == j else 0.0
            for k in range(J.shape[1]):
                A[i, j] += J[i, k] * J[j, k]
    cholesky(A, rows)
    cholesky_solve(A, rows, y)
    transpose_times(J, y, step)


@kernel
def symmetric_eigen(A: Matrix, V: Matrix, n: int) -> None:
    """Eigenvalues of the symmetric A onto its diagonal (A is overwritten), eigenvectors into the columns of V.

    Cyclic Jacobi rotations: each zeroes one pair; a few sweeps reach rounding.
    """
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _sweep in range(30):
        off, size = 0.0, 0.0
        for i in range(n):
            size += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if not off > 1e-32 * size:
            return
        for i in range(1, n):
            for j in range(i):
                _rotate_pair(A, V, n, j, i)


@kernel
def _rotate_pair(A: Matrix, V: Matrix, n: int, p: int, q: int) -> None:
    """Rotate in the plane (p, q) so that A[p, q] = 0."""
    if A[p, q] == 0.0:
        return
    theta = 0.5 * (A[q, q] - A[p, p]) / A[p, q]
    tangent = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        tangent = -tangent
    c = 1.0 / math.sqrt(tangent * tangent + 1.0)
    s = tangent * c
    for k in range(n):
        a, b = A[k, p], A[k, q]
        A[k, p], A[k, q] = c * a - s * b, s * a + c * b
    for k in range(n):
        a, b = A[p, k], A[q, k]
        A[p, k], A[q, k] = c * a - s * b, s * a + c * b
        a, b = V[k, p], V[k, q]
        V[k, p], V[k, q] = c * a - s * b, s * a + c * b

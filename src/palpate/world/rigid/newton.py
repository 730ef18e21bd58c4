"""Newton steps on all conditions of the velocity problem at once.

Each condition is p = P(p − ρ u), P the projection onto what the row's impulse may be: which side of P holds decides the
mode of a row, and with all modes given the impulses follow from one linear system. Only the direction of a contact that
slides is not linear; with z = p_t − ρ u_t its step is p_t − μ p_n ẑ − κ (1 − ẑ ẑᵀ)(p_t − ρ u_t) = 0, κ = μ p_n/|z|.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Vector
from palpate.world.rigid.problem import (
    OPEN,
    SETTLED,
    SLIDING,
    STICKING,
    VelocityProblem,
    error_of,
    find_row_velocities,
)

_MOST_STEPS = 24
_TOLERATED = 1e-11  # of the largest velocity: an error that is left after the last step
_BEYOND = 1e-12  # of a bound: rounding


@kernel
def take_newton_steps(w: VelocityProblem) -> bool:
    """From the impulses as they stand; whether they fulfil all conditions in the end."""
    error = math.inf
    find_row_velocities(w)
    for _ in range(_MOST_STEPS):
        choose_modes(w)
        w.turns += 1
        if not solve_with_modes(w):
            return False
        find_row_velocities(w)
        error = error_of(w)
        if error <= SETTLED * w.speed:
            return True
    return error <= _TOLERATED * w.speed


@kernel
def choose_modes(w: VelocityProblem) -> None:
    """Which rows hold, slide or are open, of p − ρ u; a contact's mode stands at its normal row."""
    for c in range(w.contacts):
        n = 3 * c
        w.mode[n] = OPEN
        if w.impulse[n] - w.pace[n] * w.u[n] > 0.0:
            x, y = w.impulse[n + 1] - w.pace[n + 1] * w.u[n + 1], w.impulse[n + 2] - w.pace[n + 2] * w.u[n + 2]
            most, size = w.mu[c] * max(w.impulse[n], 0.0), math.sqrt(x * x + y * y)
            if size <= most * (1.0 + _BEYOND) and w.mu[c] > 0.0:
                w.mode[n] = STICKING
            else:
                w.mode[n] = SLIDING
                w.slope[c] = most / size if size > 0.0 else 0.0
                w.way[c, 0], w.way[c, 1] = (x / size, y / size) if size > 0.0 else (1.0, 0.0)
    for r in range(3 * w.contacts, 3 * w.contacts + w.stops):
        w.mode[r] = STICKING if w.impulse[r] - w.pace[r] * w.u[r] > 0.0 else OPEN
    for r in range(w.rows - w.rubs, w.rows):
        over = w.impulse[r] - w.pace[r] * w.u[r]
        if abs(over) <= w.bound[r] * (1.0 + _BEYOND):
            w.mode[r] = STICKING
        else:
            w.mode[r] = SLIDING if over > 0.0 else -SLIDING


@kernel
def solve_with_modes(w: VelocityProblem) -> bool:
    """Impulses with the modes as they are: one linear system, and once more about its answer."""
    k = _list_active(w)
    if k == 0:
        return True
    for a in range(k):
        r = w.active[a]
        fixed = w.u_free[r] - w.loose[r] * w.anchor[r]
        for s in range(3 * w.contacts, w.rows):
            if w.mode[s] != STICKING:
                fixed += w.A[r, s] * w.impulse[s]
        w.right[a] = -fixed
        row, entries = w.K[a], w.A[r]
        for b in range(k):
            row[b] = entries[w.active[b]]
        row[a] += w.loose[r]
    for a in range(k):
        r = w.active[a]
        if r < 3 * w.contacts and r % 3 == 1 and w.mode[r - 1] == SLIDING:
            _slide_rows(w, a, k)
    if not _eliminate(w.K, w.right, w.x, k):
        return False
    for a in range(k):
        w.impulse[w.active[a]] = w.x[a]
    return True


@kernel
def _list_active(w: VelocityProblem) -> int:
    """Rows whose impulses are unknown; the others' are set."""
    k = 0
    for c in range(w.contacts):
        for i in range(3):
            r = 3 * c + i
            if w.mode[3 * c] == OPEN or (i > 0 and w.mu[c] == 0.0):
                w.impulse[r] = 0.0
            else:
                w.active[k] = r
                k += 1
    for r in range(3 * w.contacts, w.rows):
        if w.mode[r] == STICKING:
            w.active[k] = r
            k += 1
        else:
            w.impulse[r] = 0.0 if w.mode[r] == OPEN else (w.bound[r] if w.mode[r] == SLIDING else -w.bound[r])
    return k


@kernel
def _slide_rows(w: VelocityProblem, a: int, k: int) -> None:
    """p_t − μ p_n ẑ − κ (1 − ẑ ẑᵀ)(p_t − ρ u_t) = 0 in rows a and a + 1, which hold u_t."""
    c = w.active[a] // 3
    x, y, kappa, rho = w.way[c, 0], w.way[c, 1], w.slope[c], w.pace[3 * c + 1]
    first, second = w.K[a], w.K[a + 1]
    for b in range(k):
        across = kappa * rho * (x * second[b] - y * first[b])  # along (−y, x)
        first[b], second[b] = -y * across, x * across
    across = kappa * rho * (x * w.right[a + 1] - y * w.right[a])
    w.right[a], w.right[a + 1] = -y * across, x * across
    first[a] += 1.0 - kappa * y * y
    first[a + 1] += kappa * x * y
    second[a] += kappa * x * y
    second[a + 1] += 1.0 - kappa * x * x
    first[a - 1] -= w.mu[c] * x
    second[a - 1] -= w.mu[c] * y


@kernel
def _eliminate(K: Matrix, b: Vector, x: Vector, k: int) -> bool:
    """x = K⁻¹ b by elimination with row pivots; K and b are used up."""
    for i in range(k):
        best, largest = i, abs(K[i, i])
        for r in range(i + 1, k):
            if abs(K[r, i]) > largest:
                best, largest = r, abs(K[r, i])
        if not largest > 0.0:
            return False
        if best != i:
            for j in range(i, k):
                K[i, j], K[best, j] = K[best, j], K[i, j]
            b[i], b[best] = b[best], b[i]
        pivot = 1.0 / K[i, i]
        for r in range(i + 1, k):
            factor = K[r, i] * pivot
            if factor != 0.0:
                for j in range(i + 1, k):
                    K[r, j] -= factor * K[i, j]
                b[r] -= factor * b[i]
    for i in range(k - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, k):
            total -= K[i, j] * x[j]
        x[i] = total / K[i, i]
    return True

"""Least squares within limits, level by level: the solver under priorities and the fastest stop.

    level k:  minimise |A_k x − b_k|²   subject to   lower ≤ C x ≤ upper,   A_j x = A_j x* for every level j < k

The optimal A_k x* of a level is unique, so the freedom it leaves is exactly N(A_1; …; A_k) within the limits, and
lower levels are solved in an orthonormal basis of it: they cannot disturb higher ones. A last level, |x|², makes x*
itself unique. Each level is solved by a primal active set on orthogonal (LQ) factors, compiled; if it does not end,
a cascade of DAQP's QPs answers instead, checked, and the result says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import daqp
import numpy as np
from numba import types
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.engine.legacy import kernel
from palpate.errors import NoSolution

RANK = 1e-11  # a direction weaker than this fraction of a task's strongest one counts as none
SOLVED, STUCK = 0, 1
_FAR = 1e30  # how DAQP writes infinity

_v, _m, _i = types.float64[::1], types.float64[:, ::1], types.int64[::1]


@register_jitable
def lq_factor(A, rows, columns, Q, order, floor):
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
        best, top = k, -1.0
        for i in range(k, rows):
            size = 0.0
            for j in range(k, columns):
                size += A[i, j] * A[i, j]
            if size > top:
                best, top = i, size
        norm = math.sqrt(top)
        if norm <= floor or norm < 1e-150:
            return k
        _swap_rows(A, order, k, best, columns)
        _reflect(A, Q, k, rows, columns, norm)
    return min(rows, columns)


@register_jitable
def longest_row(A):
    """The length of A's longest row."""
    top = 0.0
    for i in range(A.shape[0]):
        size = 0.0
        for j in range(A.shape[1]):
            size += A[i, j] * A[i, j]
        top = max(top, size)
    return math.sqrt(top)


@register_jitable
def _swap_rows(A, order, a, b, columns):
    if a == b:
        return
    order[a], order[b] = order[b], order[a]
    for j in range(columns):
        A[a, j], A[b, j] = A[b, j], A[a, j]


@register_jitable
def _reflect(A, Q, k, rows, columns, norm):
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


@register_jitable
def trapezoid_solve(L, rows, rank, b):
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


@register_jitable
def _reflect_column(L, b, k, rows, rank):
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


@register_jitable
def _product(A, rows, B, start, stop, out):
    """out = A B[:, start:stop]."""
    inner = B.shape[0]
    for i in range(rows):
        for j in range(start, stop):
            total = 0.0
            for k in range(inner):
                total += A[i, k] * B[k, j]
            out[i, j - start] = total


@register_jitable
def _hold_active(E, active, p, factor, Q, order, held, floor):
    """Factor the active rows of E; rows that depend on others are let go. Returns how many are held."""
    count = 0
    for i in range(E.shape[0]):
        if active[i] != 0:
            for j in range(p):
                factor[count, j] = E[i, j]
            held[count] = i
            count += 1
    rank = lq_factor(factor, count, p, Q, order, floor)
    for k in range(rank, count):
        active[held[order[k]]] = 0
    return rank


@register_jitable
def _towards_optimum(G, m, p, Q, rank, residual, y, floor):
    """y = the shortest step that brings |G y − residual| to its least within N(active)."""
    q = p - rank
    GN, Q2 = np.empty((m, max(q, 1))), np.empty((max(q, 1), max(q, 1)))
    order, right = np.empty(m, np.int64), np.empty(m)
    for i in range(m):
        for j in range(q):
            total = 0.0
            for k in range(p):
                total += G[i, k] * Q[k, rank + j]
            GN[i, j] = total
    depth = lq_factor(GN, m, q, Q2, order, floor)
    for i in range(m):
        right[i] = residual[order[i]]
    trapezoid_solve(GN, m, depth, right)
    for k in range(p):
        y[k] = 0.0
    for j in range(q):
        total = 0.0
        for k in range(depth):
            total += Q2[j, k] * right[k]
        for k in range(p):
            y[k] += Q[k, rank + j] * total


@register_jitable
def _first_wall(E, p, y, at, lower, upper, active, slopes, lengths):
    """How far along y the first limit is met (at most 1), and which: +(i + 1) upper, −(i + 1) lower, 0 none."""
    size = 0.0
    for k in range(p):
        size = max(size, abs(y[k]))
    share, wall = 1.0, 0
    for i in range(E.shape[0]):
        slope = 0.0
        for k in range(p):
            slope += E[i, k] * y[k]
        slopes[i] = slope
        if active[i] != 0 or abs(slope) <= 1e-12 * lengths[i] * size:
            continue
        room = (upper[i] - at[i]) if slope > 0.0 else (lower[i] - at[i])
        part = max(room / slope, 0.0)
        if part < share:
            share, wall = part, (i + 1 if slope > 0.0 else -(i + 1))
    return share, wall


@register_jitable
def _to_release(G, m, p, Q, factor, rank, order, held, active, residual, lower, upper, scale):
    """The active limit that pulls the wrong way hardest, or −1: multipliers μ of Gᵀ residual = −E_Wᵀ μ."""
    mu = np.empty(max(rank, 1))
    for a in range(rank):
        total = 0.0
        for i in range(m):
            slope = 0.0
            for k in range(p):
                slope += G[i, k] * Q[k, a]
            total -= slope * residual[i]
        mu[a] = total
    for a in range(rank - 1, -1, -1):
        for b in range(a + 1, rank):
            mu[a] -= factor[b, a] * mu[b]
        mu[a] /= factor[a, a]
    worst, found = 1e-12 * scale, -1
    for a in range(rank):
        i = held[order[a]]
        if upper[i] - lower[i] <= 1e-13 * min(abs(upper[i]), abs(lower[i])):
            continue
        wrong = mu[a] * active[i]
        if wrong > worst:
            worst, found = wrong, i
    return found


@register_jitable
def solve_level(B, b, C, lower, upper, Z, p, x, at, active):
    """min |B x − b|² over x + Z y within the limits, from a feasible x; `at` is C x, `active` −1, 0, +1 per limit."""
    n, m, c = x.size, b.size, C.shape[0]
    G, E = np.empty((m, p)), np.empty((c, p))
    _product(B, m, Z, 0, p, G)
    _product(C, c, Z, 0, p, E)
    Q, factor = np.empty((p, p)), np.empty((max(c, 1), p))
    order, held = np.empty(max(c, 1), np.int64), np.empty(max(c, 1), np.int64)
    residual, y, slopes, lengths = np.empty(m), np.empty(p), np.empty(c), np.empty(c)
    for i in range(c):
        lengths[i] = longest_row(C[i : i + 1])
    b_floor, c_floor = RANK * longest_row(B), RANK * longest_row(C)
    strength, size = 0.0, 0.0
    for i in range(m):
        for j in range(p):
            strength = max(strength, abs(G[i, j]))
    for _ in range(20 * (c + n) + 20):
        rank = _hold_active(E, active, p, factor, Q, order, held, c_floor)
        size = 0.0
        for i in range(m):
            residual[i] = b[i]
            for j in range(n):
                residual[i] -= B[i, j] * x[j]
            size = max(size, abs(b[i]), abs(residual[i]))
        _towards_optimum(G, m, p, Q, rank, residual, y, b_floor)
        share, wall = _first_wall(E, p, y, at, lower, upper, active, slopes, lengths)
        for j in range(n):
            for k in range(p):
                x[j] += share * Z[j, k] * y[k]
        for i in range(c):
            at[i] += share * slopes[i]
        if wall != 0:
            i = abs(wall) - 1
            active[i] = 1 if wall > 0 else -1
            at[i] = upper[i] if wall > 0 else lower[i]
            continue
        for i in range(m):
            for k in range(p):
                residual[i] -= G[i, k] * y[k]
        i = _to_release(G, m, p, Q, factor, rank, order, held, active, residual, lower, upper, strength * size)
        if i < 0:
            return SOLVED
        active[i] = 0
    return STUCK


@register_jitable
def narrow(B, m, Z, p):
    """Z ← a basis of what B leaves free of Z; returns its new width."""
    G, Q, order = np.empty((m, p)), np.empty((p, p)), np.empty(m, np.int64)
    _product(B, m, Z, 0, p, G)
    rank = lq_factor(G, m, p, Q, order, RANK * longest_row(B))
    row = np.empty(p)
    for i in range(Z.shape[0]):
        for j in range(p - rank):
            row[j] = 0.0
            for k in range(p):
                row[j] += Z[i, k] * Q[k, rank + j]
        for j in range(p - rank):
            Z[i, j] = row[j]
    return p - rank


@register_jitable
def solve_levels(A, b, starts, C, lower, upper, x, active):
    """Every level in turn from a feasible x, then |x|²; 0, or 1 + the level that did not end."""
    n, c = x.size, C.shape[0]
    Z, at = np.empty((n, n)), np.empty(c)
    for i in range(n):
        for j in range(n):
            Z[i, j] = 1.0 if i == j else 0.0
    for i in range(c):
        at[i] = 0.0
        for j in range(n):
            at[i] += C[i, j] * x[j]
    p = n
    for level in range(starts.size - 1):
        first, last = starts[level], starts[level + 1]
        if p == 0:
            return 0
        if last == first:
            continue
        if solve_level(A[first:last], b[first:last], C, lower, upper, Z, p, x, at, active) != SOLVED:
            return level + 1
        p = narrow(A[first:last], last - first, Z, p)
    if p > 0 and solve_level(np.eye(n), np.zeros(n), C, lower, upper, Z, p, x, at, active) != SOLVED:
        return starts.size
    return 0


@register_jitable
def _worst_excess(C, lower, upper, width, x):
    """The largest violation of a limit, in widths."""
    worst = 0.0
    for i in range(C.shape[0]):
        at = 0.0
        for j in range(x.size):
            at += C[i, j] * x[j]
        worst = max(worst, (at - upper[i]) / width[i], (lower[i] - at) / width[i])
    return worst


@register_jitable
def _middle_point(C, lower, upper, x):
    """x whose C x comes closest to the middle of the limits: inside whenever C is regular."""
    c, n = C.shape
    L, Q, order, right = C.copy(), np.empty((n, n)), np.empty(c, np.int64), np.empty(c)
    rank = lq_factor(L, c, n, Q, order, 1e-13 * longest_row(C))
    for i in range(c):
        low, high = lower[order[i]], upper[order[i]]
        if low <= 0.0 <= high:
            right[i] = 0.5 * (max(low, -1e9) + min(high, 1e9)) if low > -1e9 and high < 1e9 else 0.0
        else:
            right[i] = 0.5 * (low + high) if low > -1e9 and high < 1e9 else (low if low > 0.0 else high)
    trapezoid_solve(L, c, rank, right)
    for i in range(n):
        x[i] = 0.0
        for k in range(rank):
            x[i] += Q[i, k] * right[k]


@register_jitable
def find_start(C, lower, upper, width, x, active):
    """A feasible x, or the one whose worst violation, in widths, is least. Returns that violation; −1 if stuck.

    Solves min t² over (x, t) subject to lower − t width ≤ C x ≤ upper + t width; at its end `active` marks the
    limits that hold each other, the conflict if t > 0.
    """
    c, n = C.shape
    _middle_point(C, lower, upper, x)
    excess = _worst_excess(C, lower, upper, width, x)
    if excess <= 0.0:
        return 0.0
    rows, low, high = np.zeros((2 * c, n + 1)), np.full(2 * c, -np.inf), np.full(2 * c, np.inf)
    for i in range(c):
        for j in range(n):
            rows[i, j] = rows[c + i, j] = C[i, j]
        rows[i, n], rows[c + i, n] = -width[i], width[i]
        high[i], low[c + i] = upper[i], lower[i]
    z, on = np.empty(n + 1), np.zeros(2 * c, np.int64)
    for j in range(n):
        z[j] = x[j]
    z[n] = 1.001 * excess
    at = np.empty(2 * c)
    for i in range(2 * c):
        at[i] = 0.0
        for j in range(n + 1):
            at[i] += rows[i, j] * z[j]
    only = np.zeros((1, n + 1))
    only[0, n] = 1.0
    status = solve_level(only, np.zeros(1), rows, low, high, np.eye(n + 1), n + 1, z, at, on)
    for j in range(n):
        x[j] = z[j]
    for i in range(c):
        active[i] = 1 if on[i] != 0 else (-1 if on[c + i] != 0 else 0)
    if status != SOLVED:
        return -1.0
    return max(z[n], 0.0)


@kernel(types.UniTuple(types.float64, 2)(_m, _v, _i, _m, _v, _v, _v, _v, _i))
def hierarchy_kernel(A, b, starts, C, lower, upper, width, x, active):
    """Start, relax if need be, solve: (relaxation in widths, 0 or 1 + the level that did not end).

    lower and upper are widened in place to the point of least worst violation. `active` marks the limits met, or,
    when there is a relaxation, the ones that conflict.
    """
    c = C.shape[0]
    relaxed = 0.0
    if c > 0:
        relaxed = find_start(C, lower, upper, width, x, active)
        if relaxed < 0.0:
            return 0.0, -1.0
    met = np.zeros(c, np.int64)
    if relaxed > 1e-10:
        for i in range(c):
            at = 0.0
            for j in range(x.size):
                at += C[i, j] * x[j]
            lower[i], upper[i] = min(lower[i], at), max(upper[i], at)
    else:
        relaxed = 0.0
    failed = float(solve_levels(A, b, starts, C, lower, upper, x, met))
    if relaxed == 0.0:
        for i in range(c):
            active[i] = met[i]
    return relaxed, failed


@dataclass(frozen=True)
class Hierarchy:
    """What `solve_hierarchy` found.

    Attributes:
        x: the solution.
        relaxation: by how many widths the limits had to be widened; 0 when they can all be met.
        active: −1, 0, +1 per limit: at its lower bound, free, at its upper; with a relaxation, the conflicting ones.
        solver: "active-set", or "daqp" if that did not end.
    """

    x: Array
    relaxation: float
    active: Array
    solver: str


def solve_hierarchy(A: Array, b: Array, starts: Array, C: Array, lower: Array, upper: Array, width: Array) -> Hierarchy:
    """The lexicographic optimum of the levels A[starts[k]:starts[k+1]] x = b[…] within lower ≤ C x ≤ upper.

    Args:
        A, b: all levels' rows, highest level first.
        starts: where each level starts, and the number of rows; int64.
        C, lower, upper: limits, which may be infinite, lower ≤ upper.
        width: in which units a limit is relaxed when limits conflict, one positive number per row of C.
    """
    x, active = np.zeros(A.shape[1]), np.zeros(len(C), np.int64)
    low, high = lower.copy(), upper.copy()
    relaxed, failed = hierarchy_kernel(A, b, starts, C, low, high, width, x, active)
    if failed == 0.0 and np.isfinite(x).all():
        return Hierarchy(x, float(relaxed), active, "active-set")
    if failed < 0.0:
        raise NoSolution("the search for a point within the limits did not end", hint="are the limits finite numbers?")
    return Hierarchy(daqp_hierarchy(A, b, starts, C, low, high), float(relaxed), active, "daqp")


def daqp_hierarchy(A: Array, b: Array, starts: Array, C: Array, lower: Array, upper: Array) -> Array:
    """The same by a cascade of DAQP's QPs, each in a basis of the freedom the higher ones leave; answers checked.

    DAQP's own hierarchical mode is not used: what it returns is no least-squares optimum of the levels.
    """
    n = A.shape[1]
    x, Z = np.zeros(n), np.eye(n)
    levels = [(A[i:j], b[i:j]) for i, j in pairwise(starts) if j > i]
    for number, (B, wanted) in enumerate([*levels, (np.eye(n), np.zeros(n))]):
        G, low, high = B @ Z, lower - C @ x, upper - C @ x
        if number > 0:  # x is feasible up to rounding: do not let rounding make the next level infeasible
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        x = x + Z @ _daqp_level(G, wanted - B @ x, C @ Z, low, high)
        _, values, rows = np.linalg.svd(G)
        rank = int((values > RANK * max(values[0], 1e-300)).sum())
        Z = Z @ rows[rank:].T
        if Z.shape[1] == 0:
            break
    return x


def _daqp_level(G: Array, wanted: Array, E: Array, lower: Array, upper: Array) -> Array:
    """min |G y − wanted|² within the limits; tight tolerances first, DAQP's own if those do not work out."""
    flags = []
    for tolerance in (1e-11, 1e-6):
        y, _, flag, _ = daqp.solve(
            G.T @ G, -G.T @ wanted, np.ascontiguousarray(E),
            np.minimum(upper + tolerance, _FAR), np.maximum(lower - tolerance, -_FAR),
            np.zeros(len(E), dtype=np.int32), primal_tol=tolerance, dual_tol=tolerance,
        )  # fmt: skip
        flags.append(int(flag))
        at = E @ y
        slack = 10 * tolerance * (1.0 + np.abs(at))
        if flag >= 1 and np.isfinite(y).all() and (at <= upper + slack).all() and (at >= lower - slack).all():
            return np.asarray(y)
    raise NoSolution(f"the QP solver DAQP gave no valid answer (status {flags})")

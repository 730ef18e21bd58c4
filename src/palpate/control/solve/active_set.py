"""One level of least squares within limits, compiled: a primal active set on orthogonal (LQ) factors.

    minimise |A x − b|²   over x + Z y   subject to   lower ≤ C x ≤ upper

from an x within the limits; Z is an orthonormal basis of what higher levels leave free. Nothing here allocates: limits,
point and everything that is written on the way stand in a `ActiveSet`.
"""

from __future__ import annotations

import math

import numpy as np

from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, ReadVector, Record, Vector, sized
from palpate.engine.views import part

# ---------------------------------------- Orthogonal factors of small matrices in compiled code: no allocation,
# everything in the caller's arrays


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


RANK = 1e-11  # a direction weaker than this fraction of a task's strongest one counts as none
SOLVED, STUCK, ENDLESS = 0, 1, 2


class LevelRows(Record):
    """Rows first … last − 1 of A x = b, as least squares."""

    A: Matrix = sized("r", "n")
    b: Vector = sized("r")
    first: int = 0
    last: int = 0
    floor: float = 0.0  # what is shorter than this counts as zero among the rows
    endless: bool = False  # b is not a goal but a way: A x should go along b as far as the limits let it


class ActiveSet(Record):
    """n variables within c limits, levels of at most r rows: the point reached, and scratch."""

    # lower ≤ C x ≤ upper; a limit may be infinite
    C: Matrix = sized("c", "n")
    lower: Vector = sized("c", start=-np.inf)
    upper: Vector = sized("c", start=np.inf)
    # the point: x, C x, and −1, 0, +1 per limit that holds it at its lower side, not, at its upper
    x: Kept[Vector] = sized("n")
    at: Vector = sized("c")
    active: Kept[Integers] = sized("c")
    # Z, of which as many columns count as there is freedom left
    Z: Matrix = sized("n", "n")
    free: int = 0
    # the level's rows and the limits, times Z
    G: Matrix = sized("r", "n")
    E: Matrix = sized("c", "n")
    strength: float = 0.0  # the largest entry of G
    # LQ factors of the limits that hold x, how many and which they are, and their multipliers
    held_factor: Matrix = sized("c", "n")
    held_basis: Matrix = sized("n", "n")
    held_order: Integers = sized("c")
    held_limits: Integers = sized("c")
    held: int = 0
    pull: Vector = sized("n")
    # LQ factors of G within the null space of those limits
    inner_factor: Matrix = sized("r", "n")
    inner_basis: Matrix = sized("n", "n")
    inner_order: Integers = sized("r")
    right: Vector = sized("r")
    # the step y, what it leaves of b − A x, and how it meets the limits
    step: Vector = sized("n")
    residual: Vector = sized("r")
    slopes: Vector = sized("c")
    lengths: Vector = sized("c")
    row: Vector = sized("n")


def make_search(n: int, rows: int, limits: int) -> ActiveSet:
    """A search over n variables, levels of at most `rows` rows, or n, and `limits` limits."""
    return ActiveSet({"n": n, "r": max(rows, n), "c": limits})


@kernel
def start_search(s: ActiveSet) -> None:
    """Begin at x: C x of it, how long the limits' rows are, no limit active, every direction free."""
    for i in range(s.lower.size):
        s.at[i], s.active[i], s.lengths[i] = dot(s.C[i], s.x, s.x.size), 0, longest_row(s.C, i, i + 1)
    all_free(s)


@kernel
def all_free(s: ActiveSet) -> None:
    """Z = 1: every direction is free."""
    n = s.x.size
    for i in range(n):
        for j in range(n):
            s.Z[i, j] = 1.0 if i == j else 0.0
    s.free = n


@kernel
def select_rows(level: LevelRows, first: int, last: int) -> None:
    """Make rows first … last − 1 the ones that count, as a goal, rank judged by the longest of them."""
    level.first, level.last, level.endless = first, last, False
    level.floor = RANK * longest_row(level.A, first, last)


@kernel
def times_free(A: Matrix, first: int, last: int, s: ActiveSet, out: Matrix) -> None:
    """out = A[first:last] Z; as long as everything is free, Z is 1."""
    for i in range(first, last):
        for j in range(s.free):
            if s.free == s.x.size:
                out[i - first, j] = A[i, j]
                continue
            total = 0.0
            for k in range(s.x.size):
                total += A[i, k] * s.Z[k, j]
            out[i - first, j] = total


@kernel
def _prepare(level: LevelRows, s: ActiveSet) -> None:
    """The level and the limits in the basis of what is free."""
    times_free(level.A, level.first, level.last, s, s.G)
    times_free(s.C, 0, s.lower.size, s, s.E)
    s.strength = 0.0
    for i in range(level.last - level.first):
        for j in range(s.free):
            s.strength = max(s.strength, abs(s.G[i, j]))


@kernel
def _hold_active(s: ActiveSet, floor: float) -> None:
    """Factor the active rows of E; rows that depend on others are let go."""
    count = 0
    for i in range(s.lower.size):
        if s.active[i] != 0:
            for j in range(s.free):
                s.held_factor[count, j] = s.E[i, j]
            s.held_limits[count] = i
            count += 1
    s.held = 0 if count == 0 else lq_factor(s.held_factor, count, s.free, s.held_basis, s.held_order, floor)
    for k in range(s.held, count):
        s.active[s.held_limits[s.held_order[k]]] = 0


@kernel
def _set_residual(level: LevelRows, s: ActiveSet) -> float:
    """residual = b − A x, or the way itself if endless; returns how far rounding may have moved it."""
    travel, n = 0.0, s.x.size
    for i in range(level.first, level.last):
        total, size = level.b[i], abs(level.b[i])
        if not level.endless:
            for j in range(n):
                total -= level.A[i, j] * s.x[j]
                size += abs(level.A[i, j] * s.x[j])
        s.residual[i - level.first] = total
        travel = max(travel, size)
    return 1e-15 * (n + 1) * travel


@kernel
def _inside_held(level: LevelRows, s: ActiveSet) -> None:
    """inner_factor = G within the null space of the held limits, which is all of it where none is held."""
    for i in range(level.last - level.first):
        for j in range(s.free - s.held):
            if s.held == 0:
                s.inner_factor[i, j] = s.G[i, j]
                continue
            total = 0.0
            for k in range(s.free):
                total += s.G[i, k] * s.held_basis[k, s.held + j]
            s.inner_factor[i, j] = total


@kernel
def _shortest_inside(s: ActiveSet, rows: int, columns: int, floor: float) -> int:
    """row = the shortest z with the least |inner_factor z − residual|; returns the rank, and the factor is used up."""
    depth = lq_factor(s.inner_factor, rows, columns, s.inner_basis, s.inner_order, floor)
    for i in range(rows):
        s.right[i] = s.residual[s.inner_order[i]]
    trapezoid_solve(s.inner_factor, rows, depth, s.right)
    for j in range(columns):
        s.row[j] = dot(s.inner_basis[j], s.right, depth)
    return depth


@kernel
def _towards_optimum(level: LevelRows, s: ActiveSet) -> None:
    """step = the shortest y that brings |G y − residual| to its least within the null space of the held limits."""
    q = s.free - s.held
    _inside_held(level, s)
    _shortest_inside(s, level.last - level.first, q, level.floor)
    for k in range(s.free):
        if s.held == 0:
            s.step[k] = s.row[k]
            continue
        s.step[k] = 0.0
        for j in range(q):
            s.step[k] += s.held_basis[k, s.held + j] * s.row[j]


@kernel
def _first_limit(s: ActiveSet, endless: bool) -> tuple[float, int]:
    """How far along the step the first limit is met, at most 1 or without end, and which.

    +(i + 1) is the upper side of limit i, −(i + 1) its lower side, 0 none.
    """
    size = 0.0
    for k in range(s.free):
        size = max(size, abs(s.step[k]))
    share, limit_met = (math.inf if endless and size > 0.0 else 1.0), 0
    for i in range(s.lower.size):
        slope = s.slopes[i] = dot(s.E[i], s.step, s.free)
        if s.active[i] != 0 or abs(slope) <= 1e-12 * s.lengths[i] * size:
            continue
        room = (s.upper[i] - s.at[i]) if slope > 0.0 else (s.lower[i] - s.at[i])
        part = max(room / slope, 0.0)
        if part < share:
            share, limit_met = part, (i + 1 if slope > 0.0 else -(i + 1))
    return share, limit_met


@kernel
def _advance(s: ActiveSet, share: float, limit_met: int) -> None:
    """Go the share of the step, and lean on the limit met there."""
    for j in range(s.x.size):
        for k in range(s.free):
            s.x[j] += share * s.Z[j, k] * s.step[k]
    for i in range(s.lower.size):
        s.at[i] += share * s.slopes[i]
    if limit_met != 0:
        i = abs(limit_met) - 1
        s.active[i] = 1 if limit_met > 0 else -1
        s.at[i] = s.upper[i] if limit_met > 0 else s.lower[i]


@kernel
def _set_pulls(level: LevelRows, s: ActiveSet) -> None:
    """Multipliers μ of the held limits: Gᵀ residual = −E_heldᵀ μ."""
    for a in range(s.held):
        total = 0.0
        for i in range(level.last - level.first):
            slope = 0.0
            for k in range(s.free):
                slope += s.G[i, k] * s.held_basis[k, a]
            total -= slope * s.residual[i]
        s.pull[a] = total
    for a in range(s.held - 1, -1, -1):
        for b in range(a + 1, s.held):
            s.pull[a] -= s.held_factor[b, a] * s.pull[b]
        s.pull[a] /= s.held_factor[a, a]


@kernel
def _to_release(s: ActiveSet, tolerance: float, careful: bool) -> int:
    """The held limit that pulls the wrong way hardest, or −1; the first one that does when careful."""
    worst, limit = tolerance, -1
    for a in range(s.held):
        i = int(s.held_limits[s.held_order[a]])
        if s.upper[i] - s.lower[i] <= 1e-13 * min(abs(s.upper[i]), abs(s.lower[i])):
            continue
        wrong = s.pull[a] * s.active[i]
        better = (limit < 0 or i < limit) if careful else wrong > worst
        if wrong > tolerance and better:
            worst, limit = wrong, i
    return limit


@kernel
def solve_level(level: LevelRows, s: ActiveSet) -> int:
    """Bring the point to the level's optimum within the limits; SOLVED, STUCK, or ENDLESS where nothing ends a way."""
    if s.free == 0 or level.last == level.first:
        return SOLVED
    _prepare(level, s)
    floor, patience = RANK * longest_row(s.C, 0, s.lower.size), 3 * (s.lower.size + s.x.size) + 20
    for count in range(7 * patience):
        _hold_active(s, floor)
        _set_residual(level, s)
        _towards_optimum(level, s)
        share, limit_met = _first_limit(s, level.endless)
        if math.isinf(share):
            return ENDLESS
        _advance(s, share, limit_met)
        if limit_met != 0:
            continue
        if s.held == 0:
            return SOLVED
        # What is left after the step decides: before it, a distant start would hide small pulls.
        noise, size = _set_residual(level, s), 0.0
        for i in range(level.last - level.first):
            size = max(size, abs(s.residual[i]))
        _set_pulls(level, s)
        i = _to_release(s, s.strength * max(1e-12 * size, noise), count > patience)
        if i < 0:
            return SOLVED
        s.active[i] = 0
    return STUCK


@kernel
def narrow(level: LevelRows, s: ActiveSet) -> None:
    """Z ← a basis of what the level leaves free of Z."""
    times_free(level.A, level.first, level.last, s, s.inner_factor)
    count = level.last - level.first
    _keep_remaining(s, lq_factor(s.inner_factor, count, s.free, s.inner_basis, s.inner_order, level.floor))


@kernel
def _keep_remaining(s: ActiveSet, rank: int) -> None:
    """Z ← Z times the columns of inner_basis beyond the rank."""
    left = s.free - rank
    for i in range(s.x.size):
        for j in range(left):
            s.row[j] = 0.0
            for k in range(s.free):
                s.row[j] += s.Z[i, k] * s.inner_basis[k, rank + j]
        for j in range(left):
            s.Z[i, j] = s.row[j]
    s.free = left


@kernel
def step_freely(level: LevelRows, s: ActiveSet) -> None:
    """Bring x to the level's optimum within Z by the shortest way, limits left out, and take from Z what it used."""
    times_free(level.A, level.first, level.last, s, s.inner_factor)
    _set_residual(level, s)
    rank = _shortest_inside(s, level.last - level.first, s.free, level.floor)
    for i in range(s.x.size):
        for k in range(s.free):
            s.x[i] += s.Z[i, k] * s.row[k]
    _keep_remaining(s, rank)

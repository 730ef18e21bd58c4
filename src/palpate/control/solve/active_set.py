"""One level of least squares within limits, compiled: a primal active set on orthogonal (LQ) factors.

    minimise |A x − b|²   over x + Z y   subject to   lower ≤ C x ≤ upper

from an x within the limits; Z is an orthonormal basis of what higher levels leave free. Nothing here allocates: limits,
point and everything that is written on the way stand in a `ActiveSet`.
"""

from __future__ import annotations

import math

import numpy as np

from palpate.control.solve.orthogonal import longest_row, lq_factor, trapezoid_solve
from palpate.engine.kernels import dot, kernel
from palpate.engine.records import Integers, Kept, Matrix, Record, Vector, sized

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
def shortest_inside(s: ActiveSet, rows: int, columns: int, floor: float) -> int:
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
    shortest_inside(s, level.last - level.first, q, level.floor)
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
    rank = shortest_inside(s, level.last - level.first, s.free, level.floor)
    for i in range(s.x.size):
        for k in range(s.free):
            s.x[i] += s.Z[i, k] * s.row[k]
    _keep_remaining(s, rank)

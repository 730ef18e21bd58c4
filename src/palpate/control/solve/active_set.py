"""One level of least squares within limits, compiled: a primal active set on orthogonal (LQ) factors.

    minimise |A x − b|²   over x + Z y   subject to   lower ≤ C x ≤ upper

from an x within the limits; Z is an orthonormal basis of what higher levels leave free. Nothing here allocates: what a
search writes to is a `Workspace`, made once by `make_workspace`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from palpate.control.solve.factors import Integers, Matrix, Vector, longest_row, lq_factor, trapezoid_solve

RANK = 1e-11  # a direction weaker than this fraction of a task's strongest one counts as none
SOLVED, STUCK, ENDLESS = 0, 1, 2


class Limits(NamedTuple):
    """lower ≤ C x ≤ upper; a limit may be infinite."""

    C: Matrix
    lower: Vector
    upper: Vector


class Level(NamedTuple):
    """Rows first … last − 1 of A x = b, as least squares.

    Attributes:
        floor: what is shorter than this counts as zero among its rows.
        endless: b is not a goal but a way: A x should go along b as far as the limits let it.
    """

    A: Matrix
    b: Vector
    first: int
    last: int
    floor: float
    endless: bool


class Point(NamedTuple):
    """Where a search stands: x, C x, and −1, 0, +1 per limit that holds it at its lower side, not, at its upper."""

    x: Vector
    at: Vector
    active: Integers


class Workspace(NamedTuple):
    """What a search writes to; n variables, r rows per level and c limits at most.

    Attributes:
        free: Z, n×n, of which as many columns count as there is freedom left.
        G, E: the level's rows and the limits, times Z; r×n and c×n.
        held_factor, held_basis, held_order, held: LQ factors of the limits that hold x, and which they are.
        inner_factor, inner_basis, inner_order: LQ factors of G within their null space.
        right, residual: r.
        step, pull, row: y, the multipliers of the held limits, a row of Z; n.
        slopes, lengths: of the limits along y, and of their rows; c.
    """

    free: Matrix
    G: Matrix
    E: Matrix
    held_factor: Matrix
    held_basis: Matrix
    held_order: Integers
    held: Integers
    inner_factor: Matrix
    inner_basis: Matrix
    inner_order: Integers
    right: Vector
    residual: Vector
    step: Vector
    pull: Vector
    row: Vector
    slopes: Vector
    lengths: Vector


_v, _m, _i = types.float64[::1], types.float64[:, ::1], types.int64[::1]
WORKSPACE = types.NamedTuple((_m,) * 5 + (_i,) * 2 + (_m,) * 2 + (_i,) + (_v,) * 7, Workspace)


@register_jitable
def make_workspace(n: int, rows: int, limits: int) -> Workspace:
    """Room for n variables, levels of at most `rows` rows, and `limits` limits."""
    r, c = max(rows, n, 1), max(limits, 1)
    square, level, wall = (n, n), (r, n), (c, n)
    return Workspace(
        np.zeros(square), np.zeros(level), np.zeros(wall),
        np.zeros(wall), np.zeros(square), np.zeros(c, np.int64), np.zeros(c, np.int64),
        np.zeros(level), np.zeros(square), np.zeros(r, np.int64),
        np.zeros(r), np.zeros(r), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(c), np.zeros(c),
    )  # fmt: skip


@register_jitable
def all_free(work: Workspace, n: int) -> int:
    """Z = 1: every direction of n variables is free; returns n."""
    for i in range(n):
        for j in range(n):
            work.free[i, j] = 1.0 if i == j else 0.0
    return n


@register_jitable
def place(limits: Limits, point: Point) -> None:
    """C x of the point's x, and no limit active."""
    for i in range(limits.lower.size):
        point.at[i], point.active[i] = 0.0, 0
        for j in range(point.x.size):
            point.at[i] += limits.C[i, j] * point.x[j]


@register_jitable
def _product(A: Matrix, first: int, last: int, Z: Matrix, free: int, out: Matrix) -> None:
    """out = A[first:last] Z[:, :free]."""
    n = A.shape[1]
    for i in range(first, last):
        for j in range(free):
            total = 0.0
            for k in range(n):
                total += A[i, k] * Z[k, j]
            out[i - first, j] = total


@register_jitable
def _hold_active(limits: Limits, point: Point, work: Workspace, free: int, floor: float) -> int:
    """Factor the active rows of E; rows that depend on others are let go. Returns how many are held."""
    count = 0
    for i in range(limits.lower.size):
        if point.active[i] != 0:
            for j in range(free):
                work.held_factor[count, j] = work.E[i, j]
            work.held[count] = i
            count += 1
    rank = lq_factor(work.held_factor, count, free, work.held_basis, work.held_order, floor)
    for k in range(rank, count):
        point.active[work.held[work.held_order[k]]] = 0
    return rank


@register_jitable
def _set_residual(level: Level, x: Vector, residual: Vector) -> float:
    """residual = b − A x, or the way itself if endless; returns how far rounding may have moved it."""
    travel = 0.0
    for i in range(level.first, level.last):
        total, size = level.b[i], abs(level.b[i])
        if not level.endless:
            for j in range(x.size):
                total -= level.A[i, j] * x[j]
                size += abs(level.A[i, j] * x[j])
        residual[i - level.first] = total
        travel = max(travel, size)
    return 1e-15 * (x.size + 1) * travel


@register_jitable
def _towards_optimum(work: Workspace, m: int, free: int, held: int, floor: float) -> None:
    """step = the shortest y that brings |G y − residual| to its least within the null space of the held limits."""
    G, Q, GN = work.G, work.held_basis, work.inner_factor
    q = free - held
    for i in range(m):
        for j in range(q):
            total = 0.0
            for k in range(free):
                total += G[i, k] * Q[k, held + j]
            GN[i, j] = total
    depth = lq_factor(GN, m, q, work.inner_basis, work.inner_order, floor)
    for i in range(m):
        work.right[i] = work.residual[work.inner_order[i]]
    trapezoid_solve(GN, m, depth, work.right)
    for k in range(free):
        work.step[k] = 0.0
    for j in range(q):
        total = 0.0
        for k in range(depth):
            total += work.inner_basis[j, k] * work.right[k]
        for k in range(free):
            work.step[k] += Q[k, held + j] * total


@register_jitable
def _first_wall(limits: Limits, point: Point, work: Workspace, free: int, endless: bool) -> tuple[float, int]:
    """How far along the step the first limit is met, at most 1 or without end, and which.

    +(i + 1) is the upper side of limit i, −(i + 1) its lower side, 0 none.
    """
    size = 0.0
    for k in range(free):
        size = max(size, abs(work.step[k]))
    share, wall = (math.inf if endless and size > 0.0 else 1.0), 0
    for i in range(limits.lower.size):
        slope = 0.0
        for k in range(free):
            slope += work.E[i, k] * work.step[k]
        work.slopes[i] = slope
        if point.active[i] != 0 or abs(slope) <= 1e-12 * work.lengths[i] * size:
            continue
        room = (limits.upper[i] - point.at[i]) if slope > 0.0 else (limits.lower[i] - point.at[i])
        part = max(room / slope, 0.0)
        if part < share:
            share, wall = part, (i + 1 if slope > 0.0 else -(i + 1))
    return share, wall


@register_jitable
def _advance(limits: Limits, point: Point, work: Workspace, free: int, share: float, wall: int) -> None:
    """Go the share of the step, and lean on the limit met there."""
    for j in range(point.x.size):
        for k in range(free):
            point.x[j] += share * work.free[j, k] * work.step[k]
    for i in range(limits.lower.size):
        point.at[i] += share * work.slopes[i]
    if wall != 0:
        i = abs(wall) - 1
        point.active[i] = 1 if wall > 0 else -1
        point.at[i] = limits.upper[i] if wall > 0 else limits.lower[i]


@register_jitable
def _set_pulls(work: Workspace, m: int, free: int, held: int) -> None:
    """Multipliers μ of the held limits: Gᵀ residual = −E_heldᵀ μ."""
    G, Q, L, pull = work.G, work.held_basis, work.held_factor, work.pull
    for a in range(held):
        total = 0.0
        for i in range(m):
            slope = 0.0
            for k in range(free):
                slope += G[i, k] * Q[k, a]
            total -= slope * work.residual[i]
        pull[a] = total
    for a in range(held - 1, -1, -1):
        for b in range(a + 1, held):
            pull[a] -= L[b, a] * pull[b]
        pull[a] /= L[a, a]


@register_jitable
def _to_release(limits: Limits, point: Point, work: Workspace, held: int, tolerance: float, careful: bool) -> int:
    """The held limit that pulls the wrong way hardest, or −1; the first one that does when careful."""
    worst, found = tolerance, -1
    for a in range(held):
        i = work.held[work.held_order[a]]
        if limits.upper[i] - limits.lower[i] <= 1e-13 * min(abs(limits.upper[i]), abs(limits.lower[i])):
            continue
        wrong = work.pull[a] * point.active[i]
        better = (found < 0 or i < found) if careful else wrong > worst
        if wrong > tolerance and better:
            worst, found = wrong, i
    return found


@register_jitable
def _prepare(level: Level, limits: Limits, work: Workspace, free: int) -> float:
    """The level and the limits in the basis of what is free; returns the largest entry of G."""
    m, c = level.last - level.first, limits.lower.size
    _product(level.A, level.first, level.last, work.free, free, work.G)
    _product(limits.C, 0, c, work.free, free, work.E)
    for i in range(c):
        work.lengths[i] = longest_row(limits.C, i, i + 1)
    strength = 0.0
    for i in range(m):
        for j in range(free):
            strength = max(strength, abs(work.G[i, j]))
    return strength


@register_jitable
def solve_level(level: Level, limits: Limits, point: Point, work: Workspace, free: int) -> int:
    """Bring the point to the level's optimum within the limits; SOLVED, STUCK, or ENDLESS where nothing ends a way.

    Args:
        level: what is minimised.
        limits: which the point respects.
        point: start, and the optimum afterwards.
        work: its `free` holds Z.
        free: how many columns of Z count.
    """
    m, c, n = level.last - level.first, limits.lower.size, point.x.size
    strength, floor = _prepare(level, limits, work, free), RANK * longest_row(limits.C, 0, c)
    patience = 3 * (c + n) + 20
    for count in range(7 * patience):
        held = _hold_active(limits, point, work, free, floor)
        _set_residual(level, point.x, work.residual)
        _towards_optimum(work, m, free, held, level.floor)
        share, wall = _first_wall(limits, point, work, free, level.endless)
        if math.isinf(share):
            return ENDLESS
        _advance(limits, point, work, free, share, wall)
        if wall != 0:
            continue
        # What is left after the step decides: before it, a distant start would hide small pulls.
        noise, size = _set_residual(level, point.x, work.residual), 0.0
        for i in range(m):
            size = max(size, abs(work.residual[i]))
        _set_pulls(work, m, free, held)
        i = _to_release(limits, point, work, held, strength * max(1e-12 * size, noise), count > patience)
        if i < 0:
            return SOLVED
        point.active[i] = 0
    return STUCK


@register_jitable
def narrow(level: Level, work: Workspace, free: int) -> int:
    """Z ← a basis of what the level leaves free of Z; returns its new width."""
    m = level.last - level.first
    _product(level.A, level.first, level.last, work.free, free, work.inner_factor)
    rank = lq_factor(work.inner_factor, m, free, work.inner_basis, work.inner_order, level.floor)
    for i in range(level.A.shape[1]):
        for j in range(free - rank):
            work.row[j] = 0.0
            for k in range(free):
                work.row[j] += work.free[i, k] * work.inner_basis[k, rank + j]
        for j in range(free - rank):
            work.free[i, j] = work.row[j]
    return free - rank

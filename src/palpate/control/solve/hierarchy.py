"""Least squares within limits, level by level: the solver under priorities and the fastest stop.

    level k:  minimise |A_k x − b_k|²   subject to   lower ≤ C x ≤ upper,   A_j x = A_j x* for every level j < k

The optimal A_k x* of a level is unique, so the freedom it leaves is exactly N(A_1; …; A_k) within the limits, and
lower levels are solved in an orthonormal basis of it: they cannot disturb higher ones. A last level, |x|², makes x*
itself unique. Each level is solved by a primal active set on orthogonal (LQ) factors, compiled; if it does not end,
a cascade of DAQP's QPs answers instead, checked, and the result says so.

`hierarchy_kernel(stack, answer, room)` is all of it without allocation, for compiled laws; `solve_hierarchy` is the
same from Python.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

import daqp
import numpy as np
from numba import types
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.control.solve.active_set import (
    RANK,
    SOLVED,
    WORKSPACE,
    Level,
    Limits,
    Point,
    Workspace,
    all_free,
    make_workspace,
    narrow,
    place,
    solve_level,
)
from palpate.control.solve.factors import (
    Integers,
    Matrix,
    Vector,
    longest_row,
    lq_factor,
    trapezoid_solve,
)
from palpate.engine import kernel
from palpate.errors import NoSolution

__all__ = ["Hierarchy", "daqp_hierarchy", "hierarchy_kernel", "solve_hierarchy", "solve_levels"]
__all__ += ["lq_factor", "trapezoid_solve"]  # where laws look for them

_FAR = 1e30  # how DAQP writes infinity
_UNLIMITED = 1e9  # a limit beyond this has no middle


class Stack(NamedTuple):
    """Levels A[starts[k]:starts[k+1]] x = b[…], highest first, within lower ≤ C x ≤ upper.

    `width`: in which units a limit is relaxed when limits conflict, one positive number per row of C.
    """

    A: Matrix
    b: Vector
    starts: Integers
    C: Matrix
    lower: Vector
    upper: Vector
    width: Vector


class Solution(NamedTuple):
    """What `hierarchy_kernel` writes: x, and −1, 0, +1 per limit."""

    x: Vector
    active: Integers


class Room(NamedTuple):
    """What a stack of n variables, at most r rows per level and c limits writes to while it is solved.

    Attributes:
        search: of one level.
        at, met: C x and the limits that hold x; c.
        unit, nought: 1 (n×n) and 0 (n), rows and goal of the last level |x|².
        C, lower, upper, x, limits_at, active, last: limits and point with one more variable, the common violation.
    """

    search: Workspace
    at: Vector
    met: Integers
    unit: Matrix
    nought: Vector
    C: Matrix
    lower: Vector
    upper: Vector
    x: Vector
    limits_at: Vector
    active: Integers
    last: Matrix


_v, _m, _i = types.float64[::1], types.float64[:, ::1], types.int64[::1]
STACK = types.NamedTuple((_m, _v, _i, _m, _v, _v, _v), Stack)
SOLUTION = types.NamedTuple((_v, _i), Solution)
ROOM = types.NamedTuple((WORKSPACE, _v, _i, _m, _v, _m, _v, _v, _v, _v, _i, _m), Room)


@register_jitable
def make_room(n: int, rows: int, limits: int) -> Room:
    """Room for n variables, levels of at most `rows` rows, and `limits` limits; levels may have n rows in any case."""
    c = max(limits, 1)
    last = np.zeros((1, n + 1))
    last[0, n] = 1.0
    return Room(
        make_workspace(n + 1, rows, 2 * c), np.zeros(c), np.zeros(c, np.int64), np.eye(n), np.zeros(n),
        np.zeros((2 * c, n + 1)), np.zeros(2 * c), np.zeros(2 * c), np.zeros(n + 1), np.zeros(2 * c),
        np.zeros(2 * c, np.int64), last,
    )  # fmt: skip


# ------------------------------------------------------------------ a point within the limits


@register_jitable
def worst_excess(limits: Limits, width: Vector, x: Vector) -> float:
    """The largest violation of a limit, in widths."""
    worst = 0.0
    for i in range(limits.lower.size):
        at = 0.0
        for j in range(x.size):
            at += limits.C[i, j] * x[j]
        worst = max(worst, (at - limits.upper[i]) / width[i], (limits.lower[i] - at) / width[i])
    return worst


@register_jitable
def middle(low: float, high: float) -> float:
    """The middle of two limits; of one alone, that one, unless 0 is within."""
    if low > -_UNLIMITED and high < _UNLIMITED:
        return 0.5 * (low + high)
    if low <= 0.0 <= high:
        return 0.0
    return low if low > 0.0 else high


@register_jitable
def middle_point(limits: Limits, x: Vector, work: Workspace) -> None:
    """x whose C x comes closest to the middle of the limits: inside whenever C is regular."""
    c, n = limits.lower.size, x.size
    L, order, right = work.held_factor, work.held_order, work.slopes
    for i in range(c):
        for j in range(n):
            L[i, j] = limits.C[i, j]
    rank = lq_factor(L, c, n, work.held_basis, order, 1e-13 * longest_row(limits.C, 0, c))
    for i in range(c):
        right[i] = middle(limits.lower[order[i]], limits.upper[order[i]])
    trapezoid_solve(L, c, rank, right)
    for i in range(n):
        x[i] = 0.0
        for k in range(rank):
            x[i] += work.held_basis[i, k] * right[k]


@register_jitable
def _widened(limits: Limits, width: Vector, room: Room) -> None:
    """The limits over (x, t): C x − t width ≤ upper, C x + t width ≥ lower."""
    c, n = limits.lower.size, limits.C.shape[1]
    for i in range(c):
        for j in range(n):
            room.C[i, j] = room.C[c + i, j] = limits.C[i, j]
        room.C[i, n], room.C[c + i, n] = -width[i], width[i]
        room.lower[i], room.upper[i] = -np.inf, limits.upper[i]
        room.lower[c + i], room.upper[c + i] = limits.lower[i], np.inf
    for i in range(2 * c, room.lower.size):
        room.lower[i], room.upper[i] = -np.inf, np.inf
        for j in range(n + 1):
            room.C[i, j] = 0.0


@register_jitable
def least_excess(limits: Limits, width: Vector, x: Vector, room: Room, free: int) -> float:
    """The point of x + Z y whose worst violation of the limits, in widths, is least: min t² over (y, t).

    Returns that violation, −1 if the search did not end; `room.active` then marks the limits that hold each other:
    their upper sides first, the lower ones after them.
    """
    n, Z, z = x.size, room.search.free, room.x
    excess = worst_excess(limits, width, x)
    if excess <= 0.0:
        return 0.0
    _widened(limits, width, room)
    for j in range(n):
        z[j], Z[j, free] = x[j], 0.0
    for k in range(free + 1):
        Z[n, k] = 1.0 if k == free else 0.0
    z[n] = excess
    wider, point = Limits(room.C, room.lower, room.upper), Point(z, room.limits_at, room.active)
    place(wider, point)
    level = Level(room.last, room.nought, 0, 1, RANK, False)
    if solve_level(level, wider, point, room.search, free + 1) != SOLVED:
        return -1.0
    for j in range(n):
        x[j] = z[j]
    return max(z[n], 0.0)


@register_jitable
def find_start(stack: Stack, answer: Solution, room: Room) -> float:
    """A feasible x, or the one whose worst violation, in widths, is least. Returns that violation; −1 if stuck.

    `answer.active` marks the limits that hold each other, the conflict if there is a violation.
    """
    limits, c = Limits(stack.C, stack.lower, stack.upper), stack.lower.size
    middle_point(limits, answer.x, room.search)
    for i in range(c):
        answer.active[i] = room.active[i] = room.active[c + i] = 0
    excess = least_excess(limits, stack.width, answer.x, room, all_free(room.search, answer.x.size))
    for i in range(c):
        answer.active[i] = 1 if room.active[i] != 0 else (-1 if room.active[c + i] != 0 else 0)
    return excess


# ------------------------------------------------------------------ the levels


@register_jitable
def descend(stack: Stack, point: Point, room: Room) -> int:
    """Every level in turn from a feasible point, then |x|²; 0, or 1 + the level that did not end."""
    limits, work, n = Limits(stack.C, stack.lower, stack.upper), room.search, point.x.size
    place(limits, point)
    free, depth = all_free(work, n), stack.starts.size - 1
    for k in range(depth):
        first, last = stack.starts[k], stack.starts[k + 1]
        if free == 0:
            return 0
        if last == first:
            continue
        level = Level(stack.A, stack.b, first, last, RANK * longest_row(stack.A, first, last), False)
        if solve_level(level, limits, point, work, free) != SOLVED:
            return k + 1
        free = narrow(level, work, free)
    shortest = Level(room.unit, room.nought, 0, n, RANK, False)
    if free > 0 and solve_level(shortest, limits, point, work, free) != SOLVED:
        return depth + 1
    return 0


@kernel(types.UniTuple(types.float64, 2)(STACK, SOLUTION, ROOM), lean=True)
def hierarchy_kernel(stack: Stack, answer: Solution, room: Room) -> tuple[float, float]:
    """Start, relax if need be, solve: (relaxation in widths, 0 or 1 + the level that did not end, −1 without a start).

    stack.lower and stack.upper are widened in place to the point of least worst violation. `answer.active` marks the
    limits met, or, when there is a relaxation, the ones that conflict. Nothing is allocated.
    """
    c, relaxed = stack.lower.size, 0.0
    if c > 0:
        relaxed = find_start(stack, answer, room)
        if relaxed < 0.0:
            return 0.0, -1.0
    if relaxed > 1e-10:
        for i in range(c):
            at = 0.0
            for j in range(answer.x.size):
                at += stack.C[i, j] * answer.x[j]
            stack.lower[i], stack.upper[i] = min(stack.lower[i], at), max(stack.upper[i], at)
    else:
        relaxed = 0.0
    failed = float(descend(stack, Point(answer.x, room.at, room.met), room))
    if relaxed == 0.0:
        for i in range(c):
            answer.active[i] = room.met[i]
    return relaxed, failed


@register_jitable
def solve_levels(
    A: Matrix, b: Vector, starts: Integers, C: Matrix, lower: Vector, upper: Vector, x: Vector, active: Integers
) -> int:
    """`descend` from a feasible x with room of its own: 0, or 1 + the level that did not end."""
    room = make_room(x.size, A.shape[0], lower.size)
    return descend(Stack(A, b, starts, C, lower, upper, lower), Point(x, room.at, active), room)


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


R = TypeVar("R")


class Rooms(threading.local, Generic[R]):
    """Rooms by size, each thread its own."""

    def __init__(self, make: Callable[[int, int, int], R]) -> None:
        self.make = make
        self.known: dict[tuple[int, int, int], R] = {}

    def of(self, n: int, rows: int, limits: int) -> R:
        """The room for n variables, rows and limits."""
        size = (n, rows, limits)
        if size not in self.known:
            if len(self.known) >= 32:
                self.known.clear()
            self.known[size] = self.make(*size)
        return self.known[size]


_rooms = Rooms(make_room)


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
    stack = Stack(A, b, starts, C, low, high, width)
    relaxed, failed = hierarchy_kernel(stack, Solution(x, active), _rooms.of(A.shape[1], len(A), len(C)))
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

"""Least squares within limits, level by level: the solver under priorities and the fastest stop.

    level k:  minimise |A_k x − b_k|²   subject to   lower ≤ C x ≤ upper,   A_j x = A_j x* for every level j < k

The optimal A_k x* of a level is unique, so the freedom it leaves is exactly N(A_1; …; A_k) within the limits, and
lower levels are solved in an orthonormal basis of it: they cannot disturb higher ones. A last level, |x|², makes x*
itself unique. Each level is solved by a primal active set on orthogonal (LQ) factors, compiled; if it does not end,
a cascade of DAQP's QPs answers instead, checked, and the result says so.

A compiled law keeps a `Stack` in its memory, writes the rows and limits of a tick into it, calls `solve_stack(stack)`,
which allocates nothing, and finds the answer in `stack.search.x`; `solve_hierarchy` is the same from Python.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeVar

import daqp
import numpy as np

from palpate.checks import Array
from palpate.control.solve.active_set import (
    RANK,
    SOLVED,
    ActiveSet,
    LevelRows,
    all_free,
    make_search,
    narrow,
    select_rows,
    solve_level,
    start_search,
    step_freely,
)
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Integers, Record, Vector, sized
from palpate.errors import NoSolution

_FAR = 1e30  # how DAQP writes infinity


class Stack(Record):
    """Levels within limits; made by `make_stack`.

    The rows of all levels are `level.A` and `level.b`, highest level first, and start at `starts`, whose last entry is
    their number; the limits are `search.C`, `search.lower` and `search.upper`, and so is the answer, `search.x`.
    """

    level: LevelRows
    starts: Integers = sized("k")
    search: ActiveSet
    units: Vector = sized("c", start=1.0)  # in which units a limit is relaxed where limits conflict
    shortest: LevelRows  # 1 x = 0
    wide: ActiveSet  # with one more variable, by how many widths the limits are left
    common: LevelRows  # that variable = 0


def make_stack(n: int, rows: int, levels: int, limits: int) -> Stack:
    """A stack of n variables, so many rows in so many levels, and limits, all of them zero."""
    last = np.zeros((1, n + 1))
    last[0, n] = 1.0
    return Stack(
        {"k": levels + 1, "c": limits},
        level=LevelRows({"r": rows, "n": n}),
        search=make_search(n, rows, limits),
        shortest=LevelRows({"r": n}, A=np.eye(n), last=n, floor=RANK),
        wide=make_search(n + 1, 1, 2 * limits),
        common=LevelRows({"r": 1}, A=last, last=1, floor=RANK),
    )


# ------------------------------------------------------------------ a point within the limits


@kernel
def worst_excess(s: ActiveSet, width: Vector) -> float:
    """The largest violation of a limit by x, in widths."""
    worst = 0.0
    for i in range(s.lower.size):
        at = dot(s.C[i], s.x, s.x.size)
        worst = max(worst, (at - s.upper[i]) / width[i], (s.lower[i] - at) / width[i])
    return worst


@kernel
def _widen(s: ActiveSet, width: Vector, wide: ActiveSet) -> None:
    """The limits over (x, t): C x − t width ≤ upper, C x + t width ≥ lower."""
    c, n = s.lower.size, s.x.size
    for i in range(c):
        for j in range(n):
            wide.C[i, j] = wide.C[c + i, j] = s.C[i, j]
        wide.C[i, n], wide.C[c + i, n] = -width[i], width[i]
        wide.upper[i], wide.lower[c + i] = s.upper[i], s.lower[i]


@kernel
def seek_start(stack: Stack) -> bool:
    """Whether x violates a limit; if so, the search for the least common violation, min t² over (y, t), is laid out."""
    s, wide, n = stack.search, stack.wide, stack.search.x.size
    excess = worst_excess(s, stack.units)
    if excess <= 0.0:
        return False
    _widen(s, stack.units, wide)
    put(wide.x, 0, s.x)
    wide.x[n] = excess
    start_search(wide)
    return True


@kernel
def take_start(stack: Stack) -> float:
    """x of the search for the least common violation; limits that it still violates are widened. By how much."""
    s, n, excess = stack.search, stack.search.x.size, stack.wide.x[stack.search.x.size]
    for j in range(n):
        s.x[j] = stack.wide.x[j]
    if excess > 1e-10:
        admit(s)
    start_search(s)
    return excess if excess > 1e-10 else 0.0


@kernel
def admit(s: ActiveSet) -> None:
    """Widen the limits that x violates as far as it does."""
    for i in range(s.lower.size):
        at = dot(s.C[i], s.x, s.x.size)
        s.lower[i], s.upper[i] = min(s.lower[i], at), max(s.upper[i], at)


@kernel
def _free_optimum(stack: Stack) -> bool:
    """x of all levels as if there were no limits, the shortest; whether it is within them, and so the optimum there."""
    s, level = stack.search, stack.level
    clear(s.x)
    all_free(s)
    for k in range(stack.starts.size - 1):
        select_rows(level, int(stack.starts[k]), int(stack.starts[k + 1]))
        step_freely(level, s)
    start_search(s)
    for i in range(s.lower.size):
        if not s.lower[i] <= s.at[i] <= s.upper[i]:
            return False
    return True


@kernel
def solve_stack(stack: Stack) -> tuple[float, int]:
    """A point within the limits, every level in turn, then |x|²: (relaxation in widths, 0).

    The optimum without limits is tried first: a third of the work, and most often within them.

    Where limits exclude each other they are widened in place to the point of least worst violation, and `wide.active`
    marks the ones that do, their upper sides first; else `search.active` marks the limits met. Instead of 0, −1 says
    that the search for a start did not end, and 1 + k that of level k.
    """
    s, depth, relaxed = stack.search, stack.starts.size - 1, 0.0
    if _free_optimum(stack):
        return relaxed, 0
    clear(s.x)
    start_search(s)
    for k in range(-1, depth + 1):  # −1: the start; depth: |x|²
        level, where = stack.level, s
        if k < 0:
            if not seek_start(stack):
                continue
            level, where = stack.common, stack.wide
        elif k == depth:
            level = stack.shortest
        else:
            select_rows(level, int(stack.starts[k]), int(stack.starts[k + 1]))
        if solve_level(level, where) != SOLVED:
            return relaxed, (k + 1 if k >= 0 else -1)
        if k < 0:
            relaxed = take_start(stack)
        else:
            narrow(level, s)
    return relaxed, 0


# ------------------------------------------------------------------ from Python


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


class Workspaces(threading.local, Generic[R]):
    """Records that are used again for problems of the same size, each thread its own."""

    def __init__(self, make: Callable[..., R]) -> None:
        self.make = make
        self.known: dict[Hashable, R] = {}

    def of(self, *size: Any) -> R:
        """The one of a size."""
        if size not in self.known:
            if len(self.known) >= 32:
                self.known.clear()
            self.known[size] = self.make(*size)
        return self.known[size]


class _Stacked:
    """A stack, and where its arrays are: to look each of them up at every call would take longer than to fill it."""

    def __init__(self, n: int, rows: int, levels: int, limits: int) -> None:
        self.stack = make_stack(n, rows, levels, limits)
        self.address, level, s = self.stack.address, self.stack.level, self.stack.search
        self.given = (level.A, level.b, self.stack.starts, s.C, s.lower, s.upper, self.stack.units)
        self.x, self.active = s.x, s.active


_stacks = Workspaces(_Stacked)


def solve_hierarchy(A: Array, b: Array, starts: Array, C: Array, lower: Array, upper: Array, width: Array) -> Hierarchy:
    """The lexicographic optimum of the levels A[starts[k]:starts[k+1]] x = b[…] within lower ≤ C x ≤ upper.

    Args:
        A, b: all levels' rows, highest level first.
        starts: where each level starts, and the number of rows; int64.
        C, lower, upper: limits, which may be infinite, lower ≤ upper.
        width: in which units a limit is relaxed when limits conflict, one positive number per row of C.
    """
    work = _stacks.of(A.shape[1], len(A), len(starts) - 1, len(C))
    for array, value in zip(work.given, (A, b, starts, C, lower, upper, width)):
        array[...] = value
    relaxed, failed = solve_stack(work.address)
    x = work.x.copy()
    if failed == 0 and math.isfinite(np.vdot(x, x)):
        active = work.active.copy()
        if relaxed > 0.0:  # those that exclude each other
            upper, lower = work.stack.wide.active.reshape(2, -1) != 0
            active = np.where(upper, 1, np.where(lower, -1, 0))
        return Hierarchy(x, relaxed, active, "active-set")
    if failed < 0:
        raise NoSolution("the search for a point within the limits did not end", hint="are the limits finite numbers?")
    s = work.stack.search
    return Hierarchy(daqp_hierarchy(A, b, starts, C, s.lower, s.upper), relaxed, s.active.copy(), "daqp")


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

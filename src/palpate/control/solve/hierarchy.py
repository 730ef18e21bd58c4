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
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.solve.active_set import (
    SOLVED,
    all_free,
    narrow,
    select_rows,
    solve_level,
    start_search,
    step_freely,
)
from palpate.control.solve.daqp_cascade import daqp_hierarchy
from palpate.control.solve.stack import Stack, make_stack, seek_start, take_start
from palpate.control.solve.workspaces import Workspaces
from palpate.engine.kernels import clear, kernel
from palpate.errors import NoSolution


@kernel
def free_optimum(stack: Stack) -> bool:
    """x of all levels as if there were no limits, the shortest; whether it is within them, and so the optimum there."""
    s, level = stack.search, stack.level
    clear(s.x)
    all_free(s)
    for k in range(stack.starts.size - 1):
        select_rows(level, int(stack.starts[k]), int(stack.starts[k + 1]))
        step_freely(level, s)
    stack.unsettled = s.free
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
    if free_optimum(stack):
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


@dataclass(frozen=True)
class Hierarchy:
    """Result of `solve_hierarchy`.

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

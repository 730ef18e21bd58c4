"""A stack of levels within limits, compiled, and the search for a point within its limits to start from."""

from __future__ import annotations

import numpy as np

from palpate.control.solve.active_set import RANK, ActiveSet, LevelRows, make_search, start_search
from palpate.engine.kernels import dot, kernel, put
from palpate.engine.records import Integers, Record, Vector, sized


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
    unsettled: int = 0  # how many directions the levels leave free, as the optimum without limits found them


def make_stack(n: int, rows: int, levels: int, limits: int) -> Stack:
    """A stack of n variables with given numbers of rows, levels and limits, all of them zero."""
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

"""The fastest stop from the bounds that held the last one: tried first, before any search."""

from __future__ import annotations

from palpate.control.solve.active_set import RANK, ActiveSet
from palpate.control.solve.orthogonal import longest_row, lq_factor, trapezoid_solve
from palpate.control.solve.stopping.problem import FOUND, KEPT, StopProblem, braking_along, size_of
from palpate.engine.kernels import dot, kernel
from palpate.engine.records import Integers, Vector


@kernel
def _last_rows(s: StopProblem) -> int:
    """The line and the limits that held the last stop, as rows W u = w; how many they are, or 0 for too many."""
    search, level, count = s.stack.search, s.stack.level, 0
    across = level.A.shape[0] - 1
    for k in range(across + s.holding.size):
        i = k - across  # of the limits, behind the rows across the line
        if i >= 0 and s.holding[i] == 0:
            continue
        if count == s.u.size or count == search.slopes.size:
            return 0
        for j in range(s.u.size):
            search.held_factor[count, j] = level.A[k + 1, j] if i < 0 else s.C[i, j]
        side = 0.0 if i < 0 else s.upper[i] if s.holding[i] > 0 else s.lower[i]
        search.slopes[count], search.held_limits[count] = level.b[k + 1] if i < 0 else side, i
        count += 1
    return count


@kernel
def _shortest_with(search: ActiveSet, rows: int) -> bool:
    """The shortest x with W x = w, and w̄ = L⁻¹ w in `pull`; False where the rows depend on each other."""
    floor = RANK * longest_row(search.held_factor, 0, rows)
    if lq_factor(search.held_factor, rows, search.x.size, search.held_basis, search.held_order, floor) < rows:
        return False
    for k in range(rows):
        search.pull[k] = search.slopes[search.held_order[k]]
    trapezoid_solve(search.held_factor, rows, rows, search.pull)
    for i in range(search.x.size):
        search.x[i] = dot(search.held_basis[i], search.pull, rows)
    return True


@kernel
def _is_within(search: ActiveSet, near: Integers) -> bool:
    """Whether x keeps the limits, those left out that hold it."""
    for i in range(near.size):
        at = dot(search.C[i], search.x, search.x.size)
        if near[i] == 0 and not search.lower[i] <= at <= search.upper[i]:
            return False
    return True


@kernel
def _by_rows(search: ActiveSet, rows: int, v: Vector) -> None:
    """v ← μ with Wᵀ μ = Q v, Q the first columns of the basis: Lᵀ μ = v."""
    for a in range(rows - 1, -1, -1):
        for b in range(a + 1, rows):
            v[a] -= search.held_factor[b, a] * v[b]
        v[a] /= search.held_factor[a, a]


@kernel
def _braking_by_rows(s: StopProblem, rows: int) -> float:
    """`row` = μ with A₀ = Wᵀ μ, A₀ u being p̈ along the line; returns the largest |μ|, or −1 if there is no such μ."""
    search, A, n, largest = s.stack.search, s.stack.level.A, s.u.size, 0.0
    for k in range(rows):
        search.row[k] = 0.0
        for j in range(n):
            search.row[k] += search.held_basis[j, k] * A[0, j]
    for j in range(n):
        left = A[0, j]
        for k in range(rows):
            left -= search.held_basis[j, k] * search.row[k]
        if abs(left) > RANK * longest_row(A, 0, 1):
            return -1.0
    _by_rows(search, rows, search.row)
    for k in range(rows):
        largest = max(largest, abs(search.row[k]))
    return largest


@kernel
def _all_press(s: StopProblem, rows: int) -> bool:
    """Whether each limit of W keeps u from braking more, or, if it has no say in that, from being shorter."""
    search, largest = s.stack.search, _braking_by_rows(s, rows)
    if largest < 0.0:
        return False
    _by_rows(search, rows, search.pull)  # u = Wᵀ pull
    for k in range(rows):
        i = search.held_limits[search.held_order[k]]
        if i < 0:
            continue
        brakes, shortens = search.row[k] * s.holding[i], search.pull[k] * s.holding[i]
        if brakes > KEPT * largest or (brakes > -KEPT * largest and shortens > 0.0):
            return False
    return True


@kernel
def holds_again(s: StopProblem) -> bool:
    """The shortest u on the line at the limits that held the last stop; whether that is the fastest stop now.

    It is if the other limits are kept, and these each keep u from braking more or from being shorter: the multipliers'
    signs. Neighbouring ticks mostly have the same limits, and then one factorisation replaces the search.
    """
    rows = _last_rows(s) if s.status == FOUND and s.conflict == 0.0 else 0
    if rows == 0 or not _shortest_with(s.stack.search, rows):
        return False
    if not _is_within(s.stack.search, s.holding) or not _all_press(s, rows):
        return False
    s.rate = braking_along(s, s.line) / size_of(s.line)
    return 0.0 <= s.rate <= s.most


@kernel
def note_holding(s: StopProblem, afresh: bool) -> None:
    """Remember which limits hold the stop: those that keep it from braking more, then those that keep it long."""
    for i in range(s.holding.size):
        now = s.stack.search.active[i]
        if afresh or now != 0:
            s.holding[i] = now

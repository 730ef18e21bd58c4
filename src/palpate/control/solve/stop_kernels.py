"""The fastest stop in compiled code: three levels of the active set, and an explicit trade where they cannot be met.

With p̈ = J u + h, a tool on a line along d at speed s, and lower ≤ C u ≤ upper:

    keep the line           least |(1 − d dᵀ) (p̈ − steer)|, met where it comes to 0
    brake most              the largest λ ≤ most in d·p̈ = −λ s
    be short                least |u|

Where the line cannot be kept without speeding up, with e along the tool's velocity:

    brake hardest           the largest β = −e·p̈, at most `most` times the speed
    trade                   least |(1 − e eᵀ) (p̈ − steer)|² + weight² (e·p̈ + β)²   subject to   e·p̈ ≤ max(0, −β)
    be short                least |u|

A compiled law keeps a `StopProblem` in its memory, writes a tick's numbers into it, and calls `find_stop`, which
allocates nothing.
"""

from __future__ import annotations

import math

import numpy as np

from palpate.control.solve.active_set import (
    ENDLESS,
    RANK,
    SOLVED,
    ActiveSet,
    LevelRows,
    longest_row,
    lq_factor,
    narrow,
    select_rows,
    solve_level,
    start_search,
    trapezoid_solve,
)
from palpate.control.solve.hierarchy import Stack, make_stack, seek_start, take_start
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, Vector, sized

FOUND, LOST, UNBOUNDED, GAVE_UP, BAD_DATA = range(5)  # a command was found up to LOST
WEIGHT = 50.0  # of braking against deviation, where not both can be had
_KEPT = 1e-9  # what is left across a line that counts as kept, relative to the terms it is the sum of


class StopProblem(Record):
    """p̈ = J u + drift of a tool in m directions, n joints within k limits; made by `make_stop`."""

    J: Matrix = sized("m", "n")
    drift: Vector = sized("m")
    line: Vector = sized("m")  # the velocity along the line to keep, d s
    velocity: Vector = sized("m")  # the tool's velocity, which is `line` as long as it is on it
    steer: Vector = sized("m")  # the acceleration across the line that brings it back there; 0 on it
    # lower ≤ C u ≤ upper
    C: Matrix = sized("k", "n")
    lower: Vector = sized("k")
    upper: Vector = sized("k")
    most: float = math.inf  # a bound on λ, 1/s
    weight: float = WEIGHT  # how many m/s² across are worth one m/s² of braking, where not both can be had
    # what was found
    u: Vector = sized("n")
    active: Integers = sized("k")  # −1, 0, +1 per limit that holds u
    holding: Kept[Integers] = sized("k")  # the same of the last stop, which the next one tries first
    status: int = FOUND  # LOST where the line cannot be kept without speeding up, or why there is no u
    rate: float = 0.0  # the largest λ that keeps the line; −∞ if none does
    braking: float = 0.0  # −e·p̈, m/s²
    deviation: float = 0.0  # |(1 − e eᵀ) p̈|, m/s²
    most_braking: float = 0.0  # β, m/s²; 0 where it was not asked for
    conflict: float = 0.0  # by how many half widths the limits were widened, because they exclude each other
    # J u = steer − drift in axes along the line, or the velocity, and across it; the last limit is on speeding up
    stack: Stack


def make_stop(n: int, directions: int, limits: int) -> StopProblem:
    """A problem of n joints, a tool that moves in so many directions, and so many limits, all of them zero."""
    stack = make_stack(n, directions, 0, limits + 1)
    return StopProblem({"n": n, "m": directions, "k": limits}, stack=stack)


# ------------------------------------------------------------------ axes and limits


@kernel
def size_of(p: Vector) -> float:
    """|p|."""
    return math.sqrt(dot(p, p, p.size))


@kernel
def _align_axes(s: StopProblem, p: Vector) -> None:
    """J and steer − drift in axes whose first is d = p/|p|, the others across it: a reflection. Along d, no steer."""
    A, c, size = s.stack.level.A, s.stack.level.b, size_of(p)
    sign = -1.0 if p[0] > 0.0 else 1.0
    # w = d − sign e₀ is turned into its opposite, so that d becomes sign e₀; |w|² = 2 (1 + |d₀|).
    scale = 1.0 / (1.0 + abs(p[0]) / size)
    for j in range(s.u.size + 1):
        total, along = 0.0, 0.0
        for i in range(p.size):
            value = s.J[i, j] if j < s.u.size else s.steer[i] - s.drift[i]
            total += (p[i] / size - (sign if i == 0 else 0.0)) * value
            along += p[i] / size * (s.J[i, j] if j < s.u.size else -s.drift[i])
        for i in range(p.size):
            w = p[i] / size - (sign if i == 0 else 0.0)
            if j < s.u.size:
                A[i, j] = along if i == 0 else s.J[i, j] - scale * total * w
            else:
                c[i] = along if i == 0 else s.steer[i] - s.drift[i] - scale * total * w


@kernel
def _take_limits(s: StopProblem) -> None:
    """The problem's limits and their half widths, and one more that is none yet."""
    search, width, k, widest = s.stack.search, s.stack.units, s.lower.size, 0.0
    for i in range(k):
        search.lower[i], search.upper[i] = s.lower[i], s.upper[i]
        finite = math.isfinite(s.lower[i]) and math.isfinite(s.upper[i])
        width[i] = 0.5 * (s.upper[i] - s.lower[i]) if finite else 1.0
        widest = max(widest, width[i])
        put(search.C[i], 0, s.C[i])
    for i in range(k):  # limits without width can hardly be widened
        width[i] = max(width[i], 1e-9 * widest, 1e-150)
    search.lower[k], search.upper[k], width[k] = -math.inf, math.inf, 1.0
    clear(search.C[k])


@kernel
def _forbid_speeding_up(s: StopProblem) -> None:
    """e·p̈ ≤ 0 as the last limit; where braking hardest speeds up in spite of it, no more than that."""
    search, last = s.stack.search, s.lower.size
    put(search.C[last], 0, s.stack.level.A[0])
    at = dot(search.C[last], search.x, s.u.size)
    search.at[last], search.upper[last] = at, max(s.stack.level.b[0], at)
    search.lengths[last] = longest_row(search.C, last, last + 1)


@kernel
def _braking_along(s: StopProblem, p: Vector) -> float:
    """−d·p̈ of the point reached, with d = p/|p|; also the goal of the level along d, which is put back."""
    level, along = s.stack.level, 0.0
    for i in range(p.size):
        along -= p[i] / size_of(p) * s.drift[i]
    level.b[0] = along
    return along - dot(level.A[0], s.stack.search.x, s.u.size)


# ------------------------------------------------------------------ the last tick's bounds again


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
        if brakes > _KEPT * largest or (brakes > -_KEPT * largest and shortens > 0.0):
            return False
    return True


@kernel
def _holds_again(s: StopProblem) -> bool:
    """The shortest u on the line at the limits that held the last stop; whether that is the fastest stop now.

    It is if the other limits are kept, and these each keep u from braking more or from being shorter: the multipliers'
    signs. Neighbouring ticks mostly have the same limits, and then one factorisation replaces the search.
    """
    rows = _last_rows(s) if s.status == FOUND and s.conflict == 0.0 else 0
    if rows == 0 or not _shortest_with(s.stack.search, rows):
        return False
    if not _is_within(s.stack.search, s.holding) or not _all_press(s, rows):
        return False
    s.rate = _braking_along(s, s.line) / size_of(s.line)
    return 0.0 <= s.rate <= s.most


@kernel
def _note_holding(s: StopProblem, afresh: bool) -> None:
    """Remember which limits hold the stop: those that keep it from braking more, then those that keep it long."""
    for i in range(s.holding.size):
        now = s.stack.search.active[i]
        if afresh or now != 0:
            s.holding[i] = now


# ------------------------------------------------------------------ one level after another


@kernel
def _solved(s: StopProblem, level: LevelRows, search: ActiveSet) -> bool:
    """Bring a level to its optimum; where that fails, the status says why."""
    ended = solve_level(level, search)
    if ended != SOLVED:
        s.status = UNBOUNDED if ended == ENDLESS else GAVE_UP
    return ended == SOLVED


@kernel
def _has_start(s: StopProblem) -> bool:
    """A point within the limits, which are widened where they exclude each other."""
    stack = s.stack
    clear(stack.search.x)
    start_search(stack.search)
    if seek_start(stack):
        if not _solved(s, stack.common, stack.wide):
            return False
        s.conflict = take_start(stack)
    return True


@kernel
def _brake_up_to(s: StopProblem, braking: float) -> bool:
    """Bring d·p̈ as low as −braking, or, if that is infinite, as low as it goes."""
    level = s.stack.level
    level.first, level.last, level.endless = 0, 1, math.isinf(braking)
    level.floor = RANK * longest_row(level.A, 0, level.A.shape[0])
    level.b[0] = -1.0 if level.endless else level.b[0] - braking
    return _solved(s, level, s.stack.search)


@kernel
def _is_kept(s: StopProblem) -> bool:
    """Whether p̈ = steer across the line."""
    level, x, left, scale = s.stack.level, s.stack.search.x, 0.0, 0.0
    for i in range(level.A.shape[0]):
        gap, size = level.b[i], abs(level.b[i])
        for j in range(x.size):
            gap -= level.A[i, j] * x[j]
            size += abs(level.A[i, j] * x[j])
        left, scale = max(left, abs(gap) if i > 0 else 0.0), max(scale, size)
    return left <= _KEPT * scale


@kernel
def _brake_on_line(s: StopProblem) -> None:
    """Keep the line, then brake most; the status is LOST where that is not possible without speeding up."""
    level, search = s.stack.level, s.stack.search
    select_rows(level, 1, level.A.shape[0])
    level.floor = RANK * longest_row(level.A, 0, level.A.shape[0])
    if not _solved(s, level, search):
        return
    if not _is_kept(s):
        s.status = LOST
        return
    narrow(level, search)
    if not _brake_up_to(s, s.most * size_of(s.line)):
        s.rate = math.inf if s.status == UNBOUNDED else s.rate
        return
    braking = _braking_along(s, s.line)
    s.rate = braking / size_of(s.line)
    # Rounding must not turn a stop that only just does not brake into one that speeds up.
    if braking < -_KEPT * (abs(level.b[0]) + abs(braking)):
        s.status = LOST
        return
    _note_holding(s, True)
    narrow(level, search)


@kernel
def _trade_off(s: StopProblem) -> None:
    """Brake hardest, then the least of deviation² + weight² (β − braking)²."""
    level, search = s.stack.level, s.stack.search
    _align_axes(s, s.velocity)
    start_search(search)
    if not _brake_up_to(s, s.most * size_of(s.velocity)):
        return
    s.most_braking = _braking_along(s, s.velocity)
    _forbid_speeding_up(s)
    level.b[0] = s.weight * (level.b[0] - s.most_braking)
    for j in range(s.u.size):
        level.A[0, j] *= s.weight
    select_rows(level, 0, level.A.shape[0])
    if _solved(s, level, search):
        narrow(level, search)


@kernel
def _search_afresh(s: StopProblem) -> bool:
    """Every level in turn, then the shortest u; whether there is one."""
    s.status, s.rate, s.conflict = FOUND, -math.inf, 0.0
    if _has_start(s):
        _brake_on_line(s)
    if s.status == LOST:
        _trade_off(s)
    if s.status > LOST or not _solved(s, s.stack.shortest, s.stack.search):
        return False
    _note_holding(s, False)
    return True


@kernel
def find_stop(s: StopProblem) -> int:
    """The fastest stop, or the best trade where there is none, into u and what stands beside it; returns the status."""
    _align_axes(s, s.line)
    _take_limits(s)
    s.most_braking = 0.0
    if _holds_again(s):
        for i in range(s.holding.size):
            s.stack.search.active[i] = s.holding[i]
    elif not _search_afresh(s):
        return s.status
    _settle(s)
    judge(s)
    return s.status


@kernel
def _settle(s: StopProblem) -> None:
    """u, joints that their own limits hold put exactly there, where rounding left them beside."""
    put(s.u, 0, s.stack.search.x)
    for i in range(s.lower.size):
        s.active[i] = s.stack.search.active[i]
        entries, joint = 0, 0
        for j in range(s.u.size):
            if s.C[i, j] != 0.0:
                entries, joint = entries + 1, j
        if entries == 1 and s.C[i, joint] == 1.0 and s.conflict == 0.0:
            s.u[joint] = min(max(s.u[joint], s.lower[i]), s.upper[i])


@kernel
def judge(s: StopProblem) -> None:
    """Braking along the tool's velocity and acceleration across it."""
    along, total, speed = 0.0, 0.0, size_of(s.velocity)
    for sweep in range(2):
        for i in range(s.velocity.size):
            now = s.drift[i]
            for j in range(s.u.size):
                now += s.J[i, j] * s.u[j]
            if sweep == 0:
                along += now * s.velocity[i] / speed
            else:
                total += (now - along * s.velocity[i] / speed) ** 2
    s.braking, s.deviation = -along, math.sqrt(total)


# ------------------------------------------------------------------ as Python calls it


@kernel
def _sound(s: StopProblem) -> bool:
    """Whether the numbers are finite, the bounds in order and infinite only in pairs, and the tool moves."""
    total, line, pace = 0.0, 0.0, 0.0
    for i in range(s.drift.size):
        total += abs(s.drift[i]) + abs(s.steer[i])
        line += abs(s.line[i])
        pace += abs(s.velocity[i])
        for j in range(s.u.size):
            total += abs(s.J[i, j])
    for k in range(s.lower.size):
        for j in range(s.u.size):
            total += abs(s.C[k, j])
        pair = math.isfinite(s.lower[k]) == math.isfinite(s.upper[k])
        if not s.lower[k] <= s.upper[k] or not pair or s.lower[k] == np.inf or s.upper[k] == -np.inf:
            return False
    return line > 0.0 and pace > 0.0 and math.isfinite(total + line + pace)


@kernel
def stop_kernel(s: StopProblem) -> int:
    """`find_stop` of data that may be unsound."""
    if not _sound(s):
        s.status = BAD_DATA
        return BAD_DATA
    for i in range(s.holding.size):  # what came before was another problem
        s.holding[i] = 0
    return find_stop(s)

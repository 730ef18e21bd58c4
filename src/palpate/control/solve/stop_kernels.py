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
    narrow,
    select_rows,
    solve_level,
    start_search,
)
from palpate.control.solve.orthogonal import longest_row
from palpate.control.solve.stack import seek_start, take_start
from palpate.control.solve.stopping.last_bounds import holds_again, note_holding
from palpate.control.solve.stopping.problem import (
    BAD_DATA,
    FOUND,
    GAVE_UP,
    KEPT,
    LOST,
    UNBOUNDED,
    StopProblem,
    align_axes,
    braking_along,
    forbid_speeding_up,
    size_of,
    take_limits,
)
from palpate.engine.kernels import clear, kernel, put


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
    return left <= KEPT * scale


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
    braking = braking_along(s, s.line)
    s.rate = braking / size_of(s.line)
    # Rounding must not turn a stop that only just does not brake into one that speeds up.
    if braking < -KEPT * (abs(level.b[0]) + abs(braking)):
        s.status = LOST
        return
    note_holding(s, True)
    narrow(level, search)


@kernel
def _trade_off(s: StopProblem) -> None:
    """Brake hardest, then the least of deviation² + weight² (β − braking)²."""
    level, search = s.stack.level, s.stack.search
    align_axes(s, s.velocity)
    start_search(search)
    if not _brake_up_to(s, s.most * size_of(s.velocity)):
        return
    s.most_braking = braking_along(s, s.velocity)
    forbid_speeding_up(s)
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
    note_holding(s, False)
    return True


@kernel
def find_stop(s: StopProblem) -> int:
    """The fastest stop, or the best trade where there is none, into u and what stands beside it; returns the status."""
    align_axes(s, s.line)
    take_limits(s)
    s.most_braking = 0.0
    if holds_again(s):
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

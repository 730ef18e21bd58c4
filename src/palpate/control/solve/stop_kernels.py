"""The linear program under the fastest stop, compiled: a bounded-variable simplex on a tiny tableau.

    maximise λ   subject to   A x + λ p = c,   lower ≤ x ≤ upper,   λ ≤ most

With x = middle + half z it reads A' z + λ p − μ c' = 0, |z| ≤ 1, at μ = 1. Phase one maximises μ from the feasible
point 0; if it ends below 1 the bounds would have to be 1/μ − 1 wider, in half widths. Phase two maximises λ.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numba.extending import register_jitable

from palpate.control.solve.hierarchy import SOLVED, narrow, solve_level
from palpate.engine.legacy import kernel

FOUND, INFEASIBLE, UNBOUNDED, GAVE_UP, BAD_DATA = 0, 1, 2, 3, 4
_ZERO, _COST, _ENOUGH = 1e-11, 1e-10, 1.0 - 1e-10
# I_FREE: how many variables may still move at the optimal λ; none means that x is unique.
I_RATE, I_RELAXATION, I_STATUS, I_NEAREST, I_FREE, I_BRAKING, I_DEVIATION, I_VIOLATION, INFO_SIZE = range(9)


@register_jitable
def _tableau(A, p, c, middle, half, T):
    """Fill T = [A' p −c'] with rows and the column of λ scaled to one; returns the scale of λ."""
    m, n = A.shape
    for i in range(m):
        rest, top = c[i], abs(p[i])
        for j in range(n):
            rest -= A[i, j] * middle[j]
            T[i, j] = A[i, j] * half[j]
            top = max(top, abs(T[i, j]))
        T[i, n], T[i, n + 1] = p[i], -rest
        top = max(top, abs(rest))
        if top > 0.0:
            for j in range(n + 2):
                T[i, j] /= top
    size = 0.0
    for i in range(m):
        size = max(size, abs(T[i, n]))
    if size > 0.0:
        for i in range(m):
            T[i, n] /= size
    return size


@register_jitable
def _pivot(T, rows, r, j):
    """Make column j the unit vector of row r."""
    scale = 1.0 / T[r, j]
    for k in range(T.shape[1]):
        T[r, k] *= scale
    T[r, j] = 1.0
    for i in range(rows):
        if i != r and T[i, j] != 0.0:
            factor = T[i, j]
            for k in range(T.shape[1]):
                T[i, k] -= factor * T[r, k]
            T[i, j] = 0.0


@register_jitable
def _first_basis(T, basis, place):
    """Gauss–Jordan with full pivoting over all columns but μ; returns the rank, or −1 if a row asks for μ = 0."""
    m, columns = T.shape
    first = 0.0
    for k in range(m):
        r, s, top = k, 0, 0.0
        for i in range(k, m):
            for j in range(columns - 1):
                if place[j] < 0 and abs(T[i, j]) > top:
                    r, s, top = i, j, abs(T[i, j])
        first = max(first, top)
        if top <= _ZERO * first or top == 0.0:
            for i in range(k, m):
                if abs(T[i, columns - 1]) > 1e-9:
                    return -1
            return k
        for j in range(columns):
            T[k, j], T[r, j] = T[r, j], T[k, j]
        _pivot(T, m, k, s)
        basis[k], place[s] = s, k
    return m


@register_jitable
def _entering(T, rank, basis, place, value, low, high, goal, careful):
    """The nonbasic column that raises the goal most (the first one when careful), signed by its way: ±(j + 1)."""
    best, found = _COST, 0
    row = place[goal]
    for j in range(T.shape[1]):
        if place[j] >= 0:
            continue
        gain = (1.0 if j == goal else 0.0) if row < 0 else -T[row, j]
        way = 1 if gain > 0.0 else -1
        stuck = value[j] >= high[j] if way > 0 else value[j] <= low[j]
        if abs(gain) > best and not stuck:
            best, found = abs(gain), way * (j + 1)
            if careful:
                return found
    return found


@register_jitable
def _leaving(T, rank, basis, value, low, high, j, way):
    """How far column j may move and which row then blocks; −1 if its own bound does."""
    step = (high[j] - value[j]) if way > 0 else (value[j] - low[j])
    row, strongest = -1, 0.0
    for i in range(rank):
        change = -T[i, j] * way
        if abs(change) <= 1e-9:
            continue
        k = basis[i]
        room = (high[k] - value[k]) if change > 0.0 else (low[k] - value[k])
        t = max(room / change, 0.0)
        if t < step - 1e-14 or (t <= step + 1e-14 and row >= 0 and abs(change) > strongest):
            step, row, strongest = min(t, step), i, abs(change)
    return step, row


@register_jitable
def _climb(T, rank, basis, place, value, low, high, goal, enough):
    """Simplex steps until variable `goal` is greatest, or reaches `enough`."""
    for count in range(400):
        if value[goal] >= enough:
            return FOUND
        signed = _entering(T, rank, basis, place, value, low, high, goal, count > 60)
        if signed == 0:
            return FOUND
        way = 1 if signed > 0 else -1
        j = abs(signed) - 1
        step, row = _leaving(T, rank, basis, value, low, high, j, way)
        if not math.isfinite(step):
            return UNBOUNDED
        value[j] += way * step
        for i in range(rank):
            value[basis[i]] -= T[i, j] * way * step
        if row < 0:
            value[j] = high[j] if way > 0 else low[j]
            continue
        out = basis[row]
        value[out] = high[out] if -T[row, j] * way > 0.0 else low[out]
        _pivot(T, rank, row, j)
        basis[row], place[j], place[out] = j, row, -1
    return GAVE_UP


@register_jitable
def stop_program(A, p, c, lower, upper, most, x, fixed, info):
    """Solve the program; x, and in `fixed` the variables that must stay at their bounds at the optimal λ."""
    m, n = A.shape
    middle, half = np.empty(n), np.empty(n)
    low, high, value = np.empty(n + 2), np.empty(n + 2), np.zeros(n + 2)
    for j in range(n):
        free = not (math.isfinite(lower[j]) and math.isfinite(upper[j]))
        middle[j] = 0.0 if free else 0.5 * (lower[j] + upper[j])
        half[j] = 1.0 if free else 0.5 * (upper[j] - lower[j])
        low[j], high[j] = (-np.inf, np.inf) if free else (-1.0, 1.0)
    T, basis, place = np.empty((m, n + 2)), np.zeros(m, np.int64), np.full(n + 2, -1)
    scale = _tableau(A, p, c, middle, half, T)
    low[n], high[n], low[n + 1], high[n + 1] = -np.inf, np.inf, 0.0, 1.0
    rank = _first_basis(T, basis, place)
    info[I_RELAXATION] = np.inf
    if rank < 0:
        return INFEASIBLE
    status = _climb(T, rank, basis, place, value, low, high, n + 1, 1.0)
    mu = value[n + 1]
    if status == GAVE_UP or mu < _ENOUGH:
        info[I_RELAXATION] = 1.0 / mu - 1.0 if mu > 0.0 else np.inf
        return GAVE_UP if status == GAVE_UP else INFEASIBLE
    low[n + 1] = value[n + 1]
    high[n + 1] = max(value[n + 1], low[n + 1])
    capped = math.isfinite(most) and scale > 0.0
    if capped and value[n] <= most * scale:
        high[n] = most * scale
    elif capped:
        low[n], high[n] = -np.inf, value[n]
        status = _climb_down(T, rank, basis, place, value, low, high, n, most * scale)
    if status == FOUND:
        status = _climb(T, rank, basis, place, value, low, high, n, np.inf)
    info[I_RELAXATION] = 0.0
    info[I_RATE] = value[n] / scale if scale > 0.0 else 0.0
    row = place[n]
    for j in range(n):
        x[j] = middle[j] + half[j] * value[j]
        if math.isfinite(lower[j]):
            x[j] = min(max(x[j], lower[j]), upper[j])
        fixed[j] = 1 if place[j] < 0 and row >= 0 and abs(T[row, j]) > 1e-9 and low[j] > -np.inf else 0
    info[I_FREE] = 0.0
    for j in range(n):
        if place[j] < 0 and fixed[j] == 0:
            info[I_FREE] += 1.0
    return status


@register_jitable
def _climb_down(T, rank, basis, place, value, low, high, goal, wanted):
    """Lower variable `goal` to `wanted` if it can be: climb on its negative by turning its column round."""
    columns = T.shape[1]
    row = place[goal]
    for i in range(rank):
        T[i, goal] = -T[i, goal]
    if row >= 0:
        for j in range(columns):
            T[row, j] = -T[row, j]
    value[goal], low[goal], high[goal] = -value[goal], -high[goal], -wanted
    status = _climb(T, rank, basis, place, value, low, high, goal, -wanted)
    row = place[goal]
    for i in range(rank):
        T[i, goal] = -T[i, goal]
    if row >= 0:
        for j in range(columns):
            T[row, j] = -T[row, j]
    value[goal], low[goal], high[goal] = -value[goal], -np.inf, max(wanted, -value[goal])
    return status


@register_jitable
def shortest_command(A, T, t, lower, upper, x, fixed):
    """Among the x' with A x' = A x within the bounds, fixed ones kept, the one with the least |T x' + t|."""
    n = x.size
    Z, box = np.eye(n), np.eye(n)
    p = narrow(A, A.shape[0], Z, n)
    low, high, wanted = lower.copy(), upper.copy(), np.empty(n)
    count = 0
    for j in range(n):
        wanted[j] = -t[j]
        count += fixed[j]
    if count > 0 and p > 0:
        rows, at = np.zeros((count, n)), 0
        for j in range(n):
            if fixed[j]:
                rows[at, j] = 1.0
                at += 1
        p = narrow(rows, count, Z, p)
    if p == 0:
        return SOLVED
    at, active = x.copy(), np.zeros(n, np.int64)
    status = solve_level(T, wanted, box, low, high, Z, p, x, at, active)
    for j in range(n):
        x[j] = min(max(x[j], lower[j]), upper[j])
    return status


@register_jitable
def nearest_command(A, p, c, lower, upper, most, T, t, x, info):
    """Within the bounds: least deviation of A x − c from the line of p, then the largest λ, then the shortest."""
    m, n = A.shape
    size = 0.0
    for i in range(m):
        size += p[i] * p[i]
    across, wanted = np.empty((m, n)), np.empty(m)
    for j in range(n):
        along = 0.0
        for i in range(m):
            along += p[i] * A[i, j]
        for i in range(m):
            across[i, j] = A[i, j] - p[i] * along / size
    along = 0.0
    for i in range(m):
        along += p[i] * c[i]
    for i in range(m):
        wanted[i] = c[i] - p[i] * along / size
    for j in range(n):
        x[j] = min(max(0.0, lower[j]), upper[j])
    at, active, fixed = x.copy(), np.zeros(n, np.int64), np.zeros(n, np.int64)
    if solve_level(across, wanted, np.eye(n), lower, upper, np.eye(n), n, x, at, active) != SOLVED:
        return GAVE_UP
    target, found = np.empty(m), np.empty(n)
    for i in range(m):
        target[i] = c[i] - wanted[i]
        for j in range(n):
            target[i] += across[i, j] * x[j]
    if stop_program(A, p, target, lower, upper, most, found, fixed, info) == FOUND:
        for j in range(n):
            x[j] = found[j]
        shortest_command(A, T, t, lower, upper, x, fixed)
    return FOUND


@register_jitable
def solve_stop(A, p, c, lower, upper, most, T, t, x, info):
    """The fastest stop, or the nearest command to it; how it went is in `info`."""
    fixed = np.zeros(x.size, np.int64)
    status = stop_program(A, p, c, lower, upper, most, x, fixed, info)
    info[I_STATUS], info[I_NEAREST] = status, 0.0
    if status == FOUND and info[I_FREE] > 0.0:
        shortest_command(A, T, t, lower, upper, x, fixed)
    elif status in (INFEASIBLE, GAVE_UP):
        relaxation = info[I_RELAXATION]
        if nearest_command(A, p, c, lower, upper, most, T, t, x, info) != FOUND:
            info[I_STATUS] = GAVE_UP
        info[I_RELAXATION], info[I_NEAREST] = relaxation, info[I_RATE]
        info[I_RATE] = -np.inf


_v, _m = types.float64[::1], types.float64[:, ::1]


@register_jitable
def _sound(A, p, c, lower, upper):
    """Whether the numbers are finite, the bounds in order and infinite only in pairs, and the tool moves."""
    m, n = A.shape
    total, moving = 0.0, False
    for i in range(m):
        total += abs(p[i]) + abs(c[i])
        moving = moving or p[i] != 0.0
        for j in range(n):
            total += abs(A[i, j])
    for j in range(n):
        pair = math.isfinite(lower[j]) == math.isfinite(upper[j])
        if not lower[j] <= upper[j] or not pair or lower[j] == np.inf or upper[j] == -np.inf:
            return False
    return moving and math.isfinite(total)


@register_jitable
def judge(A, p, c, lower, upper, x, info):
    """What x does to the tool: braking along p, deviation across it, and its excess over the bounds."""
    m, n = A.shape
    size, along, total = 0.0, 0.0, 0.0
    for i in range(m):
        task = -c[i]
        for j in range(n):
            task += A[i, j] * x[j]
        size += p[i] * p[i]
        along += task * p[i]
    for i in range(m):
        task = -c[i]
        for j in range(n):
            task += A[i, j] * x[j]
        across = task - p[i] * along / size
        total += across * across
    info[I_BRAKING], info[I_DEVIATION] = -along / math.sqrt(size), math.sqrt(total)
    info[I_VIOLATION] = 0.0
    for j in range(n):
        info[I_VIOLATION] = max(info[I_VIOLATION], x[j] - upper[j], lower[j] - x[j])


@kernel(types.void(_m, _v, _v, _v, _v, types.float64, _m, _v, _v, _v))
def stop_kernel(A, p, c, lower, upper, most, T, t, x, info):
    """`solve_stop` as Python calls it: data checked first, the result judged last."""
    if not _sound(A, p, c, lower, upper):
        info[I_STATUS] = BAD_DATA
        return
    solve_stop(A, p, c, lower, upper, most, T, t, x, info)
    judge(A, p, c, lower, upper, x, info)


@kernel(types.void(_m, _v, _v, _v, _v, _v, _v))
def judge_kernel(A, p, c, lower, upper, x, info):
    """`judge` as Python calls it."""
    judge(A, p, c, lower, upper, x, info)

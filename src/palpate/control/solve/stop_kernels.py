"""The fastest stop in compiled code: three levels of the active set, and an explicit trade where they cannot be met.

With p̈ = J u + h, a tool on a line along d at speed s, and lower ≤ C u ≤ upper:

    keep the line           least |(1 − d dᵀ) (p̈ − steer)|, met where it comes to 0
    brake most              the largest λ ≤ most in d·p̈ = −λ s
    be short                least |u|

Where the line cannot be kept without speeding up, with e along the tool's velocity:

    trade                   least |(1 − e eᵀ) (p̈ − steer)|² + weight² (e·p̈ + β)²   subject to   e·p̈ ≤ 0
    be short                least |u|

with β the most braking that the limits allow at all; if every command speeds the tool up (β < 0), e·p̈ ≤ −β.
Nothing here allocates but `solve_stop`, which makes its own room.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable

from palpate.control.solve.active_set import (
    ENDLESS,
    RANK,
    SOLVED,
    Level,
    Limits,
    Point,
    all_free,
    narrow,
    place,
    solve_level,
)
from palpate.control.solve.factors import Integers, Matrix, Vector, longest_row
from palpate.control.solve.hierarchy import ROOM, SOLUTION, Room, Solution, least_excess, make_room, middle_point
from palpate.engine import kernel

FOUND, LOST, UNBOUNDED, GAVE_UP, BAD_DATA = 0, 1, 2, 3, 4
WEIGHT = 20.0  # of braking against deviation, where not both can be had
_KEPT = 1e-9  # what is left across a direction that counts as kept, relative to the terms it is the sum of


class StopProblem(NamedTuple):
    """p̈ = J u + drift of a moving tool, within lower ≤ C u ≤ upper.

    Attributes:
        line: the velocity along the line to keep, d s.
        velocity: the tool's velocity, which is `line` as long as it is on it.
        steer: the acceleration across the line that brings it back there; 0 on it.
        most: a bound on λ, 1/s.
        weight: how many m/s² across are worth one m/s² of braking, where not both can be had.
    """

    J: Matrix
    drift: Vector
    line: Vector
    velocity: Vector
    steer: Vector
    C: Matrix
    lower: Vector
    upper: Vector
    most: float
    weight: float


class StopRoom(NamedTuple):
    """What `find_stop` writes to, for n joints, m directions and k limits.

    Attributes:
        levels: of the hierarchy.
        A, c: J u + drift = 0 (row 0) or steer, in axes along the line or the velocity (row 0) and across it.
        C, lower, upper, at, active: its limits, and the one on speeding up as the last.
        width: of the limits.
    """

    levels: Room
    A: Matrix
    c: Vector
    C: Matrix
    lower: Vector
    upper: Vector
    at: Vector
    active: Integers
    width: Vector


class Verdict(NamedTuple):
    """How it went.

    Attributes:
        status: FOUND, LOST where the direction cannot be kept without speeding up, or why there is no command.
        rate: the largest λ that keeps the direction; −∞ if none does.
        braking, deviation: −d·p̈ and |(1 − d dᵀ) p̈| under u, m/s².
        most_braking: β, m/s²; 0 where it was not asked for.
        conflict: by which fraction of their half widths the limits were widened, because they exclude each other.
    """

    status: int
    rate: float
    braking: float
    deviation: float
    most_braking: float
    conflict: float


_v, _m, _i, _f = types.float64[::1], types.float64[:, ::1], types.int64[::1], types.float64
PROBLEM = types.NamedTuple((_m, _v, _v, _v, _v, _m, _v, _v, _f, _f), StopProblem)
STOP_ROOM = types.NamedTuple((ROOM, _m, _v, _m, _v, _v, _v, _i, _v), StopRoom)
VERDICT = types.NamedTuple((types.int64, _f, _f, _f, _f, _f), Verdict)


@register_jitable
def make_stop_room(n: int, directions: int, limits: int) -> StopRoom:
    """Room for n joints, a tool that moves in `directions` directions, and `limits` limits."""
    k = limits + 1
    return StopRoom(
        make_room(n, directions, k), np.zeros((directions, n)), np.zeros(directions),
        np.zeros((k, n)), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k, np.int64), np.zeros(k),
    )  # fmt: skip


# ------------------------------------------------------------------ axes and limits


@register_jitable
def _turn(problem: StopProblem, p: Vector, room: StopRoom) -> float:
    """A and c in axes whose first is d = p/|p|, the others across it: a reflection. Returns |p|."""
    m, n = problem.J.shape
    size = 0.0
    for i in range(m):
        size += p[i] * p[i]
    size = math.sqrt(size)
    sign = -1.0 if p[0] > 0.0 else 1.0
    # w = d − sign e₀ is turned into its opposite, so that d becomes sign e₀; |w|² = 2 (1 + |d₀|).
    scale = 1.0 / (1.0 + abs(p[0]) / size)
    for j in range(n):
        total = 0.0
        for i in range(m):
            total += (p[i] / size - (sign if i == 0 else 0.0)) * problem.J[i, j]
        for i in range(m):
            w = p[i] / size - (sign if i == 0 else 0.0)
            room.A[i, j] = (problem.J[i, j] - scale * total * w) * (sign if i == 0 else 1.0)
    total, along = 0.0, 0.0
    for i in range(m):
        total += (p[i] / size - (sign if i == 0 else 0.0)) * (problem.steer[i] - problem.drift[i])
        along -= p[i] / size * problem.drift[i]
    for i in range(m):
        w = p[i] / size - (sign if i == 0 else 0.0)
        room.c[i] = problem.steer[i] - problem.drift[i] - scale * total * w
    room.c[0] = along
    return size


@register_jitable
def _take_limits(problem: StopProblem, room: StopRoom) -> Limits:
    """The problem's limits, and one more that is none yet."""
    k, n = problem.C.shape
    for i in range(k):
        room.lower[i], room.upper[i] = problem.lower[i], problem.upper[i]
        finite = math.isfinite(problem.lower[i]) and math.isfinite(problem.upper[i])
        room.width[i] = 0.5 * (problem.upper[i] - problem.lower[i]) if finite else 1.0
        for j in range(n):
            room.C[i, j] = problem.C[i, j]
    room.lower[k], room.upper[k], room.width[k] = -np.inf, np.inf, 1.0
    for j in range(n):
        room.C[k, j] = 0.0
    thinnest = 0.0
    for i in range(k):
        thinnest = max(thinnest, 1e-9 * room.width[i])
    for i in range(k):  # limits without width can hardly be widened
        room.width[i] = max(room.width[i], thinnest, 1e-150)
    return Limits(room.C, room.lower, room.upper)


@register_jitable
def _start(problem: StopProblem, limits: Limits, x: Vector, room: StopRoom) -> float:
    """x within the limits; where they exclude each other they are widened least. Returns by how many half widths."""
    middle_point(Limits(problem.C, problem.lower, problem.upper), x, room.levels.search)
    excess = least_excess(limits, room.width, x, room.levels, all_free(room.levels.search, x.size))
    if excess > 1e-10:
        for i in range(problem.lower.size):
            at = 0.0
            for j in range(x.size):
                at += problem.C[i, j] * x[j]
            room.lower[i], room.upper[i] = min(room.lower[i], at), max(room.upper[i], at)
        return excess
    return min(excess, 0.0)


# ------------------------------------------------------------------ levels


@register_jitable
def _across(room: StopRoom) -> Level:
    return Level(room.A, room.c, 1, room.A.shape[0], RANK * longest_row(room.A, 0, room.A.shape[0]), False)


@register_jitable
def _is_kept(room: StopRoom, x: Vector) -> bool:
    """Whether A u = c across the direction."""
    left, scale = 0.0, 0.0
    for i in range(room.A.shape[0]):
        gap, size = room.c[i], abs(room.c[i])
        for j in range(x.size):
            gap -= room.A[i, j] * x[j]
            size += abs(room.A[i, j] * x[j])
        left, scale = max(left, abs(gap) if i > 0 else 0.0), max(scale, size)
    return left <= _KEPT * scale


@register_jitable
def _along(room: StopRoom, x: Vector) -> float:
    """d·p̈."""
    total = -room.c[0]
    for j in range(x.size):
        total += room.A[0, j] * x[j]
    return total


@register_jitable
def _brake(room: StopRoom, limits: Limits, point: Point, free: int, braking: float) -> int:
    """d·p̈ as low as −braking, or, if that is infinite, as low as it goes; the other way for −∞."""
    goal, endless = room.c[0], math.isinf(braking)
    room.c[0] = goal - braking if not endless else -math.copysign(1.0, braking)
    level = Level(room.A, room.c, 0, 1, RANK * longest_row(room.A, 0, room.A.shape[0]), endless)
    status = solve_level(level, limits, point, room.levels.search, free)
    room.c[0] = goal
    return status


@register_jitable
def _shorten(room: StopRoom, limits: Limits, point: Point, free: int) -> int:
    """|u| as short as what is free allows."""
    n = point.x.size
    if free == 0:
        return SOLVED
    level = Level(room.levels.unit, room.levels.nought, 0, n, RANK, False)
    return solve_level(level, limits, point, room.levels.search, free)


@register_jitable
def _keep(room: StopRoom, limits: Limits, point: Point, most: float) -> tuple[int, float, int]:
    """Keep the direction, then brake with at most `most`: (status, braking or −∞, what is free afterwards)."""
    work, free = room.levels.search, all_free(room.levels.search, point.x.size)
    across = _across(room)
    if across.last > across.first:
        if solve_level(across, limits, point, work, free) != SOLVED:
            return GAVE_UP, -np.inf, 0
        if not _is_kept(room, point.x):
            return LOST, -np.inf, 0
        free = narrow(across, work, free)
    status = _brake(room, limits, point, free, most) if free > 0 else SOLVED
    if status != SOLVED:
        return UNBOUNDED if status == ENDLESS else GAVE_UP, np.inf, 0
    if free > 0:
        free = narrow(Level(room.A, room.c, 0, 1, across.floor, False), work, free)
    return FOUND, -_along(room, point.x), free


@register_jitable
def _forbid_speeding_up(room: StopRoom, limits: Limits, point: Point) -> None:
    """e·p̈ ≤ 0 as the last limit; if the point speeds up in spite of braking most, no more than it does."""
    last, at = limits.lower.size - 1, 0.0
    for j in range(point.x.size):
        room.C[last, j] = room.A[0, j]
        at += room.A[0, j] * point.x[j]
    point.at[last], room.upper[last] = at, max(room.c[0], at)


@register_jitable
def _trade(room: StopRoom, limits: Limits, point: Point, most: float, weight: float) -> tuple[int, float]:
    """The best of deviation and braking, never speeding up where that can be helped: (status, β)."""
    work, n, m = room.levels.search, point.x.size, room.A.shape[0]
    free = all_free(work, n)
    status = _brake(room, limits, point, free, most)
    if status != SOLVED:
        return UNBOUNDED if status == ENDLESS else GAVE_UP, 0.0
    best = -_along(room, point.x)
    _forbid_speeding_up(room, limits, point)
    room.c[0] = weight * (room.c[0] - best)
    for j in range(n):
        room.A[0, j] *= weight
    level = Level(room.A, room.c, 0, m, RANK * longest_row(room.A, 0, m), False)
    if solve_level(level, limits, point, work, free) != SOLVED:
        return GAVE_UP, best
    if _shorten(room, limits, point, narrow(level, work, free)) != SOLVED:
        return GAVE_UP, best
    return FOUND, best


@register_jitable
def _settle(problem: StopProblem, point: Point, conflict: float) -> None:
    """Put joints whose own limits hold them exactly there, where rounding left them beside."""
    k, n = problem.C.shape
    if conflict > 0.0:
        return
    for i in range(k):
        entries, place_of = 0, 0
        for j in range(n):
            if problem.C[i, j] != 0.0:
                entries, place_of = entries + 1, j
        if entries == 1 and problem.C[i, place_of] == 1.0:
            point.x[place_of] = min(max(point.x[place_of], problem.lower[i]), problem.upper[i])


@register_jitable
def _judge(problem: StopProblem, x: Vector) -> tuple[float, float]:
    """Braking along the tool's velocity and acceleration across it."""
    J, p, h = problem.J, problem.velocity, problem.drift
    m, n = J.shape
    speed, along, total = 0.0, 0.0, 0.0
    for i in range(m):
        speed += p[i] * p[i]
    speed = math.sqrt(speed)
    for i in range(m):
        now = h[i]
        for j in range(n):
            now += J[i, j] * x[j]
        along += now * p[i] / speed
    for i in range(m):
        now = h[i] - along * p[i] / speed
        for j in range(n):
            now += J[i, j] * x[j]
        total += now * now
    return -along, math.sqrt(total)


@register_jitable
def _without(status: int) -> Verdict:
    return Verdict(status, -np.inf, 0.0, 0.0, 0.0, 0.0)


@register_jitable
def find_stop(problem: StopProblem, answer: Solution, room: StopRoom) -> Verdict:
    """The fastest stop, or the best trade where there is none; `answer.active` says which limits hold u."""
    speed = _turn(problem, problem.line, room)
    limits = _take_limits(problem, room)
    conflict = _start(problem, limits, answer.x, room)
    if conflict < 0.0:
        return _without(GAVE_UP)
    point = Point(answer.x, room.at, room.active)
    place(limits, point)
    status, braking, free = _keep(room, limits, point, problem.most * speed)
    best = 0.0
    # Rounding must not turn a stop that only just does not brake into one that speeds up.
    if status == FOUND and braking >= -_KEPT * (abs(room.c[0]) + abs(braking)):
        if _shorten(room, limits, point, free) != SOLVED:
            status = GAVE_UP
    elif status in (FOUND, LOST):
        pace = _turn(problem, problem.velocity, room)
        status, best = _trade(room, limits, point, problem.most * pace, problem.weight)
        status = LOST if status == FOUND else status
    for i in range(problem.lower.size):
        answer.active[i] = point.active[i]
    _settle(problem, point, conflict)
    now, off = _judge(problem, answer.x)
    return Verdict(status, braking / speed, now, off, best, conflict)


# ------------------------------------------------------------------ as Python calls it


@register_jitable
def _sound(problem: StopProblem) -> bool:
    """Whether the numbers are finite, the bounds in order and infinite only in pairs, and the tool moves."""
    lower, upper = problem.lower, problem.upper
    total, line, pace = 0.0, 0.0, 0.0
    for i in range(problem.J.shape[0]):
        total += abs(problem.drift[i]) + abs(problem.steer[i])
        line += abs(problem.line[i])
        pace += abs(problem.velocity[i])
        for j in range(problem.J.shape[1]):
            total += abs(problem.J[i, j])
    for k in range(lower.size):
        pair = math.isfinite(lower[k]) == math.isfinite(upper[k])
        if not lower[k] <= upper[k] or not pair or lower[k] == np.inf or upper[k] == -np.inf:
            return False
    return line > 0.0 and pace > 0.0 and math.isfinite(total + line + pace)


@kernel(VERDICT(PROBLEM, SOLUTION, STOP_ROOM), lean=True)
def stop_kernel(problem: StopProblem, answer: Solution, room: StopRoom) -> Verdict:
    """`find_stop` of data that may be unsound."""
    if not _sound(problem):
        return _without(BAD_DATA)
    return find_stop(problem, answer, room)


# ------------------------------------------------------------------ as the law calls it

INFO_SIZE = 1


@register_jitable
def solve_stop(A, p, c, lower, upper, most, T, t, x, info):
    """The fastest stop within lower ≤ u ≤ upper, in room of its own; T, t and info are not used."""
    n, m = x.size, p.size
    room, answer, drift = make_stop_room(n, m, n), Solution(x, np.zeros(n, np.int64)), np.empty(m)
    for i in range(m):
        drift[i] = -c[i]
    find_stop(StopProblem(A, drift, p, p, np.zeros(m), np.eye(n), lower, upper, most, WEIGHT), answer, room)

"""The problem of the fastest stop, compiled: its numbers, its axes along and across the line, its limits."""

from __future__ import annotations

import math

from palpate.control.solve.orthogonal import longest_row
from palpate.control.solve.stack import Stack, make_stack
from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, Vector, sized

FOUND, LOST, UNBOUNDED, GAVE_UP, BAD_DATA = range(5)  # a command was found up to LOST
WEIGHT = 50.0  # of braking against deviation, where not both can be had
KEPT = 1e-9  # what is left across a line that counts as kept, relative to the terms it is the sum of


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
    """A problem of n joints with given numbers of directions of the tool and of limits, all of them zero."""
    stack = make_stack(n, directions, 0, limits + 1)
    return StopProblem({"n": n, "m": directions, "k": limits}, stack=stack)


@kernel
def size_of(p: Vector) -> float:
    """|p|."""
    return math.sqrt(dot(p, p, p.size))


@kernel
def align_axes(s: StopProblem, p: Vector) -> None:
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
def take_limits(s: StopProblem) -> None:
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
def forbid_speeding_up(s: StopProblem) -> None:
    """e·p̈ ≤ 0 as the last limit; where braking hardest speeds up in spite of it, no more than that."""
    search, last = s.stack.search, s.lower.size
    put(search.C[last], 0, s.stack.level.A[0])
    at = dot(search.C[last], search.x, s.u.size)
    search.at[last], search.upper[last] = at, max(s.stack.level.b[0], at)
    search.lengths[last] = longest_row(search.C, last, last + 1)


@kernel
def braking_along(s: StopProblem, p: Vector) -> float:
    """−d·p̈ of the point reached, with d = p/|p|; also the goal of the level along d, which is put back."""
    level, along = s.stack.level, 0.0
    for i in range(p.size):
        along -= p[i] / size_of(p) * s.drift[i]
    level.b[0] = along
    return along - dot(level.A[0], s.stack.search.x, s.u.size)

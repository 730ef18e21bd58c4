"""The two versions of the fastest stop in a tick: by the pseudo-inverse, and the optimum."""

from __future__ import annotations

import math

import numpy as np

from palpate.control.solve.active_set import RANK
from palpate.control.solve.orthogonal import factor, solve_factored
from palpate.control.solve.stop_kernels import find_stop, judge
from palpate.control.solve.stopping.memory import Gains, Memory
from palpate.control.solve.stopping.problem import FOUND, size_of
from palpate.control.tick import Tick
from palpate.engine.kernels import kernel, put
from palpate.engine.views import flat


@kernel
def _largest_rate(k: Gains, m: Memory, most: float) -> float:
    """The largest λ ≤ most for which u = a λ + b keeps its bounds; −∞ if there is none."""
    s, n, size, low, high = m.problem, m.a.size, 0.0, -np.inf, most
    for j in range(n):
        size = max(size, abs(m.a[j]))
    for i in range(s.lower.size):
        slope, start, scale = 0.0, 0.0, 0.0
        for j in range(n):
            slope, start, scale = slope + s.C[i, j] * m.a[j], start + s.C[i, j] * m.b[j], scale + abs(s.C[i, j])
        if abs(slope) <= 1e-12 * size * scale:
            slope = 0.0
        if slope == 0.0:
            high = high if s.lower[i] <= start <= s.upper[i] else -np.inf
        else:
            ends = (s.lower[i] - start) / slope, (s.upper[i] - start) / slope
            low, high = max(low, min(ends[0], ends[1])), min(high, max(ends[0], ends[1]))
    return high if low <= high else -np.inf


@kernel
def by_pseudoinverse(x: Tick, k: Gains, m: Memory) -> bool:
    """u = a λ + b, a = −J⁺ṗ, b = J⁺(steer − h), with the method's largest λ; False where it has none, or speeds up."""
    n = x.v.size
    for i in range(m.c.size):
        m.c[i] = m.problem.steer[i] - m.problem.drift[i]
    put(flat(m.rows.L), 0, flat(m.problem.J))
    factor(m.rows, RANK)
    solve_factored(m.rows, m.problem.line, m.a)
    solve_factored(m.rows, m.c, m.b)
    for j in range(n):
        m.a[j] = -m.a[j]
    rate = _largest_rate(k, m, fastest_rate(x, k))
    if not rate >= 0.0:
        return False
    for j in range(n):
        m.problem.u[j] = min(max(m.a[j] * rate + m.b[j], -k.acceleration[j]), k.acceleration[j])
    judge_command(m)
    return m.rate >= 0.0


@kernel
def fastest_rate(x: Tick, k: Gains) -> float:
    """1/s, the rate at which a velocity may be taken away and not come out on the other side.

    Within one period 1/T; of a velocity seen τ late, v̇(t) = −r v(t − τ) swings unless r τ ≤ 1/e.
    """
    return 1.0 / (x.dt + math.e * k.lag)


@kernel
def optimal_stop(x: Tick, k: Gains, m: Memory) -> bool:
    """The fastest stop of every u within the bounds, or the trade where there is none; whether the line is kept."""
    s = m.problem
    s.most, s.weight = fastest_rate(x, k), k.weight
    kept = find_stop(s) == FOUND
    m.conflicts += 1 if s.conflict > 0.0 else 0
    return kept


@kernel
def judge_command(m: Memory) -> None:
    """λ = −ṗ·p̈/|ṗ|² and the acceleration across ṗ under the command."""
    judge(m.problem)
    m.rate, m.deviation = m.problem.braking / size_of(m.problem.velocity), m.problem.deviation

"""A tick of braking along the remembered direction, and the record of how it goes."""

from __future__ import annotations

from palpate.control.solve.stopping.memory import (
    BRAKING,
    REMEMBERED,
    RESTING,
    Gains,
    Memory,
    put_limits,
    take_direction,
)
from palpate.control.solve.stopping.problem import size_of
from palpate.control.solve.stopping.versions import by_pseudoinverse, fastest_rate, judge_command, optimal_stop
from palpate.control.tick import Tick
from palpate.engine.kernels import dot, kernel, put

_STANDS, _ASIDE = 1e-4, 1e-2  # of the first speed: along the line it stands; across it, it goes on another way
_JUMP = 0.25  # of the first speed: a change within a tick, beside that of the command, that is no measurement of one
_WINDOW = 10  # ticks after which the mean of such readings is believed


@kernel
def _note(x: Tick, k: Gains, m: Memory, kept: bool) -> None:
    """Keep for the record whether the line is kept, which bounds hold the command, and each change."""
    judge_command(m)
    if kept != (m.feasible > 0.5):
        if m.changes < REMEMBERED:
            m.change_time[m.changes], m.change_deviation[m.changes] = x.t, m.deviation
        m.changes += 1
    m.feasible = 1.0 if kept else 0.0
    if not kept:
        m.lost_time += x.dt
        m.worst = max(m.worst, m.deviation)
        m.faster += 1 if m.rate < 0.0 else 0
    _note_active(x, m)


@kernel
def _note_active(x: Tick, m: Memory) -> None:
    """Per joint ±1 at a bound of u, ±2 at one of τ, 0 between."""
    s, n, changed = m.problem, x.v.size, False
    for j in range(n):
        now = 0.0
        for row in range(j, s.lower.size, n):
            at, size = dot(s.C[row], s.u, n), 2.0 if row >= n else 1.0
            near = 1e-9 * (1.0 + abs(at))
            now = size if at >= s.upper[row] - near else -size if at <= s.lower[row] + near else now
        changed = changed or now != m.active[j]
        m.active[j] = now
    m.switched += 1 if changed and m.tick > 0 else 0


@kernel
def begin_stop(m: Memory) -> None:
    """Remember the direction of the first tick."""
    m.first_speed = size_of(m.problem.velocity)
    m.speed = m.first_speed
    m.phase = BRAKING if m.first_speed > 1e-9 else RESTING
    if m.phase == BRAKING:
        take_direction(m)


@kernel
def _on_line(x: Tick, k: Gains, m: Memory) -> bool:
    """The velocity along the line, and what takes away the rest; False once the tool stands."""
    speed, straighten = 0.0, min(k.straighten, 0.5 * fastest_rate(x, k))
    for i in range(m.problem.velocity.size):
        speed += m.direction[i] * m.problem.velocity[i]
    if speed <= _STANDS * m.first_speed:
        if size_of(m.problem.velocity) <= _ASIDE * m.first_speed:
            return False
        take_direction(m)  # the line is lost for good: the tool moves another way, and is stopped there
        m.redirected += 1
        speed = size_of(m.problem.velocity)
    for i in range(m.problem.velocity.size):
        m.problem.line[i] = m.direction[i] * speed
        m.problem.steer[i] = -straighten * (m.problem.velocity[i] - m.problem.line[i])
    return True


@kernel
def _misses(x: Tick, m: Memory) -> bool:
    """Whether the speed along the line is none that it can have after the last command: a reading that says nothing.

    Differences of coarse encoders are 0 between two counts, and far too large at one. The mean of some ticks tells a
    tool that was stopped by something else from one that moves on.
    """
    seen = 0.0
    for i in range(m.problem.velocity.size):
        seen += m.direction[i] * m.problem.velocity[i]
    jump = _JUMP * m.first_speed
    if m.tick == 0 or m.speed - jump <= seen <= m.speed + jump + m.problem.braking * x.dt:
        m.speed, m.unbelieved, m.unbelieved_sum = seen, 0, 0.0
        return False
    m.unbelieved, m.unbelieved_sum = m.unbelieved + 1, m.unbelieved_sum + seen
    if m.unbelieved == _WINDOW:
        mean = m.unbelieved_sum / _WINDOW
        if abs(mean - m.speed) > 2.0 * jump:  # something else has stopped it, or pushed it
            m.speed, m.unbelieved, m.unbelieved_sum = seen, 0, 0.0
            return False
        m.speed, m.unbelieved, m.unbelieved_sum = mean, 0, 0.0
    m.missing += 1
    return True


@kernel
def brake(x: Tick, k: Gains, m: Memory) -> bool:
    """One tick of braking along the remembered direction; False once the tool stands still."""
    if m.speed > _ASIDE * m.first_speed and _misses(x, m):
        put(m.problem.u, 0, m.last)
        m.speed -= m.problem.braking * x.dt
        return True
    if not _on_line(x, k, m) or size_of(m.problem.velocity) <= _STANDS * m.first_speed:
        return False
    put_limits(x, k, m.problem.C, m.problem.lower, m.problem.upper)
    kept = not k.optimal and by_pseudoinverse(x, k, m)
    if not kept:
        m.replaced += not k.optimal
        kept = optimal_stop(x, k, m)
    _note(x, k, m, kept)
    put(m.last, 0, m.problem.u)
    m.speed -= m.problem.braking * x.dt
    return True

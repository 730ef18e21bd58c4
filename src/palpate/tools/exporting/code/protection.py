"""Guards of an exported library as kernels: what it refuses, how far a command may go, and the ramp in which it ends.

The end of a law is τ = ĝ(q) − D v + o. The offset o begins with the torque and the torque rate of the last tick, and
goes to 0 by

    ö = −(a + b) ȯ − a b o,

so that neither the torque nor its rate jumps. Where v cannot be used the damping is left out, and where q cannot, ĝ is
that of the last posture that could. A jump of v goes into the offset, not into the torque.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel, put
from palpate.engine.records import Record, Vector, sized

NOTHING, POSTURE, MOTION = 0, 1, 2  # what of a measurement can be used: neither q nor v, q, both
LIMIT_TORQUE, LIMIT_RATE, LIMIT_RANGE, LIMIT_SPEED = 1, 2, 4, 256  # bits of `guards`, as in a trace


class Protection(Record):
    """Bounds of the guards; infinite where a guard is off, or the arm's bound is not known."""

    ramp: bool = False
    torque: Vector = sized("nv")  # N·m or N
    torque_step: Vector = sized("nv")  # N·m or N a tick
    lower: Vector = sized("nv")  # rad or m
    upper: Vector = sized("nv")
    lead: float = 0.0  # s, how far ahead of the joint's stop a moving joint is stopped
    speed: Vector = sized("nv")  # rad/s or m/s, of set points
    most_speed: Vector = sized("nv")  # measured
    q_step: Vector = sized("nv")  # rad or m a period
    target_q_step: Vector = sized("nv")
    target_q_jump: float = math.inf  # rad or m: that of the verified run
    target_position_step: float = math.inf  # m a period
    target_position_jump: float = math.inf
    target_turn_step: float = math.inf  # rad a period
    target_turn_jump: float = math.inf
    earliest: float = 0.0  # periods
    slack: float = math.inf  # of the mean interval, periods
    damping: Vector = sized("nv")  # N·m·s/rad or N·s/m
    v_step: Vector = sized("nv")  # rad/s or m/s a period: a larger change of v is no motion of the arm
    fast: float = 200.0  # a, 1/s
    slow: float = 20.0  # b, 1/s


class Ending(Record):
    """How an exported law ends: the code that ended it, and its last command with its rate."""

    code: int = 0
    ticks: int = 0  # of the ramp
    seen: int = 0  # what of the last tick's measurement could be used: NOTHING, POSTURE, MOTION
    known: bool = False  # whether there ever was a posture
    limp: bool = False  # whether torque 0 was answered, because there was none
    mean_gap: float = 1.0  # periods
    gravity: Vector = sized("nv")  # of the last posture
    v: Vector = sized("nv")  # of the last tick of the ramp that had one
    output: Vector = sized("nv")
    rate: Vector = sized("nv")  # 1/s
    offset: Vector = sized("nv")
    offset_rate: Vector = sized("nv")


@kernel
def jumps(now: Vector, at: int, before: Vector, step: Vector, gap: float) -> bool:
    """Whether a posture that stands at some place of the input is farther from another than its joints can go."""
    for j in range(step.size):
        if abs(now[at + j] - before[j]) > step[j] * max(gap, 1.0):
            return True
    return False


@kernel
def turn_between(now: Vector, at: int, before: Vector, first: int) -> float:
    """Angle between two quaternions of norm 1, rad: 4 asin(|a ∓ b| / 2), which is exact for small ones."""
    minus, plus = 0.0, 0.0
    for k in range(4):
        a, b = now[at + k], before[first + k]
        minus += (a - b) ** 2
        plus += (a + b) ** 2
    half = 0.5 * math.sqrt(min(minus, plus))
    return 4.0 * half * (1.0 + half * half / 6.0)  # asin x = x + x³/6 + …, below 0.1 % off up to 90°


@kernel
def out_of_range(p: Protection, q: Vector, at: int, v: Vector, v_at: int) -> bool:
    """Whether a joint is beyond its range, or will be `lead` seconds on at its speed."""
    for j in range(p.lower.size):
        x, ahead = q[at + j], q[at + j] + p.lead * v[v_at + j]
        if max(x, ahead) > p.upper[j] or min(x, ahead) < p.lower[j]:
            return True
    return False


@kernel
def too_fast(p: Protection, v: Vector, at: int) -> bool:
    """Whether a joint is faster than the arm may be."""
    for j in range(p.most_speed.size):
        if abs(v[at + j]) > p.most_speed[j]:
            return True
    return False


@kernel
def limit_torque(p: Protection, m: Ending, torque: Vector, period: float, first: bool) -> int:
    """Cut torques at their limits, and their changes since the last tick; bits of what was cut."""
    bits = 0
    for j in range(torque.size):
        wanted = torque[j]
        if abs(wanted) > p.torque[j]:
            torque[j] = math.copysign(p.torque[j], wanted)
            bits |= LIMIT_TORQUE
        if not first and abs(torque[j] - m.output[j]) > p.torque_step[j]:
            torque[j] = m.output[j] + math.copysign(p.torque_step[j], torque[j] - m.output[j])
            bits |= LIMIT_RATE
        m.rate[j] = 0.0 if first else (torque[j] - m.output[j]) / period
        m.output[j] = torque[j]
    return bits


@kernel
def limit_set_points(p: Protection, m: Ending, set_q: Vector, set_v: Vector, period: float, position: bool) -> int:
    """Cut set points at the joints' speeds and ranges; `output` is the last position, or velocity. Bits, as above."""
    bits = 0
    for j in range(set_q.size):
        if abs(set_v[j]) > p.speed[j]:
            set_v[j] = math.copysign(p.speed[j], set_v[j])
            bits |= LIMIT_SPEED
            if position:
                set_q[j] = m.output[j] + set_v[j] * period
        if position and not p.lower[j] <= set_q[j] <= p.upper[j]:
            set_q[j] = min(max(set_q[j], p.lower[j]), p.upper[j])
            set_v[j] = (set_q[j] - m.output[j]) / period
            bits |= LIMIT_RANGE
        m.rate[j] = set_v[j] if position else (set_v[j] - m.output[j]) / period
        m.output[j] = set_q[j] if position else set_v[j]
    return bits


@kernel
def _ease(p: Protection, m: Ending, j: int, period: float) -> None:
    """One step of ö = −(a + b) ȯ − a b o."""
    pull = -(p.fast + p.slow) * m.offset_rate[j] - p.fast * p.slow * m.offset[j]
    m.offset_rate[j] += period * pull
    m.offset[j] += period * m.offset_rate[j]


@kernel
def end_torque(p: Protection, m: Ending, v: Vector, seen: int, period: float) -> None:
    """One tick of the ramp to τ = ĝ − D v, within the limits of torque and rate; the torque is in `output`."""
    moving = seen == MOTION
    for j in range(m.output.size):
        goal, last = m.gravity[j] - (p.damping[j] * v[j] if moving else 0.0), m.output[j]
        anew = m.ticks == 0 or seen != m.seen or (moving and abs(v[j] - m.v[j]) > p.v_step[j])
        if anew:
            m.offset[j], m.offset_rate[j] = last - goal, m.rate[j]
        _ease(p, m, j, period)
        wanted = goal + m.offset[j]
        torque = min(max(wanted, -p.torque[j]), p.torque[j])
        torque = min(max(torque, last - p.torque_step[j]), last + p.torque_step[j])
        m.rate[j] = (torque - last) / period
        if torque != wanted:
            m.offset[j], m.offset_rate[j] = torque - goal, m.rate[j]
        m.output[j] = torque
        if moving:
            m.v[j] = v[j]
    m.seen = seen
    m.ticks += 1


@kernel
def end_set_points(p: Protection, m: Ending, set_q: Vector, set_v: Vector, period: float, position: bool) -> None:
    """One tick of the ramp to rest: velocities fade as torques do, positions run out within their ranges.

    A joint that stands beyond its range stays there: to go back would be a jump.
    """
    for j in range(set_q.size):
        if position:
            m.rate[j] *= 1.0 - p.slow * period
            lower, upper = min(p.lower[j], m.output[j]), max(p.upper[j], m.output[j])
            set_q[j] = min(max(m.output[j] + m.rate[j] * period, lower), upper)
            m.rate[j] = set_v[j] = (set_q[j] - m.output[j]) / period
            m.output[j] = set_q[j]
        else:
            if m.ticks == 0:
                m.offset[j], m.offset_rate[j] = m.output[j], m.rate[j]
            _ease(p, m, j, period)
            set_q[j] += set_v[j] * period
            set_v[j] = m.output[j] = min(max(m.offset[j], -p.speed[j]), p.speed[j])
    m.ticks += 1


@kernel
def begin_output(m: Ending, value: Vector) -> None:
    """The set points that a ramp starts from where there was none before."""
    put(m.output, 0, value)
    for j in range(m.rate.size):
        m.rate[j] = 0.0


@kernel
def begin_torque(p: Protection, m: Ending, tau: Vector) -> None:
    """The torque that a ramp starts from where there was none before.

    It is the measured one, or that of gravity where nothing was measured; 0 where that was answered until now.
    """
    for j in range(m.output.size):
        start = 0.0 if m.limp else (tau[j] if math.isfinite(tau[j]) else m.gravity[j])
        m.output[j], m.rate[j] = min(max(start, -p.torque[j]), p.torque[j]), 0.0

"""From the law's terms to joint torques: command, driver, guards, servo, limits."""

from __future__ import annotations

import math

from palpate.control.friction import friction_torque
from palpate.control.guards import guard_set_points, guard_torque
from palpate.engine.kernels import kernel, put
from palpate.engine.library import mj_integratePos, mju_cholFactor, mju_cholSolve
from palpate.engine.records import Matrix, Vector
from palpate.engine.views import address_of
from palpate.run.loop.state import (
    ACCELERATION,
    BAD_COMMAND,
    PACKETS_LOST,
    POSITION,
    RATE_LIMITED,
    RUNNING,
    TORQUE_LIMITED,
    VELOCITY,
    Drives,
    Loop,
)
from palpate.world.plants.elastic.motors import close_torque_loop
from palpate.world.sensing.faults import LOSS, LOST, fault_now
from palpate.world.sensing.noise import uniform
from palpate.world.sensing.sensors import arrive

_JITTER = 5001  # stream of random numbers


@kernel
def take_command(L: Loop) -> int:
    """Sum the law's terms into a command and send it through the driver's channel; how the run stands."""
    terms, command, d = L.row.terms, L.row.command, L.drives
    if L.compensation.viscous.size > 0:
        _compensate(L)
    if not _add_terms(terms, command) and _bad_term(L):
        return BAD_COMMAND
    put(d.signal.fresh, 0, command)
    if d.kind == ACCELERATION:
        _inverse_dynamics(L, command, d.signal.fresh)
    if d.law_adds_gravity:
        for j in range(command.size):
            d.signal.fresh[j] -= L.tick.gravity[j]
    arrive(d.signal, L.tick_count)
    d.acts_from = L.step
    if d.jitter > 0.0:
        d.acts_from += math.ceil(d.jitter * uniform(L.seed, _JITTER, L.tick_count))
    return _receive(L)


@kernel(inline=True)
def _add_terms(terms: Matrix, command: Vector) -> bool:
    """command = the sum of the terms; whether all of it is finite."""
    finite = True
    for j in range(command.size):
        total = 0.0
        for k in range(terms.shape[0]):
            total += terms[k, j]
        command[j] = total
        finite = finite and math.isfinite(total)
    return finite


@kernel
def _bad_term(L: Loop) -> bool:
    """Whether a term is not finite; which one, and of which joint, is kept."""
    terms = L.row.terms
    for j in range(terms.shape[1]):
        for k in range(terms.shape[0]):
            if not math.isfinite(terms[k, j]):
                L.bad_term, L.where = k, j
                return True
    return False


@kernel
def _compensate(L: Loop) -> None:
    """The friction term, the last one: a torque, or the acceleration M̂⁻¹ τ_f that asks for it."""
    c, term, M = L.compensation, L.row.terms[L.row.terms.shape[0] - 1], L.compensation.factor
    friction_torque(c, L.tick.v, term)
    if L.drives.kind == ACCELERATION:
        for i in range(term.size):
            put(M[i], 0, L.tick.M[i])
        mju_cholFactor(address_of(M), term.size, 1e-15)
        mju_cholSolve(address_of(term), address_of(M), address_of(term), term.size)


@kernel(inline=True)
def _receive(L: Loop) -> int:
    """Hold the last command where this one is lost; too many in a row end the run.

    Until the first one arrives, `delay` ticks after it was sent, the arm is held where it starts.
    """
    d = L.drives
    if L.tick_count < d.signal.delay:
        return RUNNING
    lost = d.loss > 0.0 and uniform(L.seed, LOSS, L.tick_count) < d.loss
    if lost or fault_now(L.faults, LOST, LOST, L.seed, L.tick_count) > 0:
        d.lost += 1
        d.lost_in_row += 1
        return PACKETS_LOST if d.lost_in_row == d.stop_after else RUNNING
    d.lost_in_row = 0
    put(d.received, 0, d.signal.seen)
    return RUNNING


@kernel
def act_on_command(L: Loop) -> None:
    """Turn what was received into a torque or a servo's set point: gravity, guards, filter and rate limits."""
    d = L.drives
    d.bits = 0
    if d.kind >= VELOCITY:
        _set_servo(L, d.received)
        L.guard_memory.bits = guard_set_points(L.guard, L.guard_memory, L.tick, d.set_q, d.set_v, d.kind == POSITION)
        return
    put(d.torque, 0, d.received)
    if d.adds_gravity:
        for j in range(d.torque.size):
            d.torque[j] += L.tick.gravity[j]
    L.guard_memory.bits = guard_torque(L.guard, L.guard_memory, L.tick, d.torque)
    if d.shaping:
        _shape_torque(L)


@kernel(inline=True)
def _shape_torque(L: Loop) -> None:
    """y ← y + g (u − y), then no farther from the last y than the rate limit lets it; gravity, if added, apart."""
    d = L.drives
    for j in range(d.torque.size):
        added = L.tick.gravity[j] if d.adds_gravity else 0.0
        last, wanted = d.sent[j], d.torque[j] - added
        if d.share < 1.0:
            wanted = last + d.share * (wanted - last)
        if abs(wanted - last) > d.rate_limit[j]:
            wanted = last + math.copysign(d.rate_limit[j], wanted - last)
            d.bits |= RATE_LIMITED
        d.sent[j] = wanted
        d.torque[j] = wanted + added


@kernel
def _inverse_dynamics(L: Loop, a: Vector, torque: Vector) -> None:
    """τ = M̂ a + b̂, with the nominal model's terms of the last control tick."""
    M = L.tick.M
    for j in range(torque.size):
        torque[j] = L.tick.bias[j]
        for k in range(torque.size):
            torque[j] += M[j, k] * a[k]


@kernel
def _set_servo(L: Loop, wanted: Vector) -> None:
    """Set points of the joint servo: a velocity, or a position and the velocity that leads there in a period."""
    d, first = L.drives, L.tick_count == 1
    set_q, set_v = d.set_q, d.set_v
    for j in range(wanted.size):
        if d.kind == VELOCITY:
            if first:
                set_q[j] = L.tick.q[j]
            set_v[j] = _shaped_speed(d, L.period, j, wanted[j], set_v[j] + d.share * (wanted[j] - set_v[j]))
        elif d.shaping:
            aim = set_q[j] + d.share * (wanted[j] - set_q[j])
            speed = (aim - set_q[j]) / L.period
            set_v[j] = _shaped_speed(d, L.period, j, speed, speed)
            set_q[j] = aim if set_v[j] == speed else set_q[j] + set_v[j] * L.period
        else:
            set_v[j] = 0.0 if first else (wanted[j] - set_q[j]) / L.period
            set_q[j] = wanted[j]


@kernel
def _shaped_speed(d: Drives, period: float, j: int, fresh: float, filtered: float) -> float:
    """A set point's speed within its limits: jerk, acceleration (less near the largest speed), speed.

    With v, a the last speed and acceleration: |(v⁺ − v)/T − a| ≤ T j_max, and −A(v_max + v) ≤ (v⁺ − v)/T ≤ A(v_max − v)
    with A(x) = min(a_max, x j_max/a_max), so that v_max is reached with an acceleration that fades in time.
    """
    if not d.shaping:
        return fresh
    last, jerk, most, fastest = d.set_v[j], d.jerk_limit[j], d.acceleration_limit[j], d.speed_limit[j]
    a = (filtered - last) / period
    low, high = max(-most, d.set_a[j] - jerk * period), min(most, d.set_a[j] + jerk * period)
    fade = jerk / most if math.isfinite(jerk) and math.isfinite(most) else 1.0 / period
    high, low = min(high, fade * (fastest - last)), max(low, -fade * (fastest + last))
    kept = max(min(a, high), low)
    if kept == a:
        d.set_a[j] = a
        return filtered
    d.bits |= RATE_LIMITED
    d.set_a[j] = kept
    return last + kept * period


@kernel
def servo(L: Loop) -> None:
    """The joint servo of an industrial arm: τ = (M̂ + rotors) (ω² e + 2 ω ė) + b̂, run at every physics step."""
    d, elastic = L.drives, L.elastic.on
    w, integrating = d.bandwidth, d.kind == VELOCITY
    for j in range(d.a.size):
        q = L.elastic.motor_q[j] if elastic else L.plant.qpos[L.coordinate[j]]
        v = L.elastic.motor_v[j] if elastic else L.plant.qvel[L.dof[j]]
        d.a[j] = w * w * (d.set_q[j] - q) + 2.0 * w * (d.set_v[j] - v)
        if integrating:
            d.set_q[j] += d.set_v[j] * L.dt
    _inverse_dynamics(L, d.a, d.torque)
    for j in range(d.a.size):
        d.torque[j] += d.rotor[j] * d.a[j]


@kernel(inline=True)
def actuate(L: Loop) -> None:
    """The torque limit; what was cut is flagged."""
    d, tau, bits = L.drives, L.row.tau, L.guard_memory.bits | L.drives.bits
    if L.elastic.looped:
        close_torque_loop(L.elastic, d.torque, L.plant.qvel)
    for j in range(tau.size):
        if d.torque_limit[j] < 0.0:  # no motor here: a free base
            tau[j] = 0.0
            continue
        wanted = L.elastic.wanted[j] if L.elastic.looped else d.torque[j]
        if d.limit_torque and abs(wanted) > d.torque_limit[j]:
            wanted = math.copysign(d.torque_limit[j], wanted)
            bits |= TORQUE_LIMITED
        tau[j] = wanted
    L.guard_bits = bits
    if bits != 0:
        for bit in range(L.guard_steps.size):
            L.guard_steps[bit] += (bits >> bit) & 1


@kernel
def move_as_told(L: Loop) -> None:
    """One physics step of a robot without masses: its joints go where their servos are told, whatever pushes back.

    v as commanded; towards a commanded position so that it is reached when the period ends.
    """
    p, d = L.plant, L.drives
    left = (L.ratio - L.step % L.ratio) * L.dt
    for j in range(L.dof.size):
        q = p.qpos[L.coordinate[j]]
        p.qvel[L.dof[j]] = (d.set_q[j] - q) / left if d.kind == POSITION else d.set_v[j]
    put(L.v_old, 0, p.qvel)
    mj_integratePos(p.model, address_of(p.qpos), address_of(p.qvel), L.dt)
    p.time = L.step * L.dt + L.dt

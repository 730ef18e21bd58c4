"""From the law's terms to joint torques: command, servo, guards."""

from __future__ import annotations

import math

from numba.extending import register_jitable

from palpate.control.guards import guard_set_points, guard_torque
from palpate.engine import H_QPOS, H_QVEL, part, put, vector
from palpate.run.state import (
    GUARD_RATE,
    GUARD_TORQUE,
    I_COMMAND,
    I_DELAY_COMMAND,
    I_GUARD,
    I_GUARDED,
    I_LIMIT_RATE,
    I_LIMIT_TORQUE,
    I_NV,
    I_STEP,
    I_TERM,
    I_TICK,
    I_WHERE,
    X_BANDWIDTH,
    X_DT,
    X_PERIOD,
)
from palpate.world.sensors import through_delay

_TORQUE, _ACCELERATION, _VELOCITY = 0, 1, 2


@register_jitable
def take_command(L):
    """Sum the law's terms into a command, and turn it into a torque or a servo's set point."""
    i, terms, command = L.i, L.terms, L.command
    n, kind = i[I_NV], i[I_COMMAND]
    for j in range(n):
        total = 0.0
        for k in range(terms.shape[0]):
            if not math.isfinite(terms[k, j]):
                i[I_TERM], i[I_WHERE] = k, j
                return False
            total += terms[k, j]
        command[j] = total
    delayed = part(L.work, 0, n)
    through_delay(L.command_ring, i[I_DELAY_COMMAND], i[I_TICK], command, delayed)
    if kind == _TORQUE:
        put(L.torque, 0, delayed)
    elif kind == _ACCELERATION:
        _inverse_dynamics(L, delayed)
    else:
        _set_servo(L, kind, delayed)
    return True


@register_jitable
def _inverse_dynamics(L, a):
    """τ = M̂ a + b̂, with the nominal model's terms of the last control tick."""
    M, bias, torque = L.M, L.bias, L.torque
    for j in range(torque.size):
        torque[j] = bias[j]
        for k in range(torque.size):
            torque[j] += M[j, k] * a[k]


@register_jitable
def _set_servo(L, kind, wanted):
    """Set points of the joint servo: a velocity, or a position and the velocity that leads there in a period."""
    servo_q, servo_v, first = L.servo_q, L.servo_v, L.i[I_TICK] == 0
    for j in range(wanted.size):
        if kind == _VELOCITY:
            if first:
                servo_q[j] = L.q[j]
            servo_v[j] = wanted[j]
        else:
            servo_v[j] = 0.0 if first else (wanted[j] - servo_q[j]) / L.x[X_PERIOD]
            servo_q[j] = wanted[j]


@register_jitable
def servo(L):
    """The joint servo of an industrial arm: τ = (M̂ + rotors) (ω² e + 2 ω ė) + b̂, run at every physics step."""
    n, w, servo_q, servo_v, torque, rotor = L.i[I_NV], L.x[X_BANDWIDTH], L.servo_q, L.servo_v, L.torque, L.rotor
    q, v, a = vector(L.plant[H_QPOS], n), vector(L.plant[H_QVEL], n), part(L.work, 0, n)
    integrating = L.i[I_COMMAND] == _VELOCITY
    for j in range(n):
        a[j] = w * w * (servo_q[j] - q[j]) + 2.0 * w * (servo_v[j] - v[j])
        if integrating:
            servo_q[j] += servo_v[j] * L.x[X_DT]
    _inverse_dynamics(L, a)
    for j in range(n):
        torque[j] += rotor[j] * a[j]


@register_jitable
def apply_guards(L):
    """Let the guards have their say on the command; their bits stay up until the next tick."""
    period = L.x[X_PERIOD]
    if L.i[I_COMMAND] < _VELOCITY:
        L.i[I_GUARDED] = guard_torque(
            L.guard_numbers, L.guard_memory, period, L.q, L.v, L.M, L.bias, L.J, L.drift, L.wrench, L.torque
        )
    else:
        position = L.i[I_COMMAND] > _VELOCITY
        L.i[I_GUARDED] = guard_set_points(
            L.guard_numbers, L.guard_memory, period, L.q, L.J, L.wrench, L.servo_q, L.servo_v, position
        )


@register_jitable
def guard_and_actuate(L):
    """Torque-rate and torque limits; what was cut is flagged."""
    i, tau, torque, limit, guards = L.i, L.tau, L.torque, L.torque_limit, L.guards
    limit_rate, limit_torque, at_work = i[I_LIMIT_RATE] and i[I_STEP] > 0, i[I_LIMIT_TORQUE], i[I_GUARDED]
    for j in range(tau.size):
        if limit[j] < 0.0:  # no motor here: a free base
            tau[j] = 0.0
            continue
        wanted = torque[j]
        if limit_rate:
            most = L.rate_limit[j] * L.x[X_DT]
            if abs(wanted - tau[j]) > most:
                wanted = tau[j] + math.copysign(most, wanted - tau[j])
                at_work |= GUARD_RATE
        if limit_torque and abs(wanted) > limit[j]:
            wanted = math.copysign(limit[j], wanted)
            at_work |= GUARD_TORQUE
        tau[j] = wanted
    i[I_GUARD] = at_work
    for bit in range(guards.size):
        guards[bit] += (at_work >> bit) & 1

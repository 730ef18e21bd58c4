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
    n, kind = L.i[I_NV], L.i[I_COMMAND]
    for j in range(n):
        total = 0.0
        for k in range(L.terms.shape[0]):
            if not math.isfinite(L.terms[k, j]):
                L.i[I_TERM], L.i[I_WHERE] = k, j
                return False
            total += L.terms[k, j]
        L.command[j] = total
    delayed = part(L.work, 0, n)
    through_delay(L.command_ring, L.i[I_DELAY_COMMAND], L.i[I_TICK], L.command, delayed)
    if kind == _TORQUE:
        put(L.torque, 0, delayed)
    elif kind == _ACCELERATION:
        for j in range(n):
            L.torque[j] = L.bias[j]
            for k in range(n):
                L.torque[j] += L.M[j, k] * delayed[k]
    elif kind == _VELOCITY:
        for j in range(n):
            if L.i[I_TICK] == 0:
                L.servo_q[j] = L.q[j]
            L.servo_v[j] = delayed[j]
    else:
        for j in range(n):
            L.servo_v[j] = 0.0 if L.i[I_TICK] == 0 else (delayed[j] - L.servo_q[j]) / L.x[X_PERIOD]
            L.servo_q[j] = delayed[j]
    return True


@register_jitable
def servo(L):
    """The joint servo of an industrial arm: τ = (M̂ + rotors) (ω² e + 2 ω ė) + b̂, run at every physics step."""
    n, w = L.i[I_NV], L.x[X_BANDWIDTH]
    q, v = vector(L.plant[H_QPOS], n), vector(L.plant[H_QVEL], n)
    a = part(L.work, 0, n)
    for j in range(n):
        if L.i[I_COMMAND] == _VELOCITY:
            L.servo_q[j] += L.servo_v[j] * L.x[X_DT]
        a[j] = w * w * (L.servo_q[j] - q[j]) + 2.0 * w * (L.servo_v[j] - v[j])
    for j in range(n):
        L.torque[j] = L.bias[j] + L.rotor[j] * a[j]
        for k in range(n):
            L.torque[j] += L.M[j, k] * a[k]


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
            L.guard_numbers, L.guard_memory, period, L.J, L.wrench, L.servo_q, L.servo_v, position
        )


@register_jitable
def guard_and_actuate(L):
    """Torque-rate and torque limits; what was cut is flagged."""
    L.i[I_GUARD] = L.i[I_GUARDED]
    for j in range(L.i[I_NV]):
        wanted = L.torque[j]
        if L.i[I_LIMIT_RATE] and L.i[I_STEP] > 0:
            most = L.rate_limit[j] * L.x[X_DT]
            if abs(wanted - L.tau[j]) > most:
                wanted = L.tau[j] + math.copysign(most, wanted - L.tau[j])
                L.i[I_GUARD] |= GUARD_RATE
        if L.i[I_LIMIT_TORQUE] and abs(wanted) > L.torque_limit[j]:
            wanted = math.copysign(L.torque_limit[j], wanted)
            L.i[I_GUARD] |= GUARD_TORQUE
        L.tau[j] = wanted
    for bit in range(L.guards.size):
        L.guards[bit] += (L.i[I_GUARD] >> bit) & 1

"""From the law's terms to joint torques: command, servo, guards, limits."""

from __future__ import annotations

import math

from palpate.control.guards import guard_set_points, guard_torque
from palpate.engine.kernels import kernel, put
from palpate.engine.records import Vector
from palpate.run.loop.state import ACCELERATION, POSITION, RATE_LIMITED, TORQUE, TORQUE_LIMITED, VELOCITY, Loop
from palpate.world.faults import LOST, fault_now
from palpate.world.sensors import arrive


@kernel
def take_command(L: Loop) -> bool:
    """Sum the law's terms into a command, and turn it into a torque or a servo's set point; False if it is none."""
    terms, command, drives = L.row.terms, L.row.command, L.drives
    for j in range(command.size):
        command[j] = 0.0
        for k in range(terms.shape[0]):
            if not math.isfinite(terms[k, j]):
                L.bad_term, L.where = k, j
                return False
            command[j] += terms[k, j]
    if L.tick_count == 0 or fault_now(L.faults, LOST, LOST, L.seed, L.tick_count) == 0:
        put(drives.signal.fresh, 0, command)  # else the last one is held
    arrive(drives.signal, L.tick_count)
    wanted = drives.signal.seen
    if drives.kind == TORQUE:
        put(drives.torque, 0, wanted)
    elif drives.kind == ACCELERATION:
        _inverse_dynamics(L, wanted)
    else:
        _set_servo(L, wanted)
    return True


@kernel
def _inverse_dynamics(L: Loop, a: Vector) -> None:
    """τ = M̂ a + b̂, with the nominal model's terms of the last control tick."""
    M, torque = L.tick.M, L.drives.torque
    for j in range(torque.size):
        torque[j] = L.tick.bias[j]
        for k in range(torque.size):
            torque[j] += M[j, k] * a[k]


@kernel
def _set_servo(L: Loop, wanted: Vector) -> None:
    """Set points of the joint servo: a velocity, or a position and the velocity that leads there in a period."""
    set_q, set_v, first = L.drives.set_q, L.drives.set_v, L.tick_count == 0
    for j in range(wanted.size):
        if L.drives.kind == VELOCITY:
            if first:
                set_q[j] = L.tick.q[j]
            set_v[j] = wanted[j]
        else:
            set_v[j] = 0.0 if first else (wanted[j] - set_q[j]) / L.period
            set_q[j] = wanted[j]


@kernel
def servo(L: Loop) -> None:
    """The joint servo of an industrial arm: τ = (M̂ + rotors) (ω² e + 2 ω ė) + b̂, run at every physics step."""
    d, q, v = L.drives, L.plant.qpos, L.plant.qvel
    w, integrating = d.bandwidth, d.kind == VELOCITY
    for j in range(d.a.size):
        d.a[j] = w * w * (d.set_q[j] - q[L.coordinate[j]]) + 2.0 * w * (d.set_v[j] - v[L.dof[j]])
        if integrating:
            d.set_q[j] += d.set_v[j] * L.dt
    _inverse_dynamics(L, d.a)
    for j in range(d.a.size):
        d.torque[j] += d.rotor[j] * d.a[j]


@kernel
def apply_guards(L: Loop) -> None:
    """Let the guards have their say on the command; their bits stay up until the next tick."""
    d = L.drives
    if d.kind < VELOCITY:
        L.guard_memory.bits = guard_torque(L.guard, L.guard_memory, L.tick, d.torque)
    else:
        L.guard_memory.bits = guard_set_points(L.guard, L.guard_memory, L.tick, d.set_q, d.set_v, d.kind == POSITION)


@kernel
def actuate(L: Loop) -> None:
    """Torque-rate and torque limits; what was cut is flagged."""
    d, tau, bits, limit_rate = L.drives, L.row.tau, L.guard_memory.bits, L.drives.limit_rate and L.step > 0
    for j in range(tau.size):
        if d.torque_limit[j] < 0.0:  # no motor here: a free base
            tau[j] = 0.0
            continue
        wanted = d.torque[j]
        most = d.rate_limit[j] * L.dt
        if limit_rate and abs(wanted - tau[j]) > most:
            wanted = tau[j] + math.copysign(most, wanted - tau[j])
            bits |= RATE_LIMITED
        if d.limit_torque and abs(wanted) > d.torque_limit[j]:
            wanted = math.copysign(d.torque_limit[j], wanted)
            bits |= TORQUE_LIMITED
        tau[j] = wanted
    L.guard_bits = bits
    for bit in range(L.guard_steps.size):
        L.guard_steps[bit] += (bits >> bit) & 1

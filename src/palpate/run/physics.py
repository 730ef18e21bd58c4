"""The plant in the loop: what acts on it, how it advances, the work done in a step, and what can go wrong."""

from __future__ import annotations

import math

from numba.extending import register_jitable

from palpate.engine import (
    H_APPLIED,
    H_BODY_PARENT,
    H_CONSTRAINT,
    H_CVEL,
    H_DAMPER,
    H_DATA,
    H_INERTIA,
    H_MASS,
    H_MOCAP_POS,
    H_MODEL,
    H_NBODY,
    H_NQ,
    H_NV,
    H_QACC,
    H_QPOS,
    H_QVEL,
    H_SENSOR,
    H_SUBTREE_MASS,
    H_TIME,
    H_WARNING,
    address_of,
    clear,
    int_vector,
    mj_fwdAcceleration,
    mj_fwdActuation,
    mj_fwdConstraint,
    mj_fwdPosition,
    mj_fwdVelocity,
    mj_integratePos,
    mj_sensorAcc,
    mj_step2,
    part,
    put,
    vector,
)
from palpate.robot.kernels import add_generalized_force, all_finite, read_pose
from palpate.run.state import (
    BAD_STATE,
    CLOCK,
    I_BODY,
    I_NQ,
    I_NV,
    I_RK4,
    I_STEP,
    I_WHERE,
    RUNNING,
    TOO_FAST,
    WARNED,
    X_CONTACT_WORK,
    X_DEPTH,
    X_DISSIPATED,
    X_DT,
    X_INJECTED,
    X_MAX_SPEED,
    X_POWER_CONTACT,
    X_POWER_LOST,
    X_POWER_PUSHED,
    X_PUSHED,
    X_STORED,
    X_TIME,
)
from palpate.world.contact import (
    C_DEPTH,
    C_FORCE,
    C_POINT,
    C_POWER,
    C_SLIP_NEXT,
    C_STORED,
    P_BODY,
    P_ROBOT,
    S_COMPLIANT,
    contact,
    move_surface,
    point_state,
)
from palpate.world.pushes import add_force, add_wrench, apply_pushes


@register_jitable
def move_world(L, t):
    """Put moving surfaces where they are at t, and change the masses that are due."""
    for s in range(L.surfaces.shape[0]):
        move_surface(L.surfaces[s], t, L.places[s], L.speeds[s])
        if L.mocap[s] >= 0:
            place = vector(L.plant[H_MOCAP_POS] + 24 * L.mocap[s], 3)
            put(place, 0, L.places[s])
    for k in range(L.loads.shape[0]):
        if L.loads[k, 4] == 0.0 and t >= L.loads[k, 0]:
            L.loads[k, 4] = 1.0
            _change_mass(L.plant, int(L.loads[k, 1]), L.loads[k, 2], L.loads[k, 3])


@register_jitable
def _change_mass(handle, body, mass, inertia):
    vector(handle[H_MASS], handle[H_NBODY])[body] += mass
    moments = vector(handle[H_INERTIA] + 24 * body, 3)
    for i in range(3):
        moments[i] += inertia
    subtree = vector(handle[H_SUBTREE_MASS], handle[H_NBODY])
    parents = int_vector(handle[H_BODY_PARENT], handle[H_NBODY])
    while body > 0:
        subtree[body] += mass
        body = parents[body]
    subtree[0] += mass


@register_jitable
def outside_forces(L, t, elapsed):
    """Generalised forces of pushes and compliant contacts at the staged state; wrenches about the tool's origin."""
    clear(L.outside)
    clear(L.contact_wrench)
    clear(L.push_wrench)
    L.x[X_STORED] = L.x[X_DEPTH] = L.x[X_POWER_CONTACT] = 0.0
    power = part(L.work, 20, 1)
    power[0] = 0.0
    apply_pushes(L.plant, L.pushes, t, L.outside, L.push_wrench, power, L.true_position, L.work)
    L.x[X_POWER_PUSHED] = power[0]
    none = part(L.work, 12, 3)
    clear(none)
    for p in range(L.points.shape[0]):
        for s in range(L.surfaces.shape[0]):
            out = L.contacts[p, s]
            if L.surfaces[s, S_COMPLIANT] < 0.5:
                continue
            touching = contact(
                L.plant, L.points[p], L.surfaces[s], L.axes[s], L.places[s], L.speeds[s], L.slips[p, s], elapsed,
                L.work, out,
            )  # fmt: skip
            if not touching:
                continue
            f, where = part(out, C_FORCE, 3), part(out, C_POINT, 3)
            add_generalized_force(L.plant, int(L.points[p, P_BODY]), f, none, where, L.outside)
            L.x[X_STORED] += out[C_STORED]
            L.x[X_POWER_CONTACT] += out[C_POWER]
            L.x[X_DEPTH] = max(L.x[X_DEPTH], out[C_DEPTH])
            if L.points[p, P_ROBOT] > 0.5:
                add_force(L.contact_wrench, f, where, L.true_position)


@register_jitable
def add_rigid_contacts(L):
    """Net wrench of rigid surfaces, as the engine's contact sensors gave it at the last physics step."""
    for s in range(L.rigid.size):
        if L.rigid[s] < 0:
            continue
        reading = vector(L.plant[H_SENSOR] + 8 * L.rigid[s], 11)
        if reading[0] == 0.0:
            continue
        add_wrench(L.contact_wrench, part(reading, 1, 3), part(reading, 4, 3), part(reading, 8, 3), L.true_position)
        L.x[X_DEPTH] = max(L.x[X_DEPTH], -reading[7])


@register_jitable
def read_tool(L):
    body = L.i[I_BODY]
    read_pose(L.plant, body, L.plant_offset, L.plant_turn, L.true_position, L.true_rotation)
    point_state(L.plant, body, L.plant_offset, part(L.work, 0, 3), part(L.true_twist, 0, 3))
    put(L.true_twist, 3, vector(L.plant[H_CVEL] + 48 * body, 3))


@register_jitable
def _apply(L):
    n = L.i[I_NV]
    applied = vector(L.plant[H_APPLIED], L.plant[H_NV])
    for k in range(applied.size):
        applied[k] = L.outside[k] + (L.tau[k] if k < n else 0.0)


@register_jitable
def _acceleration(L, t, elapsed, out):
    """v̇ of the whole scene at the state now in the engine, joint torques held."""
    m, d = L.plant[H_MODEL], L.plant[H_DATA]
    move_world(L, t)
    mj_fwdPosition(m, d)
    mj_fwdVelocity(m, d)
    read_tool(L)
    outside_forces(L, t, elapsed)
    _apply(L)
    mj_fwdActuation(m, d)
    mj_fwdAcceleration(m, d)
    mj_fwdConstraint(m, d)
    put(out, 0, vector(L.plant[H_QACC], L.plant[H_NV]))


@register_jitable
def _runge_kutta(L):
    """Classical fourth order, contact and push forces evaluated anew at every stage."""
    m, dt, t = L.plant[H_MODEL], L.x[X_DT], L.x[X_TIME]
    N = L.plant[H_NV]
    q, v = vector(L.plant[H_QPOS], L.plant[H_NQ]), vector(L.plant[H_QVEL], N)
    a1, a2, a3, a4 = L.stages[0], L.stages[1], L.stages[2], L.stages[3]
    v2, v3, v4, mean = L.stages[4], L.stages[5], L.stages[6], L.stages[7]
    _acceleration(L, t, 0.0, a1)
    for k in range(N):
        v2[k] = L.v_old[k] + 0.5 * dt * a1[k]
    _stage(L, m, q, v, L.v_old, v2, 0.5 * dt)
    _acceleration(L, t + 0.5 * dt, 0.5 * dt, a2)
    for k in range(N):
        v3[k] = L.v_old[k] + 0.5 * dt * a2[k]
    _stage(L, m, q, v, v2, v3, 0.5 * dt)
    _acceleration(L, t + 0.5 * dt, 0.5 * dt, a3)
    for k in range(N):
        v4[k] = L.v_old[k] + dt * a3[k]
    _stage(L, m, q, v, v3, v4, dt)
    _acceleration(L, t + dt, dt, a4)
    for k in range(N):
        mean[k] = (L.v_old[k] + 2.0 * v2[k] + 2.0 * v3[k] + v4[k]) / 6.0
        v4[k] = L.v_old[k] + dt * (a1[k] + 2.0 * a2[k] + 2.0 * a3[k] + a4[k]) / 6.0
    _stage(L, m, q, v, mean, v4, dt)
    mj_sensorAcc(m, L.plant[H_DATA])
    vector(L.plant[H_TIME], 1)[0] = t + dt


@register_jitable
def _stage(L, m, q, v, along, speed, dt):
    """q ← q_old ⊕ along dt, v ← speed."""
    put(q, 0, L.q_old)
    mj_integratePos(m, address_of(q), address_of(along), dt)
    put(v, 0, speed)


@register_jitable
def advance(L):
    """One physics step, then the work done in it."""
    q, v = vector(L.plant[H_QPOS], L.plant[H_NQ]), vector(L.plant[H_QVEL], L.plant[H_NV])
    put(L.q_old, 0, q)
    put(L.v_old, 0, v)
    if L.i[I_RK4]:
        _runge_kutta(L)
    else:
        _apply(L)
        mj_step2(L.plant[H_MODEL], L.plant[H_DATA])
    _account(L, q, v)
    _remember_slips(L)


@register_jitable
def _account(L, q, v):
    dt, n = L.x[X_DT], L.i[I_NV]
    constraint = vector(L.plant[H_CONSTRAINT], L.plant[H_NV])
    for k in range(n):
        if L.i[I_RK4] and L.i[I_NQ] == n:
            L.x[X_INJECTED] += L.tau[k] * (q[k] - L.q_old[k])
        else:
            L.x[X_INJECTED] += 0.5 * dt * L.tau[k] * (v[k] + L.v_old[k])
    for k in range(v.size):
        L.x[X_DISSIPATED] -= 0.5 * dt * constraint[k] * (v[k] + L.v_old[k])


@register_jitable
def _remember_slips(L):
    """Let every friction spring stretch by the slip of this step."""
    for p in range(L.points.shape[0]):
        for s in range(L.surfaces.shape[0]):
            if L.contacts[p, s, C_DEPTH] > 0.0:
                put(L.slips[p, s], 0, part(L.contacts[p, s], C_SLIP_NEXT, 3))
            else:
                clear(L.slips[p, s])


@register_jitable
def lost_power(L):
    """Power lost in joint dampers now."""
    v = vector(L.plant[H_QVEL], L.plant[H_NV])
    damper = vector(L.plant[H_DAMPER], L.plant[H_NV])
    lost = 0.0
    for k in range(v.size):
        lost -= damper[k] * v[k]
    return lost


@register_jitable
def integrate_power(L, lost, pushed, taken):
    """Trapezoid over the step that has just ended; the powers given are those at its start."""
    half = 0.5 * L.x[X_DT]
    if L.i[I_STEP] > 0:
        L.x[X_DISSIPATED] += half * (lost + L.x[X_POWER_LOST])
        L.x[X_PUSHED] += half * (pushed + L.x[X_POWER_PUSHED])
        L.x[X_CONTACT_WORK] += half * (taken + L.x[X_POWER_CONTACT])


@register_jitable
def trouble(L):
    """What is wrong with the state after a step, if anything."""
    q, v = vector(L.plant[H_QPOS], L.plant[H_NQ]), vector(L.plant[H_QVEL], L.plant[H_NV])
    for k in range(v.size):
        if not math.isfinite(v[k]):
            L.i[I_WHERE] = k
            return BAD_STATE
        if abs(v[k]) > L.x[X_MAX_SPEED]:
            L.i[I_WHERE] = k
            return TOO_FAST
    if not all_finite(q):
        L.i[I_WHERE] = 0
        return BAD_STATE
    counters = int_vector(L.plant[H_WARNING], 14)
    for k in range(7):
        if counters[2 * k + 1] != 0:
            L.i[I_WHERE] = k
            return WARNED
    clock = vector(L.plant[H_TIME], 1)[0]
    if abs(clock - L.x[X_TIME] - L.x[X_DT]) > 1e-6 * L.x[X_DT] + 1e-9 * abs(clock):
        return CLOCK
    return RUNNING

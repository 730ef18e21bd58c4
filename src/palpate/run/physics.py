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
    H_GRAVITY,
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
    H_XIPOS,
    WARNINGS,
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
from palpate.robot.kernels import add_generalized_force, read_pose
from palpate.run.state import (
    BAD_POSITION,
    BAD_SPEED,
    CLOCK,
    I_BODY,
    I_NV,
    I_RK4,
    I_STEP,
    I_WHERE,
    K_DEPTH,
    K_FELT,
    K_WIDTH,
    RUNNING,
    TOO_FAST,
    WARNED,
    X_CONTACT_WORK,
    X_DEPTH,
    X_DISSIPATED,
    X_DT,
    X_INJECTED,
    X_LAST_LOST,
    X_MAX_SPEED,
    X_POWER_CONTACT,
    X_POWER_DRIVE,
    X_POWER_PUSHED,
    X_PUSHED,
    X_STORED,
    X_TIME,
)
from palpate.world.contact import (
    C_DEPTH,
    C_DRIVE,
    C_FORCE,
    C_POINT,
    C_POWER,
    C_SLIP_NEXT,
    C_STORED,
    P_BODY,
    P_FELT,
    P_ROBOT,
    S_COMPLIANT,
    contact,
    move_surface,
    velocity_at,
)
from palpate.world.pushes import add_force, add_wrench, apply_pushes

WARNING_COUNT = len(WARNINGS)


@register_jitable
def move_surfaces(L, t):
    """Put moving surfaces where they are at t."""
    surfaces, places, speeds, mocap = L.surfaces, L.places, L.speeds, L.mocap
    for s in range(surfaces.shape[0]):
        move_surface(surfaces[s], t, places[s], speeds[s])
        if mocap[s] >= 0:
            put(vector(L.plant[H_MOCAP_POS] + 24 * mocap[s], 3), 0, places[s])


@register_jitable
def change_loads(L, t):
    """Attach and release the loads that are due at the staged state; whether any was."""
    loads, any_due = L.loads, False
    for k in range(loads.shape[0]):
        if loads[k, 4] == 0.0 and t >= loads[k, 0]:
            loads[k, 4], any_due = 1.0, True
            # A load arrives with the speed of the place it is fixed to, and takes its energy away when released.
            L.x[X_PUSHED] += _energy_of_point_mass(L.plant, int(loads[k, 1]), loads[k, 2], L.work)
            _change_mass(L.plant, int(loads[k, 1]), loads[k, 2], loads[k, 3])
    return any_due


@register_jitable
def _energy_of_point_mass(handle, body, mass, work):
    place, g, v = vector(handle[H_XIPOS] + 24 * body, 3), vector(handle[H_GRAVITY], 3), part(work, 0, 3)
    velocity_at(handle, body, place, v)
    energy = 0.0
    for i in range(3):
        energy += mass * (0.5 * v[i] * v[i] - g[i] * place[i])
    return energy


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
    x, pushed, felt = L.x, L.pushed, L.felt_wrench
    clear(pushed)
    clear(felt)
    clear(L.contact_wrench)
    clear(L.push_wrench)
    x[X_STORED] = x[X_DEPTH] = x[X_POWER_CONTACT] = x[X_POWER_DRIVE] = 0.0
    x[X_POWER_PUSHED] = apply_pushes(
        L.plant, L.pushes, x[X_TIME], x[X_DT], t, pushed, L.push_wrench, felt, L.true_position, L.work
    )
    put(L.outside, 0, pushed)
    points, surfaces = L.points, L.surfaces
    for p in range(points.shape[0]):
        for s in range(surfaces.shape[0]):
            if surfaces[s, S_COMPLIANT] > 0.5:
                _compliant_contact(L, points[p], p, s, elapsed)


@register_jitable
def _compliant_contact(L, point, p, s, elapsed):
    """Add the force of one surface on one contact point, if they touch."""
    x, out, work = L.x, L.contacts[p, s], L.work
    touching = contact(
        L.plant, point, L.surfaces[s], L.axes[s], L.places[s], L.speeds[s], L.slips[p, s], elapsed, work, out
    )
    if not touching:
        return
    f, where, no_moment = part(out, C_FORCE, 3), part(out, C_POINT, 3), part(work, 12, 3)
    clear(no_moment)
    add_generalized_force(L.plant, int(point[P_BODY]), f, no_moment, where, L.outside)
    x[X_STORED] += out[C_STORED]
    x[X_POWER_CONTACT] += out[C_POWER]
    x[X_POWER_DRIVE] += out[C_DRIVE]
    if point[P_ROBOT] > 0.5:
        x[X_DEPTH] = max(x[X_DEPTH], out[C_DEPTH])
        add_force(L.contact_wrench, f, where, L.true_position)
    if point[P_FELT] > 0.5:
        add_force(L.felt_wrench, f, where, L.true_position)


@register_jitable
def add_rigid_contacts(L):
    """Net wrenches of rigid surfaces and objects, as the engine's contact sensors had them at the last physics step."""
    rigid = L.rigid
    for k in range(rigid.size // 2):
        reading, kind = vector(L.plant[H_SENSOR] + 8 * rigid[2 * k], K_WIDTH), rigid[2 * k + 1]
        if reading[0] == 0.0:
            continue
        if kind == K_DEPTH:
            L.x[X_DEPTH] = max(L.x[X_DEPTH], -reading[1])
            continue
        total = L.felt_wrench if kind == K_FELT else L.contact_wrench
        add_wrench(total, part(reading, 1, 3), part(reading, 4, 3), part(reading, 7, 3), L.true_position)


@register_jitable
def read_tool(L):
    """Pose and twist of the true tool."""
    body, twist = L.i[I_BODY], L.true_twist
    read_pose(L.plant, body, L.plant_offset, L.plant_turn, L.true_position, L.true_rotation)
    velocity_at(L.plant, body, L.true_position, twist)
    put(twist, 3, vector(L.plant[H_CVEL] + 48 * body, 3))


@register_jitable
def _apply(L):
    n, tau, outside = L.i[I_NV], L.tau, L.outside
    applied = vector(L.plant[H_APPLIED], L.plant[H_NV])
    for k in range(applied.size):
        applied[k] = outside[k] + (tau[k] if k < n else 0.0)


@register_jitable
def _stage(L, q, v, a, ahead):
    """The next Runge–Kutta stage, `ahead` of the step's start: along the last stage's velocity and acceleration."""
    m, d, v_old, t = L.plant[H_MODEL], L.plant[H_DATA], L.v_old, L.x[X_TIME] + ahead
    put(q, 0, L.q_old)
    mj_integratePos(m, address_of(q), address_of(v), ahead)
    for k in range(v.size):
        v[k] = v_old[k] + ahead * a[k]
    move_surfaces(L, t)
    mj_fwdPosition(m, d)
    mj_fwdVelocity(m, d)
    read_tool(L)
    outside_forces(L, t, ahead)


@register_jitable
def _runge_kutta(L, q, v):
    """Classical fourth order; contact and push forces, and every power, are evaluated anew at each stage."""
    m, d, dt, N = L.plant[H_MODEL], L.plant[H_DATA], L.x[X_DT], L.plant[H_NV]
    a, mean_v, mean_a = vector(L.plant[H_QACC], N), L.stages[0], L.stages[1]
    clear(mean_v)
    clear(mean_a)
    for stage in range(4):
        weight = 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0
        if stage > 0:
            _stage(L, q, v, a, dt if stage == 3 else 0.5 * dt)
        _apply(L)
        mj_fwdActuation(m, d)
        mj_fwdAcceleration(m, d)
        mj_fwdConstraint(m, d)
        for k in range(N):
            mean_v[k] += weight * v[k]
            mean_a[k] += weight * a[k]
        _add_work(L, v, weight * dt)
    put(q, 0, L.q_old)
    mj_integratePos(m, address_of(q), address_of(mean_v), dt)
    for k in range(N):
        v[k] = L.v_old[k] + dt * mean_a[k]
    for k in range(L.tau.size):
        L.x[X_INJECTED] += dt * L.tau[k] * mean_v[k]
    mj_sensorAcc(m, d)
    vector(L.plant[H_TIME], 1)[0] = L.x[X_TIME] + dt


@register_jitable
def _add_work(L, v, dt):
    """Work of everything but the joint torques at a Runge–Kutta stage of weight dt."""
    x, constraint = L.x, vector(L.plant[H_CONSTRAINT], L.plant[H_NV])
    lost = lost_power(L)
    for k in range(v.size):
        lost -= constraint[k] * v[k]
    x[X_DISSIPATED] += dt * lost
    x[X_PUSHED] += dt * (x[X_POWER_PUSHED] + x[X_POWER_DRIVE])
    x[X_CONTACT_WORK] += dt * x[X_POWER_CONTACT]


@register_jitable
def _add_work_of_held_forces(L, v):
    """Work in a semi-implicit step: its forces are those of its start, along the mean of both velocities."""
    x, dt, tau, v_old, pushed, outside = L.x, L.x[X_DT], L.tau, L.v_old, L.pushed, L.outside
    constraint = vector(L.plant[H_CONSTRAINT], v.size)
    for k in range(v.size):
        way = 0.5 * dt * (v[k] + v_old[k])
        x[X_DISSIPATED] -= constraint[k] * way
        x[X_PUSHED] += pushed[k] * way
        x[X_CONTACT_WORK] -= (outside[k] - pushed[k]) * way
        if k < tau.size:
            x[X_INJECTED] += tau[k] * way
    x[X_PUSHED] += dt * x[X_POWER_DRIVE]
    x[X_CONTACT_WORK] += dt * x[X_POWER_DRIVE]


@register_jitable
def advance(L):
    """One physics step and the work done in it."""
    q, v = vector(L.plant[H_QPOS], L.plant[H_NQ]), vector(L.plant[H_QVEL], L.plant[H_NV])
    put(L.q_old, 0, q)
    put(L.v_old, 0, v)
    if L.i[I_RK4]:
        _runge_kutta(L, q, v)
    else:
        _apply(L)
        mj_step2(L.plant[H_MODEL], L.plant[H_DATA])
        _add_work_of_held_forces(L, v)
    _remember_slips(L)


@register_jitable
def _remember_slips(L):
    """Let every friction spring stretch by the slip of this step."""
    contacts, slips = L.contacts, L.slips
    for p in range(contacts.shape[0]):
        for s in range(contacts.shape[1]):
            touching = contacts[p, s, C_DEPTH] > 0.0
            for i in range(3):
                slips[p, s, i] = contacts[p, s, C_SLIP_NEXT + i] if touching else 0.0


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
def account(L):
    """What joint dampers took in the step that has just ended (Runge–Kutta steps add it stage by stage)."""
    x, lost = L.x, lost_power(L)
    if L.i[I_STEP] == 0:
        x[X_CONTACT_WORK] = x[X_STORED]  # what a contact holds at the start is no loss
    elif not L.i[I_RK4]:
        x[X_DISSIPATED] += 0.5 * x[X_DT] * (lost + x[X_LAST_LOST])
    x[X_LAST_LOST] = lost


@register_jitable
def trouble(L):
    """What is wrong with the state after a step, if anything; the speed limit is for the robot's joints."""
    q, v = vector(L.plant[H_QPOS], L.plant[H_NQ]), vector(L.plant[H_QVEL], L.plant[H_NV])
    i, x, n = L.i, L.x, L.i[I_NV]
    for k in range(v.size):
        i[I_WHERE] = k
        if not math.isfinite(v[k]):
            return BAD_SPEED
        if k < n and abs(v[k]) > x[X_MAX_SPEED]:
            return TOO_FAST
    for k in range(q.size):
        i[I_WHERE] = k
        if not math.isfinite(q[k]):
            return BAD_POSITION
    counters = int_vector(L.plant[H_WARNING], 2 * WARNING_COUNT)
    for k in range(WARNING_COUNT):
        i[I_WHERE] = k
        if counters[2 * k + 1] != 0:
            return WARNED
    clock = vector(L.plant[H_TIME], 1)[0]
    if abs(clock - x[X_TIME] - x[X_DT]) > 1e-6 * x[X_DT] + 1e-9 * abs(clock):
        return CLOCK
    return RUNNING

"""The plant in the loop: how it advances, the work done in a step, and what can go wrong."""

from __future__ import annotations

import math

from palpate.engine.kernels import clear, kernel, put
from palpate.engine.library import (
    mj_fullM,
    mj_fwdAcceleration,
    mj_fwdActuation,
    mj_fwdConstraint,
    mj_fwdPosition,
    mj_fwdVelocity,
    mj_integratePos,
    mj_sensorAcc,
    mj_step1,
    mj_step2,
)
from palpate.engine.records import Vector
from palpate.engine.views import address_of
from palpate.run.loop.acting_forces import move_surfaces, outside_forces, read_tool
from palpate.run.loop.command import move_as_told
from palpate.run.loop.elastic_step import elastic_step, is_constrained
from palpate.run.loop.state import BAD_POSITION, BAD_SPEED, CLOCK, RUNNING, TOO_FAST, WARNED, Loop
from palpate.world.forces.contact import PointContact
from palpate.world.plants.elastic.motors import lost_in_joints, work_of_motors
from palpate.world.plants.joint_friction import (
    correct_velocities,
    damped_velocities,
    end_velocities,
    fit_friction,
)
from palpate.world.plants.settling import (
    MEASURED_EVERY,
    MOST_TURNS as MOST_FRICTION_TURNS,
    PROBE,
    SETTLED,
    find_rubbing,
    invert_response,
    note_left,
    take_column,
)
from palpate.world.plants.ties import MOST_TURNS, add_tie_forces, follow, take_over
from palpate.world.plants.tree_accelerations import accelerate, accelerate_tied
from palpate.world.plants.tree_friction import end_velocities_of_tree
from palpate.world.plants.tree_state import can_carry, stage_tree
from palpate.world.rigid.step import end_velocities_held, find_held, gives_force


@kernel(inline=True)
def stage_plant(L: Loop) -> None:
    """Bring the plant up to its state: by its equations where they can carry this step, else by the engine."""
    tree, p = L.tree, L.plant
    was, tree.now = tree.now, tree.on and can_carry(tree, p)
    if not tree.now:
        mj_step1(p.model, p.data)
        return
    if not was:
        clear(p.qfrc_constraint)  # a stop's, from the engine's last step
    stage_tree(tree, p)


@kernel(inline=True)
def _apply(L: Loop) -> None:
    applied, tau, in_order = L.plant.qfrc_applied, L.row.tau, L.robot_is_first
    put(applied, 0, L.outside)
    for k in range(tau.size):
        applied[k if in_order else L.dof[k]] += tau[k]
    if len(L.ties.each) > 0:
        add_tie_forces(L.ties, applied)
    for k in range(L.friction.force.size):
        applied[k] += L.friction.force[k]


@kernel
def _accelerate(L: Loop) -> bool:
    """The plant's accelerations under all that acts; again, while joints that follow others are not held exactly.

    False where equations cannot carry this step to its end.
    """
    p = L.plant
    if L.tree.now:
        _apply(L)
        if len(L.ties.each) > 0:
            return accelerate_tied(L.tree, p, L.friction, L.ties, p.qacc)
        return accelerate(L.tree, p, 0.0, p.qacc)
    mj_fwdActuation(p.model, p.data)
    for _ in range(MOST_TURNS):
        _apply(L)
        mj_fwdAcceleration(p.model, p.data)
        mj_fwdConstraint(p.model, p.data)
        if take_over(L.ties, p):
            break
    return True


@kernel
def _stage(L: Loop, ahead: float) -> bool:
    """The next Runge–Kutta stage, `ahead` of the step's start: along the last stage's velocity and acceleration.

    False where equations cannot carry it.
    """
    p, t = L.plant, L.step * L.dt + ahead
    put(p.qpos, 0, L.q_old)
    mj_integratePos(p.model, address_of(p.qpos), address_of(p.qvel), ahead)
    for k in range(p.nv):
        p.qvel[k] = L.v_old[k] + ahead * p.qacc[k]
    move_surfaces(L, t)
    if not L.tree.now:
        mj_fwdPosition(p.model, p.data)
        mj_fwdVelocity(p.model, p.data)
    elif can_carry(L.tree, p):
        stage_tree(L.tree, p)
    else:
        return False
    read_tool(L)
    outside_forces(L, t, ahead)
    return True


@kernel
def _runge_kutta(L: Loop) -> None:
    """A Runge–Kutta step; one that equations cannot carry to its end is the engine's from its start."""
    e, p = L.energy, L.plant
    pushed, dissipated = e.pushed, e.dissipated
    if _four_stages(L):
        return
    e.pushed, e.dissipated, L.tree.now = pushed, dissipated, False
    put(p.qpos, 0, L.q_old)
    put(p.qvel, 0, L.v_old)
    move_surfaces(L, L.step * L.dt)
    mj_step1(p.model, p.data)
    read_tool(L)
    outside_forces(L, L.step * L.dt, 0.0)
    _four_stages(L)


@kernel
def _four_stages(L: Loop) -> bool:
    """Classical fourth order; contact and push forces, and every power, are evaluated anew at each stage."""
    p, dt = L.plant, L.dt
    clear(L.mean_v)
    clear(L.mean_a)
    for stage in range(4):
        weight = 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0
        if stage > 0 and not _stage(L, dt if stage == 3 else 0.5 * dt):
            return False
        if not _accelerate(L):
            return False
        for k in range(p.nv):
            L.mean_v[k] += weight * p.qvel[k]
            L.mean_a[k] += weight * p.qacc[k]
        _add_work(L, weight * dt)
    put(p.qpos, 0, L.q_old)
    mj_integratePos(p.model, address_of(p.qpos), address_of(L.mean_v), dt)
    for k in range(p.nv):
        p.qvel[k] = L.v_old[k] + dt * L.mean_a[k]
    for k in range(L.row.tau.size):
        L.energy.injected += dt * L.row.tau[k] * L.mean_v[L.dof[k]]
    if not L.tree.now:
        mj_sensorAcc(p.model, p.data)
    p.time = L.step * L.dt + dt
    return True


@kernel
def _add_work(L: Loop, dt: float) -> None:
    """Work of everything but the joint torques at a Runge–Kutta stage of weight dt."""
    e, p = L.energy, L.plant
    lost = lost_power(L)
    for k in range(p.nv):
        lost -= p.qfrc_constraint[k] * p.qvel[k]
    e.dissipated += dt * (lost + e.contact_loss)
    e.pushed += dt * (L.pushed.power + e.power_drive)


@kernel(inline=True)
def _add_work_of_held_forces(L: Loop) -> None:
    """Work in a semi-implicit step: its forces are those of its start, along the mean of both velocities."""
    e, p, half, tau, pushes = L.energy, L.plant, 0.5 * L.dt, L.row.tau, L.pushed.force
    # Sums in local numbers: one in a record is written and read again at every turn of a loop.
    dissipated, pushed, injected = e.dissipated, e.pushed, e.injected
    if not L.tree.now or L.holding.now:
        for k in range(p.nv):
            dissipated -= p.qfrc_constraint[k] * (half * (p.qvel[k] + L.v_old[k]))
    if len(L.pushes) > 0:
        for k in range(p.nv):
            pushed += pushes[k] * (half * (p.qvel[k] + L.v_old[k]))
    for k in range(L.friction.force.size):
        dissipated -= half * L.friction.force[k] * (p.qvel[k] + L.v_old[k])
    in_order = L.robot_is_first
    for k in range(0 if L.elastic.on else tau.size):
        dof = k if in_order else L.dof[k]
        injected += half * tau[k] * (p.qvel[dof] + L.v_old[dof])
    if L.holding.now:
        pushed, dissipated = pushed + L.dt * L.holding.drive, dissipated + L.dt * L.holding.drive
    e.pushed = pushed + L.dt * e.power_drive
    e.dissipated = dissipated + L.dt * e.contact_loss
    e.injected = injected


@kernel
def _semi_implicit_with_friction(L: Loop) -> None:
    """The semi-implicit step with Coulomb friction, and where joints follow others: in the independent ones."""
    p, f = L.plant, L.friction
    if L.tree.now:
        _apply(L)
        if not end_velocities_of_tree(f, L.tree, p, L.dt):
            L.tree.now = False
            mj_step1(p.model, p.data)
    if not L.tree.now:
        _accelerate(L)
        _read_masses(L)
        if len(L.ties.each) == 0 and f.on and is_constrained(L):
            damped_velocities(f, p, L.dt, f.settling.w)
            _settle(L, 0.0, 0.0, 0.0)
        else:
            _turn_about(L)
    if len(L.ties.each) == 0:
        for k in range(p.nv):
            p.qacc[k] = (f.v[k] - p.qvel[k]) / L.dt
    if not L.tree.now:
        mj_sensorAcc(p.model, p.data)
    put(p.qvel, 0, f.v)
    if len(L.ties.each) > 0:
        follow(L.ties, p)
    _move_along(L)
    p.time = L.step * L.dt + L.dt


@kernel
def _semi_implicit_held(L: Loop) -> bool:
    """The semi-implicit step with rigid contacts, stops, joint friction and joints that follow others in one problem.

    False where nothing is to be held, or where equations cannot. What is near and gives no force leaves a Runge–Kutta
    step alone.
    """
    p, held = L.plant, L.holding
    if not find_held(held, L.rigid_touches, L.tree, p, L.dt) and (L.rk4 or len(L.ties.each) == 0):
        return False
    _apply(L)
    if not end_velocities_held(held, L.rigid_touches, L.friction, L.ties, L.tree, p, L.dt):
        L.tree.now = held.now = False
        mj_step1(p.model, p.data)
        return False
    if L.rk4 and not gives_force(held):
        held.now = False
        return False
    v = held.problem.v
    for k in range(p.nv):
        p.qacc[k] = (v[k] - p.qvel[k]) / L.dt
        p.qvel[k] = v[k]
    _move_along(L)
    p.time = L.step * L.dt + L.dt
    return True


@kernel(inline=True)
def _move_along(L: Loop) -> None:
    """Positions along the new velocities."""
    p = L.plant
    if p.nq != p.nv or not L.tree.now:
        mj_integratePos(p.model, address_of(p.qpos), address_of(p.qvel), L.dt)
        return
    for k in range(p.nv):
        p.qpos[k] += L.dt * p.qvel[k]


@kernel
def _read_masses(L: Loop) -> None:
    """The plant's mass matrix, where its friction looks for it."""
    if not L.tree.now:
        mj_fullM(L.plant.model, L.plant.data, address_of(L.friction.M))
        return
    for k in range(L.plant.nv):
        put(L.friction.M[k], 0, L.tree.terms.M[k])


@kernel
def _turn_about(L: Loop) -> None:
    """Friction and what else holds the joints in turns, the accelerations being those without new friction."""
    f, change = L.friction, 0.0
    f.settling.known = False
    for turn in range(MOST_FRICTION_TURNS):
        if turn > 0:
            _accelerate(L)  # new friction may let a stop or a contact hold that did not before
            _read_masses(L)
            if not is_constrained(L):
                return
            if len(L.ties.each) == 0:
                damped_velocities(f, L.plant, L.dt, f.settling.w)
                _settle(L, 0.0, 0.0, 0.0)
                return
        change = end_velocities(f, L.ties, L.plant, L.dt)
        if change <= SETTLED:
            return
    note_left(f.settling, change)


@kernel
def _settle(L: Loop, pushed: float, dissipated: float, injected: float) -> None:
    """Friction beside the engine's contacts and stops, whose answer w to the last friction is known.

    The energies are those at the start of the step.
    """
    f, s, change = L.friction, L.friction.settling, 0.0
    find_rubbing(s, f.coulomb)
    for turn in range(MOST_FRICTION_TURNS):
        if turn > 0:
            _answer(L, pushed, dissipated, injected, s.w)
        if not s.known or turn % MEASURED_EVERY == MEASURED_EVERY - 1:
            _measure_response(L, pushed, dissipated, injected)
        if not s.known:
            change = 1.0
            break
        change = fit_friction(f, L.v_old)
        if change <= SETTLED:
            return
    note_left(s, change)


@kernel
def _measure_response(L: Loop, pushed: float, dissipated: float, injected: float) -> None:
    """R = ∂w/∂x by a small torque at each joint that rubs; then everything is as it was."""
    f, s = L.friction, L.friction.settling
    for k in range(s.rubs):
        i = s.which[k]
        x, torque = f.force[i], PROBE * f.coulomb[i]
        f.force[i] = x + torque
        _answer(L, pushed, dissipated, injected, f.v)
        take_column(s, k, torque, f.v)
        f.force[i] = x
    s.known = invert_response(s)
    _answer(L, pushed, dissipated, injected, s.w)


@kernel
def _answer(L: Loop, pushed: float, dissipated: float, injected: float, w: Vector) -> None:
    """Take the step again with the friction torques of now: w, the velocities at its end."""
    e, p, f = L.energy, L.plant, L.friction
    if not L.rk4:
        _accelerate(L)
        damped_velocities(f, p, L.dt, w)
        return
    e.pushed, e.dissipated, e.injected = pushed, dissipated, injected
    _stage(L, 0.0)
    _runge_kutta(L)
    for k in range(p.nv):
        e.dissipated -= L.dt * f.force[k] * L.mean_v[k]
    put(w, 0, p.qvel)


@kernel
def _runge_kutta_with_friction(L: Loop) -> None:
    """A Runge–Kutta step in which friction torques are held: those with which joints stick or slide at its end."""
    e, p, f, change = L.energy, L.plant, L.friction, 0.0
    pushed, dissipated, injected = e.pushed, e.dissipated, e.injected
    for turn in range(MOST_FRICTION_TURNS):
        if turn > 0:
            e.pushed, e.dissipated, e.injected = pushed, dissipated, injected
            _stage(L, 0.0)
        _runge_kutta(L)
        for k in range(p.nv):
            e.dissipated -= L.dt * f.force[k] * L.mean_v[k]
        if not L.tree.now and len(L.ties.each) == 0 and is_constrained(L):
            put(f.settling.w, 0, p.qvel)
            _settle(L, pushed, dissipated, injected)
            change = 0.0
            break
        f.settling.known = False
        _read_masses(L)
        change = correct_velocities(f, L.ties, p, L.dt)
        if change <= SETTLED:
            break
    if change > SETTLED:
        note_left(f.settling, change)
    put(p.qvel, 0, f.v)


@kernel
def _semi_implicit(L: Loop) -> None:
    """The engine's semi-implicit step on equations: damping at its end, positions along the new velocities."""
    p, tree, a = L.plant, L.tree, L.mean_a
    _apply(L)
    if not accelerate(tree, p, L.dt, a):
        tree.now = False
        mj_step1(p.model, p.data)
        mj_step2(p.model, p.data)
        return
    if not tree.damped:
        put(p.qacc, 0, a)
    elif tree.acceleration_is_read:
        accelerate(tree, p, 0.0, p.qacc)
    for k in range(p.nv):
        p.qvel[k] += L.dt * a[k]
    _move_along(L)
    p.time += L.dt


@kernel
def advance(L: Loop) -> None:
    """One physics step and the work done in it."""
    put(L.v_old, 0, L.plant.qvel)
    if L.rk4:
        put(L.q_old, 0, L.plant.qpos)
    if L.kinematic:
        move_as_told(L)
    elif L.elastic.on:
        elastic_step(L)
    elif L.tree.now and L.holding.on and _semi_implicit_held(L):
        pass
    elif L.rk4 and L.friction.on:
        _runge_kutta_with_friction(L)
    elif L.rk4:
        _runge_kutta(L)
    elif len(L.ties.each) > 0 or L.friction.on:
        _semi_implicit_with_friction(L)
    elif L.tree.now:
        _semi_implicit(L)
    else:
        _apply(L)
        mj_step2(L.plant.model, L.plant.data)
    if L.tree.on and not L.tree.now:
        L.tree.handed += 1
    if len(L.ties.each) > 0:
        follow(L.ties, L.plant)
    if not (L.rk4 or L.kinematic) or L.holding.now:
        _add_work_of_held_forces(L)
    if L.elastic.on:
        L.energy.injected += work_of_motors(L.elastic, L.row.tau, L.dt)
        L.energy.dissipated += lost_in_joints(L.elastic, L.v_old, L.dt)
    for k in range(len(L.contacts)):
        _stretch(L, L.contacts[k])


@kernel
def _stretch(L: Loop, c: PointContact) -> None:
    """The friction spring stretches by the slip of this step; one that leaves the surface gives up what it held."""
    held = 0.0
    for i in range(3):
        held += 0.5 * c.point.share * c.surface.tangential_stiffness * (c.slip[i] ** 2 - c.slip_next[i] ** 2)
    if c.depth == 0.0 and held > 0.0:
        L.energy.dissipated += held
    put(c.slip, 0, c.slip_next)


@kernel(inline=True)
def lost_power(L: Loop) -> float:
    """Power lost in joint dampers now."""
    lost = 0.0
    for k in range(L.plant.nv):
        lost -= L.plant.qfrc_damper[k] * L.plant.qvel[k]
    return lost


@kernel(inline=True)
def account(L: Loop) -> None:
    """Add the energy that joint dampers took in the last step (Runge–Kutta steps add it stage by stage)."""
    e, lost = L.energy, lost_power(L)
    if L.step > 0 and (not L.rk4 or L.holding.now):
        e.dissipated += 0.5 * L.dt * (lost + e.joint_loss)
    e.joint_loss = lost


@kernel(inline=True)
def watch_joints(L: Loop) -> None:
    """Note joints that are past their stops or faster than they are rated."""
    w, p, in_order = L.watch, L.plant, L.robot_is_first
    for k in range(w.rated.size):
        q, v = p.qpos[k if in_order else L.coordinate[k]], p.qvel[k if in_order else L.dof[k]]
        beyond, speed = max(q - w.upper[k], w.lower[k] - q), abs(v)
        if beyond > 1e-6:
            w.beyond_since[k] = L.step * L.dt if w.beyond_steps[k] == 0 else w.beyond_since[k]
            w.beyond_steps[k] += 1
            w.beyond[k] = max(w.beyond[k], beyond)
        if speed > w.rated[k]:
            w.fast_since[k] = L.step * L.dt if w.fast_steps[k] == 0 else w.fast_since[k]
            w.fast_steps[k] += 1
        if speed > w.fastest[k]:
            w.fastest[k], w.share[k] = speed, max(w.share[k], speed / w.rated[k])


@kernel(inline=True)
def check_state(L: Loop) -> int:
    """Return the fault of the state after a step, if any; the speed limit is for the robot's joints."""
    p = L.plant
    began, most, ordinary = L.step * L.dt, L.max_speed, L.tree.now and L.dof.size == p.nv
    for k in range(p.nv):
        if not abs(p.qvel[k]) <= most:
            ordinary = False
    for k in range(p.nq):
        if not abs(p.qpos[k]) < math.inf:
            ordinary = False
    if not ordinary:
        status = _classify_fault(L)
        if status != RUNNING:
            return status
    if abs(p.time - began - L.dt) > 1e-6 * L.dt + 1e-9 * abs(p.time):
        return CLOCK
    return RUNNING


@kernel
def _classify_fault(L: Loop) -> int:
    """Return the first fault: a NaN in the state, a joint that is too fast, a warning of the engine, in this order."""
    p = L.plant
    for k in range(p.nv):
        L.where = k
        if not math.isfinite(p.qvel[k]):
            return BAD_SPEED
    for k in range(L.dof.size):
        L.where = k
        if abs(p.qvel[L.dof[k]]) > L.max_speed:
            return TOO_FAST
    for k in range(p.nq):
        L.where = k
        if not math.isfinite(p.qpos[k]):
            return BAD_POSITION
    for k in range(p.warning.shape[0]):
        L.where = k
        if p.warning[k, 1] != 0:
            return WARNED
    return RUNNING

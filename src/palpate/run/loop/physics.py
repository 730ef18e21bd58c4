"""The plant in the loop: what acts on it, how it advances, the work done in a step, and what can go wrong."""

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
from palpate.engine.physics import Physics
from palpate.engine.views import address_of, part
from palpate.robot.mechanics.kernels import add_generalized_force, read_pose
from palpate.run.loop.command import move_as_told
from palpate.run.loop.state import BAD_POSITION, BAD_SPEED, CLOCK, RUNNING, TOO_FAST, WARNED, Load, Loop, RigidPoint
from palpate.world.forces.contact import PointContact, find_contact, move_surface
from palpate.world.forces.pushes import apply_push, push_share
from palpate.world.plants.bodies import add_force, add_wrench, velocity_at
from palpate.world.plants.joint_friction import SETTLED, correct_velocities, end_velocities
from palpate.world.plants.ties import MOST_TURNS, add_tie_forces, follow, take_over
from palpate.world.plants.tree_friction import end_velocities_of_tree
from palpate.world.plants.tree_plant import accelerate, add_load, can_carry, stage_tree

_MOST_FRICTION_TURNS = 20


@kernel
def move_surfaces(L: Loop, t: float) -> None:
    """Put moving surfaces where they are at t."""
    for k in range(len(L.surfaces)):
        surface = L.surfaces[k]
        move_surface(surface, t)
        if surface.mocap >= 0:
            put(L.plant.mocap_pos[surface.mocap], 0, surface.position)


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


@kernel
def change_loads(L: Loop, t: float) -> bool:
    """Attach and release the loads that are due at the staged state; whether any was."""
    any_due = False
    for k in range(len(L.loads)):
        load = L.loads[k]
        if not load.done and t >= load.time:
            load.done = any_due = True
            # A load arrives with the speed of the place it is fixed to, and takes its energy away when released.
            L.energy.pushed += _energy_of_load(L, load)
            _change_mass(L.plant, load)
            if L.tree.on:
                add_load(L.tree, load.body, load.mass, load.inertia)
    return any_due


@kernel
def _energy_of_load(L: Loop, load: Load) -> float:
    com, g, v = L.plant.xipos[load.body], L.plant.gravity, L.speed
    velocity_at(L.plant, load.body, com, v)
    energy = 0.0
    for i in range(3):
        energy += load.mass * (0.5 * v[i] * v[i] - g[i] * com[i])
    return energy


@kernel
def _change_mass(p: Physics, load: Load) -> None:
    body = load.body
    p.body_mass[body] += load.mass
    for i in range(3):
        p.body_inertia[body, i] += load.inertia
    while body > 0:
        p.body_subtreemass[body] += load.mass
        body = p.body_parentid[body]
    p.body_subtreemass[0] += load.mass


@kernel
def outside_forces(L: Loop, t: float, elapsed: float) -> None:
    """Generalised forces of pushes and compliant contacts at the staged state; wrenches about the tool's origin."""
    e = L.energy
    clear(L.row.contact_wrench)
    L.row.penetration[0] = 0.0
    e.stored = e.contact_loss = e.power_drive = 0.0
    if len(L.pushes) > 0:
        _push(L, t)
    else:
        clear(L.outside)
        clear(L.felt)
    for k in range(len(L.contacts)):
        contact = L.contacts[k]
        if contact.surface.compliant and find_contact(L.plant, contact, elapsed):
            _add_contact(L, contact)


@kernel
def _push(L: Loop, t: float) -> None:
    """What all pushes do at t."""
    pushed = L.pushed
    clear(pushed.force)
    clear(pushed.wrench)
    clear(pushed.felt)
    pushed.power = 0.0
    for k in range(len(L.pushes)):
        share = push_share(L.pushes[k], L.step * L.dt, L.dt, t)
        if share != 0.0:
            apply_push(L.plant, L.pushes[k], share, L.row.tool_position, pushed)
    put(L.outside, 0, pushed.force)
    put(L.felt, 0, pushed.felt)


@kernel
def _add_contact(L: Loop, c: PointContact) -> None:
    """Add the force of one surface on one contact point."""
    add_generalized_force(L.plant, c.point.body, c.force, L.no_moment, c.position, L.outside)
    L.energy.stored += c.stored
    L.energy.contact_loss += c.lost
    L.energy.power_drive += c.drive
    if c.point.on_robot:
        L.row.penetration[0] = max(L.row.penetration[0], c.depth)
        add_force(L.row.contact_wrench, c.force, c.position, L.row.tool_position)
    if c.point.felt:
        add_force(L.felt, c.force, c.position, L.row.tool_position)


@kernel
def add_rigid_contacts(L: Loop) -> None:
    """Net wrenches of rigid surfaces and objects, as the engine's contact sensors had them at the last physics step."""
    for k in range(len(L.rigid)):
        sensor = L.rigid[k]
        reading = sensor.reading
        if reading[0] == 0.0:
            continue
        sensor.looks += 1
        if sensor.distance:
            L.row.penetration[0] = max(L.row.penetration[0], -reading[1])
            continue
        total = L.felt if sensor.felt else L.row.contact_wrench
        add_wrench(total, part(reading, 1, 3), part(reading, 4, 3), part(reading, 7, 3), L.row.tool_position)
    for k in range(len(L.rigid_points)):
        _show_point(L.rigid_points[k])


@kernel
def _show_point(point: RigidPoint) -> None:
    """f = f₀ n + f₁ t + f₂ n × t of one of the engine's contacts, and where it is; 0 where there is none."""
    r = point.reading
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        across = r[7 + j] * r[10 + k] - r[7 + k] * r[10 + j]
        point.force[i] = r[1] * r[7 + i] + r[2] * r[10 + i] + r[3] * across
        point.position[i] = r[4 + i]


@kernel
def add_exact_contacts(L: Loop) -> None:
    """Forces of exact contacts, as the constraints' multipliers had them under the torque held until now."""
    for k in range(len(L.touches)):
        touch = L.touches[k]
        add_force(L.row.contact_wrench, touch.force, touch.position, L.row.tool_position)
        if touch.felt:
            add_force(L.felt, touch.force, touch.position, L.row.tool_position)


@kernel
def read_tool(L: Loop) -> None:
    """Pose and twist of the true tool."""
    read_pose(L.plant, L.tool, L.row.tool_position, L.tool_rotation)
    velocity_at(L.plant, L.tool.body, L.row.tool_position, L.row.tool_twist)
    put(L.row.tool_twist, 3, part(L.plant.cvel[L.tool.body], 0, 3))


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
    if not L.tree.now:
        for k in range(p.nv):
            dissipated -= p.qfrc_constraint[k] * (half * (p.qvel[k] + L.v_old[k]))
    if len(L.pushes) > 0:
        for k in range(p.nv):
            pushed += pushes[k] * (half * (p.qvel[k] + L.v_old[k]))
    for k in range(L.friction.force.size):
        dissipated -= half * L.friction.force[k] * (p.qvel[k] + L.v_old[k])
    in_order = L.robot_is_first
    for k in range(tau.size):
        dof = k if in_order else L.dof[k]
        injected += half * tau[k] * (p.qvel[dof] + L.v_old[dof])
    e.pushed = pushed + L.dt * e.power_drive
    e.dissipated = dissipated + L.dt * e.contact_loss
    e.injected = injected


@kernel
def _semi_implicit_with_friction(L: Loop) -> None:
    """The semi-implicit step with Coulomb friction, and where joints follow others: in the independent ones.

    The engine's contacts and stops answer the friction and the friction them, in turns.
    """
    p, f = L.plant, L.friction
    if L.tree.now:
        _apply(L)
        if not end_velocities_of_tree(f, L.tree, p, L.dt):
            L.tree.now = False
            mj_step1(p.model, p.data)
    if not L.tree.now:
        for _ in range(_MOST_FRICTION_TURNS):
            _accelerate(L)
            _read_masses(L)
            if end_velocities(f, L.ties, p, L.dt) <= SETTLED or not _constrained(L):
                break
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
def _constrained(L: Loop) -> bool:
    """Whether the engine's constraints give any force."""
    for k in range(L.plant.nv):
        if L.plant.qfrc_constraint[k] != 0.0:
            return True
    return False


@kernel
def _read_masses(L: Loop) -> None:
    """The plant's mass matrix, where its friction looks for it."""
    if not L.tree.now:
        mj_fullM(L.plant.model, L.plant.data, address_of(L.friction.M))
        return
    for k in range(L.plant.nv):
        put(L.friction.M[k], 0, L.tree.terms.M[k])


@kernel
def _runge_kutta_with_friction(L: Loop) -> None:
    """A Runge–Kutta step in which friction torques are held: those with which joints stick or slide at its end."""
    e, p, f = L.energy, L.plant, L.friction
    pushed, dissipated, injected = e.pushed, e.dissipated, e.injected
    for iteration in range(_MOST_FRICTION_TURNS):
        if iteration > 0:
            e.pushed, e.dissipated, e.injected = pushed, dissipated, injected
            _stage(L, 0.0)
        _runge_kutta(L)
        for k in range(p.nv):
            e.dissipated -= L.dt * f.force[k] * L.mean_v[k]
        _read_masses(L)
        if correct_velocities(f, L.ties, p, L.dt) <= SETTLED:
            break
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
    if not (L.rk4 or L.kinematic):
        _add_work_of_held_forces(L)
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
    """What joint dampers took in the step that has just ended (Runge–Kutta steps add it stage by stage)."""
    e, lost = L.energy, lost_power(L)
    if L.step > 0 and not L.rk4:
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
def trouble(L: Loop) -> int:
    """What is wrong with the state after a step, if anything; the speed limit is for the robot's joints."""
    p = L.plant
    began, most, ordinary = L.step * L.dt, L.max_speed, L.tree.now and L.dof.size == p.nv
    for k in range(p.nv):
        if not abs(p.qvel[k]) <= most:
            ordinary = False
    for k in range(p.nq):
        if not abs(p.qpos[k]) < math.inf:
            ordinary = False
    if not ordinary:
        status = _strange(L)
        if status != RUNNING:
            return status
    if abs(p.time - began - L.dt) > 1e-6 * L.dt + 1e-9 * abs(p.time):
        return CLOCK
    return RUNNING


@kernel
def _strange(L: Loop) -> int:
    """Which number of the state is none, which joint is too fast, what the engine warns of; in this order."""
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

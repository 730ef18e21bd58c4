"""A physics step of a plant with elastic joints, on its equations or on the engine."""

from __future__ import annotations

from palpate.engine.kernels import kernel, put
from palpate.engine.library import (
    mj_fullM,
    mj_fwdAcceleration,
    mj_fwdActuation,
    mj_fwdConstraint,
    mj_sensorAcc,
    mj_step1,
)
from palpate.engine.views import address_of
from palpate.run.loop.state import Loop
from palpate.world.plants.elastic.motors import (
    MOST_TURNS,
    SETTLED,
    begin_elastic_step,
    elastic_step_of_tree,
    fit_motor_friction,
    move_motors,
    set_elastic_torques,
    solve_all_velocities,
)
from palpate.world.plants.settling import note_left
from palpate.world.rigid.step import end_elastic_velocities_held, find_held


@kernel
def elastic_step(L: Loop) -> None:
    """The semi-implicit step of links and motors; motor friction sticks exactly."""
    p, e, dt = L.plant, L.elastic, L.dt
    if L.holding.on:
        put(L.holding.last, 0, e.friction)
    begin_elastic_step(e, p.qpos, p.qvel, L.row.tau, dt)
    if L.tree.now and not _step_of_equations(L):
        L.tree.now = L.holding.now = False
        begin_elastic_step(e, p.qpos, p.qvel, L.row.tau, dt)
        mj_step1(p.model, p.data)
    if not L.tree.now:
        _step_of_engine(L)
    for k in range(p.nv):
        p.qacc[k] = (e.velocity[k] - p.qvel[k]) / dt
    if not L.tree.now:
        mj_sensorAcc(p.model, p.data)
    for k in range(p.nv):
        p.qvel[k] = e.velocity[k]
        p.qpos[k] += dt * p.qvel[k]
    move_motors(e, dt)
    p.time = L.step * dt + dt


@kernel
def _step_of_equations(L: Loop) -> bool:
    """The step on equations; False where the engine is to say what is wrong."""
    p, e, h = L.plant, L.elastic, L.holding
    if h.on and find_held(h, L.rigid_touches, L.tree, p, L.dt):
        return end_elastic_velocities_held(h, L.rigid_touches, e, L.tree, p, L.outside, L.dt)
    return elastic_step_of_tree(e, L.tree, p, L.outside, L.dt)


@kernel
def _step_of_engine(L: Loop) -> None:
    """The same where the engine has the links: all velocities at once, or in turns beside its constraints."""
    p, e = L.plant, L.elastic
    mj_fwdActuation(p.model, p.data)
    _answer(L)
    mj_fullM(p.model, p.data, address_of(e.links))
    if is_constrained(L):
        _turn_about(L)
        return
    for i in range(p.nv):
        e.force[i] = L.outside[i] + p.qfrc_passive[i] - p.qfrc_bias[i]
        e.links[i, i] -= e.armature[i]
    solve_all_velocities(e, e.links, p.qvel, L.dt)


@kernel
def _answer(L: Loop) -> None:
    """The links' speeds at the end of the step under the friction of now, as if every motor slid."""
    p, e = L.plant, L.elastic
    for i in range(p.nv):
        e.side[i] = 1.0
    set_elastic_torques(e, p.qvel, L.dt)
    put(p.qfrc_applied, 0, L.outside)
    for i in range(p.nv):
        p.qfrc_applied[i] += e.torque[i]
    mj_fwdAcceleration(p.model, p.data)
    mj_fwdConstraint(p.model, p.data)
    for i in range(p.nv):
        e.velocity[i] = p.qvel[i] + L.dt * p.qacc[i]


@kernel
def is_constrained(L: Loop) -> bool:
    """Whether the engine's constraints, such as a joint's stop, give any force."""
    for k in range(L.plant.nv):
        if L.plant.qfrc_constraint[k] != 0.0:
            return True
    return False


@kernel
def _turn_about(L: Loop) -> None:
    """Motor friction and the engine's constraints in turns."""
    e, change = L.elastic, 0.0
    for i in range(L.plant.nv):
        e.inertias[i] = e.links[i, i]
    for _ in range(MOST_TURNS):
        change = fit_motor_friction(e, e.inertias, L.dt)
        if change <= SETTLED:
            return
        _answer(L)
    note_left(L.friction.settling, change)

"""The step of a plant on its equations with rigid contacts, joint stops and joint friction in one problem."""

from __future__ import annotations

import mujoco
from numba import types

from palpate.engine.kernels import address_of_record, caller, clear, dot, kernel, put
from palpate.engine.physics import Physics
from palpate.engine.records import Kept, Record, Vector, sized
from palpate.world.plants.elastic.motors import ElasticJoints, set_all_velocities, take_all_velocities
from palpate.world.plants.joint_friction import JointFriction
from palpate.world.plants.ties import Ties, fold, fold_columns
from palpate.world.plants.tree_plant import FASTEST, TreePlant
from palpate.world.rigid.contact import RigidTouch, add_contact_rows, forget_readings, is_near, take_force
from palpate.world.rigid.problem import VelocityProblem
from palpate.world.rigid.solve import solve_velocities
from palpate.world.rigid.stops import JointStops, add_stop_rows, fold_stop_rows, joint_stops

call_solver = caller(types.boolean, types.int64)


class Holding(Record):
    """Rigid contacts and stops that equations hold themselves."""

    on: bool  # whether there can be any,
    now: Kept[bool] = False  # and whether any is near at this step
    drive: float = 0.0  # W, brought in by the motion of rigid surfaces in the last step
    stops: JointStops
    problem: VelocityProblem
    solver: int = 0  # address of `solve_velocities`, which is compiled where it is asked for only
    last: Vector = sized("joints")  # friction of elastic joints' motors in the step before


def no_holding() -> Holding:
    """Where the engine holds them."""
    sizes = {"N": 0, "contacts": 0, "rows": 0, "stops": 0}
    return Holding({"joints": 0}, on=False, stops=JointStops(sizes), problem=VelocityProblem(sizes))


def holding(model: mujoco.MjModel, contacts: int, motors: int = 0) -> Holding:
    """The problem of a scene with so many pairs of spheres and rigid surfaces, and motors behind its joints."""
    sizes = {"N": model.nv + motors, "contacts": contacts, "rows": 3 * contacts + 2 * model.nv}
    parts = {"stops": joint_stops(model), "problem": VelocityProblem(sizes)}
    return Holding({"joints": model.nv}, on=True, solver=solve_velocities.pointer, **parts)


@kernel
def find_held(h: Holding, touches: list[RigidTouch], t: TreePlant, p: Physics, dt: float) -> bool:
    """Whether a step has to hold something; contacts that are near have their rows then."""
    was, w = h.now, h.problem
    w.contacts = w.stops = w.rubs = 0
    for k in range(len(touches)):
        touch = touches[k]
        touch.row = -1
        if is_near(p, touch, dt):
            add_contact_rows(p, touch, w, dt)
    h.now = w.contacts > 0 or t.at_stop
    if was and not h.now:
        clear(p.qfrc_constraint)
        for k in range(len(touches)):
            forget_readings(touches[k])
            clear(touches[k].force)
    return h.now


@kernel
def end_velocities_held(
    h: Holding, touches: list[RigidTouch], f: JointFriction, ties: Ties, t: TreePlant, p: Physics, dt: float
) -> bool:
    """Velocities h.problem.v, forces of friction, contacts and stops of a step; False where it is the engine's."""
    w = h.problem
    add_stop_rows(h.stops, p, w, dt)
    w.rows = 3 * w.contacts + w.stops
    _set_momentum(f, t, p, w, dt)
    if len(ties.each) > 0:
        _leave_to_leaders(ties, f, w)
    if f.on:
        _add_friction_rows(f, w, dt)
    if not call_solver(h.solver, address_of_record(w)):  # pyright: ignore[reportCallIssue]
        return False
    for k in range(len(ties.each)):
        tie = ties.each[k]
        w.v[tie.follower] = tie.slope * w.v[tie.leader] if tie.leader >= 0 else 0.0
    for k in range(p.nv):
        if not abs(w.v[k] - p.qvel[k]) < FASTEST * dt:
            return False
    _take_forces(h, touches, p, dt)
    if f.on:
        for r in range(w.rows - w.rubs, w.rows):
            f.force[w.dof[r]] = w.impulse[r] / dt
    return True


@kernel
def end_elastic_velocities_held(
    h: Holding, touches: list[RigidTouch], e: ElasticJoints, t: TreePlant, p: Physics, outside: Vector, dt: float
) -> bool:
    """The same of links and motors: contacts and stops on the links, friction on the motors.

    `h.last` holds the motors' friction of the step before, as all that the step changes least.
    """
    w, n = h.problem, p.nv
    add_stop_rows(h.stops, p, w, dt)
    w.rows = 3 * w.contacts + w.stops
    for k in range(n):
        e.force[k] = outside[k] - t.terms.bias[k]
        if t.sprung:
            e.force[k] -= t.stiffness[k] * (p.qpos[k] - t.spring_rest[k])
    set_all_velocities(e, t.terms.M, p.qvel, dt)
    for i in range(2 * n):
        put(w.M[i], 0, e.M[i])
        w.momentum[i] = e.right[i]
        if e.bounds[i] > 0.0:
            _add_friction_row(w, i, e.bounds[i], -dt * h.last[i - n])
    if not call_solver(h.solver, address_of_record(w)):  # pyright: ignore[reportCallIssue]
        return False
    for k in range(n):
        if not abs(w.v[k] - p.qvel[k]) < FASTEST * dt:
            return False
    put(e.x, 0, w.v)
    take_all_velocities(e, dt)
    _take_forces(h, touches, p, dt)
    return True


@kernel
def gives_force(h: Holding) -> bool:
    """Whether a contact or a stop acted in the step just solved."""
    w = h.problem
    for r in range(3 * w.contacts + w.stops):
        if w.impulse[r] != 0.0:
            return True
    return False


@kernel
def _add_friction_rows(f: JointFriction, w: VelocityProblem, dt: float) -> None:
    """A row for each velocity that rubs, within f.bound."""
    for i in range(f.bound.size):
        if f.bound[i] > 0.0:
            _add_friction_row(w, i, f.bound[i], dt * f.force[i])


@kernel
def _add_friction_row(w: VelocityProblem, i: int, bound: float, anchor: float) -> None:
    row = w.rows
    w.dof[row], w.sign[row], w.aim[row], w.R[row] = i, 1.0, 0.0, 0.0
    w.bound[row], w.anchor[row] = bound, anchor
    w.rubs += 1
    w.rows += 1


@kernel
def _leave_to_leaders(ties: Ties, f: JointFriction, w: VelocityProblem) -> None:
    """Give masses, forces, contacts, stops and friction of joints that follow others to those that lead them."""
    for i in range(w.v.size):
        for j in range(i):
            w.M[j, i] = w.M[i, j]
    for k in range(len(ties.each)):
        tie = ties.each[k]
        fold(tie, w.M, w.momentum)
        fold_columns(tie, w.J, 3 * w.contacts)
        fold_stop_rows(tie, w)
        if f.on:
            if tie.leader >= 0:
                f.bound[tie.leader] += abs(tie.slope) * f.bound[tie.follower]
            f.bound[tie.follower] = 0.0


@kernel
def _set_momentum(f: JointFriction, t: TreePlant, p: Physics, w: VelocityProblem, dt: float) -> None:
    """M̂ = M + h D, and b = M v₀ + h (everything but friction, contacts and stops)."""
    for i in range(p.nv):
        force = p.qfrc_applied[i] - t.terms.bias[i]
        if f.on:
            force -= f.force[i]
            f.bound[i] = dt * f.coulomb[i]
        if t.sprung and i >= t.first:
            force -= t.stiffness[i] * (p.qpos[i + t.extra] - t.spring_rest[i])
        w.momentum[i] = dot(t.terms.M[i], p.qvel, p.nv) + dt * force
        for j in range(i + 1):
            w.M[i, j] = t.terms.M[i, j]
        w.M[i, i] += dt * t.damping[i]


@kernel
def _take_forces(h: Holding, touches: list[RigidTouch], p: Physics, dt: float) -> None:
    """Impulses as forces: of each contact, and of contacts and stops together along the joints."""
    w = h.problem
    clear(p.qfrc_constraint)
    for k in range(len(touches)):
        forget_readings(touches[k])
    for k in range(len(touches)):
        take_force(touches[k], w, dt, p.qfrc_constraint)
    for r in range(3 * w.contacts, 3 * w.contacts + w.stops):
        p.qfrc_constraint[w.dof[r]] += w.sign[r] * w.impulse[r] / dt
    h.drive = 0.0
    for k in range(len(touches)):
        h.drive += dot(touches[k].force, touches[k].surface.speed, 3)

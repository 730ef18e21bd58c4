"""The step of a plant on its equations with rigid contacts, joint stops and joint friction in one problem."""

from __future__ import annotations

import mujoco
from numba import types

from palpate.engine.kernels import address_of_record, caller, clear, dot, kernel
from palpate.engine.physics import Physics
from palpate.engine.records import Kept, Record
from palpate.world.plants.joint_friction import JointFriction
from palpate.world.plants.tree_plant import FASTEST, TreePlant
from palpate.world.rigid.contact import RigidTouch, add_contact_rows, forget_readings, is_near, take_force
from palpate.world.rigid.problem import VelocityProblem
from palpate.world.rigid.solve import solve_velocities
from palpate.world.rigid.stops import JointStops, add_stop_rows, joint_stops

call_solver = caller(types.boolean, types.int64)


class Holding(Record):
    """Rigid contacts and stops that equations hold themselves."""

    on: bool  # whether there can be any,
    now: Kept[bool] = False  # and whether any is near at this step
    drive: float = 0.0  # W, brought in by the motion of rigid surfaces in the last step
    stops: JointStops
    problem: VelocityProblem
    solver: int = 0  # address of `solve_velocities`, which is compiled where it is asked for only


def no_holding() -> Holding:
    """Where the engine holds them."""
    sizes = {"N": 0, "contacts": 0, "rows": 0, "stops": 0}
    return Holding(on=False, stops=JointStops(sizes), problem=VelocityProblem(sizes))


def holding(model: mujoco.MjModel, contacts: int) -> Holding:
    """The problem of a scene with so many pairs of spheres and rigid surfaces."""
    sizes = {"N": model.nv, "contacts": contacts, "rows": 3 * contacts + 2 * model.nv}
    return Holding(on=True, stops=joint_stops(model), problem=VelocityProblem(sizes), solver=solve_velocities.pointer)


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
    h: Holding, touches: list[RigidTouch], f: JointFriction, t: TreePlant, p: Physics, dt: float
) -> bool:
    """Velocities h.problem.v, forces of friction, contacts and stops of a step; False where it is the engine's."""
    w = h.problem
    add_stop_rows(h.stops, p, w, dt)
    w.rows = 3 * w.contacts + w.stops
    if f.on:
        _add_friction_rows(f, w, dt)
    _set_momentum(f, t, p, w, dt)
    if not call_solver(h.solver, address_of_record(w)):  # pyright: ignore[reportCallIssue]
        return False
    for k in range(p.nv):
        if not abs(w.v[k] - p.qvel[k]) < FASTEST * dt:
            return False
    _take_forces(h.problem, touches, f, p, dt)
    h.drive = 0.0
    for k in range(len(touches)):
        h.drive += dot(touches[k].force, touches[k].surface.speed, 3)
    return True


@kernel
def _add_friction_rows(f: JointFriction, w: VelocityProblem, dt: float) -> None:
    """A row for each velocity that rubs."""
    for i in range(f.coulomb.size):
        if f.coulomb[i] > 0.0:
            row = w.rows
            w.dof[row], w.sign[row], w.aim[row], w.R[row] = i, 1.0, 0.0, 0.0
            w.bound[row], w.anchor[row] = dt * f.coulomb[i], dt * f.force[i]
            w.rubs += 1
            w.rows += 1


@kernel
def _set_momentum(f: JointFriction, t: TreePlant, p: Physics, w: VelocityProblem, dt: float) -> None:
    """M̂ = M + h D, and b = M v₀ + h (everything but friction, contacts and stops)."""
    for i in range(p.nv):
        force = p.qfrc_applied[i] - t.terms.bias[i]
        if f.on:
            force -= f.force[i]
        if t.sprung and i >= t.first:
            force -= t.stiffness[i] * (p.qpos[i + t.extra] - t.spring_rest[i])
        w.momentum[i] = dot(t.terms.M[i], p.qvel, p.nv) + dt * force
        for j in range(i + 1):
            w.M[i, j] = t.terms.M[i, j]
        w.M[i, i] += dt * t.damping[i]


@kernel
def _take_forces(w: VelocityProblem, touches: list[RigidTouch], f: JointFriction, p: Physics, dt: float) -> None:
    """Impulses as forces: of joint friction, of each contact, and of contacts and stops together along the joints."""
    clear(p.qfrc_constraint)
    for k in range(len(touches)):
        forget_readings(touches[k])
    for k in range(len(touches)):
        take_force(touches[k], w, dt, p.qfrc_constraint)
    for r in range(3 * w.contacts, 3 * w.contacts + w.stops):
        p.qfrc_constraint[w.dof[r]] += w.sign[r] * w.impulse[r] / dt
    for r in range(w.rows - w.rubs, w.rows):
        f.force[w.dof[r]] = w.impulse[r] / dt

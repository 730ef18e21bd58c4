"""Coulomb friction in the joints of a plant, all at once: what sticks stands still exactly, what slides is braked.

At the end of a step of h the joints have the velocities v that minimise

    ½ vᵀ M̂ v − bᵀ v + h Σ Fᵢ |vᵢ|,     M̂ = M + h D,     b = M̂ v₀ + h (all other forces at the start)

which is the same as M̂ v = b + h f with friction torques |fᵢ| ≤ Fᵢ, fᵢ = −Fᵢ sign vᵢ where vᵢ ≠ 0. M̂ is positive
definite, so that there is one answer. `solve_joint_friction` finds it on plain arrays, by an active set: joints slide
with a sign or stand still; it goes to the least of the sliding ones until one of them would turn back, which then
stands still, and lets the joint slide that is loaded most beyond its friction. Every move makes the function smaller,
so that no choice comes twice. Beside the engine's contacts and stops M̂ is measured: see `settling`.
"""

from __future__ import annotations

import mujoco

from palpate.checks import Array
from palpate.engine.kernels import kernel
from palpate.engine.library import mju_cholFactor, mju_cholSolve
from palpate.engine.physics import Physics
from palpate.engine.records import Kept, Matrix, Record, Vector, sized
from palpate.engine.views import address_of
from palpate.equations.code.tree_solver import Sliding
from palpate.world.plants.settling import Settling
from palpate.world.plants.ties import Ties, fold

_LEAST_PIVOT = 1e-15
ENGINE_TOLERANCE = 1e-14  # of its contacts, whose answer friction is fitted to
ROUNDING = 1e-13  # of a joint's friction: a load beyond it by less does not make the joint slide


class FrictionWork(Record):
    """Scratch of `solve_joint_friction`."""

    side: Vector = sized("N")  # the way a joint slides, 0 where it stands still
    factor: Matrix = sized("N", "N")
    right: Vector = sized("N")
    least: Vector = sized("N")


class JointFriction(Record):
    """Friction of a plant's joints, per velocity of the whole scene."""

    on: bool
    coulomb: Vector = sized("N")  # F, N·m or N
    damping: Vector = sized("N")
    force: Kept[Vector] = sized("N")  # f of the last step
    bound: Vector = sized("N")  # h F, of the independent joints
    M: Matrix = sized("N", "N")
    momentum: Vector = sized("N")  # b
    v: Vector = sized("N")
    settling: Settling  # beside contacts and stops
    sliding: Sliding  # on equations
    work: FrictionWork


def take_over_friction(model: mujoco.MjModel) -> Array:
    """The joints' Coulomb friction, which the engine, whose friction creeps, is relieved of."""
    coulomb = model.dof_frictionloss.copy()
    model.dof_frictionloss[:] = 0.0
    if coulomb.any():
        model.opt.tolerance = min(model.opt.tolerance, ENGINE_TOLERANCE)
    return coulomb


def joint_friction(model: mujoco.MjModel, coulomb: Array, tied: bool) -> JointFriction:
    """The record of a plant's friction; without room where nothing rubs and no joint follows another."""
    rubs = bool(coulomb.any())
    n = model.nv if rubs or tied else 0
    damping = model.dof_damping.copy()[:n]
    return JointFriction({"N": n}, on=rubs, coulomb=coulomb.copy()[:n], damping=damping)


@kernel
def solve_joint_friction(M: Matrix, b: Vector, bound: Vector, v: Vector, w: FrictionWork) -> None:
    """v = argmin ½ vᵀ M v − bᵀ v + Σ boundᵢ |vᵢ|; exactly 0 where a joint sticks. v comes in as a guess."""
    n = b.size
    for i in range(n):
        w.side[i] = 0.0 if v[i] == 0.0 else (1.0 if v[i] > 0.0 else -1.0)
    for _ in range(8 * n + 8):
        _least_of_sliding(M, b, bound, w)
        blocked = _step_to_least(bound, v, w)
        if blocked:
            continue
        i = _most_loaded(M, b, bound, v, w)
        if i < 0:
            return
        w.side[i] = 1.0 if w.right[i] > 0.0 else -1.0


@kernel
def _least_of_sliding(M: Matrix, b: Vector, bound: Vector, w: FrictionWork) -> None:
    """w.least: where the function is least while every joint stands still, or slides the way it does."""
    n, A = b.size, w.factor
    for i in range(n):
        held = bound[i] > 0.0 and w.side[i] == 0.0
        w.right[i] = 0.0 if held else b[i] - bound[i] * w.side[i]
        for j in range(n):
            free = not held and (bound[j] == 0.0 or w.side[j] != 0.0)
            A[i, j] = M[i, j] if free else (1.0 if i == j else 0.0)
    mju_cholFactor(address_of(A), n, _LEAST_PIVOT)
    mju_cholSolve(address_of(w.least), address_of(A), address_of(w.right), n)


@kernel
def _step_to_least(bound: Vector, v: Vector, w: FrictionWork) -> bool:
    """Go to w.least, or until the first joint would turn back, which then stands still; whether one did."""
    share, first = 1.0, -1
    for i in range(v.size):
        if bound[i] > 0.0 and w.side[i] * w.least[i] < 0.0:
            here = v[i] / (v[i] - w.least[i])
            if here < share or first < 0:
                share, first = here, i
    for i in range(v.size):
        v[i] = w.least[i] if first < 0 else v[i] + share * (w.least[i] - v[i])
    if first >= 0:
        v[first] = w.side[first] = 0.0
    return first >= 0


@kernel
def _most_loaded(M: Matrix, b: Vector, bound: Vector, v: Vector, w: FrictionWork) -> int:
    """The standing joint that is loaded most beyond its friction, −1 where there is none; w.right gets the loads."""
    most, worst = 0.0, -1
    for i in range(v.size):
        if bound[i] == 0.0 or w.side[i] != 0.0:
            continue
        load = b[i]
        for j in range(v.size):
            load -= M[i, j] * v[j]
        w.right[i] = load
        beyond = abs(load) - bound[i] * (1.0 + ROUNDING)
        if beyond > most:
            most, worst = beyond, i
    return worst


@kernel
def end_velocities(f: JointFriction, ties: Ties, p: Physics, dt: float) -> float:
    """f.v: velocities at the end of a semi-implicit step with the accelerations p.qacc, friction in them recomputed.

    f.M holds the mass matrix. Damping acts at the step's end, joints that follow others are left to their leaders.
    Returns by how much the friction torques differ from those that p.qacc was found with, as a share of the friction.
    """
    n, M, b = p.nv, f.M, f.momentum
    for i in range(n):
        b[i] = -dt * f.force[i] + dt * f.damping[i] * p.qvel[i]
        for j in range(n):
            b[i] += M[i, j] * (p.qvel[j] + dt * p.qacc[j])
    for i in range(n):
        M[i, i] += dt * f.damping[i]
        f.v[i] = p.qvel[i]
    return _solve_again(f, ties, dt)


@kernel
def _solve_again(f: JointFriction, ties: Ties, dt: float) -> float:
    """Solve for f.v and take the friction torques that go with it; how much they change, as a share of the friction."""
    n, M, b, v = f.v.size, f.M, f.momentum, f.v
    for i in range(n):
        f.bound[i] = dt * f.coulomb[i]
    for k in range(len(ties.each)):
        tie = ties.each[k]
        fold(tie, M, b)
        v[tie.follower] = f.bound[tie.follower] = 0.0
        if tie.leader >= 0:
            f.bound[tie.leader] += abs(tie.slope) * dt * f.coulomb[tie.follower]
    solve_joint_friction(M, b, f.bound, v, f.work)
    change = 0.0
    for i in range(n):
        if f.bound[i] > 0.0:
            force = -b[i]
            for j in range(n):
                force += M[i, j] * v[j]
            change = max(change, abs(force / dt - f.force[i]) / (f.bound[i] / dt))
            f.force[i] = force / dt
    return change


@kernel
def correct_velocities(f: JointFriction, ties: Ties, p: Physics, dt: float) -> float:
    """The same at the end of a Runge–Kutta step that f.force was held in: f.v, and how much f.force changes."""
    n, M, b = p.nv, f.M, f.momentum
    for i in range(n):
        f.v[i], b[i] = p.qvel[i], -dt * f.force[i]
        for j in range(n):
            b[i] += M[i, j] * p.qvel[j]
    return _solve_again(f, ties, dt)


@kernel
def damped_velocities(f: JointFriction, p: Physics, dt: float, out: Vector) -> None:
    """out: velocities at the end of a semi-implicit step with the accelerations p.qacc; damping acts at its end.

    (M + h D) v = M (v₀ + h v̇) + h D v₀, with the mass matrix in f.M.
    """
    n, damped, A = p.nv, False, f.work.factor
    for i in range(n):
        out[i] = p.qvel[i] + dt * p.qacc[i]
        damped = damped or f.damping[i] > 0.0
    if not damped:
        return
    for i in range(n):
        f.work.right[i] = dt * f.damping[i] * p.qvel[i]
        for j in range(n):
            f.work.right[i] += f.M[i, j] * out[j]
            A[i, j] = f.M[i, j] + (dt * f.damping[i] if i == j else 0.0)
    mju_cholFactor(address_of(A), n, _LEAST_PIVOT)
    mju_cholSolve(address_of(out), address_of(A), address_of(f.work.right), n)


@kernel
def fit_friction(f: JointFriction, v_old: Vector) -> float:
    """f.v and the friction torques f.force that fit each other, with the plant's measured response; see `settling`.

    Returns by how much the torques change, as a share of the friction.
    """
    s, n, b = f.settling, f.v.size, f.momentum
    change = 0.0
    for i in range(n):
        rubs = f.coulomb[i] > 0.0
        f.v[i] = v_old[i] if rubs else s.w[i]
        f.bound[i], s.x[i] = f.coulomb[i], f.force[i]
        b[i] = -f.force[i]
        for j in range(n):
            b[i] += s.inertia[i, j] * s.w[j]
        if not rubs:
            b[i] = s.w[i]
    solve_joint_friction(s.inertia, b, f.bound, f.v, f.work)
    for k in range(s.rubs):
        i = int(s.which[k])
        force, side = -b[i], f.work.side[i]
        for j in range(n):
            force += s.inertia[i, j] * f.v[j]
        if side != 0.0:  # what slides has all of its friction
            force = -f.coulomb[i] * side
        change = max(change, abs(force - s.x[i]) / f.coulomb[i])
        f.force[i] = force
    for i in range(n):
        for k in range(s.rubs):
            if f.coulomb[i] == 0.0:
                f.v[i] += s.response[k, i] * (f.force[s.which[k]] - s.x[s.which[k]])
    return change

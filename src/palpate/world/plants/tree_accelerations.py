"""Accelerations of a plant on its own equations, compiled: of its joints, and of points of its bodies."""

from __future__ import annotations

from palpate.engine.kernels import kernel
from palpate.engine.library import mju_cholFactor, mju_cholSolve
from palpate.engine.physics import Physics
from palpate.engine.records import Vector
from palpate.engine.views import address_of
from palpate.equations.code.tree_solver import solve_tree
from palpate.world.plants.joint_friction import JointFriction
from palpate.world.plants.ties import Ties, fold
from palpate.world.plants.tree_plant import FASTEST, SMALLEST_PIVOT, TreePlant


@kernel
def accelerate(t: TreePlant, p: Physics, step: float, out: Vector) -> bool:
    """q̈ under the forces applied, damping taken at the end of a step; False where it is the engine's to say more."""
    n, f = p.nv, t.force
    for k in range(n):
        f[k] = p.qfrc_applied[k] - t.terms.bias[k]
    if t.damped:
        for k in range(n):
            f[k] -= t.damping[k] * p.qvel[k]
    if t.sprung:
        for k in range(t.first, n):
            f[k] -= t.stiffness[k] * (p.qpos[k + t.extra] - t.spring_rest[k])
    if t.damped:
        for k in range(n):
            t.added[k] = step * t.damping[k]
    solve_tree(t.solver, t.terms.M, t.added, f, out, t.pivots)
    for k in range(n):
        if not (abs(out[k]) < FASTEST and t.pivots[k] > SMALLEST_PIVOT):
            return False
    return True


@kernel
def accelerate_tied(t: TreePlant, p: Physics, f: JointFriction, ties: Ties, out: Vector) -> bool:
    """q̈ where joints follow others: Gᵀ M G q̈ = Gᵀ (all forces) of those that lead, v = G v_leading."""
    n, A = p.nv, f.work.factor
    for k in range(n):
        f.momentum[k] = p.qfrc_applied[k] - t.terms.bias[k] - t.damping[k] * p.qvel[k]
        if t.sprung and k >= t.first:
            f.momentum[k] -= t.stiffness[k] * (p.qpos[k + t.extra] - t.spring_rest[k])
        for j in range(k + 1):
            A[k, j] = A[j, k] = t.terms.M[k, j]
    for k in range(len(ties.each)):
        fold(ties.each[k], A, f.momentum)
    if mju_cholFactor(address_of(A), n, SMALLEST_PIVOT) < n:
        return False
    mju_cholSolve(address_of(out), address_of(A), address_of(f.momentum), n)
    for k in range(len(ties.each)):
        tie = ties.each[k]
        out[tie.follower] = tie.slope * out[tie.leader] if tie.leader >= 0 else 0.0
    for k in range(n):
        if not abs(out[k]) < FASTEST:
            return False
    return True


@kernel
def body_acceleration(t: TreePlant, p: Physics, body: int, linear: Vector, angular: Vector, omega: Vector) -> None:
    """a − g of a body's centre of mass, its angular acceleration and velocity, world axes, under the last q̈."""
    com, link = p.xipos[body], t.link_of[body]
    for i in range(3):
        linear[i], angular[i], omega[i] = -t.gravity[i], 0.0, 0.0
    if link < 0:
        return
    o, R, rate = t.terms.origin[link], t.terms.rotation[link], t.terms.acceleration[link]
    for i in range(3):
        omega[i] = t.terms.twist[link, 3 + i]
        linear[i] = R[3 * i] * rate[0] + R[3 * i + 1] * rate[1] + R[3 * i + 2] * rate[2]
        angular[i] = R[3 * i] * rate[3] + R[3 * i + 1] * rate[4] + R[3 * i + 2] * rate[5]
    x, y, z = com[0] - o[0], com[1] - o[1], com[2] - o[2]
    wx, wy, wz = omega[0], omega[1], omega[2]
    ux, uy, uz = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
    linear[0] += angular[1] * z - angular[2] * y + (wy * uz - wz * uy)
    linear[1] += angular[2] * x - angular[0] * z + (wz * ux - wx * uz)
    linear[2] += angular[0] * y - angular[1] * x + (wx * uy - wy * ux)
    _add_joint_accelerations(p, body, com, linear, angular)


@kernel
def _add_joint_accelerations(p: Physics, body: int, point: Vector, linear: Vector, angular: Vector) -> None:
    """J q̈ of a point of a body, axes taken at the world's origin."""
    while body > 0 and p.body_dofnum[body] == 0:
        body = p.body_parentid[body]
    i = p.body_dofadr[body] + p.body_dofnum[body] - 1 if body > 0 else -1
    while i >= 0:
        axis, a = p.cdof[i], p.qacc[i]
        for k in range(3):
            m, n = (k + 1) % 3, (k + 2) % 3
            angular[k] += a * axis[k]
            linear[k] += a * (axis[3 + k] + axis[m] * point[n] - axis[n] * point[m])
        i = p.dof_parentid[i]

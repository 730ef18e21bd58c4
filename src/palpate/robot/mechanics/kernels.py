"""Compiled kinematics and dynamics of one robot, on MuJoCo's own arrays.

Every function takes a `Physics` record and writes into its arguments; none allocates. Functions named `stage_*` bring
the engine's data up to a state; `read_*` only read what a stage left there, so the simulation loop can read the terms
of a plant whose step has already staged it.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel
from palpate.engine.library import (
    mj_comPos,
    mj_comVel,
    mj_fullM,
    mj_jac,
    mj_jacDot,
    mj_kinematics,
    mj_makeM,
    mj_rne,
    mj_tendon,
)
from palpate.engine.physics import Physics
from palpate.engine.records import Matrix, ReadVector, Record, Vector, sized
from palpate.engine.views import address_of, fold

OK, BAD_POSITION, BAD_VELOCITY, BAD_QUATERNION, BAD_INPUT = range(5)
QUAT_TOLERANCE = 1e-6
_FREE, _BALL = 0, 1  # mjJNT_FREE, mjJNT_BALL


class FrameOnBody(Record):
    """A frame fixed on a body: its origin and axes there."""

    body: int
    offset: Vector = sized(3)
    rotation: Matrix = sized(3, 3)


class ModelTerms(Record):
    """Terms of a model at a state: M(q), C v + g, g; pose X_WE, Jacobian J_WE, J̇ and J̇ v of the tool frame E."""

    M: Matrix = sized("nv", "nv")
    bias: Vector = sized("nv")
    gravity: Vector = sized("nv")
    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    J: Matrix = sized(6, "nv")
    J_rate: Matrix = sized(6, "nv")
    drift: Vector = sized(6)


@kernel
def all_finite(array: ReadVector) -> bool:
    """Whether no element is NaN or infinite."""
    for i in range(array.size):
        if not math.isfinite(array[i]):
            return False
    return True


@kernel
def quaternions_are_unit(p: Physics, q: ReadVector) -> bool:
    """Whether every quaternion inside q has norm 1 to QUAT_TOLERANCE."""
    for j in range(p.njnt):
        if p.jnt_type[j] <= _BALL:
            start = p.jnt_qposadr[j] + (3 if p.jnt_type[j] == _FREE else 0)
            norm = 0.0
            for k in range(4):
                norm += q[start + k] ** 2
            if abs(math.sqrt(norm) - 1.0) > QUAT_TOLERANCE:
                return False
    return True


@kernel
def stage_position(p: Physics, q: ReadVector) -> int:
    """Kinematics and centres of mass at q."""
    if not all_finite(q):
        return BAD_POSITION
    if not quaternions_are_unit(p, q):
        return BAD_QUATERNION
    for i in range(p.nq):
        p.qpos[i] = q[i]
    mj_kinematics(p.model, p.data)
    mj_comPos(p.model, p.data)
    mj_tendon(p.model, p.data)  # tendons carry springs and rotor inertia
    return OK


@kernel
def stage_state(p: Physics, q: ReadVector, v: ReadVector) -> int:
    """The same, and body velocities at v."""
    status = stage_position(p, q)
    if status != OK:
        return status
    if not all_finite(v):
        return BAD_VELOCITY
    for i in range(p.nv):
        p.qvel[i] = v[i]
    mj_comVel(p.model, p.data)
    return OK


@kernel
def read_mass_matrix(p: Physics, M: Matrix) -> None:
    """M(q), armature included."""
    mj_makeM(p.model, p.data)
    mj_fullM(p.model, p.data, address_of(M))


@kernel
def read_bias(p: Physics, bias: Vector) -> None:
    """C(q, v) v + g(q)."""
    mj_rne(p.model, p.data, 0, address_of(bias))


@kernel
def read_gravity(p: Physics, gravity: Vector) -> None:
    """g(q) = −Σ m J_comᵀ g₀, each joint moving the mass of its whole subtree."""
    axes, com = p.cdof, p.subtree_com
    for i in range(p.nv):
        body = p.dof_bodyid[i]
        root = p.body_rootid[body]
        x = com[body, 0] - com[root, 0]
        y = com[body, 1] - com[root, 1]
        z = com[body, 2] - com[root, 2]
        vx = axes[i, 3] + axes[i, 1] * z - axes[i, 2] * y
        vy = axes[i, 4] + axes[i, 2] * x - axes[i, 0] * z
        vz = axes[i, 5] + axes[i, 0] * y - axes[i, 1] * x
        gravity[i] = -p.body_subtreemass[body] * (vx * p.gravity[0] + vy * p.gravity[1] + vz * p.gravity[2])


@kernel(inline=True)
def pose_on(origin: Vector, R: Matrix, frame: FrameOnBody, position: Vector, rotation: Matrix) -> None:
    """Pose of a frame fixed on a body, whose own pose is (origin, R)."""
    R_BF = frame.rotation
    for i in range(3):
        position[i] = origin[i]
        for j in range(3):
            position[i] += R[i, j] * frame.offset[j]
            rotation[i, j] = R[i, 0] * R_BF[0, j] + R[i, 1] * R_BF[1, j] + R[i, 2] * R_BF[2, j]


@kernel
def read_pose(p: Physics, frame: FrameOnBody, position: Vector, rotation: Matrix) -> None:
    """Pose of a frame fixed on a body."""
    pose_on(p.xpos[frame.body], fold(p.xmat[frame.body], 0, 3, 3), frame, position, rotation)


@kernel
def read_jacobian(p: Physics, body: int, point: Vector, J: Matrix) -> None:
    """J (6×nv, rows [linear; angular], world axes) of `point` moving with `body`."""
    mj_jac(p.model, p.data, address_of(J[0]), address_of(J[3]), address_of(point), body)


@kernel
def read_jacobian_rate(p: Physics, body: int, point: Vector, J_rate: Matrix) -> None:
    """J̇ of `point` moving with `body`; needs a staged velocity."""
    mj_jacDot(p.model, p.data, address_of(J_rate[0]), address_of(J_rate[3]), address_of(point), body)


@kernel
def add_generalized_force(p: Physics, body: int, f: Vector, n: Vector, point: Vector, out: Vector) -> None:
    """out += Jᵀ [f; n] for a force at `point` of `body` and a moment, world axes: only the joints that carry it."""
    root = p.body_rootid[body]
    x = point[0] - p.subtree_com[root, 0]
    y = point[1] - p.subtree_com[root, 1]
    z = point[2] - p.subtree_com[root, 2]
    # MuJoCo's motion axes [ω; v] are taken at the root's centre of mass, so the force's moment is too.
    nx, ny, nz = n[0] + y * f[2] - z * f[1], n[1] + z * f[0] - x * f[2], n[2] + x * f[1] - y * f[0]
    while body > 0 and p.body_dofnum[body] == 0:
        body = p.body_parentid[body]
    i = p.body_dofadr[body] + p.body_dofnum[body] - 1 if body > 0 else -1
    while i >= 0:
        axis = p.cdof[i]
        out[i] += axis[0] * nx + axis[1] * ny + axis[2] * nz + axis[3] * f[0] + axis[4] * f[1] + axis[5] * f[2]
        i = p.dof_parentid[i]


@kernel
def read_drift(p: Physics, body: int, point: Vector, v: ReadVector, J_rate: Matrix, drift: Vector) -> None:
    """J̇ v; J_rate (6×nv) is scratch and holds J̇ afterwards. Needs a staged velocity."""
    read_jacobian_rate(p, body, point, J_rate)
    for i in range(6):
        drift[i] = 0.0
        for j in range(p.nv):
            drift[i] += J_rate[i, j] * v[j]


class CoriolisWork(Record):
    """Scratch of `read_coriolis`."""

    J: Matrix = sized(6, "nv")
    J_rate: Matrix = sized(6, "nv")
    omega: Vector = sized(3)


@kernel
def _add_body_coriolis(p: Physics, body: int, work: CoriolisWork, C: Matrix) -> None:
    """C += m Jpᵀ J̇p + Jrᵀ (Θ J̇r + [ω]× Θ Jr) for one body: projected Newton–Euler."""
    nv, mass, inertia, axes = C.shape[0], p.body_mass[body], p.body_inertia[body], fold(p.ximat[body], 0, 3, 3)
    J, J_rate, omega = work.J, work.J_rate, work.omega
    for j in range(nv):
        # Column j of Θ J̇r + ω × (Θ Jr), with Θ = R diag(inertia) Rᵀ applied by components.
        rate0 = rate1 = rate2 = spin0 = spin1 = spin2 = 0.0
        for k in range(3):
            a = axes[0, k] * J_rate[3, j] + axes[1, k] * J_rate[4, j] + axes[2, k] * J_rate[5, j]
            b = axes[0, k] * J[3, j] + axes[1, k] * J[4, j] + axes[2, k] * J[5, j]
            a *= inertia[k]
            b *= inertia[k]
            rate0 += axes[0, k] * a
            rate1 += axes[1, k] * a
            rate2 += axes[2, k] * a
            spin0 += axes[0, k] * b
            spin1 += axes[1, k] * b
            spin2 += axes[2, k] * b
        n0 = rate0 + omega[1] * spin2 - omega[2] * spin1
        n1 = rate1 + omega[2] * spin0 - omega[0] * spin2
        n2 = rate2 + omega[0] * spin1 - omega[1] * spin0
        for i in range(nv):
            C[i, j] += mass * (J[0, i] * J_rate[0, j] + J[1, i] * J_rate[1, j] + J[2, i] * J_rate[2, j])
            C[i, j] += J[3, i] * n0 + J[4, i] * n1 + J[5, i] * n2


@kernel
def read_coriolis(p: Physics, v: ReadVector, work: CoriolisWork, C: Matrix) -> None:
    """A Coriolis matrix with C v = bias − gravity and Ṁ − 2C skew."""
    for i in range(p.nv):
        for j in range(p.nv):
            C[i, j] = 0.0
    for body in range(1, p.nbody):
        if p.body_mass[body] == 0.0:
            continue
        read_jacobian(p, body, p.xipos[body], work.J)
        read_jacobian_rate(p, body, p.xipos[body], work.J_rate)
        for i in range(3):
            work.omega[i] = 0.0
            for j in range(p.nv):
                work.omega[i] += work.J[3 + i, j] * v[j]
        _add_body_coriolis(p, body, work, C)

"""Compiled kinematics and dynamics of one robot, on MuJoCo's own arrays.

Every function takes a handle (see `palpate.engine`) and writes into its arguments; none allocates. Functions named
`stage_*` bring the engine's data up to a state; `read_*` only read what a stage left there, so the simulation loop
can read the terms of a plant whose step has already staged it.
"""

from __future__ import annotations

import math

from numba.extending import register_jitable

from palpate.engine import (
    H_APPLIED,
    H_BODY_DOF,
    H_BODY_PARENT,
    H_BODY_ROOT,
    H_CDOF,
    H_DATA,
    H_DOF_BODY,
    H_DOF_PARENT,
    H_DOFNUM,
    H_ENERGY,
    H_GRAVITY,
    H_INERTIA,
    H_INVERSE,
    H_JNT_QPOSADR,
    H_JNT_TYPE,
    H_MASS,
    H_MODEL,
    H_NBODY,
    H_NJNT,
    H_NQ,
    H_NV,
    H_QACC,
    H_QPOS,
    H_QVEL,
    H_SUBTREE_COM,
    H_SUBTREE_MASS,
    H_XIMAT,
    H_XIPOS,
    H_XMAT,
    H_XPOS,
    address_of,
    clear,
    int_vector,
    kernel,
    matrix,
    mj_comPos,
    mj_comVel,
    mj_energyPos,
    mj_forward,
    mj_fullM,
    mj_inverse,
    mj_jac,
    mj_jacDot,
    mj_kinematics,
    mj_makeM,
    mj_rne,
    mj_tendon,
    put,
    vector,
)

OK, BAD_Q, BAD_V, BAD_QUAT, BAD_INPUT = 0, 1, 2, 3, 4
QUAT_TOLERANCE = 1e-6
_FREE, _BALL = 0, 1  # mjJNT_FREE, mjJNT_BALL


@register_jitable
def all_finite(array):
    """Whether no element is NaN or infinite."""
    for i in range(array.size):
        if not math.isfinite(array[i]):
            return False
    return True


@register_jitable
def quaternions_are_unit(handle, q):
    """Whether every quaternion inside q has norm 1 to QUAT_TOLERANCE."""
    kinds = int_vector(handle[H_JNT_TYPE], handle[H_NJNT])
    places = int_vector(handle[H_JNT_QPOSADR], handle[H_NJNT])
    for j in range(handle[H_NJNT]):
        if kinds[j] <= _BALL:
            start = places[j] + (3 if kinds[j] == _FREE else 0)
            norm = 0.0
            for k in range(4):
                norm += q[start + k] ** 2
            if abs(math.sqrt(norm) - 1.0) > QUAT_TOLERANCE:
                return False
    return True


@register_jitable
def stage_position(handle, q):
    """Kinematics and centres of mass at q."""
    if not all_finite(q):
        return BAD_Q
    if not quaternions_are_unit(handle, q):
        return BAD_QUAT
    put(vector(handle[H_QPOS], handle[H_NQ]), 0, q)
    mj_kinematics(handle[H_MODEL], handle[H_DATA])
    mj_comPos(handle[H_MODEL], handle[H_DATA])
    mj_tendon(handle[H_MODEL], handle[H_DATA])  # tendons carry springs and rotor inertia
    return OK


@register_jitable
def stage_velocity(handle, v):
    """Body velocities at v; needs a staged position."""
    if not all_finite(v):
        return BAD_V
    put(vector(handle[H_QVEL], handle[H_NV]), 0, v)
    mj_comVel(handle[H_MODEL], handle[H_DATA])
    return OK


@register_jitable
def stage_state(handle, q, v):
    """Position and velocity together."""
    status = stage_position(handle, q)
    return stage_velocity(handle, v) if status == OK else status


@register_jitable
def read_mass_matrix(handle, M):
    """M(q), armature included."""
    mj_makeM(handle[H_MODEL], handle[H_DATA])
    mj_fullM(handle[H_MODEL], handle[H_DATA], address_of(M))


@register_jitable
def read_bias(handle, bias):
    """C(q, v) v + g(q)."""
    mj_rne(handle[H_MODEL], handle[H_DATA], 0, address_of(bias))


@register_jitable
def read_gravity(handle, gravity):
    """g(q) = −Σ m J_comᵀ g₀, each joint moving the mass of its whole subtree."""
    nv, nbody = handle[H_NV], handle[H_NBODY]
    g0 = vector(handle[H_GRAVITY], 3)
    cdof = matrix(handle[H_CDOF], nv, 6)
    com = matrix(handle[H_SUBTREE_COM], nbody, 3)
    mass = vector(handle[H_SUBTREE_MASS], nbody)
    body_of = int_vector(handle[H_DOF_BODY], nv)
    root_of = int_vector(handle[H_BODY_ROOT], nbody)
    for i in range(nv):
        body = body_of[i]
        root = root_of[body]
        x = com[body, 0] - com[root, 0]
        y = com[body, 1] - com[root, 1]
        z = com[body, 2] - com[root, 2]
        vx = cdof[i, 3] + cdof[i, 1] * z - cdof[i, 2] * y
        vy = cdof[i, 4] + cdof[i, 2] * x - cdof[i, 0] * z
        vz = cdof[i, 5] + cdof[i, 0] * y - cdof[i, 1] * x
        gravity[i] = -mass[body] * (vx * g0[0] + vy * g0[1] + vz * g0[2])


@register_jitable
def read_pose(handle, body, offset, turn, position, rotation):
    """Pose of a frame fixed on `body` at `offset`, `turn` (its place and axes in the body)."""
    p = vector(handle[H_XPOS] + 24 * body, 3)
    R = matrix(handle[H_XMAT] + 72 * body, 3, 3)
    for i in range(3):
        position[i] = p[i] + R[i, 0] * offset[0] + R[i, 1] * offset[1] + R[i, 2] * offset[2]
        for j in range(3):
            rotation[i, j] = R[i, 0] * turn[0, j] + R[i, 1] * turn[1, j] + R[i, 2] * turn[2, j]


@register_jitable
def read_jacobian(handle, body, point, J):
    """J (6×nv, rows [linear; angular], world axes) of `point` moving with `body`."""
    start = address_of(J)
    mj_jac(handle[H_MODEL], handle[H_DATA], start, start + 24 * handle[H_NV], address_of(point), body)


@register_jitable
def add_generalized_force(handle, body, f, n, point, out):
    """out += Jᵀ [f; n] for a force at `point` of `body` and a moment, world axes: only the joints that carry it."""
    parents, counts = int_vector(handle[H_BODY_PARENT], handle[H_NBODY]), int_vector(handle[H_DOFNUM], handle[H_NBODY])
    before = int_vector(handle[H_DOF_PARENT], handle[H_NV])
    root = int_vector(handle[H_BODY_ROOT], handle[H_NBODY])[body]
    c = vector(handle[H_SUBTREE_COM] + 24 * root, 3)
    x, y, z = point[0] - c[0], point[1] - c[1], point[2] - c[2]
    # MuJoCo's motion axes [ω; v] are taken at c, so the force's moment is too.
    nx, ny, nz = n[0] + y * f[2] - z * f[1], n[1] + z * f[0] - x * f[2], n[2] + x * f[1] - y * f[0]
    while body > 0 and counts[body] == 0:
        body = parents[body]
    i = int_vector(handle[H_BODY_DOF], handle[H_NBODY])[body] + counts[body] - 1 if body > 0 else -1
    while i >= 0:
        axis = vector(handle[H_CDOF] + 48 * i, 6)
        out[i] += axis[0] * nx + axis[1] * ny + axis[2] * nz + axis[3] * f[0] + axis[4] * f[1] + axis[5] * f[2]
        i = before[i]


@register_jitable
def read_drift(handle, body, point, v, J_rate, drift):
    """J̇ v; J_rate (6×nv) is scratch and holds J̇ afterwards. Needs a staged velocity."""
    nv = handle[H_NV]
    start = address_of(J_rate)
    mj_jacDot(handle[H_MODEL], handle[H_DATA], start, start + 24 * nv, address_of(point), body)
    for i in range(6):
        drift[i] = 0.0
        for j in range(nv):
            drift[i] += J_rate[i, j] * v[j]


@register_jitable
def add_body_coriolis(mass, inertia, ximat, J, J_rate, omega, C):
    """C += m Jpᵀ J̇p + Jrᵀ (Θ J̇r + [ω]× Θ Jr) for one body: document 003's projected Newton–Euler."""
    nv = C.shape[0]
    for j in range(nv):
        # Column j of Θ J̇r + ω × (Θ Jr), with Θ = R diag(inertia) Rᵀ applied by components.
        rate0 = rate1 = rate2 = spin0 = spin1 = spin2 = 0.0
        for k in range(3):
            a = ximat[0, k] * J_rate[3, j] + ximat[1, k] * J_rate[4, j] + ximat[2, k] * J_rate[5, j]
            b = ximat[0, k] * J[3, j] + ximat[1, k] * J[4, j] + ximat[2, k] * J[5, j]
            a *= inertia[k]
            b *= inertia[k]
            rate0 += ximat[0, k] * a
            rate1 += ximat[1, k] * a
            rate2 += ximat[2, k] * a
            spin0 += ximat[0, k] * b
            spin1 += ximat[1, k] * b
            spin2 += ximat[2, k] * b
        n0 = rate0 + omega[1] * spin2 - omega[2] * spin1
        n1 = rate1 + omega[2] * spin0 - omega[0] * spin2
        n2 = rate2 + omega[0] * spin1 - omega[1] * spin0
        for i in range(nv):
            C[i, j] += mass * (J[0, i] * J_rate[0, j] + J[1, i] * J_rate[1, j] + J[2, i] * J_rate[2, j])
            C[i, j] += J[3, i] * n0 + J[4, i] * n1 + J[5, i] * n2


@register_jitable
def read_coriolis(handle, v, J, J_rate, omega, C):
    """A Coriolis matrix with C v = bias − gravity and Ṁ − 2C skew. J, J_rate (6×nv), omega (3) are scratch."""
    nv, nbody = handle[H_NV], handle[H_NBODY]
    mass = vector(handle[H_MASS], nbody)
    for i in range(nv):
        for j in range(nv):
            C[i, j] = 0.0
    for body in range(1, nbody):
        if mass[body] == 0.0:
            continue
        point = vector(handle[H_XIPOS] + 24 * body, 3)
        read_jacobian(handle, body, point, J)
        start = address_of(J_rate)
        mj_jacDot(handle[H_MODEL], handle[H_DATA], start, start + 24 * nv, address_of(point), body)
        for i in range(3):
            omega[i] = 0.0
            for j in range(nv):
                omega[i] += J[3 + i, j] * v[j]
        inertia = vector(handle[H_INERTIA] + 24 * body, 3)
        add_body_coriolis(mass[body], inertia, matrix(handle[H_XIMAT] + 72 * body, 3, 3), J, J_rate, omega, C)


@kernel("int64(int64[::1], float64[::1], float64[:, ::1])")
def mass_matrix(handle, q, M):
    """M(q)."""
    status = stage_position(handle, q)
    if status == OK:
        read_mass_matrix(handle, M)
    return status


@kernel("int64(int64[::1], float64[::1], float64[::1], float64[::1])")
def bias(handle, q, v, out):
    """C(q, v) v + g(q)."""
    status = stage_state(handle, q, v)
    if status == OK:
        read_bias(handle, out)
    return status


@kernel("int64(int64[::1], float64[::1], float64[::1])")
def gravity(handle, q, out):
    """g(q)."""
    status = stage_position(handle, q)
    if status == OK:
        read_gravity(handle, out)
    return status


@kernel(
    "int64(int64[::1], float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1])"
)
def coriolis_matrix(handle, q, v, J, J_rate, omega, C):
    """C(q, v) with Ṁ − 2C skew."""
    status = stage_state(handle, q, v)
    if status == OK:
        read_coriolis(handle, v, J, J_rate, omega, C)
    return status


@kernel("int64(int64[::1], float64[::1], int64, float64[::1], float64[:, ::1], float64[::1], float64[:, ::1])")
def pose(handle, q, body, offset, turn, position, rotation):
    """Pose of a frame."""
    status = stage_position(handle, q)
    if status == OK:
        read_pose(handle, body, offset, turn, position, rotation)
    return status


@kernel(
    "int64(int64[::1], float64[::1], int64, float64[::1], float64[:, ::1], float64[::1], float64[:, ::1],"
    " float64[:, ::1])"
)
def pose_and_jacobian(handle, q, body, offset, turn, position, rotation, J):
    """Pose and geometric Jacobian of a frame."""
    status = stage_position(handle, q)
    if status == OK:
        read_pose(handle, body, offset, turn, position, rotation)
        read_jacobian(handle, body, position, J)
    return status


@kernel(
    "int64(int64[::1], float64[::1], float64[::1], int64, float64[::1], float64[:, ::1], float64[:, ::1],"
    " float64[::1], float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1])"
)
def terms(handle, q, v, body, offset, turn, M, bias, gravity, position, rotation, J, drift, J_rate):
    """Everything a controller asks for, in one pass."""
    status = stage_state(handle, q, v)
    if status == OK:
        read_mass_matrix(handle, M)
        read_bias(handle, bias)
        read_gravity(handle, gravity)
        read_pose(handle, body, offset, turn, position, rotation)
        read_jacobian(handle, body, position, J)
        read_drift(handle, body, position, v, J_rate, drift)
    return status


@kernel("int64(int64[::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def forward_dynamics(handle, q, v, tau, out):
    """q̈ under tau, with the model's damping, springs, Coulomb friction and coupled joints."""
    status = stage_state(handle, q, v)
    if status != OK:
        return status
    if not all_finite(tau):
        return BAD_INPUT
    put(vector(handle[H_APPLIED], handle[H_NV]), 0, tau)
    mj_forward(handle[H_MODEL], handle[H_DATA])
    put(out, 0, vector(handle[H_QACC], handle[H_NV]))
    clear(vector(handle[H_APPLIED], handle[H_NV]))
    return OK


@kernel("int64(int64[::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def inverse_dynamics(handle, q, v, a, out):
    """tau that gives q̈ = a, with the model's damping, springs, Coulomb friction and coupled joints."""
    status = stage_state(handle, q, v)
    if status != OK:
        return status
    if not all_finite(a):
        return BAD_INPUT
    put(vector(handle[H_QACC], handle[H_NV]), 0, a)
    mj_inverse(handle[H_MODEL], handle[H_DATA])
    put(out, 0, vector(handle[H_INVERSE], handle[H_NV]))
    return OK


@kernel("int64(int64[::1], float64[::1], float64[::1])")
def potential_energy(handle, q, out):
    """Energy of gravity (zero at the world's origin) and of the model's springs."""
    status = stage_position(handle, q)
    if status == OK:
        mj_energyPos(handle[H_MODEL], handle[H_DATA])
        out[0] = vector(handle[H_ENERGY], 1)[0]
    return status

"""Compiled code of the served arm: its estimates, its own controllers, and the numbers of its state.

Everything is in the axes of the arm's base O. The end effector is E, the stiffness frame K.
"""

from __future__ import annotations

import math

from palpate.control.steps.linear_algebra import (
    cholesky,
    cholesky_inverse,
    cholesky_solve,
    damped_step,
    symmetric_eigen,
)
from palpate.control.tick import Tick
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.spatial.kernels import matrix_from_rotation_vector, rotation_vector_from_matrix
from palpate.tools.serving.protocol.fci import FLOATS

NEAR_SINGULAR = 0.02  # (Σ 1/σ²)^(−1/2) of the Jacobian's singular values σ, below which no wrench is estimated
_SMALLEST = 1e-9  # m²: keeps J Jᵀ regular at a singularity
_REGULAR = 1e-3  # damping of the inverse kinematics
_RENEW_EVERY = 16  # ticks after which the stiffness and damping of joints are computed again
ELBOW_FLIP = -0.467002423653011  # rad of joint 4: where the elbow changes its sign

# Where a field begins among the numbers of a state.
_O_T_EE, _O_T_EE_D, _O_T_EE_C = FLOATS["O_T_EE"], FLOATS["O_T_EE_d"], FLOATS["O_T_EE_c"]
_Q, _DQ, _THETA, _DTHETA = FLOATS["q"], FLOATS["dq"], FLOATS["theta"], FLOATS["dtheta"]
_Q_D, _DQ_D, _DDQ_D = FLOATS["q_d"], FLOATS["dq_d"], FLOATS["ddq_d"]
_TAU_J, _TAU_J_D, _DTAU_J = FLOATS["tau_J"], FLOATS["tau_J_d"], FLOATS["dtau_J"]
_TAU_EXT, _O_F, _K_F = FLOATS["tau_ext_hat_filtered"], FLOATS["O_F_ext_hat_K"], FLOATS["K_F_ext_hat_K"]
_JOINT_CONTACT, _JOINT_COLLISION = FLOATS["joint_contact"], FLOATS["joint_collision"]
_CARTESIAN_CONTACT, _CARTESIAN_COLLISION = FLOATS["cartesian_contact"], FLOATS["cartesian_collision"]
_TWIST_D, _TWIST_C, _ACCELERATION_C = FLOATS["O_dP_EE_d"], FLOATS["O_dP_EE_c"], FLOATS["O_ddP_EE_c"]
_ELBOW, _ELBOW_D, _ELBOW_C = FLOATS["elbow"], FLOATS["elbow_d"], FLOATS["elbow_c"]
_DELBOW, _DDELBOW = FLOATS["delbow_c"], FLOATS["ddelbow_c"]


class Spring(Record):
    """A spring and damper of n coordinates, and the scratch that `make_critical` needs.

    K, D            stiffness and damping, those of the mass `mass`
    omega           rad/s, the fastest mode before it was softened
    """

    K: Matrix = sized("n", "n")
    D: Matrix = sized("n", "n")
    omega: float = 0.0
    mass: Matrix = sized("n", "n")
    wanted: Matrix = sized("n", "n")
    scaled: Matrix = sized("n", "n")
    V: Matrix = sized("n", "n")


class ArmState(Record):
    """State of the arm: settings of clients, measurements, and estimates.

    X_NE, X_EK              frames that clients set
    load_mass, load_com     kg; m, in the axes of E
    external                estimated external torque, N·m, positive where the robot pushes
    wrench, wrench_K        what the robot does to its environment at K, base axes and K's axes
    clear                   (Σ 1/σ²)^(−1/2) of the Jacobian at K
    softened                rad/s, the fastest mode that a controller was asked for
    unfelt                  kg·m² of motors before the joint torque sensors; 0 where joints are rigid
    compliance              rad/(N·m) from the angle in q to the motor's; 0 where q is the motor's, or joints are rigid
    sees_links              whether speeds are the links'
    """

    period: float = 1e-3
    filter_gain: float = 1.0
    fastest: float = 250.0
    posture_stiffness: float = 20.0
    to_base: Matrix = sized(3, 3)
    origin: Vector = sized(3)
    gravity_vector: Vector = sized(3)
    rotor: Vector = sized(7)
    unfelt: Vector = sized(7)
    compliance: Vector = sized(7)
    sees_links: bool = False
    X_NE: Matrix = sized(4, 4)
    X_EK: Matrix = sized(4, 4)
    load_mass: float = 0.0
    load_com: Vector = sized(3)
    joint_stiffness: Vector = sized(7)
    cartesian_stiffness: Vector = sized(6)

    ticks: int = 0
    q: Vector = sized(7)
    v: Vector = sized(7)
    tau: Vector = sized(7)
    tau_rate: Vector = sized(7)
    gravity: Vector = sized(7)
    coriolis: Vector = sized(7)
    M: Matrix = sized(7, 7)
    X_OE: Matrix = sized(4, 4)
    J: Matrix = sized(6, 7)
    J_K: Matrix = sized(6, 7)
    R_OK: Matrix = sized(3, 3)
    external: Vector = sized(7)
    wrench: Vector = sized(6)
    wrench_K: Vector = sized(6)
    clear: float = 0.0
    softened: float = 0.0

    last_M: Matrix = sized(7, 7)
    last_bias: Vector = sized(7)
    last_v: Vector = sized(7)
    renewed: int = -1000
    joints: Spring
    posture: Spring
    tool: Spring
    A: Matrix = sized(7, 7)
    B: Matrix = sized(7, 7)
    Y: Matrix = sized(7, 7)
    J_step: Matrix = sized(7, 7)
    J_tool: Matrix = sized(6, 7)
    J_elbow: Matrix = sized(7, 7)
    X_step: Matrix = sized(4, 4)
    rotation: Matrix = sized(3, 3)
    angles: Vector = sized(3)
    error: Vector = sized(6)
    rate: Vector = sized(6)
    x: Vector = sized(7)
    y: Vector = sized(7)
    z: Vector = sized(7)


@kernel
def make_critical(s: Spring, n: int, fastest: float) -> None:
    """Stiffness and damping that make every mode of M ẍ + D ẋ + K x = 0 critically damped.

    With M = L Lᵀ and L⁻¹ K L⁻ᵀ = V ω² Vᵀ it is D = L V 2ω Vᵀ Lᵀ. Modes faster than `fastest`, rad/s, are softened to
    it, which is all that a sampled loop bears. M is `mass` (overwritten by L), K is `wanted`.
    """
    L, S = s.mass, s.scaled
    cholesky(L, n)
    for j in range(n):  # L⁻¹ K, column by column
        for i in range(n):
            entry = s.wanted[i, j]
            for k in range(i):
                entry -= L[i, k] * S[k, j]
            S[i, j] = entry / L[i, i]
    for i in range(n):  # … L⁻ᵀ, row by row
        for j in range(n):
            entry = S[i, j]
            for k in range(j):
                entry -= L[j, k] * S[i, k]
            S[i, j] = entry / L[j, j]
    symmetric_eigen(S, s.V, n)
    for j in range(n):  # V ← L V
        for i in range(n - 1, -1, -1):
            entry = 0.0
            for k in range(i + 1):
                entry += L[i, k] * s.V[k, j]
            s.V[i, j] = entry
    s.omega = 0.0
    for k in range(n):
        s.omega = max(s.omega, math.sqrt(max(S[k, k], 0.0)))
    for i in range(n):
        for j in range(n):
            stiffness, damping = 0.0, 0.0
            for k in range(n):
                omega = min(math.sqrt(max(S[k, k], 0.0)), fastest)
                pair = s.V[i, k] * s.V[j, k]
                stiffness += pair * omega * omega
                damping += pair * 2.0 * omega
            s.K[i, j], s.D[i, j] = stiffness, damping


@kernel
def _shift(J: Matrix, r_x: float, r_y: float, r_z: float, out: Matrix) -> None:
    """A Jacobian at a point r further on: v' = v + ω × r."""
    for j in range(7):
        w_x, w_y, w_z = J[3, j], J[4, j], J[5, j]
        out[0, j] = J[0, j] + w_y * r_z - w_z * r_y
        out[1, j] = J[1, j] + w_z * r_x - w_x * r_z
        out[2, j] = J[2, j] + w_x * r_y - w_y * r_x
        out[3, j], out[4, j], out[5, j] = w_x, w_y, w_z


@kernel
def _end_effector(a: ArmState, position: Vector, rotation: Matrix, J_W: Matrix, X: Matrix, J: Matrix) -> None:
    """Pose and Jacobian of E in base axes from those of the scenario's tool frame in the world."""
    R, N = a.to_base, a.X_NE
    for i in range(3):
        origin = 0.0
        for k in range(3):
            origin += R[i, k] * (position[k] - a.origin[k])
        for j in range(3):
            entry = 0.0
            for k in range(3):
                for m in range(3):
                    entry += R[i, k] * rotation[k, m] * N[m, j]
            X[i, j] = entry
        shift = 0.0
        for k in range(3):
            for m in range(3):
                shift += R[i, k] * rotation[k, m] * N[m, 3]
        X[i, 3], a.z[i], X[3, i] = origin + shift, shift, 0.0
    X[3, 3] = 1.0
    for j in range(7):
        for i in range(3):
            linear, angular = 0.0, 0.0
            for k in range(3):
                linear += R[i, k] * J_W[k, j]
                angular += R[i, k] * J_W[3 + k, j]
            a.J_step[i, j], a.J_step[3 + i, j] = linear, angular
    _shift(a.J_step, a.z[0], a.z[1], a.z[2], J)


@kernel
def pose_at(a: ArmState, position: Vector, rotation: Matrix, J_W: Matrix, X: Matrix, J: Matrix) -> None:
    """Pose and Jacobian of the end effector, base axes, where the tool frame has these in the world."""
    _end_effector(a, position, rotation, J_W, X, J)


@kernel
def difference(a: ArmState, to: Matrix, start: Matrix, out: Vector) -> None:
    """[p; rotation vector] that leads from one pose to another, in the axes both are given in."""
    for i in range(3):
        out[i] = to[i, 3] - start[i, 3]
        for j in range(3):
            entry = 0.0
            for k in range(3):
                entry += to[i, k] * start[j, k]
            a.rotation[i, j] = entry
    rotation_vector_from_matrix(a.rotation, a.angles)
    for i in range(3):
        out[3 + i] = a.angles[i]


@kernel
def advance_pose(a: ArmState, twist: Vector, X: Matrix) -> None:
    """One period of a constant twist: p += v dt, R ← exp(ω dt) R."""
    for i in range(3):
        X[i, 3] += twist[i] * a.period
        a.angles[i] = twist[3 + i] * a.period
    matrix_from_rotation_vector(a.angles, a.rotation)
    for j in range(3):
        for i in range(3):
            a.z[i] = a.rotation[i, 0] * X[0, j] + a.rotation[i, 1] * X[1, j] + a.rotation[i, 2] * X[2, j]
        for i in range(3):
            X[i, j] = a.z[i]


@kernel
def joint_step(a: ArmState, wanted: Matrix, elbow: float, with_elbow: bool, out: Vector) -> None:
    """The smallest step of the joints that leads the end effector from `X_step`, where its Jacobian is `J_step`, to a
    pose; joint 3 turns by `elbow` rad where that is asked for.
    """
    difference(a, wanted, a.X_step, a.error)
    for j in range(7):
        for i in range(6):
            a.J_tool[i, j] = a.J_elbow[i, j] = a.J_step[i, j]
        a.J_elbow[6, j] = 1.0 if j == 2 else 0.0
    for i in range(6):
        a.x[i] = a.error[i]
    a.x[6] = elbow
    if with_elbow:
        damped_step(a.J_elbow, a.x, _REGULAR, a.A, a.y, out)
    else:
        damped_step(a.J_tool, a.error, _REGULAR, a.A, a.y, out)


@kernel
def observe(x: Tick, a: ArmState) -> None:
    """Take a tick's measurement in: state, end effector, gravity with the announced load, external torque and wrench.

    At the first tick the arm has stood there before: its torque is gravity's.
    """
    _end_effector(a, x.position, x.rotation, x.J, a.X_OE, a.J)
    for i in range(7):
        a.q[i], a.v[i] = x.q[i], x.v[i]
        a.gravity[i], a.coriolis[i] = x.gravity[i], x.bias[i] - x.gravity[i]
        for j in range(7):
            a.M[i, j] = x.M[i, j]
    _add_load(a)
    for i in range(7):
        tau = x.tau[i] if a.ticks > 0 else a.gravity[i]
        a.tau_rate[i] = (tau - a.tau[i]) / a.period if a.ticks > 0 else 0.0
        a.tau[i] = tau
    _estimate_torque(a)
    _estimate_wrench(a)
    a.ticks += 1


@kernel
def _add_load(a: ArmState) -> None:
    """Gravity of a load that the client has announced: −m J_Cᵀ g at its centre of mass C."""
    if a.load_mass == 0.0:
        return
    c = a.load_com
    for i in range(3):
        a.z[i] = a.X_OE[i, 0] * c[0] + a.X_OE[i, 1] * c[1] + a.X_OE[i, 2] * c[2]
    _shift(a.J, a.z[0], a.z[1], a.z[2], a.J_step)
    for j in range(7):
        for k in range(3):
            a.gravity[j] -= a.load_mass * a.J_step[k, j] * a.gravity_vector[k]


@kernel
def _estimate_torque(a: ArmState) -> None:
    """External torque: what the joint torques are beyond (M + B) v̇ + b since the last tick, low-passed.

    Sensors behind elastic gears do not feel what turns the motors: B is none of theirs.
    """
    for i in range(7):
        if a.ticks > 0:
            surplus = a.tau[i] - a.last_bias[i]
            for j in range(7):
                inertia = a.last_M[i, j] + (a.rotor[i] - a.unfelt[i] if i == j else 0.0)
                surplus -= inertia * (a.v[j] - a.last_v[j]) / a.period
            a.external[i] += a.filter_gain * (surplus - a.external[i])
    for i in range(7):
        a.last_bias[i], a.last_v[i] = a.coriolis[i] + a.gravity[i], a.v[i]
        for j in range(7):
            a.last_M[i, j] = a.M[i, j]


@kernel
def _estimate_wrench(a: ArmState) -> None:
    """The wrench at K whose joint torques are nearest to the external ones; 0 near a singularity."""
    for i in range(3):
        r = 0.0
        for k in range(3):
            r += a.X_OE[i, k] * a.X_EK[k, 3]
        a.z[i] = r
        for j in range(3):
            entry = 0.0
            for k in range(3):
                entry += a.X_OE[i, k] * a.X_EK[k, j]
            a.R_OK[i, j] = entry
    _shift(a.J, a.z[0], a.z[1], a.z[2], a.J_K)
    for i in range(6):
        for j in range(6):
            a.A[i, j] = _SMALLEST if i == j else 0.0
            for k in range(7):
                a.A[i, j] += a.J_K[i, k] * a.J_K[j, k]
    cholesky(a.A, 6)
    a.clear = 1.0 / math.sqrt(cholesky_inverse(a.A, 6, a.B))
    for i in range(6):
        total = 0.0
        if a.clear >= NEAR_SINGULAR:
            for k in range(6):
                for j in range(7):
                    total += a.B[i, k] * a.J_K[k, j] * a.external[j]
        a.wrench[i] = total
    for i in range(3):
        force, moment = 0.0, 0.0
        for k in range(3):
            force += a.R_OK[k, i] * a.wrench[k]
            moment += a.R_OK[k, i] * a.wrench[3 + k]
        a.wrench_K[i], a.wrench_K[3 + i] = force, moment


@kernel
def _renew(a: ArmState) -> None:
    """Damping of the joints' own springs at this posture, from time to time."""
    if a.ticks - a.renewed < _RENEW_EVERY:
        return
    for i in range(7):
        for j in range(7):
            same = i == j
            mass = a.M[i, j] + (a.rotor[i] if same else 0.0)
            a.joints.mass[i, j] = a.posture.mass[i, j] = mass
            a.joints.wanted[i, j] = a.joint_stiffness[i] if same else 0.0
            a.posture.wanted[i, j] = a.posture_stiffness if same else 0.0
    make_critical(a.joints, 7, a.fastest)
    make_critical(a.posture, 7, a.fastest)
    a.renewed = a.ticks


@kernel
def joint_impedance(a: ArmState, q: Vector, v: Vector, out: Vector) -> None:
    """τ = K (q_d − q) + D (v_d − v) + C v, with D critically damped."""
    _renew(a)
    a.softened = max(a.softened, a.joints.omega)
    K, D = a.joints.K, a.joints.D
    for i in range(7):
        torque = a.coriolis[i]
        for j in range(7):
            torque += K[i, j] * (q[j] - a.q[j]) + D[i, j] * (v[j] - a.v[j])
        out[i] = torque


@kernel
def cartesian_impedance(a: ArmState, X: Matrix, twist: Vector, q: Vector, out: Vector) -> None:
    """τ = J_Kᵀ (K e + D (ẋ_d − ẋ)) + C v, and a soft spring to the posture in the motion that the tool does not see.

    The spring sits at the stiffness frame K and is stiff along its axes, K = R diag(k) Rᵀ with R from base to K; e is
    the way of K to where it should be, X is the pose of E and `twist` that of E.
    """
    _renew(a)
    _task_inertia(a)
    for part in range(2):
        for i in range(3):
            for j in range(3):
                entry = 0.0
                for k in range(3):
                    entry += a.R_OK[i, k] * a.cartesian_stiffness[3 * part + k] * a.R_OK[j, k]
                a.tool.wanted[3 * part + i, 3 * part + j] = entry
    make_critical(a.tool, 6, a.fastest)
    a.softened = max(a.softened, a.tool.omega)
    _force(a, X, twist)
    _posture_torque(a, q, out)
    for j in range(7):
        out[j] += a.coriolis[j]
        for i in range(6):
            out[j] += a.J_K[i, j] * a.x[i]


@kernel
def _task_inertia(a: ArmState) -> None:
    """Λ = (J_K (M + B)⁻¹ J_Kᵀ)⁻¹ into `tool.mass` and B; the factor of M + B into A, (M + B)⁻¹ J_Kᵀ by rows into Y."""
    for i in range(7):
        for j in range(7):
            a.A[i, j] = a.M[i, j] + (a.rotor[i] if i == j else 0.0)
    cholesky(a.A, 7)
    for i in range(6):
        for j in range(7):
            a.x[j] = a.J_K[i, j]
        cholesky_solve(a.A, 7, a.x)
        for j in range(7):
            a.Y[i, j] = a.x[j]
    for i in range(6):
        for j in range(6):
            a.tool.scaled[i, j] = _SMALLEST if i == j else 0.0
            for k in range(7):
                a.tool.scaled[i, j] += a.J_K[i, k] * a.Y[j, k]
    cholesky(a.tool.scaled, 6)
    cholesky_inverse(a.tool.scaled, 6, a.tool.mass)
    for i in range(6):
        for j in range(6):
            a.B[i, j] = a.tool.mass[i, j]


@kernel
def _force(a: ArmState, X: Matrix, twist: Vector) -> None:
    """K e + D (ẋ_d − ẋ) at the stiffness frame, into x."""
    difference(a, X, a.X_OE, a.error)
    for i in range(6):
        rate = 0.0
        for j in range(7):
            rate += a.J_K[i, j] * a.v[j]
        a.y[i] = rate
    for i in range(3):
        r_now, r_then = 0.0, 0.0
        for k in range(3):
            r_now += a.X_OE[i, k] * a.X_EK[k, 3]
            r_then += X[i, k] * a.X_EK[k, 3]
        a.z[i] = r_then
        a.error[i] += r_then - r_now
    w_x, w_y, w_z, r = twist[3], twist[4], twist[5], a.z
    a.rate[0] = twist[0] + w_y * r[2] - w_z * r[1] - a.y[0]
    a.rate[1] = twist[1] + w_z * r[0] - w_x * r[2] - a.y[1]
    a.rate[2] = twist[2] + w_x * r[1] - w_y * r[0] - a.y[2]
    for i in range(3):
        a.rate[3 + i] = twist[3 + i] - a.y[3 + i]
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += a.tool.K[i, j] * a.error[j] + a.tool.D[i, j] * a.rate[j]
        a.x[i] = total


@kernel
def _posture_torque(a: ArmState, q: Vector, out: Vector) -> None:
    """The posture's spring p without what moves the tool: p − Jᵀ Λ J M⁻¹ p."""
    for i in range(7):
        torque = 0.0
        for j in range(7):
            torque += a.posture.K[i, j] * (q[j] - a.q[j]) - a.posture.D[i, j] * a.v[j]
        out[i] = torque
    for i in range(6):
        total = 0.0
        for j in range(7):
            total += a.Y[i, j] * out[j]
        a.y[i] = total
    for i in range(6):
        total = 0.0
        for k in range(6):
            total += a.B[i, k] * a.y[k]
        a.error[i] = total
    for j in range(7):
        for i in range(6):
            out[j] -= a.J_K[i, j] * a.error[i]


class Told(Record):
    """Numbers of a state beside the arm's own: desired values, and thresholds of contact.

    collision       latched flags, 7 joints then 6 directions: 1 from a collision until the robot is reset
    lower, upper    thresholds of torque (7) and of force (6), N·m, N
    """

    q: Vector = sized(7)
    v: Vector = sized(7)
    a: Vector = sized(7)
    tau: Vector = sized(7)
    pose: Matrix = sized(4, 4)
    twist: Vector = sized(6)
    acceleration: Vector = sized(6)
    lower: Vector = sized(13)
    upper: Vector = sized(13)
    collision: Vector = sized(13)


@kernel
def watch_contact(a: ArmState, t: Told) -> int:
    """Latch collisions; 2 if a force is beyond its upper threshold now, 1 if only a torque is, 0 if neither."""
    kind = 0
    for i in range(13):
        value = a.external[i] if i < 7 else a.wrench[i - 7]
        if abs(value) > t.upper[i]:
            t.collision[i] = 1.0
            kind = max(kind, 1 if i < 7 else 2)
    return kind


@kernel
def _put_pose(out: Vector, start: int, X: Matrix) -> None:
    for j in range(4):
        for i in range(4):
            out[start + 4 * j + i] = X[i, j]


@kernel
def _put_joints(out: Vector, a: ArmState, t: Told) -> None:
    for i in range(7):
        out[_Q + i], out[_THETA + i] = a.q[i], a.q[i] + a.compliance[i] * a.tau[i]
        bending = a.compliance[i] * a.tau_rate[i] if a.sees_links else 0.0
        out[_DQ + i], out[_DTHETA + i] = a.v[i], a.v[i] + bending
        out[_TAU_J + i], out[_DTAU_J + i], out[_TAU_J_D + i] = a.tau[i], a.tau_rate[i], t.tau[i]
        out[_Q_D + i], out[_DQ_D + i], out[_DDQ_D + i] = t.q[i], t.v[i], t.a[i]
        out[_TAU_EXT + i] = a.external[i]
        out[_JOINT_CONTACT + i] = 1.0 if abs(a.external[i]) > t.lower[i] else 0.0
        out[_JOINT_COLLISION + i] = t.collision[i]


@kernel
def _put_elbow(out: Vector, a: ArmState, t: Told) -> None:
    """Position of joint 3, and on which side of its flip joint 4 is; velocity and acceleration as commanded."""
    out[_ELBOW], out[_ELBOW_D], out[_ELBOW_C] = a.q[2], t.q[2], t.q[2]
    out[_ELBOW + 1] = 1.0 if a.q[3] > ELBOW_FLIP else -1.0
    out[_ELBOW_D + 1] = out[_ELBOW_C + 1] = 1.0 if t.q[3] > ELBOW_FLIP else -1.0
    out[_DELBOW], out[_DDELBOW] = t.v[2], t.a[2]


@kernel
def tell(a: ArmState, t: Told, out: Vector) -> None:
    """Write the numbers of a state that change from tick to tick, in the order of the protocol."""
    _put_joints(out, a, t)
    _put_elbow(out, a, t)
    _put_pose(out, _O_T_EE, a.X_OE)
    _put_pose(out, _O_T_EE_D, t.pose)
    _put_pose(out, _O_T_EE_C, t.pose)
    for i in range(6):
        out[_CARTESIAN_CONTACT + i] = 1.0 if abs(a.wrench[i]) > t.lower[7 + i] else 0.0
        out[_CARTESIAN_COLLISION + i] = t.collision[7 + i]
        out[_O_F + i], out[_K_F + i] = a.wrench[i], a.wrench_K[i]
        out[_TWIST_D + i] = out[_TWIST_C + i] = t.twist[i]
        out[_ACCELERATION_C + i] = t.acceleration[i]

"""Admittance control (document 004): a measured wrench moves a compliant pose, and a joint servo follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import Vector6, setting
from palpate.control.law import BoundLaw, Law, Need, Tick, law_kernel, sizes_of
from palpate.control.steps.chain import Chain, ChainPose, LeastSquares, chain_of, chain_pose, damped_step
from palpate.engine.kernels import kernel, put
from palpate.engine.records import Cube, Matrix, Record, Vector, sized
from palpate.engine.views import part
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial import Pose
from palpate.spatial.kernels import (
    cross,
    euler_xyz_from_matrix,
    euler_xyz_rate_matrix,
    matrix_from_euler_xyz,
    matrix_from_quat,
    quat_error_world,
    quat_from_matrix,
    quat_from_rotation_vector,
    quat_multiply,
    quat_normalize,
)

_NEWTON_STEPS = 1  # per control period; the command of the last one is where it starts


class EquationGains(Record):
    """M, D and K: along the world's axes, then about the desired frame's."""

    mass: Vector = sized(6)
    damping: Vector = sized(6)
    stiffness: Vector = sized(6)
    euler: bool  # whether the rotation is written in XYZ angles
    about_base: bool  # whether moments are about the base's origin


class Compliant(Record):
    """The compliant frame relative to the desired one, its pose in the world; then scratch."""

    displacement: Vector = sized(3)  # Δp, world axes
    speed: Vector = sized(3)  # Δṗ
    turn_wxyz: Vector = sized(4, start=(1.0, 0.0, 0.0, 0.0))  # q_cd,
    omega: Vector = sized(3)  # ω_cd, axes of the desired frame; or
    angles: Vector = sized(3)  # Δφ
    angle_rates: Vector = sized(3)  # and Δφ̇
    position: Vector = sized(3)  # p_c
    quat_wxyz: Vector = sized(4)  # q_c
    moment: Vector = sized(3)
    vector: Vector = sized(3)
    matrix: Matrix = sized(3, 3)
    step_wxyz: Vector = sized(4)


class Gains(EquationGains):
    """The equations' gains, the servo's, and the arm."""

    trim: float
    most_trim: float
    singular_damping: float
    velocity_servo: bool
    lower: Vector = sized("nv")
    upper: Vector = sized("nv")
    speed: Vector = sized("nv")
    chain: Chain


class Memory(Record):
    """The compliant frame, the posture commanded now and a tick ago, and the trim; then scratch."""

    started: bool = False
    c: Compliant
    command: Vector = sized("nv")
    command_before: Vector = sized("nv")
    trim: Vector = sized("nv")
    R_d: Matrix = sized(3, 3)
    F: Vector = sized(6)  # the wrench as the equations want it
    e: Vector = sized(6)  # from the commanded pose to the compliant one
    quat_wxyz: Vector = sized(4)
    step: Vector = sized("nv")
    arm: ChainPose
    squares: LeastSquares


class Terms(Record):
    """What the command is made of."""

    compliant: Vector = sized("nv")
    trim: Vector = sized("nv")


@kernel
def _advance_translation(f: Vector, dt: float, k: EquationGains, c: Compliant) -> None:
    """M Δp̈ + D Δṗ + K Δp = f, speed first and position with the new speed (semi-implicit Euler)."""
    M, D, K = k.mass, k.damping, k.stiffness
    for i in range(3):
        c.speed[i] += dt * (f[i] - (D[i] * c.speed[i] + K[i] * c.displacement[i])) / M[i]
        c.displacement[i] += dt * c.speed[i]


@kernel
def _advance_quaternion(R_d: Matrix, dt: float, k: EquationGains, c: Compliant) -> None:
    """M ω̇ + D ω + 2 Eᵀ(η, ε) K ε = μ in the desired frame, then q ← exp(½ dt ω) ⊗ q."""
    M, D, K = part(k.mass, 3, 3), part(k.damping, 3, 3), part(k.stiffness, 3, 3)
    n, q, w, bent = c.moment, c.turn_wxyz, c.omega, c.vector
    for i in range(3):
        bent[i] = K[i] * q[1 + i]
    # 2 Eᵀ K ε = 2 (η K ε + ε × K ε)
    spring_x = 2.0 * (q[0] * bent[0] + q[2] * bent[2] - q[3] * bent[1])
    spring_y = 2.0 * (q[0] * bent[1] + q[3] * bent[0] - q[1] * bent[2])
    spring_z = 2.0 * (q[0] * bent[2] + q[1] * bent[1] - q[2] * bent[0])
    bent[0], bent[1], bent[2] = spring_x, spring_y, spring_z
    for i in range(3):
        mu = R_d[0, i] * n[0] + R_d[1, i] * n[1] + R_d[2, i] * n[2]
        w[i] += dt * (mu - D[i] * w[i] - bent[i]) / M[i]
    for i in range(3):
        bent[i] = dt * w[i]
    quat_from_rotation_vector(bent, c.step_wxyz)
    quat_multiply(c.step_wxyz, q, q)
    quat_normalize(q)


@kernel
def _advance_euler(R_d: Matrix, dt: float, k: EquationGains, c: Compliant) -> None:
    """M Δφ̈ + D Δφ̇ + K Δφ = Tᵀ(φ_c) μ, φ_c = φ_d + Δφ (XYZ angles)."""
    M, D, K = part(k.mass, 3, 3), part(k.damping, 3, 3), part(k.stiffness, 3, 3)
    mu, phi, T = c.moment, c.vector, c.matrix
    euler_xyz_from_matrix(R_d, phi)
    for i in range(3):
        phi[i] += c.angles[i]
    euler_xyz_rate_matrix(phi, T)
    for i in range(3):
        drive = T[0, i] * mu[0] + T[1, i] * mu[1] + T[2, i] * mu[2]
        c.angle_rates[i] += dt * (drive - (D[i] * c.angle_rates[i] + K[i] * c.angles[i])) / M[i]
        c.angles[i] += dt * c.angle_rates[i]


@kernel
def advance_admittance(F: Vector, p_d: Vector, R_d: Matrix, dt: float, k: EquationGains, c: Compliant) -> None:
    """One step of the compliant frame under a wrench [f; μ], world axes.

    μ is taken about the tool's origin, or about the base's, and then moved to the desired frame's by μ − p_d × f, the
    lower rows of Ad(T_0^d) in (42).
    """
    f, mu = part(F, 0, 3), part(F, 3, 3)
    put(c.moment, 0, mu)
    if k.about_base:
        cross(p_d, f, c.vector)
        for i in range(3):
            c.moment[i] -= c.vector[i]
    _advance_translation(f, dt, k, c)
    if k.euler:
        _advance_euler(R_d, dt, k, c)
    else:
        _advance_quaternion(R_d, dt, k, c)


@kernel
def set_compliant_pose(p_d: Vector, R_d: Matrix, k: EquationGains, c: Compliant) -> None:
    """p_c = p_d + Δp; R_c = R(φ_d + Δφ), or q_c = q_d ⊗ q_cd (48)."""
    phi, R_c = c.vector, c.matrix
    for i in range(3):
        c.position[i] = p_d[i] + c.displacement[i]
    if k.euler:
        euler_xyz_from_matrix(R_d, phi)
        for i in range(3):
            phi[i] += c.angles[i]
        matrix_from_euler_xyz(phi, R_c)
        quat_from_matrix(R_c, c.quat_wxyz)
    else:
        quat_from_matrix(R_d, c.quat_wxyz)
        quat_multiply(c.quat_wxyz, c.turn_wxyz, c.quat_wxyz)


@kernel
def _integrate_trim(x: Tick, k: Gains, m: Memory) -> None:
    """trim += dt k (q_c − q), within its bound, and not while the servo's error is beyond that bound too."""
    most = k.most_trim
    for i in range(x.v.size):
        late = m.command[i] - x.q[i]
        if abs(late) <= most:  # beyond, something else holds the arm back
            m.trim[i] += x.dt * k.trim * late
        m.trim[i] = min(max(m.trim[i], -most), most)


@kernel
def _set_wrench(x: Tick, k: Gains, m: Memory) -> None:
    """F: as measured, or with the moment that a sensor which reports about the base's origin would say, μ + p × f."""
    put(m.F, 0, x.wrench)
    if k.about_base:
        cross(x.position, part(x.wrench, 0, 3), m.c.vector)
        for i in range(3):
            m.F[3 + i] += m.c.vector[i]


@kernel
def _step_towards_pose(k: Gains, m: Memory) -> None:
    """A Newton step of the command towards the posture of the compliant pose."""
    chain_pose(k.chain, m.command, m.arm)
    quat_from_matrix(m.arm.rotation, m.quat_wxyz)
    for i in range(3):
        m.e[i] = m.c.position[i] - m.arm.position[i]
    quat_error_world(m.c.quat_wxyz, m.quat_wxyz, part(m.e, 3, 3))
    damped_step(m.arm.J, m.e, k.singular_damping, m.squares, m.step)
    for i in range(m.command.size):
        m.command[i] += m.step[i]


@kernel
def _keep_limits(dt: float, k: Gains, m: Memory) -> None:
    """The command moves no joint faster than its speed, all slowed alike, nor out of its range."""
    share = 1.0
    for i in range(m.command.size):
        moved = abs(m.command[i] - m.command_before[i])
        if moved > k.speed[i] * dt:
            share = min(share, k.speed[i] * dt / moved)
    for i in range(m.command.size):
        wanted = m.command_before[i] + share * (m.command[i] - m.command_before[i])
        m.command[i] = min(max(wanted, k.lower[i]), k.upper[i])


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    if not m.started:
        m.started = True
        put(m.command, 0, x.q)
    _integrate_trim(x, k, m)
    matrix_from_quat(x.target.quat_wxyz, m.R_d)
    _set_wrench(x, k, m)
    advance_admittance(m.F, x.target.position, m.R_d, x.dt, k, m.c)
    set_compliant_pose(x.target.position, m.R_d, k, m.c)
    put(m.command_before, 0, m.command)
    for _ in range(_NEWTON_STEPS):
        _step_towards_pose(k, m)
    _keep_limits(x.dt, k, m)
    for i in range(x.v.size):
        if k.velocity_servo:
            out.compliant[i] = (m.command[i] - m.command_before[i]) / x.dt
            out.trim[i] = k.trim * (m.command_before[i] - x.q[i])
        else:
            out.compliant[i], out.trim[i] = m.command[i], m.trim[i]


class _Given(Record):
    """Wrenches and desired poses, one row per step."""

    wrench: Matrix
    position: Matrix
    rotation: Cube


class _Response(Record):
    """The compliant frame at the start and after every step."""

    displacement: Matrix = sized("count", 3)
    speed: Matrix = sized("count", 3)
    turn_wxyz: Matrix = sized("count", 4)
    angles: Matrix = sized("count", 3)
    position: Matrix = sized("count", 3)
    quat_wxyz: Matrix = sized("count", 4)
    c: Compliant


@kernel
def _respond(k: EquationGains, given: _Given, dt: float, out: _Response) -> None:
    """The equations alone: row i of the answer is the compliant frame after i steps."""
    c, steps = out.c, given.wrench.shape[0]
    for i in range(steps + 1):
        d = min(i, steps - 1)
        set_compliant_pose(given.position[d], given.rotation[d], k, c)
        put(out.displacement[i], 0, c.displacement)
        put(out.speed[i], 0, c.speed)
        put(out.turn_wxyz[i], 0, c.turn_wxyz)
        put(out.angles[i], 0, c.angles)
        put(out.position[i], 0, c.position)
        put(out.quat_wxyz[i], 0, c.quat_wxyz)
        if i < steps:
            advance_admittance(given.wrench[i], given.position[i], given.rotation[i], dt, k, c)


class Admittance(Law):
    """A wrench moves the set point of a stiff arm: M Δẍ + D Δẋ + K Δx = F, followed through inverse kinematics.

    Translation (31): M Δp̈ + D Δṗ + K Δp = f, world axes, Δp = p_c − p_d.
    Rotation, `rotation = "quaternion"` (32): M ω̇ + D ω + 2 Eᵀ(η, ε) K ε = μ in the desired frame, with
    q_cd = q_d* ⊗ q_c = (η, ε), E = η 1 − S(ε); q_cd ← exp(½ dt ω) ⊗ q_cd (46), q_c = q_d ⊗ q_cd (48). The stiffness
    moment fades beyond 90° and is zero at 180°.
    Rotation, `rotation = "euler"` (33): M Δφ̈ + D Δφ̇ + K Δφ = Tᵀ(φ_c) μ, XYZ angles, T's entry (2, 3) = −cos ϑ sin φ.
    Singular where the desired frame has ϑ = ±90°; prefer the quaternion there.
    Semi-implicit Euler (49), (50). Closed loop: the tool shows mass M, damping D and stiffness K to a measured wrench;
    at rest Δp = K⁻¹ f and, about one axis, sin θ = μ / K.
    The compliant pose becomes joint angles by Newton steps on the arm's own kinematics (damped least squares near a
    singular posture, joint speeds and ranges kept); an integral trim takes out what the servo leaves.
    Assumes: a wrench sensor; a servo much faster than √(K/M); forces only where the sensor feels them.
    """

    name: ClassVar[str] = "admittance"
    needs: ClassVar[tuple[Need, ...]] = ()
    kernel = _kernel

    mass: Vector6 = setting((5.0,) * 6, "kg, kg·m²", "M, apparent inertia: world axes, then desired-frame axes")
    damping: Vector6 | None = setting(None, "N·s/m, N·m·s/rad", "D; critical, 2 √(K M), if not given")
    stiffness: Vector6 = setting((10.0,) * 6, "N/m, N·m/rad", "K; 0 lets the tool be led freely")
    rotation: Literal["quaternion", "euler"] = setting("quaternion", "1", "how the rotational part is written")
    moment_about: Literal["tool", "base"] = setting(
        "tool",
        "1",
        "point of the moment: the tool's origin, or the base's, moved to the desired frame's origin by (42)",
    )
    servo: Literal["position", "velocity"] = setting("position", "1", "kind of inner servo")
    trim: float = setting(10.0, "1/s", "gain of the integral trim on the servo's error; 0 for none", ge=0)
    most_trim: float = setting(0.02, "rad or m", "largest trim of a joint, and largest error that it counts", ge=0)
    singular_damping: float = setting(1e-2, "1", "λ of the damped least squares", gt=0)

    def _refuse_unphysical(self) -> None:
        _refuse_below("mass", self.mass, 0.0, strictly=True)
        _refuse_below("stiffness", self.stiffness, 0.0)
        _refuse_below("damping", self.damping or (), 0.0)
        for axis, (m, d, k) in enumerate(zip(self.mass, self.full_damping(), self.stiffness)):
            if d == 0.0:
                raise InvalidInput(
                    f"damping[{axis}] = 0 with mass {m:g} and stiffness {k:g}: the compliant frame would never rest",
                    hint=f"critical damping is {2 * np.sqrt(m * k):g}; with stiffness 0 give a damping above 0",
                )

    def full_damping(self) -> Vector6:
        """D as used: given, or critical."""
        if self.damping is not None:
            return self.damping
        return tuple(2.0 * float(np.sqrt(m * k)) for m, k in zip(self.mass, self.stiffness))  # pyright: ignore

    def equation(self) -> dict[str, Any]:
        """The fields of `EquationGains`."""
        self._refuse_unphysical()
        return {
            "mass": self.mass,
            "damping": self.full_damping(),
            "stiffness": self.stiffness,
            "euler": self.rotation == "euler",
            "about_base": self.moment_about == "base",
        }

    def gains(self, robot: Robot) -> Gains:
        """The equations, the servo, the joints' ranges and speeds, and the chain."""
        return Gains(
            **self.equation(),
            trim=self.trim,
            most_trim=self.most_trim,
            singular_damping=self.singular_damping,
            velocity_servo=self.servo == "velocity",
            lower=robot.limits.lower,
            upper=robot.limits.upper,
            speed=robot.limits.velocity,
            chain=chain_of(robot),
        )

    def memory(self, robot: Robot) -> Memory:
        """The compliant frame, the commanded posture and the trim, and scratch."""
        return Memory(sizes_of(robot))

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot; the servo decides what its command means."""
        return replace(super().bind(robot), command=self.servo)


@dataclass(frozen=True)
class AdmittanceResponse:
    """The compliant frame over time, from the equations alone.

    Attributes:
        time: s, one more than the wrenches given.
        displacement, speed: Δp (m) and Δṗ (m/s), world axes.
        angles: Δφ (rad) of the Euler form, or ε_cd's rotation vector (rad, desired-frame axes).
        position, quat_wxyz: the compliant pose in the world.
    """

    time: Array
    displacement: Array
    speed: Array
    angles: Array
    position: Array
    quat_wxyz: Array


def admittance_response(
    law: Admittance, wrenches: ArrayLike, dt: float, desired: Pose | list[Pose] | None = None
) -> AdmittanceResponse:
    """Drive the equations of an admittance law alone, without an arm.

    Args:
        law: its gains.
        wrenches: (steps × 6) [f; μ], world axes, held over each step; μ about the point the law states.
        dt: s.
        desired: the desired pose, or one per step; the base frame if not given.
    """
    h = finite_array(wrenches, "wrenches", (None, 6))
    dt = finite_number(dt, "dt", above=0.0)
    steps = len(h)
    poses = desired if isinstance(desired, list) else [desired or Pose(np.zeros(3), np.eye(3))] * steps
    if len(poses) != steps or not steps:
        raise InvalidInput(f"need at least one wrench and one desired pose per step, got {steps} and {len(poses)}")
    given = _Given(wrench=h, position=[x.position for x in poses], rotation=[x.rotation for x in poses])
    found = _Response({"count": steps + 1})
    _respond(EquationGains(**law.equation()), given, dt, found)
    turn = found.angles if law.rotation == "euler" else _rotation_vectors(found.turn_wxyz)
    return AdmittanceResponse(
        np.arange(steps + 1) * dt, found.displacement, found.speed, turn, found.position, found.quat_wxyz
    )


def _rotation_vectors(quats: Array) -> Array:
    norm = np.linalg.norm(quats[:, 1:], axis=1, keepdims=True)
    angle = 2.0 * np.arctan2(norm, quats[:, :1])
    return quats[:, 1:] * np.where(norm > 0, angle / np.where(norm > 0, norm, 1.0), 2.0)


def _refuse_below(name: str, values: tuple[float, ...], least: float, *, strictly: bool = False) -> None:
    for axis, value in enumerate(values):
        if value < least or (strictly and value == least):
            bound = f"above {least:g}" if strictly else f"at least {least:g}"
            raise InvalidInput(f"{name}[{axis}] must be {bound}, got {value:g}")

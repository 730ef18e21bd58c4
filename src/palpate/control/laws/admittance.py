"""Admittance control (document 004): a measured wrench moves a compliant pose, and a joint servo follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numba import types
from numba.extending import register_jitable
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.config import Vector6, setting
from palpate.control.law import T_POSITION, T_QUAT, BoundLaw, Law, law_kernel
from palpate.control.steps.chain import chain_numbers, chain_pose, damped_step
from palpate.engine import kernel, put
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial import Pose
from palpate.spatial.kernels import (
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

# The state of the compliant frame: Δp, Δṗ, then (quaternion) q_cd wxyz and ω_cd^d, or (Euler) Δφ, 0 and Δφ̇.
A_POSITION, A_SPEED, A_TURN, A_RATE, A_WIDTH = 0, 3, 6, 10, 13
# Gains of the equations, then of the arm.
G_MASS, G_DAMPING, G_STIFFNESS, G_EULER, G_BASE, G_TRIM, G_MOST_TRIM, G_IK, G_VELOCITY, G_HEAD = (
    0, 6, 12, 18, 19, 20, 21, 22, 23, 24,
)  # fmt: skip
_NEWTON_STEPS = 1  # per control period; the command of the last one is where it starts


@register_jitable
def _advance_translation(state, gains, f, dt):
    """M Δp̈ + D Δṗ + K Δp = f, speed first and position with the new speed (semi-implicit Euler)."""
    for i in range(3):
        pull = gains[G_DAMPING + i] * state[A_SPEED + i] + gains[G_STIFFNESS + i] * state[A_POSITION + i]
        state[A_SPEED + i] += dt * (f[i] - pull) / gains[G_MASS + i]
        state[A_POSITION + i] += dt * state[A_SPEED + i]


@register_jitable
def _advance_quaternion(state, gains, moment, R_d, dt, work):
    """M ω̇ + D ω + 2 Eᵀ(η, ε) K ε = μ in the desired frame, then q ← exp(½ dt ω) ⊗ q."""
    q, w = state[A_TURN : A_TURN + 4], state[A_RATE : A_RATE + 3]
    bent, turn = work[0:3], work[3:7]
    for i in range(3):
        bent[i] = gains[G_STIFFNESS + 3 + i] * q[1 + i]
    # 2 Eᵀ K ε = 2 (η K ε + ε × K ε)
    spring_x = 2.0 * (q[0] * bent[0] + q[2] * bent[2] - q[3] * bent[1])
    spring_y = 2.0 * (q[0] * bent[1] + q[3] * bent[0] - q[1] * bent[2])
    spring_z = 2.0 * (q[0] * bent[2] + q[1] * bent[1] - q[2] * bent[0])
    bent[0], bent[1], bent[2] = spring_x, spring_y, spring_z
    for i in range(3):
        mu = R_d[0, i] * moment[0] + R_d[1, i] * moment[1] + R_d[2, i] * moment[2]
        w[i] += dt * (mu - gains[G_DAMPING + 3 + i] * w[i] - bent[i]) / gains[G_MASS + 3 + i]
    for i in range(3):
        bent[i] = dt * w[i]
    quat_from_rotation_vector(bent, turn)
    quat_multiply(turn, q, q)
    quat_normalize(q)


@register_jitable
def _advance_euler(state, gains, moment, phi_d, dt, work):
    """M Δφ̈ + D Δφ̇ + K Δφ = Tᵀ(φ_c) μ, φ_c = φ_d + Δφ (XYZ angles)."""
    phi, T = work[0:3], work[3:12].reshape((3, 3))
    for i in range(3):
        phi[i] = phi_d[i] + state[A_TURN + i]
    euler_xyz_rate_matrix(phi, T)
    for i in range(3):
        drive = T[0, i] * moment[0] + T[1, i] * moment[1] + T[2, i] * moment[2]
        pull = gains[G_DAMPING + 3 + i] * state[A_RATE + i] + gains[G_STIFFNESS + 3 + i] * state[A_TURN + i]
        state[A_RATE + i] += dt * (drive - pull) / gains[G_MASS + 3 + i]
        state[A_TURN + i] += dt * state[A_RATE + i]


@register_jitable
def advance_admittance(state, gains, wrench, p_d, R_d, dt, work):
    """One step of the compliant frame under a wrench [f; μ], world axes; work holds 20 numbers.

    μ is taken about the tool's origin; with G_BASE about the base's, and then moved to the desired frame's by
    μ − p_d × f, the lower rows of Ad(T_0^d) in (42).
    """
    moment = work[0:3]
    put(moment, 0, wrench[3:6])
    if gains[G_BASE] > 0.5:
        moment[0] -= p_d[1] * wrench[2] - p_d[2] * wrench[1]
        moment[1] -= p_d[2] * wrench[0] - p_d[0] * wrench[2]
        moment[2] -= p_d[0] * wrench[1] - p_d[1] * wrench[0]
    _advance_translation(state, gains, wrench, dt)
    if gains[G_EULER] > 0.5:
        euler_xyz_from_matrix(R_d, work[3:6])
        _advance_euler(state, gains, moment, work[3:6], dt, work[6:20])
    else:
        _advance_quaternion(state, gains, moment, R_d, dt, work[6:20])


@register_jitable
def compliant_pose(state, gains, p_d, R_d, p_c, quat_c, work):
    """p_c = p_d + Δp; R_c = R(φ_d + Δφ), or q_c = q_d ⊗ q_cd (48)."""
    for i in range(3):
        p_c[i] = p_d[i] + state[A_POSITION + i]
    phi, R = work[0:3], work[3:12].reshape((3, 3))
    if gains[G_EULER] > 0.5:
        euler_xyz_from_matrix(R_d, phi)
        for i in range(3):
            phi[i] += state[A_TURN + i]
        matrix_from_euler_xyz(phi, R)
        quat_from_matrix(R, quat_c)
    else:
        quat_from_matrix(R_d, quat_c)
        quat_multiply(quat_c, state[A_TURN : A_TURN + 4], quat_c)


@kernel(
    types.void(
        types.float64[::1], types.float64[::1], types.float64[:, ::1], types.float64[:, ::1], types.float64[:, :, ::1],
        types.float64, types.float64[:, ::1], types.float64[:, ::1],
    )
)  # fmt: skip
def _respond(state, gains, wrenches, positions, rotations, dt, states, poses):
    """The equations alone: row k of states and poses is the compliant frame after k steps."""
    work = np.zeros(20)
    for k in range(wrenches.shape[0] + 1):
        d = min(k, wrenches.shape[0] - 1)
        put(states[k], 0, state)
        compliant_pose(state, gains, positions[d], rotations[d], poses[k, 0:3], poses[k, 3:7], work)
        if k < wrenches.shape[0]:
            advance_admittance(state, gains, wrenches[k], positions[k], rotations[k], dt, work)


@register_jitable
def _follow(q, dt, chain, limits, damping, p_c, quat_c, command, J, work):
    """Newton steps of `command` towards the posture of the compliant pose, within joint speeds and ranges."""
    n = q.size
    p, R, e, step, scratch = work[0:3], work[3:12].reshape((3, 3)), work[12:18], work[18 : 18 + n], work[18 + n :]
    last = scratch[42 : 42 + n]
    put(last, 0, command)
    for _ in range(_NEWTON_STEPS):
        chain_pose(chain, command, p, R, J, scratch)
        quat_from_matrix(R, scratch[0:4])
        quat_error_world(quat_c, scratch[0:4], e[3:6])
        for i in range(3):
            e[i] = p_c[i] - p[i]
        damped_step(J, e, damping, scratch, step)
        for k in range(n):
            command[k] += step[k]
    share = 1.0
    for k in range(n):
        moved = abs(command[k] - last[k])
        if moved > limits[2 * n + k] * dt:
            share = min(share, limits[2 * n + k] * dt / moved)
    for k in range(n):
        wanted = last[k] + share * (command[k] - last[k])
        command[k] = min(max(wanted, limits[k]), limits[n + k])


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    task = q.size + 2 * n
    state, command, trim = memory[0:A_WIDTH], memory[A_WIDTH : A_WIDTH + n], memory[A_WIDTH + n : A_WIDTH + 2 * n]
    work = memory[A_WIDTH + 3 * n + 1 :]
    last = memory[A_WIDTH + 2 * n : A_WIDTH + 3 * n]
    started = memory[A_WIDTH + 3 * n : A_WIDTH + 3 * n + 1]
    if started[0] == 0.0:
        started[0] = 1.0
        put(command, 0, q)
    put(last, 0, command)
    for k in range(n):
        if abs(command[k] - q[k]) <= gains[G_MOST_TRIM]:  # beyond, something else holds the arm back
            trim[k] += dt * gains[G_TRIM] * (command[k] - q[k])
        trim[k] = min(max(trim[k], -gains[G_MOST_TRIM]), gains[G_MOST_TRIM])
    R_d, felt, p_c, quat_c = work[0:9].reshape((3, 3)), work[9:15], work[15:18], work[18:22]
    p_d = target[task + T_POSITION : task + T_POSITION + 3]
    matrix_from_quat(target[task + T_QUAT : task + T_QUAT + 4], R_d)
    put(felt, 0, wrench)
    if gains[G_BASE] > 0.5:  # what a sensor that reports about the base's origin would say
        felt[3] += p[1] * wrench[2] - p[2] * wrench[1]
        felt[4] += p[2] * wrench[0] - p[0] * wrench[2]
        felt[5] += p[0] * wrench[1] - p[1] * wrench[0]
    advance_admittance(state, gains, felt, p_d, R_d, dt, work[22:])
    compliant_pose(state, gains, p_d, R_d, p_c, quat_c, work[22:])
    chain, limits = gains[G_HEAD + 3 * n :], gains[G_HEAD : G_HEAD + 3 * n]
    J_c = work[22 : 22 + 6 * n].reshape((6, n))
    _follow(q, dt, chain, limits, gains[G_IK], p_c, quat_c, command, J_c, work[22 + 6 * n :])
    for k in range(n):
        if gains[G_VELOCITY] > 0.5:
            terms[0, k] = (command[k] - last[k]) / dt
            terms[1, k] = gains[G_TRIM] * (last[k] - q[k])
        else:
            terms[0, k], terms[1, k] = command[k], trim[k]


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
    terms: ClassVar[tuple[str, ...]] = ("compliant", "trim")
    needs: ClassVar[int] = 0
    kernel = staticmethod(_kernel)

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

    def equation_gains(self) -> Array:
        """The numbers `advance_admittance` reads."""
        self._refuse_unphysical()
        gains = np.zeros(G_HEAD)
        gains[G_MASS : G_MASS + 6], gains[G_DAMPING : G_DAMPING + 6] = self.mass, self.full_damping()
        gains[G_STIFFNESS : G_STIFFNESS + 6] = self.stiffness
        gains[G_EULER], gains[G_BASE] = self.rotation == "euler", self.moment_about == "base"
        gains[G_TRIM], gains[G_MOST_TRIM], gains[G_IK] = self.trim, self.most_trim, self.singular_damping
        gains[G_VELOCITY] = self.servo == "velocity"
        return gains

    def gains(self, robot: Robot) -> Array:
        """[equations; joint ranges and speeds; the chain's pose and screws at q = 0]."""
        limits = robot.limits
        return np.concatenate(
            [self.equation_gains(), limits.lower, limits.upper, limits.velocity, chain_numbers(robot)]
        )

    def memory(self, robot: Robot) -> Array:
        """Compliant frame, commanded posture, trim, a start flag and scratch."""
        n = robot.nv
        memory = np.zeros(A_WIDTH + 3 * n + 1 + 22 + 6 * n + 18 + n + 42 + n + 8)
        memory[A_TURN] = 1.0 if self.rotation == "quaternion" else 0.0
        return memory

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
    state = np.zeros(A_WIDTH)
    state[A_TURN] = 1.0 if law.rotation == "quaternion" else 0.0
    states, found = np.zeros((steps + 1, A_WIDTH)), np.zeros((steps + 1, 7))
    positions, rotations = np.array([x.position for x in poses]), np.array([x.rotation for x in poses])
    _respond(state, law.equation_gains(), h.copy(), positions, rotations, dt, states, found)
    turn = states[:, A_TURN : A_TURN + 3] if law.rotation == "euler" else _rotation_vectors(states[:, A_TURN:A_RATE])
    return AdmittanceResponse(
        np.arange(steps + 1) * dt, states[:, :3], states[:, 3:6], turn, found[:, :3], found[:, 3:]
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

"""A pole balanced on the tool of an arm (document 000)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import setting
from palpate.control.law import (
    NEEDS_BIAS,
    NEEDS_DRIFT,
    NEEDS_JACOBIAN,
    NEEDS_M,
    T_POLE,
    T_POSITION,
    T_TWIST,
    Law,
    law_kernel,
)
from palpate.control.pole import PoleModel, pole_accelerations
from palpate.control.small import cholesky, cholesky_solve
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import quat_error_world, quat_from_matrix

(
    G_LENGTH, G_SPHERE, G_END, G_GRAVITY, G_AXIS, G_VERTICAL, G_KP, G_KD, G_DAMPING, G_LEVEL, G_POSTURE, G_LIMITED,
    G_FORCE, G_HELD, G_LIMITS,
) = (0, 1, 2, 3, 4, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18)  # fmt: skip
# Scratch in the law's memory, after two counters: ticks at the torque limits, ticks at the force limit.
W_R, W_RATE, W_F, W_FB, W_ACC, W_QUAT, W_ERR, W_B, W_END = 2, 5, 8, 11, 14, 20, 24, 27, 33


@register_jitable
def _wanted_force(p, twist, target, task, gains, memory):
    """LQR about the upright on (x_A − x_d, ẋ_A, x_AB, ẋ_AB) per horizontal axis and (z_A, ż_A): f = f₀ − K x."""
    r, rate = memory[W_R : W_R + 3], memory[W_RATE : W_RATE + 3]
    f = memory[W_F : W_F + 3]
    for i in range(3):
        r[i] = target[task + T_POLE + i]
        rate[i] = target[task + T_POLE + 3 + i]
    for i in range(2):
        away, speed = p[i] - target[task + T_POSITION + i], twist[i] - target[task + T_TWIST + i]
        f[i] = -(gains[G_AXIS] * away + gains[G_AXIS + 1] * speed)
        f[i] -= gains[G_AXIS + 2] * r[i] + gains[G_AXIS + 3] * rate[i]
    away, speed = p[2] - target[task + T_POSITION + 2], twist[2] - target[task + T_TWIST + 2]
    f[2] = (gains[G_END] + gains[G_SPHERE]) * gains[G_GRAVITY]
    f[2] -= gains[G_VERTICAL] * away + gains[G_VERTICAL + 1] * speed
    cut = False
    for i in range(2):
        if abs(f[i]) > gains[G_FORCE]:
            f[i] = gains[G_FORCE] if f[i] > 0.0 else -gains[G_FORCE]
            cut = True
    if cut:
        memory[1] += 1.0


@register_jitable
def _wanted_acceleration(R, twist, target, task, gains, memory):
    """[a_A; α]: the foot's acceleration under the force, and a level (or drifting) end-effector."""
    a, f_B = memory[W_ACC : W_ACC + 6], memory[W_FB : W_FB + 3]
    pole_accelerations(
        memory[W_R : W_R + 3], memory[W_RATE : W_RATE + 3], memory[W_F : W_F + 3],
        gains[G_LENGTH], gains[G_SPHERE], gains[G_END], gains[G_GRAVITY], a, f_B,
    )  # fmt: skip
    quat, error = memory[W_QUAT : W_QUAT + 4], memory[W_ERR : W_ERR + 3]
    quat_from_matrix(R, quat)
    quat_error_world(target[task + 3 : task + 7], quat, error)
    for i in range(3):
        a[3 + i] = gains[G_LEVEL] * (gains[G_KP] * error[i] - gains[G_KD] * twist[3 + i])


@register_jitable
def _least_torque(M, bias, J, drift, n, f_B, memory, out):
    """τ nearest to τ₀ with J M⁻¹ (τ − b − Jₚᵀ f_B) + J̇v = a: τ = τ₀ + Aᵀ (A Aᵀ)⁻¹ (b − A τ₀), A = J M⁻¹.

    On entry out holds τ₀. Returns False where the tool cannot accelerate in every direction.
    """
    work = memory[W_END:]
    L = work[0 : n * n].reshape((n, n))
    A = work[n * n : n * n + 6 * n].reshape((6, n))
    S = work[n * n + 6 * n : n * n + 6 * n + 36].reshape((6, 6))
    b = memory[W_B : W_B + 6]
    for i in range(n):
        for j in range(n):
            L[i, j] = M[i, j]
    cholesky(L, n)
    for i in range(6):
        for j in range(n):
            A[i, j] = J[i, j]
        cholesky_solve(L, n, A[i])
    for i in range(6):
        b[i] = memory[W_ACC + i] - drift[i]
        for j in range(n):
            push = bias[j] + J[0, j] * f_B[0] + J[1, j] * f_B[1] + J[2, j] * f_B[2]
            b[i] += A[i, j] * (push - out[j])
        for k in range(6):
            S[i, k] = 0.0
            for j in range(n):
                S[i, k] += A[i, j] * A[k, j]
    if not cholesky(S, 6):
        return False
    cholesky_solve(S, 6, b)
    for j in range(n):
        for i in range(6):
            out[j] += A[i, j] * b[i]
    return True


@register_jitable
def _within_limits(n, limits, memory, torque):
    """Move along the one torque direction that leaves the tool alone until every limit holds, the least way.

    For a 7-joint arm this is the whole quadratic program min |τ − τ*|² subject to the limits. Returns whether it did.
    """
    A = memory[W_END + n * n : W_END + n * n + 6 * n].reshape((6, n))
    S = memory[W_END + n * n + 6 * n : W_END + n * n + 6 * n + 36].reshape((6, 6))
    free = memory[W_END + n * n + 6 * n + 36 : W_END + n * n + 7 * n + 36]
    b = memory[W_B : W_B + 6]
    best, chosen = 0.0, 0
    for start in range(n):  # the projection of some unit vector on the null space is longest; take it
        size = _project(A, S, n, start, b, free)
        if size > best:
            best, chosen = size, start
    if best < 1e-6:
        return False
    _project(A, S, n, chosen, b, free)
    low, high = -np.inf, np.inf
    for j in range(n):
        if abs(free[j]) > 1e-12:
            one, two = (-limits[j] - torque[j]) / free[j], (limits[j] - torque[j]) / free[j]
            low, high = max(low, min(one, two)), min(high, max(one, two))
        elif abs(torque[j]) > limits[j]:
            return False
    if low > high:
        return False
    step = min(max(0.0, low), high)
    for j in range(n):
        torque[j] += step * free[j]
    return True


@register_jitable
def _project(A, S, n, start, b, out):
    """out = (1 − Aᵀ (A Aᵀ)⁻¹ A) e_start; returns its length. S holds the factor of A Aᵀ."""
    for i in range(6):
        b[i] = A[i, start]
    cholesky_solve(S, 6, b)
    size = 0.0
    for j in range(n):
        out[j] = 1.0 if j == start else 0.0
        for i in range(6):
            out[j] -= A[i, j] * b[i]
        size += out[j] * out[j]
    return size


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    task = q.size + 2 * n
    twist = memory[W_END + n * n + 7 * n + 36 : W_END + n * n + 7 * n + 42]
    for k in range(6):
        twist[k] = 0.0
        for j in range(n):
            twist[k] += J[k, j] * v[j]
    _wanted_force(p, twist, target, task, gains, memory)
    _wanted_acceleration(R, twist, target, task, gains, memory)
    for j in range(n):
        posture = bias[j] + gains[G_POSTURE] * (target[j] - q[j]) - gains[G_DAMPING] * v[j]
        terms[0, j] = gains[G_HELD] * posture
    f_B = memory[W_FB : W_FB + 3]
    if not _least_torque(M, bias, J, drift, n, f_B, memory, terms[0]):
        for j in range(n):
            terms[0, j] = bias[j] - gains[G_DAMPING] * v[j]
    limits = gains[G_LIMITS : G_LIMITS + n]
    over = False
    for j in range(n):
        terms[1, j] = 0.0
        over = over or abs(terms[0, j]) > limits[j]
    if over and gains[G_LIMITED] > 0.5:
        memory[0] += 1.0
        for j in range(n):
            terms[1, j] = terms[0, j]
        _within_limits(n, limits, memory, terms[1])
        for j in range(n):
            terms[1, j] -= terms[0, j]


class PoleBalance(Law):
    """Keep a pole upright on the tool, and the tool in place: LQR force, then the least joint torques for it.

    1. f = f₀ − K x, x = (x_A − x_d, ẋ_A − ẋ_d, x_AB, ẋ_AB) for each horizontal axis, (z_A, ż_A) vertically.
    2. a_A and f_B from f by the closed form of the pole (see `palpate.control.PoleModel`).
    3. τ nearest to τ₀ = b̂ + k (q_d − q) − d v subject to M v̇ + b = τ − Jₚᵀ f_B and J v̇ + J̇ v = [a_A; α]:
       τ = τ₀ + Aᵀ (A Aᵀ)⁻¹ (b − A τ₀), A = J M⁻¹; then within the torque limits along the one free direction.

    α = k_p log(R_d Rᵀ) − k_d ω keeps the end-effector level; `orientation = "zero"` asks for α = 0, which lets an existing
    turn go on. τ₀ holds and damps the self-motion; `self_motion = "free"` takes τ₀ = 0, the document's min τᵀτ, under
    which the elbow falls and swings until the arm is lost.

    Closed loop, upright: the eigenvalues of the LQR design, per axis; the arm's own dynamics are cancelled.
    Assumes: a massless pole with a frictionless hinge, its direction measured (as a camera would), a true arm model that
    includes the end-effector's mass, and a posture away from singularities.
    """

    name: ClassVar[str] = "pole-balance"
    terms: ClassVar[tuple[str, ...]] = ("balance", "limits")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN | NEEDS_DRIFT
    kernel = staticmethod(_kernel)

    length: float = setting(1.0, "m", "l, of the pole", gt=0)
    sphere_mass: float = setting(0.1, "kg", "m_s", gt=0)
    end_effector_mass: float = setting(1.0, "kg", "m_e, welded to the wrist and part of the arm's model", gt=0)
    gravity: float = setting(9.81, "m/s²", "g", gt=0)
    position_weight: float = setting(40.0, "1/m²", "LQR weight of the tool's position", ge=0)
    velocity_weight: float = setting(10.0, "s²/m²", "LQR weight of the tool's velocity", ge=0)
    tilt_weight: float = setting(20.0, "1/m²", "LQR weight of x_AB", gt=0)
    tilt_rate_weight: float = setting(1.0, "s²/m²", "LQR weight of the rate of x_AB", ge=0)
    effort_weight: float = setting(1.0, "1/N²", "LQR weight of the force", gt=0)
    orientation: Literal["pd", "zero"] = setting(
        "pd", "1", "keep the end-effector level, or ask for no angular acceleration"
    )
    orientation_stiffness: float = setting(100.0, "1/s²", "k_p", gt=0)
    orientation_damping: float = setting(20.0, "1/s", "k_d", gt=0)
    self_motion: Literal["held", "free"] = setting("held", "1", "τ₀ holds the posture, or is 0 (min τᵀτ as printed)")
    posture_stiffness: float = setting(20.0, "N·m/rad", "k of the self-motion", ge=0)
    posture_damping: float = setting(5.0, "N·m·s/rad", "d of the self-motion", ge=0)
    respect_limits: bool = setting(True, "1", "keep joint torques within the arm's limits")
    force_limit: float = setting(60.0, "N", "largest horizontal force asked for", gt=0)

    def model(self) -> PoleModel:
        """The pole and end-effector the gains are designed for."""
        return PoleModel(self.length, self.sphere_mass, self.end_effector_mass, self.gravity)

    def gains(self, robot: Robot) -> Array:
        """The LQR gains and every other number of the law."""
        if robot.nv < 6:
            raise InvalidInput(f"pole-balance needs an arm with at least 6 joints; {robot.name} has {robot.nv}")
        weights = [self.position_weight, self.velocity_weight, self.tilt_weight, self.tilt_rate_weight]
        axis = self.model().gains(True, weights, self.effort_weight)
        vertical = self.model().vertical_gains(weights[:2], self.effort_weight * 0.1)
        return np.array([
            self.length, self.sphere_mass, self.end_effector_mass, self.gravity, *axis, *vertical,
            self.orientation_stiffness, self.orientation_damping, self.posture_damping, self.orientation == "pd",
            self.posture_stiffness, self.respect_limits, self.force_limit, self.self_motion == "held",
            *robot.limits.torque,
        ])  # fmt: skip

    def memory(self, robot: Robot) -> Array:
        """Counters of cut torques and forces, then scratch."""
        return np.zeros(W_END + robot.nv**2 + 7 * robot.nv + 42)

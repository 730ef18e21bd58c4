"""A pole balanced on the tool of an arm (document 000)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import setting
from palpate.control.design.pole import PoleModel, pole_accelerations
from palpate.control.law import (
    NEEDS_BIAS,
    NEEDS_DRIFT,
    NEEDS_JACOBIAN,
    NEEDS_M,
    T_ACCELERATION,
    T_POLE,
    T_POSITION,
    T_QUAT,
    T_TWIST,
    Law,
    law_kernel,
    refuse_free_base,
)
from palpate.control.steps.linear_algebra import cholesky, cholesky_solve, times
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.spatial.kernels import quat_error_world, quat_from_matrix

(
    G_LENGTH, G_SPHERE, G_END, G_GRAVITY, G_AXIS, G_VERTICAL, G_KP, G_KD, G_DAMPING, G_POSTURE, G_HELD, G_TORQUE,
    G_LIMITED, G_FORCE, G_LIMITS,
) = (0, 1, 2, 3, 4, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18)  # fmt: skip
# Counters of ticks at the head of the law's memory: force cut to its limit, self-motion bent by a torque limit, only a
# share of the force within the torque limits, no share within them.
C_FORCE, C_BENT, C_SHARED, C_BEYOND = 0, 1, 2, 3
# Then what is remembered of the wanted motion: ticks, and the smoothed horizontal acceleration.
C_TICKS, C_SMOOTH = 4, 5
MOST_JOINTS = 7
# Scratch after them, for up to seven joints.
(
    W_R, W_RATE, W_F, W_PART, W_FB, W_ACC, W_QUAT, W_ERR, W_TWIST, W_B, W_X0, W_X, W_PUSH, W_NONE, W_FREE, W_SELF, W_M,
    W_A, W_S, W_END,
) = (7, 10, 13, 16, 19, 22, 28, 32, 35, 41, 47, 54, 61, 68, 75, 82, 89, 138, 180, 216)  # fmt: skip
JERK_TIME = 0.05  # s, over which the wanted acceleration is differentiated: a step of it must not become a blow


@register_jitable
def _wanted_force(dt, p, twist, target, task, gains, memory):
    """LQR about the leaning pole of the wanted motion: f = (m_e + m_s) (a_d + g e_z) − K (x − x_d).

    x = (x_A, ẋ_A, x_AB, ẋ_AB) per horizontal axis, x_AB,d = a_d l / g and its rate; (z_A, ż_A) vertically.
    """
    r, rate, f = memory[W_R : W_R + 3], memory[W_RATE : W_RATE + 3], memory[W_F : W_F + 3]
    mass, lean = gains[G_END] + gains[G_SPHERE], gains[G_LENGTH] / gains[G_GRAVITY]
    for i in range(3):
        r[i], rate[i] = target[task + T_POLE + i], target[task + T_POLE + 3 + i]
        away, speed = p[i] - target[task + T_POSITION + i], twist[i] - target[task + T_TWIST + i]
        wanted = target[task + T_ACCELERATION + i]
        if i == 2:
            f[i] = mass * (wanted + gains[G_GRAVITY]) - gains[G_VERTICAL] * away - gains[G_VERTICAL + 1] * speed
            continue
        jerk = _differentiate(dt, wanted, i, memory)
        f[i] = mass * wanted - gains[G_AXIS] * away - gains[G_AXIS + 1] * speed
        f[i] -= gains[G_AXIS + 2] * (r[i] - lean * wanted) + gains[G_AXIS + 3] * (rate[i] - lean * jerk)
    memory[C_TICKS] += 1.0
    size = math.hypot(f[0], f[1])
    if size > gains[G_FORCE]:
        f[0], f[1] = f[0] * gains[G_FORCE] / size, f[1] * gains[G_FORCE] / size
        memory[C_FORCE] += 1.0


@register_jitable
def _differentiate(dt, wanted, i, memory):
    """Rate of a wanted acceleration: (a − ā) / T, where ā follows a with the time constant T."""
    if memory[C_TICKS] == 0.0:
        memory[C_SMOOTH + i] = wanted
    rate = (wanted - memory[C_SMOOTH + i]) / JERK_TIME
    memory[C_SMOOTH + i] += (1.0 - math.exp(-dt / JERK_TIME)) * (wanted - memory[C_SMOOTH + i])
    return rate


@register_jitable
def _wanted_turn(R, twist, target, task, gains, memory):
    """α = k_p log(R_d Rᵀ) − k_d ω; both gains are 0 where no angular acceleration is asked for."""
    quat, error = memory[W_QUAT : W_QUAT + 4], memory[W_ERR : W_ERR + 3]
    quat_from_matrix(R, quat)
    quat_error_world(target[task + T_QUAT : task + T_QUAT + 4], quat, error)
    for i in range(3):
        memory[W_ACC + 3 + i] = gains[G_KP] * error[i] - gains[G_KD] * twist[3 + i]


@register_jitable
def _prepare(M, J, n, gains, memory):
    """A and the factor of A Aᵀ; A = J, or J M⁻¹ where torques are compared. False where A loses rank."""
    A, S = memory[W_A : W_A + 6 * n].reshape((6, n)), memory[W_S : W_S + 36].reshape((6, 6))
    for i in range(6):
        for j in range(n):
            A[i, j] = J[i, j]
    if gains[G_TORQUE] > 0.5:
        L = memory[W_M : W_M + n * n].reshape((n, n))
        for i in range(n):
            for j in range(n):
                L[i, j] = M[i, j]
        cholesky(L, n)
        for i in range(6):
            cholesky_solve(L, n, A[i])
    for i in range(6):
        for k in range(6):
            S[i, k] = 0.0
            for j in range(n):
                S[i, k] += A[i, j] * A[k, j]
    return cholesky(S, 6)


@register_jitable
def _preferred(q, v, M, bias, target, n, gains, memory):
    """x₀: the accelerations v̇₀ = k (q_d − q) − d v, or the torques M v̇₀ + b; 0 where the self-motion is free."""
    x0, x = memory[W_X0 : W_X0 + n], memory[W_X : W_X + n]
    for j in range(n):
        x0[j] = gains[G_HELD] * (gains[G_POSTURE] * (target[j] - q[j]) - gains[G_DAMPING] * v[j])
    if gains[G_TORQUE] > 0.5:
        times(M, x0, x)
        for j in range(n):
            x0[j] = x[j] + gains[G_HELD] * bias[j]


@register_jitable
def _torques(share, M, bias, J, drift, n, gains, memory, out):
    """Joint torques for a share of the wanted horizontal force: x = x₀ + Aᵀ (A Aᵀ)⁻¹ (b − A x₀)."""
    part, f_B, a = memory[W_PART : W_PART + 3], memory[W_FB : W_FB + 3], memory[W_ACC : W_ACC + 6]
    A, S = memory[W_A : W_A + 6 * n].reshape((6, n)), memory[W_S : W_S + 36].reshape((6, 6))
    b, x, push = memory[W_B : W_B + 6], memory[W_X : W_X + n], memory[W_PUSH : W_PUSH + n]
    part[0], part[1], part[2] = share * memory[W_F], share * memory[W_F + 1], memory[W_F + 2]
    pole_accelerations(
        memory[W_R : W_R + 3], memory[W_RATE : W_RATE + 3], part,
        gains[G_LENGTH], gains[G_SPHERE], gains[G_END], gains[G_GRAVITY], a, f_B,
    )  # fmt: skip
    for j in range(n):
        x[j] = memory[W_X0 + j]
        push[j] = bias[j] + J[0, j] * f_B[0] + J[1, j] * f_B[1] + J[2, j] * f_B[2]
    for i in range(6):
        b[i] = a[i] - drift[i]
        for j in range(n):
            b[i] += A[i, j] * (gains[G_TORQUE] * push[j] - x[j])
    cholesky_solve(S, 6, b)
    for j in range(n):
        for i in range(6):
            x[j] += A[i, j] * b[i]
    if gains[G_TORQUE] > 0.5:
        for j in range(n):
            out[j] = x[j]
        return
    times(M, x, out)
    for j in range(n):
        out[j] += push[j]


@register_jitable
def _free_direction(M, n, gains, memory):
    """The torques that leave the tool alone: one direction for seven joints, none for six."""
    free, own = memory[W_FREE : W_FREE + n], memory[W_SELF : W_SELF + n]
    best, chosen = 1e-6, -1
    for start in range(n):  # the unit vector that keeps most of itself is the best conditioned
        size = _project(n, start, memory)
        if size > best:
            best, chosen = size, start
    if chosen >= 0:
        _project(n, chosen, memory)
    for j in range(n):
        free[j] = own[j] if chosen >= 0 else 0.0
    if gains[G_TORQUE] < 0.5 and chosen >= 0:
        times(M, own, free)


@register_jitable
def _project(n, start, memory):
    """(1 − Aᵀ (A Aᵀ)⁻¹ A) e_start into the scratch of the self-motion; returns its squared length."""
    A, S = memory[W_A : W_A + 6 * n].reshape((6, n)), memory[W_S : W_S + 36].reshape((6, 6))
    b = memory[W_B : W_B + 6]
    for i in range(6):
        b[i] = A[i, start]
    cholesky_solve(S, 6, b)
    size = 0.0
    for j in range(n):
        entry = 1.0 if j == start else 0.0
        for i in range(6):
            entry -= A[i, j] * b[i]
        memory[W_SELF + j] = entry
        size += entry * entry
    return size


@register_jitable
def _room(torque, free, limits, n):
    """From where to where a step along the free direction keeps the torques within the limits; crossed if nowhere."""
    low, high = -np.inf, np.inf
    for j in range(n):
        if abs(free[j]) > 1e-12:
            one, two = (-limits[j] - torque[j]) / free[j], (limits[j] - torque[j]) / free[j]
            low, high = max(low, min(one, two)), min(high, max(one, two))
        elif abs(torque[j]) > limits[j]:
            return 1.0, -1.0
    return low, high


@register_jitable
def _largest_share(none, full, free, limits, n):
    """The largest share s in [0, 1] for which a step keeps none + s (full − none) within the limits; −1 if none does.

    Two joints i, j find a common step if |d_i τ_j − d_j τ_i| ≤ L_i |d_j| + L_j |d_i|, d the free direction; all of them
    do if each pair does (intervals of a line).
    """
    low, high = 0.0, 1.0
    for i in range(n):
        for j in range(i + 1):
            if i == j:  # a joint that the step does not move must hold alone
                one, two, room = (1.0, 0.0, limits[i]) if abs(free[i]) <= 1e-12 else (0.0, 0.0, 1.0)
            else:
                one, two = -free[j], free[i]
                room = limits[i] * abs(one) + limits[j] * abs(two)
            start = one * none[i] + two * none[j]
            slope = one * (full[i] - none[i]) + two * (full[j] - none[j])
            if slope != 0.0:
                ends = (-room - start) / slope, (room - start) / slope
                low, high = max(low, min(ends[0], ends[1])), min(high, max(ends[0], ends[1]))
            elif abs(start) > room:
                return -1.0
    return high if low <= high else -1.0


@register_jitable
def _within_limits(M, bias, J, drift, n, gains, memory, full, change):
    """The change of torques that brings them within the limits: the least self-motion, else the least loss of force.

    For one free direction both are exact: the quadratic program min |x − x*|² within the limits, and where it has no
    solution the largest share of the horizontal force for which it has one.
    """
    limits, free = gains[G_LIMITS : G_LIMITS + n], memory[W_FREE : W_FREE + n]
    none, part = memory[W_NONE : W_NONE + n], memory[W_X : W_X + n]
    _free_direction(M, n, gains, memory)
    low, high = _room(full, free, limits, n)
    if low <= high:
        memory[C_BENT] += 1.0
        for j in range(n):
            change[j] = min(max(0.0, low), high) * free[j]
        return
    _torques(0.0, M, bias, J, drift, n, gains, memory, none)
    share = _largest_share(none, full, free, limits, n)
    if share < 0.0:
        memory[C_BEYOND] += 1.0
        return
    memory[C_SHARED] += 1.0
    for j in range(n):
        part[j] = none[j] + share * (full[j] - none[j])
    low, high = _room(part, free, limits, n)
    # At the largest share the two meet, up to rounding; six joints have no step at all.
    step = min(max(0.0, low), high) if low <= high else 0.5 * (low + high)
    for j in range(n):
        change[j] = part[j] + step * free[j] - full[j]


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    task = q.size + 2 * n
    twist = memory[W_TWIST : W_TWIST + 6]
    times(J, v, twist)
    over = False
    if _prepare(M, J, n, gains, memory):
        _wanted_force(dt, p, twist, target, task, gains, memory)
        _wanted_turn(R, twist, target, task, gains, memory)
        _preferred(q, v, M, bias, target, n, gains, memory)
        _torques(1.0, M, bias, J, drift, n, gains, memory, terms[0])
    else:
        for j in range(n):
            terms[0, j] = bias[j] - gains[G_DAMPING] * v[j]
    for j in range(n):
        terms[1, j] = 0.0
        over = over or abs(terms[0, j]) > gains[G_LIMITS + j]
    if over and gains[G_LIMITED] > 0.5:
        _within_limits(M, bias, J, drift, n, gains, memory, terms[0], terms[1])


class PoleBalance(Law):
    """Keep a pole upright on the tool, and the tool in place: LQR force, then joint torques that apply it.

    1. f = (m_e + m_s) (a_d + g e_z) − K (x − x_d), x = (x_A, ẋ_A, x_AB, ẋ_AB) for each horizontal axis and (z_A, ż_A);
       a wanted acceleration leans the pole, x_AB,d = a_d l / g, its rate from a_d differentiated over 50 ms.
    2. a_A and f_B from f by the closed form of the pole (see `palpate.control.PoleModel`).
    3. Torques under M v̇ + b = τ − Jₚᵀ f_B and J v̇ + J̇ v = [a_A; α]. One direction is left free, the self-motion:
       `nearest = "acceleration"` takes the v̇ nearest to v̇₀ = k (q_d − q) − d v, `"torque"` the τ nearest to M v̇₀ + b.
       `self_motion = "free"` puts 0 in their place: with `nearest = "torque"` that is the document's min τᵀτ, under
       which the elbow falls and swings until the arm is lost.
    4. Torque limits: the free direction gives way first; where that is not enough the horizontal force shrinks, as
       little as possible. Both are exact for one free direction, hence at most seven joints.

    α = k_p log(R_d Rᵀ) − k_d ω keeps the end-effector level; `orientation = "zero"` asks for α = 0, which lets a turn
    go on. `hold_position = false` feeds the document's seven states back: the tool comes to rest, but anywhere.

    Closed loop, upright: the eigenvalues of the LQR design, per axis; the arm's own dynamics are cancelled.
    Assumes: a massless pole with a frictionless hinge, its direction and rate measured (as a camera would), a true arm
    model that includes the end-effector's mass, and a posture away from singularities.
    """

    name: ClassVar[str] = "pole-balance"
    terms: ClassVar[tuple[str, ...]] = ("balance", "limits")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN | NEEDS_DRIFT
    kernel = staticmethod(_kernel)

    length: float = setting(1.0, "m", "l, of the pole", gt=0)
    sphere_mass: float = setting(0.1, "kg", "m_s", gt=0)
    end_effector_mass: float = setting(1.0, "kg", "m_e, welded to the wrist and part of the arm's model", gt=0)
    gravity: float = setting(9.81, "m/s²", "g", gt=0)
    hold_position: bool = setting(True, "1", "feed the tool's position back; the document's seven states do not")
    # Each weight is 1 / (deviation that matters as much as the others')²: 0.22 m, 0.32 m/s, 0.1 m, 1 m/s, 3.2 N.
    position_weight: float = setting(20.0, "1/m²", "LQR weight of the tool's position", ge=0)
    velocity_weight: float = setting(10.0, "s²/m²", "LQR weight of the tool's velocity", ge=0)
    tilt_weight: float = setting(100.0, "1/m²", "LQR weight of x_AB", gt=0)
    tilt_rate_weight: float = setting(1.0, "s²/m²", "LQR weight of the rate of x_AB", ge=0)
    effort_weight: float = setting(0.1, "1/N²", "LQR weight of the horizontal force", gt=0)
    vertical_effort_weight: float = setting(0.01, "1/N²", "LQR weight of the vertical force", gt=0)
    orientation: Literal["pd", "zero"] = setting(
        "pd", "1", "keep the end-effector level, or ask for no angular acceleration"
    )
    orientation_stiffness: float = setting(100.0, "1/s²", "k_p", gt=0)
    orientation_damping: float = setting(20.0, "1/s", "k_d", gt=0)
    self_motion: Literal["held", "free"] = setting("held", "1", "hold and damp the posture, or not")
    nearest: Literal["acceleration", "torque"] = setting(
        "acceleration", "1", "what is kept near the posture's wish; torque as printed"
    )
    posture_stiffness: float = setting(100.0, "1/s²", "k of the self-motion", ge=0)
    posture_damping: float = setting(20.0, "1/s", "d of the self-motion", ge=0)
    respect_limits: bool = setting(True, "1", "keep joint torques within the arm's limits")
    force_limit: float = setting(60.0, "N", "largest horizontal force asked for", gt=0)

    def model(self) -> PoleModel:
        """The pole and end-effector the gains are designed for."""
        return PoleModel(self.length, self.sphere_mass, self.end_effector_mass, self.gravity)

    def gains(self, robot: Robot) -> Array:
        """The LQR gains and every other number of the law."""
        refuse_free_base(robot, self.name)
        if not 6 <= robot.nv <= MOST_JOINTS:
            raise InvalidInput(f"pole-balance needs an arm of 6 or 7 joints; {robot.name} has {robot.nv}")
        level = self.orientation == "pd"
        return np.array([
            self.length, self.sphere_mass, self.end_effector_mass, self.gravity, *self.force_gains(),
            level * self.orientation_stiffness, level * self.orientation_damping, self.posture_damping,
            self.posture_stiffness, self.self_motion == "held", self.nearest == "torque", self.respect_limits,
            self.force_limit, *robot.limits.torque,
        ])  # fmt: skip

    def force_gains(self) -> Array:
        """K: four gains of a horizontal axis (x_A, ẋ_A, x_AB, ẋ_AB), then two of the vertical (z_A, ż_A)."""
        hold, skip = self.hold_position, 0 if self.hold_position else 1
        weights = [self.position_weight, self.velocity_weight, self.tilt_weight, self.tilt_rate_weight]
        axis = self.model().gains(hold, weights[skip:], self.effort_weight)
        vertical = self.model().vertical_gains(hold, weights[skip:2], self.vertical_effort_weight)
        return np.array([*[0.0] * skip, *axis, *[0.0] * skip, *vertical])

    def memory(self, robot: Robot) -> Array:
        """Counters of cut forces and torques, then scratch."""
        return np.zeros(W_END)

    def remarks(self, memory: Array) -> list[str]:
        """How often a limit shaped the command."""
        said = {
            C_FORCE: "the force limit cut the wanted force",
            C_BENT: "a torque limit bent the self-motion",
            C_SHARED: "only a share of the wanted force was within the torque limits",
            C_BEYOND: "no share of the wanted force was within the torque limits",
        }
        return [f"{text} at {int(memory[place])} ticks" for place, text in said.items() if memory[place] > 0]

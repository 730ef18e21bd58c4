"""Cartesian impedance control in its spring–damper form, without a force sensor."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import Vector6, setting
from palpate.control.law import (
    NEEDS_BIAS,
    NEEDS_JACOBIAN,
    NEEDS_M,
    T_POSITION,
    T_QUAT,
    T_TWIST,
    Law,
    law_kernel,
)
from palpate.control.small import cholesky, cholesky_solve
from palpate.robot.robot import Robot
from palpate.spatial.kernels import quat_error_world, quat_from_matrix

G_STIFFNESS, G_DAMPING, G_POSTURE, G_POSTURE_DAMPING, G_WIDTH = 0, 6, 12, 13, 14


@register_jitable
def pose_error(position, rotation, target, task, e, work):
    """e = [p_d − p; log(R_d Rᵀ)], world axes; the shorter way round."""
    for i in range(3):
        e[i] = target[task + T_POSITION + i] - position[i]
    quat_from_matrix(rotation, work[0:4])
    quat_error_world(target[task + T_QUAT : task + T_QUAT + 4], work[0:4], e[3:6])


@register_jitable
def null_space_torque(M, J, n, torque, work):
    """torque ← (1 − Jᵀ Λ J M⁻¹) torque: what is left moves no tool (dynamically consistent projector).

    work holds at least n·n + 6·n + 6·6 + 6 numbers. A singular posture regularises Λ by 1e-6 of its scale.
    """
    L = work[0 : n * n].reshape((n, n))
    Y = work[n * n : n * n + 6 * n].reshape((6, n))
    A = work[n * n + 6 * n : n * n + 6 * n + 36].reshape((6, 6))
    s = work[n * n + 6 * n + 36 : n * n + 6 * n + 42]
    L[:, :] = M
    cholesky(L, n)
    for i in range(6):
        Y[i, :] = J[i]
        cholesky_solve(L, n, Y[i])
    scale = 0.0
    for i in range(6):
        s[i] = 0.0
        for j in range(6):
            A[i, j] = 0.0
            for k in range(n):
                A[i, j] += J[i, k] * Y[j, k]
        for k in range(n):
            s[i] += Y[i, k] * torque[k]
        scale += A[i, i]
    for i in range(6):
        A[i, i] += 1e-9 * scale + 1e-12
    cholesky(A, 6)
    cholesky_solve(A, 6, s)
    for k in range(n):
        for i in range(6):
            torque[k] -= J[i, k] * s[i]


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    task = q.size + 2 * n
    e, work = memory[0:6], memory[6:12]
    pose_error(p, R, target, task, e, work)
    for i in range(n):
        terms[0, i] = terms[1, i] = 0.0
    for k in range(6):
        speed = 0.0
        for i in range(n):
            speed += J[k, i] * v[i]
        spring = gains[G_STIFFNESS + k] * e[k]
        damper = gains[G_DAMPING + k] * (target[task + T_TWIST + k] - speed)
        for i in range(n):
            terms[0, i] += J[k, i] * spring
            terms[1, i] += J[k, i] * damper
    for i in range(n):
        terms[2, i] = gains[G_POSTURE] * (target[i] - q[i]) - gains[G_POSTURE_DAMPING] * v[i]
        terms[3, i] = bias[i]
    if n > 6:
        null_space_torque(M, J, n, terms[2], memory[12:])
    else:
        terms[2, :] = 0.0


class CartesianImpedance(Law):
    """A spring and damper at the tool: τ = Jᵀ (K e + D (V_d − V)) + N τ₀ + b̂(q, v), e = [p_d − p; log(R_d Rᵀ)].

    N = 1 − Jᵀ Λ J M⁻¹ lets τ₀ = k (q_d − q) − d v hold a posture without moving the tool.
    Closed loop: Λ V̇ ≈ K e + D (V_d − V) + F (natural inertia Λ; Λ J̇ v is left in, small at the speeds of contact).
    At rest against a wall of stiffness k_w, one axis: f = K k_w / (K + k_w) · (p_d − p_wall).
    Assumes: true model; the orientation error grows up to 180°, where it takes the shorter way.
    """

    name: ClassVar[str] = "cartesian-impedance"
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "null_space", "bias")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN
    kernel = staticmethod(_kernel)

    stiffness: Vector6 = setting((400.0, 400.0, 400.0, 20.0, 20.0, 20.0), "N/m, N·m/rad", "K, world axes")
    damping: Vector6 = setting((60.0, 60.0, 60.0, 4.0, 4.0, 4.0), "N·s/m, N·m·s/rad", "D, world axes")
    posture_stiffness: float = setting(5.0, "N·m/rad", "k of the null-space posture", ge=0)
    posture_damping: float = setting(2.0, "N·m·s/rad", "d of the null-space posture", ge=0)

    def gains(self, robot: Robot) -> Array:
        """[K; D; k; d]."""
        return np.array([*self.stiffness, *self.damping, self.posture_stiffness, self.posture_damping])

    def memory(self, robot: Robot) -> Array:
        """Scratch only: the law remembers nothing."""
        return np.zeros(12 + robot.nv**2 + 6 * robot.nv + 48)

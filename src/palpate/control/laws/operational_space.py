"""Operational-space control (document 003)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array, finite_array
from palpate.config import Vector6, setting
from palpate.control.law import (
    NEEDS_BIAS,
    NEEDS_DRIFT,
    NEEDS_JACOBIAN,
    NEEDS_M,
    T_ACCELERATION,
    law_kernel,
)
from palpate.control.steps.linear_algebra import times
from palpate.control.steps.task_space import (
    DIRECTIONS,
    G_HEAVIEST,
    G_LAW,
    Direction,
    TaskLaw,
    checked_directions,
    choose,
    find_errors,
    find_inertia,
    into_axes,
    into_null_space,
    note_damping,
    open_task,
    push_along,
    set_axes,
    set_rows,
)
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

G_KP, G_KD, G_POSTURE = G_LAW, G_LAW + 6, G_LAW + 12  # then posture stiffness, damping, projector
_LEAST_SIGMA = 0.02  # m: singular values of J_t below this are damped in the kinematic projector


@register_jitable
def _posture(T, M, gains, q, v, target, wanted, out):
    """out = N M a₀ or M (1 − J⁺ J) a₀, a₀ = k (q_d − q) − d v."""
    n = v.size
    for i in range(n):
        wanted[i] = gains[G_POSTURE] * (target[i] - q[i]) - gains[G_POSTURE + 1] * v[i]
    if gains[G_POSTURE + 2] == 0.0:
        times(M, wanted, out)
        into_null_space(T, out)
        return
    for i in range(n):  # with M = 1 the same steps give Λ = (J Jᵀ)⁻¹ and N = 1 − J⁺ J
        for j in range(n):
            T.unit[i, j] = 1.0 if i == j else 0.0
    find_inertia(T, T.unit, 1.0 / (_LEAST_SIGMA * _LEAST_SIGMA))
    into_null_space(T, wanted)
    times(M, wanted, out)


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    task = q.size + 2 * n
    T = open_task(gains, memory, n)
    set_axes(T, gains, R, target, task)
    find_errors(T, gains, memory, v, p, R, J, target, task)
    set_rows(T, gains, J)
    note_damping(memory, gains, t, find_inertia(T, M, gains[G_HEAVIEST]))
    for k in range(6):
        T.error[k] *= gains[G_KP + k]
        T.rate[k] *= gains[G_KD + k]
        T.work[k] = target[task + T_ACCELERATION + k] - drift[k]
    choose(gains, T.error, T.a)
    push_along(T, T.a, terms[0])
    choose(gains, T.rate, T.a)
    push_along(T, T.a, terms[1])
    into_axes(T.axes, T.work[0:6], T.work[6:12])
    choose(gains, T.work[6:12], T.a)
    push_along(T, T.a, terms[2])
    _posture(T, M, gains, q, v, target, T.joints, terms[3])
    for i in range(n):
        terms[4, i] = bias[i]


class OperationalSpace(TaskLaw):
    """The tool as a unit mass: τ = J_tᵀ Λ (A_d + K_d (V_d − V) + K_p e − J̇ v)_t + τ_N + b̂(q, v).

    The same as F = Λ A* + μ + p with τ = Jᵀ F, and the bias of the null space undone too. e = [p_d − p; orientation
    error]; t marks the chosen directions. A posture is held beneath the task by τ_N = N M a₀ ("dynamic") or
    M (1 − J_t⁺ J_t) a₀ ("kinematic"), a₀ = k (q_d − q) − d v; neither moves a chosen direction, they differ in which
    posture motion they think smallest: that of least kinetic energy, or of least joint displacement.
    Closed loop in the chosen directions: A = A_d + K_d (V_d − V) + K_p e + Λ⁻¹-weighted outside forces; for positions
    ë + K_d ė + K_p e = −Λ⁻¹ F, every direction on its own; for orientations the same to first order in the angle.
    Assumes: true model. Near a singular posture the lost direction alone is damped, and the run's remarks say so.
    """

    name: ClassVar[str] = "operational-space"
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "feed_forward", "null_space", "bias")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN | NEEDS_DRIFT
    kernel = staticmethod(_kernel)

    directions: tuple[Direction, ...] = setting(DIRECTIONS, "1", "what is controlled: along x, y, z; about rx, ry, rz")
    frequency: float | Vector6 = setting(10.0, "rad/s", "ω > 0 of the error, one for all or along x, y, z, rx, ry, rz")
    damping_ratio: float | Vector6 = setting(1.0, "1", "ζ ≥ 0 of the error")
    kp: float | Vector6 | None = setting(None, "1/s²", "K_p ≥ 0 itself, instead of ω; give kd with it")
    kd: float | Vector6 | None = setting(None, "1/s", "K_d ≥ 0 itself, instead of ζ; give kp with it")
    projector: Literal["dynamic", "kinematic"] = setting("dynamic", "1", "how the posture is kept out of the task")
    posture_stiffness: float = setting(25.0, "1/s²", "k of the null-space posture", ge=0)
    posture_damping: float = setting(10.0, "1/s", "d of the null-space posture: joint velocity damping", ge=0)

    def gains(self, robot: Robot) -> Array:
        """[task; K_p; K_d; k; d; projector]."""
        checked_directions(robot, self.directions, self.name)
        posture = [self.posture_stiffness, self.posture_damping, float(self.projector == "kinematic")]
        return np.concatenate([self.task_gains(robot, self.directions), *self._pair(), posture])

    def _pair(self) -> tuple[Array, Array]:
        """K_p and K_d."""
        if (self.kp is None) != (self.kd is None):
            raise InvalidInput(f"operational-space: give both kp and kd or neither, got kp={self.kp}, kd={self.kd}")
        if self.kp is not None and self.kd is not None:
            return six(self.kp, "kp"), six(self.kd, "kd")
        frequency, ratio = six(self.frequency, "frequency"), six(self.damping_ratio, "damping_ratio")
        if frequency.min() == 0:
            raise InvalidInput(f"frequency must be greater than 0, got {frequency}")
        return frequency**2, 2 * ratio * frequency


def six(value: float | tuple[float, ...], name: str) -> Array:
    """Six numbers ≥ 0, from one for all or six."""
    numbers = finite_array(np.full(6, value) if isinstance(value, int | float) else value, name, (6,))
    if numbers.min() < 0:
        raise InvalidInput(f"{name} must not be negative, got {numbers}")
    return numbers

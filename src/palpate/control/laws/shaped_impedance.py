"""Cartesian impedance control with a force sensor: the inertia is chosen too."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import setting
from palpate.control.law import NEEDS_BIAS, NEEDS_DRIFT, NEEDS_JACOBIAN, NEEDS_M, T_ACCELERATION, law_kernel
from palpate.control.laws.cartesian_impedance import Gain6, damping_by_ratio
from palpate.control.steps.linear_algebra import times, transpose_times
from palpate.control.steps.task_space import (
    DIRECTIONS,
    G_HEAVIEST,
    G_LAW,
    LEVER,
    Direction,
    TaskLaw,
    checked_directions,
    choose,
    find_errors,
    find_inertia,
    hold_posture,
    into_axes,
    note_damping,
    open_task,
    push_along,
    set_axes,
    set_rows,
    symmetric6,
)
from palpate.engine import address_of, matrix
from palpate.robot.robot import Robot

# Posture, then M_d⁻¹, M_d⁻¹ K and M_d⁻¹ D: rows of the chosen directions (angular ones times the lever) × 6.
G_POSTURE, G_ADMIT, G_K, G_D = G_LAW, G_LAW + 2, G_LAW + 38, G_LAW + 74


@register_jitable
def _accelerate(T, gains, place, x):
    """T.a = block @ x: what a force, an error or its rate (axes of A) asks of the chosen directions."""
    times(matrix(address_of(gains) + 8 * place, T.J.shape[0], 6), x, T.a)


@register_jitable
def _felt(T, gains, J, wrench, out):
    """out = J_tᵀ Λ (M_d⁻¹ F − J_t M⁻¹ Jᵀ F): the answer of the wanted mass instead of the arm's own."""
    inside = T.work[0:6]
    into_axes(T.axes, wrench, inside)
    _accelerate(T, gains, G_ADMIT, inside)
    transpose_times(J, wrench, T.joints)
    times(T.Y, T.joints, T.b)
    for i in range(T.J.shape[0]):
        T.a[i] -= T.b[i]
    push_along(T, T.a, out)


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    task = q.size + 2 * n
    T = open_task(gains, memory, n)
    set_axes(T, gains, R, target, task)
    find_errors(T, gains, memory, v, p, R, J, target, task)
    set_rows(T, gains, J)
    note_damping(memory, gains, t, find_inertia(T, M, gains[G_HEAVIEST]))
    inside = T.work[0:6]
    _accelerate(T, gains, G_K, T.error)
    push_along(T, T.a, terms[0])
    _accelerate(T, gains, G_D, T.rate)
    push_along(T, T.a, terms[1])
    _felt(T, gains, J, wrench, terms[2])
    for k in range(6):
        T.work[6 + k] = target[task + T_ACCELERATION + k] - drift[k]
    into_axes(T.axes, T.work[6:12], inside)
    choose(gains, inside, T.a)
    push_along(T, T.a, terms[3])
    hold_posture(T, gains[G_POSTURE], gains[G_POSTURE + 1], q, v, target, terms[4])
    for i in range(n):
        terms[5, i] = bias[i]


class ShapedImpedance(TaskLaw):
    """A chosen mass, spring and damper at the tool: τ = J_tᵀ Λ (a − J̇ v − J M⁻¹ Jᵀ F)_t + N τ₀ + b̂(q, v).

    a = A_d + M_d⁻¹ (K e + D (V_d − V) + F), with the measured wrench F of the environment on the robot.
    Closed loop in the chosen directions: M_d (A − A_d) = K e + D (V_d − V) + F; with e = desired − measured
    M_d ë + D ė + K e = −F: a push moves the tool like the wanted mass, not like the arm.
    Assumes: true model, and a wrench measured at the tool without delay. A mass much below the natural one asks the
    sensor loop for a gain of Λ/M_d − 1 and is unstable with delay; choose M_d within a factor of about 3 of Λ.
    """

    name: ClassVar[str] = "shaped-impedance"
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "force", "feed_forward", "null_space", "bias")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN | NEEDS_DRIFT
    kernel = staticmethod(_kernel)

    mass: Gain6 = setting((5.0, 5.0, 5.0, 0.2, 0.2, 0.2), "kg, kg·m²", "M_d: six numbers or 6×6, positive definite")
    stiffness: Gain6 = setting((400.0, 400.0, 400.0, 20.0, 20.0, 20.0), "N/m, N·m/rad", "K: six numbers or 6×6")
    damping: Gain6 | None = setting(None, "N·s/m, N·m·s/rad", "D: six numbers or 6×6; by damping_ratio if not given")
    damping_ratio: float = setting(0.7, "1", "ζ of every mode of M_d and K where no damping is given", ge=0)
    directions: tuple[Direction, ...] = setting(DIRECTIONS, "1", "what is shaped; the rest is null space")
    posture_stiffness: float = setting(5.0, "N·m/rad", "k of the null-space posture", ge=0)
    posture_damping: float = setting(2.0, "N·m·s/rad", "d of the null-space posture", ge=0)

    def gains(self, robot: Robot) -> Array:
        """[task; k; d; M_d⁻¹; M_d⁻¹ K; M_d⁻¹ D]."""
        checked_directions(robot, self.directions, self.name)
        mass, K = symmetric6(self.mass, "mass", definite=True), symmetric6(self.stiffness, "stiffness")
        if self.damping is None:
            D = damping_by_ratio(K, np.linalg.inv(mass), self.damping_ratio)
        else:
            D = symmetric6(self.damping, "damping")
        rows = [DIRECTIONS.index(d) for d in self.directions]
        lever = np.diag([1.0 if row < 3 else LEVER for row in rows])
        admit = np.zeros((6, 6))
        admit[: len(rows)] = lever @ np.linalg.inv(mass[np.ix_(rows, rows)]) @ np.eye(6)[rows]
        chosen = np.diag([float(d in self.directions) for d in DIRECTIONS])
        blocks = np.concatenate([(admit @ X).ravel() for X in (np.eye(6), chosen @ K @ chosen, chosen @ D @ chosen)])
        posture = [self.posture_stiffness, self.posture_damping]
        return np.concatenate([self.task_gains(robot, self.directions), posture, blocks])

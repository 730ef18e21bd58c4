"""Hybrid position/force control (document 002): some directions follow a motion, the others hold a force."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import Vector6, setting
from palpate.control.law import NEEDS_BIAS, NEEDS_DRIFT, NEEDS_JACOBIAN, NEEDS_M, T_ACCELERATION, law_kernel
from palpate.control.laws.force import ForceLaw, check_split, own_memory, pi_wrench, refuse_negative
from palpate.control.steps.force_loop import G_FORCE, G_LOOP, integrate_error, saturated, wrenches_in_axes
from palpate.control.steps.linear_algebra import cholesky, cholesky_solve
from palpate.control.steps.task_space import (
    G_CHOICE,
    G_HEAVIEST,
    LEVER,
    Direction,
    find_errors,
    find_inertia,
    into_axes,
    into_null_space,
    note_damping,
    open_task,
    set_axes,
    set_rows,
)
from palpate.engine import clear, put
from palpate.robot.robot import Robot

# Gains after the loop's.
(
    G_KP, G_KD, G_POSTURE, G_DAMP, G_SPEED, G_TURNING, G_TOUCH, G_TOUCH_MOMENT, G_RELEASE, G_RELEASE_TIME, G_FRICTION,
    G_LIMITS,
) = (G_LOOP + k for k in (0, 6, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22))  # fmt: skip
# Memory before the integral: in contact?, time without contact, contacts made, contacts lost, and 2 × 6 of scratch.
_CONTACT, _AWAY, _MADE, _LOST, _MODES = 0, 1, 2, 3, 16


@register_jitable
def _touching(gains, wanted, felt, share):
    """Whether some wanted force is felt, at least `share` of its threshold; −1 where no force is wanted."""
    asked = False
    for k in range(6):
        if gains[G_FORCE + k] > 0.5 and wanted[k] != 0.0:
            asked = True
            least = gains[G_TOUCH] if k < 3 else gains[G_TOUCH_MOMENT]
            if felt[k] * math.copysign(1.0, wanted[k]) >= share * least:
                return 1
    return 0 if asked else -1


@register_jitable
def _switch(gains, dt, wanted, felt, modes, integral):
    """Contact begins at the threshold, and ends after some time below its release share, or when no force is wanted."""
    if modes[_CONTACT] == 0.0:
        if _touching(gains, wanted, felt, 1.0) == 1:
            modes[_CONTACT] = 1.0
            modes[_AWAY] = 0.0
            modes[_MADE] += 1.0
            clear(integral)
        return
    touching = _touching(gains, wanted, felt, gains[G_RELEASE])
    modes[_AWAY] = 0.0 if touching == 1 else modes[_AWAY] + dt
    if touching == -1 or modes[_AWAY] > gains[G_RELEASE_TIME]:
        modes[_CONTACT] = 0.0
        modes[_LOST] += 1.0 if touching == 0 else 0.0


@register_jitable
def _motion_acceleration(T, gains, drift, target, task, out):
    """A_d + K_d (V_d − V) + K_p e − J̇ v, all six in the axes of A."""
    for k in range(6):
        T.work[k] = target[task + T_ACCELERATION + k] - drift[k]
    into_axes(T.axes, T.work[0:6], out)
    for k in range(6):
        out[k] += gains[G_KP + k] * T.error[k] + gains[G_KD + k] * T.rate[k]


@register_jitable
def _approach(T, gains, wanted, drift_A, out):
    """Free of contact: along a wanted force towards what can give it, at the approach speed."""
    for k in range(6):
        if gains[G_FORCE + k] > 0.5 and wanted[k] != 0.0:
            speed = gains[G_SPEED] if k < 3 else gains[G_TURNING]
            out[k] = gains[G_DAMP] * (T.rate[k] - math.copysign(speed, wanted[k])) - drift_A[k]


@register_jitable
def _force_acceleration(T, gains, first, W, felt, drift_A, out):
    """Rows of u along the force directions: Λ_ff⁻¹ (W + F) + D (V_d − V) − J̇ v; Λ_ff is a block of Λ."""
    count = T.J.shape[0] - first
    A = T.mobility
    for i in range(count):
        k = int(gains[G_CHOICE + first + i])
        scale = 1.0 if k < 3 else LEVER
        T.b[i] = (W[k] + felt[k]) / scale
        for j in range(count):
            A[i, j] = T.inertia[first + i, first + j]
    cholesky(A, count)
    cholesky_solve(A, count, T.b)
    for i in range(count):
        k = int(gains[G_CHOICE + first + i])
        scale = 1.0 if k < 3 else LEVER
        out[first + i] = T.b[i] + scale * (gains[G_DAMP] * T.rate[k] - drift_A[k])


@register_jitable
def _torque_of_rows(T, rows, from_row, to_row, out):
    """out = J_tᵀ Λ u, of the rows from_row ≤ i < to_row of u alone."""
    clear(out)
    for i in range(T.J.shape[0]):
        force = 0.0
        for m in range(from_row, to_row):
            force += T.inertia[i, m] * rows[m]
        for j in range(out.size):
            out[j] += T.J[i, j] * force


@register_jitable
def _subtract_felt(T, gains, first, felt, friction, out):
    """out −= J_tᵀ F: all of F along force directions, whose feedback is the PI alone; a share along the others."""
    for i in range(T.J.shape[0]):
        k = int(gains[G_CHOICE + i])
        force = felt[k] * (1.0 if i >= first else friction)
        if k >= 3:
            force /= LEVER
        for j in range(out.size):
            out[j] -= T.J[i, j] * force


@register_jitable
def _rows(T, gains, motion, first, in_contact, W, felt, drift_A):
    """u = J_t v̇ in the task's rows."""
    for i in range(T.J.shape[0]):
        k = int(gains[G_CHOICE + i])
        T.a[i] = motion[k] if k < 3 else LEVER * motion[k]
    if in_contact:
        _force_acceleration(T, gains, first, W, felt, drift_A, T.a)


@register_jitable
def _write(T, gains, q, v, bias, target, motion, first, in_contact, wanted, felt, integral, drift_A, terms):
    """Rows of acceleration and force to joint torques."""
    n, count, W = v.size, T.J.shape[0], T.work[0:6]
    pi_wrench(gains, wanted, felt, W)
    for k in range(6):
        W[k] = -(W[k] + integral[k])
    _rows(T, gains, motion, first, in_contact, W, felt, drift_A)
    _torque_of_rows(T, T.a, 0, first, terms[0])
    _torque_of_rows(T, T.a, first, count, terms[1])
    if in_contact:
        _subtract_felt(T, gains, first, felt, gains[G_FRICTION], terms[1])
    for j in range(n):
        terms[2, j] = gains[G_POSTURE] * (target[j] - q[j]) - gains[G_POSTURE + 1] * v[j]
        terms[3, j] = bias[j]
    into_null_space(T, terms[2])


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n, task = v.size, q.size + 2 * v.size
    T = open_task(gains, memory, n)
    integral, last, wanted, felt = own_memory(memory)
    end = memory.size - 24
    modes, motion, drift_A = memory[end - _MODES : end - 12], memory[end - 12 : end - 6], memory[end - 6 : end]
    set_axes(T, gains, R, target, task)
    find_errors(T, gains, memory, v, p, R, J, target, task)
    set_rows(T, gains, J)
    note_damping(memory, gains, t, find_inertia(T, M, gains[G_HEAVIEST]))
    wrenches_in_axes(T, wrench, target, task, wanted, felt)
    _switch(gains, dt, wanted, felt, modes, integral)
    into_axes(T.axes, drift, drift_A)
    _motion_acceleration(T, gains, drift, target, task, motion)
    in_contact, first = modes[_CONTACT] > 0.5, T.J.shape[0]
    put(last, 0, integral)
    if in_contact:
        for k in range(6):
            first -= 1 if gains[G_FORCE + k] > 0.5 else 0
        integrate_error(gains, dt, wanted, felt, integral)
    else:
        _approach(T, gains, wanted, drift_A, motion)
    _write(T, gains, q, v, bias, target, motion, first, in_contact, wanted, felt, integral, drift_A, terms)
    if in_contact and saturated(terms, gains[G_LIMITS:]):
        put(integral, 0, last)
        _write(T, gains, q, v, bias, target, motion, first, in_contact, wanted, felt, integral, drift_A, terms)


class HybridForce(ForceLaw):
    """Motion along some directions of a task frame, force or moment along the others, decoupled by the task inertia.

    τ = J_tᵀ (Λ u − [c F_m; F_f]) + N τ₀ + b̂(q, v), with m the motion and f the force directions:
    u_m = A_d + K_d (V_d − V) + K_p e − J̇ v,   u_f = Λ_ff⁻¹ (W + F_f) + d (V_d − V) − J̇ v,
    W = −(φ F_d + k_p (F_d − F) + k_i ∫(F_d − F) dt). F_d and F are what the environment does to the robot.
    Closed loop in contact: ë_m + K_d ė_m + K_p e_m = −Λ⁻¹-weighted (1 − c) F_m, and
    Λ_ff (V̇ + d V)_f = W + F_f: one force axis of apparent mass λ has the poles of `force_loop_poles` with D = λ d.
    Neither force nor motion disturbs the other through Λ's off-diagonal part.
    Contact: with a wanted force and nothing felt, the tool moves along the force directions at the approach speed
    until a threshold is felt; it counts as lost after some time below a share of it. A wanted wrench of 0 makes the
    force directions follow the motion: that is how to leave. Moments are controlled only while in contact.
    Assumes: true model, a wrench sensor. Near a singular posture the lost direction alone is damped (see remarks).
    """

    name: ClassVar[str] = "hybrid-force"
    terms: ClassVar[tuple[str, ...]] = ("motion", "force", "null_space", "bias")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN | NEEDS_DRIFT
    kernel = staticmethod(_kernel)

    force: tuple[Direction, ...] = setting(("z",), "1", "force- or moment-controlled directions")
    motion: tuple[Direction, ...] = setting(("x", "y", "rx", "ry", "rz"), "1", "motion-controlled directions")
    kp: Vector6 = setting((400.0,) * 6, "1/s²", "K_p along x, y, z, rx, ry, rz; along `force` while free of contact")
    kd: Vector6 = setting((40.0,) * 6, "1/s", "K_d along x, y, z, rx, ry, rz")
    force_damping: float = setting(60.0, "1/s", "d along the force directions, in contact and approaching", gt=0)
    approach_speed: float = setting(0.05, "m/s", "speed along a force direction until contact", ge=0)
    approach_rate: float = setting(0.2, "rad/s", "the same about a moment direction", ge=0)
    contact_force: float = setting(1.0, "N", "force that counts as contact", gt=0)
    contact_moment: float = setting(0.1, "N·m", "moment that counts as contact", gt=0)
    release_share: float = setting(0.3, "1", "share of these below which contact is lost", ge=0, lt=1)
    release_time: float = setting(0.05, "s", "how long it must stay below", ge=0)
    friction_feedback: float = setting(
        1.0, "1", "c, share of the measured wrench undone along motion directions", ge=0, le=1
    )
    posture_stiffness: float = setting(5.0, "N·m/rad", "k of the null-space posture", ge=0)
    posture_damping: float = setting(2.0, "N·m·s/rad", "d of the null-space posture", ge=0)

    def gains(self, robot: Robot) -> Array:
        """[task; loop; K_p; K_d; posture; force and contact settings; torque limits]."""
        check_split(robot, self.force, self.motion, self.name)
        refuse_negative("kp", self.kp)
        refuse_negative("kd", self.kd)
        own = [
            *self.kp, *self.kd, self.posture_stiffness, self.posture_damping, self.force_damping,
            self.approach_speed, self.approach_rate, self.contact_force, self.contact_moment,
            self.release_share, self.release_time, self.friction_feedback,
        ]  # fmt: skip
        head = self.task_gains(robot, self.motion + self.force)
        return np.concatenate([head, self.loop_gains(self.force), own, robot.limits.torque])

    def memory(self, robot: Robot) -> Array:
        """As the other force laws, and the state of the contact."""
        return np.zeros(super().memory(robot).size + _MODES)

    def remarks(self, memory: Array) -> list[str]:
        """Contacts made and lost, and directions lost near singular postures."""
        made, lost = memory[memory.size - 24 - _MODES + _MADE], memory[memory.size - 24 - _MODES + _LOST]
        return [f"{self.name}: contact made {int(made)} times, lost {int(lost)} times", *super().remarks(memory)]

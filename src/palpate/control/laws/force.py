"""Force control (document 002): integral control of the tip force, and direct PI control against a compliant wall."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.config import Vector6, setting
from palpate.control.law import NEEDS_BIAS, NEEDS_JACOBIAN, NEEDS_M, law_kernel
from palpate.control.steps.force_loop import (
    G_FORCE,
    G_FORWARD,
    G_LOOP,
    G_P,
    integrate_error,
    saturated,
    torque_of,
    wrenches_in_axes,
)
from palpate.control.steps.linear_algebra import times
from palpate.control.steps.task_space import (
    DIRECTIONS,
    G_HEAVIEST,
    Direction,
    TaskLaw,
    checked_directions,
    find_errors,
    find_inertia,
    into_null_space,
    note_damping,
    open_task,
    set_axes,
    set_rows,
)
from palpate.engine import put
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

# Gains of the direct law after the loop's: K, D, posture stiffness and damping, torque limits.
G_K, G_D, G_POSTURE, G_LIMITS = G_LOOP, G_LOOP + 6, G_LOOP + 12, G_LOOP + 14
_OWN = 24  # memory after the task's scratch: integral, its last value, wanted and measured wrench


@register_jitable
def own_memory(memory):
    """(integral, last, wanted, felt), six numbers each, at the end of the memory."""
    start = memory.size - _OWN
    return (
        memory[start : start + 6],
        memory[start + 6 : start + 12],
        memory[start + 12 : start + 18],
        memory[start + 18 :],
    )


@law_kernel
def _integral_kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n, task = v.size, q.size + 2 * v.size
    T = open_task(gains, memory, n)
    integral, last, wanted, felt = own_memory(memory)
    set_axes(T, gains, R, target, task)
    set_rows(T, gains, J)
    wrenches_in_axes(T, wrench, target, task, wanted, felt)
    put(last, 0, integral)
    integrate_error(gains, dt, wanted, felt, integral)
    torque_of(T, gains, integral, -1.0, terms[0])
    torque_of(T, gains, wanted, -gains[G_FORWARD], terms[1])
    times(M, v, terms[2])
    for j in range(n):
        terms[2, j] *= -gains[G_LOOP]
        terms[3, j] = bias[j]
    if saturated(terms, gains[G_LOOP + 1 :]):
        put(integral, 0, last)
        torque_of(T, gains, integral, -1.0, terms[0])


@register_jitable
def pi_wrench(gains, wanted, felt, out):
    """F_d + k_p (F_d − F) along the force-controlled directions, 0 along the others."""
    for k in range(6):
        out[k] = 0.0
        if gains[G_FORCE + k] > 0.5:
            out[k] = gains[G_FORWARD] * wanted[k] + gains[G_P] * (wanted[k] - felt[k])


@law_kernel
def direct_kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    """Spring and damper everywhere K and D say, PI force control along the marked directions."""
    n, task = v.size, q.size + 2 * v.size
    T = open_task(gains, memory, n)
    integral, last, wanted, felt = own_memory(memory)
    set_axes(T, gains, R, target, task)
    find_errors(T, gains, memory, v, p, R, J, target, task)
    set_rows(T, gains, J)
    note_damping(memory, gains, t, find_inertia(T, M, gains[G_HEAVIEST]))
    wrenches_in_axes(T, wrench, target, task, wanted, felt)
    for k in range(6):
        T.error[k] *= gains[G_K + k]
        T.rate[k] *= gains[G_D + k]
    torque_of(T, gains, T.error, 1.0, terms[0])
    torque_of(T, gains, T.rate, 1.0, terms[1])
    pi_wrench(gains, wanted, felt, T.work)
    torque_of(T, gains, T.work, -1.0, terms[2])
    put(last, 0, integral)
    integrate_error(gains, dt, wanted, felt, integral)
    torque_of(T, gains, integral, -1.0, terms[3])
    for j in range(n):
        terms[4, j] = gains[G_POSTURE] * (target[j] - q[j]) - gains[G_POSTURE + 1] * v[j]
        terms[5, j] = bias[j]
    into_null_space(T, terms[4])
    if saturated(terms, gains[G_LIMITS:]):
        put(integral, 0, last)
        torque_of(T, gains, integral, -1.0, terms[3])


class ForceLaw(TaskLaw):
    """What the laws with a force integral have in common; abstract."""

    integral: float = setting(10.0, "1/s", "k_i of the force error", ge=0)
    proportional: float = setting(0.0, "1", "k_p of the force error", ge=0)
    feed_forward: float = setting(1.0, "1", "share of the wanted wrench applied at once", ge=0, le=1)
    most_force: float = setting(100.0, "N", "bound of the integral along a direction (anti-windup)", gt=0)
    most_moment: float = setting(20.0, "N·m", "bound of the integral about a direction (anti-windup)", gt=0)

    def loop_gains(self, force: tuple[Direction, ...]) -> list[float]:
        """What `force_loop` reads after the task's head."""
        marked = [float(d in force) for d in DIRECTIONS]
        return [self.proportional, self.integral, self.feed_forward, self.most_force, self.most_moment, *marked]

    def memory(self, robot: Robot) -> Array:
        """A count of damped ticks, scratch, and the force integral."""
        return np.zeros(super().memory(robot).size + _OWN)


class IntegralForce(ForceLaw):
    """The tip force of an arm that touches: τ = −J_tᵀ (k ∫(F_d − F) dt + φ F_d) − d M̂ v + b̂(q, v).

    F_d (target) and F (measured) are what the environment does to the robot; the robot presses with −F_d.
    Closed loop with an immovable tip, φ = 0: F = k/(s + k) F_d on every axis by itself, whatever the posture: 2 % after
    ln 50 / k. φ = 1 (feed-forward) reaches F_d at once where the model is true, and k removes the rest. The map is
    τ = Jᵀ F, not its inverse as document 002 prints. Sampled at a period T it needs k T < 2.
    Anti-windup: the integral stays within its bounds, and stops while a joint torque is beyond its limit.
    Assumes: contact all the time (a free arm is driven until something stops it), slow motion.
    """

    name: ClassVar[str] = "integral-force"
    terms: ClassVar[tuple[str, ...]] = ("integral", "feed_forward", "damper", "bias")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN
    kernel = staticmethod(_integral_kernel)

    directions: tuple[Direction, ...] = setting(("x", "y", "z"), "1", "force- or moment-controlled directions")
    joint_damping: float = setting(5.0, "1/s", "d: damps what the contact leaves free", ge=0)

    def gains(self, robot: Robot) -> Array:
        """[task; loop; d; torque limits]."""
        checked_directions(robot, self.directions, self.name)
        loop = [*self.loop_gains(self.directions), self.joint_damping]
        return np.concatenate([self.task_gains(robot, self.directions), loop, robot.limits.torque])


class DirectForce(ForceLaw):
    """PI force control along chosen directions, a spring and damper along the others.

    τ = J_tᵀ (K e + D (V_d − V) − [F_d + k_p (F_d − F) + k_i ∫(F_d − F) dt]_f) + N τ₀ + b̂(q, v), K = 0 along the force
    directions f. F_d and F are what the environment does to the robot.
    Closed loop of one force axis of apparent mass λ against a wall k_w, d_w:
    λ s³ + (D + (1 + k_p) d_w) s² + ((1 + k_p) k_w + k_i d_w) s + k_i k_w = 0, steady force F_d; stable without wall
    damping for k_i < (1 + k_p) D / λ (`force_loop_poles`). Free of contact it moves at about (1 + k_p) F_d / D, and
    faster as its integral winds up to its bound.
    Assumes: contact; directions that hardly couple through the task inertia (see the hybrid law if they do).
    """

    name: ClassVar[str] = "direct-force"
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "force", "integral", "null_space", "bias")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS | NEEDS_JACOBIAN
    kernel = staticmethod(direct_kernel)

    force: tuple[Direction, ...] = setting(("z",), "1", "force- or moment-controlled directions")
    motion: tuple[Direction, ...] = setting(("x", "y", "rx", "ry", "rz"), "1", "motion-controlled directions")
    stiffness: Vector6 = setting(
        (400.0, 400.0, 400.0, 20.0, 20.0, 20.0), "N/m, N·m/rad", "K along x, y, z, rx, ry, rz; unused along `force`"
    )
    damping: Vector6 = setting((80.0, 80.0, 80.0, 4.0, 4.0, 4.0), "N·s/m, N·m·s/rad", "D along x, y, z, rx, ry, rz")
    posture_stiffness: float = setting(5.0, "N·m/rad", "k of the null-space posture", ge=0)
    posture_damping: float = setting(2.0, "N·m·s/rad", "d of the null-space posture", ge=0)

    def springs(self) -> Array:
        """K, without the force-controlled directions."""
        return np.array([0.0 if d in self.force else k for d, k in zip(DIRECTIONS, self.stiffness)])

    def gains(self, robot: Robot) -> Array:
        """[task; loop; K; D; posture; torque limits]."""
        check_split(robot, self.force, self.motion, self.name)
        for name, values in (("stiffness", self.stiffness), ("damping", self.damping)):
            refuse_negative(name, values)
        chosen = self.motion + self.force
        own = [*self.springs(), *self.damping, self.posture_stiffness, self.posture_damping]
        head = self.task_gains(robot, chosen)
        return np.concatenate([head, self.loop_gains(self.force), own, robot.limits.torque])


def check_split(robot: Robot, force: tuple[Direction, ...], motion: tuple[Direction, ...], law: str) -> None:
    """Refuse a direction that is both force- and motion-controlled, no force direction, or too many for the robot."""
    if not force:
        raise InvalidInput(f"{law}: name at least one force direction of {', '.join(DIRECTIONS)}")
    both = sorted(set(force) & set(motion))
    if both:
        raise InvalidInput(f"{law}: {', '.join(both)} cannot be both force- and motion-controlled")
    checked_directions(robot, motion + force, law)


def refuse_negative(name: str, values: tuple[float, ...]) -> None:
    """Refuse a gain below 0, naming its direction."""
    for direction, value in zip(DIRECTIONS, values):
        if value < 0:
            raise InvalidInput(f"{name} along {direction} must be at least 0, got {value:g}")

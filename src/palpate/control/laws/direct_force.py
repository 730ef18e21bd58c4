"""Direct PI force control against a compliant wall (document 002)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from palpate.checks import Array
from palpate.config import Vector6, setting
from palpate.control.law import Need, Tick, law_kernel
from palpate.control.steps.force_loop import (
    ForceGains,
    ForceLaw,
    ForceMemory,
    check_split,
    integrate_error,
    is_beyond,
    pi_wrench,
    refuse_negative,
    torque_of,
    wrenches_in_axes,
)
from palpate.control.steps.task_space import DIRECTIONS, Direction, Posture, hold_posture, open_task
from palpate.engine.kernels import put
from palpate.engine.records import Record, Vector, sized
from palpate.robot.robot import Robot


class Gains(ForceGains):
    """K and D along the axes of A; the posture."""

    K: Vector = sized(6)
    D: Vector = sized(6)
    posture: Posture


class Terms(Record):
    """What the torque is made of."""

    spring: Vector = sized("nv")
    damper: Vector = sized("nv")
    force: Vector = sized("nv")
    integral: Vector = sized("nv")
    null_space: Vector = sized("nv")
    bias: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: ForceMemory, out: Terms) -> None:
    open_task(x, k, m)
    wrenches_in_axes(x, m)
    integrate_error(x.dt, k, m)
    for i in range(6):
        m.e[i] *= k.K[i]
        m.e_rate[i] *= k.D[i]
    torque_of(1.0, m.e, k, m, out.spring)  # J_tᵀ K e
    torque_of(1.0, m.e_rate, k, m, out.damper)  # J_tᵀ D (V_d − V)
    pi_wrench(k, m, m.W)
    torque_of(-1.0, m.W, k, m, out.force)  # −J_tᵀ (φ F_d + k_p (F_d − F))
    torque_of(-1.0, m.integral, k, m, out.integral)  # −J_tᵀ k_i ∫(F_d − F) dt
    hold_posture(x, k.posture, m, out.null_space)
    for j in range(x.v.size):
        out.bias[j] = x.bias[j]
        m.tau[j] = out.spring[j] + out.damper[j] + out.force[j] + out.integral[j] + out.null_space[j] + out.bias[j]
    if is_beyond(m.tau, k.limits):
        put(m.integral, 0, m.integral_before)
        torque_of(-1.0, m.integral, k, m, out.integral)


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
    needs: ClassVar[tuple[Need, ...]] = ("M", "bias", "J")
    kernel = _kernel

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

    def chosen(self) -> tuple[Direction, ...]:
        """The motion-controlled directions, then the force-controlled ones."""
        return self.motion + self.force

    def gains(self, robot: Robot) -> Gains:
        """K, D and the posture beside the loop's."""
        check_split(self.force, self.motion, self.name)
        self.check_directions(robot)
        for name, values in (("stiffness", self.stiffness), ("damping", self.damping)):
            refuse_negative(name, values)
        posture = Posture(stiffness=self.posture_stiffness, damping=self.posture_damping)
        return Gains(**self.loop_gains(robot, self.force), K=self.springs(), D=self.damping, posture=posture)

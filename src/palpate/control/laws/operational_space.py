"""Operational-space control."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from palpate.checks import Array, finite_array
from palpate.config import PerJoint, Vector6, setting
from palpate.control.report import LawReport
from palpate.control.steps.linear_algebra import times
from palpate.control.steps.task_space import (
    DIRECTIONS,
    Direction,
    MotionTerms,
    TaskGains,
    TaskLaw,
    TaskMemory,
    accelerate,
    find_acceleration,
    find_inertia,
    into_null_space,
    is_close,
    keep_clear,
    open_task,
    pull_to_posture,
)
from palpate.control.tick import Tick, law_kernel
from palpate.engine.kernels import put
from palpate.engine.records import Matrix, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_LEAST_SIGMA = 0.02  # m: singular values of J_t below this are damped in the kinematic projector


class Gains(TaskGains):
    """K_p and K_d along the axes of A, 1/s² and 1/s; how the posture is kept out of the task."""

    kp: Vector = sized(6)
    kd: Vector = sized(6)
    kinematic: bool


class Memory(TaskMemory):
    """Scratch besides the task's."""

    a_0: Vector = sized("nv")  # what the posture asks for
    unit: Matrix = sized("nv", "nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: MotionTerms) -> None:
    open_task(x, k, m)
    find_acceleration(x, True, m)
    for i in range(6):
        m.e[i] *= k.kp[i]
        m.e_rate[i] *= k.kd[i]
    accelerate(k, m, m.e, out.spring)  # J_tᵀ Λ K_p e
    accelerate(k, m, m.e_rate, out.damper)  # J_tᵀ Λ K_d (V_d − V)
    accelerate(k, m, m.A_d, out.feed_forward)  # J_tᵀ Λ (A_d − J̇ v)
    put(out.bias, 0, x.bias)
    pull_to_posture(x, k.posture, m.a_0)
    if k.kinematic:  # M (1 − J⁺ J) a₀: with M = 1 the same steps give Λ = (J Jᵀ)⁻¹ and N = 1 − J⁺ J
        find_inertia(m.unit, 1.0 / (_LEAST_SIGMA * _LEAST_SIGMA), m)
        into_null_space(m, m.a_0)
        times(x.M, m.a_0, out.null_space)
    else:  # N M a₀
        times(x.M, m.a_0, out.null_space)
        into_null_space(m, out.null_space)
    if k.kinematic and is_close(x, k.clear):
        find_inertia(x.M, k.heaviest, m)
    keep_clear(x, k, m, out.null_space, out.null_space)


class OperationalSpace(TaskLaw):
    """The tool as a unit mass: τ = J_tᵀ Λ (A_d + K_d (V_d − V) + K_p e − J̇ v)_t + τ_N + b̂(q, v).

    The same as F = Λ A* + μ + p with τ = Jᵀ F, and the bias of the null space cancelled too. e = [p_d − p; orientation
    error]; t marks the chosen directions. A posture is held in the null space by τ_N = N M a₀ ("dynamic") or
    M (1 − J_t⁺ J_t) a₀ ("kinematic"), a₀ = k (q_d − q) − d v; neither moves a chosen direction, they differ in which
    norm they minimise: kinetic energy, or joint displacement.
    Closed loop in the chosen directions: A = A_d + K_d (V_d − V) + K_p e + Λ⁻¹-weighted outside forces; for positions
    ë + K_d ė + K_p e = −Λ⁻¹ F, every direction independently; for orientations the same to first order in the angle.
    Assumes: true model. Near a singular posture only the singular direction is damped, and the run's remarks say so.
    """

    name: ClassVar[str] = "operational-space"
    kernel = _kernel

    directions: tuple[Direction, ...] = setting(DIRECTIONS, "1", "controlled: along x, y, z; about rx, ry, rz")
    frequency: float | Vector6 = setting(10.0, "rad/s", "ω > 0 of the error, one for all or along x, y, z, rx, ry, rz")
    damping_ratio: float | Vector6 = setting(1.0, "1", "ζ ≥ 0 of the error")
    kp: float | Vector6 | None = setting(None, "1/s²", "K_p ≥ 0 directly, instead of ω; give kd with it")
    kd: float | Vector6 | None = setting(None, "1/s", "K_d ≥ 0 directly, instead of ζ; give kp with it")
    projector: Literal["dynamic", "kinematic"] = setting("dynamic", "1", "projector of the null space")
    posture_stiffness: PerJoint = setting(25.0, "1/s²", "k of the null-space posture")
    posture_damping: PerJoint = setting(10.0, "1/s", "d of the null-space posture: joint velocity damping")

    def chosen(self) -> tuple[Direction, ...]:
        """The controlled directions."""
        return self.directions

    @property
    def report(self) -> LawReport:
        """Its literature."""
        return replace(super().report, literature=("10.1109/JRA.1987.1087068",))

    def gains(self, robot: Robot) -> Gains:
        """K_p and K_d, beside the task's."""
        task, (kp, kd) = self.task_gains(robot), self._pair()
        return Gains(**task, kp=kp, kd=kd, kinematic=self.projector == "kinematic")

    def posture_gains(self) -> tuple[PerJoint, PerJoint]:
        """k and d, of accelerations."""
        return self.posture_stiffness, self.posture_damping

    def memory(self, robot: Robot) -> Memory:
        """Counts for the remarks, and scratch."""
        return Memory(self.record_sizes(robot), unit=np.eye(robot.nv))

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


def six(value: float | Sequence[float], name: str) -> Array:
    """Six numbers ≥ 0, from one for all or six."""
    numbers = finite_array(np.full(6, value) if isinstance(value, int | float) else value, name, (6,))
    if numbers.min() < 0:
        raise InvalidInput(f"{name} must not be negative, got {numbers}")
    return numbers

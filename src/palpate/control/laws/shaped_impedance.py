"""Cartesian impedance control with a force sensor: the inertia is chosen too."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from palpate.checks import Array
from palpate.config import setting
from palpate.control.design.damping import damping_by_ratio
from palpate.control.report import LawReport
from palpate.control.steps.linear_algebra import times, transpose_times
from palpate.control.steps.task_space import (
    DIRECTIONS,
    LEVER,
    Direction,
    Gain6,
    PostureLaw,
    TaskGains,
    TaskMemory,
    accelerate,
    find_acceleration,
    hold_posture,
    into_axes,
    open_task,
    push_along,
    symmetric6,
)
from palpate.control.tick import Tick, law_kernel
from palpate.control.traits import LawTraits
from palpate.engine.kernels import kernel, put
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.robot.robot import Robot


class Gains(TaskGains):
    """M_d⁻¹, M_d⁻¹ K and M_d⁻¹ D: rows of the chosen directions (angular ones times the lever) × 6."""

    admit: Matrix = sized("k", 6)
    admit_K: Matrix = sized("k", 6)
    admit_D: Matrix = sized("k", 6)


class Memory(TaskMemory):
    """Scratch besides the task's."""

    pushed: Vector = sized("nv")  # Jᵀ F
    natural: Vector = sized("k")  # J_t M⁻¹ Jᵀ F


class Terms(Record):
    """Terms of the torque."""

    spring: Vector = sized("nv")
    damper: Vector = sized("nv")
    force: Vector = sized("nv")
    feed_forward: Vector = sized("nv")
    null_space: Vector = sized("nv")
    bias: Vector = sized("nv")


@kernel
def _answer_force(x: Tick, k: Gains, m: Memory, out: Vector) -> None:
    """out = J_tᵀ Λ (M_d⁻¹ F − J_t M⁻¹ Jᵀ F): the answer of the wanted mass instead of the arm's own."""
    into_axes(m.axes, x.wrench, m.inside)
    times(k.admit, m.inside, m.a)
    transpose_times(x.J, x.wrench, m.pushed)
    times(m.Y, m.pushed, m.natural)
    for i in range(m.a.size):
        m.a[i] -= m.natural[i]
    push_along(m, m.a, out)


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    open_task(x, k, m)
    find_acceleration(x, True, m)
    times(k.admit_K, m.e, m.a)
    push_along(m, m.a, out.spring)  # J_tᵀ Λ M_d⁻¹ K e
    times(k.admit_D, m.e_rate, m.a)
    push_along(m, m.a, out.damper)  # J_tᵀ Λ M_d⁻¹ D (V_d − V)
    _answer_force(x, k, m, out.force)
    accelerate(k, m, m.A_d, out.feed_forward)  # J_tᵀ Λ (A_d − J̇ v)
    hold_posture(x, k, m, out.null_space)
    put(out.bias, 0, x.bias)


class ShapedImpedance(PostureLaw):
    """A chosen mass, spring and damper at the tool: τ = J_tᵀ Λ (a − J̇ v − J M⁻¹ Jᵀ F)_t + N τ₀ + b̂(q, v).

    a = A_d + M_d⁻¹ (K e + D (V_d − V) + F), with the measured wrench F of the environment on the robot.
    Closed loop in the chosen directions: M_d (A − A_d) = K e + D (V_d − V) + F; with e = desired − measured
    M_d ë + D ė + K e = −F: a push moves the tool like the wanted mass, not like the arm.
    Assumes: true model, and a wrench measured at the tool without delay. A mass much below the natural one asks the
    sensor loop for a gain of Λ/M_d − 1 and is unstable with delay; choose M_d within a factor of about 3 of Λ.
    """

    name: ClassVar[str] = "shaped-impedance"
    kernel = _kernel

    mass: Gain6 = setting((5.0, 5.0, 5.0, 0.2, 0.2, 0.2), "kg, kg·m²", "M_d: six numbers or 6×6, positive definite")
    stiffness: Gain6 = setting((400.0, 400.0, 400.0, 20.0, 20.0, 20.0), "N/m, N·m/rad", "K: six numbers or 6×6")
    damping: Gain6 | None = setting(None, "N·s/m, N·m·s/rad", "D: six numbers or 6×6; by damping_ratio if not given")
    damping_ratio: float = setting(0.7, "1", "ζ of every mode of M_d and K where no damping is given", ge=0)
    directions: tuple[Direction, ...] = setting(DIRECTIONS, "1", "shaped directions; the others are null space")

    def chosen(self) -> tuple[Direction, ...]:
        """The shaped directions."""
        return self.directions

    @property
    def traits(self) -> LawTraits:
        """Its spring presses."""
        return replace(super().traits, yields=True)

    @property
    def report(self) -> LawReport:
        """Its literature."""
        return replace(super().report, literature=("10.1115/1.3140702",))

    def gains(self, robot: Robot) -> Gains:
        """M_d⁻¹, M_d⁻¹ K and M_d⁻¹ D over the chosen directions, beside the task's."""
        task, (mass, D, K) = self.task_gains(robot), self.matrices()
        rows = [DIRECTIONS.index(d) for d in self.directions]
        lever = np.diag([1.0 if row < 3 else LEVER for row in rows])
        admit = lever @ np.linalg.inv(mass[np.ix_(rows, rows)]) @ np.eye(6)[rows]
        chosen = np.diag([float(d in self.directions) for d in DIRECTIONS])
        admit_K, admit_D = admit @ (chosen @ K @ chosen), admit @ (chosen @ D @ chosen)
        return Gains(**task, admit=admit, admit_K=admit_K, admit_D=admit_D)

    def matrices(self) -> tuple[Array, Array, Array]:
        """M_d, D and K as used, 6×6; D given, or by its ratio."""
        mass, K = symmetric6(self.mass, "mass", definite=True), symmetric6(self.stiffness, "stiffness")
        if self.damping is None:
            return mass, damping_by_ratio(K, np.linalg.inv(mass), self.damping_ratio), K
        return mass, symmetric6(self.damping, "damping"), K

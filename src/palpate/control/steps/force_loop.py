"""Steps that the force laws share: the force error in the task's axes, its integral, and wrenches as joint torques.

Signs: the wanted wrench F_d of a target and the measured F are both what the environment does to the robot. The robot
answers with W = −(…) on the environment, τ = J_tᵀ W, so that a wall that gives back what it gets makes F = −W.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palpate.checks import finite_number
from palpate.config import setting
from palpate.control.report import LawReport, sentences_that_hold
from palpate.control.steps.linear_algebra import transpose_times
from palpate.control.steps.task_space import (
    DIRECTIONS,
    Direction,
    PostureLaw,
    TaskGains,
    TaskLaw,
    TaskMemory,
    into_axes,
    lever_of,
)
from palpate.control.tick import Tick
from palpate.control.traits import LawTraits
from palpate.engine.kernels import kernel, put
from palpate.engine.records import Integers, Kept, State, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_FELT = 0.01  # of the wanted force: less is none
INTEGRAL = 10.0  # 1/s, where arm, damping and clock allow


class ForceGains(TaskGains):
    """k_p, k_i and φ of the force loop, which directions it has, and its bounds."""

    proportional: float
    integral: float
    feed_forward: float
    most: Vector = sized(6)  # bound of the integral along and about each axis
    forced: Integers = sized(6)  # 1 where a direction is force-controlled
    limits: Vector = sized("nv")  # joint torques


class ForceMemory(TaskMemory):
    """The force integral, and as it was before this tick; what the remarks tell; then scratch."""

    wound: Kept[int] = 0  # ticks at which the integral was at its bound,
    saturated: Kept[int] = 0  # or held because a torque was beyond its limit
    wanted: Kept[float] = 0.0  # N or N·m, the largest wanted,
    felt: Kept[float] = 0.0  # and felt along a force-controlled direction
    integral: State[Vector] = sized(6)  # k_i ∫ (F_d − F) dt, axes of A
    integral_before: Vector = sized(6)
    F_d: Vector = sized(6)  # wanted,
    F: Vector = sized(6)  # and measured wrench, axes of A
    W: Vector = sized(6)
    tau: Vector = sized("nv")


@kernel
def wrenches_in_axes(x: Tick, m: ForceMemory) -> None:
    """F_d and F in the axes of A."""
    into_axes(m.axes, x.target.wrench, m.F_d)
    into_axes(m.axes, x.wrench, m.F)


@kernel
def integrate_error(dt: float, k: ForceGains, m: ForceMemory) -> None:
    """integral += k_i (F_d − F) dt along the force-controlled directions, never beyond its bound."""
    k_i, wound = k.integral, 0
    put(m.integral_before, 0, m.integral)
    for i in range(6):
        if k.forced[i]:
            m.integral[i] += dt * k_i * (m.F_d[i] - m.F[i])
            wound = 1 if abs(m.integral[i]) > k.most[i] else wound
            m.integral[i] = min(max(m.integral[i], -k.most[i]), k.most[i])
            m.wanted = max(m.wanted, abs(m.F_d[i]))
            m.felt = max(m.felt, abs(m.F[i]))
    m.wound += wound


@kernel
def undo_integral(m: ForceMemory) -> None:
    """Take the last step of the integral back; counted."""
    put(m.integral, 0, m.integral_before)
    m.saturated += 1


@kernel
def pi_wrench(k: ForceGains, m: ForceMemory, out: Vector) -> None:
    """out = φ F_d + k_p (F_d − F) along the force-controlled directions, 0 along the others."""
    phi, k_p = k.feed_forward, k.proportional
    for i in range(6):
        out[i] = phi * m.F_d[i] + k_p * (m.F_d[i] - m.F[i]) if k.forced[i] else 0.0


@kernel
def torque_of(factor: float, W: Vector, k: TaskGains, m: TaskMemory, out: Vector) -> None:
    """out = factor · J_tᵀ W over the task's directions; W in the axes of A."""
    for i in range(k.choice.size):
        direction = k.choice[i]
        m.force[i] = factor * (W[direction] / lever_of(direction))
    transpose_times(m.J_t, m.force, out)


@kernel
def is_beyond(tau: Vector, limits: Vector) -> bool:
    """Whether a joint torque is beyond its limit."""
    for j in range(tau.size):
        if abs(tau[j]) > limits[j]:
            return True
    return False


class ForceLaw(TaskLaw):
    """Common base of the laws with a force integral; abstract."""

    integral: float | None = setting(
        None, "1/s", "k_i of the force error; at most 10, as arm, damping and period allow, if not given", ge=0
    )
    proportional: float = setting(0.0, "1", "k_p of the force error", ge=0)
    feed_forward: float = setting(1.0, "1", "share of the desired wrench applied at once", ge=0, le=1)
    most_force: float = setting(100.0, "N", "bound of the integral along a direction (anti-windup)", gt=0)
    most_moment: float = setting(20.0, "N·m", "bound of the integral about a direction (anti-windup)", gt=0)

    @property
    def traits(self) -> LawTraits:
        """The directions along which it controls a force."""
        return replace(super().traits, force_directions=self.forced_directions())

    @property
    def report(self) -> LawReport:
        """The force first; what kept it from being what was wanted."""
        return replace(super().report, figure="force", remarks=self.remarks_of, alarms=self.alarms_of)

    def loop_gains(self, robot: Robot) -> dict[str, Any]:
        """The fields of `ForceGains`, the task's among them."""
        return {
            **self.task_gains(robot),
            "proportional": self.proportional or 0.0,
            "integral": self.integral or 0.0,
            "feed_forward": self.feed_forward,
            "most": np.repeat([self.most_force, self.most_moment], 3),
            "forced": [int(d in self.forced_directions()) for d in DIRECTIONS],
            "limits": robot.limits.torque,
        }

    def remarks_of(self, memory: Any) -> list[str]:
        """Where the force could not be what was wanted, and directions lost near singular postures."""
        at_bound = f"{self.name}: the force integral was at its bound at {memory.wound} ticks"
        held = f"{self.name}: the force integral was held at {memory.saturated} ticks, a torque beyond its limit"
        return [*sentences_that_hold({at_bound: memory.wound, held: memory.saturated}), *super().remarks_of(memory)]

    def alarms_of(self, memory: Any) -> list[str]:
        """A force that was wanted and never felt."""
        if memory.wanted > 0.0 and memory.felt < _FELT * memory.wanted:
            most = f"{memory.wanted:.3g} N or N·m"
            return [f"{self.name}: up to {most} was desired, but none was measured: there was no contact"]
        return []


class PressingLaw(PostureLaw, ForceLaw):
    """The same beside motion-controlled directions, with a posture held beneath them all; abstract."""

    force: tuple[Direction, ...] = setting(("z",), "1", "force- or moment-controlled directions")
    motion: tuple[Direction, ...] = setting(("x", "y", "rx", "ry", "rz"), "1", "motion-controlled directions")

    def forced_directions(self) -> tuple[Direction, ...]:
        """As set by `force`."""
        return self.force

    def chosen(self) -> tuple[Direction, ...]:
        """The motion-controlled directions, then the force-controlled ones."""
        return self.motion + self.force

    def check_directions(self, robot: Robot) -> None:
        """Refuse no force direction, and one that is both force- and motion-controlled, too."""
        if not self.force:
            raise InvalidInput(f"{self.name}: name at least one force direction of {', '.join(DIRECTIONS)}")
        both = sorted(set(self.force) & set(self.motion))
        if both:
            raise InvalidInput(f"{self.name}: {', '.join(both)} cannot be both force- and motion-controlled")
        super().check_directions(robot)


def refuse_negative(name: str, values: Sequence[float]) -> None:
    """Refuse a gain below 0, naming its direction."""
    for direction, value in zip(DIRECTIONS, values):
        if value < 0:
            raise InvalidInput(f"{name} along {direction} must be at least 0, got {value:g}")


def force_loop_poles(
    mass: float,
    damping: float,
    integral: float,
    wall_stiffness: float,
    *,
    proportional: float = 0.0,
    wall_damping: float = 0.0,
    stiffness: float = 0.0,
) -> NDArray[np.complex128]:
    """Poles of one axis of a PI force loop against a compliant wall, 1/s, slowest first.

    λ s³ + (D + (1 + k_p) d_w) s² + (K + (1 + k_p) k_w + k_i d_w) s + k_i k_w = 0 in continuous time.

    Args:
        mass: apparent mass λ along the axis, kg.
        damping: D, N·s/m.
        integral: k_i, 1/s.
        wall_stiffness: k_w, N/m.
        proportional: k_p, 1.
        wall_damping: d_w, N·s/m.
        stiffness: K along the axis, N/m; 0 for direct, > 0 for parallel force control.
    """
    m, k_w = finite_number(mass, "mass", above=0.0), finite_number(wall_stiffness, "wall_stiffness", above=0.0)
    D, k_i = finite_number(damping, "damping", least=0.0), finite_number(integral, "integral", least=0.0)
    k_p, d_w = finite_number(proportional, "proportional", least=0.0), finite_number(wall_damping, "wall_damping")
    K = finite_number(stiffness, "stiffness", least=0.0)
    poles = np.roots([m, D + (1 + k_p) * d_w, K + (1 + k_p) * k_w + k_i * d_w, k_i * k_w])
    return poles[np.argsort(-poles.real)].astype(np.complex128)

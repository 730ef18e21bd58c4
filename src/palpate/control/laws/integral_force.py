"""Integral control of the tip force."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

from palpate.config import setting
from palpate.control.report import LawReport
from palpate.control.rig import Rig
from palpate.control.steps.force_loop import (
    INTEGRAL,
    ForceGains,
    ForceLaw,
    ForceMemory,
    integrate_error,
    is_beyond,
    torque_of,
    undo_integral,
    wrenches_in_axes,
)
from palpate.control.steps.linear_algebra import times
from palpate.control.steps.task_space import Direction, find_inertia, is_close, keep_clear, set_axes, set_rows
from palpate.control.tick import Tick, law_kernel
from palpate.control.traits import LawTraits
from palpate.engine.kernels import clear
from palpate.engine.records import Record, Vector, sized
from palpate.robot.robot import Robot

_DAMPING = 30.0  # 1/s, where the clock allows


class Gains(ForceGains):
    """The joints' damping d, 1/s."""

    joint_damping: float


class Terms(Record):
    """Terms of the torque."""

    integral: Vector = sized("nv")
    feed_forward: Vector = sized("nv")
    damper: Vector = sized("nv")
    null_space: Vector = sized("nv")
    bias: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: ForceMemory, out: Terms) -> None:
    d, phi = k.joint_damping, k.feed_forward
    set_axes(x, k, m)
    set_rows(x, k, m)
    wrenches_in_axes(x, m)
    integrate_error(x.dt, k, m)
    torque_of(-1.0, m.integral, k, m, out.integral)  # −J_tᵀ k ∫(F_d − F) dt
    torque_of(-phi, m.F_d, k, m, out.feed_forward)  # −J_tᵀ φ F_d
    times(x.M, x.v, out.damper)
    for j in range(x.v.size):
        out.damper[j] *= -d
        out.bias[j] = x.bias[j]
        m.tau[j] = out.integral[j] + out.feed_forward[j] + out.damper[j] + out.bias[j]
    if is_beyond(m.tau, k.limits):
        undo_integral(m)
        torque_of(-1.0, m.integral, k, m, out.integral)
    clear(out.null_space)
    if is_close(x, k.clear):
        find_inertia(x.M, k.heaviest, m)
        keep_clear(x, k, m, out.damper, out.null_space)


class IntegralForce(ForceLaw):
    """The tip force of an arm that touches: τ = −J_tᵀ (k ∫(F_d − F) dt + φ F_d) − d M̂ v + N τ_e + b̂(q, v).

    F_d (target) and F (measured) are exerted by the environment on the robot; the robot presses with −F_d.
    Closed loop with an immovable tip, φ = 0: F = k/(s + k) F_d on every axis independently, in every posture: 2 % after
    ln 50 / k. φ = 1 (feed-forward) reaches F_d at once where the model is true, and k removes the rest. The map is
    τ = Jᵀ F, not its inverse. Sampled at a period T it needs k T < 2.
    N τ_e keeps the joints clear of their stops and rated speeds where that moves no chosen direction.
    Anti-windup: the integral stays within its bounds, and stops while a joint torque is beyond its limit.
    Assumes: contact all the time (a free arm is driven until something stops it), slow motion.
    """

    name: ClassVar[str] = "integral-force"
    kernel = _kernel

    directions: tuple[Direction, ...] = setting(("x", "y", "z"), "1", "force- or moment-controlled directions")
    joint_damping: float | None = setting(
        None, "1/s", "d: damps unconstrained motion; 30, less for a long period, if not given", ge=0
    )

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """d = min(30, 0.2/T_e) and k = min(10, d/3), where not given: half of what an undamped wall bears, k < d."""
        d = min(_DAMPING, 0.2 / rig.lag) if self.joint_damping is None else self.joint_damping
        k = min(INTEGRAL, d / 3) if self.integral is None else self.integral
        return super().suited(robot, rig).model_copy(update={"joint_damping": d, "integral": k})

    def chosen(self) -> tuple[Direction, ...]:
        """The force- or moment-controlled directions."""
        return self.directions

    def forced_directions(self) -> tuple[Direction, ...]:
        """All of them."""
        return self.directions

    @property
    def traits(self) -> LawTraits:
        """It has no use for one setting of the laws with a force loop."""
        return replace(super().traits, ignored={"proportional": "its equation has no proportional term"})

    @property
    def report(self) -> LawReport:
        """Its literature, beside what laws with a force loop tell."""
        return replace(super().report, literature=("10.1007/978-1-4615-4431-9",))

    def gains(self, robot: Robot) -> Gains:
        """The joint damping beside the loop's."""
        return Gains(**self.loop_gains(robot), joint_damping=self.joint_damping or 0.0)

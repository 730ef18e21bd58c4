"""Inverse dynamics (computed torque) control in joint space."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from palpate.config import PerJoint, setting
from palpate.control.fitting import per_joint, refuse_free_base
from palpate.control.law import Law
from palpate.control.report import LawReport
from palpate.control.steps.linear_algebra import times
from palpate.control.tick import Tick, law_kernel
from palpate.engine.records import Record, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot


class Gains(Record):
    """K_p and K_d per joint, 1/s² and 1/s."""

    kp: Vector = sized("nv")
    kd: Vector = sized("nv")


class Memory(Record):
    """Scratch only: the law remembers nothing."""

    a: Vector = sized("nv")


class Terms(Record):
    """Terms of the torque."""

    spring: Vector = sized("nv")
    damper: Vector = sized("nv")
    feed_forward: Vector = sized("nv")
    bias: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: Memory, out: Terms) -> None:
    n = x.v.size
    for i in range(n):
        m.a[i] = k.kp[i] * (x.target.q[i] - x.q[i])
        out.bias[i] = x.bias[i]
    times(x.M, m.a, out.spring)
    for i in range(n):
        m.a[i] = k.kd[i] * (x.target.v[i] - x.v[i])
    times(x.M, m.a, out.damper)
    times(x.M, x.target.a, out.feed_forward)


class ComputedTorque(Law):
    """The model cancels the dynamics: τ = M̂ (a_d + K_d ė + K_p e) + b̂(q, v), e = q_d − q.

    Closed loop: ë + K_d ė + K_p e = −M⁻¹ Jᵀ F, each joint independently; with K_p = ω², K_d = 2 ζ ω the error of each
    joint is the second-order response of natural frequency ω and damping ratio ζ.
    Assumes: true model and no joint friction. A wrench moves the joints through M⁻¹ Jᵀ: the arm's stiffness against
    it is M K_p, which changes with the posture; choose an impedance law to touch things.
    """

    name: ClassVar[str] = "computed-torque"
    kernel = _kernel

    frequency: PerJoint = setting(10.0, "rad/s", "ω > 0 of each joint's error")
    damping_ratio: PerJoint = setting(1.0, "1", "ζ ≥ 0 of each joint's error")
    kp: PerJoint | None = setting(None, "1/s²", "K_p ≥ 0 directly, instead of ω; give kd with it")
    kd: PerJoint | None = setting(None, "1/s", "K_d ≥ 0 directly, instead of ζ; give kp with it")

    @property
    def report(self) -> LawReport:
        """Its literature."""
        return replace(super().report, literature=("10.1109/TAC.1980.1102367",))

    def gains(self, robot: Robot) -> Gains:
        """K_p and K_d per joint."""
        refuse_free_base(robot, self.name)
        if (self.kp is None) != (self.kd is None):
            raise InvalidInput(f"computed-torque: give both kp and kd or neither, got kp={self.kp}, kd={self.kd}")
        if self.kp is not None and self.kd is not None:
            return Gains(kp=per_joint(robot, self.kp, "kp", least=0.0), kd=per_joint(robot, self.kd, "kd", least=0.0))
        frequency = per_joint(robot, self.frequency, "frequency", above=0.0)
        ratio = per_joint(robot, self.damping_ratio, "damping_ratio", least=0.0)
        return Gains(kp=frequency**2, kd=2.0 * ratio * frequency)

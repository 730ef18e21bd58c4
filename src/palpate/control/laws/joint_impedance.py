"""Joint impedance control."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.fitting import per_joint, refuse_free_base
from palpate.control.law import Law
from palpate.control.report import LawReport
from palpate.control.tick import NoMemory, Tick, law_kernel
from palpate.engine.records import Record, Vector, sized
from palpate.robot.robot import Robot


class Gains(Record):
    """K and D per joint; whether the model's torque is fed forward."""

    stiffness: Vector = sized("nv")
    damping: Vector = sized("nv")
    feed_forward: bool


class Terms(Record):
    """Terms of the torque."""

    spring: Vector = sized("nv")
    damper: Vector = sized("nv")
    feed_forward: Vector = sized("nv")
    gravity: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: NoMemory, out: Terms) -> None:
    n = x.v.size
    for i in range(n):
        out.spring[i] = k.stiffness[i] * (x.target.q[i] - x.q[i])
        out.damper[i] = k.damping[i] * (x.target.v[i] - x.v[i])
        out.gravity[i] = x.gravity[i]
        forward = x.bias[i] - x.gravity[i]
        for j in range(n):
            forward += x.M[i, j] * x.target.a[j]
        out.feed_forward[i] = forward if k.feed_forward else 0.0


class JointImpedance(Law):
    """Springs and dampers at the joints: τ = K (q_d − q) + D (v_d − v) + f (M̂ a_d + Ĉ v) + ĝ(q), f = 0 or 1.

    Closed loop, e = q_d − q: M v̇ + C v = K e + D ė + Jᵀ F, and with `feed_forward` M ë + D ė + K e = −Jᵀ F, so that a
    moving target is followed without lag. At rest an outside wrench F deflects the joints by K⁻¹ Jᵀ F.
    Assumes: true gravity model; with feed-forward also true inertia. Inertia stays natural, so joints stay coupled.
    """

    name: ClassVar[str] = "joint-impedance"
    kernel = _kernel

    stiffness: PerJoint = setting(200.0, "N·m/rad or N/m", "K ≥ 0, one number, or one per joint")
    damping: PerJoint | None = setting(
        None, "N·m·s/rad or N·s/m", "D ≥ 0, one number, or one per joint; by damping_ratio if not given"
    )
    damping_ratio: PerJoint = setting(
        0.7, "1", "ζ ≥ 0 where no damping is given: D = 2 ζ √(K m), m each joint's own inertia at home"
    )
    feed_forward: bool = setting(False, "1", "add the torques for the desired acceleration and the Coriolis torques")

    @property
    def report(self) -> LawReport:
        """Its literature."""
        return replace(super().report, literature=("10.1115/1.3140702",))

    def gains(self, robot: Robot) -> Gains:
        """K and D per joint."""
        refuse_free_base(robot, self.name)
        stiffness = per_joint(robot, self.stiffness, "stiffness", least=0.0)
        damping = self._damping(robot, stiffness)
        return Gains(stiffness=stiffness, damping=damping, feed_forward=self.feed_forward)

    def _damping(self, robot: Robot, stiffness: Array) -> Array:
        if self.damping is not None:
            return per_joint(robot, self.damping, "damping", least=0.0)
        ratio = per_joint(robot, self.damping_ratio, "damping_ratio", least=0.0)
        return 2.0 * ratio * np.sqrt(stiffness * np.diag(robot.mass_matrix(robot.home)))

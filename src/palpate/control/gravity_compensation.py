"""Gravity compensation with joint damping."""

from __future__ import annotations

from typing import ClassVar

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import NEEDS_GRAVITY, Law, law_kernel, per_joint
from palpate.robot.robot import Robot


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    for i in range(v.size):
        terms[0, i] = -gains[i] * v[i]
        terms[1, i] = gravity[i]


class GravityCompensation(Law):
    """The arm floats: τ = −D v + ĝ(q).

    Closed loop: M v̇ + (C + D) v = Jᵀ F + (ĝ − g); with a true model the arm moves only when pushed and comes to rest.
    Assumes: the nominal masses are the plant's, otherwise the arm sinks or rises at a speed set by D.
    """

    name: ClassVar[str] = "gravity-compensation"
    terms: ClassVar[tuple[str, ...]] = ("damper", "gravity")
    needs: ClassVar[int] = NEEDS_GRAVITY
    kernel = staticmethod(_kernel)

    damping: PerJoint = setting(5.0, "N·m·s/rad or N·s/m", "D ≥ 0, one number for all joints or one each")

    def gains(self, robot: Robot) -> Array:
        """D per joint."""
        return per_joint(robot, self.damping, "damping", least=0.0)

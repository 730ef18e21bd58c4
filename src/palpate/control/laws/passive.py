"""No drive at all, but for damping."""

from __future__ import annotations

from typing import ClassVar

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import Law, law_kernel, per_joint
from palpate.robot.robot import Robot


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    for i in range(v.size):
        terms[0, i] = -gains[i] * v[i]


class Passive(Law):
    """The joints turn freely, or against dampers: τ = −D v (document 004, section 1.8).

    Closed loop: M v̇ + (C + D) v + g = Jᵀ F: the energy falls by vᵀ D v, and with D = 0 it stays.
    Assumes nothing: it knows no model.
    """

    name: ClassVar[str] = "passive"
    terms: ClassVar[tuple[str, ...]] = ("damper",)
    needs: ClassVar[int] = 0
    kernel = staticmethod(_kernel)

    damping: PerJoint = setting(0.0, "N·m·s/rad or N·s/m", "D ≥ 0, one number for all joints or one each")

    def gains(self, robot: Robot) -> Array:
        """D per joint."""
        return per_joint(robot, self.damping, "damping", least=0.0)

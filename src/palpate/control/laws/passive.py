"""No drive at all, but for damping."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from palpate.config import PerJoint, setting
from palpate.control.fitting import per_joint
from palpate.control.law import Law
from palpate.control.tick import NoMemory, Tick, law_kernel
from palpate.control.traits import LawTraits
from palpate.engine.records import Record, Vector, sized
from palpate.robot.robot import Robot


class Gains(Record):
    """D per joint."""

    damping: Vector = sized("nv")


class Terms(Record):
    """Terms of the torque."""

    damper: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: NoMemory, out: Terms) -> None:
    for i in range(x.v.size):
        out.damper[i] = -k.damping[i] * x.v[i]


class Passive(Law):
    """The joints turn freely, or against dampers: τ = −D v.

    Closed loop: M v̇ + (C + D) v + g = Jᵀ F: the energy falls by vᵀ D v, and with D = 0 it stays.
    Assumes nothing: it knows no model.
    """

    name: ClassVar[str] = "passive"
    kernel = _kernel

    damping: PerJoint = setting(0.0, "N·m·s/rad or N·s/m", "D ≥ 0, one number, or one per joint")

    @property
    def traits(self) -> LawTraits:
        """Nothing holds the arm."""
        return replace(super().traits, holds=False)

    def gains(self, robot: Robot) -> Gains:
        """D per joint."""
        return Gains(damping=per_joint(robot, self.damping, "damping", least=0.0))

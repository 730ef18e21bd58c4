"""Gravity compensation with joint damping."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from palpate.config import PerJoint, setting
from palpate.control.fitting import per_joint
from palpate.control.law import Law
from palpate.control.promise import Promise
from palpate.control.tick import NoMemory, Tick, law_kernel
from palpate.control.traits import LawTraits
from palpate.engine.records import Record, Vector, sized
from palpate.robot.robot import Robot

SLOWING = 0.2  # s: how fast a joint on its own comes to rest where no damping is given


class Gains(Record):
    """D per joint."""

    damping: Vector = sized("nv")


class Terms(Record):
    """Terms of the torque."""

    damper: Vector = sized("nv")
    gravity: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: NoMemory, out: Terms) -> None:
    for i in range(x.v.size):
        out.damper[i] = -k.damping[i] * x.v[i]
        out.gravity[i] = x.gravity[i]


class GravityCompensation(Law):
    """The arm floats: τ = −D v + ĝ(q).

    Closed loop: M v̇ + (C + D) v = Jᵀ F + (ĝ − g); with a true model the arm moves only when pushed and comes to rest.
    Assumes: the nominal masses are the plant's, otherwise the arm sinks or rises at a speed set by D.
    """

    name: ClassVar[str] = "gravity-compensation"
    kernel = _kernel

    damping: PerJoint | None = setting(
        None,
        "N·m·s/rad or N·s/m",
        "D ≥ 0, one number, or one per joint; each joint's own inertia at home over 0.2 s if not given",
    )

    @property
    def traits(self) -> LawTraits:
        """It promises rest, once nothing pushes."""
        return replace(super().traits, promises=lambda robot: (Promise(rest=True),))

    def gains(self, robot: Robot) -> Gains:
        """D per joint."""
        if self.damping is None:
            return Gains(damping=np.diag(robot.mass_matrix(robot.home)) / SLOWING)
        return Gains(damping=per_joint(robot, self.damping, "damping", least=0.0))

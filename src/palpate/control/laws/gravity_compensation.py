"""Gravity compensation with joint damping."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import NEEDS_GRAVITY, Law, law_kernel, per_joint
from palpate.robot.robot import Robot

SLOWING = 0.2  # s: how fast a joint on its own comes to rest where no damping is given


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

    damping: PerJoint | None = setting(
        None,
        "N·m·s/rad or N·s/m",
        "D ≥ 0, one number for all joints or one each; each joint's own inertia at home over 0.2 s if not given",
    )

    def gains(self, robot: Robot) -> Array:
        """D per joint."""
        if self.damping is None:
            return np.diag(robot.mass_matrix(robot.home)) / SLOWING
        return per_joint(robot, self.damping, "damping", least=0.0)

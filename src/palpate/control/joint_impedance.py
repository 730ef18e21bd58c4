"""Joint impedance control (document 003)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import NEEDS_GRAVITY, Law, law_kernel, per_joint
from palpate.robot.robot import Robot


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    for i in range(n):
        terms[0, i] = gains[i] * (target[i] - q[i])
        terms[1, i] = gains[n + i] * (target[q.size + i] - v[i])
        terms[2, i] = gravity[i]


class JointImpedance(Law):
    """Springs and dampers at the joints: τ = K (q_d − q) + D (v_d − v) + ĝ(q).

    Closed loop: M v̇ + (C + D) v + K q = K q_d + D v_d + Jᵀ F; at rest an outside wrench F deflects the joints by
    K⁻¹ Jᵀ F. Assumes: true gravity model; no feed-forward, so a moving target is followed with a lag.
    """

    name: ClassVar[str] = "joint-impedance"
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "gravity")
    needs: ClassVar[int] = NEEDS_GRAVITY
    kernel = staticmethod(_kernel)

    stiffness: PerJoint = setting(200.0, "N·m/rad or N/m", "K, one number for all joints or one each", ge=0)
    damping: PerJoint = setting(20.0, "N·m·s/rad or N·s/m", "D, one number for all joints or one each", ge=0)

    def gains(self, robot: Robot) -> Array:
        """[K; D] per joint."""
        stiffness, damping = per_joint(robot, self.stiffness, "stiffness"), per_joint(robot, self.damping, "damping")
        return np.concatenate([stiffness, damping])

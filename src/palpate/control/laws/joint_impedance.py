"""Joint impedance control (document 003)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import (
    NEEDS_BIAS,
    NEEDS_GRAVITY,
    NEEDS_M,
    Law,
    law_kernel,
    per_joint,
    refuse_free_base,
)
from palpate.robot.robot import Robot


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    inertial = gains[2 * n]
    for i in range(n):
        terms[0, i] = gains[i] * (target[i] - q[i])
        terms[1, i] = gains[n + i] * (target[q.size + i] - v[i])
        forward = bias[i] - gravity[i]
        for j in range(n):
            forward += M[i, j] * target[q.size + n + j]
        terms[2, i] = inertial * forward
        terms[3, i] = gravity[i]


class JointImpedance(Law):
    """Springs and dampers at the joints: τ = K (q_d − q) + D (v_d − v) + f (M̂ a_d + Ĉ v) + ĝ(q), f = 0 or 1.

    Closed loop, e = q_d − q: M v̇ + C v = K e + D ė + Jᵀ F, and with `feed_forward` M ë + D ė + K e = −Jᵀ F, so that a
    moving target is followed without lag. At rest an outside wrench F deflects the joints by K⁻¹ Jᵀ F.
    Assumes: true gravity model; with feed-forward also true inertia. Inertia stays natural, so joints stay coupled.
    """

    name: ClassVar[str] = "joint-impedance"
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "feed_forward", "gravity")
    needs: ClassVar[int] = NEEDS_GRAVITY | NEEDS_M | NEEDS_BIAS
    kernel = staticmethod(_kernel)

    stiffness: PerJoint = setting(200.0, "N·m/rad or N/m", "K ≥ 0, one number for all joints or one each")
    damping: PerJoint | None = setting(
        None, "N·m·s/rad or N·s/m", "D ≥ 0, one number for all joints or one each; by damping_ratio if not given"
    )
    damping_ratio: PerJoint = setting(
        0.7, "1", "ζ ≥ 0 where no damping is given: D = 2 ζ √(K m), m each joint's own inertia at home"
    )
    feed_forward: bool = setting(False, "1", "add the torque that the wanted acceleration and the speed ask for")

    def gains(self, robot: Robot) -> Array:
        """[K; D; f] per joint."""
        refuse_free_base(robot, self.name)
        stiffness = per_joint(robot, self.stiffness, "stiffness", least=0.0)
        damping = self._damping(robot, stiffness)
        return np.concatenate([stiffness, damping, [float(self.feed_forward)]])

    def _damping(self, robot: Robot, stiffness: Array) -> Array:
        if self.damping is not None:
            return per_joint(robot, self.damping, "damping", least=0.0)
        ratio = per_joint(robot, self.damping_ratio, "damping_ratio", least=0.0)
        return 2.0 * ratio * np.sqrt(stiffness * np.diag(robot.mass_matrix(robot.home)))

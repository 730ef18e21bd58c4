"""Inverse dynamics (computed torque) control in joint space (document 003)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from palpate.checks import Array
from palpate.config import PerJoint, setting
from palpate.control.law import NEEDS_BIAS, NEEDS_M, Law, law_kernel, per_joint, refuse_free_base
from palpate.control.steps.linear_algebra import times
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot


@law_kernel
def _kernel(t, dt, q, v, M, bias, gravity, p, R, J, drift, wrench, tau, target, gains, memory, terms):
    n = v.size
    spring, damper, forward = memory[0:n], memory[n : 2 * n], memory[2 * n : 3 * n]
    for i in range(n):
        spring[i] = gains[i] * (target[i] - q[i])
        damper[i] = gains[n + i] * (target[q.size + i] - v[i])
        forward[i] = target[q.size + n + i]
        terms[3, i] = bias[i]
    times(M, spring, terms[0])
    times(M, damper, terms[1])
    times(M, forward, terms[2])


class ComputedTorque(Law):
    """The model undoes the dynamics: τ = M̂ (a_d + K_d ė + K_p e) + b̂(q, v), e = q_d − q.

    Closed loop: ë + K_d ė + K_p e = −M⁻¹ Jᵀ F, each joint on its own; with K_p = ω², K_d = 2 ζ ω the error of each
    joint is the second-order response of natural frequency ω and damping ratio ζ.
    Assumes: true model and no joint friction. A wrench moves the joints through M⁻¹ Jᵀ: the arm's stiffness against
    it is M K_p, which changes with the posture; choose an impedance law to touch things.
    """

    name: ClassVar[str] = "computed-torque"
    terms: ClassVar[tuple[str, ...]] = ("spring", "damper", "feed_forward", "bias")
    needs: ClassVar[int] = NEEDS_M | NEEDS_BIAS
    kernel = staticmethod(_kernel)

    frequency: PerJoint = setting(10.0, "rad/s", "ω > 0 of each joint's error")
    damping_ratio: PerJoint = setting(1.0, "1", "ζ ≥ 0 of each joint's error")
    kp: PerJoint | None = setting(None, "1/s²", "K_p ≥ 0 itself, instead of ω; give kd with it")
    kd: PerJoint | None = setting(None, "1/s", "K_d ≥ 0 itself, instead of ζ; give kp with it")

    def gains(self, robot: Robot) -> Array:
        """[K_p; K_d] per joint."""
        refuse_free_base(robot, self.name)
        if (self.kp is None) != (self.kd is None):
            raise InvalidInput(f"computed-torque: give both kp and kd or neither, got kp={self.kp}, kd={self.kd}")
        if self.kp is not None and self.kd is not None:
            return np.concatenate(
                [per_joint(robot, self.kp, "kp", least=0.0), per_joint(robot, self.kd, "kd", least=0.0)]
            )
        frequency = per_joint(robot, self.frequency, "frequency", above=0.0)
        ratio = per_joint(robot, self.damping_ratio, "damping_ratio", least=0.0)
        return np.concatenate([frequency**2, 2.0 * ratio * frequency])

    def memory(self, robot: Robot) -> Array:
        """Scratch only: the law remembers nothing."""
        return np.zeros(3 * robot.nv)

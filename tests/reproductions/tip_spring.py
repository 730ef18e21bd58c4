"""A compiled law of one's own that follows the tool's position alone."""

from __future__ import annotations

from typing import ClassVar

from palpate.config import setting
from palpate.control.law import Law, NoMemory, Tick, law_kernel
from palpate.engine.records import Record, Vector, sized
from palpate.robot.robot import Robot


class Gains(Record):
    """K, D of the tool; k of the posture."""

    stiffness: float
    damping: float
    posture: float


class Terms(Record):
    """The torque's parts."""

    spring: Vector = sized("nv")
    posture: Vector = sized("nv")
    gravity: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: NoMemory, out: Terms) -> None:
    for i in range(x.v.size):
        out.spring[i] = 0.0
        out.posture[i] = k.posture * (x.target.q[i] - x.q[i] - 0.2 * x.v[i])
        out.gravity[i] = x.gravity[i]
    for row in range(3):
        speed = 0.0
        for i in range(x.v.size):
            speed += x.J[row, i] * x.v[i]
        force = k.stiffness * (x.target.position[row] - x.position[row]) - k.damping * speed
        for i in range(x.v.size):
            out.spring[i] += x.J[row, i] * force


class TipSpring(Law):
    """τ = J_pᵀ (K (p_d − p) − D ṗ) + k (q_d − q − 0.2 v) + ĝ: the tool's orientation is left to the posture."""

    name: ClassVar[str] = "tip-spring"
    memoryless: ClassVar[bool] = True
    kernel = _kernel
    stiffness: float = setting(400.0, "N/m", "K", ge=0)
    damping: float = setting(40.0, "N·s/m", "D", ge=0)
    posture: float = setting(10.0, "N·m/rad", "k", ge=0)

    def gains(self, robot: Robot) -> Gains:
        """The settings as they are."""
        return Gains(stiffness=self.stiffness, damping=self.damping, posture=self.posture)

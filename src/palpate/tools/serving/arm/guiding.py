"""An arm that a hand leads: gravity is held, and motion is free but for the directions that a client has locked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palpate.checks import Array
from palpate.tools.serving.arm.arm import CARTESIAN_STIFFNESS, Arm

_DAMPING = 1.0  # N·m·s/rad of each joint: a hand that lets go leaves the arm where it is


class Guiding:
    """Guiding mode: a locked direction is held by the robot's Cartesian spring, the axes are those of the frame K."""

    def __init__(self, arm: Arm) -> None:
        self._arm = arm
        self.unlock([True] * 7)

    def unlock(self, flags: Sequence[float]) -> None:
        """Which of x, y, z, roll, pitch, yaw and the elbow a hand may move."""
        *directions, elbow = (bool(flag) for flag in flags)
        self._stiffness = np.where(directions, 0.0, CARTESIAN_STIFFNESS)
        self._elbow_free = elbow

    def begin(self) -> None:
        """Locked directions are held from here on."""
        self._pose, self._q = self._arm.O_T_EE.copy(), self._arm.q.copy()

    def torque(self) -> Array:
        """Torques of the joints, without gravity, N·m."""
        arm = self._arm
        damping = -_DAMPING * arm.v
        if self._elbow_free and not self._stiffness.any():
            return damping
        stiffness = arm.state.cartesian_stiffness.copy()
        arm.state.cartesian_stiffness[:] = self._stiffness
        held = arm.cartesian_impedance(self._pose, np.zeros(6), arm.q if self._elbow_free else self._q)
        arm.state.cartesian_stiffness[:] = stiffness
        return damping + held

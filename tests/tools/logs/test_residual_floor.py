"""How far the torques that a fit leaves unexplained move the tool, beside the arm's own mass matrix."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

import palpate as pp
from palpate.tools.logs.cleaning import Motion
from palpate.tools.logs.model import Arm
from palpate.tools.logs.rollout import residual_floor


def test_a_torque_that_is_held_moves_the_tool_by_half_its_acceleration_times_the_time_squared() -> None:
    arm = Arm.of(pp.load_robot("planar2"))
    q, left, rotor = np.array([0.4, -0.7]), np.array([0.3, 0.2]), np.array([0.5, 0.25])
    motion = cast(Motion, SimpleNamespace(runs=[SimpleNamespace(q=q[None])]))
    given = arm.robot.jacobian(q)[:3] @ np.linalg.inv(arm.robot.mass_matrix(q) + np.diag(rotor))
    each = [0.5 * 0.4**2 * np.linalg.norm(given[:, j] * left[j]) for j in range(2)]
    whole = np.hypot(each[0], each[1])
    floor = residual_floor(arm, motion, left, rotor, (0.2, 0.4))
    np.testing.assert_allclose(floor, [whole / 4, whole], rtol=1e-12)

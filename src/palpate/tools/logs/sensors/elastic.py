"""Stiffness of the joints, where positions of both sides of the gear were recorded: τ = K (θ − q) + offset.

Noise of either side pulls a slope towards zero. So the deflection is fitted on the torque and the torque on the
deflection: 1/K of the first is too small, K of the second too, and the truth lies between them. Hysteresis is tried as
a term of the sign of the torque's rate; what it changes beyond chance is added.
"""

from __future__ import annotations

import numpy as np

from palpate.robot import Robot
from palpate.tools.logs.balance import line
from palpate.tools.logs.cleaning import Motion
from palpate.tools.logs.identify import SAFETY, Quantity

_LEAST_TORQUE = 0.5  # N·m, root mean square about the mean: less twists no joint measurably


def joint_stiffness(robot: Robot, motion: Motion) -> dict[str, Quantity]:
    """The stiffness of each joint, N·m/rad; empty where the motors' positions were not recorded."""
    runs = [run for run in motion.runs if "q_motor" in run.more]
    if not runs:
        return {}
    inner = slice(motion.filter.edge, -motion.filter.edge)
    twist = np.concatenate([motion.filter(run.more["q_motor"] - run.q)[inner] for run in runs])
    torque = np.concatenate([motion.filter(run.more.get("tau", run.torque))[inner] for run in runs])
    return {
        (name := f"joint stiffness {joint}"): _one(name, twist[:, k], torque[:, k])
        for k, joint in enumerate(robot.dof_names)
    }


def _one(name: str, twist: np.ndarray, torque: np.ndarray) -> Quantity:
    unit, use = "N·m/rad", np.ones(len(twist), dtype=bool)
    if np.std(torque) < _LEAST_TORQUE or np.std(twist) == 0:
        reason = f"the torque varies by {np.std(torque):.2g} N·m only"
        return Quantity(name, unit, np.nan, np.nan, np.nan, np.nan, reason)
    ones = np.ones(len(twist))
    soft, soft_deviation, t = line(twist, np.column_stack([torque, ones]), use)
    stiff, stiff_deviation, _ = line(torque, np.column_stack([twist, ones]), use)
    loop, loop_deviation, _ = line(twist, np.column_stack([torque, ones, np.sign(np.gradient(torque))]), use)
    hysteresis = max(0.0, abs(loop[0] - soft[0]) - float(np.hypot(soft_deviation[0], loop_deviation[0])))
    slack = SAFETY * t * soft_deviation[0] + hysteresis
    low = stiff[0] - SAFETY * t * stiff_deviation[0]
    if soft[0] <= slack or low <= 0:
        return Quantity(name, unit, np.nan, np.nan, np.nan, np.nan, "the deflection does not follow the torque")
    low, high = min(low, 1.0 / (soft[0] + slack)), 1.0 / (soft[0] - slack)
    return Quantity(
        name, unit, float(np.sqrt(max(stiff[0], 0.0) / soft[0])), float(low), float(high), float(high - low) / 2
    )

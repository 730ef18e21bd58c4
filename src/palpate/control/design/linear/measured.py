"""A law without memory about rest, by differences of its ticks: for laws that give no linear model of themselves."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from palpate.checks import Array
from palpate.control.design.linear.arm_terms import STEP
from palpate.control.design.linear.loop_model import LinearLaw
from palpate.control.law import BoundLaw
from palpate.control.references.reference import joint_target
from palpate.robot.robot import Robot


def slope_law(law: BoundLaw, robot: Robot, q: Array, period: float) -> LinearLaw:
    """A memoryless law as matrices, by central differences of its ticks; its own memory is left alone.

    Args:
        law: bound to the robot.
        robot: the arm.
        q: posture at rest, which is also the target.
        period: s.
    """
    n, target, own = robot.nv, joint_target(robot, q), replace(law, memory=copy.deepcopy(law.memory))
    inputs = np.concatenate([q, np.zeros(n + 6)])

    def torque(x: Array) -> Array:
        tick = own.tick(robot, x[:n], x[n : 2 * n], target=target, wrench=x[2 * n :], dt=period)
        return tick.command

    steps = STEP * np.eye(2 * n + 6)
    slopes = np.column_stack([(torque(inputs + s) - torque(inputs - s)) / (2 * STEP) for s in steps])
    none = np.zeros((0, n))
    return LinearLaw(
        "torque", np.zeros((0, 0)), none, none, np.zeros((0, 6)), np.zeros((n, 0)),
        slopes[:, :n], slopes[:, n : 2 * n], slopes[:, 2 * n :],
    )  # fmt: skip

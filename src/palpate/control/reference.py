"""What a law is asked to do over time: targets sampled at the control ticks."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from palpate.checks import Array, finite_array
from palpate.control.law import T_POSITION, T_QUAT, T_TWIST, T_WRENCH, TargetLayout
from palpate.robot.robot import Robot
from palpate.spatial import Pose


class Reference(Protocol):
    """Anything that can say what is wanted at given times."""

    def sample(self, times: Array, robot: Robot, q_start: Array) -> Array:
        """Targets, one row per time, laid out by `TargetLayout`."""
        ...


class Hold:
    """Stay: at the start posture, at a pose, or a displacement away from the start pose.

    Args:
        pose: where the tool should be; where it starts if None.
        offset: displacement from there, m, world axes.
        wrench: wanted wrench [f; n] on the environment side of force laws, N and N·m.
    """

    def __init__(self, pose: Pose | None = None, offset: tuple[float, float, float] = (0, 0, 0), wrench=None) -> None:
        self.pose = pose
        self.offset = finite_array(offset, "offset", (3,))
        self.wrench = np.zeros(6) if wrench is None else finite_array(wrench, "wrench", (6,))

    def sample(self, times: Array, robot: Robot, q_start: Array) -> Array:
        """The same target at every time."""
        row = joint_target(robot, q_start)
        layout = TargetLayout(robot.nq, robot.nv)
        pose = robot.pose(q_start) if self.pose is None else self.pose
        set_task(row, layout, pose.position + self.offset, pose.quat_wxyz)
        row[layout.task + T_WRENCH : layout.task + T_WRENCH + 6] = self.wrench
        return np.tile(row, (len(times), 1))


def joint_target(robot: Robot, q: Array) -> Array:
    """A target that stands still at posture q, its Cartesian part at q's tool pose."""
    layout = TargetLayout(robot.nq, robot.nv)
    row = np.zeros(layout.width)
    row[: robot.nq] = q
    pose = robot.pose(q)
    set_task(row, layout, pose.position, pose.quat_wxyz)
    return row


def set_task(row: Array, layout: TargetLayout, position: Array, quat_wxyz: Array, twist: Array | None = None) -> None:
    """Write the Cartesian part of a target."""
    task = layout.task
    row[task + T_POSITION : task + T_POSITION + 3] = position
    row[task + T_QUAT : task + T_QUAT + 4] = quat_wxyz
    if twist is not None:
        row[task + T_TWIST : task + T_TWIST + 6] = twist

"""Differential inverse kinematics in mink: pose and posture by weight, within position and velocity limits."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.robot.robot import Robot

mink: Any = importlib.import_module("mink")  # by name, so that this file is read without it


class MinkIK:
    """Everything that can be made once is made here; a call is update and solution, from q to joint velocities."""

    def __init__(self, robot: Robot, q: Array, posture: Array, *, gain: float, weight: float, dt: float) -> None:
        """Hold the tool where it is at q (weight 1) and go to a posture (gain 1/s, weight), each over dt."""
        self.dt = dt
        self.configuration = mink.Configuration(robot.model, q=np.array(q))
        hold = mink.FrameTask(robot.tool_frame, "site", position_cost=1.0, orientation_cost=1.0)
        hold.set_target_from_configuration(self.configuration)
        # mink's gain is a share of the error per step, and its costs are squared.
        go = mink.PostureTask(robot.model, cost=weight**0.5, gain=gain * dt)
        go.set_target(np.array(posture))
        self.tasks = [hold, go]
        speeds = dict(zip(robot.dof_names, robot.limits.velocity))
        self.limits = [mink.ConfigurationLimit(robot.model), mink.VelocityLimit(robot.model, speeds)]

    def __call__(self, q: Array) -> Array:
        """Joint velocities."""
        self.configuration.update(q)
        return mink.solve_ik(self.configuration, self.tasks, self.dt, solver="daqp", limits=self.limits)

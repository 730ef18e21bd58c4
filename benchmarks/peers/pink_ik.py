"""Differential inverse kinematics in Pink: pose and posture by weight, within position and velocity limits."""

from __future__ import annotations

import importlib
from importlib import resources
from typing import Any

from palpate.checks import Array
from palpate.robot.robot import Robot

# By name, so that this file is read without them; their stubs are partial.
pin: Any = importlib.import_module("pinocchio")
pink: Any = importlib.import_module("pink")
pink_tasks: Any = importlib.import_module("pink.tasks")
pink_limits: Any = importlib.import_module("pink.limits")


class PinkIK:
    """Everything that can be made once is made here; a call is update and solution, from q to joint velocities."""

    def __init__(self, robot: Robot, q: Array, posture: Array, *, gain: float, weight: float, dt: float) -> None:
        """Hold the tool where it is at q (weight 1) and go to a posture (gain 1/s, weight), each over dt."""
        model, self.dt = _twin(robot), dt
        self.configuration = pink.Configuration(model, model.createData(), q)
        hold = pink_tasks.FrameTask("tool", position_cost=1.0, orientation_cost=1.0)
        hold.set_target_from_configuration(self.configuration)
        # Pink's gain is a share of the error per step, and its costs are squared.
        go = pink_tasks.PostureTask(cost=weight**0.5, gain=gain * dt)
        go.set_target(posture)
        self.tasks = [hold, go]
        self.limits = [pink_limits.ConfigurationLimit(model), pink_limits.VelocityLimit(model)]

    def __call__(self, q: Array) -> Array:
        """Joint velocities."""
        self.configuration.update(q)
        return pink.solve_ik(self.configuration, self.tasks, self.dt, solver="daqp", limits=self.limits)


def _twin(robot: Robot) -> Any:
    """The shipped model file of an arm as Pinocchio reads it, with the same tool and the same velocity limits."""
    file = resources.files("palpate.robot.catalogue").joinpath(f"{robot.name}.xml")
    with resources.as_file(file) as path:
        model = pin.buildModelFromMJCF(str(path))
    data, last, X = model.createData(), model.njoints - 1, robot.pose(robot.home)
    pin.forwardKinematics(model, data, robot.home)
    place = data.oMi[last].actInv(pin.SE3(X.rotation, X.position))
    model.addFrame(pin.Frame("tool", last, 0, place, pin.OP_FRAME))
    model.velocityLimit = robot.limits.velocity
    return model

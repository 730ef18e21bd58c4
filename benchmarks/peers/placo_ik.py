"""Differential inverse kinematics in PlaCo: pose and posture by weight, within position and velocity limits; see
`answering`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from answering import serve


def calls(job: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Hold the tool where it is at q (weight 1) and go to a posture (gain 1/s, weight), each over dt."""
    placo: Any = importlib.import_module("placo")
    robot = placo.RobotWrapper("", placo.Flags.ignore_collisions, job["urdf"])
    q, names, dt = np.array(job["q"]), job["joints"], job["dt"]
    for name, angle in zip(names, q):
        robot.set_joint(name, float(angle))
    robot.update_kinematics()
    solver = placo.KinematicsSolver(robot)
    solver.mask_fbase(True)
    solver.dt = dt
    solver.enable_joint_limits(True)
    solver.enable_velocity_limits(True)
    hold = solver.add_frame_task("tool", robot.get_T_world_frame("tool"))
    hold.configure("tool", "soft", 1.0, 1.0)
    # PlaCo goes to a target at once, so that the gain is in the target.
    step = q + job["gain"] * dt * (np.array(job["posture"]) - q)
    go = solver.add_joints_task()
    go.set_joints({name: float(angle) for name, angle in zip(names, step)})
    go.configure("posture", "soft", job["weight"])

    def solve() -> list[float]:
        robot.update_kinematics()
        return (solver.solve(False)[6:] / dt).tolist()

    return {"ik": solve}


if __name__ == "__main__":
    serve(calls, ("placo", "pin"))

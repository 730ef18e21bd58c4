"""Strict-priority inverse dynamics with torque limits on seven joints, three levels, from Python."""

from __future__ import annotations

import numpy as np

import palpate as pp
from benchmarks import Measurement, interleaved_medians
from palpate.control import priorities, tasks
from palpate.control.qp import daqp_hierarchy

ROUNDS, BATCH = 300, 10


def measure() -> list[Measurement]:
    """Model terms, tasks and solution in one call; with wide and with tight torque limits; beside a DAQP cascade."""
    robot = pp.load_robot("panda")
    q, v = robot.home, np.linspace(-0.3, 0.3, 7)
    here = robot.pose(q)
    levels = [
        tasks.FramePosition(target=here.position + np.array([0.05, 0.0, 0.0])),
        tasks.FrameOrientation(target=here.rotation),
        tasks.Posture(target=q),
    ]
    tight = np.abs(robot.bias(q, v)) + 0.5
    t = robot.terms(q, v)
    rows = [task.rows(tasks.State(robot, q, v)) for task in levels]
    A = np.vstack([r.J for r in rows])
    b = np.concatenate([task.acceleration(r, v) - r.drift for task, r in zip(levels, rows)])
    stack = (A, b, np.array([0, 3, 6, 13]), t.M, -tight - t.bias, tight - t.bias)
    seconds = interleaved_medians(
        {
            "wide": lambda: priorities.inverse_dynamics(robot, q, v, levels),
            "tight": lambda: priorities.inverse_dynamics(robot, q, v, levels, torque=tight),
            "velocities": lambda: priorities.differential_ik(robot, q, levels, dt=1e-3, v=v),
            "daqp": lambda: daqp_hierarchy(*stack),
        },
        ROUNDS,
        BATCH,
    )
    return [
        Measurement("inverse dynamics, 3 levels, no torque at its limit", seconds["wide"] * 1e6, "µs", 150.0),
        Measurement("inverse dynamics, 3 levels, torques at their limits", seconds["tight"] * 1e6, "µs", 150.0),
        Measurement("differential inverse kinematics, 3 levels, limits", seconds["velocities"] * 1e6, "µs"),
        Measurement("solver alone, as a cascade of DAQP from NumPy", seconds["daqp"] * 1e6, "µs"),
    ]

"""The fastest stop of a seven-joint arm from Python, beside HiGHS, through SciPy's `linprog`, on the same
linear program; most of that time is SciPy's own."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

import palpate as pp
from benchmarks import Measurement, interleaved_medians
from palpate.control import TorqueBounds, fastest_stop


def measure() -> list[Measurement]:
    """One call with acceleration bounds, with torque bounds, and where the direction cannot be kept."""
    robot = pp.load_robot("panda")
    q, v = robot.home, np.array([0.5, -0.4, 0.3, 0.6, -0.2, 0.4, 0.1])
    t = robot.terms(q, v)
    J, drift, p = t.J[:3], t.drift[:3], t.J[:3] @ v
    limit, bounds = robot.limits.acceleration, TorqueBounds(t.M, t.bias, robot.limits.torque)
    box = [*zip(-limit, limit), (None, None)]
    rows = np.column_stack([J, p])
    seconds = interleaved_medians(
        {
            "acceleration": lambda: fastest_stop(J, drift, p, limit),
            "torque": lambda: fastest_stop(J, drift, p, bounds),
            "infeasible": lambda: fastest_stop(J, drift * 1e3, p, limit),
        },
        300,
        20,
    )
    highs = interleaved_medians(
        {"highs": lambda: linprog(np.r_[np.zeros(7), -1.0], A_eq=rows, b_eq=-drift, bounds=box)}, 50
    )
    return [
        Measurement("fastest stop, acceleration bounds", seconds["acceleration"] * 1e6, "µs", 50.0),
        Measurement("fastest stop, torque bounds", seconds["torque"] * 1e6, "µs", 50.0),
        Measurement("nearest command where there is no stop", seconds["infeasible"] * 1e6, "µs"),
        Measurement("the linear program alone, SciPy's linprog (HiGHS and its checks)", highs["highs"] * 1e6, "µs"),
    ]

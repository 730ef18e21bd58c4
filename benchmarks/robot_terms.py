"""One pass of a 7-joint arm's terms from Python, beside Pinocchio and Robotics Toolbox; and loading a robot.

Everyone computes the same for a Panda: M, C v + g, g, pose, Jacobian and drift of its tool. The peers' Pandas have
their own inertias, which does not change the work.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import palpate as pp
from benchmarks import Measurement, interleaved_medians

ROUNDS, BATCH = 300, 20
FRESH_LOAD = """
import time
start = time.perf_counter()
import palpate.robot.catalogue, palpate.robot.load, palpate.robot.robot
imported = time.perf_counter()
palpate.robot.load.load_robot("panda")
print(imported - start, time.perf_counter() - imported)
"""


def measure() -> list[Measurement]:
    """Ratios to Pinocchio and Robotics Toolbox, and load times."""
    return [*_terms(), *_loading()]


def _terms() -> list[Measurement]:
    robot = pp.load_robot("panda")
    q, v = robot.home, np.linspace(-0.5, 0.5, 7)
    contenders: dict[str, Callable[[], object]] = {"palpate": lambda: robot.terms(q, v)}
    if importlib.util.find_spec("pinocchio"):
        contenders |= _pinocchio(q, v)
    seconds = interleaved_medians(contenders, ROUNDS, BATCH)
    if importlib.util.find_spec("roboticstoolbox"):
        toolbox = {"palpate": contenders["palpate"], "Robotics Toolbox": _toolbox(q, v)}
        seconds["Robotics Toolbox"] = interleaved_medians(toolbox, 30)["Robotics Toolbox"]
    rows = [Measurement(f"terms, {name}", taken * 1e6, "µs") for name, taken in seconds.items()]
    pinocchio = [taken for name, taken in seconds.items() if name.startswith("Pinocchio")]
    if pinocchio:
        rows.append(Measurement("palpate / Pinocchio (its faster way)", seconds["palpate"] / min(pinocchio), "×", 2.5))
    if "Robotics Toolbox" in seconds:
        rows.append(Measurement("palpate / Robotics Toolbox", seconds["palpate"] / seconds["Robotics Toolbox"], "×"))
    return rows


def _pinocchio(q: np.ndarray, v: np.ndarray) -> dict[str, Callable[[], object]]:
    """The same seven-joint chain, and two ways to ask for its terms."""
    pin: Any = importlib.import_module("pinocchio")
    model = pin.Model()
    joint = 0
    table = [(0, 0.333, 0), (0, 0, -1), (0, 0.316, 1), (0.0825, 0, 1), (-0.0825, 0.384, -1), (0, 0, 1), (0.088, 0, 1)]
    for number, (a, d, quarter) in enumerate(table):
        turn = pin.rpy.rpyToMatrix(quarter * np.pi / 2, 0, 0)
        place = pin.SE3(turn, np.array([a, 0, 0]) + turn @ np.array([0, 0, d]))
        joint = model.addJoint(joint, pin.JointModelRZ(), place, f"joint{number + 1}")
        inertia = pin.Inertia(2.0, np.array([0.01, 0.02, 0.03]), np.diag([0.02, 0.03, 0.04]))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    tool = model.addFrame(pin.Frame("tool", joint, 0, pin.SE3(np.eye(3), np.array([0, 0, 0.2])), pin.OP_FRAME))
    data, still, world = model.createData(), np.zeros(7), pin.LOCAL_WORLD_ALIGNED

    def one_by_one():
        M = pin.crba(model, data, q)
        nle = pin.nonLinearEffects(model, data, q, v)
        gravity = pin.computeGeneralizedGravity(model, data, q)
        pin.computeJointJacobians(model, data, q)
        pin.forwardKinematics(model, data, q, v, still)
        pose = pin.updateFramePlacement(model, data, tool)
        J = pin.getFrameJacobian(model, data, tool, world)
        drift = pin.getFrameClassicalAcceleration(model, data, tool, world).vector
        return M, nle, gravity, pose.translation, pose.rotation, J, drift

    def all_terms():
        pin.computeAllTerms(model, data, q, v)
        gravity = pin.computeGeneralizedGravity(model, data, q)
        pin.forwardKinematics(model, data, q, v, still)
        pose = pin.updateFramePlacement(model, data, tool)
        J = pin.getFrameJacobian(model, data, tool, world)
        drift = pin.getFrameClassicalAcceleration(model, data, tool, world).vector
        return data.M, data.nle, gravity, pose.translation, pose.rotation, J, drift

    return {"Pinocchio, one by one": one_by_one, "Pinocchio, computeAllTerms": all_terms}


def _toolbox(q: np.ndarray, v: np.ndarray) -> Callable[[], object]:
    toolbox: Any = importlib.import_module("roboticstoolbox")
    panda, still = toolbox.models.DH.Panda(), np.zeros(7)
    return lambda: (
        panda.inertia(q),
        panda.rne(q, v, still),
        panda.gravload(q),
        panda.fkine(q),
        panda.jacob0(q),
        panda.jacob0_dot(q, v) @ v,
    )


def _loading() -> list[Measurement]:
    fresh = np.array([_fresh_process() for _ in range(3)])
    warm = interleaved_medians({"load": lambda: pp.load_robot("panda")}, 30)["load"]
    return [
        Measurement("imports, fresh process with a warm compile cache", float(np.median(fresh[:, 0])), "s"),
        Measurement("load panda after the imports, fresh process", float(np.median(fresh[:, 1])), "s", 0.2),
        Measurement("load panda again", warm, "s", 0.2),
    ]


def _fresh_process() -> list[float]:
    done = subprocess.run([sys.executable, "-c", FRESH_LOAD], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]

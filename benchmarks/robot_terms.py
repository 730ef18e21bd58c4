"""A 7-joint arm's terms from Python, at one state and at many, beside Pinocchio, mujoco.rollout and Robotics Toolbox.

Everyone computes the same for a Panda: M, C v + g, g, pose, Jacobian and drift of its tool. The peers' Pandas have
their own inertias, which does not change the work.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

import palpate as pp
from benchmarks import Measurement, interleaved_medians
from benchmarks.peers.elsewhere import Elsewhere, started, taking_turns
from palpate import spatial
from palpate.control.laws.passive import Passive
from palpate.engine.compiling.programs import machine_code
from palpate.equations.code.tree_code import TreeGraph
from palpate.equations.model.symbols import TreeSymbols
from palpate.robot import Robot
from palpate.run.run import Run
from palpate.world.clock import Clock

ROUNDS, BATCH = 300, 20
STATES = 10_000
SPANS = (0.2, 2.0)  # s
FRESH_LOAD = """
import time
start = time.perf_counter()
import palpate.robot.catalogue, palpate.robot.load, palpate.robot.robot
imported = time.perf_counter()
palpate.robot.load.load_robot("panda")
print(imported - start, time.perf_counter() - imported)
"""


def measure() -> list[Measurement]:
    """Ratios to Pinocchio, mujoco.rollout and Robotics Toolbox, and load times."""
    return [*_terms(), *_many(), *_rotations(), *_compiling(), *_toolbox(), *_loading()]


def _terms() -> list[Measurement]:
    robot = pp.load_robot("panda")
    q, v = robot.home, np.linspace(-0.5, 0.5, 7)
    contenders: dict[str, Callable[[], object]] = {"palpate": lambda: robot.terms(q, v)}
    if importlib.util.find_spec("pinocchio"):
        contenders |= _pinocchio(q, v)
    seconds = interleaved_medians(contenders, ROUNDS, BATCH)
    rows = [Measurement(f"terms, {name}", taken * 1e6, "µs") for name, taken in seconds.items()]
    pinocchio = [taken for name, taken in seconds.items() if name.startswith("Pinocchio")]
    if pinocchio:
        rows.append(Measurement("palpate / Pinocchio (its faster way)", seconds["palpate"] / min(pinocchio), "×", 1.0))
    return rows


def _many() -> list[Measurement]:
    """All terms of many states: processor time, so that one core is measured whatever the others do."""
    robot, random = pp.load_robot("panda"), np.random.default_rng(0)
    Q, V = robot.home + 0.3 * random.normal(size=(STATES, 7)), random.normal(size=(STATES, 7))
    contenders: dict[str, Callable[[], object]] = {"palpate": lambda: robot.terms_batch(Q, V)}
    if importlib.util.find_spec("pinocchio"):
        ways = _pinocchio(robot.home, robot.home)
        for name, one in ways.items():
            contenders[f"{name}, a state at a time"] = lambda one=one: [one() for _ in range(STATES)]
    seconds = {name: min(_cpu(call) for _ in range(10)) / STATES for name, call in contenders.items()}
    rows = [Measurement(f"terms of {STATES} states (CPU a state), {n}", s * 1e6, "µs") for n, s in seconds.items()]
    rows[0] = replace(rows[0], goal=0.15)
    others = [taken for name, taken in seconds.items() if name != "palpate"]
    if others:
        faster = "Pinocchio from Python, a state at a time (its faster way) / palpate"
        rows.append(Measurement(faster, min(others) / seconds["palpate"], "×"))
    return [*rows, *_forward(robot, Q, V), *_steps(robot, Q, V)]


def _forward(robot: Robot, Q: np.ndarray, V: np.ndarray) -> list[Measurement]:
    """Accelerations of a Panda with damping and dry friction: CPU of one state from Python, and a state of many."""
    torques = np.zeros_like(V)
    one = min(_cpu(lambda: [robot.forward_dynamics(*state) for state in zip(Q, V, torques)]) for _ in range(10))
    many = min(_cpu(lambda: robot.forward_dynamics_batch(Q, V, torques)) for _ in range(10))
    return [
        Measurement("accelerations with friction, one state", one / len(Q) * 1e6, "µs", 3.0),
        Measurement("accelerations with friction, a state of many (CPU)", many / len(Q) * 1e6, "µs", 0.5),
    ]


def _steps(robot: Robot, Q: np.ndarray, V: np.ndarray) -> list[Measurement]:
    """One step from each state by MuJoCo's own way to many, beside forward dynamics of the same: CPU a state.

    MuJoCo has its own options and an arm without dry friction, which palpate's equations leave out here too. A step
    also integrates and looks for contacts.
    """
    if importlib.util.find_spec("mujoco.rollout") is None:
        return []
    rollout: Any = importlib.import_module("mujoco.rollout")
    ideal = robot.with_ideal_joints()
    model = ideal.spec().compile()
    data, states = mujoco.MjData(model), np.concatenate([np.zeros((STATES, 1)), Q, V], axis=1)
    theirs = min(_cpu(lambda: rollout.rollout(model, data, states, nstep=1)) for _ in range(10)) / STATES
    torques = np.zeros((STATES, 7))
    ours = min(_cpu(lambda: ideal.forward_dynamics_batch(Q, V, torques, losses=False)) for _ in range(10)) / STATES
    name = f"of {STATES} states (CPU a state)"
    return [
        Measurement(f"accelerations {name}, palpate", ours * 1e6, "µs"),
        Measurement(f"a step {name}, mujoco.rollout", theirs * 1e6, "µs"),
    ]


def _rotations() -> list[Measurement]:
    """Many rotations at once beside SciPy, which checks nothing but norms of zero; processor time of one."""
    rotations = Rotation.random(STATES, rng=np.random.default_rng(0))
    quats, matrices = rotations.as_quat(scalar_first=True), rotations.as_matrix()
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "matrix of a quaternion": (
            lambda: spatial.matrix_from_quat(quats),
            lambda: Rotation.from_quat(quats, scalar_first=True).as_matrix(),
        ),
        "rotation vector of a matrix": (
            lambda: spatial.rotation_vector_from_matrix(matrices),
            lambda: Rotation.from_matrix(matrices).as_rotvec(),
        ),
    }
    rows = []
    for name, (ours, theirs) in pairs.items():
        own, other = (min(_cpu(call) for _ in range(10)) / STATES for call in (ours, theirs))
        rows.append(Measurement(f"{name}, {STATES} at once", own * 1e6, "µs"))
        rows.append(Measurement("… SciPy's Rotation / palpate", other / own, "×"))
    return rows


def _compiling() -> list[Measurement]:
    """A user's own arm, met for the first time: derivation and compilation, nothing kept."""
    symbols = TreeSymbols(pp.load_robot("panda").mechanism())
    seconds = _cpu(lambda: machine_code(TreeGraph(symbols).emit("benchmark", 1)))
    return [Measurement("equations of a 7-joint arm derived and compiled (CPU)", seconds, "s", 2.0)]


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


def _toolbox() -> list[Measurement]:
    """Robotics Toolbox in its own environment: the terms, and forward dynamics of an arm that is let go."""
    robot = pp.load_robot("panda")
    q, v = robot.home, np.linspace(-0.5, 0.5, 7)
    peer = started("Robotics Toolbox", "toolbox_arm.py", {"q": q.tolist(), "v": v.tolist(), "spans": SPANS})
    if peer is None:
        return []
    ours, theirs = taking_turns(lambda: _cpu(lambda: robot.terms(q, v), 20), lambda: peer.seconds("terms", 5), 20)
    rows = [
        Measurement("terms, Robotics Toolbox (CPU)", theirs * 1e6, "µs"),
        Measurement("terms, Robotics Toolbox / palpate", theirs / ours, "×", 10.0, at_least=True),
    ]
    for span in SPANS:
        rows += _let_go(robot, peer, span)
    peer.close()
    return rows


def _let_go(robot: Robot, peer: Elsewhere, span: float) -> list[Measurement]:
    """An arm without torques: `fdyn`, which integrates with steps as long as the motion allows, beside `simulate`."""
    fall = Run(robot, Passive(damping=0.0), clock=Clock(duration=span), q_start=robot.home)
    ours, theirs = taking_turns(lambda: _cpu(lambda: pp.simulate(fall)), lambda: peer.seconds(f"fdyn-{span:g}"), 5)
    what = f"{span:g} s of free fall"
    return [
        Measurement(f"{what}, Robotics Toolbox's fdyn (CPU)", theirs * 1e3, "ms"),
        Measurement(f"{what}, palpate's simulate: checks, 1 kHz, every channel (CPU)", ours * 1e3, "ms"),
        Measurement(f"{what}, Robotics Toolbox / palpate", theirs / ours, "×", 1.0, at_least=True),
    ]


def _cpu(work: Callable[[], object], count: int = 1) -> float:
    start = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - start) / count


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

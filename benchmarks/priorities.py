"""Strict-priority inverse dynamics with torque limits on seven joints, three levels, from Python; beside Pink, mink and
PlaCo where they do the same: differential inverse kinematics by weight within position and velocity limits.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import palpate as pp
from benchmarks import Measurement, interleaved_medians
from benchmarks.peers.elsewhere import NOT_COMPARED, started, taking_turns, urdf_of
from palpate.checks import Array
from palpate.control.law import Tick, sizes_of
from palpate.control.laws.priorities import Level, Priorities
from palpate.control.references.reference import joint_target
from palpate.control.solve import priorities, tasks
from palpate.control.solve.daqp_cascade import daqp_hierarchy
from palpate.control.solve.velocity_solver import VelocitySolver
from palpate.errors import PalpateError
from palpate.robot import Robot

ROUNDS, BATCH = 300, 10
PEERS = {"Pink": ("pink", "pink_ik", "PinkIK"), "mink": ("mink", "mink_ik", "MinkIK")}


def measure() -> list[Measurement]:
    """Inverse dynamics and kinematics by strict priority; the law itself; kinematics by weight beside Pink."""
    return [*_strict(), *_law(), *_weighted()]


def _law() -> list[Measurement]:
    """A tick of the law with its model terms given: compiled, as in the loop, and in plain Python."""
    robot = pp.load_robot("panda")
    q, v = robot.home + 0.05, np.linspace(-0.3, 0.3, 7)
    levels = (Level(kind="position"), Level(kind="orientation"), Level(kind="posture"))
    rows = []
    for name, share in {"no torque at its limit": 1.0, "torques at their limits": 0.15}.items():
        law, x, target = (
            Priorities(levels=levels, torque_share=share),
            robot.terms(q, v),
            joint_target(robot, robot.home),
        )
        known = {part: getattr(x, part) for part in ("M", "bias", "gravity", "position", "rotation", "J", "drift")}
        tick = Tick(sizes_of(robot), **known, q=q, v=v, target=target)
        compiled = law.bind(robot)
        compiled.decide(tick)
        _expect(compiled.memory.limited > 0, share < 1.0)
        seconds = interleaved_medians({"compiled": partial(compiled.decide, tick)}, ROUNDS, BATCH)
        rows.append(Measurement(f"the law's tick, {name}, compiled", seconds["compiled"] * 1e6, "µs", 60.0))
    return rows


def _expect(limited: bool, expected: bool) -> None:
    """A line that speaks of limits must meet them."""
    if limited != expected:
        raise PalpateError(f"torques are {'' if limited else 'not '}at their limits where they should not be so")


def _strict() -> list[Measurement]:
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
    for torque in (None, tight):
        _expect(bool(priorities.inverse_dynamics(robot, q, v, levels, torque=torque).limits), torque is not None)
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


def _weighted() -> list[Measurement]:
    """The tool held and a posture approached by weight, one joint at its velocity limit."""
    robot, dt, gain, weight = pp.load_robot("panda"), 1e-3, 20.0, 1e-2
    q = robot.home
    posture = q + np.array([0.6, -0.2, 0.5, 0.3, -0.6, 0.2, 0.4])
    levels = [[tasks.FramePose(target=robot.pose(q)), tasks.Posture(target=posture, gain=gain, weight=weight)]]
    solve = VelocitySolver(robot, levels, dt=dt)
    contenders = {
        "palpate": lambda: priorities.differential_ik(robot, q, levels, dt=dt).command,
        "palpate, one compiled call": lambda: solve(q),
    }
    np.testing.assert_allclose(solve(q), contenders["palpate"](), atol=1e-12)
    for name, (package, module, kind) in PEERS.items():
        if importlib.util.find_spec(package) is None:
            print(f"{name} is not installed (it comes with the extra 'bench'), {NOT_COMPARED}")
            continue
        made = getattr(importlib.import_module(f"benchmarks.peers.{module}"), kind)
        peer = made(robot, q, posture, gain=gain, weight=weight, dt=dt)
        contenders[name] = lambda peer=peer: peer(q)
        np.testing.assert_allclose(peer(q), contenders["palpate"](), atol=1e-6)
    seconds = interleaved_medians(contenders, ROUNDS, BATCH)
    rows = [Measurement(f"pose and posture by weight, {name}", taken * 1e6, "µs") for name, taken in seconds.items()]
    ours = seconds.pop("palpate, one compiled call")
    rows.append(Measurement("one compiled call", ours * 1e6, "µs", 8.0))
    peers = {name: taken for name, taken in seconds.items() if name != "palpate"}
    rows += [
        Measurement(f"{name} / palpate", taken / seconds["palpate"], "×", 1.0, True) for name, taken in peers.items()
    ]
    job = {"q": q.tolist(), "posture": posture.tolist(), "gain": gain, "weight": weight, "dt": dt}
    return rows + _placo(robot, lambda: solve(q), job)


def _placo(robot: Robot, ours: Callable[[], Array], job: dict[str, Any]) -> list[Measurement]:
    """PlaCo, in its own environment, by the CPU clocks of both."""
    job |= {"urdf": urdf_of(robot), "joints": robot.dof_names}
    peer = started("PlaCo", "placo_ik.py", job)
    if peer is None:
        return []
    difference = float(np.abs(np.array(peer.answers["ik"]) - ours()).max())
    mine, theirs = taking_turns(lambda: _cpu(ours), lambda: peer.seconds("ik", BATCH), ROUNDS)
    peer.close()
    return [
        Measurement("pose and posture by weight, PlaCo (CPU)", theirs * 1e6, "µs"),
        Measurement("PlaCo / palpate, one compiled call", theirs / mine, "×", 1.0, at_least=True),
        Measurement("PlaCo, largest difference of a joint velocity", difference, "rad/s"),
    ]


def _cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    for _ in range(BATCH):
        call()
    return (time.process_time() - start) / BATCH

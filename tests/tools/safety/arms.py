"""Runs that the tests of reactions share."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import palpate as pp
from palpate.control.law import Law
from palpate.control.laws.joint_impedance import JointImpedance
from palpate.errors import PalpateNote
from palpate.run.build import build
from palpate.run.run import Run
from palpate.tools.safety.reactions import Reactions
from palpate.tools.safety.thresholds import Threshold
from palpate.trace import Trace
from palpate.world.clock import Clock
from palpate.world.config import Push, World

NEVER = Threshold(level=1e6)


@functools.cache
def arm(name: str) -> pp.Robot:
    return pp.load_robot(name)


def quietly(run: Run) -> Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PalpateNote)
        return pp.simulate(run)


def pushed_planar(around: Reactions, torque: tuple[float, float], *, start: float = 0.02, seconds: float = 0.1) -> Run:
    """Two links at rest, pushed at the tool so that the joints feel a step of torque."""
    robot, q = arm("planar2"), np.array([0.3, 0.8])
    J = np.array(robot.terms(q, np.zeros(2)).J)
    force = np.zeros(3)
    force[:2] = np.linalg.solve(J[:2].T, np.array(torque))
    world = World(pushes=(Push(force=tuple(force.tolist()), start=start, duration=10.0),))
    return Run(robot, JointImpedance(), world, clock=Clock(duration=seconds, rate=1000), q_start=q, around=around)


def plane(position: list[float], **values: float) -> list[dict[str, Any]]:
    """One surface, a plane that faces −x."""
    return [{"name": "wall", "position": position, "normal": [-1, 0, 0], "friction": 0.3, **values}]


def towards_wall(name: str, around: Reactions, stiffness: float = 2e4, **changes: Any) -> Run:
    """An arm that moves at 0.25 m/s along x into a wall 0.1 m away."""
    robot = arm(name)
    x = float(np.array(robot.terms(robot.home, np.zeros(robot.nv)).position)[0])
    scenario = pp.load_scenario("panda-wall").replace(
        robot__model=name,
        control__damping=None,
        control__damping_ratio=1.0,
        control__stiffness=[800, 800, 800, 40, 40, 40],
        reference__offset=[0.2, 0, 0],
        reference__timing="trapezoidal",
        reference__blend=0.2,
        reference__wrench=None,
        reference__duration=1.0,
        world__surfaces=plane([x + 0.1, 0, 0], stiffness=stiffness, damping=20),
        metrics=None,
        run__duration=1.2,
        **changes,
    )
    return replace(build(scenario), around=around)


def in_free_motion(robot: pp.Robot, law: Law, around: Reactions | None, **options: Any) -> Run:
    """A run without anything to touch."""
    return Run(robot, law, around=around, **options)

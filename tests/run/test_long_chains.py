"""Long chains of joints: which plant moves them, and that both move them alike."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.control.laws.computed_torque import ComputedTorque
from palpate.robot import Robot
from palpate.robot.readers.dh.table import DHLink
from palpate.run.assemble.carrier import ENGINE, EQUATIONS, carrier_before
from palpate.run.run import Run
from palpate.world.clock import Clock


def _snake(joints: int, **clock: object) -> Run:
    link = DHLink(alpha=np.pi / 2, a=0.1, mass=1.0, com=(-0.05, 0.0, 0.0), inertia=(0.002, 0.002, 0.002))
    robot = Robot.from_dh([link] * joints, "standard")
    return Run(robot, ComputedTorque(), clock=Clock(duration=0.1, **clock), q_start=np.full(joints, 0.1))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("joints", "name"), [(16, EQUATIONS), (30, EQUATIONS), (31, ENGINE)])
def test_chains_of_up_to_thirty_joints_are_moved_by_their_equations(joints, name):
    carrier = carrier_before(_snake(joints))
    assert carrier.name == name
    assert ("31" in carrier.reason) == (name == ENGINE)


def test_both_plants_move_a_chain_of_sixteen_alike():
    ours, theirs = (pp.simulate(_snake(16, physics=kind)) for kind in (EQUATIONS, ENGINE))
    for channel in ("q", "v", "tau"):
        size = np.abs(theirs[channel]).max()
        assert ours[channel] == pytest.approx(theirs[channel], abs=1e-9 * size)
    assert ours.facts.physics == EQUATIONS

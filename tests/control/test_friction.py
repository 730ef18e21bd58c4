"""Arms with dry friction: the makers' gains hold them, and friction that is compensated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.control import Admittance, ComputedTorque, JointImpedance
from palpate.control.references.motions import JointMotion
from palpate.errors import InvalidInput
from palpate.world.clock import Clock
from palpate.world.config import Push, World

# libfranka's own example of joint impedance, at 1 kHz.
FRANKA = JointImpedance(stiffness=(600, 600, 600, 600, 250, 150, 50), damping=(50, 50, 50, 50, 30, 25, 15))


@pytest.mark.parametrize("name", ["fr3", "panda"])
@pytest.mark.parametrize("late", [0, 1, 4])
def test_the_makers_example_gains_are_stable_on_the_arm_as_built(name: str, late: int) -> None:
    world = World(driver=pp.world.Driver(delay=late))
    run = pp.Run(pp.load_robot(name), FRANKA, world, clock=Clock(duration=0.1, timestep=1e-3))
    found = pp.run.poles(run, at=0.05)
    assert found.stable
    assert found.largest == pytest.approx(0.9966, abs=1e-4)
    textbook = pp.run.poles(replace(run, robot=run.robot.with_ideal_joints()), at=0.002)
    assert textbook.stable is False


@pytest.mark.parametrize("name", ["fr3", "panda"])
def test_the_makers_example_gains_hold_a_pushed_arm_in_simulation(name: str) -> None:
    robot = pp.load_robot(name)
    world = World(pushes=(Push(name="hand", force=(0, 10, 5), start=0.1, duration=0.3),))
    trace = pp.simulate(pp.Run(robot, FRANKA, world, clock=Clock(duration=2.0, timestep=1e-3)))
    assert not trace.warnings
    assert np.abs(trace["v"][-1]).max() < 1e-6  # the last of it fades exponentially
    stuck = robot.model.dof_frictionloss / np.array(FRANKA.stiffness)
    assert (np.abs(trace["q"][-1] - robot.home) <= stuck + 1e-6).all()  # anywhere inside the friction's band
    assert np.abs(trace["q"] - robot.home).max() > 2 * stuck.min()


MOVE = JointMotion(offset=(0.4, 0.3, -0.3, 0.4, 0.4, -0.3, 0.5), duration=1.0)


def _followed(share: float, **changes: Any) -> pp.Trace:
    law = ComputedTorque(friction_compensation=share, **changes)
    return pp.simulate(pp.Run(pp.load_robot("fr3"), law, World(), reference=MOVE, clock=Clock(duration=1.0)))


def test_compensated_friction_is_a_term_of_the_command_and_the_arm_follows() -> None:
    bare, helped = _followed(0.0), _followed(1.0)
    assert "tau.friction" in helped.channels
    assert "tau.friction" not in bare.channels
    moving = np.abs(helped["v_measured"]) > 0.01
    robot = pp.load_robot("fr3")
    expected = 0.21 * helped["v_measured"] + np.sign(helped["v_measured"]) * robot.model.dof_frictionloss
    assert helped["tau.friction"][moving] == pytest.approx(expected[moving], abs=1e-12)
    terms = sum(helped[name] for name in helped.channels if name.startswith("tau."))
    assert helped["command"] == pytest.approx(terms, abs=1e-12)
    worst = [np.abs(trace["q"] - trace["target_q"]).max() for trace in (bare, helped)]
    assert worst[1] < 0.3 * worst[0]


def test_compensation_feeds_no_motion() -> None:
    """A pushed arm without springs comes to rest, though all of its friction is compensated."""
    law = JointImpedance(stiffness=0.0, damping=0.0, friction_compensation=1.0)
    world = World(pushes=(Push(name="hand", force=(0, 30, 0), start=0.0, duration=0.05),))
    trace = pp.simulate(pp.Run(pp.load_robot("fr3"), law, world, clock=Clock(duration=3.0)))
    energy = trace["energy.kinetic"]
    assert energy.max() > 1e-3
    after = energy[trace["time"] > 0.06]
    assert after[-1] <= after[0]
    mean = 0.5 * (trace["v"][1:] + trace["v"][:-1])
    added = 1e-3 * np.sum(trace["tau.friction"][:-1] * mean, axis=1).cumsum()
    assert (added <= trace["energy.dissipated"][1:] + 1e-4).all()


def test_behind_a_servo_there_is_nothing_to_add() -> None:
    law = Admittance(friction_compensation=0.5)
    with pytest.raises(InvalidInput, match=r"friction_compensation.*added.*'admittance' commands"):
        pp.simulate(pp.Run(pp.load_robot("ur10e"), law, World(), clock=Clock(duration=0.1)))


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_none_and_all(share: float) -> None:
    with pytest.raises((InvalidInput, ValueError), match="friction_compensation"):
        JointImpedance(friction_compensation=share)

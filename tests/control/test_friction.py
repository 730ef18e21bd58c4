"""Joint friction and the law: what it does at rest, what is added against it, and the arms as they are built."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.control.design.arm import Wall, arm_contact, predict_for_arm
from palpate.control.design.linear.loop_model import Timing
from palpate.control.design.statics import farthest, friction_sentences, held_off
from palpate.control.laws.admittance import Admittance
from palpate.control.laws.computed_torque import ComputedTorque
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.control.laws.hybrid_force import HybridForce
from palpate.control.laws.joint_impedance import JointImpedance
from palpate.control.references.motions import JointMotion
from palpate.errors import InvalidInput
from palpate.world.clock import Clock
from palpate.world.config import Push, World

# libfranka's own example of joint impedance, at 1 kHz.
FRANKA = JointImpedance(stiffness=(600, 600, 600, 600, 250, 150, 50), damping=(50, 50, 50, 50, 30, 25, 15))
FREE = Wall(0.0)


@pytest.mark.parametrize("name", ["fr3", "panda"])
@pytest.mark.parametrize("late", [0, 1, 4])
def test_the_makers_example_gains_are_stable_on_the_arm_as_built(name: str, late: int) -> None:
    robot, timing = pp.load_robot(name), Timing(1e-3, command_delay=late)
    found = predict_for_arm(robot, robot.home, FRANKA, wall=FREE, timing=timing, limits=False)
    assert found.stable
    assert found.radius == pytest.approx(0.9966, abs=1e-4)
    textbook = predict_for_arm(robot.with_ideal_joints(), robot.home, FRANKA, wall=FREE, timing=timing, limits=False)
    assert not textbook.stable


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


def test_one_joint_is_held_off_by_friction_over_stiffness() -> None:
    row = pp.robot.DHLink(a=0.5, mass=2.0, com=(-0.25, 0, 0), friction=1.2)
    robot = pp.Robot.from_dh([row]).with_gravity((0, 0, -9.81))
    contact = arm_contact(robot, [0.0], JointImpedance(stiffness=80.0), wall=FREE, timing=Timing(1e-3))
    held = held_off(contact, robot.model.dof_frictionloss)
    assert held is not None
    assert held[0] == pytest.approx(0.5 * 1.2 / 80.0, rel=1e-6)  # lever · F / K
    on_wall = arm_contact(
        robot, [0.0], JointImpedance(stiffness=80.0), wall=Wall(1e4, normal=(0, 1, 0)), timing=Timing(1e-3)
    )
    held = held_off(on_wall, robot.model.dof_frictionloss)
    assert held is not None
    assert held[1] == pytest.approx(1e4 * 0.5 * 1.2 / (80.0 + 1e4 * 0.25), rel=1e-6)


def test_the_farthest_of_a_box_is_that_of_all_its_corners() -> None:
    from itertools import product

    rng = np.random.default_rng(3)
    for rows, joints in product((1, 2, 3, 6), (1, 4, 7)):
        J, bounds = rng.normal(size=(rows, joints)), rng.uniform(0, 2, joints)
        corners = np.array(list(product((-1.0, 1.0), repeat=joints))) * bounds
        assert farthest(J, bounds) == pytest.approx(np.linalg.norm(corners @ J.T, axis=1).max(), rel=1e-9)


def test_what_nothing_brings_back_is_not_said_to_be_held_off() -> None:
    robot, timing = pp.load_robot("panda"), Timing(1e-3)
    floating = arm_contact(robot, robot.home, GravityCompensation(damping=2.0), wall=FREE, timing=timing)
    assert held_off(floating, robot.model.dof_frictionloss) is None


def test_design_and_a_run_say_the_same_of_friction(capsys: pytest.CaptureFixture[str]) -> None:
    from palpate.cli.main import main

    main(["design", "panda-wall", "--set", "world.surfaces=[]"])
    out = " ".join(capsys.readouterr().out.split())
    (by_run,) = re.findall(r"steady-state error of the tool of up to ([\d.]+) mm in free motion", out)
    (by_design,) = re.findall(r"it can cause a steady-state error of ([\d.]+) mm\.", out)
    assert by_run == by_design


def test_what_friction_does_is_said_and_what_is_not_predicted_too() -> None:
    robot, timing = pp.load_robot("panda"), Timing(1e-3)
    friction = robot.model.dof_frictionloss
    resting = arm_contact(robot, robot.home, FRANKA, wall=FREE, timing=timing)
    assert (
        "Joint friction (0.152 to 0.359 N·m) is not included in the poles; it can cause a steady-state error of"
        in (friction_sentences(resting, friction)[0])
    )
    pressing = arm_contact(robot, robot.home, HybridForce(integral=5.0), wall=Wall(1e4), timing=timing)
    assert "it can cause a stick–slip limit cycle, which is not predicted" in friction_sentences(pressing, friction)[0]
    assert friction_sentences(resting, np.zeros(7)) == []


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
    with pytest.raises(InvalidInput, match="friction_compensation is added to torques, but 'admittance' commands"):
        pp.simulate(pp.Run(pp.load_robot("ur10e"), law, World(), clock=Clock(duration=0.1)))


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_none_and_all(share: float) -> None:
    with pytest.raises((InvalidInput, ValueError), match="friction_compensation"):
        JointImpedance(friction_compensation=share)

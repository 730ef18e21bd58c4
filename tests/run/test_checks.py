"""What is refused before step 0."""

import re

import numpy as np
import pytest

from palpate.control import GravityCompensation
from palpate.errors import InvalidInput, NotFinite
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import FreeObject, Surface, World

LAW = GravityCompensation()


def wall(gap, **more):
    robot = load_robot("panda")
    x = robot.pose(robot.home).position[0]
    return World(surfaces=(Surface(name="wall", position=(x + 0.01 + gap, 0, 0), normal=(-1, 0, 0), **more),))


def test_a_start_outside_the_limits_is_refused_by_joint_and_bound():
    robot = load_robot("panda")
    with pytest.raises(InvalidInput, match=r"joint2 = 3 rad, allowed -1\.76.* to 1\.76"):
        simulate(Run(robot, LAW, clock=Clock(duration=1.0), q_start=[0, 3.0, 0, -1.5, 0, 1.5, 0]))


def test_a_start_that_is_no_number_is_refused():
    with pytest.raises(NotFinite, match="q_start"):
        simulate(Run(load_robot("pendulum"), LAW, clock=Clock(duration=1.0), q_start=[np.nan]))


@pytest.mark.parametrize("kind", ["compliant", "rigid"])
def test_a_start_deep_inside_a_surface_is_refused_with_its_depth(kind):
    with pytest.raises(InvalidInput, match="8 mm inside"):
        simulate(Run(load_robot("panda"), LAW, wall(-0.008, contact=kind), clock=Clock(duration=1.0)))


def test_a_start_that_only_touches_is_accepted():
    trace = simulate(Run(load_robot("panda"), LAW, wall(-0.001), clock=Clock(duration=0.001)))
    assert trace["penetration"][0] == pytest.approx(0.001, abs=1e-12)
    assert trace["energy.dissipated"][0] == 0


def test_a_step_too_long_for_the_stiffness_is_refused_with_its_number():
    robot = load_robot("panda")
    n = np.array([1.0, 0, 0])
    J = robot.jacobian(robot.home)[:3]
    mass = 1 / (n @ J @ np.linalg.solve(robot.mass_matrix(robot.home), J.T) @ n)
    product = 1e-3 * np.sqrt(1e8 / mass)
    with pytest.raises(InvalidInput, match=f"dt·ω = {product:.3g}".replace(".", r"\.")) as caught:
        simulate(Run(robot, LAW, wall(0.1, stiffness=1e8), clock=Clock(duration=1.0)))
    assert re.search(r"use.*timestep", str(caught.value))


def test_a_coarse_step_is_warned_of_in_the_trace():
    trace = simulate(Run(load_robot("panda"), LAW, wall(0.1, stiffness=2e5), clock=Clock(duration=0.001)))
    assert any("dt·ω" in warning for warning in trace.facts.warnings)
    assert trace.events[0].kind == "warning"


def test_a_step_too_long_for_the_damping_is_refused():
    with pytest.raises(InvalidInput, match="d·dt/m"):
        simulate(Run(load_robot("panda"), LAW, wall(0.1, damping=1e5), clock=Clock(duration=1.0)))


def test_a_ball_in_the_floor_is_refused_by_name():
    world = World(
        surfaces=(Surface(name="floor", position=(0, 0, -1)),),
        objects=(FreeObject(name="ball", position=(2, 0, -0.98)),),
    )
    with pytest.raises(InvalidInput, match=r"'ball' starts 30 mm.*'floor'"):
        simulate(Run(load_robot("panda"), LAW, world, clock=Clock(duration=1.0)))

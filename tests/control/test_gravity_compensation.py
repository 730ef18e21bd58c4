"""Gravity compensation: the arm floats, and comes to rest when pushed."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control import GravityCompensation
from palpate.errors import BadShape, InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import PlantChange, World


@pytest.mark.parametrize("name", ["panda", "iiwa14", "planar2", "planar3-vertical"])
def test_an_arm_at_rest_stays_at_rest(name: str) -> None:
    robot = load_robot(name)
    trace = simulate(Run(robot, GravityCompensation(), clock=Clock(duration=1.0)))
    assert np.abs(trace["q"] - robot.home).max() < 1e-10


def test_without_damping_a_pendulum_moves_on_at_its_speed(extrapolate) -> None:
    robot = load_robot("pendulum")
    run = extrapolate(
        Run(robot, GravityCompensation(damping=0.0), clock=Clock(duration=0.5), v_start=np.array([2.0])), "q"
    )
    assert run["q"][:, 0] == pytest.approx(robot.home[0] + 2.0 * run.time, abs=1e-8)


def test_with_damping_a_pendulum_slows_exponentially(extrapolate) -> None:
    robot = load_robot("pendulum")
    inertia = robot.mass_matrix(robot.home)[0, 0]
    run = extrapolate(
        Run(robot, GravityCompensation(damping=3.0), clock=Clock(duration=1.0), v_start=np.array([2.0])), "v"
    )
    assert run["v"][:, 0] == pytest.approx(2.0 * np.exp(-3.0 / inertia * run.time), abs=1e-8)


def test_a_heavier_plant_sinks_at_a_speed_set_by_the_damping() -> None:
    robot = load_robot("pendulum")
    world = World(plant=PlantChange(mass_scale=1.1))
    start = np.array([1.2])
    slow, fast = (
        simulate(Run(robot, GravityCompensation(damping=d), world, clock=Clock(duration=1.0), q_start=start))
        for d in (200.0, 50.0)
    )
    missing = 0.1 * robot.gravity(start)[0]
    assert slow["v"][-1, 0] == pytest.approx(-missing / 200.0, rel=0.02)
    assert abs(fast["v"][-1, 0]) > 3 * abs(slow["v"][-1, 0])


@pytest.mark.parametrize(
    ("damping", "error", "says"),
    [(-1.0, InvalidInput, "-1"), ((1.0, 2.0), BadShape, "panda"), ((1.0,) * 6 + (-4.0,), InvalidInput, "joint7.*-4")],
)
def test_bad_damping_is_refused(damping, error, says) -> None:
    with pytest.raises(error, match=says):
        GravityCompensation(damping=damping).bind(load_robot("panda"))

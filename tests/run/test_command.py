"""From command to torque: limits, delays, servos, free bases."""

from typing import Any

import numpy as np
import pytest

from palpate.control import PythonLaw
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Driver, World


def law_of(function, command: Any = "torque"):
    """A law whose command is function(t)."""

    def law(tick, gains, memory):
        return {"torque": np.zeros(tick.v.size) + function(tick.t)}

    return PythonLaw(law, command=command)


def test_torque_limits_cut_the_command_and_are_counted():
    robot = load_robot("panda")
    driver = Driver(torque_rate_limit=False)
    trace = simulate(
        Run(robot, law_of(lambda t: 200 * np.sin(60 * t)), World(driver=driver), clock=Clock(duration=0.05))
    )
    np.testing.assert_allclose(
        trace["tau"], np.clip(trace["command"], -robot.limits.torque, robot.limits.torque), atol=0
    )
    cut = (np.abs(trace["command"]) > robot.limits.torque).any(axis=1)
    np.testing.assert_array_equal(trace["guard"] == 1, cut)
    assert trace.facts.guard_ticks["torque limit"] == cut.sum()
    assert any(event.source == "guard" for event in trace.events)


def test_torque_rates_are_limited_from_the_torque_that_held_the_arm():
    robot = load_robot("panda")
    held = robot.gravity(robot.home)
    trace = simulate(Run(robot, law_of(lambda t: held + 8.0 * (t > 0.0045)), clock=Clock(duration=0.02)))
    rates = np.diff(trace["tau"], axis=0) / 1e-3
    assert np.abs(rates).max() == pytest.approx(1000.0)
    np.testing.assert_allclose(trace["tau"][-1], held + 8.0)
    assert (trace["guard"] == 2).sum() == 7  # 8 N·m at 1 N·m per step: seven steps cut, the eighth arrives


def test_limits_can_be_switched_off():
    driver = Driver(torque_limit=False, torque_rate_limit=False)
    trace = simulate(
        Run(load_robot("panda"), law_of(lambda t: 150.0), World(driver=driver), clock=Clock(duration=0.005))
    )
    assert (trace["tau"] == 150.0).all()


@pytest.mark.parametrize(("delay", "period"), [(1, 1e-3), (4, 1e-3), (2, 3e-3)])
def test_commands_take_effect_that_many_samples_late(delay, period):
    world = World(driver=Driver(delay=delay))
    trace = simulate(
        Run(load_robot("pendulum"), law_of(lambda t: 1.0 + t), world, clock=Clock(duration=0.03, period=period))
    )
    ratio = round(period / 1e-3)
    tau, command = trace["tau"][::ratio], trace["command"][::ratio]
    np.testing.assert_array_equal(tau[delay:], command[:-delay])
    assert (tau[:delay] == 0.0).all()  # the pendulum hangs: nothing holds it until the first command arrives


@pytest.mark.parametrize("name", ["ur5e", "iiwa14"])
def test_a_position_command_is_tracked_through_the_servo(name):
    robot = load_robot(name, joints="ideal")
    amplitude = 0.2

    def path(t):
        return robot.home + amplitude * (1 - np.cos(2 * t)) / 2

    trace = simulate(Run(robot, law_of(path, "position"), clock=Clock(duration=2.0)))
    wanted = np.array([path(t) for t in trace.time])
    assert np.abs(trace["q"] - wanted).max() < 1e-3
    assert trace.units["command"] == "rad"


def test_a_velocity_command_is_tracked_through_the_servo():
    robot = load_robot("ur5e", joints="ideal")
    trace = simulate(Run(robot, law_of(lambda t: 0.3 * np.sin(3 * t), "velocity"), clock=Clock(duration=2.0)))
    path = robot.home + 0.1 * (1 - np.cos(3 * trace.time))[:, None]
    assert np.abs(trace["q"] - path).max() < 1e-3
    assert np.abs(trace["v"][500:] - 0.3 * np.sin(3 * trace.time[500:])[:, None]).max() < 5e-3


def test_an_acceleration_command_is_carried_out_by_the_nominal_model():
    robot = load_robot("iiwa14")
    trace = simulate(
        Run(robot, law_of(lambda t: np.full(7, 0.5), "acceleration"), clock=Clock(duration=0.2, timestep=1e-4))
    )
    np.testing.assert_allclose(trace["v"], np.tile(0.5 * trace.time[:, None], (1, 7)), atol=1e-4)


def test_no_torque_reaches_a_free_base():
    robot = load_robot("quadruped")
    trace = simulate(Run(robot, law_of(lambda t: 5.0), clock=Clock(duration=0.01)))
    assert not trace["tau"][:, :6].any()
    assert (trace["tau"][:, 6:] == 5.0).all()
    assert not trace["guard"].any()


def test_a_servo_cannot_move_a_free_base():
    with pytest.raises(InvalidInput, match="free base"):
        simulate(Run(load_robot("quadruped"), law_of(lambda t: 0.0, "position"), clock=Clock(duration=1.0)))

"""The fastest stop in closed loop: straight, quick, and followed by rest, on three arms and in three versions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import palpate as pp
from palpate.control.laws.fastest_stop import FastestStop
from palpate.errors import InvalidInput
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Actuators, World

PI = math.pi
UNLIMITED = World(actuators=Actuators(torque_limit=False, torque_rate_limit=False))
PLANAR, U = pp.load_robot("planar3", length=1.0), (15 * PI, 10 * PI, 10 * PI)


def stop(robot, q, v, law, axes, duration=0.6):
    """Time, distance and largest sideways speed until the tool stands still; the command; the last joint speeds."""
    parts = Run(
        robot,
        law,
        UNLIMITED,
        clock=Clock(duration=duration, timestep=1e-4, period=1e-3, max_speed=1e3),
        q_start=q,
        v_start=v,
    )
    trace = simulate(parts)
    assert trace.outcome.kind == "completed"
    qs, vs = trace["q"][::10], trace["v"][::10]
    speeds = np.array([robot.jacobian(a)[axes] @ b for a, b in zip(qs, vs)])
    direction = speeds[0] / np.linalg.norm(speeds[0])
    along = speeds @ direction
    across = np.linalg.norm(speeds - np.outer(along, direction), axis=1)
    still = np.linalg.norm(speeds, axis=1) < 0.02 * along[0]
    assert still.any()
    k = int(np.argmax(still))
    place = [robot.pose(a).position[axes] for a in (qs[0], qs[k])]
    return trace.time[::10][k], np.linalg.norm(place[1] - place[0]), across.max(), trace["command"], vs[-1], speeds[-1]


def planar_stop(speed, method="optimal", **settings):
    law = FastestStop(method=method, axes="xy", acceleration=U, **settings)
    return stop(PLANAR, np.array([0, PI / 2, PI / 2]), speed * np.array([PI, PI, 0]), law, [0, 1])


@pytest.mark.parametrize(("speed", "audited"), [(0.5, 9.2e-3), (0.9, 2.9e-2), (1.0, 3.6e-2)])
def test_the_planar_arm_stops_in_a_straight_line_and_then_rests(speed, audited):
    _, _, across, command, last, tool = planar_stop(speed)
    assert across < 1.2 * audited  # a command held for 1 ms lets the direction drift that much
    assert (np.abs(command) <= np.array(U) + 1e-9).all()
    assert np.abs(last).max() < 1e-6  # the self-motion that remains at the stop is stopped too
    assert np.linalg.norm(tool) < 1e-6


def test_the_first_command_is_the_audited_one():
    command = planar_stop(1.0)[3]
    assert command[0] == pytest.approx([14.317868804289, -31.415926535898, -31.415926535898], rel=1e-9)


@pytest.mark.parametrize("speed", [0.5, 0.9])
def test_using_the_redundancy_stops_sooner_and_shorter(speed):
    best, plain, printed = (planar_stop(speed, method) for method in ("optimal", "pseudoinverse", "as-printed"))
    assert best[0] < 0.9 * plain[0]
    assert best[1] < 0.9 * plain[1]
    assert plain[:2] == pytest.approx(printed[:2])


def test_straightening_keeps_the_tool_on_its_line():
    assert planar_stop(0.9, straighten=200.0)[2] < 0.5 * planar_stop(0.9)[2]


@pytest.mark.parametrize(("name", "bound"), [("panda", None), ("iiwa14", 10.0)])
def test_real_arms_stop_straight_and_sooner_than_by_pseudoinverse(name, bound):
    robot = pp.load_robot(name)
    v = np.array([0.9, 0.5, 0.3, 0.2, -0.2, 0.4, 0.5])
    found = {}
    for method in ("optimal", "pseudoinverse"):
        law = FastestStop(method=method, acceleration=bound)
        found[method] = stop(robot, robot.home, v, law, [0, 1, 2], 1.0)
    most = robot.limits.acceleration if bound is None else np.full(7, bound)
    time, distance, across, command, last, tool = found["optimal"]
    assert time <= found["pseudoinverse"][0]
    assert distance <= found["pseudoinverse"][1]
    assert across < 5e-3
    assert (np.abs(command) <= most + 1e-9).all()
    assert np.abs(last).max() < 1e-3
    assert np.linalg.norm(tool) < 1e-6


def test_an_arm_without_acceleration_limits_needs_them_given():
    with pytest.raises(InvalidInput, match="positive acceleration bound"):
        FastestStop().bind(pp.load_robot("iiwa14"))


@pytest.mark.parametrize("name", ["planar3-stop", "panda-stop", "iiwa14-stop"])
def test_the_shipped_scenarios_come_to_rest(name):
    trace = pp.simulate(pp.load_scenario(name))
    assert trace.outcome.kind == "completed"
    assert np.abs(trace["v"][-1]).max() < 1e-3

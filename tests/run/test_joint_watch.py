"""Joint stops and rated speeds: metrics of every run, warnings, and a guard."""

from __future__ import annotations

import numpy as np
import pytest

import palpate as pp
from palpate.control import Guards
from palpate.control.law import PythonLaw
from palpate.metrics import METRICS, evaluate
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Driver, World


def value(trace, name):
    return METRICS[name].compute(trace)


def test_the_pole_as_printed_breaks_bounds_and_warns():
    scenario = pp.load_scenario(
        "iiwa14-pole",
        [
            "control.self_motion=free",
            "control.nearest=torque",
            "control.avoid_stops=false",
            "control.fall_speed=1000",
            "run.duration=4",
        ],
    )
    trace = pp.simulate(scenario)
    assert value(trace, "joint_speed_ratio") > 2
    assert any("rated speed" in w for w in trace.warnings)
    broken = [r.name for r in evaluate(trace, scenario.metrics) if r.passed is False]
    assert "joint_speed_ratio" in broken


def test_the_pole_as_it_is_keeps_its_bounds():
    scenario = pp.load_scenario("iiwa14-pole")
    trace = pp.simulate(scenario)
    assert not [r.name for r in evaluate(trace, scenario.metrics) if r.passed is False]
    assert value(trace, "joint_stop_time") == 0
    share = (np.abs(trace["v"]) / pp.load_robot("iiwa14").limits.velocity).max()
    assert value(trace, "joint_speed_ratio") == pytest.approx(share, rel=1e-2)


def spun(guards):
    """A Panda whose law asks for far too much of joint 1."""
    robot = pp.load_robot("panda")
    law = PythonLaw(lambda tick, gains, memory: {"torque": tick.bias + tick.M @ np.array([8.0, 0, 0, 0, 0, 0, 0])})
    world = World(driver=Driver(torque_rate_limit=False))
    return robot, simulate(Run(robot, law, world, clock=Clock(duration=0.6, timestep=2e-4), guards=guards))


def test_a_guard_keeps_rated_joint_speeds():
    robot, free = spun(None)
    _, held = spun(Guards())
    rated = robot.limits.velocity[0]
    assert free["v"][:, 0].max() > 1.5 * rated
    assert value(free, "joint_overspeed_time") > 0.1
    assert held["v"][:, 0].max() < 1.001 * rated
    assert held["v"][:, 0].max() > 0.95 * rated
    assert held.facts.guard_ticks["joint-speed limit"] > 0
    assert value(held, "joint_speed_ratio") < 1.001


def test_a_guard_keeps_rated_speeds_behind_a_servo_too():
    robot = pp.load_robot("ur5e", joints="ideal")
    law = PythonLaw(lambda tick, gains, memory: {"speed": np.full(6, 10.0)}, terms=("speed",), command="velocity")
    trace = simulate(Run(robot, law, clock=Clock(duration=0.2), guards=Guards()))
    assert (np.abs(trace["v"][-20:]) <= 1.01 * robot.limits.velocity).all()  # the servo's own overshoot has died out
    assert (np.abs(trace["v"][-20:]) >= 0.98 * robot.limits.velocity).all()
    assert trace.facts.guard_ticks["joint-speed limit"] > 0


def test_metrics_that_mean_nothing_are_absent_with_their_reason():
    trace = pp.simulate(pp.load_scenario("pole-alone", ["world.pole.tilt=[0, 0.05]"]))
    found = {r.name: r for r in evaluate(trace)}
    assert found["position_overshoot"].value is None
    reason = found["position_overshoot"].reason or ""
    assert "no step" in reason or "not change" in reason
    assert found["joint_error_rms"].reason == "pole-balance follows the tool's target; its joints have none"
    stop = {r.name: r for r in evaluate(pp.simulate("planar3-stop"))}
    assert stop["position_error_max"].reason == "fastest-stop follows no target"
    assert stop["stop_time"].value is not None


def test_the_compliant_pose_of_an_admittance_law_is_recorded():
    trace = pp.simulate(
        pp.load_scenario(
            "ur5e-admittance", ["run.duration=2.0", "world.pushes=[{force=[1,2,3], start=0.2, duration=1.5}]"]
        )
    )
    moved = trace["law.compliant_position"] - trace["target_position"]
    assert np.abs(moved).max() > 1e-4
    quat = trace["law.compliant_quat_wxyz"]
    assert np.linalg.norm(quat[5:], axis=1) == pytest.approx(np.ones(len(quat) - 5), abs=1e-9)
    assert trace["law.compliant_position"][-1] == pytest.approx(trace["tool_position"][-1], abs=5e-3)

"""Bias of a wrist's sensor, stiffness of joints, and several recordings: known truths are inside their intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.tools.logs.drawn import drawn
from tests.tools.logs.made import Faults, motion, recording, truth

import palpate as pp
from palpate.checks import Array
from palpate.tools.logs.cleaning import cleaned
from palpate.tools.logs.columns import Log, joined
from palpate.tools.logs.identify import identify
from palpate.tools.logs.model import Arm
from palpate.tools.logs.sensors.elastic import joint_stiffness
from palpate.tools.logs.sensors.wrist import BIAS, wrench_bias
from palpate.tools.logs.spread import beyond_chance

B = np.array([1.5, -2.0, 3.0, 0.1, -0.2, 0.05])
MASS, COM = 0.8, np.array([0.01, -0.02, 0.05])


@pytest.fixture(scope="module")
def panda() -> pp.Robot:
    return pp.load_robot("panda")


def felt(robot: pp.Robot, seed: int, contact: float = 0.0) -> Log:
    """A tool on the wrist's sensor: its wrench by Newton and Euler from poses alone, finite differences in time."""
    arm, time = Arm.of(robot), np.arange(0.0, 12.0, 0.004)
    q, v, a = motion(arm, time, seed)
    step = 1e-4

    def centre(at: Array) -> Array:
        position, rotation = robot.pose_batch(motion(arm, at, seed)[0], "flange")
        return position + rotation @ COM

    rotation = robot.pose_batch(q, "flange")[1]
    acceleration = (centre(time + step) - 2 * centre(time) + centre(time - step)) / step**2
    force = np.einsum("nji,nj->ni", rotation, -MASS * (acceleration - robot.model.opt.gravity))
    wrench = np.concatenate([force, np.cross(COM, force)], axis=1) + B
    noise = np.random.default_rng(seed).normal(size=wrench.shape) * [0.3, 0.3, 0.3, 0.02, 0.02, 0.02]
    wrench += noise
    wrench[time < contact * 12.0, 2] += 30.0
    tau = arm.rigid(q, v, a)
    return Log("felt", "made", "", time, q, v, tau, wrench=wrench, wrench_frame="flange")


def test_bias_and_tool_of_a_wrist_sensor_are_inside_their_intervals(panda: pp.Robot) -> None:
    log = felt(panda, 0, contact=0.2)  # a fifth of the rows touches something
    told = wrench_bias(log, panda, cleaned(log))
    true = dict(zip((f"bias {axis}" for axis in BIAS), B)) | {"sensor mass": MASS, "sensor mass_z": MASS * COM[2]}
    inside = [told[name].low < value < told[name].high for name, value in true.items()]
    assert sum(inside) >= len(true) - 1
    assert told["bias z"].half < 0.1
    assert told["sensor mass"].half < 0.02


def test_a_sensor_in_contact_all_the_time_tells_no_bias(panda: pp.Robot) -> None:
    log = felt(panda, 1)
    assert log.wrench is not None
    wild = replace(log, wrench=log.wrench * (1 + np.random.default_rng(0).standard_cauchy((len(log.time), 1)) ** 2))
    told = wrench_bias(wild, panda, cleaned(wild))
    assert all(q.reason or q.half > 0.3 for q in told.values())


def test_a_wrench_in_world_axes_has_no_sensor_to_be_biased(panda: pp.Robot) -> None:
    log = replace(felt(panda, 2), wrench_frame="world")
    assert wrench_bias(log, panda, cleaned(log)) == {}


def test_joint_stiffness_of_both_sides_is_inside_its_interval(panda: pp.Robot) -> None:
    arm, held = Arm.of(panda), []
    stiffness = np.array([14e3, 14e3, 12e3, 12e3, 9e3, 9e3, 9e3])
    for seed in range(4):
        log = recording(arm, arm.nominal, seed, Faults(late_rows=0, velocity_noise=1e-3), duration=10.0)
        assert log.tau is not None
        noise = 2e-5 * np.random.default_rng(seed).normal(size=log.q.shape)
        log = replace(log, q_motor=log.q + log.tau / stiffness + noise)
        told = joint_stiffness(panda, cleaned(log))
        held += [q.low < K < q.high for q, K in zip(told.values(), stiffness) if not q.reason]
        assert told["joint stiffness joint2"].half < 0.1 * 14e3
    assert len(held) >= 20
    assert np.mean(held) >= 0.9


def test_three_recordings_have_the_spread_from_run_to_run() -> None:
    """A friction that differs between runs, which no single run can show."""
    arm = Arm.of(pp.load_robot("ur5e-3link"))
    clean = Faults(late_rows=0, repeated=0.0, dropped=0.0)
    logs = []
    for seed, factor in enumerate((0.8, 1.0, 1.2)):
        theta = truth(arm)
        theta[arm.columns("coulomb")] *= factor
        logs.append(recording(arm, theta, seed, clean, duration=8.0))
    whole = joined(logs)
    told = identify(whole, arm, rollouts=False, friction="coulomb")
    assert len(told.motion.runs) == 3
    assert told.motion.counts["resets"] == 0
    q, true = told.quantities["coulomb joint1"], dict(zip(arm.names, truth(arm)))["coulomb joint1"]
    assert q.low < true < q.high
    alone = identify(logs[1], arm, rollouts=False, friction="coulomb").quantities["coulomb joint1"]
    assert q.half > 3 * alone.half  # ±20 % of a run, three of them, Student's t of two
    assert q.half > 4.3 * 0.2 / np.sqrt(3) * true * 0.5


def test_a_load_that_compliant_joints_feign_is_inside() -> None:
    """Motors are measured, links hang behind: a rigid fit misses the load by many deviations of chance."""
    arm, inside, beyond = Arm.of(pp.load_robot("ur5e-3link")), 0, 0
    for seed in range(400, 403):
        one = drawn(arm, seed, "elastic truth")
        told = identify(one.log, arm, rollouts=False, friction="coulomb")
        q = told.quantities["mass"]
        inside += q.low < one.theta[0] < q.high
        beyond += abs(told.classical[0] - one.theta[0]) > q.chance
    assert inside == 3
    assert beyond >= 1


def test_the_spread_between_joints_is_the_jackknife_of_what_is_no_chance() -> None:
    """By hand: 0.5 − √2/10 of one joint of three, times √(2/3) and Student's t of two degrees of freedom, 4.3027."""
    values = np.array([[1.5, 2.0], [1.0, 2.05], [0.9, np.nan]])
    more = beyond_chance(np.array([1.0, 2.0]), np.array([0.1, 0.1]), values, np.full((3, 2), 0.1))
    np.testing.assert_allclose(more, [4.30265 * np.sqrt(2 / 3) * (0.5 - 0.1 * np.sqrt(2)), 0.0], rtol=1e-5)

"""Joint impedance: springs at the joints, with and without feed-forward."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control import JointImpedance
from palpate.control.references.reference import Targets, joint_target
from palpate.errors import BadShape, InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.world.clock import Clock
from palpate.world.config import Driver, Push, World


class Swing:
    """Joints that follow q₀ + 0.2 (1 − cos 3 t), with velocity and acceleration: from rest."""

    def sample(self, times, robot, q_start):
        targets = Targets(len(times), robot)
        targets.q[:] = q_start + 0.2 * (1 - np.cos(3 * times))[:, None]
        targets.v[:] = 0.6 * np.sin(3 * times)[:, None]
        targets.a[:] = 1.8 * np.cos(3 * times)[:, None]
        return targets.array


FREE = Driver(torque_limit=False, torque_rate_limit=False)


def test_torque_is_the_sum_in_the_docstring() -> None:
    robot = load_robot("iiwa14")
    q, v = robot.home + 0.1, np.linspace(-1, 1, 7)
    target = joint_target(robot, robot.home)
    target.v[:], target.a[:] = 0.2, 0.5
    K, D = np.linspace(100, 700, 7), np.linspace(5, 35, 7)
    x = robot.terms(q, v)
    law = JointImpedance(stiffness=tuple(K), damping=tuple(D))
    springs = K * (robot.home - q) + D * (0.2 - v)
    assert law.tick(robot, q, v, target=target).command == pytest.approx(springs + x.gravity, abs=1e-10)
    forward = law.model_copy(update={"feed_forward": True}).tick(robot, q, v, target=target)
    assert forward.command == pytest.approx(springs + x.M @ np.full(7, 0.5) + x.bias, abs=1e-10)


@pytest.mark.parametrize("name", ["planar2", "panda"])
def test_a_wrench_deflects_the_joints_by_the_inverse_stiffness(name: str) -> None:
    robot = load_robot(name, joints="ideal")
    K = np.linspace(150.0, 250.0, robot.nv)
    world = World(pushes=(Push(force=(5.0, 3.0, 0.0), torque=(0.0, 0.0, 1.0), duration=100.0),), driver=FREE)
    trace = simulate(Run(robot, JointImpedance(stiffness=tuple(K)), world, clock=Clock(duration=4.0)))
    q = trace["q"][-1]
    torque = robot.jacobian(q).T @ [5, 3, 0, 0, 0, 1]
    assert K * (q - robot.home) == pytest.approx(torque, abs=1e-6)


def test_feed_forward_follows_a_moving_target_without_lag(extrapolate) -> None:
    robot = load_robot("panda", joints="ideal")
    world = World(driver=FREE)
    with_it, without = (
        extrapolate(Run(robot, JointImpedance(feed_forward=f), world, Swing(), clock=Clock(duration=0.5)), "q")
        for f in (True, False)
    )
    wanted = robot.home + 0.2 * (1 - np.cos(3 * with_it.time))[:, None]
    assert np.abs(with_it["q"] - wanted).max() < 1e-7
    assert np.abs(without["q"] - wanted).max() > 1e-3


def test_a_pendulum_rings_at_the_frequency_of_its_spring(extrapolate) -> None:
    robot = load_robot("pendulum")
    inertia = robot.mass_matrix(robot.home)[0, 0]
    law = JointImpedance(stiffness=60.0 * inertia, damping=0.0)
    run = extrapolate(Run(robot, law, clock=Clock(duration=1.0), v_start=np.array([1.0])), "q")
    w = np.sqrt(60.0)
    assert run["q"][:, 0] - robot.home[0] == pytest.approx(np.sin(w * run.time) / w, abs=1e-7)


def test_damping_follows_from_the_ratio_and_each_joints_inertia() -> None:
    robot = load_robot("pendulum")
    inertia = robot.mass_matrix(robot.home)[0, 0]
    gains = JointImpedance(stiffness=8.0, damping_ratio=0.5).bind(robot).gains
    assert gains.damping[0] == pytest.approx(np.sqrt(8.0 * inertia))


@pytest.mark.parametrize(
    ("gains", "error", "says"),
    [
        ({"stiffness": -1.0}, InvalidInput, "-1"),
        ({"damping_ratio": -0.2}, InvalidInput, "-0.2"),
        ({"damping": (1.0, -0.5)}, InvalidInput, "-0.5"),
        ({"stiffness": (1.0, 2.0, 3.0)}, BadShape, r"\(2,\), got \(3,\)"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, error, says) -> None:
    with pytest.raises(error, match=says):
        JointImpedance(**gains).bind(load_robot("planar2"))

"""Computed torque: each joint's error is the linear response its gains assign."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control import ComputedTorque
from palpate.control.references.reference import Targets, joint_target
from palpate.errors import BadShape, InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.world.clock import Clock
from palpate.world.config import Driver, Push, World

FREE = World(driver=Driver(torque_limit=False, torque_rate_limit=False))


class Swing:
    """Joints that follow q₀ + A sin(ω t), with velocity and acceleration."""

    def __init__(self, amplitude: float, rate: float) -> None:
        self.amplitude, self.rate = amplitude, rate

    def sample(self, times, robot, q_start):
        targets, w = Targets(len(times), robot), self.rate
        wave = self.amplitude * np.sin(w * times)[:, None]
        targets.q[:], targets.a[:] = q_start + wave, -w * w * wave
        targets.v[:] = self.amplitude * w * np.cos(w * times)[:, None]
        return targets.array


def critical(e0, rate0, w, t):
    """Error of ë + 2 ω ė + ω² e = 0."""
    return (e0 + (rate0 + w * e0) * t) * np.exp(-w * t)


def test_acceleration_of_one_tick_is_the_wanted_one() -> None:
    robot = load_robot("iiwa14")
    q, v = robot.home + 0.2, np.linspace(-1, 1, 7)
    target = joint_target(robot, robot.home)
    target.v[:], target.a[:] = 0.3, -0.7
    command = ComputedTorque(kp=80.0, kd=15.0).tick(robot, q, v, target=target).command
    x = robot.terms(q, v)
    a = np.linalg.solve(x.M, command - x.bias)
    assert a == pytest.approx(-0.7 + 15 * (0.3 - v) + 80 * (robot.home - q), abs=1e-9)


@pytest.mark.parametrize("name", ["planar2", "panda", "iiwa14"])
def test_error_follows_the_assigned_linear_dynamics(name: str, extrapolate) -> None:
    robot = load_robot(name, joints="ideal").with_gravity((0, 0, -9.81))
    w, n = 12.0, robot.nv
    start = robot.home + np.linspace(0.1, -0.1, n)
    parts = Run(robot, ComputedTorque(frequency=w), FREE, Swing(0.15, 4.0), clock=Clock(duration=0.5), q_start=start)
    run = extrapolate(parts, "q")
    t = run.time[:, None]
    error = 0.15 * np.sin(4.0 * t) + start - run["q"]
    # The arm starts at rest on a moving target: e = 0, ė = 0.15 · 4.
    assert np.abs(error - critical(0.0, 0.6, w, t)).max() < 1e-6
    assert np.abs(error).max() > 0.01


def test_underdamped_joints_ring_at_their_frequency(extrapolate) -> None:
    robot = load_robot("planar2")
    law = ComputedTorque(frequency=(10.0, 14.0), damping_ratio=(0.3, 0.5))
    v0 = np.array([1.0, -1.0])
    run = extrapolate(Run(robot, law, FREE, clock=Clock(duration=0.6), v_start=v0), "q")
    for joint, (w, z) in enumerate(((10.0, 0.3), (14.0, 0.5))):
        wd = w * np.sqrt(1 - z * z)
        wanted = v0[joint] / wd * np.exp(-z * w * run.time) * np.sin(wd * run.time)
        assert run["q"][:, joint] - robot.home[joint] == pytest.approx(wanted, abs=1e-6)


def test_held_torques_on_a_linear_arm_give_the_sampled_dynamics_exactly() -> None:
    from palpate.run.simulate import simulate

    robot, T = load_robot("cartesian2"), 0.02
    law, v0 = ComputedTorque(kp=49.0, kd=14.0), np.array([0.5, -0.3])
    trace = simulate(
        Run(robot, law, FREE, clock=Clock(duration=1.0, timestep=T / 4, period=T, integrator="rk4"), v_start=v0)
    )
    held = np.array([[1, T], [0, 1]]) - np.outer([T * T / 2, T], [49.0, 14.0])
    state = np.array([[0, 0], [0.5, -0.3]])
    for k in range(50):
        assert trace["q"][4 * k] == pytest.approx(state[0], abs=1e-12)
        state = held @ state


def test_a_wrench_at_rest_is_met_by_the_stiffness_m_kp() -> None:
    from palpate.run.simulate import simulate

    robot = load_robot("planar2")
    world = World(pushes=(Push(force=(3.0, 2.0, 0.0), duration=10.0),))
    trace = simulate(Run(robot, ComputedTorque(frequency=20.0), world, clock=Clock(duration=3.0)))
    q = trace["q"][-1]
    torque = robot.jacobian(q)[:3].T @ [3.0, 2.0, 0.0]
    assert robot.mass_matrix(q) @ (q - robot.home) * 400 == pytest.approx(torque, abs=1e-6)


@pytest.mark.parametrize(
    ("gains", "error", "says"),
    [
        ({"frequency": 0.0}, InvalidInput, "greater than 0"),
        ({"damping_ratio": -0.1}, InvalidInput, "-0.1"),
        ({"frequency": (1.0, 2.0, 3.0)}, BadShape, r"\(2,\), got \(3,\)"),
        ({"kp": 100.0}, InvalidInput, "both kp"),
        ({"kp": (100.0, -3.0), "kd": 1.0}, InvalidInput, "joint2.*-3"),
    ],
)
def test_bad_gains_are_refused_with_their_numbers(gains, error, says) -> None:
    with pytest.raises(error, match=says):
        ComputedTorque(**gains).bind(load_robot("planar2"))


def test_a_free_base_is_refused() -> None:
    with pytest.raises(InvalidInput, match="19 coordinates for 18 velocities"):
        ComputedTorque().bind(load_robot("quadruped"))

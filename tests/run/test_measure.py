"""What the law gets to see: joint sensors, the wrist sensor, delays."""

import numpy as np
import pytest

from palpate.control import GravityCompensation, JointImpedance, PythonLaw
from palpate.errors import InvalidInput
from palpate.robot import load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import Pose
from palpate.world.clock import Clock
from palpate.world.config import PlantChange, Push, Sensors, Surface, World, WrenchSensor

G = 9.81
FLOATING = GravityCompensation(damping=0.5)


def swing(sensors=None, duration=1.0, **clock):
    """A free pendulum that the law only watches."""
    watch = PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v})
    world = World(sensors=sensors or Sensors())
    return simulate(Run(load_robot("pendulum"), watch, world, clock=Clock(duration=duration, **clock), q_start=[1.0]))


def test_ideal_sensors_see_the_true_state():
    trace = swing()
    np.testing.assert_array_equal(trace["q_measured"], trace["q"])
    np.testing.assert_array_equal(trace["v_measured"], trace["v"])


def test_an_encoder_rounds_to_its_nearest_step():
    trace = swing(Sensors(encoder_resolution=0.01))
    steps = trace["q_measured"] / 0.01
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert np.abs(trace["q_measured"] - trace["q"]).max() <= 0.005 + 1e-12
    assert np.abs(trace["q_measured"] - trace["q"]).max() > 0.0049


def test_noise_has_the_spread_it_is_given_and_no_mean():
    trace = swing(Sensors(encoder_noise=2e-3, velocity_noise=0.05), duration=20.0)
    for name, sigma in (("q", 2e-3), ("v", 0.05)):
        error = (trace[f"{name}_measured"] - trace[name])[:, 0]
        n = len(error)
        assert error.std() == pytest.approx(sigma, rel=4 / np.sqrt(2 * n))
        assert abs(error.mean()) < 4 * sigma / np.sqrt(n)
        assert abs(np.corrcoef(error[1:], error[:-1])[0, 1]) < 4 / np.sqrt(n)


def test_differentiated_velocity_is_the_difference_of_encoder_readings():
    trace = swing(Sensors(encoder_resolution=1e-3, velocity="differentiated"))
    np.testing.assert_allclose(trace["v_measured"][1:], np.diff(trace["q_measured"], axis=0) / 1e-3, atol=1e-9)


def test_a_velocity_cutoff_is_a_first_order_low_pass():
    trace = swing(Sensors(velocity_cutoff=20.0))
    v, seen = trace["v"][:, 0], trace["v_measured"][:, 0]
    share = 1 - np.exp(-2 * np.pi * 20.0 * 1e-3)
    np.testing.assert_allclose(seen[1:], seen[:-1] + share * (v[1:] - seen[:-1]), atol=1e-14)


@pytest.mark.parametrize(("delay", "period"), [(1, 1e-3), (7, 1e-3), (3, 4e-3)])
def test_joint_readings_arrive_that_many_samples_late(delay, period):
    trace = swing(Sensors(delay=delay), period=period)
    ratio = round(period / 1e-3)
    ticks, seen = trace["q"][::ratio], trace["q_measured"][::ratio]
    np.testing.assert_array_equal(seen[delay:], ticks[:-delay])
    np.testing.assert_array_equal(seen[:delay], np.tile(ticks[0], (delay, 1)))


def test_joint_torque_sensors_see_the_torque_of_the_last_step_with_noise():
    seen = []

    def law(tick, gains, memory):
        seen.append(tick.tau[0])
        return {"torque": np.array([2.0 + tick.t])}

    world = World(sensors=Sensors(torque_noise=0.1))
    trace = simulate(Run(load_robot("pendulum"), PythonLaw(law), world, clock=Clock(duration=4.0)))
    error = np.array(seen[2:]) - trace["tau"][:, 0][: len(seen) - 2]
    assert error.std() == pytest.approx(0.1, rel=0.05)


def test_noise_on_joints_of_a_free_base_is_refused():
    parts = Run(
        load_robot("quadruped"), FLOATING, World(sensors=Sensors(encoder_noise=1e-3)), clock=Clock(duration=1.0)
    )
    with pytest.raises(InvalidInput, match="free base"):
        simulate(parts)


def test_velocity_noise_with_differentiated_velocity_is_refused():
    with pytest.raises(ValueError, match=r"velocity_noise.*measured"):
        Sensors(velocity="differentiated", velocity_noise=0.1)


# ------------------------------------------------------------------------------------------------ the wrist


def gripping(mass=1.0):
    """An arm with a 1 kg tool beyond its flange."""
    tip = Pose(np.array([0, 0, 0.1]), np.eye(3))
    return load_robot("iiwa14").with_tool(
        mass, (0.01, -0.02, 0.05), np.diag([2e-3, 3e-3, 2e-3]), frame="flange", tip=tip
    )


AT_FLANGE = Sensors(wrench=WrenchSensor(frame="flange"))


@pytest.mark.parametrize("seed", range(4))
def test_a_hanging_tool_reads_nothing_in_any_orientation(seed):
    robot = gripping()
    limits = robot.limits
    q = np.random.default_rng(seed).uniform(limits.lower, limits.upper)
    trace = simulate(Run(robot, FLOATING, World(sensors=AT_FLANGE), clock=Clock(duration=0.02), q_start=q))
    np.testing.assert_allclose(trace["measured_wrench"], 0, atol=1e-9)


def test_an_uncompensated_tool_reads_its_weight_about_the_tools_origin():
    robot = gripping()
    sensors = Sensors(wrench=WrenchSensor(frame="flange", compensate=False))
    trace = simulate(Run(robot, FLOATING, World(sensors=sensors), clock=Clock(duration=0.02)))
    flange, tool = robot.pose(robot.home, "flange"), robot.pose(robot.home)
    lever = flange.position + flange.rotation @ [0.01, -0.02, 0.05] - tool.position
    weight = np.array([0, 0, -G])
    np.testing.assert_allclose(trace["measured_wrench"][-1], np.r_[weight, np.cross(lever, weight)], atol=1e-9)


def test_a_heavier_tool_than_the_model_knows_leaves_its_surplus():
    robot = gripping()
    world = World(sensors=AT_FLANGE, plant=PlantChange(link_mass_scale={"tool_tip_body": 1.3}))
    law = JointImpedance()
    trace = simulate(Run(robot, law, world, clock=Clock(duration=3.0)))
    np.testing.assert_allclose(trace["measured_wrench"][-1, :3], [0, 0, -0.3 * G], atol=1e-3)


def test_an_accelerated_tool_reads_its_inertia():
    robot = gripping().with_gravity((0, 0, 0))
    world = World(sensors=AT_FLANGE, pushes=(Push(frame="link4", force=(50, 20, 30)),))
    parts = Run(robot, FLOATING, world, clock=Clock(duration=0.1, timestep=1e-4))
    trace = simulate(parts)
    # Newton's law for the tool's centre, by differences of its place.
    place = np.array(
        [robot.pose(q, "tool_tip_body").position + robot.pose(q, "tool_tip_body").rotation @ [0.01, -0.02, 0.05]
         for q in trace["q"][500:503]]
    )  # fmt: skip
    acceleration = (place[0] - 2 * place[1] + place[2]) / 1e-8
    np.testing.assert_allclose(trace["measured_wrench"][502, :3], -1.0 * acceleration, rtol=0.01, atol=1e-3)


def test_a_spinning_tool_reads_the_rate_of_its_spin():
    """Euler's law for the tool, −(I α + ω × I ω), by differences of its spin R I Rᵀ ω about its centre."""
    robot = gripping().with_gravity((0, 0, 0))
    start = np.array([0.5, -2.0, 1.0, 3.0, 2.0, -4.0, 6.0])
    world = World(sensors=AT_FLANGE, pushes=(Push(frame="link4", force=(50, 20, 30)),))
    clock = Clock(duration=0.02, timestep=1e-5, integrator="rk4")
    trace = simulate(Run(robot, FLOATING, world, clock=clock, v_start=start))
    inertia, centre = np.diag([2e-3, 3e-3, 2e-3]), np.array([0.01, -0.02, 0.05])

    def spin_and_lever(k):
        pose, tool = robot.pose(trace["q"][k], "tool_tip_body"), robot.pose(trace["q"][k]).position
        R, omega = pose.rotation, robot.jacobian(trace["q"][k], "tool_tip_body")[3:] @ trace["v"][k]
        return R @ inertia @ R.T @ omega, pose.position + R @ centre - tool

    k = 1000
    rate = (spin_and_lever(k + 1)[0] - spin_and_lever(k - 1)[0]) / 2e-5
    force, moment = trace["measured_wrench"][k, :3], trace["measured_wrench"][k, 3:]
    about_centre = moment - np.cross(spin_and_lever(k)[1], force)
    assert np.abs(rate).max() > 0.02
    # The wrist feels the acceleration of the last physics step, 1e-5 s ago.
    np.testing.assert_allclose(about_centre, -rate, atol=2e-3 * np.abs(rate).max())


def test_pressing_with_20_newtons_reads_20_newtons_against_the_robot():
    robot = load_robot("panda", joints="ideal")
    x = robot.pose(robot.home).position[0]
    wall = Surface(
        name="wall", position=(x + 0.01, 0, 0), normal=(-1, 0, 0), stiffness=1e4, damping=100.0, friction=0.8
    )

    def press(tick, gains, memory):
        return {"torque": 20.0 * tick.J[0] + tick.gravity - 5.0 * tick.v}

    parts = Run(robot, PythonLaw(press), World(surfaces=(wall,)), clock=Clock(duration=4.0))
    trace = simulate(parts)
    np.testing.assert_allclose(trace["measured_wrench"][-1], [-20, 0, 0, 0, 0, 0], atol=1e-3)
    np.testing.assert_allclose(trace["measured_wrench"][-1], trace["contact_wrench"][-1], atol=1e-9)
    assert trace["penetration"][-1] == pytest.approx(-trace["contact_wrench"][-1, 0] / 1e4, rel=1e-4)


def test_a_push_before_the_wrist_is_not_felt_by_it():
    robot = load_robot("panda")
    pushes = (Push(name="elbow", frame="link4", force=(5, 0, 0)),)
    trace = simulate(Run(robot, FLOATING, World(pushes=pushes), clock=Clock(duration=0.01)))
    assert trace["push_wrench"][0, 0] == 5
    assert not trace["measured_wrench"].any()


@pytest.mark.parametrize("delay", [0, 5])
def test_wrench_readings_are_biased_filtered_and_late(delay):
    bias = (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
    sensors = Sensors(wrench=WrenchSensor(bias=bias, cutoff=30.0, delay=delay))
    push = Push(force=(10, 0, 0), start=0.01)
    trace = simulate(
        Run(
            load_robot("panda"),
            GravityCompensation(),
            World(sensors=sensors, pushes=(push,)),
            clock=Clock(duration=0.1),
        )
    )
    filtered, share = [trace["push_wrench"][0] + bias], 1 - np.exp(-2 * np.pi * 30.0 * 1e-3)
    for true in trace["push_wrench"][1:]:
        filtered.append(filtered[-1] + share * (true + bias - filtered[-1]))
    expected = np.array([filtered[max(k - delay, 0)] for k in range(len(filtered))])
    np.testing.assert_allclose(trace["measured_wrench"], expected, atol=1e-9)


def test_wrench_noise_has_the_spread_it_is_given():
    sensors = Sensors(wrench=WrenchSensor(noise_force=0.5, noise_torque=0.02))
    trace = simulate(
        Run(load_robot("planar2", gravity=0.0), FLOATING, World(sensors=sensors), clock=Clock(duration=10.0))
    )
    noise = trace["measured_wrench"]
    np.testing.assert_allclose(noise.std(axis=0), [0.5] * 3 + [0.02] * 3, rtol=0.03)
    assert np.abs(np.corrcoef(noise.T) - np.eye(6)).max() < 0.04

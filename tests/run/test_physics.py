"""The plant in the loop: energy, document 004, pushes, loads, poles, rigid contact."""

import mujoco
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from palpate.control import GravityCompensation, JointImpedance, PythonLaw
from palpate.control.references.reference import Hold
from palpate.robot import Robot, load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import matrix_from_quat
from palpate.world.clock import Clock
from palpate.world.config import Attachment, FreeObject, Motion, PlantChange, Pole, Push, Surface, World
from palpate.world.plants.plant import build_plant

G = 9.81


def without_limits(robot):
    spec = robot.spec()
    for joint in spec.joints:
        joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
    return Robot(spec, name=robot.name, tool_frame=robot.tool_frame)


def floating(mass=1.0, gravity=0.0):
    """A sphere on three sliders: M = mass·1, q = p."""
    return Robot.from_mjcf_text(
        f"""<mujoco><option gravity="0 0 {-gravity}"/><worldbody><body name="ball"><inertial pos="0 0 0" mass="{mass}"
        diaginertia="1 1 1"/><joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
        <joint name="z" type="slide" axis="0 0 1"/><geom name="tip" type="sphere" size="0.01" mass="0"/>
        <site name="tool"/></body></worldbody></mujoco>""",
        name="ball",
    )


# ------------------------------------------------------------------------------------------------ energy


def test_free_fall_is_the_parabola_and_keeps_its_energy(idle, residue):
    trace = simulate(Run(floating(gravity=G), idle, clock=Clock(integrator="rk4", duration=1.0), v_start=[0.3, 0, 1.0]))
    np.testing.assert_allclose(trace["q"][:, 2], trace.time - G * trace.time**2 / 2, atol=1e-12)
    np.testing.assert_allclose(trace["q"][:, 0], 0.3 * trace.time, atol=1e-12)
    assert residue(trace) < 1e-12


@pytest.mark.parametrize(("name", "start"), [("pendulum", [2.5]), ("iiwa14", [0.3, 2.0, 0.2, -0.4, 0.5, 0.6, 0.3])])
def test_an_undamped_robot_keeps_its_energy_under_rk4(idle, name, start):
    trace = simulate(
        Run(without_limits(load_robot(name)), idle, clock=Clock(integrator="rk4", duration=1.0), q_start=start)
    )
    total = trace["energy.kinetic"] + trace["energy.potential"]
    assert trace["energy.kinetic"].max() > 1.0
    assert np.abs(total - total[0]).max() < 1e-6 * trace["energy.kinetic"].max()
    assert trace["energy.dissipated"][-1] == 0


def test_a_pendulum_swings_with_the_period_of_the_elliptic_integral(idle):
    angle = 2.0
    trace = simulate(Run(load_robot("pendulum"), idle, clock=Clock(integrator="rk4", duration=4.0), q_start=[angle]))
    k = np.sin(angle / 2)
    quarter = quad(lambda u: 1 / np.sqrt(1 - (k * np.sin(u)) ** 2), 0, np.pi / 2)[0] / np.sqrt(G)
    down = np.flatnonzero(np.diff(np.sign(trace["q"][:, 0])))[0]
    t, q = trace.time[down : down + 2], trace["q"][down : down + 2, 0]
    assert t[0] - q[0] * (t[1] - t[0]) / (q[1] - q[0]) == pytest.approx(quarter, abs=1e-7)


@pytest.mark.parametrize("name", ["planar2", "ur5e-3link", "panda"])
def test_work_is_change_of_energy_plus_losses(residue, name):
    robot = without_limits(load_robot(name))
    world = World(
        plant=PlantChange(joint_damping=3.0),
        pushes=(Push(kind="sine", force=(20, 5, -10), torque=(1, 2, 3), start=0.0, duration=5.0, frequency=2.0),),
    )
    law = JointImpedance(stiffness=50.0, damping=1.0)
    trace = simulate(
        Run(robot, law, world, Hold(), clock=Clock(integrator="rk4", duration=1.0), q_start=robot.home + 0.4)
    )
    assert trace["energy.dissipated"][-1] > 0.1
    assert np.ptp(trace["energy.pushed"]) > 0.1
    assert residue(trace) < 1e-6


def test_losses_of_joint_damping_are_the_integral_of_its_power(idle):
    world = World(plant=PlantChange(joint_damping=2.0))
    trace = simulate(Run(load_robot("planar2"), idle, world, clock=Clock(integrator="rk4", duration=1.0)))
    power = 2.0 * (trace["v"] ** 2).sum(axis=1)
    simpson = (power[:-2:2] + 4 * power[1:-1:2] + power[2::2]).sum() * 1e-3 / 3
    assert trace["energy.dissipated"][-1] == pytest.approx(simpson, rel=1e-8)


def test_the_semi_implicit_step_balances_energy_to_first_order(residue):
    robot = load_robot("panda")
    wall = Surface(name="wall", position=(robot.pose(robot.home).position[0] + 0.015, 0, 0), normal=(-1, 0, 0))
    law, world = (
        JointImpedance(stiffness=100.0, damping=5.0),
        World(surfaces=(wall,), plant=PlantChange(joint_damping=1.0)),
    )
    start = robot.home + np.array([0, -0.02, 0, 0.02, 0, 0, 0])
    push = Push(force=(30, 0, 0), duration=0.3)
    world = world.model_copy(update={"pushes": (push,)})
    coarse, fine = (
        residue(simulate(Run(robot, law, world, clock=Clock(timestep=dt, duration=0.5), q_start=start)))
        for dt in (1e-3, 2.5e-4)
    )
    assert coarse < 0.02
    assert fine < 0.4 * coarse


def test_document_004_section_1_8(idle):
    robot = load_robot("ur5e-3link")
    world = World(plant=PlantChange(joint_damping=5.0))
    trace = simulate(
        Run(robot, idle, world, clock=Clock(integrator="rk4", duration=1.0), q_start=[1.0, np.pi / 3, np.pi / 3])
    )
    np.testing.assert_allclose(trace["q"][500], [0.966421256235, 1.454064419961, 0.676632056386], atol=1e-8)
    np.testing.assert_allclose(trace["q"][1000], [1.008893475388, 1.536287980301, 0.421019489755], atol=1e-8)


# ------------------------------------------------------------------------------------------------ pushes


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_an_impulse_changes_momentum_by_itself(idle, integrator):
    push = Push(kind="impulse", force=(0.6, -0.2, 0.4), start=0.1)
    trace = simulate(
        Run(floating(mass=2.0), idle, World(pushes=(push,)), clock=Clock(integrator=integrator, duration=0.2))
    )
    assert not trace["v"][100].any()
    np.testing.assert_allclose(trace["v"][101:], np.tile([0.3, -0.1, 0.2], (100, 1)), rtol=1e-12)
    assert trace["energy.pushed"][-1] == pytest.approx(trace["energy.kinetic"][-1], rel=1e-12)


def test_an_impulse_of_torque_changes_angular_momentum_by_itself(idle):
    robot = load_robot("pendulum", gravity=0.0)
    trace = simulate(
        Run(
            robot,
            idle,
            World(pushes=(Push(kind="impulse", torque=(0, -0.5, 0)),)),
            clock=Clock(integrator="rk4", duration=0.01),
        )
    )
    assert trace["v"][-1, 0] == pytest.approx(0.5, rel=1e-9)


def test_a_pulse_acts_from_its_start_to_its_end(idle):
    push = Push(force=(0, 3.0, 0), start=0.2, duration=0.3)
    trace = simulate(Run(floating(), idle, World(pushes=(push,)), clock=Clock(duration=1.0)))
    on = trace["push_wrench"][:, 1] > 0
    np.testing.assert_array_equal(on, (trace.time > 0.1995) & (trace.time < 0.4995))
    assert trace["v"][-1, 1] == pytest.approx(0.9, rel=1e-12)


def test_a_ramp_rises_from_nothing_to_its_peak_and_a_sine_swings(idle):
    pushes = (
        Push(name="a", kind="ramp", force=(4.0, 0, 0), start=0.1, duration=0.8),
        Push(name="b", kind="sine", force=(0, 2.0, 0), start=0.1, duration=0.8, frequency=3.0),
    )
    trace = simulate(Run(floating(), idle, World(pushes=pushes), clock=Clock(integrator="rk4", duration=1.0)))
    t = np.where((trace.time > 0.0995) & (trace.time < 0.8995), trace.time - 0.1, 0.0)
    np.testing.assert_allclose(trace["push_wrench"][:, 0], 4.0 * t / 0.8, atol=1e-12)
    np.testing.assert_allclose(trace["push_wrench"][:, 1], 2.0 * np.sin(2 * np.pi * 3.0 * t), atol=1e-12)
    assert trace["v"][-1, 0] == pytest.approx(0.5 * 4.0 * 0.8, rel=1e-12)


def test_a_push_in_frame_axes_turns_with_the_frame():
    robot = load_robot("panda")
    q = robot.home + np.array([0.4, 0.1, -0.3, 0.1, 0.2, -0.1, 0.5])
    push = Push(force=(1, 2, 3), torque=(0.1, 0.2, 0.3), axes="frame")
    trace = simulate(Run(robot, GravityCompensation(), World(pushes=(push,)), clock=Clock(duration=0.01), q_start=q))
    R = robot.pose(q).rotation
    np.testing.assert_allclose(trace["push_wrench"][0], np.r_[R @ [1, 2, 3], R @ [0.1, 0.2, 0.3]], atol=1e-12)


def test_a_push_in_frame_axes_follows_a_frame_that_is_turned_in_its_body(idle):
    quat = (0.5, 0.5, 0.5, 0.5)  # x → y → z → x
    robot = Robot.from_mjcf_text(
        """<mujoco><option gravity="0 0 0"/><worldbody><body name="block"><freejoint/>
        <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.2 0.3"/>
        <site name="grip" pos="0.3 0 0" quat="0.5 0.5 0.5 0.5"/></body></worldbody></mujoco>""",
        name="block",
    )
    push = Push(force=(1, 2, 3), torque=(0.1, 0.2, 0.3), axes="frame", frame="grip", duration=1.0)
    run = Run(robot, idle, World(pushes=(push,)), clock=Clock(duration=0.01))
    trace = simulate(run)
    R = matrix_from_quat(quat)
    np.testing.assert_allclose(trace["v"][1, :3] / 1e-3, R @ [1, 2, 3] / 2, rtol=1e-6)
    moment = R @ [0.1, 0.2, 0.3] + np.cross([0.3, 0, 0], R @ [1, 2, 3])
    np.testing.assert_allclose(trace["v"][1, 3:] / 1e-3, moment / [0.1, 0.2, 0.3], rtol=1e-5)


def test_a_push_at_a_link_is_told_about_the_tools_origin():
    robot = load_robot("panda")
    push = Push(force=(10, 0, 0), frame="link4")
    trace = simulate(Run(robot, GravityCompensation(), World(pushes=(push,)), clock=Clock(duration=0.01)))
    lever = robot.pose(robot.home, "link4").position - robot.pose(robot.home).position
    np.testing.assert_allclose(trace["push_wrench"][0], np.r_[10, 0, 0, np.cross(lever, [10, 0, 0])], atol=1e-12)


def test_a_push_accelerates_the_arm_as_its_jacobian_says(idle):
    robot = load_robot("panda", joints="ideal").with_gravity((0, 0, 0))
    push = Push(force=(3, -2, 5), torque=(0.3, 0.1, -0.2), frame="link5")
    trace = simulate(Run(robot, idle, World(pushes=(push,)), clock=Clock(duration=0.001)))
    expected = np.linalg.solve(
        robot.mass_matrix(robot.home), robot.jacobian(robot.home, "link5").T @ [3, -2, 5, 0.3, 0.1, -0.2]
    )
    np.testing.assert_allclose(trace["v"][1] / 1e-3, expected, rtol=1e-9)


def test_document_004s_force_then_torque():
    pushes = (
        Push(name="force", force=(1, 2, 3), start=5.0, duration=5.0),
        Push(name="torque", torque=(1, 0.5, 1), start=15.0, duration=5.0),
    )
    law = JointImpedance(stiffness=50.0, damping=10.0)
    trace = simulate(Run(floating(), law, World(pushes=pushes), clock=Clock(duration=20.5)))
    wrench, t = trace["push_wrench"], trace.time
    force, torque = (t > 4.9995) & (t < 9.9995), (t > 14.9995) & (t < 19.9995)
    np.testing.assert_array_equal(wrench[force], np.tile([1.0, 2, 3, 0, 0, 0], (force.sum(), 1)))
    np.testing.assert_array_equal(wrench[torque], np.tile([0, 0, 0, 1.0, 0.5, 1], (torque.sum(), 1)))
    assert not wrench[~force & ~torque].any()


# ------------------------------------------------------------------------------------------------ loads


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_load_is_felt_from_the_tick_it_is_attached_until_it_is_released(integrator):
    robot = load_robot("panda", joints="ideal")
    load = Attachment(mass=2.0, com=(0.0, 0.02, 0.05), attach=0.1, release=0.3)
    law = GravityCompensation(damping=0.0)
    parts = Run(robot, law, World(attachments=(load,)), clock=Clock(duration=0.4, integrator=integrator, timestep=1e-3))
    trace = simulate(parts)
    assert np.abs(trace["v"][:101]).max() < 1e-12
    # The torque that gravity compensation lacks, over the mass matrix with the load.
    loaded = robot.with_payload(2.0, (0.0, 0.02, 0.05))
    missing = robot.gravity(robot.home) - loaded.gravity(robot.home)
    sag = np.linalg.solve(loaded.mass_matrix(robot.home), missing)
    np.testing.assert_allclose(trace["v"][101] / 1e-3, sag, rtol=1e-4)
    kinetic = trace["energy.kinetic"]
    q, v = trace["q"], trace["v"]
    assert kinetic[250] == pytest.approx(loaded.kinetic_energy(q[250], v[250]), rel=1e-9)
    assert kinetic[350] == pytest.approx(robot.kinetic_energy(q[350], v[350]), rel=1e-9)


def test_energy_balances_while_loads_come_and_go(residue):
    load = Attachment(mass=2.0, com=(0.0, 0.02, 0.05), attach=0.1, release=0.3)
    law = GravityCompensation(damping=0.5)
    trace = simulate(
        Run(load_robot("panda"), law, World(attachments=(load,)), clock=Clock(duration=0.4, integrator="rk4"))
    )
    assert residue(trace) < 1e-8


def test_a_load_from_the_start_is_the_robot_with_that_payload(idle):
    robot = load_robot("planar2")
    world = World(attachments=(Attachment(mass=1.5),))
    carried = simulate(Run(robot, idle, world, clock=Clock(duration=0.3, integrator="rk4")))
    built_in = simulate(Run(robot.with_payload(1.5), idle, clock=Clock(duration=0.3, integrator="rk4")))
    np.testing.assert_allclose(carried["q"], built_in["q"], atol=1e-9)


# ------------------------------------------------------------------------------------------------ pole


@pytest.mark.parametrize("joint", ["universal", "ball"])
@pytest.mark.parametrize("tilt", [(0.3, 0.0), (0.0, -0.2), (3.0, 0.0)])
def test_a_pole_falls_or_swings_as_a_pendulum(residue, joint, tilt):
    length, heavy = 0.7, floating(mass=1e6, gravity=G)
    world = World(pole=Pole(length=length, mass=0.1, joint=joint, tilt=tilt))
    law = GravityCompensation(damping=0.0)
    trace = simulate(Run(heavy, law, world, clock=Clock(integrator="rk4", duration=0.6)))
    exact = solve_ivp(
        lambda t, x: [x[1], G / length * np.sin(x[0])], (0, 0.6), [sum(tilt), 0], t_eval=trace.time, rtol=1e-11,
        atol=1e-12,
    ).y[0]  # fmt: skip
    axis = 0 if tilt[0] else 1
    if joint == "universal":
        found = trace["rest_q"][:, axis]
    else:
        found = 2 * np.unwrap(np.arctan2(trace["rest_q"][:, 1 + axis], trace["rest_q"][:, 0]))
    np.testing.assert_allclose(found, exact, atol=1e-6)  # the base gives by the masses' ratio, 1e-7
    total = trace["energy.kinetic"] + trace["energy.potential"] - trace["energy.injected"]
    assert np.abs(total - total[0]).max() < 1e-7


def test_a_pole_starts_upright_whatever_the_arms_posture():
    robot = load_robot("panda")
    q = robot.home + np.array([0.3, 0.2, 0.1, 0.1, -0.2, 0.3, 0.4])
    plant = build_plant(robot, World(pole=Pole(length=0.8)), 1e-3, "rk4", q)
    data = mujoco.MjData(plant.model)
    data.qpos[:7] = q
    mujoco.mj_kinematics(plant.model, data)
    pole = plant.model.body("pole").id
    np.testing.assert_allclose(data.xipos[pole] - robot.pose(q).position, [0, 0, 0.8], atol=1e-12)


def test_the_wrist_feels_the_weight_of_a_pole():
    heavy = floating(mass=1e6, gravity=G)
    trace = simulate(
        Run(heavy, GravityCompensation(damping=0.0), World(pole=Pole(mass=0.1)), clock=Clock(duration=0.01))
    )
    np.testing.assert_allclose(trace["measured_wrench"][-1], [0, 0, -0.1 * G, 0, 0, 0], atol=1e-6)


# ------------------------------------------------------------------------------------------------ rigid


def rigid_press(surface, extra=(), **kwargs):
    robot = floating()
    q_target = np.array([0, 0, -0.1])

    def press(tick, gains, memory):
        return {"torque": 200.0 * (q_target - tick.q) - 30.0 * tick.v}

    world = World(surfaces=(surface,), objects=extra, **kwargs)
    return simulate(Run(robot, PythonLaw(press), world, clock=Clock(duration=2.0)))


def test_a_rigid_floor_pushes_back_with_the_force_it_is_pressed_with():
    floor = Surface(name="floor", contact="rigid", position=(0, 0, -0.03))
    trace = rigid_press(floor)
    # Spring force at rest: k (z_target − z), upwards on the robot.
    f = 200.0 * (0.1 + trace["q"][-1, 2])
    assert trace["contact_wrench"][-1, 2] == pytest.approx(f, rel=1e-5)
    assert trace["contact_wrench"][-1, 2] == pytest.approx(200.0 * 0.08, rel=0.01)
    np.testing.assert_allclose(trace["measured_wrench"][-1], trace["contact_wrench"][-1], atol=1e-9)
    assert 0 < trace["penetration"][-1] < 1e-3
    assert trace["q"][-1, 2] == pytest.approx(-0.02 - trace["penetration"][-1], abs=1e-9)


def test_an_object_on_a_rigid_floor_is_no_contact_of_the_robot():
    floor = Surface(name="floor", contact="rigid", position=(0, 0, -0.3))
    brick = FreeObject(name="brick", shape="box", size=(0.1, 0.1, 0.1), position=(1.0, 0, -0.25), mass=5.0)
    trace = rigid_press(floor, (brick,), gravity=(0, 0, -G))
    assert not trace["contact_wrench"].any()
    assert trace["rest_q"][-1, 2] == pytest.approx(-0.25, abs=1e-3)


def test_pressing_on_an_object_is_a_contact_of_the_robot():
    floor = Surface(name="floor", contact="rigid", position=(0, 0, -0.13))
    brick = FreeObject(name="brick", shape="box", size=(0.2, 0.2, 0.1), position=(0, 0, -0.08), mass=1.0)
    trace = rigid_press(floor, (brick,), gravity=(0, 0, -G))
    assert trace["contact_wrench"][-1, 2] == pytest.approx(200 * (0.1 + trace["q"][-1, 2]) + G, rel=1e-4)


def test_a_rigid_wall_that_moves_pushes_the_tool_along():
    wall = Surface(
        name="wall", contact="rigid", normal=(1, 0, 0), position=(-0.02, 0, 0), motion=Motion(velocity=(0.05, 0, 0))
    )
    trace = rigid_press(wall)
    front = trace["surface.wall"][-1, 0] + 0.01
    assert trace["q"][-1, 0] == pytest.approx(
        front, abs=5e-3
    )  # it gives a little: a soft constraint without the wall's velocity
    assert trace["v"][-1, 0] == pytest.approx(0.05, rel=0.02)
    assert trace["contact_wrench"][-1, 0] == pytest.approx(200 * trace["q"][-1, 0] + 30 * 0.05, rel=0.02)

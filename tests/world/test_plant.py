"""The plant: how it differs from the nominal model, and what it refuses."""

import mujoco
import numpy as np
import pytest

from palpate.control import GravityCompensation, PythonLaw
from palpate.errors import InvalidInput, UnknownName
from palpate.robot import Robot, load_robot
from palpate.run.run import Run
from palpate.run.simulate import simulate
from palpate.spatial import Pose, matrix_from_rotation_vector
from palpate.world.clock import Clock
from palpate.world.config import FreeObject, PlantChange, Surface, World
from palpate.world.plants.plant import build_plant, surface_rotation


def constant(torque):
    """A law that always asks for the same torque of every joint."""
    return PythonLaw(lambda tick, gains, memory: {"torque": np.full(tick.v.size, torque)})


def mass_matrix(model, q):
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    return M, data


def test_an_unchanged_plant_has_the_robots_dynamics():
    robot = load_robot("panda")
    M, data = mass_matrix(build_plant(robot, World(), 1e-3).model, robot.home)
    np.testing.assert_allclose(M, robot.mass_matrix(robot.home), atol=1e-14)
    np.testing.assert_allclose(data.qfrc_bias, robot.gravity(robot.home), atol=1e-13)


def test_a_mass_scale_scales_mass_matrix_and_gravity():
    robot = load_robot("panda")
    M, data = mass_matrix(build_plant(robot, World(plant=PlantChange(mass_scale=1.2)), 1e-3).model, robot.home)
    armature = np.diag(robot.model.dof_armature)
    np.testing.assert_allclose(M - armature, 1.2 * (robot.mass_matrix(robot.home) - armature), rtol=1e-12)
    np.testing.assert_allclose(data.qfrc_bias, 1.2 * robot.gravity(robot.home), atol=1e-12)


def test_a_link_scaled_is_a_payload_of_the_difference():
    robot = load_robot("panda")
    scaled = build_plant(robot, World(plant=PlantChange(link_mass_scale={"link5": 1.5})), 1e-3).model
    body = robot.model.body("link5").id
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, robot.model.body_iquat[body])
    R = turn.reshape(3, 3)
    extra = robot.with_payload(
        0.5 * robot.model.body_mass[body],
        robot.model.body_ipos[body],
        R @ np.diag(0.5 * robot.model.body_inertia[body]) @ R.T,
        frame="link5",
    )
    M, data = mass_matrix(scaled, robot.home)
    np.testing.assert_allclose(M, extra.mass_matrix(robot.home), atol=1e-10)
    np.testing.assert_allclose(data.qfrc_bias, extra.gravity(robot.home), atol=1e-10)


def test_a_shift_of_the_centres_moves_the_gravity_torque_by_their_weight():
    robot, shift = load_robot("ur5e"), np.array([0.01, -0.02, 0.03])
    _, data = mass_matrix(build_plant(robot, World(plant=PlantChange(com_offset=tuple(shift))), 1e-3).model, robot.home)
    expected = robot.gravity(robot.home)
    for b in range(1, robot.model.nbody):
        name, mass = robot.model.body(b).name, robot.model.body_mass[b]
        pose, J = robot.pose(robot.home, name), robot.jacobian(robot.home, name)
        before, after = pose.rotation @ robot.model.body_ipos[b], pose.rotation @ (robot.model.body_ipos[b] + shift)
        expected = expected + J[3:].T @ np.cross(after - before, [0, 0, mass * 9.81])
    np.testing.assert_allclose(data.qfrc_bias, expected, atol=1e-11)


def test_a_base_error_moves_the_tool_in_world_axes():
    turned = load_robot("ur5e").with_base(Pose(np.array([0.1, 0, 0]), matrix_from_rotation_vector([0, 0, 1.0])))
    world = World(plant=PlantChange(base_position=(0.02, -0.01, 0.03)))
    law = GravityCompensation()
    trace = simulate(Run(turned, law, world, clock=Clock(duration=0.002)))
    np.testing.assert_allclose(
        trace["tool_position"][0] - turned.pose(turned.home).position, [0.02, -0.01, 0.03], atol=1e-12
    )


def test_a_tool_error_moves_the_true_tool_and_not_the_laws():
    robot, seen = load_robot("panda"), []

    def law(tick, gains, memory):
        seen.append(tick.position.copy())
        return {"torque": tick.gravity}

    world = World(plant=PlantChange(tool_offset=(0.0, 0.01, 0.02)))
    trace = simulate(Run(robot, PythonLaw(law), world, clock=Clock(duration=0.002)))
    pose = robot.pose(robot.home)
    np.testing.assert_allclose(seen[0], pose.position, atol=1e-15)
    np.testing.assert_allclose(trace["tool_position"][0], pose.position + pose.rotation @ [0.0, 0.01, 0.02], atol=1e-12)


def test_the_law_keeps_the_nominal_masses():
    robot, seen = load_robot("panda"), []

    def law(tick, gains, memory):
        seen.append((tick.M.copy(), tick.gravity.copy()))
        return {"torque": tick.gravity}

    simulate(Run(robot, PythonLaw(law), World(plant=PlantChange(mass_scale=1.5)), clock=Clock(duration=0.001)))
    np.testing.assert_allclose(seen[0][0], robot.mass_matrix(robot.home), atol=1e-14)
    np.testing.assert_allclose(seen[0][1], robot.gravity(robot.home), atol=1e-13)


def test_coulomb_friction_holds_a_joint_until_it_is_overcome():
    robot = load_robot("pendulum", gravity=0.0)
    world = World(plant=PlantChange(joint_friction=0.5))
    held, free = (
        simulate(Run(robot, constant(tau), world, clock=Clock(duration=1.0)))["v"][-1, 0] for tau in (0.45, 0.7)
    )
    assert abs(held) < 0.02  # the engine's friction is a soft constraint: it creeps
    assert free == pytest.approx(0.2, rel=0.01)


def test_a_robots_own_geoms_touch_nothing_unless_they_are_named():
    text = """<mujoco><worldbody><body name="a"><joint name="z" type="slide" axis="0 0 1"/>
        <geom name="side" type="sphere" size="0.1" mass="1"/><geom name="tip" type="sphere" size="0.01" mass="0"
        pos="0 0 1"/></body></worldbody></mujoco>"""
    robot = Robot.from_mjcf_text(text, name="slider")
    floor = Surface(name="floor", contact="rigid", position=(0, 0, -0.11))
    idle = constant(0.0)
    through = simulate(Run(robot, idle, World(surfaces=(floor,)), clock=Clock(duration=0.3)))
    assert through["q"][-1, 0] == pytest.approx(-9.81 * 0.3**2 / 2, rel=0.01)
    held = simulate(Run(robot, idle, World(surfaces=(floor,), contact_points=("side",)), clock=Clock(duration=0.3)))
    assert held["q"][-1, 0] == pytest.approx(-0.01, abs=1e-3)


@pytest.mark.parametrize(
    ("world", "error", "words"),
    [
        (World(plant=PlantChange(link_mass_scale={"link55": 2.0})), UnknownName, "link55"),
        (World(plant=PlantChange(joint_damping=(1.0, 2.0))), InvalidInput, "7 joints, got 2"),
        (World(plant=PlantChange(joint_friction=-1.0)), InvalidInput, "joint_friction.*panda.*not be"),
        (World(contact_points=("elbow",)), UnknownName, "elbow"),
        (World(surfaces=(Surface(name="a"), Surface(name="a"))), InvalidInput, "called like another surface"),
    ],
)
def test_a_world_that_does_not_fit_the_robot_is_refused(world, error, words):
    with pytest.raises(error, match=words):
        build_plant(load_robot("panda"), world, 1e-3)


def test_a_rigid_surface_needs_something_that_can_touch_it():
    robot = Robot.from_mjcf_text(
        """<mujoco><worldbody><body name="a"><joint name="z" type="slide" axis="0 0 1"/>
        <geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>""", name="bare"
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="nothing that could touch"):
        build_plant(robot, World(surfaces=(Surface(contact="rigid"),)), 1e-3)


def test_autoreset_is_off_whatever_the_model_says():
    model = build_plant(load_robot("panda"), World(objects=(FreeObject(name="ball", position=(3, 0, 0)),)), 1e-3).model
    assert model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (1.0, 2.0, -3.0)])
def test_the_worlds_gravity_is_not_the_models(gravity):
    robot = load_robot("panda", joints="ideal")
    law = GravityCompensation(damping=0.0)
    trace = simulate(Run(robot, law, World(gravity=gravity), clock=Clock(duration=0.001)))
    expected = np.linalg.solve(
        robot.mass_matrix(robot.home), robot.gravity(robot.home) - robot.with_gravity(gravity).gravity(robot.home)
    )
    np.testing.assert_allclose(trace["v"][1] / 1e-3, expected, rtol=1e-9)


@pytest.mark.parametrize("shape", ["box", "cylinder", "sphere"])
def test_a_body_without_orientation_stands_in_the_worlds_axes(shape: str) -> None:
    size = {"box": (1.0, 2.0, 3.0), "cylinder": (0.1, 1.0), "sphere": (0.2,)}[shape]
    assert np.array_equal(surface_rotation(Surface(shape=shape, size=size)), np.eye(3))  # pyright: ignore


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (-1, 0, 0), (1, 2, -3)])
def test_a_planes_axes_are_a_rotation_whose_z_is_its_normal(normal: tuple[float, float, float]) -> None:
    R = surface_rotation(Surface(normal=normal))
    assert np.allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)
    assert np.allclose(R[:, 2], np.array(normal) / np.linalg.norm(normal), atol=1e-15)

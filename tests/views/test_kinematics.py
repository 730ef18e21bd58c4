"""Paths of bodies held to MuJoCo's own kinematics."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from palpate.errors import TraceError
from palpate.robot import Robot, load_robot
from palpate.run.after.scene import scene_of
from palpate.spatial.rows import rotate
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.views.kinematics import body_paths
from palpate.world.config import FreeObject, Pole, Surface, World
from palpate.world.plants.plant import build_plant

# Hinge and slide whose anchors are off their body's origin, and a joint that follows the first: q3 = 0.2 − 1.5 q1.
ANCHORED = """<mujoco><compiler angle="radian"/><worldbody>
<body name="a" pos="0.1 0 1" quat="0.9 0.1 -0.3 0.2"><joint name="j1" axis="0.2 1 0.4" pos="0.07 -0.11 0.05"/>
<inertial mass="1" pos="0 0 -0.2" diaginertia="0.01 0.02 0.02"/>
<body name="b" pos="0 0.2 -0.5"><joint name="j2" type="slide" axis="0.3 0 1" pos="0.03 0.02 0.01"/>
<inertial mass="0.5" pos="0 0 -0.1" diaginertia="0.01 0.01 0.005"/>
<body name="c" pos="0 0.03 -0.3"><joint name="j3" axis="1 0.5 0" pos="-0.04 0.06 0.02"/>
<inertial mass="0.4" pos="0.02 0 -0.02" diaginertia="0.001 0.0011 0.0013"/><site name="tool" pos="0 0 -0.1"/>
</body></body></body></worldbody>
<equality><joint joint1="j3" joint2="j1" polycoef="0.2 -1.5 0 0 0"/></equality></mujoco>"""


def anchored() -> Robot:
    return Robot.from_mjcf_text(ANCHORED, name="anchored")


def random_trace(robot: Robot, world: World) -> tuple[Trace, mujoco.MjModel, np.ndarray]:
    model = (plant := build_plant(robot, world, 1e-3)).model
    random = np.random.default_rng(3)
    qpos = np.array([_random_coordinates(model, random) for _ in range(20)])
    channels = {Channel("q", "rad", (robot.nq,)): qpos[:, : robot.nq]}
    if model.nq > robot.nq:
        channels[Channel("rest_q", "1", (model.nq - robot.nq,))] = qpos[:, robot.nq :]
    for surface in world.surfaces:
        channels[Channel(f"surface.{surface.name}", "m", (3,))] = random.normal(size=(20, 3))
    outcome = Outcome("completed", "done", 1.9, 19)
    return Trace(np.arange(20) / 10, channels, outcome, facts=RunFacts(scene=scene_of(plant))), model, qpos


def _random_coordinates(model: mujoco.MjModel, random: np.random.Generator) -> np.ndarray:
    qpos = model.qpos0.copy()
    mujoco.mj_integratePos(model, qpos, random.normal(size=model.nv), 1.0)
    return qpos


@pytest.mark.parametrize(
    ("robot", "world"),
    [
        ("panda", World()),
        ("quadruped", World()),
        ("cartesian2", World(objects=(FreeObject(name="ball", position=(0.4, 0.1, 0.2)),))),
        ("ur5e", World(pole=Pole(joint="ball"))),
        ("iiwa14", World(pole=Pole(), objects=(FreeObject(name="box", shape="box", size=(0.1, 0.2, 0.3)),))),
    ],
)
def test_bodies_are_where_the_engine_puts_them(robot: str, world: World) -> None:
    trace, model, qpos = random_trace(load_robot(robot), world)
    paths = body_paths(trace, np.arange(20))
    data = mujoco.MjData(model)
    for k in range(20):
        data.qpos[:] = qpos[k]
        mujoco.mj_kinematics(model, data)
        for b, (positions, quats) in enumerate(paths):
            np.testing.assert_allclose(positions[k], data.xpos[b], atol=1e-12)
            probe = np.array([0.3, -0.5, 0.8])
            np.testing.assert_allclose(rotate(quats[k], probe), data.xmat[b].reshape(3, 3) @ probe, atol=1e-12)


def test_anchors_off_a_body_s_origin_and_following_joints_are_where_the_engine_puts_them() -> None:
    robot = anchored()
    plant = build_plant(robot, World(), 1e-3)
    q = np.random.default_rng(5).normal(scale=0.6, size=(20, robot.nq))
    channels = {Channel("q", "rad", (robot.nq,)): q}
    facts = RunFacts(scene=scene_of(plant))
    trace = Trace(np.arange(20) / 10, channels, Outcome("completed", "done", 1.9, 19), facts=facts)
    model = mujoco.MjModel.from_xml_string(ANCHORED)
    data = mujoco.MjData(model)
    paths = body_paths(trace, np.arange(20))
    for k in range(20):
        data.qpos[:] = q[k, 0], q[k, 1], 0.2 - 1.5 * q[k, 0]
        mujoco.mj_kinematics(model, data)
        for name in "abc":
            positions, quats = paths[plant.model.body(name).id]
            np.testing.assert_allclose(positions[k], data.body(name).xpos, atol=1e-12)
            np.testing.assert_allclose(np.abs(quats[k] @ data.body(name).xquat), 1.0, atol=1e-12)


def test_a_moving_surface_is_where_its_channel_says() -> None:
    trace, model, _ = random_trace(
        load_robot("planar2"), World(surfaces=(Surface(name="wall", normal=(-1.0, 0.0, 0.0)),))
    )
    rows = np.array([0, 7, 19])
    positions, _ = body_paths(trace, rows)[model.body("wall").id]
    np.testing.assert_array_equal(positions, trace["surface.wall"][rows])


def test_a_trace_without_a_scene_is_refused() -> None:
    bare = Trace([0.0], {Channel("q", "rad", (1,)): [[0.0]]}, Outcome("completed", "done", 0.0, 0))
    with pytest.raises(TraceError, match="no scene"):
        body_paths(bare, np.array([0]))

"""Paths of bodies held to MuJoCo's own kinematics."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from palpate.errors import TraceError
from palpate.robot import load_robot
from palpate.run.after.scene import scene_of
from palpate.spatial.rows import rotate
from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.views.kinematics import body_paths
from palpate.world.config import FreeObject, Pole, Surface, World
from palpate.world.plants.plant import build_plant


def random_trace(name: str, world: World) -> tuple[Trace, mujoco.MjModel, np.ndarray]:
    robot = load_robot(name)
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
    trace, model, qpos = random_trace(robot, world)
    paths = body_paths(trace, np.arange(20))
    data = mujoco.MjData(model)
    for k in range(20):
        data.qpos[:] = qpos[k]
        mujoco.mj_kinematics(model, data)
        for b, (positions, quats) in enumerate(paths):
            np.testing.assert_allclose(positions[k], data.xpos[b], atol=1e-12)
            probe = np.array([0.3, -0.5, 0.8])
            np.testing.assert_allclose(rotate(quats[k], probe), data.xmat[b].reshape(3, 3) @ probe, atol=1e-12)


def test_a_moving_surface_is_where_its_channel_says() -> None:
    trace, model, _ = random_trace("planar2", World(surfaces=(Surface(name="wall", normal=(-1.0, 0.0, 0.0)),)))
    rows = np.array([0, 7, 19])
    positions, _ = body_paths(trace, rows)[model.body("wall").id]
    np.testing.assert_array_equal(positions, trace["surface.wall"][rows])


def test_a_trace_without_a_scene_is_refused() -> None:
    bare = Trace([0.0], {Channel("q", "rad", (1,)): [[0.0]]}, Outcome("completed", "done", 0.0, 0))
    with pytest.raises(TraceError, match="no scene"):
        body_paths(bare, np.array([0]))

from __future__ import annotations

import json

import numpy as np
import pytest

from palpate.robot import load_robot
from palpate.run.after.scene import most_singular, scene_of, singularity
from palpate.world.config import FreeObject, Surface, World
from palpate.world.plants.plant import build_plant

WALL = Surface(name="wall", position=(0.5, 0.0, 0.2), normal=(-1.0, 0.0, 0.0))
BALL = FreeObject(name="ball", size=(0.07,), position=(0.3, 0.0, 0.5))


def test_the_scene_holds_links_surfaces_and_objects_as_plain_data() -> None:
    robot = load_robot("planar2")
    plant = build_plant(robot, World(surfaces=(WALL,), objects=(BALL,)), 1e-3)
    scene = scene_of(plant)
    assert json.loads(json.dumps(scene, allow_nan=False)) == scene
    named = {body["name"]: body for body in scene}
    assert named["wall"]["surface"] == "wall"
    assert named["wall"]["position"] == [0.5, 0.0, 0.2]
    assert named["wall"]["geoms"][0]["shape"] == "plane"
    assert named["ball"]["geoms"][0]["size"][0] == 0.07
    assert named["ball"]["joints"][0] == {
        "kind": "free", "axis": named["ball"]["joints"][0]["axis"], "position": [0.0, 0.0, 0.0],
        "coordinate": robot.nq, "reference": 0.3,
    }  # fmt: skip
    assert all(body["parent"] < place for place, body in enumerate(scene[1:], 1))


@pytest.mark.parametrize("equations", [False, True])
def test_the_smallest_singular_value_of_a_planar_arm_is_met_where_it_is_straightest(equations: bool) -> None:
    robot = load_robot("planar2")
    times = np.linspace(0.0, 1.0, 101)
    bend = np.abs(times - 0.37) + 0.2
    q = np.column_stack([np.zeros_like(times), bend])
    found = singularity(robot, times, q, equations=equations)
    assert found is not None
    assert found["time"] == times[37]
    expected = np.linalg.svd(robot.jacobian(q[37]), compute_uv=False)[-1]
    np.testing.assert_allclose(found["smallest_singular_value"], expected, rtol=1e-12)


def test_a_run_without_samples_meets_no_singular_value() -> None:
    assert singularity(load_robot("planar2"), np.zeros(0), np.zeros((0, 2))) is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(6, 7), (6, 2)])
@pytest.mark.parametrize("rate", [1e-4, 0.05, 1.0])
def test_the_most_singular_of_many_matrices_is_found_without_decomposing_all(seed, rate, shape):
    """Random walks of matrices, slow ones and wild ones, and one that stands still half of the way."""
    rng = np.random.default_rng(seed)
    J = np.cumsum(rate * rng.normal(size=(203, *shape)), axis=0) + rng.normal(size=shape)
    J[seed * 20 : seed * 20 + 90] = J[seed * 20]
    values = np.linalg.svd(J, compute_uv=False)[:, -1]
    assert most_singular(J) == (int(np.argmin(values)), values.min())

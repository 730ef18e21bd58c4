"""Meshes of a replay: few triangles, the same shape."""

from __future__ import annotations

import base64
from pathlib import Path

import mujoco
import numpy as np
import pytest

from palpate.robot import load_robot
from palpate.run.after.scene import MOST_TRIANGLES, scene_of
from palpate.spatial.mesh import decimate
from palpate.world.config import World
from palpate.world.plants.plant import build_plant


def ball(rings: int, around: int) -> tuple[np.ndarray, np.ndarray]:
    """A unit sphere in triangles."""
    polar, turn = np.meshgrid(np.linspace(0.0, np.pi, rings), np.linspace(0.0, 2 * np.pi, around), indexing="ij")
    points = np.stack([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)], -1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(rings - 1), np.arange(around - 1), indexing="ij")
    a = (i * around + j).reshape(-1)
    return points, np.concatenate(
        [np.stack([a, a + around, a + 1], 1), np.stack([a + 1, a + around, a + around + 1], 1)]
    )


@pytest.mark.parametrize("most", [2000, 500, 100])
def test_a_ball_keeps_its_shape_with_fewer_triangles(most: int) -> None:
    vertices, faces = decimate(*ball(120, 240), most)
    assert 8 <= len(faces) <= most
    radius = np.linalg.norm(vertices, axis=1)
    assert radius.max() <= 1.0 + 1e-9  # means of points lie inside
    assert radius.min() > (0.9 if most > 200 else 0.6)
    np.testing.assert_allclose(np.ptp(vertices, axis=0), 2.0, atol=0.25 if most > 200 else 0.8)
    assert faces.max() < len(vertices)


def test_a_small_mesh_is_left_as_it_is() -> None:
    vertices, faces = ball(5, 6)
    same, kept = decimate(vertices, faces, 1000)
    np.testing.assert_array_equal(same, vertices)
    np.testing.assert_array_equal(kept, faces)


def test_a_robots_meshes_travel_in_the_scene(tmp_path: Path) -> None:
    vertices, faces = ball(60, 90)
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in 0.1 * vertices] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
    (tmp_path / "ball.obj").write_text("\n".join(lines))
    (tmp_path / "arm.xml").write_text("""<mujoco><asset><mesh name="ball" file="ball.obj"/></asset><worldbody>
        <body name="link"><joint name="j" axis="0 0 1"/><geom type="mesh" mesh="ball" mass="1"/>
        <site name="tool"/></body></worldbody></mujoco>""")
    robot = load_robot(str(tmp_path / "arm.xml"))
    geoms = [geom for body in scene_of(build_plant(robot, World(), 1e-3)) for geom in body["geoms"]]
    found = [geom for geom in geoms if geom["shape"] == "mesh"]
    assert len(found) == 1
    points = np.frombuffer(base64.b64decode(found[0]["vertices"]["bdata"]), "<f4").reshape(-1, 3)
    assert len(found[0]["faces"]) <= 3 * MOST_TRIANGLES
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, np.array(found[0]["quat_wxyz"]))
    world = points @ turn.reshape(3, 3).T + found[0]["position"]
    np.testing.assert_allclose([world.min(), world.max()], [-0.1, 0.1], atol=0.02)

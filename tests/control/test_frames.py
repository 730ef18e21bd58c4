"""Frames inside a law agree with the robot's own kinematics, whatever joints carry them."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from palpate.control.steps.frames import frame_pose, motion_of, move_tree, point_drift, point_jacobian, tree_of
from palpate.robot import Robot, load_robot

# Every kind of joint, several on one body, anchors and axes aside, starts that are not zero, bodies without a joint.
MIXED = """
<mujoco><compiler angle="radian"/><worldbody>
  <body name="floating" pos="0.1 0.2 0.3" quat="0.9 0.1 0.3 0.2"><freejoint/><geom size="0.1"/>
    <body name="two" pos="0.2 0 0.1" quat="0.8 0.2 0.1 -0.4"><geom size="0.1" pos="0.1 0 0"/>
      <joint name="a" axis="1 2 0.5" pos="0.05 0.1 -0.2" ref="0.3"/>
      <joint name="b" type="slide" axis="0 1 3" ref="0.2"/>
      <body name="plain" pos="0 0.1 0" quat="0.5 0.5 0.5 0.5"><geom size="0.05"/>
        <body name="ball" pos="0.1 0.1 0"><joint name="c" type="ball" pos="0.02 -0.1 0.05"/><geom size="0.1"/>
          <body name="last" pos="0.3 0 0"><joint name="d" axis="0 1 0.2" pos="-0.1 0 0"/><geom size="0.1"/>
            <site name="tool" pos="0.1 0.2 0.3" quat="0.7 0.1 -0.5 0.3"/></body></body></body></body>
    <body name="side" pos="-0.2 0 0"><joint name="e" axis="0 0 1"/><geom size="0.1"/></body>
  </body></worldbody></mujoco>"""


def mixed(tmp_path) -> Robot:
    path = tmp_path / "mixed.xml"
    path.write_text(MIXED, encoding="utf-8")
    return load_robot(path)


def agree(robot: Robot, seed: int) -> None:
    rng, nv = np.random.default_rng(seed), robot.nv
    start = np.zeros(nv) if robot.coordinates.coupled else np.array(robot.model.qpos0)
    q, v = robot.integrate(start, rng.normal(scale=0.7, size=nv), 1.0), rng.normal(size=nv)
    frames = [robot.frame(name) for name in robot.frame_names if robot.frame(name).body > 0]
    tree, motion = tree_of(robot, [frame.body for frame in frames]), motion_of(robot)
    move_tree(tree, q, v, motion)
    position, rotation, J, drift = np.zeros(3), np.zeros((3, 3)), np.ones((6, nv)), np.zeros(6)
    for frame in frames:
        frame_pose(motion, frame.record, position, rotation)
        point_jacobian(tree, motion, frame.body, position, J)
        point_drift(motion, frame.body, position, drift)
        x = robot.terms(q, v, frame.name)
        np.testing.assert_allclose(position, x.position, atol=1e-14)
        np.testing.assert_allclose(rotation, x.rotation, atol=1e-14)
        np.testing.assert_allclose(J, x.J, atol=1e-14)
        np.testing.assert_allclose(drift, x.drift, atol=1e-13 * (1 + np.abs(x.drift).max()))


@pytest.mark.parametrize("name", ["panda", "quadruped", "cartesian2", "iiwa14"])
def test_every_frame_of_a_robot_is_the_robots_own(name: str) -> None:
    for seed in range(5):
        agree(load_robot(name), seed)


def test_every_kind_of_joint_is_the_engines_own(tmp_path) -> None:
    robot = mixed(tmp_path)
    kinds = {int(kind) for kind in robot.model.jnt_type}
    assert kinds == {int(kind) for kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL,
                                            mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE)}  # fmt: skip
    for seed in range(5):
        agree(robot, seed)


def test_only_bodies_that_carry_a_frame_are_moved() -> None:
    robot = load_robot("quadruped")
    body = robot.frame("foot_fl").body
    tree = tree_of(robot, [body])
    assert body in tree.carried
    assert robot.frame("foot_rr").body not in tree.carried


def test_frames_behind_joints_that_follow_others_are_the_robots_own(tmp_path) -> None:
    """Coordinates are the independent joints; the followers' motion is in every pose, column and J̇ v."""
    text = """<mujoco><compiler angle="radian"/><worldbody>
    <body name="a" pos="0 0 0.2"><joint name="lead" axis="0 1 0.3"/>
    <geom size="0.1"/><body name="b" pos="0.3 0 0"><joint name="follow" axis="1 0 0"/><geom size="0.1"/>
    <body name="c" pos="0 0.2 0.1"><joint name="free" type="slide" axis="0 1 1"/><geom size="0.1"/>
    <site name="tip" pos="0.1 0 0"/></body></body></body></worldbody>
    <equality><joint joint1="follow" joint2="lead" polycoef="0.1 -0.7 0 0 0"/></equality></mujoco>"""
    (tmp_path / "coupled.xml").write_text(text, encoding="utf-8")
    robot = load_robot(tmp_path / "coupled.xml", tool_frame="tip")
    assert robot.coordinates.coupled
    for seed in range(5):
        agree(robot, seed)

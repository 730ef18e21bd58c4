"""Joints welded at a value: the same machine with fewer freedoms."""

from __future__ import annotations

import re

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput, ModelError, NotFinite, UnknownName

RANDOM = np.random.default_rng(8)

SEVERAL = """<mujoco><compiler angle="degree" eulerseq="zyx"/><option gravity="1 2 -9"/>
 <custom><numeric name="velocity_limit" data="1 2 3 4"/></custom>
 <worldbody><frame pos="0.1 0.2 0.3" euler="10 20 30"><frame axisangle="0 1 0 25">
  <body name="a" pos="0.3 0 0" zaxis="1 0 1"><geom size="0.1 0.2 0.3" type="box" pos="0.1 0 0"/>
   <joint name="s" type="slide" axis="1 1 0" pos="0.1 0 0" ref="0.2"/>
   <joint name="h" axis="0 1 1" pos="0 0.1 0.2" ref="15"/>
   <joint name="g" axis="1 0 1" pos="0.3 0.1 0"/>
   <site name="tool" pos="0.1 0.4 0.2" euler="5 6 7"/>
   <body name="b" pos="0 0.5 0" euler="40 0 10"><joint name="k" axis="0 0 1"/><geom size="0.1"/></body></body>
 </frame></frame></worldbody>
 <keyframe><key name="home" qpos="0.1 0.2 0.3 0.4"/></keyframe></mujoco>"""


@pytest.mark.parametrize("held", [("s",), ("h",), ("g",), ("s", "g"), ("h", "g"), ("s", "h", "g"), ("k",)])
def test_locking_is_the_whole_machine_with_those_joints_at_rest(held) -> None:
    """Several joints on one body, inside turned frames, counted from references: every term of what still moves."""
    whole = pp.Robot.from_mjcf_text(SEVERAL)
    values = dict(zip(whole.joint_names, RANDOM.uniform(-1, 1, 4)))
    locked = whole.with_locked({name: values[name] for name in held})
    free = [i for i, name in enumerate(whole.joint_names) if name not in held]
    assert locked.joint_names == tuple(whole.joint_names[i] for i in free)
    q = np.array(list(values.values()))
    v = np.zeros(4)
    v[free] = RANDOM.normal(size=len(free))
    assert locked.pose(q[free]).matrix == pytest.approx(whole.pose(q).matrix, abs=1e-14)
    assert locked.jacobian(q[free], "b") == pytest.approx(whole.jacobian(q, "b")[:, free], abs=1e-13)
    assert locked.mass_matrix(q[free]) == pytest.approx(whole.mass_matrix(q)[np.ix_(free, free)], rel=1e-12)
    assert locked.bias(q[free], v[free]) == pytest.approx(whole.bias(q, v)[free], rel=1e-9, abs=1e-9)
    assert locked.gravity(q[free]) == pytest.approx(whole.gravity(q)[free], rel=1e-9, abs=1e-9)
    assert locked.home == pytest.approx(whole.home[free])
    assert list(locked.limits.velocity) == [i + 1.0 for i in free]


def test_a_robot_keeps_its_tool_and_its_other_limits_when_a_joint_is_locked() -> None:
    arm = pp.load_robot("panda")
    locked = arm.with_locked({"joint3": 0.4})
    q = np.array([0.1, -0.5, -2.0, 0.3, 1.2, 0.4])
    assert locked.pose(q).matrix == pytest.approx(arm.pose(np.insert(q, 2, 0.4)).matrix, abs=1e-14)
    assert locked.limits.torque == pytest.approx(np.delete(arm.limits.torque, 2))
    assert locked.limits.acceleration == pytest.approx(np.delete(arm.limits.acceleration, 2))
    assert pp.load_robot("panda", lock={"joint3": 0.4}).nv == 6


GRIPPER = """<mujoco><worldbody><body name="wrist"><joint name="turn"/><geom size="0.1"/>
  <body name="left"><joint name="l" type="slide" ref="0.01"/><geom size="0.02" pos="0.1 0 0"/></body>
  <body name="right"><joint name="r" type="slide" axis="0 1 0"/><geom size="0.02" pos="0 0.1 0"/></body>
  </body></worldbody><equality><joint joint1="r" joint2="l" polycoef="0.002 -2 0 0 0"/></equality>
  <sensor><jointpos joint="l"/></sensor></mujoco>"""


@pytest.mark.parametrize("name", ["l", "r"])
def test_what_is_tied_to_a_locked_joint_is_locked_with_it(name) -> None:
    """r = 0.002 − 2 (l − 0.01), whichever of the two is held."""
    whole = pp.Robot.from_mjcf_text(GRIPPER)
    left, right = 0.03, 0.002 - 2 * 0.02
    locked = whole.with_locked({name: left if name == "l" else right})
    assert locked.joint_names == ("turn",)
    for frame in ("left", "right"):
        assert locked.pose([0.7], frame).matrix == pytest.approx(whole.pose([0.7, left], frame).matrix, abs=1e-14)


def test_values_that_a_tie_contradicts_are_refused() -> None:
    whole = pp.Robot.from_mjcf_text(GRIPPER)
    assert whole.with_locked({"l": 0.03, "r": -0.038}).nv == 1
    with pytest.raises(InvalidInput, match=r"joints 'r' and 'l' are tied, .* disagree by"):
        whole.with_locked({"l": 0.03, "r": 0.0})


def test_what_cannot_be_locked_is_refused() -> None:
    arm = pp.load_robot("panda")
    with pytest.raises(UnknownName, match="unknown joint 'joint9'"):
        arm.with_locked({"joint9": 0.0})
    with pytest.raises(NotFinite, match=r"lock.*'joint1'.*finite.*nan"):
        arm.with_locked({"joint1": np.nan})
    with pytest.raises(InvalidInput, match="joint 'base_free' cannot be"):
        pp.load_robot("iiwa14").with_free_base().with_locked({"base_free": 0.0})
    with pytest.raises(ModelError, match="no moving joint"):
        pp.load_robot("pendulum", lock={"joint1": 0.0})


TENDON = """<mujoco><worldbody><body><joint name="a"/><geom size="0.1" pos="0.1 0 0"/>
  <body><joint name="b" axis="0 1 0"/><geom size="0.1"/></body></body></worldbody>
  <tendon><fixed name="t"{}><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed></tendon></mujoco>"""


def test_a_spring_tendon_between_a_locked_and_a_moving_joint_is_refused_and_an_idle_one_is_cut() -> None:
    with pytest.raises(ModelError, match=r"tendon 't' ties.*'a'.*still"):
        pp.Robot.from_mjcf_text(TENDON.format(' stiffness="5"')).with_locked({"a": 0.1})
    assert pp.Robot.from_mjcf_text(TENDON.format("")).with_locked({"a": 0.1}).nv == 1


def test_a_loop_whose_joints_are_all_locked_is_no_loop_any_more(tmp_path) -> None:
    text = """<mujoco><worldbody><body name="arm"><joint name="shoulder"/><geom size="0.1" pos="0.2 0 0"/>
      <body name="one"><joint name="j1"/><geom size="0.05" pos="0.1 0 0"/></body>
      <body name="two"><joint name="j2"/><geom size="0.05" pos="0 0.1 0"/></body></body></worldbody>
      <equality><connect name="bar" body1="one" body2="two" anchor="0.1 0 0"/></equality></mujoco>"""
    path = tmp_path / "bar.xml"
    path.write_text(text)
    with pytest.raises(ModelError, match="closed loop"):
        pp.load_robot(path)
    with pytest.raises(ModelError, match="closed loop"):
        pp.load_robot(path, lock={"j1": 0.0})
    assert pp.load_robot(path, lock={"j1": 0.0, "j2": 0.0}).joint_names == ("shoulder",)


def test_a_joint_locked_outside_its_range_is_warned_of() -> None:
    (warning,) = pp.load_robot("panda").with_locked({"joint4": 3.0}).warnings
    assert re.search(r"joint 'joint4': locked at 3 rad.*range.*-3\.0718 to -0\.0698 rad", str(warning))
    assert pp.load_robot("panda", lock={"joint4": 3.0}).warnings == (warning,)
    assert not pp.load_robot("panda").with_locked({"joint4": -3.0718}).warnings


def test_an_arm_whose_joints_are_all_locked_is_refused_by_that_name() -> None:
    with pytest.raises(ModelError, match=r"robot 'panda'.*no moving"):
        pp.load_robot("panda").with_locked({f"joint{k}": -0.1 for k in range(1, 8)})

"""Which frame is the tool: by the names people give, else where the chain ends; told, and a guess is a warning."""

from __future__ import annotations

import re

import numpy as np
import pytest

import palpate as pp
from palpate.errors import UnknownName

CHAIN = """<mujoco><worldbody><body name="link1"><joint/><geom size="0.1"/>{}
  <body name="link2" pos="0.1 0 0"><joint/><geom size="0.1"/>{}</body></body></worldbody></mujoco>"""
FINGERS = """<body name="hand">
  <body name="left_finger"><joint type="slide"/><geom size="0.01"/></body>
  <body name="right_finger"><joint type="slide"/><geom size="0.01"/></body><body name="camera_mount"/></body>"""


@pytest.mark.parametrize(
    "name",
    [
        "tool",
        "attachment_site",
        "pinch_site",
        "tool0",
        "ee_link",
        "flange",
        "tcp",
        "panda_hand_tcp",
        "left/gripper_tcp",
        "ur5e_tool0",
        "end_effector",
        "arm-flange",
        "iiwa_link_ee",
    ],
)
def test_a_frame_called_like_a_tool_is_taken_before_fingers_and_cameras(name) -> None:
    robot = pp.Robot.from_mjcf_text(CHAIN.format("", f'<site name="{name}"/>{FINGERS}'))
    assert robot.tool_frame == name
    assert robot.tool_choice.reason == "by its name"
    assert robot.warnings == ()
    body = pp.Robot.from_mjcf_text(CHAIN.format("", f'<body name="{name}"/>{FINGERS}'))
    assert body.tool_frame == name


def test_of_several_conventional_names_the_most_telling_is_taken_and_the_others_are_listed() -> None:
    sites = '<site name="flange"/><site name="attachment_site"/><body name="tool0"/>'
    robot = pp.Robot.from_mjcf_text(CHAIN.format("", sites))
    assert robot.tool_choice.name == "attachment_site"
    assert robot.tool_choice.others == ("tool0", "flange")
    assert str(robot.tool_choice) == "attachment_site, by its name; also there: tool0, flange"
    assert robot.warnings == ()


def test_a_frame_that_does_not_move_is_no_tool() -> None:
    text = CHAIN.format("", "").replace("<worldbody>", '<worldbody><body name="tool0"/>')
    assert pp.Robot.from_mjcf_text(text).tool_frame == "link2"


def test_of_two_arms_tools_the_first_is_a_guess_and_says_so() -> None:
    arm = '<body name="{0}"><joint/><geom size="0.1"/><site name="{0}_tcp"/></body>'
    robot = pp.Robot.from_mjcf_text(
        f"<mujoco><worldbody>{arm.format('left')}{arm.format('right')}</worldbody></mujoco>"
    )
    assert robot.tool_frame == "left_tcp"
    (warning,) = robot.warnings
    assert re.search(r"left_tcp.*name.*right_tcp", warning.found)
    assert "a guess" in warning.rule


def test_a_plain_chain_ends_at_its_last_body_without_a_word() -> None:
    robot = pp.Robot.from_mjcf_text(CHAIN.format("", '<body name="plate"/>'))
    assert robot.tool_frame == "plate"
    assert robot.warnings == ()


def test_a_hand_without_a_named_frame_is_what_carries_the_fingers() -> None:
    robot = pp.Robot.from_mjcf_text(CHAIN.format("", FINGERS))
    assert robot.tool_frame == "hand"
    (warning,) = robot.warnings
    assert "left_finger, right_finger, camera_mount" in warning.found


def test_the_frame_can_be_named_and_then_nothing_is_guessed(tmp_path) -> None:
    path = tmp_path / "r.xml"
    path.write_text(CHAIN.format("", FINGERS))
    assert pp.load_robot(path).tool_frame == "hand"
    robot = pp.load_robot(path, tool_frame="camera_mount")
    assert (robot.tool_frame, robot.tool_choice.reason) == ("camera_mount", "as asked")
    for chosen in (robot, pp.load_robot(path).with_tool_frame("left_finger")):
        assert [warning.element for warning in chosen.warnings] == ["contact geometry"]
    assert pp.load_robot("panda", tool_frame="hand").tool_frame == "hand"
    with pytest.raises(UnknownName, match="mean 'hand'"):
        pp.load_robot(path, tool_frame="hnad")


def test_the_choice_and_the_warnings_go_along_with_every_change() -> None:
    robot = pp.Robot.from_mjcf_text(CHAIN.format("", FINGERS))
    changed = robot.with_gravity([0, 0, 0]).with_base(pp.spatial.Pose([0, 0, 1], np.eye(3))).with_payload(1.0)
    assert changed.tool_choice == robot.tool_choice
    assert changed.warnings == robot.warnings

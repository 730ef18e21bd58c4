"""The keys of [robot] that say how a model file is to be taken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.errors import ScenarioError
from palpate.robot.robot import Robot
from palpate.scenario.file.load import load_scenario
from palpate.scenario.robot import build_robot

BARE = """<robot name="bare"><link name="base"/>
  <link name="a"><visual><geometry><mesh filename="package://shapes/a.stl"/></geometry></visual>
    <collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision></link>
  <link name="b"><collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
  <joint name="k" type="continuous"><origin xyz="0 0 0.4"/><parent link="a"/><child link="b"/></joint></robot>
"""
TEXT = """name = "x"
[robot]
{}
[control]
law = "gravity-compensation"
[run]
duration = 0.01
"""


def robot_of(folder: Path, keys: str, law: str = "gravity-compensation") -> Robot:
    (folder / "arm.urdf").write_text(BARE)
    (folder / "s.toml").write_text(TEXT.format(keys).replace("gravity-compensation", law))
    return build_robot(load_scenario(folder / "s.toml").robot)


def test_a_scenario_estimates_and_locks(tmp_path) -> None:
    robot = robot_of(tmp_path, 'model = "arm.urdf"\nestimate_inertia = 10.0\nlock = {k = 0.3}')
    assert (robot.nv, robot.mass) == (1, pytest.approx(10.0))
    assert any("estimated" in str(warning) for warning in robot.warnings)
    assert "estimates" in (robot.text("provenance") or "")


def test_without_an_estimate_a_law_of_torques_is_refused_at_its_line_by_name(tmp_path) -> None:
    with pytest.raises(ScenarioError, match=r"line 4: control: .* of bare needs masses"):
        robot_of(tmp_path, 'model = "arm.urdf"')


def test_package_folders_are_counted_from_the_scenario(tmp_path) -> None:
    (tmp_path / "meshes" / "shapes").mkdir(parents=True)
    (tmp_path / "meshes" / "shapes" / "a.stl").write_bytes(b"\0" * 84)
    (tmp_path / "s").mkdir()
    found = robot_of(tmp_path / "s", 'model = "arm.urdf"\npackages = ["../meshes"]\nestimate_inertia = 1.0')
    lost = robot_of(tmp_path / "s", 'model = "arm.urdf"\nestimate_inertia = 1.0')
    assert any("0 faces" in str(warning) for warning in found.warnings)
    assert any("file not found" in str(warning) for warning in lost.warnings)


def test_the_tool_frame_of_a_scenario_keeps_the_robots_warnings(tmp_path) -> None:
    robot = robot_of(tmp_path, 'model = "arm.urdf"\nestimate_inertia = 10.0\ntool_frame = "a"')
    assert robot.tool_frame == "a"
    assert any("estimated" in str(warning) for warning in robot.warnings)


@pytest.mark.parametrize(
    "inertia", ["[0.01, 0.02, 0.025]", "[0.01, 0.02, 0.025, 0, 0, 0]", "[[0.01, 0, 0], [0, 0.02, 0], [0, 0, 0.025]]"]
)
def test_a_tensor_in_a_scenario_is_three_six_or_nine_numbers(tmp_path, inertia) -> None:
    keys = f'model = "iiwa14"\n[robot.payload]\nmass = 1.0\ninertia = {inertia}'
    robot = robot_of(tmp_path, keys)
    from palpate import load_robot

    arm = load_robot("iiwa14")
    expected = arm.with_payload(1.0, (0, 0, 0), (0.01, 0.02, 0.025)).mass_matrix(arm.home)
    assert np.array_equal(robot.mass_matrix(arm.home), expected)


def test_a_tool_in_a_scenario_may_weigh_nothing(tmp_path) -> None:
    robot = robot_of(tmp_path, 'model = "iiwa14"\n[robot.tool]\nmass = 0\ntip_position = [0, 0, 0.2]')
    assert robot.tool_frame == "tool_tip"
    with pytest.raises(ScenarioError, match=r"payload\.mass"):
        robot_of(tmp_path, 'model = "iiwa14"\n[robot.payload]\nmass = 0')


def test_a_table_in_a_scenario_takes_motor_losses_two_frictions_and_a_repair(tmp_path) -> None:
    table = """repair = true
[[robot.dh]]
a = 0.4
mass = 0
inertia = [0, 0.35, 0]
gear = -50
motor_damping = 1e-3
motor_friction = [0.01, -0.02]
[[robot.dh]]
a = 0.3
mass = 1.0
com = [-0.1, 0, 0]"""
    robot = robot_of(tmp_path, table)
    assert len(robot.warnings) == 2
    with pytest.raises(ScenarioError, match="line 2: robot: the DH table of dh-arm has 2 errors"):
        robot_of(tmp_path, table.replace("repair = true", ""))

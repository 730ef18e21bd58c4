"""One test per bad input: level, line, element and the decisive words, in under two seconds."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from palpate.errors import ModelError
from palpate.robot.load import load_robot
from palpate.robot.readers.check import ModelReport, check_model
from palpate.robot.readers.findings import Finding, printable, refuse

URDF = """<?xml version="1.0"?>
<robot name="good">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0 0 0.2" rpy="0 0 0"/>
      <mass value="2"/>
      <inertia ixx="0.03" iyy="0.03" izz="0.002" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <link name="hand">
    <inertial>
      <mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="j1" type="revolute">
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/>
  </joint>
  <joint name="j2" type="revolute">
    <origin xyz="0 0 0.4"/>
    <parent link="arm"/>
    <child link="hand"/>
    <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="20" velocity="3"/>
  </joint>
</robot>
"""

MJCF = """<mujoco model="good">
  <compiler angle="radian"/>
  <option timestep="0.002"/>
  <worldbody>
    <body name="arm" pos="0 0 1">
      <joint name="j1" axis="0 1 0" range="-2 2"/>
      <inertial pos="0 0 0.2" mass="2" diaginertia="0.03 0.03 0.002"/>
      <geom name="g" size="0.1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator>
    <position name="servo" joint="j1" kp="50" ctrlrange="-2 2"/>
  </actuator>
  <keyframe>
    <key name="home" qpos="0.5"/>
  </keyframe>
</mujoco>
"""


def edited(text: str, old: str, new: str) -> str:
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)


def line_of(text: str, marker: str) -> int:
    return text[: text.index(marker)].count("\n") + 1


def check_text(folder: Path, text: str, name: str = "model.urdf") -> ModelReport:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return check_model(path)


def assert_found(report: ModelReport, level: str, line: int, element: str, words: list[str]) -> Finding:
    hits = [f for f in report.findings if (f.level, f.line) == (level, line) and f.element == element]
    assert hits, "\n".join(map(str, report.findings))
    for finding in hits:
        if all(word in str(finding) for word in words):
            return finding
    raise AssertionError("\n".join(map(str, hits)))


ARM_INERTIA = 'ixx="0.03" iyy="0.03" izz="0.002" ixy="0" ixz="0" iyz="0"'
ARM_LIMIT = '<limit lower="-2" upper="2" effort="50" velocity="3"/>'
J3 = '<joint name="j3" type="fixed"><parent link="{}"/><child link="{}"/></joint>\n</robot>'

# row of the list of bad inputs, what to replace, by what, level, marker of the line, element, words
BAD_URDF = [
    (3, '<link name="hand">', '<link name="arm">', "error", '<link name="arm">\n    <inertial>\n      <mass',
     "link 'arm'",
     ["two links are called 'arm'", "lines 4 and 12"]),
    (4, 'name="j2"', 'name="j1"', "error", '<joint name="j1" type="revolute">\n    <origin', "joint 'j1'",
     ["two joints are called 'j1'", "lines 18 and 24"]),
    (5, '<parent link="arm"/>', '<parent link="arn"/>', "error", '<parent link="arn"/>', "joint 'j2'",
     ["parent link 'arn' does not", "you mean 'arm'"]),
    (6, '<parent link="base"/>', '<parent link="hand"/>', "error", '<joint name="j2"', "joint 'j2'",
     ["cycle", "arm→hand→arm"]),
    (7, '<link name="base"/>', '<link name="base"/><link name="extra"/>', "error", '<link name="extra"/>',
     "link 'extra'", ["2 root links", "'base' (line 3)", "'extra' (line 3)"]),
    (8, "</robot>", J3.format("base", "hand"), "error", '<joint name="j3"', "joint 'j3'",
     ["link 'hand' has 2 parents", "'j2' (line 24)", "'j3' (line 31)", "loop"]),
    (9, '<mass value="2"/>', '<mass value="-2"/>', "error", 'value="-2"', "link 'arm' > inertial > mass",
     ["mass -2 kg", "a mass is positive"]),
    (10, '<mass value="1"/>', '<mass value="0.0"/>', "warning", '<inertia ixx="0.01"',
     "link 'hand' > inertial > inertia", ["with mass 0", "no body", "weighs nothing"]),
    (10, '<mass value="1"/>\n      <inertia ixx="0.01" iyy="0.01" izz="0.01"',
     '<mass value="0.0"/>\n      <inertia ixx="0" iyy="0" izz="0"', "warning", 'value="0.0"',
     "link 'hand' > inertial > mass", ["mass 0", "joint 'j2' moves it", "only the kinematics", "give mass", "merge"]),
    (11, '<mass value="2"/>', '<mass value="nan"/>', "error", 'value="nan"', "link 'arm' > inertial > mass",
     ["value='nan'", "not finite"]),
    (11, '<mass value="2"/>', '<mass value="inf"/>', "error", 'value="inf"', "link 'arm' > inertial > mass",
     ["value='inf'", "not finite"]),
    (12, '<mass value="2"/>', '<mass val="2"/>', "error", 'val="2"', "link 'arm' > inertial > mass",
     ["unknown attribute 'val'", "you mean 'value'?"]),
    (13, '<mass value="2"/>', '<mass value="1,5"/>', "error", 'value="1,5"', "link 'arm' > inertial > mass",
     ["'1,5' in column 20", "not a number", "write 1.5"]),
    (13, 'xyz="0 0 0.4"', 'xyz="0 0 0,3"', "error", 'xyz="0 0 0,3"', "joint 'j2' > origin",
     ["'0,3' in column 22", "decimal comma"]),
    (14, ARM_INERTIA, ARM_INERTIA.replace('ixy="0"', 'ixy="0.04"'), "error", 'ixy="0.04"',
     "link 'arm' > inertial > inertia", ["-0.01, 0.002, 0.07", "negative eigenvalue", "--repair"]),
    (15, ARM_INERTIA, ARM_INERTIA.replace('izz="0.002"', 'izz="0.09"'), "error", 'izz="0.09"',
     "link 'arm' > inertial > inertia", ["A + B ≥ C", "violated by 0.03"]),
    (16, ARM_INERTIA, 'ixx="2e4" iyy="2e4" izz="2e4" ixy="0" ixz="0" iyz="0"', "warning", "<inertial>",
     "link 'arm' > inertial", ["mass 2 kg", "gyration 100 m"]),
    (16, 'xyz="0 0 0.2"', 'xyz="0 0 100"', "warning", 'xyz="0 0 100"', "link 'arm' > inertial > origin",
     ["100 m away", "millimetres?"]),
    (18, 'xyz="0 1 0"', 'xyz="0 0 0"', "error", '<axis xyz="0 0 0"', "joint 'j1' > axis",
     ["length 0", "needs a direction"]),
    (19, 'xyz="0 1 0"', 'xyz="0 nan 0"', "error", '<axis xyz="0 nan 0"', "joint 'j1' > axis",
     ["xyz='0 nan 0'", "not finite"]),
    (19, 'xyz="0 0 0.4"', 'xyz="0 0 nan"', "error", 'xyz="0 0 nan"', "joint 'j2' > origin", ["not finite"]),
    (20, 'lower="-2" upper="2" effort="50"', 'lower="2" upper="-2" effort="50"', "warning", 'lower="2"',
     "joint 'j1' > limit", ["limits 2 to -2", "no limit (reversed)"]),
    (21, 'upper="2" effort="50"', 'upper="nan" effort="50"', "error", 'upper="nan"', "joint 'j1' > limit",
     ["upper='nan'", "not finite"]),
    (22, ARM_LIMIT, "", "error", '<joint name="j1"', "joint 'j1'", ["has no <limit>", "continuous"]),
    (23, 'effort="50"', 'effort="-50"', "error", 'effort="-50"', "joint 'j1' > limit",
     ["effort limit -50", "positive"]),
    (23, 'effort="50" velocity="3"', 'effort="50" velocity="0"', "warning", 'velocity="0"', "joint 'j1' > limit",
     ["velocity limit 0", "cannot be driven"]),
    (24, 'lower="-2" upper="2" effort="50"', 'lower="-170" upper="170" effort="50"', "warning", 'lower="-170"',
     "joint 'j1' > limit", ["170 rad = 27 turns", "degrees?"]),
    (26, 'name="j1" type="revolute"', 'name="j1" type="hinge"', "error", 'type="hinge"', "joint 'j1'",
     ["type 'hinge'", "revolute, continuous, prismatic, fixed, floating", "you mean 'revolute'?"]),
    (27, '<axis xyz="0 1 0"/>', '<axsi xyz="0 1 0"/>', "error", "<axsi", "joint 'j1' > axsi",
     ["unknown element <axsi>", "you mean 'axis'?"]),
    (27, "</robot>", "<jiont/></robot>", "error", "<jiont", "jiont",
     ["unknown element <jiont>", "you mean 'joint'?"]),
    (28, '<sphere radius="0.1"/>', '<mesh filename="none.stl"/>', "warning", "none.stl",
     "link 'arm' > collision > geometry > mesh", ["filename='none.stl'", "not found"]),
    (28, '<sphere radius="0.1"/>', '<mesh filename="none.stl" scale="1 0 1"/>', "error", "none.stl",
     "link 'arm' > collision > geometry > mesh", ["scale (1 0 1)", "flattens"]),
    (28, '<sphere radius="0.1"/>', '<mesh filename="liar.stl"/>', "error", "liar.stl",
     "link 'arm' > collision > geometry > mesh", ["claims 4000000000 faces", "hold 1"]),
    (29, '<sphere radius="0.1"/>', '<mesh filename="package://p/../../secret.stl"/>', "warning", "secret.stl",
     "link 'arm' > collision > geometry > mesh", ["path escapes", "package root"]),
    (29, '<sphere radius="0.1"/>', '<mesh filename="/etc/passwd"/>', "warning", "/etc/passwd",
     "link 'arm' > collision > geometry > mesh", ["path escapes"]),
    (29, '<sphere radius="0.1"/>', '<mesh filename="http://example.org/m.stl"/>', "warning", "http:",
     "link 'arm' > collision > geometry > mesh", ["path escapes"]),
    (30, 'radius="0.1"', 'radius="-0.1"', "error", 'radius="-0.1"', "link 'arm' > collision > geometry > sphere",
     ["size (-0.1)", "positive"]),
    (31, '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="j3"/>', "error", "<mimic", "joint 'j1' > mimic",
     ["mimics joint 'j3'", "you mean"]),
    (31, '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="j1"/>', "error", "<mimic", "joint 'j1' > mimic",
     ["mimic itself"]),
    (33, '<joint name="j1"', '<joint name="arm"', "warning", '<link name="arm"', "link 'arm'",
     ["line 18"]),
    (33, '<link name="base"/>', '<link name=""/>', "error", '<link name=""/>', "link ''", ["no name"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "old", "new", "level", "marker", "element", "words"),
    BAD_URDF,
    ids=[f"row{case[0]}-{index}" for index, case in enumerate(BAD_URDF)],
)
def test_a_bad_urdf_is_told_with_level_line_element_and_rule(tmp_path, row, old, new, level, marker, element, words):
    (tmp_path / "liar.stl").write_bytes(b"\0" * 80 + struct.pack("<I", 4_000_000_000) + b"\0" * 50)
    text = edited(URDF, old, new)
    line = line_of(text, marker)
    report = check_text(tmp_path, text)
    assert_found(report, level, line, element, words)
    assert bool(report.errors) == (level == "error")


BAD_MJCF = [
    (9, 'mass="2"', 'mass="-2"', "error", 'mass="-2"', "body 'arm' > inertial", ["mass -2", "not negative"]),
    (11, 'mass="2"', 'mass="inf"', "error", 'mass="inf"', "body 'arm' > inertial", ["mass='inf'", "not finite"]),
    (13, 'mass="2"', 'mass="1,5"', "error", 'mass="1,5"', "body 'arm' > inertial", ["'1,5'", "write 1.5"]),
    (15, '0.03 0.03 0.002', '0.03 0.03 0.09', "error", "0.03 0.09", "body 'arm' > inertial",
     ["A + B ≥ C", "violated by 0.03"]),
    (18, 'axis="0 1 0"', 'axis="0 0 0"', "error", 'axis="0 0 0"', "joint 'j1'", ["norm 0", "direction"]),
    (19, 'axis="0 1 0"', 'axis="0 nan 0"', "error", 'axis="0 nan 0"', "joint 'j1'", ["not finite"]),
    (20, 'range="-2 2"', 'range="2 -2"', "error", 'range="2 -2"', "joint 'j1'",
     ["range 2 to -2", "would drop"]),
    (24, 'range="-2 2"', 'range="-170 170"', "warning", 'range="-170 170"', "joint 'j1'", ["27 turns", "degrees?"]),
    (25, '<compiler angle="radian"/>', "", "warning", 'range="-2 2"', "joint 'j1'",
     ["±2°", "the MJCF default is degrees"]),
    (27, 'axis="0 1 0"', 'axsi="0 1 0"', "error", "axsi", "joint 'j1'",
     ["unknown attribute 'axsi'", "you mean 'axis'?"]),
    (27, "<option timestep", "<optoin timestep", "error", "<optoin", "optoin",
     ["unknown element <optoin>", "you mean 'option'?"]),
    (29, "<worldbody>", '<asset><mesh file="../m.stl"/></asset><worldbody>', "warning", "../m.stl", "asset > mesh",
     ["path escapes"]),
    (29, "<worldbody>", '<include file="/etc/passwd"/><worldbody>', "error", "/etc/passwd", "include",
     ["path escapes"]),
    (29, '<compiler angle="radian"/>', '<compiler angle="radian" meshdir="/etc"/><asset><mesh file="m.stl"/></asset>',
     "warning", "m.stl", "asset > mesh", ["path escapes", "package root"]),
    (30, 'size="0.1"', 'size="-0.1"', "error", 'size="-0.1"', "geom 'g'", ["size (-0.1)", "positive"]),
    (36, "<worldbody>", '<include file="model.xml"/><worldbody>', "error", "<include", "include",
     ["model.xml → model.xml", "cyclic"]),
    (37, 'pos="0 0 1"', 'quat="0 0 0 0"', "error", "quat", "body 'arm'", ["norm 0"]),
    (38, 'pos="0 0 1"', 'quat="1 0 nan 0"', "error", "quat", "body 'arm'", ["not finite"]),
    (39, 'timestep="0.002"', 'timestep="0"', "error", "timestep", "option", ["timestep 0 s", "greater than 0"]),
    (39, 'timestep="0.002"', 'timestep="-0.001"', "error", "timestep", "option", ["timestep -0.001 s"]),
    (39, 'timestep="0.002"', 'timestep="nan"', "error", "timestep", "option", ["not finite"]),
    (40, 'timestep="0.002"', 'timestep="1"', "error", "timestep", "option", ["dt·ω_max = 50"]),
    (40, 'timestep="0.002"', 'timestep="0.02"', "warning", "timestep", "option", ["dt·ω_max = 1"]),
    (41, 'kp="50"', 'kp="nan"', "error", 'kp="nan"', "position 'servo'", ["kp='nan'", "not finite"]),
    (41, 'kp="50"', 'kp="-50"', "error", 'kp="-50"', "position 'servo'", ["kp -50", "not negative"]),
    (42, 'ctrlrange="-2 2"', 'ctrlrange="5 -5"', "error", "ctrlrange", "position 'servo'", ["ctrlrange 5 to -5"]),
    (43, 'qpos="0.5"', 'qpos="0.5 1"', "error", "<key ", "key 'home'", ["qpos holds 2 numbers", "has 1"]),
    (43, 'joint="j1"', 'joint="j2"', "error", 'joint="j2"', "position 'servo'",
     ["joint='j2' does not", "you mean 'j1'?"]),
    (4, "<geom ", '<joint name="j1"/><geom ', "error", '<joint name="j1"/>', "joint 'j1'",
     ["two joints are called 'j1'", "lines 6 and 8"]),
    (17, '<inertial pos="0 0 0.2" mass="2" diaginertia="0.03 0.03 0.002"/>', '<inertial pos="0 0 0" mass="0"/>',
     "error", '<body name="arm"', "body 'arm'", ["MuJoCo refuses"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "old", "new", "level", "marker", "element", "words"),
    BAD_MJCF,
    ids=[f"row{case[0]}-{index}" for index, case in enumerate(BAD_MJCF)],
)
def test_a_bad_mjcf_is_told_with_level_line_element_and_rule(tmp_path, row, old, new, level, marker, element, words):
    text = edited(MJCF, old, new)
    report = check_text(tmp_path, text, "model.xml")
    assert_found(report, level, line_of(text, marker), element, words)
    assert bool(report.errors) == (level == "error")


def test_the_reserved_name_universe_is_a_warning(tmp_path):
    report = check_text(tmp_path, URDF.replace('"base"', '"universe"'))
    assert_found(report, "warning", 3, "link 'universe'", ["reserved"])
    assert not report.errors


def test_the_good_models_have_no_findings_but_that_their_contact_geometry_is_not_used(tmp_path):
    colliding = MJCF.replace(' contype="0" conaffinity="0"', "")
    for report, found in (
        (check_text(tmp_path, URDF), "links with <collision>: 1"),
        (check_text(tmp_path, colliding, "model.xml"), "geoms that collide: 1"),
    ):
        (only,) = report.findings
        assert (only.level, only.element, only.found) == ("warning", "contact geometry", found)
        assert "world.contact_links" in only.hint
    urdf, mjcf = check_text(tmp_path, URDF.replace("collision>", "visual>")), check_text(tmp_path, MJCF, "model.xml")
    assert urdf.findings == ()
    assert mjcf.findings == ()
    assert urdf.summary is not None
    assert (urdf.summary.links, urdf.summary.joints, urdf.summary.dof, urdf.summary.mass) == (3, 2, 2, 3.0)
    assert mjcf.summary is not None
    assert (mjcf.summary.links, mjcf.summary.dof, mjcf.summary.mass) == (1, 1, 2.0)


def test_a_missing_file_is_named_with_its_neighbours(tmp_path):
    (tmp_path / "robot.urdf").write_text(URDF)
    (finding,) = check_model(tmp_path / "robt.urdf").findings
    assert finding.level == "error"
    assert "file not found" in str(finding)
    assert "robot.urdf" in finding.hint


def test_a_directory_and_an_empty_file_are_named(tmp_path):
    assert "directory" in str(check_model(tmp_path).findings[0])
    assert re.search(r"file.*empty", str(check_text(tmp_path, " \n").findings[0]))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.urdf")
    assert "not a regular file" in str(check_model(tmp_path / "model.urdf").findings[0])


def test_a_model_without_moving_joints_is_refused(tmp_path):
    (finding,) = check_text(tmp_path, '<robot name="r"><link name="a"/></robot>').findings
    assert (finding.level, finding.line, finding.found) == ("error", 1, "no joint moves")
    (finding,) = check_text(tmp_path, "<mujoco><worldbody><body name='a'/></worldbody></mujoco>", "model.xml").findings
    assert (finding.level, "no moving joint" in finding.found) == ("error", True)


def test_a_truncated_file_names_the_line_and_the_last_open_element(tmp_path):
    text = URDF[: URDF.index('<mass value="2"/>')]
    (finding,) = check_text(tmp_path, text).findings
    assert finding.line == 7
    assert "column 7" in finding.found
    assert "<inertial>" in finding.hint
    assert "line 5" in finding.hint


@pytest.mark.parametrize("content", [b"\x7fELF\0\0\0\0", b"MUJOCO\0\1\2", bytes(range(256)), b"hello world"])
def test_what_is_not_xml_is_called_no_model(tmp_path, content):
    path = tmp_path / "model.mjb"
    path.write_bytes(content)
    (finding,) = check_model(path).findings
    assert finding.level == "error"
    assert "not a model" in finding.rule
    assert ".mjb" in finding.hint


def test_another_xml_dialect_is_refused_by_its_root_element(tmp_path):
    (finding,) = check_text(tmp_path, "<sdf version='1.9'/>").findings
    assert "<sdf>" in finding.found
    assert "<robot> (URDF) or <mujoco> (MJCF)" in finding.rule


def test_the_content_decides_and_a_strange_ending_is_a_warning(tmp_path):
    report = check_text(tmp_path, URDF, "robot.txt")
    assert report.format == "urdf"
    assert not report.errors
    assert "'.txt'" in report.warnings[0].found


def test_a_dtd_is_refused(tmp_path):
    bomb = '<?xml version="1.0"?>\n<!DOCTYPE robot [<!ENTITY a "aaaa">]>\n<robot name="&a;"/>'
    (finding,) = check_text(tmp_path, bomb).findings
    assert finding.line == 2
    assert "DTD" in finding.found


@pytest.mark.parametrize(("tag", "name"), [("link", "robot"), ("body", "mujoco")])
def test_twenty_thousand_nested_elements_meet_the_depth_limit(tmp_path, tag, name):
    text = f"<{name}>" + f"<{tag}>" * 20_000 + f"</{tag}>" * 20_000 + f"</{name}>"
    (finding,) = check_text(tmp_path, text).findings
    assert "deeper than 500" in finding.found


def test_a_chain_of_three_thousand_links_gets_a_notice_of_size(tmp_path):
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1e-2" iyy="1e-2" izz="1e-2" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="l{i}">{inertial}</link>' for i in range(3000))
    joint = '<joint name="j{0}" type="continuous"><parent link="l{0}"/><child link="l{1}"/></joint>'
    joints = "".join(joint.format(i, i + 1) for i in range(2999))
    report = check_text(tmp_path, f'<robot name="r">{links}{joints}</robot>')
    assert "3000 links" in report.warnings[0].found
    assert "3000 bodies" in str(report.errors[0])


def test_a_moving_link_without_inertial_leaves_the_kinematics(tmp_path):
    start, end = URDF.index("    <inertial>\n      <mass value"), URDF.index('  </link>\n  <joint name="j1"')
    text = URDF[:start] + URDF[end:]
    report = check_text(tmp_path, text)
    finding = assert_found(report, "warning", 12, "link 'hand'", ["has no <inertial>", "joint 'j2' moves it"])
    assert "dynamics" in finding.rule
    assert report.robot is not None
    assert report.robot.unresisted == ("j2",)


def test_a_massless_moving_link_welded_to_a_massive_one_is_fine(tmp_path):
    text = edited(URDF, '<link name="hand">', '<link name="flange"/><link name="hand">')
    text = edited(text, '<child link="hand"/>', '<child link="flange"/>')
    text = edited(text, "</robot>", J3.format("flange", "hand")).replace("collision>", "visual>")
    assert check_text(tmp_path, text).findings == ()


def test_all_problems_of_a_file_are_told_in_one_pass(tmp_path):
    text = edited(URDF, '<mass value="2"/>', '<mass value="-2"/>')
    text = edited(text, 'xyz="0 1 0"', 'xyz="0 0 0"')
    text = edited(text, 'lower="-2" upper="2" effort="20"', 'lower="2" upper="two" effort="20"')
    path = tmp_path / "model.urdf"
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        load_robot(path)
    message = str(caught.value)
    assert "3 errors" in message
    for line, word in ((7, "mass -2 kg"), (21, "direction"), (29, "not a number")):
        assert f"model.urdf:{line}: error" in message
        assert word in message


def test_an_mjcf_with_many_faults_tells_them_all(tmp_path):
    text = edited(MJCF, 'mass="2"', 'mass="nan"')
    text = edited(text, 'kp="50"', 'kp="-50"')
    text = edited(text, 'size="0.1"', 'siez="0.1"')
    text = edited(text, "<position", "<positon")
    report = check_text(tmp_path, text, "model.xml")
    assert {error.line for error in report.errors} == {7, 8, 12}
    assert any("'size'" in error.hint for error in report.errors)
    assert any("'position'" in error.hint for error in report.errors)


def test_names_from_a_model_cannot_reach_the_terminal():
    finding = Finding("error", "f\x1b[31m", 1, "link 'a\u202eb\x9b'", "x\ny", "r")
    assert "\x1b" not in str(finding)
    assert "\u202e" not in str(finding)
    assert "\n" not in str(finding)
    assert printable("é→·") == "é→·"
    assert "\x1b" not in str(refuse("f\x1b", [finding]))


def test_checking_does_not_import_the_compiler():
    code = "import sys, palpate.robot.readers.check; sys.exit('numba' in sys.modules or 'mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unused_contact_geometry_is_said_in_a_run_where_something_could_be_touched(tmp_path):
    import palpate as pp
    from palpate.control import GravityCompensation

    (tmp_path / "arm.urdf").write_text(URDF)
    robot = pp.load_robot(tmp_path / "arm.urdf")
    assert [warning.element for warning in robot.warnings].count("contact geometry") == 1
    again = robot.with_payload(1.0).with_gravity((0, 0, 0))
    assert [warning.element for warning in again.warnings].count("contact geometry") == 1
    assert not any(warning.element == "contact geometry" for warning in pp.load_robot("panda").warnings)

    def said(world: pp.World) -> list[str]:
        trace = pp.simulate(pp.Run(robot, GravityCompensation(), world, clock=pp.world.Clock(duration=0.01)))
        assert str(tmp_path) not in str(trace.facts.as_data())
        assert trace.warnings == ()  # nothing is wrong with it
        return [remark for remark in trace.facts.remarks if "contact geometry" in remark]

    far = pp.world.Surface(position=(0, 0, -9))
    assert said(pp.World()) == []
    assert len(said(pp.World(surfaces=(far,)))) == 1
    assert said(pp.World(surfaces=(far,), contact_links=("arm",))) == []

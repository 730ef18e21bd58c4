"""load_robot: a catalogue name, a URDF or an MJCF file, or an error that says what to do."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput, ModelError, NotFinite, UnknownName
from palpate.robot import catalogue

URDF = """<robot name="pair">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" velocity="3" effort="40"/><dynamics damping="0.5" friction="0.2"/></joint>
  <joint name="elbow" type="revolute"><origin xyz="0.4 0 0"/><parent link="upper"/><child link="lower"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="4" effort="20"/></joint>
  <joint name="end" type="fixed"><origin xyz="0.3 0 0"/><parent link="lower"/><child link="tip"/></joint>
</robot>"""

MJCF = """<mujoco model="inner"><compiler angle="radian"/><worldbody>
  <body name="a"><geom size=".1"/><joint name="j1" axis="0 1 0" range="-1 1"/>
    <body name="b" pos="1 0 0"><geom size=".1"/><joint name="j2" axis="0 1 0" damping="1"/>
      <body name="c" pos="1 0 0"><geom size=".1"/><joint name="j3" axis="0 1 0" actuatorfrcrange="-7 7"/></body>
    </body></body></worldbody>
  <actuator><motor joint="j1" gear="50" ctrlrange="-1 1"/><position joint="j1" kp="100" forcerange="-30 40"/>
    <motor joint="j2"/><motor joint="j3" ctrlrange="-100 100"/></actuator>
  <keyframe><key name="home" qpos="0.1 0.2 0.3" ctrl="0 0 0 0"/></keyframe></mujoco>"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", catalogue.names())
def test_every_catalogue_robot_loads_under_its_name_with_its_home_inside_its_limits(name) -> None:
    robot = pp.load_robot(name)
    assert robot.name == name
    assert robot.tool_frame == "tool"
    joints = robot.home[-(robot.nv - (robot.nq - robot.nv) * 6) :]
    lower, upper = robot.limits.lower[-len(joints) :], robot.limits.upper[-len(joints) :]
    assert (joints >= lower).all()
    assert (joints <= upper).all()


def test_catalogue_parameters_reach_the_robot() -> None:
    robot = pp.load_robot("planar3", length=0.5, mass=[1.0, 2.0, 3.0])
    assert robot.mass == pytest.approx(6.0)
    assert robot.pose([0, 0, 0]).position == pytest.approx([1.5, 0, 0])


def test_a_urdf_file_becomes_a_robot(tmp_path) -> None:
    robot = pp.load_robot(write(tmp_path, "arm.urdf", URDF))
    assert robot.name == "pair"
    assert robot.joint_names == ("shoulder", "elbow")
    assert robot.tool_frame == "tip"
    assert robot.pose([0.3, 0.4]).position == pytest.approx(
        [0.4 * np.cos(0.3) + 0.3 * np.cos(0.7), 0.4 * np.sin(0.3) + 0.3 * np.sin(0.7), 0.0]
    )
    assert list(robot.limits.upper) == [2, 2]
    assert list(robot.limits.velocity) == [3, 4]
    assert list(robot.limits.torque) == [40, 20]
    lost = robot.inverse_dynamics([0, 0], [1, 1], [0, 0]) - robot.bias([0, 0], [1, 1])
    assert lost == pytest.approx([0.5 + 0.2, 0.0], abs=1e-12)


def test_an_mjcf_file_loses_its_motors_and_keeps_their_limits(tmp_path) -> None:
    robot = pp.load_robot(str(write(tmp_path, "arm.xml", MJCF)))
    assert robot.name == "arm"
    assert robot.model.nu == 0
    assert list(robot.limits.torque) == [50 + 30, np.inf, 7]
    assert robot.home == pytest.approx([0.1, 0.2, 0.3])
    assert list(robot.limits.lower) == [-1, -np.inf, -np.inf]
    lost = robot.inverse_dynamics([0, 0, 0], [0, 2, 0], [0, 0, 0]) - robot.bias([0, 0, 0], [0, 2, 0])
    assert lost == pytest.approx([0, 2, 0], abs=1e-12)


def test_a_urdf_robot_and_the_dh_table_of_the_same_arm_are_one(tmp_path) -> None:
    robot = pp.load_robot(write(tmp_path, "arm.urdf", URDF))
    rows = [
        pp.robot.DHLink(a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0.01, 0.02, 0.02)),
        pp.robot.DHLink(a=0.3, mass=1.0, com=(-0.2, 0, 0), inertia=(0.01, 0.02, 0.02)),
    ]
    table, q, v = pp.Robot.from_dh(rows), [0.3, -0.9], [1.0, 2.0]
    assert robot.mass_matrix(q) == pytest.approx(table.mass_matrix(q), abs=1e-15)
    assert robot.bias(q, v) == pytest.approx(table.bias(q, v), abs=1e-14)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pp.load_robot("iiwa"), UnknownName, "unknown robot 'iiwa'; known: .*\n.*did you mean 'iiwa14'"),
        (lambda: pp.load_robot("planar3", lenght=1.0), UnknownName, "'lenght'; known: .*\n.*did you mean 'length'"),
        (lambda: pp.load_robot("planar3", length=np.nan), NotFinite, "length.*nan"),
        (lambda: pp.load_robot("panda", mass=1.0), UnknownName, "unknown parameter.*'panda' 'mass'"),
        (lambda: pp.load_robot("no/such/arm.urdf"), ModelError, "arm.urdf has 1 error"),
        (
            lambda: pp.load_robot(cast(str, 7)),
            InvalidInput,
            "catalogue.*path.*7",
        ),
    ],
)
def test_what_is_no_robot_is_refused(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_model_file_takes_no_parameters(tmp_path) -> None:
    with pytest.raises(InvalidInput, match=r"no parameters.*length, mass"):
        pp.load_robot(write(tmp_path, "arm.urdf", URDF), mass=1.0, length=2.0)


def test_a_broken_file_lists_every_problem(tmp_path) -> None:
    text = URDF.replace('<mass value="2"/>', '<mass value="-2"/>').replace('type="revolute"', 'type="rotary"', 1)
    with pytest.raises(ModelError, match=r"arm\.urdf has 2 error") as caught:
        pp.load_robot(write(tmp_path, "arm.urdf", text))
    assert len(caught.value.findings) >= 2


def test_a_file_without_moving_joints_is_refused(tmp_path) -> None:
    with pytest.raises(ModelError, match="no joint moves"):
        pp.load_robot(write(tmp_path, "still.urdf", "<robot name='still'><link name='a'/></robot>"))


def test_a_mesh_the_engine_cannot_take_costs_the_looks_and_not_the_robot(tmp_path):
    # Two triangles in a plane enclose no volume; MuJoCo refuses such a mesh.
    corners = [(0, 0, 0, 1, 0, 0, 0, 1, 0), (1, 0, 0, 1, 1, 0, 0, 1, 0)]
    body = b"".join(struct.pack("<12fH", 0, 0, 1, *c, 0) for c in corners)
    (tmp_path / "flat.stl").write_bytes(b"\0" * 80 + struct.pack("<I", len(corners)) + body)
    inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    link = '<link name="{}"><inertial><mass value="1"/>' + inertia + "</inertial>{}</link>"
    visual = '<visual><geometry><mesh filename="flat.stl"/></geometry></visual>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{link.format("a", "")}{link.format("b", visual)}{joint}</robot>')
    robot = pp.load_robot(tmp_path / "r.urdf")
    assert robot.mass_matrix([0.3])[0, 0] == pytest.approx(1.0)

"""One gate for every door: what cannot exist is refused wherever it comes from, and nothing that exists is."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import mujoco
import numpy as np
import pytest

from palpate import Robot, Run, World, load_robot, simulate
from palpate.control.laws.gravity_compensation import GravityCompensation
from palpate.errors import InvalidInput, ModelError
from palpate.robot import DHLink
from palpate.robot.gate import MOST_BODIES, spec_from_text
from palpate.scenario.file.load import scenario_from_data
from palpate.scenario.robot import build_robot
from palpate.world import Attachment, Clock, FreeObject, Surface

ONE = '<mujoco><worldbody><body name="a" {body}>{joints}<geom size=".1" mass="1" {geom}/></body></worldbody></mujoco>'
HINGE = '<joint name="i" axis="0 0 1"/>'


@pytest.mark.parametrize(
    ("joints", "body", "geom", "words"),
    [
        (HINGE + '<joint name="k" axis="0 0 1"/>', "", "", "not positive.*'i', 'k'"),
        ('<joint name="i" axis="0 0 1e308"/>', "", "", "cannot exist"),
        (HINGE, "", 'pos="1e308 0 0"', "body_ipos of body 'a'"),
        (HINGE, 'pos="1e9 0 0"', "", "body_pos of body 'a' is 1e.09 m"),
        ('<joint name="i" stiffness="1e200"/>', "", "", "jnt_stiffness of joint 'i'"),
        ('<joint name="i" damping="1e200"/>', "", "", "dof_damping of joint 'i'"),
        ('<joint name="i" armature="1e200"/>', "", "", "dof_armature of joint 'i'"),
    ],
)
def test_impossible_numbers_are_refused_by_name(joints: str, body: str, geom: str, words: str, tmp_path: Path):
    text = ONE.format(joints=joints, body=body, geom=geom)
    with pytest.raises(ModelError, match=words):
        Robot.from_mjcf_text(text)
    (tmp_path / "arm.xml").write_text(text)
    with pytest.raises(ModelError):
        load_robot(tmp_path / "arm.xml")


def test_every_other_door_has_the_same_gate(tmp_path: Path):
    robot = load_robot("planar2")
    with pytest.raises(ModelError, match="body_mass"):
        robot.with_payload(1e15)
    with pytest.raises(ModelError, match="body_ipos"):
        robot.with_payload(1.0, com=(1e300, 0, 0))
    with pytest.raises(ModelError, match="gravity"):
        robot.with_gravity((0, 0, -1e9))
    with pytest.raises(ModelError, match="cannot exist"):
        Robot.from_dh([DHLink(a=1e9, mass=1.0, inertia=(1, 1, 1))])
    with pytest.raises(InvalidInput, match=r"mass.*between"):
        load_robot("planar2", mass=1e15)
    for world in (
        World(objects=(FreeObject(name="ball", mass=1e15, position=(9, 0, 0)),)),
        World(surfaces=(Surface(position=(1e300, 0, 0)),)),
        World(attachments=(Attachment(name="load", mass=1e15),)),
    ):
        with pytest.raises(ModelError, match="this world cannot exist"):
            simulate(Run(robot, GravityCompensation(), world=world, clock=Clock(duration=0.01)))


def test_too_many_links_are_refused_before_anything_is_compiled(tmp_path: Path, monkeypatch):
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(
        f'<link name="l{i}">{inertia}</link><joint name="j{i}" type="continuous"><parent link="l{i - 1}"/>'
        f'<child link="l{i}"/><axis xyz="0 1 0"/></joint>'
        for i in range(1, 3001)
    )
    (tmp_path / "long.urdf").write_text(f'<robot name="long"><link name="l0"/>{links}</robot>')
    compiled: list[object] = []
    monkeypatch.setattr(mujoco.MjSpec, "compile", lambda *args: compiled.append(args))
    monkeypatch.setattr(mujoco.MjModel, "from_xml_string", lambda *args: compiled.append(args))
    with pytest.raises(ModelError, match=f"3001 bodies, at most {MOST_BODIES}"):
        load_robot(tmp_path / "long.urdf")
    assert not compiled  # which takes minutes
    with pytest.raises(ModelError, match="5000 bodies"):
        spec_from_text("<mujoco>" + "<body>" * 5000)


def test_an_object_called_like_a_link_is_refused_by_name():
    robot = load_robot("planar2")
    link = robot.model.body(1).name
    for world, words in (
        (World(objects=(FreeObject(name=link, position=(9, 0, 0)),)), f"object '{link}' is called like a link"),
        (World(surfaces=(Surface(position=(0, 0, -9)),) * 2), "surface 'wall' is called like another surface"),
    ):
        with pytest.raises(InvalidInput, match=words):
            simulate(Run(robot, GravityCompensation(), world=world))


def test_an_edited_include_is_seen_in_the_same_process(tmp_path: Path):
    part = '<mujocoinclude><inertial pos="0 0 0.1" mass="{}" diaginertia="1 1 1"/></mujocoinclude>'
    text = ONE.format(joints=HINGE + '<include file="part.xml"/>', body="", geom="").replace('mass="1" ', "")
    (tmp_path / "arm.xml").write_text(text)
    data = {"name": "x", "robot": {"model": str(tmp_path / "arm.xml")}, "control": {"law": "gravity-compensation"}}
    masses = []
    for mass in (2, 3):
        (tmp_path / "part.xml").write_text(part.format(mass))
        masses.append(build_robot(scenario_from_data(data).robot).mass)
    assert masses == [2.0, 3.0]


# ------------------------------------------------------------------------------------------------ copies


@pytest.mark.parametrize("name", ["planar2", "panda", "ur5e"])
def test_a_robot_and_its_runs_are_pickled_bit_by_bit(name: str):
    robot = load_robot(name)
    for again in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot), copy.copy(robot)):
        np.testing.assert_array_equal(again.mass_matrix(robot.home), robot.mass_matrix(robot.home))
        np.testing.assert_array_equal(again.limits.torque, robot.limits.torque)
        assert (again.name, again.tool_frame, again.dof_names) == (robot.name, robot.tool_frame, robot.dof_names)
    run = Run(robot, GravityCompensation(), clock=Clock(duration=0.02))
    trace = simulate(run)
    assert simulate(pickle.loads(pickle.dumps(run))).equals(trace)
    assert simulate(copy.deepcopy(run)).equals(trace)
    for again in (pickle.loads(pickle.dumps(trace)), copy.deepcopy(trace)):
        assert again.equals(trace)
        assert again.outcome == trace.outcome


# ------------------------------------------------------------------------------------------------ arrays


def test_read_only_arrays_are_taken_and_others_than_real_numbers_refused():
    robot = load_robot("planar2")
    trace = simulate(Run(robot, GravityCompensation(), clock=Clock(duration=0.01)))
    q, v = trace["q"][0], trace["v"][0]
    assert not q.flags.writeable
    _ = robot.mass_matrix(q), robot.bias(q, v), robot.jacobian(q), robot.inverse_dynamics(q, v, v), robot.pose(q)
    for bad in (
        q + 0j, np.ma.array(q), np.array(["0", "0"]), np.array([0, 1], dtype="datetime64[s]"), ["0", "1"], [None, 1],
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match="must be numbers"):
            robot.mass_matrix(bad)
    with pytest.raises(InvalidInput, match=r"note.*text"):
        robot.text(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput):
        trace.at(float("nan"))
    with pytest.raises(InvalidInput, match="dt"):
        GravityCompensation().bind(robot).tick(robot, q, v, dt=float("nan"))


@pytest.mark.parametrize("name", ["a[0]", "]", "a\u200b", " "])
def test_a_joint_name_that_cannot_head_a_column_is_refused_at_loading(name: str):
    text = f'<mujoco><worldbody><body><joint name="{name}"/><geom size="0.1"/></body></worldbody></mujoco>'
    with pytest.raises(ModelError, match="printable text"):
        Robot.from_mjcf_text(text)

"""Rotor inertias of URDF's transmissions: I · gear² at the joint, as Drake has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.errors import ModelError

URDF = """<robot name="geared" xmlns:drake="https://drake.mit.edu">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.2 0 0.1"/><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" velocity="3" effort="40" drake:acceleration="7"/></joint>
  <joint name="j2" type="prismatic"><origin xyz="0.4 0 0"/><parent link="a"/><child link="b"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="4" effort="20"/></joint>
  {}
</robot>"""
TWO = """<transmission type="transmission_interface/SimpleTransmission" name="t1">
    <type>transmission_interface/SimpleTransmission</type><joint name="j1"/>
    <actuator name="m1"><drake:gear_ratio value="-120"/><drake:rotor_inertia value="1.1e-4"/></actuator></transmission>
  <transmission name="t2"><type>transmission_interface/SimpleTransmission</type><joint name="j2"/>
    <actuator name="m2"><drake:rotor_inertia value="2e-4"/><drake:gear_ratio value="300"/></actuator></transmission>"""


def load(folder: Path, text: str) -> pp.Robot:
    path = folder / "geared.urdf"
    path.write_text(URDF.format(text))
    return pp.load_robot(path)


def test_the_mass_matrix_has_rotor_inertia_times_gear_squared(tmp_path) -> None:
    plain, geared = load(tmp_path, ""), load(tmp_path, TWO)
    q = [0.3, 0.2]
    added = geared.mass_matrix(q) - plain.mass_matrix(q)
    assert added == pytest.approx(np.diag([1.1e-4 * 120**2, 2e-4 * 300**2]), abs=1e-12)
    assert geared.bias(q, [1, 2]) == pytest.approx(plain.bias(q, [1, 2]), abs=1e-13)


def test_geared_joints_agree_with_drake(tmp_path) -> None:
    pydrake = pytest.importorskip("pydrake.all")
    robot = load(tmp_path, TWO)
    plant = pydrake.MultibodyPlant(0.0)
    pydrake.Parser(plant).AddModels(str(tmp_path / "geared.urdf"))
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    context, random = plant.CreateDefaultContext(), np.random.default_rng(4)
    for _ in range(5):
        q, v = random.uniform(-1, 1, (2, 2))
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        assert robot.mass_matrix(q) == pytest.approx(plant.CalcMassMatrix(context), rel=1e-12, abs=1e-12)
        tau = robot.inverse_dynamics(q, v, [0.3, -0.4])
        forces = pydrake.MultibodyForces(plant)
        plant.CalcForceElementsContribution(context, forces)
        assert tau == pytest.approx(plant.CalcInverseDynamics(context, np.array([0.3, -0.4]), forces), rel=1e-9)


def test_drakes_acceleration_limit_is_read(tmp_path) -> None:
    assert list(load(tmp_path, "").limits.acceleration) == [7.0, np.inf]


@pytest.mark.parametrize(
    "text",
    [
        '<transmission name="t"><joint name="j1"/><actuator name="m"><mechanicalReduction> 120 </mechanicalReduction>'
        '<drake:rotor_inertia value="1.1e-4"/></actuator></transmission>',
        '<transmission name="t"><joint name="j1"><mechanicalReduction>120</mechanicalReduction></joint>'
        '<actuator name="m"><drake:rotor_inertia value="1.1e-4"/></actuator></transmission>',
        '<transmission name="t"><joint name="j1"/><drake:rotor_inertia value="1.584"/></transmission>',
    ],
)
def test_the_gear_may_stand_where_ros_writes_it_or_be_one(tmp_path, text) -> None:
    added = load(tmp_path, text).mass_matrix([0, 0]) - load(tmp_path, "").mass_matrix([0, 0])
    assert added == pytest.approx(np.diag([1.1e-4 * 120**2, 0.0]), abs=1e-12)


def test_a_transmission_without_a_rotor_says_nothing_of_the_dynamics(tmp_path) -> None:
    text = '<transmission name="t"><joint name="gone"/><actuator name="m"><mechanicalReduction>1</mechanicalReduction>'
    robot = load(tmp_path, text + "</actuator></transmission>")
    assert not robot.model.dof_armature.any()
    assert robot.warnings == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('value="1.1e-4"', 'value="-1"', "rotor inertia -1 kg·m².*inertia.*not negative"),
        ('value="1.1e-4"', 'value="nan"', "not finite"),
        ('value="-120"', 'value="fast"', "not a number"),
        ('<joint name="j1"/>\n    <actuator', '<joint name="j3"/>\n    <actuator', "no such.*'j"),
    ],
)
def test_a_wrong_rotor_is_refused_by_name(tmp_path, old, new, words) -> None:
    assert TWO.count(old) == 1
    with pytest.raises(ModelError, match=words):
        load(tmp_path, TWO.replace(old, new))

"""URDF's spherical and planar joints, limits that mean none, friction that differs by direction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput, ModelError

INERTIAL = (
    '<inertial><origin xyz="0.1 0.2 -0.1"/><mass value="2"/>'
    '<inertia ixx="0.05" iyy="0.04" izz="0.03" ixy="0.004" ixz="-0.003" iyz="0.002"/></inertial>'
)
TEXT = """<robot name="odd"><link name="base"/><link name="a">{0}</link><link name="b">{0}</link>
  <joint name="j" type="{1}"><origin xyz="0 0.1 0.2" rpy="0.3 0.2 -0.5"/>
    <parent link="base"/><child link="a"/>{2}</joint>
  <joint name="k" type="continuous"><origin xyz="0.5 0 0"/><parent link="a"/><child link="b"/>
    <axis xyz="0 0 1"/></joint></robot>"""
RANDOM = np.random.default_rng(12)


def load(folder: Path, kind: str, inside: str = "") -> pp.Robot:
    path = folder / "odd.urdf"
    path.write_text(TEXT.format(INERTIAL, kind, inside))
    return pp.load_robot(path)


def test_a_spherical_joint_agrees_with_pinocchio(tmp_path) -> None:
    """Pinocchio's URDF reader knows no such type, so its model is built joint by joint."""
    pin = pytest.importorskip("pinocchio")
    robot = load(tmp_path, "spherical")
    assert (robot.nq, robot.nv) == (5, 4)
    assert robot.coordinate_names == ("j_qw", "j_qx", "j_qy", "j_qz", "k")
    model, body = pin.Model(), pin.Inertia(2.0, np.array([0.1, 0.2, -0.1]), _tensor())
    place = pin.SE3(pin.rpy.rpyToMatrix(0.3, 0.2, -0.5), np.array([0, 0.1, 0.2]))
    ball = model.addJoint(0, pin.JointModelSpherical(), place, "j")
    hinge = model.addJoint(ball, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array([0.5, 0, 0])), "k")
    for joint in (ball, hinge):
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
    data = model.createData()
    for _ in range(5):
        quat, angle, v = RANDOM.normal(size=4), RANDOM.normal(), RANDOM.normal(size=4)
        w, x, y, z = quat / np.linalg.norm(quat)
        q, other = np.array([w, x, y, z, angle]), np.array([x, y, z, w, angle])
        M = pin.crba(model, data, other)
        assert robot.mass_matrix(q) == pytest.approx(np.triu(M) + np.triu(M, 1).T, abs=1e-13)
        assert robot.bias(q, v) == pytest.approx(pin.rnea(model, data, other, v, np.zeros(4)), abs=1e-12)


def _tensor() -> np.ndarray:
    return np.array([[0.05, 0.004, -0.003], [0.004, 0.04, 0.002], [-0.003, 0.002, 0.03]])


def test_a_planar_joint_is_two_slides_and_a_turn_in_the_plane_across_its_axis(tmp_path, twin) -> None:
    robot = load(tmp_path, "planar", '<axis xyz="0 0 1"/>')
    assert robot.joint_names == ("j_x", "j_y", "j_theta", "k")
    assert robot.dof_units == ("m", "m", "rad", "rad")
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(tmp_path / "odd.urdf"))
    data = model.createData()
    q = np.array([0.3, -0.4, 0.7, 0.2])
    pin.framesForwardKinematics(model, data, np.array([0.3, -0.4, np.cos(0.7), np.sin(0.7), np.cos(0.2), np.sin(0.2)]))
    X = data.oMf[model.getFrameId("b")]
    assert robot.pose(q, "b").matrix == pytest.approx(X.homogeneous, abs=1e-14)
    v = RANDOM.normal(size=4)
    assert robot.mass_matrix(q) == pytest.approx(twin(robot).mass_matrix(q), abs=1e-13)
    assert robot.bias(q, v) == pytest.approx(twin(robot).bias(q, v), abs=1e-12)


@pytest.mark.parametrize("axis", ["1 0 0", "0 1 0", "0 0 -1", "0.6 0 0.8"])
def test_a_planar_joint_stays_in_its_plane(tmp_path, axis) -> None:
    robot = load(tmp_path, "planar", f'<axis xyz="{axis}"/>')
    place, normal = robot.pose(np.zeros(4), "a"), np.array([float(x) for x in axis.split()])
    moved = robot.pose([0.3, -0.4, 0.9, 0.0], "a")
    shift = place.rotation.T @ (moved.position - place.position)
    assert shift @ normal == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(shift) == pytest.approx(0.5)
    turned = (place.inverse() @ moved).rotation
    assert turned @ normal == pytest.approx(normal, abs=1e-15)
    assert np.trace(turned) == pytest.approx(1 + 2 * np.cos(0.9))


def test_inverse_kinematics_moves_planar_joints_and_refuses_balls(tmp_path) -> None:
    robot = load(tmp_path, "planar", '<axis xyz="0 0 1"/>')
    goal = robot.pose([0.3, -0.4, 0.7, 0.2], "b")
    assert robot.pose(robot.inverse_kinematics(goal, "b"), "b").matrix == pytest.approx(goal.matrix, abs=1e-8)
    with pytest.raises(InvalidInput, match="ball joints"):
        load(tmp_path, "spherical").inverse_kinematics([0.1, 0.2, 0.3])


@pytest.mark.parametrize("limits", ['lower="0" upper="0"', 'lower="1" upper="-1"', ""])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_limits_that_mean_none_are_a_warning_and_no_limit(tmp_path, limits, kind) -> None:
    robot = load(tmp_path, kind, f'<limit {limits} effort="1" velocity="1"/>')
    assert (robot.limits.lower[0], robot.limits.upper[0]) == (-np.inf, np.inf)
    (warning,) = robot.warnings
    assert "no limit" in warning.rule


ROW = pp.robot.DHLink(a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0.01, 0.02, 0.02))


def test_friction_may_differ_by_direction() -> None:
    """τ = friction(+) where the joint moves forward, −friction(−) where it moves back, and the bias is no energy."""
    robot = pp.Robot.from_dh([replace(ROW, friction=(1.5, 0.5)), replace(ROW, friction=(0.2, -0.3))])
    smooth = pp.Robot.from_dh([ROW, ROW])
    q = np.array([0.3, -0.8])
    for v, lost in (([1.0, 1.0], [1.5, 0.2]), ([-1.0, -1.0], [-0.5, -0.3])):
        extra = robot.inverse_dynamics(q, v, [0, 0]) - smooth.inverse_dynamics(q, v, [0, 0])
        assert extra == pytest.approx(lost, abs=1e-6)  # the far spring: 1e-6 of the bias (0.5) per rad
        a = robot.forward_dynamics(q, v, [0.4, -0.1])
        assert robot.inverse_dynamics(q, v, a) == pytest.approx([0.4, -0.1], abs=1e-9)
    # Gravity's energy and that of the constant torque; the far springs' own (1e6 times the bias) costs digits.
    assert robot.potential_energy(q) - robot.potential_energy([0, 0]) == pytest.approx(
        smooth.potential_energy(q) - smooth.potential_energy([0, 0]) + 0.5 * 0.3 + 0.05 * 0.8, abs=1e-6
    )


def test_friction_at_rest_holds_within_its_own_two_bounds() -> None:
    """A joint at rest is held by what lies between −0.5 and 1.5 N·m; beyond, it starts to move."""
    flat = pp.Robot.from_dh([replace(ROW, friction=(1.5, 0.5))]).with_gravity([0, 0, 0])
    free = pp.Robot.from_dh([ROW]).with_gravity([0, 0, 0])
    for tau, moves in ((1.4, False), (1.6, True), (-0.4, False), (-0.6, True)):
        a = flat.forward_dynamics([0.0], [0.0], [tau])[0]
        whole = free.forward_dynamics([0.0], [0.0], [tau])[0]
        assert (abs(a) > 0.01 * abs(whole)) == moves, tau


def test_losses_of_the_rotor_are_felt_through_the_gear() -> None:
    robot = pp.Robot.from_dh([replace(ROW, gear=-50, motor_damping=1e-3, motor_friction=(0.01, -0.02), damping=0.1)])
    plain = pp.Robot.from_dh([ROW])
    forward = robot.inverse_dynamics([0], [2.0], [0]) - plain.inverse_dynamics([0], [2.0], [0])
    backward = robot.inverse_dynamics([0], [-2.0], [0]) - plain.inverse_dynamics([0], [-2.0], [0])
    assert forward == pytest.approx([2 * (0.1 + 2.5) + 50 * 0.02], abs=1e-6)  # the rotor turns backward
    assert backward == pytest.approx([-2 * (0.1 + 2.5) - 50 * 0.01], abs=1e-6)


@pytest.mark.parametrize("given", [(0.01, 0.02, 0.025), (0.01, 0.02, 0.025, 0, 0, 0), np.diag([0.01, 0.02, 0.025])])
def test_a_tensor_is_three_six_or_nine_numbers_everywhere(given) -> None:
    row = replace(ROW, inertia=given)
    assert pp.Robot.from_dh([row]).mass_matrix([0])[0, 0] == pytest.approx(0.025 + 2 * 0.2**2)
    arm = pp.load_robot("iiwa14")
    whole = arm.with_payload(1.0, (0, 0, 0.1), np.diag([0.01, 0.02, 0.025]))
    assert np.array_equal(arm.with_payload(1.0, (0, 0, 0.1), given).mass_matrix(arm.home), whole.mass_matrix(arm.home))
    assert np.array_equal(
        arm.with_tool(1.0, (0, 0, 0.1), given, tip=pp.spatial.Pose.identity()).mass_matrix(arm.home),
        whole.mass_matrix(arm.home),
    )


def test_six_numbers_are_xx_yy_zz_xy_xz_yz() -> None:
    arm, six = pp.load_robot("iiwa14"), (0.03, 0.04, 0.05, 0.001, 0.002, 0.003)
    full = [[0.03, 0.001, 0.002], [0.001, 0.04, 0.003], [0.002, 0.003, 0.05]]
    a, b = (arm.with_payload(1.0, (0, 0, 0), I).mass_matrix(arm.home) for I in (six, full))
    assert np.array_equal(a, b)


def test_a_tool_without_mass_moves_the_tip_and_nothing_else() -> None:
    arm = pp.load_robot("iiwa14")
    tool = arm.with_tool(0, tip=pp.spatial.Pose([0.1, 0, 0.2], np.eye(3)), name="probe")
    assert tool.tool_frame == "probe"
    assert np.array_equal(tool.mass_matrix(arm.home), arm.mass_matrix(arm.home))
    expected = arm.pose(arm.home) @ pp.spatial.Pose([0.1, 0, 0.2], np.eye(3))
    assert tool.pose(arm.home).matrix == pytest.approx(expected.matrix, abs=1e-15)
    wrongs: tuple[dict[str, Any], ...] = (
        {"mass": 0},
        {"mass": 0, "inertia": (1, 1, 1), "tip": pp.spatial.Pose.identity()},
        {"mass": -1},
    )
    for wrong in wrongs:
        with pytest.raises(InvalidInput, match=r"mass.*greater.*0"):
            arm.with_tool(**wrong)


def test_every_fault_of_a_table_is_told_in_one_pass() -> None:
    rows = [replace(ROW, mass=0.0, inertia=(0, 0.35, 0)), replace(ROW, a=np.nan, damping=-1.0), replace(ROW, kind="x")]
    with pytest.raises(ModelError, match="the DH table of dh-arm has 5 errors") as caught:
        pp.Robot.from_dh(rows)
    message = str(caught.value)
    for words in ("DH row 1: mass must be", "row 1: inertia breaks", "DH row 2",
                  "row 2: damping", "row 3: kind", "repair=True"):  # fmt: skip
        assert words in message
    assert len(caught.value.findings) == 5

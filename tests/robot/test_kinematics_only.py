"""Files without masses: their kinematics work, what needs masses says so, and an estimate is marked as one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.errors import InvalidInput, MassesMissing
from palpate.robot.readers.check import check_model

LINK = (
    '<link name="{}"><visual><origin xyz="0 0 {}"/><geometry><cylinder radius="0.05" length="{}"/></geometry>'
    "</visual></link>"
)
JOINT = (
    '<joint name="{}" type="revolute"><origin xyz="0 0 {}"/><parent link="{}"/><child link="{}"/><axis xyz="{}"/>'
    '<limit lower="-3" upper="3" effort="50" velocity="2"/></joint>'
)
ARM = "".join(
    [
        '<robot name="bare"><link name="base"/>',
        *(LINK.format(f"l{i}", 0.2, 0.4) for i in range(1, 7)),
        '<link name="tool0"/>',
        *(
            JOINT.format(f"j{i}", 0.4, "base" if i == 1 else f"l{i - 1}", f"l{i}", "0 1 0" if i % 2 else "0.6 0 0.8")
            for i in range(1, 7)
        ),
        '<joint name="end" type="fixed"><origin xyz="0 0 0.4"/><parent link="l6"/><child link="tool0"/></joint>',
        "</robot>",
    ]
)


@pytest.fixture
def bare(tmp_path) -> Path:
    path = tmp_path / "bare.urdf"
    path.write_text(ARM)
    return path


def test_kinematics_of_a_file_without_masses_agree_with_pinocchio(bare) -> None:
    pin = pytest.importorskip("pinocchio")
    robot, model = pp.load_robot(bare), pin.buildModelFromUrdf(str(bare))
    data, random = model.createData(), np.random.default_rng(3)
    assert repr(robot) == "Robot('bare', 6 degrees of freedom, kinematics only, tool frame 'tool0')"
    for _ in range(5):
        q, v = random.uniform(-2, 2, (2, 6))
        frame = model.getFrameId("tool0")
        pin.forwardKinematics(model, data, q, v, np.zeros(6))
        pin.updateFramePlacements(model, data)
        J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
        drift = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED).vector
        assert robot.pose(q).matrix == pytest.approx(data.oMf[frame].homogeneous, abs=1e-12)
        assert robot.jacobian(q) == pytest.approx(J, abs=1e-12)
        assert robot.jacobian_drift(q, v) == pytest.approx(drift, abs=1e-10)


def test_inverse_kinematics_and_other_frames_need_no_masses(bare) -> None:
    robot = pp.load_robot(bare)
    goal = robot.pose([0.3, -0.4, 0.9, 0.2, -0.7, 0.5])
    assert robot.pose(robot.inverse_kinematics(goal)).matrix == pytest.approx(goal.matrix, abs=1e-8)
    tipped = robot.with_tool(0, tip=pp.spatial.Pose([0, 0, 0.1], np.eye(3)))
    assert np.linalg.norm(tipped.pose(robot.home).position - robot.pose(robot.home).position) == pytest.approx(0.1)
    assert robot.with_free_base().nv == 12
    assert robot.manipulability(np.full(6, 0.4)) > 0


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r, q: r.mass_matrix(q), "the mass matrix of bare"),
        (lambda r, q: r.bias(q, q), "the bias force of bare"),
        (lambda r, q: r.gravity(q), "gravity of bare"),
        (lambda r, q: r.coriolis_matrix(q, q), "the Coriolis matrix of bare"),
        (lambda r, q: r.inverse_dynamics(q, q, q), "inverse dynamics of bare"),
        (lambda r, q: r.forward_dynamics(q, q, q), "forward dynamics of bare"),
        (lambda r, q: r.kinetic_energy(q, q), "the mass matrix of bare"),
        (lambda r, q: r.potential_energy(q), "potential energy of bare"),
        (lambda r, q: r.terms(q, q), "the equation of motion of bare"),
        (lambda r, q: r.task_inertia(q), "the mass matrix of bare"),
        (lambda r, q: r.mass, "the mass of bare"),
        (lambda r, q: r.spec(), "a simulation of bare"),
        (lambda r, q: r.with_gravity([0, 0, -1.6]).gravity(q), "gravity of bare"),
        (lambda r, q: r.with_payload(1.0).mass_matrix(q), "the mass matrix of bare"),
    ],
)
def test_what_needs_masses_says_so_by_name(bare, ask, words) -> None:
    robot = pp.load_robot(bare)
    with pytest.raises(MassesMissing, match=f"{words} needs masses, .* moves with: j1, j2, j3, j4, j5, j6") as caught:
        ask(robot, robot.home)
    assert caught.value.joints == robot.unresisted
    assert "estimate_inertia" in str(caught.value)


def test_a_file_without_masses_is_usable_with_one_warning_that_says_how_far(bare) -> None:
    report = check_model(bare)
    assert not report.errors
    (warning,) = report.warnings
    assert "6 joints move" in warning.found
    assert "kinematics" in warning.rule
    assert report.robot is not None
    assert report.robot.warnings == (warning,)


def test_an_estimate_has_the_total_mass_and_the_inertia_of_its_shapes(bare) -> None:
    robot = pp.load_robot(bare, estimate_inertia=24.0)
    assert robot.mass == pytest.approx(24.0)
    m, r, l = 4.0, 0.05, 0.4
    body = robot.model.body("l3")
    assert body.mass[0] == pytest.approx(m)
    assert np.sort(body.inertia) == pytest.approx([m * r**2 / 2, *[m * (3 * r**2 + l**2) / 12] * 2], rel=1e-12)
    assert body.ipos == pytest.approx([0, 0, 0.2], abs=1e-12)
    assert np.linalg.eigvalsh(robot.mass_matrix(robot.home))[0] > 0


def test_an_estimate_is_marked_wherever_it_goes(bare) -> None:
    robot = pp.load_robot(bare, estimate_inertia=24.0)
    (warning,) = robot.warnings
    assert re.search(r"mass.*6 links.*l1 4 kg", warning.found)
    assert "no measurement" in warning.rule
    later = robot.with_payload(1.0).with_gravity([0, 0, -1.6]).with_locked({"j6": 0.1})
    assert later.warnings == robot.warnings
    assert "6 of 8 links" in (later.text("estimate") or "")
    assert later.text("provenance") == later.text("estimate")


def test_known_masses_stay_and_only_the_missing_ones_are_filled(tmp_path) -> None:
    known = '<inertial><mass value="7"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    path = tmp_path / "half.urdf"
    path.write_text(ARM.replace('<link name="l1">', f'<link name="l1">{known}'))
    robot = pp.load_robot(path, estimate_inertia=12.0)
    assert robot.model.body("l1").mass[0] == 7.0
    assert robot.model.body("l4").mass[0] == pytest.approx(1.0)
    with pytest.raises(InvalidInput, match=r"weigh 7 kg.*heavier.*6 kg"):
        pp.load_robot(path, estimate_inertia=6.0)
    with pytest.raises(InvalidInput, match=r"greater.*0"):
        pp.load_robot(path, estimate_inertia=-1.0)


def test_a_moving_link_without_any_shape_is_estimated_as_a_bar(tmp_path) -> None:
    path = tmp_path / "bars.urdf"
    path.write_text(ARM.replace("<cylinder radius", "<sphere radius").replace(' length="0.4"', "").replace(
        '<visual><origin xyz="0 0 0.2"/><geometry><sphere radius="0.05"/></geometry></visual>', ""))  # fmt: skip
    robot = pp.load_robot(path, estimate_inertia=6.0)
    body = robot.model.body("l2")
    assert body.mass[0] == pytest.approx(1.0)
    assert body.ipos == pytest.approx([0, 0, 0.2], abs=1e-12)  # half-way to the next joint


def test_an_estimate_where_nothing_is_missing_is_ignored_with_a_warning(tmp_path) -> None:
    inertial = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    path = tmp_path / "full.urdf"
    path.write_text(f'<robot name="full"><link name="a"/><link name="b">{inertial}</link>{joint}</robot>')
    robot = pp.load_robot(path, estimate_inertia=5.0)
    assert robot.mass == 1.0
    assert [warning.found for warning in robot.warnings] == ["no mass is missing"]
    (tmp_path / "m.xml").write_text("<mujoco><worldbody><body><joint/><geom size='0.1'/></body></worldbody></mujoco>")
    robot = pp.load_robot(tmp_path / "m.xml", estimate_inertia=5.0)
    assert [warning.found for warning in robot.warnings] == ["no mass is missing", "geoms that collide: 1"]


def test_one_massless_finger_leaves_kinematics_and_locking_it_gives_the_dynamics_back(tmp_path) -> None:
    inertial = '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = f'<robot name="r"><link name="base"/><link name="a">{inertial}</link><link name="f"/>'
    text += JOINT.format("j", 0.1, "base", "a", "0 0 1") + JOINT.format("finger", 0.1, "a", "f", "1 0 0") + "</robot>"
    path = tmp_path / "r.urdf"
    path.write_text(text)
    assert pp.load_robot(path).unresisted == ("finger",)
    locked = pp.load_robot(path, lock={"finger": 0.3})
    assert locked.unresisted == ()
    assert locked.mass_matrix([0.2])[0, 0] == pytest.approx(0.1, rel=1e-9)


def virtual(axes: tuple[str, str]) -> str:
    """Two turns, a massless link between them."""
    inertial = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
    return (
        f'<robot name="v"><link name="base"/><link name="between"/><link name="body">{inertial}</link>'
        + JOINT.format("first", 0.0, "base", "between", axes[0])
        + JOINT.format("second", 0.0, "between", "body", axes[1])
        + "</robot>"
    )


def test_a_massless_link_that_moves_a_body_is_taken_as_massless(tmp_path) -> None:
    path = tmp_path / "v.urdf"
    path.write_text(virtual(("0 0 1", "0 1 0")))
    robot = pp.load_robot(path)
    assert robot.mass_matrix([0.3, 0.0]) == pytest.approx(np.diag([0.25, 0.2]), abs=1e-12)
    (warning,) = robot.warnings
    assert warning.element == "link 'between'"
    assert "massless" in warning.rule


def test_a_massless_link_between_two_turns_about_one_axis_leaves_the_kinematics(tmp_path) -> None:
    """Each joint alone is resisted; turning against each other they move nothing."""
    path = tmp_path / "v.urdf"
    path.write_text(virtual(("0 0 1", "0 0 1")))
    robot = pp.load_robot(path)
    assert robot.unresisted == ("first", "second")


def test_a_base_without_mass_floats_on_what_is_fixed_to_it_and_else_it_does_not(tmp_path) -> None:
    inertial = '<inertial><mass value="2"/><inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>'
    weld = '<joint name="w" type="fixed"><parent link="base"/><child link="trunk"/></joint>'
    links = f'<link name="base"/><link name="trunk">{inertial}</link><link name="arm">{inertial}</link>'
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r">{links}{weld}{JOINT.format("j", 0.5, "trunk", "arm", "0 1 0")}</robot>')
    floating = pp.load_robot(path).with_free_base()
    assert floating.nv == 7
    assert floating.mass_matrix(floating.home)[:3, :3] == pytest.approx(4.0 * np.eye(3), abs=1e-12)
    path.write_text(
        f'<robot name="r"><link name="base"/><link name="arm">{inertial}</link>'
        f"{JOINT.format('j', 0.5, 'base', 'arm', '0 1 0')}</robot>"
    )
    with pytest.raises(InvalidInput, match=r"the base 'base'.*r.*no mass"):
        pp.load_robot(path).with_free_base()

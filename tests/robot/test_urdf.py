"""Reading URDF: the values against Pinocchio, real files, and garbled ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from palpate.errors import ModelError
from palpate.robot.mechanics.tree import Link, Tree, axis_inertias
from palpate.robot.readers.findings import Finding, refuse
from palpate.robot.readers.urdf.reader import inspect_urdf, rotation_from_rpy

TILTED = """<robot name="tilted">
  <material name="steel"><color rgba="0.5 0.6 0.7 1"/></material>
  <link name="base"><inertial>
    <mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="a">
    <inertial>
      <origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.7 1.9"/>
      <mass value="2.5"/>
      <inertia ixx="0.05" iyy="0.04" izz="0.03" ixy="0.004" ixz="-0.003" iyz="0.002"/>
    </inertial>
    <visual>
      <origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
      <geometry><box size="1 2 3"/></geometry>
      <material name="steel"/>
    </visual>
    <collision><geometry><cylinder radius="0.1" length="0.5"/></geometry></collision>
  </link>
  <link name="b"><inertial>
    <mass value="0.5"/><inertia ixx="0.01" iyy="0.02" izz="0.015" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="j1" type="revolute">
    <origin xyz="0 0.1 0.2" rpy="1.1 0.2 -0.5"/>
    <parent link="base"/><child link="a"/>
    <axis xyz="0 0.6 0.8"/>
    <limit lower="-1.5" upper="2.5" effort="10" velocity="4"/>
    <dynamics damping="0.7" friction="0.2"/>
  </joint>
  <joint name="j2" type="prismatic">
    <origin xyz="0.5 0 0" rpy="0 0.4 0"/>
    <parent link="a"/><child link="b"/>
    <limit lower="0" upper="0.3" effort="5" velocity="1"/>
    <mimic joint="j1" multiplier="0.1" offset="0.05"/>
  </joint>
  <joint name="weld" type="fixed"><origin xyz="0 0 0.1"/><parent link="b"/><child link="tip"/></joint>
</robot>
"""


def read_urdf(path: Path, package_roots: Sequence[Path] = ()) -> tuple[Tree, list[Finding]]:
    tree, findings = inspect_urdf(path, package_roots=package_roots)
    if tree is None:
        raise refuse(str(path), findings)
    return tree, findings


def write(folder: Path, text: str) -> Path:
    path = folder / "model.urdf"
    path.write_text(text, encoding="utf-8")
    return path


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rodrigues' formula."""
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def link_poses(tree: Tree, q: dict[str, float]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    poses = {tree.root: (np.eye(3), np.zeros(3))}
    waiting = list(tree.joints)
    while waiting:
        joint = waiting.pop(0)
        if joint.parent not in poses:
            waiting.append(joint)
            continue
        R, p = poses[joint.parent]
        p, R = p + R @ joint.position, R @ joint.rotation
        value = q.get(joint.name, 0.0)
        if joint.kind == "prismatic":
            p = p + R @ joint.axis * value
        elif joint.kind != "fixed":
            R = R @ turn(joint.axis, value)
        poses[joint.child] = (R, p)
    return poses


def inertia_about(point: np.ndarray, link: Link, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    arm = p + R @ link.com - point
    return R @ link.inertia @ R.T + link.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))


def assert_agrees_with_pinocchio(tree: Tree, path: Path) -> None:
    """Same pose of every link, same centre of mass and same composite inertia in random configurations."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    rng = np.random.default_rng(7)
    for _ in range(3):
        q = rng.uniform(-1, 1, model.nq)
        pin.ccrba(model, data, q, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        values = {model.names[j]: q[model.idx_qs[j]] for j in range(1, model.njoints)}
        poses = link_poses(tree, values)
        for link in tree.links:
            R, p = poses[link.name]
            X = data.oMf[model.getFrameId(link.name)]
            np.testing.assert_allclose(R, X.rotation, atol=1e-12)
            np.testing.assert_allclose(p, X.translation, atol=1e-12)
        # Pinocchio leaves out what does not move.
        still = {tree.root}
        for _ in tree.joints:
            still |= {j.child for j in tree.joints if j.parent in still and j.kind == "fixed"}
        moving = [link for link in tree.links if link.name not in still]
        mass = sum(link.mass for link in moving)
        com = sum((link.mass * (poses[link.name][1] + poses[link.name][0] @ link.com) for link in moving), np.zeros(3))
        inertia = sum((inertia_about(com / mass, link, *poses[link.name]) for link in moving), np.zeros((3, 3)))
        np.testing.assert_allclose(com / mass, data.com[0], atol=1e-12)
        np.testing.assert_allclose(inertia, data.Ig.inertia, atol=1e-12)


def test_poses_and_inertias_agree_with_pinocchio(tmp_path):
    path = write(tmp_path, TILTED)
    tree, findings = read_urdf(path)
    assert findings == []
    assert_agrees_with_pinocchio(tree, path)


@pytest.mark.parametrize("file", ["panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf"])
def test_public_robots_are_accepted_with_their_meshes(file):
    pin = pytest.importorskip("pinocchio")
    share = Path(pin.__file__).parents[4] / "share"
    path = share / "example-robot-data" / "robots" / file
    if not path.exists():
        pytest.skip("example-robot-data is not installed")
    tree, findings = read_urdf(path, package_roots=[share])
    assert {finding.level for finding in findings} <= {"warning"}
    assert not any("not found" in finding.rule for finding in findings)
    assert any(shape.kind == "mesh" for link in tree.links for shape in link.collisions)
    assert_agrees_with_pinocchio(tree, path)


def test_without_package_roots_the_meshes_are_missing_with_a_warning_only(tmp_path):
    text = TILTED.replace('<box size="1 2 3"/>', '<mesh filename="package://p/a.stl"/>')
    tree, findings = read_urdf(write(tmp_path, text))
    assert tree.links[1].visuals == ()
    assert [finding.level for finding in findings] == ["warning"]


def test_a_package_root_may_be_the_package_itself_or_hold_it(tmp_path):
    mesh = tmp_path / "share" / "p" / "a.obj"
    mesh.parent.mkdir(parents=True)
    mesh.write_text("v 0 0 0")
    (tmp_path / "model").mkdir()
    path = write(tmp_path / "model", TILTED.replace('<box size="1 2 3"/>', '<mesh filename="package://p/a.obj"/>'))
    for root in (mesh.parent, mesh.parent.parent):
        tree, findings = read_urdf(path, package_roots=[root])
        assert tree.links[1].visuals[0].mesh == str(mesh)
        assert findings == []


def test_a_mesh_the_engine_cannot_draw_is_left_out_with_a_warning(tmp_path):
    (tmp_path / "a.ply").write_text("ply")
    tree, (finding,) = read_urdf(write(tmp_path, TILTED.replace('<box size="1 2 3"/>', '<mesh filename="a.ply"/>')))
    assert tree.links[1].visuals == ()
    assert finding.level == "warning"
    assert ".stl, .obj, .msh" in finding.rule


def test_the_inertia_before_each_joint_is_the_diagonal_of_the_mass_matrix(tmp_path):
    pin = pytest.importorskip("pinocchio")
    path = write(tmp_path, TILTED)
    tree, _ = read_urdf(path)
    model = pin.buildModelFromUrdf(str(path))
    diagonal = np.diag(pin.crba(model, model.createData(), np.zeros(model.nq)))
    values = axis_inertias(tree.links, tree.joints)
    np.testing.assert_allclose([values[name] for name in list(model.names)[1:]], diagonal, rtol=1e-12)


def test_a_point_mass_on_the_axis_leaves_the_kinematics_and_beside_it_all_is_well(tmp_path):
    link = '<link name="a"><inertial><origin xyz="{}"/><mass value="1"/><inertia {}/></inertial></link>'
    zeros = " ".join(f'{name}="0"' for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    joint = '<joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>'
    text = '<robot name="r">\n<link name="base"/>\n{}\n{}</robot>'
    _, findings = read_urdf(write(tmp_path, text.format(link.format("0.5 0 0", zeros), joint)))
    assert findings == []
    _, (finding,) = inspect_urdf(write(tmp_path, text.format(link.format("0 0 0.5", zeros), joint)))
    assert (finding.level, finding.line, finding.element) == ("warning", 4, "joint 'j'")
    assert "nothing resists" in finding.found


def test_equal_limits_and_a_mimic_that_cannot_be_are_told(tmp_path):
    text = TILTED.replace('lower="0" upper="0.3"', 'lower="0.1" upper="0.1"')
    text = text.replace('<origin xyz="0 0 0.1"/>', '<mimic joint="j1"/>')
    _, findings = inspect_urdf(write(tmp_path, text))
    assert [(f.level, f.element) for f in findings] == [
        ("error", "joint 'j2' > limit"),
        ("warning", "joint 'weld' > mimic"),
    ]


def test_a_link_out_of_the_folder_is_an_escape_and_is_not_followed(tmp_path):
    (tmp_path / "secret.obj").write_text("v 0 0 0")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "a.obj").symlink_to(tmp_path / "secret.obj")
    text = TILTED.replace('<box size="1 2 3"/>', '<mesh filename="a.obj"/>')
    tree, (finding,) = read_urdf(write(tmp_path / "model", text))
    assert (finding.level, "escapes" in finding.rule) == ("warning", True)
    assert tree.links[1].visuals == ()


def test_joint_and_shape_values_are_kept(tmp_path):
    tree, _ = read_urdf(write(tmp_path, TILTED))
    j1, j2, weld = tree.joints
    assert (j1.lower, j1.upper, j1.effort, j1.velocity) == (-1.5, 2.5, 10.0, 4.0)
    assert (j1.damping, j1.friction) == (0.7, 0.2)
    np.testing.assert_allclose(j1.axis, [0, 0.6, 0.8], atol=1e-15)
    assert j2.mimic is not None
    assert (j2.mimic.joint, j2.mimic.multiplier, j2.mimic.offset) == ("j1", 0.1, 0.05)
    np.testing.assert_array_equal(j2.axis, [1, 0, 0])  # the URDF default
    assert weld.kind == "fixed"
    assert [link.name for link in tree.links] == ["base", "a", "b", "tip"]
    (box,), (cylinder,) = tree.links[1].visuals, tree.links[1].collisions
    assert (box.kind, box.size, box.rgba) == ("box", (1.0, 2.0, 3.0), (0.5, 0.6, 0.7, 1.0))
    np.testing.assert_allclose(box.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert (cylinder.kind, cylinder.size) == ("cylinder", (0.1, 0.5))


def test_rpy_turns_about_fixed_axes_in_the_order_x_y_z():
    x, y, z = np.eye(3)
    expected = turn(z, 0.9) @ turn(y, -0.4) @ turn(x, 0.2)
    np.testing.assert_allclose(rotation_from_rpy(0.2, -0.4, 0.9), expected, atol=1e-15)


def test_blocks_of_other_programs_are_left_alone(tmp_path):
    foreign = '<gazebo><anything mass="x"/></gazebo><transmission name="t"/><ros2_control name="c"/>'
    _, findings = read_urdf(write(tmp_path, TILTED.replace("</robot>", f"{foreign}</robot>")))
    assert findings == []


def test_missing_products_of_inertia_are_zero_with_a_warning(tmp_path):
    tree, (finding,) = read_urdf(write(tmp_path, TILTED.replace('ixy="0" ixz="0"', "", 1)))
    assert (finding.level, finding.line) == ("warning", 4)
    assert "has no ixy, ixz" in finding.found
    np.testing.assert_array_equal(tree.links[0].inertia, 0.1 * np.eye(3))


def test_xacro_is_never_run(tmp_path):
    text = TILTED.replace("</robot>", '<xacro:macro name="m"/></robot>').replace('"2.5"', '"${m}"', 1)
    with pytest.raises(ModelError) as caught:
        read_urdf(write(tmp_path, text))
    assert str(caught.value).count("xacro") >= 2


def test_utf16_and_a_byte_order_mark_are_read(tmp_path):
    for encoding in ("utf-16", "utf-8-sig"):
        path = tmp_path / "model.urdf"
        path.write_bytes(TILTED.encode(encoding))
        assert read_urdf(path)[0].name == "tilted"


def garbled(rng: np.random.Generator, good: bytes) -> bytes:
    """A few cuts, copies, swaps of words and wild bytes."""
    data = bytearray(good)
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(len(data)))
        end = min(len(data), start + int(rng.integers(1, 40)))
        match rng.integers(5):
            case 0:
                del data[start:end]
            case 1:
                data[start:start] = data[start:end]
            case 2:
                data[start] = int(rng.integers(256))
            case 3:
                words = [b"nan", b"-1", b"1e308", b"0", b"", b'"', b"1e-320", b"base", b"fixed", b"\0", b"&#65;"]
                data[start:start] = words[rng.integers(len(words))]
            case _:
                other = int(rng.integers(len(data)))
                data[start:end] = data[other : other + 30]
    return bytes(data)


def numbers_of(tree: Tree) -> np.ndarray:
    links = [np.r_[link.mass, link.com, link.inertia.ravel()] for link in tree.links]
    joints = [np.r_[j.position, j.rotation.ravel(), j.axis, j.damping, j.friction] for j in tree.joints]
    return np.concatenate(links + joints)


def test_a_garbled_file_gives_a_sound_tree_or_findings_and_nothing_else(tmp_path):
    rng = np.random.default_rng(20)
    good, path = TILTED.encode(), tmp_path / "model.urdf"
    refused = 0
    for _ in range(800):
        path.write_bytes(garbled(rng, good))
        tree, findings = inspect_urdf(path)
        assert (tree is None) == any(finding.level == "error" for finding in findings)
        assert "\n" not in "".join(map(str, findings))
        if tree is None:
            refused += 1
        else:
            assert np.isfinite(numbers_of(tree)).all()
            assert len({link.name for link in tree.links}) == len(tree.joints) + 1
    assert 300 < refused < 800

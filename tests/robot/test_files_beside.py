"""Where a model's files are looked for: packages, declared roots, beside an included file; never outside."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.errors import ModelError
from palpate.robot.readers.assets import find_asset
from palpate.robot.readers.check import check_model

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
URDF = """<robot name="r"><link name="a"/><link name="b">{}<visual><geometry><mesh filename="{}"{}/></geometry></visual>
  </link><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""


def stl(path: Path, size: float = 1.0) -> Path:
    """A tetrahedron of volume size³/6."""
    corners = size * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = b"".join(struct.pack("<12fH", 0, 0, 0, *corners[list(f)].ravel(), 0) for f in
                     ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)))  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", 4) + faces)
    return path


def robot_with(folder: Path, mesh: str, scale: str = "", **options) -> pp.Robot:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "r.urdf").write_text(URDF.format(INERTIAL, mesh, scale))
    return pp.load_robot(folder / "r.urdf", **options)


@pytest.mark.parametrize("name", ["package://arm_description/meshes/a.stl", "package://arm_description/../x/y/a.stl"])
def test_a_package_is_found_by_walking_up_to_the_folder_of_its_name(tmp_path, name) -> None:
    stl(tmp_path / "arm_description" / "meshes" / "a.stl")
    stl(tmp_path / "x" / "y" / "a.stl")
    robot = robot_with(tmp_path / "arm_description" / "urdf" / "old", name)
    assert robot.model.nmesh == (0 if ".." in name else 1)


def test_a_package_beside_the_way_up_is_found_too(tmp_path) -> None:
    stl(tmp_path / "ws" / "other_description" / "a.stl")
    assert robot_with(tmp_path / "ws" / "arm" / "urdf", "package://other_description/a.stl").model.nmesh == 1


def test_meshes_above_the_model_need_a_package_or_a_declared_root(tmp_path) -> None:
    stl(tmp_path / "p" / "meshes" / "a.stl")
    plain = robot_with(tmp_path / "p" / "urdf", "../meshes/a.stl")
    assert plain.model.nmesh == 0
    assert "escapes" in plain.warnings[0].rule
    assert robot_with(tmp_path / "p" / "urdf", "../meshes/a.stl", package_roots=[tmp_path / "p"]).model.nmesh == 1
    (tmp_path / "p" / "package.xml").write_text("<package/>")
    assert robot_with(tmp_path / "p" / "urdf", "../meshes/a.stl").model.nmesh == 1


@pytest.mark.parametrize(
    "mesh", ["gone.stl", "../gone.stl", "package://none/x.stl", "/gone.stl", "http://x/y.stl", "a.dae"]
)
def test_a_mesh_that_cannot_be_had_is_always_a_warning(tmp_path, mesh) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "a.dae").write_text("<COLLADA/>")
    robot = robot_with(tmp_path / "m", mesh)
    assert robot.mass_matrix([0.3])[0, 0] == pytest.approx(1.0)
    (warning,) = robot.warnings
    assert "drawn without" in warning.rule


def test_missing_meshes_are_one_line_of_a_run_and_no_warning(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    looks = "".join(f'<visual><geometry><mesh filename="{k}.dae"/></geometry></visual>' for k in range(5))
    Path("r.urdf").write_text(URDF.format(INERTIAL + looks, "gone.stl", ""))
    Path("s.toml").write_text(
        'name="s"\n[robot]\nmodel="r.urdf"\ntool_frame="b"\n[control]\nlaw="passive"\n[run]\nduration=0.01'
    )
    assert main(["run", "s.toml", "--no-report", "--strict", "--out", "o"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"remark: r\.urdf: 6 meshes.*cannot be.*\('0\.dae', '1\.dae' and 4 more\)", shown)
    assert shown.count(".urdf") == 1
    assert pp.load_trace("o/trace.parquet").warnings == ()
    assert len(check_model("r.urdf").warnings) >= 6  # each with its line


@pytest.mark.parametrize(
    ("scale", "size"), [(' scale="0.5"', (0.5,) * 3), (' scale="1 2 3"', (1, 2, 3)), ("", (1,) * 3)]
)
def test_a_mesh_is_scaled_by_one_number_or_three(tmp_path, scale, size) -> None:
    stl(tmp_path / "a.stl")
    (tmp_path / "r.urdf").write_text(URDF.format(INERTIAL, "a.stl", scale))
    report = check_model(tmp_path / "r.urdf")
    assert report.tree is not None
    assert report.tree.links[1].visuals[0].size == pytest.approx(size)
    assert not report.findings


def test_an_address_never_leads_out_of_the_allowed_folders(tmp_path) -> None:
    secret, home = stl(tmp_path / "secret.stl"), tmp_path / "a" / "b"
    home.mkdir(parents=True)
    (home / "link.stl").symlink_to(secret)
    for name in ("../../secret.stl", str(secret), f"file://{secret}", "package://b/../../secret.stl", "link.stl",
                 "package://../secret.stl", "package:///../../secret.stl", "model://a/../secret.stl"):  # fmt: skip
        assert find_asset(name, home).path is None, name
    assert find_asset("package://a/../secret.stl", home, [tmp_path]).path == secret.resolve()


MJCF = '<mujoco>{}<worldbody><body><joint/><geom type="mesh" mesh="a"/></body></worldbody></mujoco>'


@pytest.mark.parametrize(
    ("main", "inner", "chosen"),
    [
        ('<include file="sub/i.xml"/>', '<mesh name="a" file="own.stl"/>', "sub/own.stl"),
        ('<include file="sub/i.xml"/>', '<mesh name="a" file="../geo/up.stl"/>', "geo/up.stl"),
        ('<include file="sub/i.xml"/>', '<mesh name="a" file="both.stl"/>', "both.stl"),
        ('<compiler meshdir="geo"/><include file="sub/i.xml"/>', '<mesh name="a" file="up.stl"/>', "geo/up.stl"),
    ],
)
def test_an_included_file_names_its_meshes_as_mujoco_takes_them(tmp_path, main, inner, chosen) -> None:
    sizes = {"both.stl": 1.0, "sub/both.stl": 2.0, "sub/own.stl": 3.0, "geo/up.stl": 4.0}
    for name, size in sizes.items():
        stl(tmp_path / name, size)
    (tmp_path / "sub" / "i.xml").write_text(f"<mujoco><asset>{inner}</asset></mujoco>")
    (tmp_path / "main.xml").write_text(MJCF.format(main))
    robot = pp.load_robot(tmp_path / "main.xml")
    assert robot.mass == pytest.approx(1000 * sizes[chosen] ** 3 / 6, rel=1e-5)


def test_a_missing_mesh_of_mjcf_is_a_warning_unless_a_body_weighs_by_it(tmp_path) -> None:
    asset, path = '<asset><mesh name="a" file="gone.stl"/></asset>', tmp_path / "m.xml"
    path.write_text(MJCF.format(asset))
    (error,) = check_model(path).errors
    assert "body's mass" in error.rule
    with pytest.raises(ModelError, match=r"mass.*computed"):
        pp.load_robot(path)
    weighed = "<joint/><inertial pos='0 0 0.1' mass='2' diaginertia='0.1 0.1 0.1'/>"
    path.write_text(MJCF.format(asset).replace("<joint/>", weighed))
    robot = pp.load_robot(path)
    assert robot.mass == 2.0
    (warning,) = robot.warnings
    assert "found; drawn without" in warning.rule


def test_a_mesh_folder_above_an_mjcf_model_needs_a_declared_root(tmp_path) -> None:
    stl(tmp_path / "assets" / "a.stl", 2.0)
    (tmp_path / "xml").mkdir()
    path = tmp_path / "xml" / "m.xml"
    path.write_text(MJCF.format('<compiler meshdir="../assets"/><asset><mesh name="a" file="a.stl"/></asset>'))
    assert check_model(path).errors
    assert pp.load_robot(path, package_roots=[tmp_path]).mass == pytest.approx(1000 * 8 / 6, rel=1e-5)

"""COLLADA meshes of a URDF: triangles in metres, colours of the file or of the URDF, one line without the library."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from palpate.robot import load_robot
from palpate.robot.mechanics.tree import Mesh
from palpate.robot.readers.guarded import CompileLimits
from palpate.robot.readers.urdf import collada
from palpate.robot.readers.urdf.collada import read_collada
from palpate.robot.readers.urdf.reader import inspect_urdf

PUBLIC = Path(mujoco.__file__).parents[1] / "cmeel.prefix" / "share" / "example-robot-data" / "robots"

_EFFECT = """<effect id="{name}-fx"><profile_COMMON><technique sid="common"><lambert><diffuse>
  <color>{rgba}</color></diffuse></lambert></technique></profile_COMMON></effect>"""


def dae(nodes: str = "", unit: float = 0.01, colour: str = "0.1 0.2 0.3 1") -> str:
    """A tetrahedron with two painted faces and two without a material, 1 unit long, raised by 2 units."""
    material = '<instance_material symbol="paint" target="#paint"/>'
    bind = f"<bind_material><technique_common>{material}</technique_common></bind_material>"
    placed = f'<translate>0 0 2</translate><instance_geometry url="#g">{bind}</instance_geometry>'
    return f"""<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="{unit}"/><up_axis>Z_UP</up_axis></asset>
<library_effects>{_EFFECT.format(name="paint", rgba=colour)}</library_effects>
<library_materials><material id="paint"><instance_effect url="#paint-fx"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
  <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
    <technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
    <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <triangles count="2" material="paint"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3</p></triangles>
  <polylist count="2"><input semantic="VERTEX" source="#v" offset="0"/><vcount>3 3</vcount><p>1 2 3 0 3 2</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n">{placed}</node>{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def urdf(folder: Path, meshes: int = 1) -> Path:
    paint = '<material name="m"><color rgba="1 0 0 1"/></material>'
    look = f'<visual><geometry><mesh filename="{{k}}.dae" scale="2 2 2"/></geometry>{paint}</visual>'
    looks = "".join(look.format(k=k) for k in range(meshes))
    text = f"""<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{looks}</link>
      <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
    (folder / "r.urdf").write_text(text)
    return folder / "r.urdf"


def test_triangles_are_in_metres_where_the_files_scene_puts_them(tmp_path: Path) -> None:
    (tmp_path / "0.dae").write_text(dae())
    path = tmp_path / "0.dae"
    (painted, first), (plain, second) = read_collada([path])[path].parts
    assert painted == (0.1, 0.2, 0.3, 1.0)
    assert plain is None
    corners = np.concatenate([first.vertices[first.faces], second.vertices[second.faces]])
    assert corners.shape == (4, 3, 3)
    assert np.ptp(corners.reshape(-1, 3), axis=0) == pytest.approx([0.01, 0.01, 0.01])
    assert corners[..., 2].min() == pytest.approx(0.02)
    # Faces of a closed body look outwards: the divergence theorem gives its volume, 1/6 of a cube.
    assert np.linalg.det(corners).sum() / 6 == pytest.approx(1e-6 / 6)


def test_a_files_own_colour_wins_and_the_urdfs_stands_where_it_has_none(tmp_path: Path) -> None:
    (tmp_path / "0.dae").write_text(dae())
    tree, findings = inspect_urdf(urdf(tmp_path))
    assert tree is not None
    assert findings == []
    shapes = next(link for link in tree.links if link.name == "arm").visuals
    assert [shape.rgba for shape in shapes] == [(0.1, 0.2, 0.3, 1.0), (1.0, 0.0, 0.0, 1.0)]
    assert all(isinstance(shape.mesh, Mesh) for shape in shapes)
    model = load_robot(tmp_path / "r.urdf").model
    assert model.nmesh == 2
    np.testing.assert_allclose(model.geom_rgba, [[0.1, 0.2, 0.3, 1.0], [1.0, 0.0, 0.0, 1.0]], atol=1e-6)


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="example-robot-data is not installed")
def test_a_link_of_the_panda_is_as_large_as_the_stl_of_its_maker() -> None:
    folder = PUBLIC / "panda_description" / "meshes"
    path = folder / "visual" / "link1.dae"
    cloud = np.concatenate([part.vertices for _, part in read_collada([path])[path].parts])
    spec = mujoco.MjSpec()
    spec.add_mesh(name="m", file=str(folder / "collision" / "link1.stl"))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")
    model = spec.compile()
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[0])
    hull = model.mesh_vert @ rotation.reshape(3, 3).T + model.mesh_pos[0]
    np.testing.assert_allclose([cloud.min(0), cloud.max(0)], [hull.min(0), hull.max(0)], atol=6e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [("<COLLADA/>", "cannot be read as COLLADA"), ("no xml", "cannot be read as COLLADA")],
)
def test_what_is_no_mesh_is_left_out_and_told(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "0.dae").write_text(text)
    tree, (finding,) = inspect_urdf(urdf(tmp_path))
    assert tree is not None
    assert said in str(finding)
    assert not any(link.visuals for link in tree.links)


def test_a_file_that_never_ends_is_stopped(tmp_path: Path, monkeypatch) -> None:
    """Each node holds the next one twice: forty of them are 10¹² empty nodes."""
    twice = "".join(
        f'<node id="a{k}"><instance_node url="#a{k + 1}"/><instance_node url="#a{k + 1}"/></node>' for k in range(40)
    )
    library = f"<library_nodes>{twice}<node id='a40'/></library_nodes>"
    text = dae('<node id="top"><instance_node url="#a0"/></node>')
    (tmp_path / "0.dae").write_text(text.replace("<library_visual_scenes>", f"{library}<library_visual_scenes>"))
    monkeypatch.setattr(collada, "_LIMITS", CompileLimits(seconds=2.0, patience=30.0))
    problem = read_collada([tmp_path / "0.dae"])[tmp_path / "0.dae"].problem
    assert problem is not None
    assert "could not be read" in problem

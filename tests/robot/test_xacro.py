"""xacro: a program, run on request only, alone and within limits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import palpate as pp
from palpate.errors import ModelError
from palpate.robot.readers.check import check_model
from palpate.robot.readers.guarded import CompileLimits

TEXT = """<?xml version="1.0"?>
<robot name="made" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:property name="m" value="$(arg mass)"/>
  <xacro:macro name="inertial" params="m"><inertial><mass value="${m}"/>
    <inertia ixx="${m/10}" iyy="${m/10}" izz="${m/20}" ixy="0" ixz="0" iyz="0"/></inertial></xacro:macro>
  <link name="base"/><link name="arm"><xacro:inertial m="${m}"/></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>"""


@pytest.fixture
def made(tmp_path) -> Path:
    path = tmp_path / "made.urdf.xacro"
    path.write_text(TEXT)
    return path


def test_a_xacro_file_is_not_run_unasked(made) -> None:
    report = check_model(made)
    assert any(re.search(r"xacro.*request", error.rule) and "--xacro" in error.hint for error in report.errors)
    with pytest.raises(ModelError, match="xacro"):
        pp.load_robot(made)


def test_without_the_package_the_answer_says_how_to_get_it(made, monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"xacro.*not installed.*palpate\[xacro\]"):
        pp.load_robot(made, xacro=True)


def test_on_request_a_xacro_file_is_expanded_with_its_arguments(made) -> None:
    pytest.importorskip("xacro")
    assert pp.load_robot(made, xacro=True).mass_matrix([0.0])[0, 0] == pytest.approx(0.1)
    assert pp.load_robot(made, xacro={"mass": "6"}).mass == 6.0


def test_packages_are_found_for_includes_and_meshes(tmp_path) -> None:
    pytest.importorskip("xacro")
    folder = tmp_path / "arm_description" / "urdf"
    folder.mkdir(parents=True)
    (folder.parent / "package.xml").write_text("<package/>")
    (folder / "inner.xacro").write_text(TEXT)
    outer = '<robot name="outer" xmlns:xacro="http://www.ros.org/wiki/xacro">{}</robot>'
    (folder / "outer.xacro").write_text(
        outer.format('<xacro:include filename="$(find arm_description)/urdf/inner.xacro"/>')
    )
    assert pp.load_robot(folder / "outer.xacro", xacro=True).mass == 2.0
    (folder / "lost.xacro").write_text(outer.format('<xacro:include filename="$(find gone)/x.xacro"/>'))
    with pytest.raises(ModelError, match="no package 'gone': declare"):
        pp.load_robot(folder / "lost.xacro", xacro=True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("${m/10}", "${m/}", "cannot be expanded"),
        ("$(arg mass)", "$(arg size)", "cannot be expanded"),
        ('name="made"', 'name="made"><', "cannot be expanded"),
        ("${m/20}", "${-m}", "negative eigenvalue"),
        ("$(arg mass)", "$(env HOME)", "environment variable"),
    ],
)
def test_a_broken_xacro_file_is_told(made, old, new, words) -> None:
    pytest.importorskip("xacro")
    made.write_text(TEXT.replace(old, new))
    with pytest.raises(ModelError, match=words):
        pp.load_robot(made, xacro=True)


def test_a_xacro_file_that_never_ends_is_stopped(made) -> None:
    pytest.importorskip("xacro")
    made.write_text(TEXT.replace("${m/20}", "${len([x for x in range(10**12)])}"))
    report = check_model(made, xacro=True, limits=CompileLimits(seconds=1.0))
    (error,) = report.errors
    assert "stopped" in error.found or "memory" in error.found.lower()


def test_a_xacro_file_cannot_write(made, tmp_path) -> None:
    pytest.importorskip("xacro")
    made.write_text(TEXT.replace("${m/20}", "${open('%s', 'w').write('x')}" % (tmp_path / "evil")))
    with pytest.raises(ModelError):
        pp.load_robot(made, xacro=True)
    assert not (tmp_path / "evil").exists() or not (tmp_path / "evil").read_text()

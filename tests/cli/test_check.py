"""`palpate check` as a user meets it."""

from __future__ import annotations

import argparse
import json
import re

import pytest

from palpate.cli.check import add_parser
from palpate.errors import InvalidInput, UnknownName

BAD = """<robot name="r">
  <link name="base"/>
  <link name="[red]a[/red]&#x202e;">
    <inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial>
    <oddity/>
  </link>
  <joint name="j" type="continuous"><parent link="base"/><child link="[red]a[/red]&#x202e;"/></joint>
</robot>
"""


def palpate(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    args = parser.parse_args(["check", *words])
    return args.run(args)


def test_errors_and_warnings_are_printed_apart_with_exit_code_2(tmp_path, capsys):
    path = tmp_path / "bad.urdf"
    path.write_text(BAD)
    assert palpate(str(path)) == 2
    out = capsys.readouterr().out
    errors, warnings = out.split("warnings:")
    assert errors.startswith("errors:")
    assert f"{path}:5: error" in errors
    assert f"{path}:6: warning" in warnings
    assert "1 error, 1 warning" in warnings
    assert "[red]a[/red]\\u202e" in errors
    assert "\u202e" not in out


def test_a_repair_leaves_only_the_warning(tmp_path, capsys):
    path, out = tmp_path / "bad.urdf", tmp_path / "good.urdf"
    path.write_text(BAD)
    assert palpate(str(path), "--repair", str(out)) == 0
    text = capsys.readouterr().out
    assert "repaired 1" in text
    assert "0.01 0.01 0.05 0 0 0 → 0.025" in text
    assert "0 errors, 1 warning; 2 links, 1 joints, 1 dof, 1 kg" in text
    assert out.exists()


def test_json_carries_every_field(tmp_path, capsys):
    path = tmp_path / "bad.urdf"
    path.write_text(BAD)
    assert palpate(str(path), "--json") == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["format"], answer["usable"]) == ("urdf", False)
    fields = {"level", "file", "line", "element", "found", "rule", "hint"}
    assert [set(finding) for finding in answer["findings"]] == [fields, fields]


def test_a_catalogue_name_is_checked_under_its_own_name(capsys):
    assert palpate("iiwa14") == 0
    assert capsys.readouterr().out.startswith("iiwa14: 0 errors, 0 warnings; 8 links")


def test_a_wrong_name_lists_the_nearest():
    with pytest.raises(UnknownName, match="mean 'iiwa14'"):
        palpate("iiwa15")


def test_a_missing_file_ends_with_exit_code_2(tmp_path, capsys):
    assert palpate(str(tmp_path / "none.urdf")) == 2
    assert "file not found" in capsys.readouterr().out


BARE = """<robot name="bare"><link name="base"/>
  <link name="a"><visual><geometry><box size="0.1 0.1 0.4"/></geometry></visual></link>
  <link name="left"><visual><geometry><box size="0.1 0.1 0.4"/></geometry></visual></link><link name="right"/>
  <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
  <joint name="f" type="fixed"><parent link="a"/><child link="left"/></joint>
  <joint name="g" type="continuous"><parent link="a"/><child link="right"/></joint></robot>
"""


def test_a_file_without_masses_is_said_to_be_kinematics_only(tmp_path, capsys):
    path = tmp_path / "bare.urdf"
    path.write_text(BARE)
    assert palpate(str(path)) == 0
    out = capsys.readouterr().out
    assert re.search(r"2.*no inertia: 'j', 'g'", out)
    assert "0 errors, 2 warnings; 4 links, 2 joints, 2 dof, kinematics only" in out
    assert "joints ends; also there: left" in out


def test_estimate_and_lock_are_options_and_leave_their_mark(tmp_path, capsys):
    path = tmp_path / "bare.urdf"
    path.write_text(BARE)
    assert palpate(str(path), "--estimate-inertia", "8", "--lock", "g=0.2", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["dynamics"], answer["estimated"], answer["summary"]["dof"]) == ("known", True, 1)
    assert answer["tool_frame"]["reason"] == "where the longest chain of joints ends"
    assert palpate(str(path), "--estimate-inertia", "8") == 0
    assert "8 kg (estimated)" in capsys.readouterr().out
    with pytest.raises(InvalidInput, match="--lock takes JOINT=VALUE, got 'g'"):
        palpate(str(path), "--lock", "g")
    with pytest.raises(UnknownName, match="unknown joint 'h'"):
        palpate(str(path), "--lock", "h=1")


def test_xacro_is_run_only_with_its_option(tmp_path, capsys):
    pytest.importorskip("xacro")
    path = tmp_path / "made.xacro"
    path.write_text(
        '<robot name="m" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="n" default="a"/>'
        '<link name="base"/><link name="$(arg n)"/>'
        '<joint name="j" type="continuous"><parent link="base"/><child link="$(arg n)"/></joint></robot>'
    )
    assert palpate(str(path)) == 2
    assert "--xacro" in capsys.readouterr().out
    assert palpate("--xacro", str(path)) == 0
    assert palpate(str(path), "--xacro-arg", "n:=tool0") == 0
    assert "tool frame: tool0" in capsys.readouterr().out
    with pytest.raises(InvalidInput, match="NAME:=VALUE"):
        palpate(str(path), "--xacro-arg", "n=tool0")

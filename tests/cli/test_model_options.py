"""How a model file is to be taken, said on the command line: the same words for every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from palpate.cli.main import main
from palpate.trace import load_trace

BARE = """<robot name="bare"><link name="base"/>
  <link name="a"><visual><geometry><mesh filename="package://shapes/a.stl"/></geometry></visual>
    <collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision></link>
  <link name="b"><collision><geometry><box size="0.1 0.1 0.4"/></geometry></collision></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
  <joint name="k" type="continuous"><origin xyz="0 0 0.4"/><parent link="a"/><child link="b"/></joint></robot>
"""
SCENARIO = """name = "x"
[robot]
model = "arm.urdf"
[control]
law = "joint-impedance"
stiffness = 20.0
damping = 4.0
[run]
duration = 0.01
"""
XACRO = """<robot name="made" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arg name="far" default="0.1"/>
  <link name="base"/><link name="tip"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
  iyz="0"/></inertial></link><joint name="j" type="continuous"><origin xyz="$(arg far) 0 0"/><parent link="base"/>
  <child link="tip"/></joint></robot>
"""
OPTIONS = ["--estimate-inertia", "8", "--lock", "k=0.3", "--tool", "a"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _with_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(BARE)
    Path("s.toml").write_text(SCENARIO)


def test_a_run_takes_the_model_options_and_keeps_the_robots_warnings(capsys: Capture) -> None:
    assert main(["run", "s.toml", "--no-report", *OPTIONS]) == 0
    said = capsys.readouterr().out
    trace = load_trace("runs/x-1/trace.parquet")
    assert trace["q"].shape[1] == 1
    assert any("estimated" in warning for warning in trace.warnings)
    assert any("a.stl" in remark and "warning" not in remark for remark in trace.facts.remarks)
    assert all(f"warning: {warning}" in said for warning in trace.warnings)
    robot = (trace.facts.scenario or {})["robot"]
    assert (robot["estimate_inertia"], robot["lock"], robot["tool_frame"]) == (8.0, {"k": 0.3}, "a")
    assert main(["run", "s.toml", "--no-report", "--strict", *OPTIONS]) == 3


def test_a_run_without_the_options_says_what_is_missing(capsys: Capture) -> None:
    assert main(["run", "s.toml", "--no-report"]) == 2
    assert "needs masses" in capsys.readouterr().err


def test_design_takes_them_and_tells_the_robots_warnings(capsys: Capture) -> None:
    assert main(["design", "s.toml", *OPTIONS]) == 3
    said = capsys.readouterr().out
    assert "estimated" in said
    assert "warning: arm.urdf" in said.replace(str(Path.cwd()) + "/", "")


def test_packages_on_the_command_line_are_counted_from_where_it_is_typed(capsys: Capture) -> None:
    Path("meshes/shapes").mkdir(parents=True)
    Path("meshes/shapes/a.stl").write_bytes(b"\0" * 84)
    Path("below").mkdir()
    Path("s.toml").rename("below/s.toml")
    Path("arm.urdf").rename("below/arm.urdf")
    assert main(["run", "below/s.toml", "--no-report", *OPTIONS, "--package", "meshes"]) == 0
    assert "0 faces" in capsys.readouterr().out


def test_show_takes_a_tool_frame(capsys: Capture) -> None:
    assert main(["show", "arm.urdf", *OPTIONS]) == 0
    assert "tool frame" in (said := capsys.readouterr().out)
    assert "a" in said.split("tool frame")[1].split("\n")[0]


def test_xacro_arguments_reach_the_robot_of_a_scenario(capsys: Capture) -> None:
    pytest.importorskip("xacro")
    Path("arm.urdf.xacro").write_text(XACRO)
    Path("s.toml").write_text(SCENARIO.replace("arm.urdf", "arm.urdf.xacro"))
    assert main(["run", "s.toml", "--no-report", "--xacro-arg", "far:=0.7"]) == 0
    assert load_trace("runs/x-1/trace.parquet")["tool_position"][0, 0] == pytest.approx(0.7)
    assert main(["run", "s.toml", "--no-report", "--xacro"]) == 0
    assert load_trace("runs/x-2/trace.parquet")["tool_position"][0, 0] == pytest.approx(0.1)


def test_a_lock_that_is_no_number_is_refused(capsys: Capture) -> None:
    assert main(["run", "s.toml", "--lock", "k"]) == 2
    assert "--lock takes JOINT=VALUE, got 'k'" in capsys.readouterr().err

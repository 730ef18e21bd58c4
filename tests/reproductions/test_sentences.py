"""Sentences about runs, each asked for with the command or call at which it once was false."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.reproductions.tip_spring import TipSpring

import palpate as pp
from palpate.cli.main import main
from palpate.run.assemble.assemble import assemble
from palpate.run.before.checks import Prediction, check_start
from palpate.run.build import build


def foretold(name: str, *changes: str) -> Prediction:
    """All that is said of a run before its first step."""
    return check_start(assemble(build(pp.load_scenario(name, list(changes)))))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scenarios that `palpate new` writes for two arms."""
    folder = tmp_path_factory.mktemp("new")
    for robot in ("ur5e", "xarm7"):
        assert main(["new", str(folder / robot), "--robot", robot]) == 0
    return folder


# ---------------------------------------------------------------------------------------------- predictions


def test_design_says_how_much_delay_the_first_scenario_bears(capsys: pytest.CaptureFixture[str]) -> None:
    """By its poles 19 ms; dry friction holds it up to about 22 ms, and at 24 ms it shakes."""
    assert main(["design", "panda-wall"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"world.driver.delay: stable up to 19 ticks .* quiet at 2[123], not quiet at 2[45]\.", out)
    assert "any delay" not in out


def test_an_unstable_arm_is_not_called_stable_in_the_next_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "panda-wall", "--set", "world.driver.delay=24"]) == 3
    out = capsys.readouterr().out
    assert "UNSTABLE" in out
    assert "shakes on" in out
    assert "Stable:" not in out


def test_a_contact_that_sticks_is_asked_beside_one_that_slides(started: Path) -> None:
    """The wrist of this arm hums at 56 Hz for ever; with a surface without friction it is quiet."""
    changes = ["control={law='direct-force'}", "robot.joints=ideal", "world.surfaces.wall.stiffness=51693"]
    changes += ["world.surfaces.wall.damping=4.55", "world.driver={delay=3,cutoff=100.0}", "world.sensors.delay=1"]
    changes += ["run.timestep=0.0005", "metrics={}"]
    scenario, smooth = str(started / "ur5e.toml"), "world.surfaces.wall.friction=0"
    humming, quiet = (pp.run.design(pp.load_scenario(scenario, [*changes, *more]), limits=False)
                      for more in ([], [smooth]))  # fmt: skip
    assert humming.stable is False
    assert humming.asked is not None
    assert humming.asked.worst is not None
    assert "sticks" in humming.asked.worst.state
    assert humming.course[0] == "shakes"
    assert quiet.course[0] == "quiet"


def test_a_loop_that_shakes_at_another_posture_only_is_warned_of(started: Path) -> None:
    """Joints 1 and 3 become parallel there, and a push lets the elbow shake: nothing of it is seen at the start."""
    changes = [
        "control={law='hybrid-force'}",
        "world.surfaces.wall.stiffness=6406",
        "world.driver={delay=4,cutoff=100}",
    ]
    answer = pp.run.design(pp.load_scenario(str(started / "xarm7.toml"), changes), limits=False)
    assert answer.asked is not None
    assert answer.asked.moments[0].poles.stable
    assert answer.whole_push in ("shakes", "ends")
    assert answer.verdict in answer.warnings


def test_a_law_that_does_not_follow_the_tools_line_is_not_foretold_to_press_with_it() -> None:
    """The joints stay: "150 N on 'wall'" was the force of a tool that follows the line."""
    said = foretold("panda-wall", "control.law=joint-impedance")
    assert said.warnings == []
    assert not [text for text in said.expected if "pressing" in text]


# ---------------------------------------------------------------------------------------------- causes


@pytest.mark.parametrize(
    ("changes", "percent", "cause"),
    [
        (["world.plant.joint_friction=5"], 39, "friction of the joints (up to 5 N·m, joint1)"),
        (["world.attachments=[{mass=3,attach=0.02}]"], 92, "load 'payload' of 3 kg"),
        (["world.gravity=[0,-9.81,0]"], 42, "the world's gravity of (0, -9.81, 0) m/s²"),
        (["run.rate=50"], 15, "a control period of 20 ms (with 2 ms)"),
    ],
)
def test_a_bound_is_passed_for_the_reason_that_was_put_in(changes: list[str], percent: float, cause: str) -> None:
    """All four once ended in "torques are held for 1 ms"; a shorter period helps the last one alone."""
    warnings = pp.simulate(pp.load_scenario("planar3-stop", changes)).warnings
    (text,) = [each for each in warnings if "acceleration bound" in each]
    assert f"by {percent} %" in text
    assert text.endswith(f"; it is kept without {cause}")


def test_a_driver_and_the_friction_that_it_leaves_are_both_named() -> None:
    warnings = pp.simulate(pp.load_scenario("panda-stop", ["world.driver.preset=libfranka"])).warnings
    for text in warnings:
        assert "cause not found" not in text


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("iiwa14-pole", "run.duration=5.5"),  # 0.3 s after the pole was flicked
        ("ur5e-3link-fall", "world.gravity=[0,0,-1.62]"),  # nothing is controlled: there is no model to differ
        ("pendulum", "world.gravity=[0,0,-1.62]"),
    ],
)
def test_a_sound_run_is_not_warned_of(name: str, change: str) -> None:
    assert pp.simulate(pp.load_scenario(name, [change, "metrics={}"])).warnings == ()


def test_a_law_of_the_position_alone_promises_no_orientation() -> None:
    run = build(pp.load_scenario("panda-wall", ["metrics={}", "robot.joints=ideal"]))
    trace = pp.simulate(replace(run, law=TipSpring(), scenario=None))
    (text,) = [each for each in trace.warnings if "not keep" in each]
    assert "mrad" not in text


# ---------------------------------------------------------------------------------------------- warnings and notes


def test_what_is_printed_as_a_warning_is_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A rate limit that changed a few commands is a remark, in the terminal and in the trace."""
    words = ["run", "panda-slide", "--strict", "--no-report", "--out", str(tmp_path / "a")]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "warning:" not in out
    assert "remark: the torque-rate limit changed" in out
    trace = pp.load_trace(tmp_path / "a" / "trace.parquet")
    assert trace.warnings == ()
    assert any("torque-rate limit" in text for text in trace.facts.remarks)


def test_a_sound_urdf_with_collision_shapes_is_no_warning(tmp_path: Path) -> None:
    """Every real one has them; that only a point of the arm touches the wall is a note."""
    (tmp_path / "arm.urdf").write_text(_ARM)
    assert main(["new", str(tmp_path / "mine"), "--robot", str(tmp_path / "arm.urdf"), "--tool", "tip"]) == 0
    words = [str(tmp_path / "mine.toml"), "--set", "metrics={}"]
    assert main(["design", *words]) == 0
    assert main(["run", *words, "--strict", "--no-report", "--out", str(tmp_path / "a")]) == 0
    trace = pp.load_trace(tmp_path / "a" / "trace.parquet")
    assert sum("contact geometry" in text for text in trace.facts.remarks) == 1


_LINK = """<link name="{0}"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
<inertia ixx="0.03" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.04" length="0.3"/></geometry></collision></link>"""
_JOINT = """<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 {3}"/>
<axis xyz="{4}"/><limit lower="-2.5" upper="2.5" effort="100" velocity="3"/></joint>"""
_CHAIN = ("base", "one", "two", "three", "four", "five", "hand")
_AXES = ("0 0 1", "0 1 0", "0 1 0", "0 0 1", "0 1 0", "0 0 1")
_ARM = (
    '<robot name="arm"><link name="base"/>'
    + "".join(_LINK.format(name) for name in _CHAIN[1:])
    + "".join(
        _JOINT.format(f"j{i + 1}", _CHAIN[i], _CHAIN[i + 1], 0.0 if i == 0 else 0.3 if i < 4 else 0.1, axis)
        for i, axis in enumerate(_AXES)
    )
    + '<link name="tip"/><joint name="end" type="fixed"><parent link="hand"/><child link="tip"/>'
    + '<origin xyz="0 0 0.4"/></joint></robot>'
)


@pytest.mark.parametrize(
    ("changes", "passed", "code"),
    [
        (["reference.wrench=[0,0,0,0,0,0]"], None, 3),  # no force is desired: there is nothing to judge
        (["world.surfaces.wall.position=[2,0,0]"], False, 1),  # it could have touched, and did not
    ],
)
def test_a_bound_whose_metric_does_not_apply_is_neither_kept_nor_broken(
    changes: list[str], passed: bool | None, code: int, tmp_path: Path
) -> None:
    words = [word for change in changes for word in ("--set", change)]
    words += ["--set", "metrics={force_steady_error={most=5},first_contact={most=3}}", "--set", "robot.joints=ideal"]
    out = tmp_path / "a"
    assert main(["run", "panda-wall", *words, "--strict", "--no-report", "--out", str(out)]) == code
    results = json.loads((out / "metrics.json").read_text())
    assert results["force_steady_error" if passed is None else "first_contact"]["passed"] is passed


@pytest.mark.parametrize("name", ["ur5e-admittance-euler", "ur5e-admittance-quaternion"])
def test_the_euler_angles_of_a_compliant_frame_do_not_jump(name: str) -> None:
    """The desired φ is near π, where an angle between −π and π jumps by a whole turn."""
    angles = pp.simulate(pp.load_scenario(name, ["metrics={}"]))["law.compliant_euler"]
    assert np.abs(angles[:, 0]).max() > 3.0
    assert np.abs(np.diff(angles[1:], axis=0)).max() < 0.1

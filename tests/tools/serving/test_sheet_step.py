"""A step of a commissioning sheet as a drive: what of the sheet limits it, and what it is compared with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tools.serving.test_drive import WALL, Standing

from palpate.cli.main import main
from palpate.errors import FileError, InvalidInput, NotApplicable
from palpate.run.build import build
from palpate.run.simulate import simulate_quietly
from palpate.scenario.model import Scenario
from palpate.tools.exporting.writing.manifest import NAME, sealed
from palpate.tools.serving.drive import Drive, limits_of
from palpate.tools.serving.sheet_step import read_step

STEPS = [
    {"title": "Hold in air, 10 % stiffness", "touches": False, "moves": False, "stiffness": 0.1, "speed": 1.0,
     "seconds": 2.0, "whole": 2.0, "runs": 3, "ended": {}, "friction": 9.0,
     "bands": {"tool error, largest, mm": [0.0, 0.1], "force, largest, N": [0.0, 0.0]},
     "end_above": {"force": 14.0, "tool_error": 0.005}},
    {"title": "Contact", "touches": True, "moves": True, "stiffness": 1.0, "speed": 1.0, "seconds": 5.0, "whole": 5.0,
     "runs": 0, "ended": {"as the scenario": "stopped"}, "friction": 0.0, "bands": {},
     "end_above": {"force": 5.0, "tool_error": 0.005}},
]  # fmt: skip


def exported(folder: Path, scenario: Scenario = WALL, **changes: Any) -> Path:
    """A folder with what a drive reads of an export."""
    content = {"kind": "palpate export", "files": {}, "scenario": scenario.as_data(), "commissioning": STEPS}
    (folder / NAME).write_text(sealed(content | changes))
    return folder


def test_a_step_is_softer_in_air_and_ends_where_the_sheet_says(tmp_path: Path):
    step = read_step(exported(tmp_path), 1, WALL)
    law, full = step.run.law, build(WALL).law
    assert law.stiffness[0] == pytest.approx(0.1 * full.stiffness[0])  # pyright: ignore[reportAttributeAccessIssue]
    assert (step.run.world.surfaces, step.run.clock.duration) == ((), 2.0)
    own = limits_of(step.run)
    assert (step.limited(own).force, step.limited(own).error) == (14.0, 0.005)
    assert step.limited(replace(own, force=3.0)).force == 3.0  # of two limits the lower one


def test_the_tool_s_error_and_the_end_of_a_joint_end_a_drive(tmp_path: Path):
    step = read_step(exported(tmp_path), 1, WALL)
    q, robot = step.run.start()[0], step.run.robot
    limits = step.limited(limits_of(step.run))
    drive = Drive(step.run, limits)
    away: Any = Standing(q + 0.01)  # a centimetre at the tool
    assert "mm from its target; the limit is 5 mm" in drive.go(away).outcome.reason
    where, nothing, still = robot.pose(q).position, np.zeros(6), np.zeros(7)
    near = robot.limits.upper - 0.1
    assert limits.violation(still, where, nothing, near, where) is None
    fast = 1.5 * np.eye(7)[3]
    assert "joint 4 at" in str(limits.violation(fast, where, nothing, near, where))
    assert "joint 7 at" in str(limits.violation(still, where, nothing, near + 0.2 * np.eye(7)[6], where))


def test_what_was_measured_is_compared_with_friction_as_the_arm_sees_it(tmp_path: Path):
    step = read_step(exported(tmp_path), 1, WALL)
    trace = simulate_quietly(step.run)
    measured: Any = {name: trace[name] for name in ("time", "target_position", "tool_position", "target_q", "q", "tau")}
    for newton, inside in ((0.0, True), (8.9, True), (9.1, False)):
        measured["measured_wrench"] = np.tile([0.0, newton, 0.0, 0.0, 0.0, 0.0], (len(trace), 1))
        rows = {name: (band, value, good) for name, band, value, good in step.measured(measured)}
        assert rows["force, largest, N"] == ((0.0, 9.0), newton, inside)
        assert rows["tool error, largest, mm"][2]


def test_what_is_no_step_of_this_scenario_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = exported(tmp_path)
    with pytest.raises(InvalidInput, match=r"--step must be one of 1 Hold in air.*; got 3"):
        read_step(folder, 3, WALL)
    with pytest.raises(InvalidInput, match=r"no run of step 2 finished in simulation.*stopped"):
        read_step(folder, None, WALL)
    stiffer = WALL.replace(control__stiffness=[500.0, 500.0, 500.0, 30.0, 30.0, 30.0])
    with pytest.raises(InvalidInput, match=r"its \[control\] is not that of fr3-wall"):
        read_step(folder, 1, stiffer)
    with pytest.raises(NotApplicable, match="has no commissioning sheet"):
        read_step(exported(tmp_path, commissioning=[]), 1, WALL)
    content = json.loads((folder / NAME).read_text())
    (folder / NAME).write_text(json.dumps(content | {"commissioning": STEPS}))
    with pytest.raises(FileError, match="was changed"):
        read_step(folder, 1, WALL)
    assert main(["drive", "fr3-wall", "127.0.0.1", "--step", "2", "--quiet"]) == 2
    assert "add --sheet" in capsys.readouterr().err

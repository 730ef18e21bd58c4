"""`palpate new NAME --robot MODEL`: the file that it writes presses on a wall at the first try, or it says why not."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.cli.main import main
from palpate.metrics import evaluate
from palpate.robot import catalogue
from palpate.scenario.file.postures import pressing_postures
from palpate.scenario.file.pressing import GAP

Capture = pytest.CaptureFixture[str]
SAMPLE = ("panda", "scara", "pendulum", "cartesian2", "planar3-vertical", "puma560", "two-arm")
FREE = ("quadruped",)
ARMS = [name for name in catalogue.names() if name not in FREE]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def presses(robot: str, *more: str) -> pp.Trace:
    """Write a scenario for a robot, run it, and see that the tool starts 3 cm off and presses as it is asked to."""
    assert main(["new", "mine", "--robot", robot, *more]) == 0
    scenario = pp.load_scenario("mine.toml")
    trace = pp.simulate(scenario)
    results = {result.name: result for result in evaluate(trace, scenario.metrics)}
    wanted = -np.array(scenario.changed()["reference"]["wrench"]["value"][:3])
    force = float(np.linalg.norm(wanted))
    axis = wanted / force
    assert trace.outcome.kind == "completed"
    assert all(result.passed is not False for result in results.values())
    assert -trace["contact_wrench"][-1, :3] @ axis == pytest.approx(force, rel=0.4)
    way = (trace["tool_position"] - trace["tool_position"][0]) @ axis
    free = trace["contact_force"] == 0
    assert free[0]
    assert GAP - 2e-3 < way[np.argmin(free)] < GAP + 2e-3
    return trace


@pytest.mark.parametrize("robot", [pytest.param(n, marks=() if n in SAMPLE else pytest.mark.slow) for n in ARMS])
def test_a_robot_of_the_catalogue_presses_at_the_first_try(robot: str) -> None:
    presses(robot)


def test_what_is_written_is_a_commented_file_that_says_posture_tool_and_wall(capsys: Capture) -> None:
    assert main(["new", "mine", "--robot", "scara"]) == 0
    told = capsys.readouterr()
    assert re.search(r"The tool 'tool' starts.*found.*3 cm.*\[", told.err)
    assert "cannot serve rx, ry: the law" in told.err
    text = Path("mine.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    assert data["robot"]["tool_frame"] == "tool"
    assert data["control"]["directions"] == ["x", "y", "z", "rz"]
    assert "# outward normal of a plane, world axes" in text
    assert told.out == "wrote mine.toml; run it with: palpate run mine.toml\n"


def test_a_file_of_a_model_is_named_as_seen_from_the_scenario(tmp_path: Path) -> None:
    Path("models").mkdir()
    Path("work").mkdir()
    Path("models/arm.xml").write_text(catalogue.model_xml("planar2"), encoding="utf-8")
    assert main(["new", "work/mine", "--robot", "models/arm.xml"]) == 0
    assert tomllib.loads(Path("work/mine.toml").read_text(encoding="utf-8"))["robot"]["model"] == "../models/arm.xml"
    assert main(["run", "work/mine.toml", "--no-report", "--quiet"]) == 0


def test_options_of_the_model_are_kept() -> None:
    trace = presses("panda", "--lock", "joint3=0.0")
    assert trace["q"].shape[1] == 6
    assert tomllib.loads(Path("mine.toml").read_text(encoding="utf-8"))["robot"]["lock"] == {"joint3": 0.0}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--robot", "quadruped"], "quadruped has a free base or ball joints: nothing holds it"),
        (["--robot", "pnada"], "unknown robot 'pnada'"),
        (["--robot", "panda", "--tool", "nowhere"], "unknown frame 'nowhere'"),
        (["--lock", "joint3=0"], "model need --robot"),
        (["--robot", "panda", "--from", "panda-wall"], "not allowed with argument"),
        (
            ["--robot", "panda", "--tool", "base"],
            "tool move 3 cm",
        ),
    ],
)
def test_what_cannot_press_is_refused_by_its_name(words: list[str], told: str, capsys: Capture) -> None:
    assert main(["new", "mine", *words]) == 2
    assert told in capsys.readouterr().err
    assert not Path("mine.toml").exists()


def test_a_posture_to_press_from_is_away_from_stops_and_singular_ones() -> None:
    """The directions served are independent, and a small motion along the axis stays on it."""
    robot = pp.load_robot("scara")
    press = next(pressing_postures(robot, 0.04))
    rows = [("x", "y", "z", "rx", "ry", "rz").index(direction) for direction in press.directions]
    J = robot.jacobian(press.q)
    assert np.linalg.svd(J[rows], compute_uv=False)[-1] > 0.05
    limits = robot.limits
    bounded = np.isfinite(limits.lower)
    width = (limits.upper - limits.lower)[bounded]
    assert np.all((press.q - limits.lower)[bounded] > 0.05 * width)
    assert np.all((limits.upper - press.q)[bounded] > 0.05 * width)
    motion = np.linalg.pinv(J[rows])[:, rows.index(int(np.argmax(np.abs(press.axis))))]
    moved = robot.pose(press.q + 1e-6 * motion).position - robot.pose(press.q).position
    assert np.linalg.norm(np.cross(moved, press.axis)) < 1e-9


def test_friction_at_the_tool_is_the_power_that_the_joints_lose() -> None:
    """Σ f_j |q̇_j| of a motion at 1 m/s along the axis, from the model's own losses."""
    robot = pp.load_robot("puma560")
    press = next(pressing_postures(robot, 0.04))
    twist = np.concatenate([press.axis, np.zeros(3)])
    v = np.linalg.solve(robot.jacobian(press.q), twist)
    still = np.zeros(6)
    slow = 1e-3
    lost = robot.inverse_dynamics(press.q, slow * v, still) - robot.inverse_dynamics(
        press.q, slow * v, still, losses=False
    )
    viscous = robot.inverse_dynamics(press.q, 2 * slow * v, still) - robot.inverse_dynamics(
        press.q, 2 * slow * v, still, losses=False
    )
    coulomb = 2 * lost - viscous
    assert press.friction == pytest.approx(coulomb @ v, rel=1e-2)
    assert press.force >= 2 * press.friction

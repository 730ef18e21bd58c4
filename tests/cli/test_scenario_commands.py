"""`explain`, `new`, `schema`, `completion`, `report`, `replay` and `compare`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moments import ENDLESS
from palpate.cli import completion
from palpate.cli.compare import short_names
from palpate.cli.main import main
from palpate.robot import catalogue
from palpate.scenario.file.folders import shipped
from palpate.scenario.file.load import load_scenario

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ([], ["robot", "control", "world"]),
        (["control"], ["cartesian-impedance", "passive"]),
        (["control.cartesian-impedance"], ["stiffness", "N/m, N·m/rad", "spring"]),
        (["world.surfaces"], ["friction", "Coulomb", "N·s/m"]),
        (
            ["world.surfaces.stiffness"],
            ["unit     N/m", "allowed  a number greater than 0, in N/m", "default  10000.0"],
        ),
        (["metrics"], ["force_peak"]),
        (["reference.line"], ["offset", "straight line"]),
    ],
)
def test_explain_shows_units_defaults_and_help(words: list[str], shown: list[str], capsys: Capture) -> None:
    assert main(["explain", *words]) == 0
    out = capsys.readouterr().out
    assert all(text in out for text in shown)


def test_explain_of_an_unknown_key_names_the_nearest(capsys: Capture) -> None:
    assert main(["explain", "control.impedance"]) == 2
    assert "mean 'joint-impedance'" in capsys.readouterr().err


def test_new_writes_a_commented_scenario_that_is_valid(capsys: Capture) -> None:
    assert main(["new", "mine"]) == 0
    assert capsys.readouterr().out == "wrote mine.toml; run it with: palpate run mine.toml\n"
    text = Path("mine.toml").read_text("utf-8")
    assert "stiffness = 10000  # k" in text
    assert load_scenario("mine.toml").name == "mine"


def test_new_overwrites_nothing_and_refuses_odd_names(capsys: Capture) -> None:
    Path("mine.toml").write_text("precious")
    assert main(["new", "mine"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert Path("mine.toml").read_text() == "precious"
    assert main(["new", "a b"]) == 2
    assert main(["new", "none/mine"]) == 2
    assert "no folder none" in capsys.readouterr().err


def test_a_new_scenario_runs_and_keeps_its_bounds(capsys: Capture) -> None:
    main(["new", "mine"])
    assert main(["run", "mine.toml", "--no-report"]) == 0
    assert "1 of 1 bounds kept" in capsys.readouterr().out


def test_schema_is_json(capsys: Capture) -> None:
    assert main(["tools", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "palpate scenario"


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_completion_script_is_one_for_its_shell(shell: str, capsys: Capture) -> None:
    pytest.importorskip("argcomplete")
    assert main(["tools", "completion", shell]) == 0
    script = capsys.readouterr().out
    assert "palpate" in script
    interpreter = shutil.which(shell)
    if interpreter is not None:
        subprocess.run([interpreter, "-n"], input=script, text=True, check=True, timeout=ENDLESS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("palpate r", {"run", "report", "reactions"}),
        ("palpate run pand", {name for name in shipped() if name.startswith("pand")}),
        ("palpate run --no", {"--no-code", "--no-report"}),
        ("palpate derive iiw", {name for name in catalogue.names() if name.startswith("iiw")}),
        ("palpate list ch", {"channels"}),
        ("palpate run panda-wall --set control.sti", {"control.stiffness="}),
        ("palpate run panda-wall --set world.surfaces.", {"world.surfaces.wall."}),
        ("palpate sweep panda-wall --vary world.surfaces.wall.sti", {"world.surfaces.wall.stiffness="}),
        ("palpate explain control.cartesian-impedance.sti", {"control.cartesian-impedance.stiffness"}),
        ("palpate report runs/mi", {"runs/mine"}),
    ],
)
def test_commands_options_names_keys_and_folders_are_completed(line: str, expected: set[str]) -> None:
    pytest.importorskip("argcomplete")
    Path("runs/mine").mkdir(parents=True)
    Path("runs/mine/trace.parquet").touch()
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
             "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": "words"}  # fmt: skip
    subprocess.run([sys.executable, "-m", "palpate"], env={**os.environ, **asked}, check=True, timeout=ENDLESS)
    words = {word.strip().removesuffix("/") for word in Path("words").read_text().splitlines()}
    assert words == expected


def test_report_and_replay_are_made_again_from_a_trace(capsys: Capture) -> None:
    assert main(["run", "pendulum", "--set", "run.duration=0.2", "--no-report", "--out", "r"]) == 0
    assert main(["report", "r"]) == 0
    assert main(["report", "r/trace.parquet", "--replay", "--out", "r3d.html"]) == 0
    assert Path("r/report.html").stat().st_size > 10_000
    assert Path("r3d.html").stat().st_size > 10_000
    assert main(["report", "nowhere.parquet"]) == 2
    assert "no file" in capsys.readouterr().err


def test_compare_shows_metrics_side_by_side_and_writes_a_page(capsys: Capture) -> None:
    for k, length in enumerate((1.0, 2.0)):
        override = f"robot.parameters.length={length}"
        main(["run", "pendulum", "--set", "run.duration=0.2", "--set", override, "--no-report", "--out", f"run{k}"])
    capsys.readouterr()
    assert main(["compare", "run0", "run1", "--out", "both.html"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["setting", "run0", "run1"]
    assert lines[1].split() == ["robot.parameters.length", "1.0", "2.0"]
    assert lines[3].split() == ["metric", "run0", "run1"]
    assert lines[4].split() == ["outcome", "completed", "completed"]
    assert Path("both.html").exists()
    assert main(["compare", "run0"]) == 2


def test_runs_of_one_name_are_told_apart() -> None:
    paths = [Path("a/x/trace.parquet"), Path("b/x/trace.parquet"), Path("y.npz")]
    assert short_names(paths) == ["x", "x (2)", "y"]

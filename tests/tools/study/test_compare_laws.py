"""`palpate compare --laws`: tables, a folder with a page, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palpate.cli.main import main

Capture = pytest.CaptureFixture[str]
SHORT = ["pendulum", "--set", "run.duration=0.02", "--runs", "4", "--workers", "0", "--metric", "effort"]
VARY = ["--vary", "robot.parameters.mass=uniform(0.5, 2)"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_two_laws_are_run_on_the_same_draws_and_told(capsys: Capture) -> None:
    laws = ["--laws", "passive,gravity-compensation", "--gains", "gravity-compensation.damping=0.2"]
    assert main(["compare", *laws, *SHORT, *VARY]) == 0
    out = capsys.readouterr().out
    assert "gains: gravity-compensation" in out
    assert "damping = 0.2" in out
    assert "effort" in out
    folder = Path("runs/pendulum-laws-1")
    assert {entry.name for entry in folder.iterdir()} == {
        "1-passive", "2-gravity-compensation", "laws.json", "report.html",
    }  # fmt: skip
    data = json.loads((folder / "laws.json").read_text("utf-8"))
    first, second = data["commands"]["passive"][2], data["commands"]["gravity-compensation"][2]
    assert first.split("--set robot.parameters.mass=")[1] == second.split("--set robot.parameters.mass=")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--laws", "passive", *SHORT, *VARY], "different laws"),
        (["--laws", "passive,pasive", *SHORT, *VARY], "pasive"),
        (["--laws", "passive,gravity-compensation", "a", "b"], "one SCENARIO"),
        (["--laws", "passive,gravity-compensation", *SHORT, *VARY, "--gains", "x.y=1"], "LAW.GAIN=VALUE"),
        (["--vary", "run.seed=1:2:2", "a", "b"], "--vary goes with --laws"),
    ],
)
def test_what_is_not_understood_is_refused(words: list[str], said: str, capsys: Capture) -> None:
    assert main(["compare", *words]) == 2
    assert said in capsys.readouterr().err
    assert not list(Path().iterdir())

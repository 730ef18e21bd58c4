"""One wall: whatever goes wrong is one line and an exit code that says what kind of thing it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from counting import calls
from palpate.cli.main import UNEXPECTED, main
from palpate.errors import InvalidInput, ScenarioError
from palpate.scenario.file.load import load_scenario
from palpate.world.clock import Clock

COMMAND = [sys.executable, "-m", "palpate.cli.main"]
SCENARIO = 'name = "x"\n[robot]\nmodel = "pendulum"\n[control]\nlaw = "gravity-compensation"\n'
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ZeroDivisionError("division by zero"), "unexpected ZeroDivisionError: division"),
        (KeyError("x"), "unexpected KeyError"),
        (RecursionError("too deep"), "unexpected RecursionError"),
        (MemoryError(), "unexpected out"),
        (ValueError("a\x1b[31mb" + "x" * 9000), "characters)"),
    ],
)
def test_an_unexpected_error_is_one_line_with_a_code_of_its_own(error, words: str, monkeypatch, capsys: Capture):
    def broken(args: object) -> int:
        raise error

    monkeypatch.setattr("palpate.cli.list.run", broken)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    assert main(["list"]) == UNEXPECTED == 70
    said = capsys.readouterr().err
    assert words in said
    assert "--debug shows where" in said
    assert "Traceback" not in said
    assert "\x1b" not in said
    assert len(said) < 600
    with pytest.raises(type(error)):
        main(["list", "--debug"])


def test_a_closed_and_a_full_output_end_without_a_traceback():
    closed = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m palpate.cli.main list robots >&-"], capture_output=True, text=True
    )
    assert "Traceback" not in closed.stderr
    if Path("/dev/full").exists():
        with open("/dev/full", "w") as full:
            done = subprocess.run([*COMMAND, "list", "robots"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_fifos_folders_and_devices_are_no_files(capsys: Capture):
    for name in ("pipe.toml", "pipe.parquet", "pipe.urdf", "pipe.npz"):
        os.mkfifo(name)
    Path("folder.toml").mkdir()
    for words in (
        ["run", "pipe.toml"], ["run", "folder.toml"], ["report", "pipe.parquet"], ["report", "pipe.npz"],
        ["check", "pipe.urdf"], ["run", "/dev/zero"], ["check", "/dev/zero"],
    ):  # fmt: skip
        assert main(words) == 2, words
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SCENARIO + "[run]\nseed = " + "9" * 5000, "nobody can read"),
        (SCENARIO + "[run]\ntimestep = 1e-300", "timestep"),
        (SCENARIO + "[record]\nstride = 100000000000000000000", "stride"),
        (SCENARIO + "x = " + "[" * 5000 + "]" * 5000, "too deeply"),
        (SCENARIO + "a." * 3000 + "b = 1", ""),
        (SCENARIO.replace('"x"', f'"{"y" * 5000}"'), ""),
        ("".join(f"k{i} = 1\n" for i in range(40_000)) + SCENARIO, "and 39990 more"),
        (SCENARIO.replace("pendulum", "p" * 5000), "characters"),
    ],
)
def test_absurd_scenarios_are_told_shortly(text: str, words: str, capsys: Capture):
    Path("absurd.toml").write_text(text)
    codes: list[int] = []
    assert (
        calls(lambda: codes.append(main(["run", "absurd.toml", "--no-report"]))) < 5_000_000
    )  # half of it for 40 000 keys
    assert codes == [2]
    said = capsys.readouterr().err
    assert words in said
    assert "unexpected" not in said
    assert len(said) < 20_000


def test_absurd_words_are_told_shortly(capsys: Capture):
    for words in (
        ["run", "x" * 5000], ["run", "a\0b"], ["list", "y" * 5000], ["z" * 5000], ["show", "r" * 5000],
        ["run", "pendulum", "--set", "run.seed=" + "9" * 5000], ["run", "pendulum", "--set", "a=" + "[" * 5000],
        ["report", "t" * 5000 + ".parquet"], ["report", "a\0b.parquet"], ["check", "c" * 5000 + ".urdf"],
    ):  # fmt: skip
        assert main(words) == 2, words[0]
        said = capsys.readouterr().err
        assert "unexpected" not in said, said[:500]
        assert len(said) < 8000


def test_names_of_strangers_cannot_steer_the_terminal(capsys: Capture):
    Path("steer.toml").write_text(SCENARIO.replace("pendulum", "pen\\u001b[2Jdulum"))
    assert main(["run", "steer.toml"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_complaints_of_settings_stay_in_the_tree():
    clock = Clock()
    for wrong in (
        lambda: Clock.model_validate({"duration": -1}),
        lambda: Clock.model_validate_json("{"),
        lambda: clock.model_copy(update={"timestep": -1.0}),
        lambda: setattr(clock, "seed", 3),
        lambda: Clock(seed=10**5000),
        lambda: Clock(**cast(Any, {f"k{i}": 1 for i in range(2000)})),
    ):
        with pytest.raises(InvalidInput) as caught:
            wrong()
        assert len(str(caught.value)) < 2000
    assert clock.model_copy(update={"seed": 4}).seed == 4


def test_a_scenario_error_lists_ten_problems_and_a_count(tmp_path: Path):
    (tmp_path / "many.toml").write_text("".join(f"k{i} = 1\n" for i in range(90)) + SCENARIO)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(tmp_path / "many.toml")
    assert len(caught.value.problems) == 90
    assert "and 80 more" in str(caught.value)

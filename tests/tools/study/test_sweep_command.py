"""`palpate sweep`, `study` and `tune`: what they write, say and return."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from palpate.cli.main import main
from palpate.metrics import METRICS
from palpate.tools.study.commands import common
from palpate.trace import load_trace

SHORT = ["--set", "run.duration=0.02", "--set", "record.stride=5", "--set", "control.damping=0.1"]
FEW = ["--metrics", "energy_residual,effort"]
PLAIN = [*SHORT, *FEW, "--no-report", "--workers", "0"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_sweep_writes_one_folder_and_its_commands_make_its_runs_again(capsys: Capture) -> None:
    vary = ["--vary", "robot.parameters.mass=uniform(0.5, 2)", "--vary", "world.sensors.encoder_noise=uniform(0, 1e-3)"]
    assert main(["sweep", "pendulum", *vary, "--runs", "12", "--traces", "worst", *SHORT, *FEW, "--workers", "0"]) == 0
    folder = Path("runs/pendulum-sweep-1")
    assert {entry.name for entry in folder.iterdir()} == {
        "report.html", "scenario.toml", "summary.json", "sweep.json", "table.parquet", "traces",
    }  # fmt: skip
    page = (folder / "report.html").read_text("utf-8")
    assert page.count("data-replay=") == 12  # a small sweep replays every run on its page
    assert page.count("palpate run pendulum --set run.duration=0.02") >= 12
    out = capsys.readouterr().out
    assert "pendulum: 12 runs: 12 passed\nP(failure) < 22.1 % with 95 % confidence (0 of 12 independent runs" in out
    assert out.rstrip().endswith(f"see {folder / 'report.html'}")
    worst = json.loads((folder / "summary.json").read_text("utf-8"))["worst"][0]
    assert main([*shlex.split(worst["command"])[1:], "--no-report", "--quiet", "--out", "again"]) == 0
    again = load_trace("again/trace.parquet")
    table = pq.read_table(folder / "table.parquet").to_pylist()
    assert METRICS["energy_residual"].compute(again) == table[worst["run"]]["energy_residual"] == worst["value"]
    assert load_trace(folder / "traces" / f"{worst['run']:010d}.parquet").equals(again)


def test_a_dry_run_tells_runs_time_and_disk_and_writes_nothing(capsys: Capture) -> None:
    words = ["--vary", "robot.parameters.mass=0.5:2:40", "--repeat", "3", "--traces", "all", "--dry-run"]
    assert main(["sweep", "pendulum", *words, *PLAIN]) == 0
    out = capsys.readouterr().out
    assert re.search(r"pendulum: 120 runs \(grid\).*chunks.*1", out)
    assert "run, about" in out
    assert "for the table" in out
    assert "for traces" in out
    assert not list(Path().iterdir())


def test_an_unfinished_folder_is_named_by_resume_alone(capsys: Capture) -> None:
    words = ["--vary", "robot.parameters.mass=0.5:2:4", "--out", "here"]
    assert main(["sweep", "pendulum", *words, *PLAIN]) == 0
    first = Path("here/table.parquet").read_bytes()
    assert main(["sweep", "--resume", "here", "--no-report", "--quiet"]) == 0
    assert Path("here/table.parquet").read_bytes() == first
    assert main(["sweep", "pendulum", "--resume", "here"]) == 2
    assert main(["sweep", "--resume", "nowhere"]) == 2
    assert "nowhere holds no" in capsys.readouterr().err


def test_sensitivity_and_the_front_are_printed(capsys: Capture) -> None:
    vary = ["--vary", "robot.start.q.0=uniform(0.5, 1.5)", "--vary", "robot.parameters.mass=uniform(0.5, 2)"]
    words = ["--method", "saltelli", "--runs", "16", "--metric", "effort", "--pareto"]
    assert main(["sweep", "pendulum", *vary, *words, "effort,energy_residual", *PLAIN]) == 0
    out = capsys.readouterr().out
    assert "sensitivity of effort (Sobol indices, 95 % intervals):" in out
    assert "Pareto front, " in out
    assert main(["sweep", "pendulum", *vary, "--runs", "2", "--pareto", "force_peak", *PLAIN]) == 2
    assert "--pareto takes" in capsys.readouterr().err


def test_a_hypothesis_that_is_refuted_ends_with_1(capsys: Capture) -> None:
    words = ["--vary", "run.max_speed=1e-3, 2e-3", "--method", "random", "--runs", "200", "--until", "failure<0.5"]
    assert main(["sweep", "pendulum", *words, *PLAIN]) == 1
    out = capsys.readouterr().out
    assert "confidence sequence" in out
    assert "diverged: run 0: joint1 moves at" in out


def test_a_map_draws_what_theory_predicts(capsys: Capture) -> None:
    law = ["--set", "control.law=joint-impedance", "--set", "control.stiffness=0"]
    vary = ["--vary", "control.damping=500:5000:9", "--vary", "robot.parameters.mass=0.9:1.1:9"]
    words = ["--method", "map", "--by", "ended", "--predict", *law, "--set", "robot.start.v=[0.5]"]
    assert main(["sweep", "pendulum", *vary, *words, *SHORT, *FEW, "--no-report", "--workers", "0"]) == 0
    found = json.loads(Path("runs/pendulum-sweep-1/summary.json").read_text("utf-8"))["map"]
    line = found["predicted"][0]
    # m l² = mass: a damper is unstable beyond 2 m/T
    assert [x / y for x, y in line] == pytest.approx([2000.0] * len(line), rel=0.02)
    assert "were good" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["sweep"], "needs a SCENARIO"),
        (["sweep", "pendulum", "--vary", "mass"], "KEY=WHAT"),
        (["sweep", "pendulum", "--vary", "a.b=1:2:3", "--vary", "a.b=1:2:3"], "varied twice"),
        (["sweep", "pendulum", "--vary", "robot.parameters.mas=1:2:3"], "you mean 'mass'"),
        (["sweep", "pendulun", "--vary", "a.b=1:2:3"], "you mean 'pendulum'"),
        (["sweep", "pendulum", "--vry", "a.b=1:2:3"], "you mean '--vary'"),
        (["sweep", "--uncertain"], "needs a SCENARIO"),
        (["sweep", "pendulum", "--uncertain", "--map", "a.b=1:2"], "two keys"),
        (["sweep", "pendulum", "--no-map"], "--no-map goes with --uncertain"),
        (["sweep", "pendulum", "--uncertain", "--rare", "effort>1"], "--rare has no"),
        (["tune", "pendulum"], "needs a SCENARIO, --over and --minimise"),
        (["tune", "--resume", "nowhere"], "no sweep"),
    ],
)
def test_mistakes_end_with_2_and_no_traceback(capsys: Capture, words: list[str], complaint: str) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert complaint in err
    assert "Traceback" not in err


def test_a_study_tells_its_spreads_and_draws_them(capsys: Capture) -> None:
    words = ["--runs", "8", "--map", "world.plant.mass_scale=0.5:2:3", "--map", "run.max_speed=0.05:0.4:3"]
    assert main(["sweep", "pendulum", "--uncertain", "--dry-run", *words, *SHORT]) == 0
    out = capsys.readouterr().out
    assert "pendulum: 8 independent draws" in out
    assert "normal(1, 0.05, 0.8, 1.2)" in out
    assert "map: world.plant.mass_scale (0.5:2:3) against run.max_speed (0.05:0.4:3)" in out
    assert (
        main(["sweep", "pendulum", "--uncertain", *words, *SHORT, "--workers", "0", "--out", "here", "--no-report"])
        == 0
    )
    out = capsys.readouterr().out
    assert "P(failure)" in out
    assert "were good" in out
    assert {"draws", "map", "study.json"} <= {entry.name for entry in Path("here").iterdir()}
    assert main(["sweep", "--resume", "here", "--workers", "0", "--no-report", "--quiet"]) == 0


def test_a_search_prints_the_best_and_goes_on_by_its_folder(capsys: Capture) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    words = ["--over", "robot.start.q.0=0.2:1.5", "--minimise", "effort", "--runs", "12", "--workers", "0"]
    assert main(["tune", "pendulum", *words, *SHORT, "--no-report"]) == 0
    out = capsys.readouterr().out
    assert "makes effort smallest" in out
    assert "palpate run pendulum --set run.duration=0.02" in out
    assert main(["tune", "--resume", "runs/pendulum-tune-1", "--no-report", "--workers", "0"]) == 0
    assert main(["sweep", "--resume", "runs/pendulum-tune-1"]) == 2
    keep = ["--keep", "effort<1e-12"]
    assert main(["tune", "pendulum", *words, *keep, *SHORT, "--no-report", "--quiet"]) == 1
    assert "no point keeps every bound" in capsys.readouterr().out


def test_progress_shows_throughput_and_time_left(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    clock = [0.0]
    monkeypatch.setattr(common.time, "perf_counter", lambda: clock[0])
    with common.SweepProgress("x") as progress:
        for done, now in ((100, 0.0), (200, 1.0), (300, 20.0), (400, 40.0)):
            clock[0] = now
            progress(done, 1000, done // 100)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "x: 300 of 1000 runs, 70 s left, 10 runs/s, 3 did not pass",
        "x: 400 of 1000 runs, 80 s left, 7.5 runs/s, 4 did not pass",
    ]


def test_progress_of_a_second_sweep_begins_anew(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A study's map comes after its draws: fewer runs done than before, and no negative time left."""
    clock = [0.0]
    monkeypatch.setattr(common.time, "perf_counter", lambda: clock[0])
    with common.SweepProgress("x") as progress:
        for done, now in ((100, 0.0), (300, 20.0), (2, 30.0), (102, 50.0)):
            clock[0] = now
            progress(done, 302, 0)
    assert capsys.readouterr().err.splitlines()[-1] == "x: 102 of 302 runs, 40 s left, 5 runs/s"

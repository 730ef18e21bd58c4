"""`palpate run`: what it writes, says and returns."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from moments import ENDLESS
from palpate.cli import console
from palpate.cli.main import main
from palpate.scenario.file.load import load_scenario
from palpate.trace import load_trace

COMMAND = [sys.executable, "-m", "palpate.cli.main"]
SHORT = ["--set", "run.duration=0.05", "--no-report"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_run_writes_one_folder_and_says_where_to_look(capsys: Capture) -> None:
    assert main(["run", "pendulum", "--set", "run.duration=0.2"]) == 0
    folder = Path("runs/pendulum-1")
    assert {entry.name for entry in folder.iterdir()} == {
        "scenario.toml", "trace.parquet", "metrics.json", "figures", "report.html", ".palpate-run.json",
    }  # fmt: skip
    assert list((folder / "figures").glob("*.png"))
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "completed at 0.2 s (finished after 0.2 s); 1 of 1 bounds kept; see runs/pendulum-1/report.html"
    assert json.loads((folder / "metrics.json").read_text())["energy_residual"]["passed"] is True
    assert "<html" in (folder / "report.html").read_text("utf-8").lower()


def test_the_scenario_as_run_makes_the_same_trace_again() -> None:
    assert main(["run", "pendulum", *SHORT, "--set", "robot.start.q=[1.0]"]) == 0
    assert main(["run", "runs/pendulum-1/scenario.toml", "--no-report"]) == 0
    first, second = (load_trace(f"runs/pendulum-{k}/trace.parquet") for k in (1, 2))
    assert first.equals(second)
    assert first["q"][0].tolist() == [1.0]
    text = Path("runs/pendulum-1/scenario.toml").read_text("utf-8")
    assert tomllib.loads(text)["run"]["duration"] == 0.05


def test_folders_are_numbered_and_an_earlier_run_may_be_replaced(capsys: Capture) -> None:
    for _ in range(2):
        assert main(["run", "pendulum", *SHORT, "--quiet"]) == 0
    assert sorted(entry.name for entry in Path("runs").iterdir()) == ["pendulum-1", "pendulum-2"]
    assert main(["run", "pendulum", "--set", "run.duration=0.05", "--out", "here"]) == 0
    Path("here/notes.txt").write_text("mine")
    assert main(["run", "pendulum", *SHORT, "--out", "here"]) == 0
    assert sorted(entry.name for entry in Path("here").iterdir()) == [
        ".palpate-run.json", "metrics.json", "notes.txt", "scenario.toml", "trace.parquet",
    ]  # fmt: skip
    assert "see here/trace.parquet" in capsys.readouterr().out


def test_other_peoples_folders_and_files_are_left_alone(capsys: Capture) -> None:
    Path("photos").mkdir()
    Path("photos/cat.png").write_text("meow")
    Path("file").write_text("x")
    for place in ("photos", "file"):
        assert main(["run", "pendulum", *SHORT, "--out", place]) == 2
    assert Path("photos/cat.png").read_text() == "meow"
    assert "other things" in capsys.readouterr().err


def test_a_broken_bound_ends_with_1_and_is_shown(capsys: Capture) -> None:
    assert main(["run", "pendulum", *SHORT, "--set", "metrics.energy_residual.most=-1"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"energy_residual .* at most -1 +FAILED", out)
    assert "0 of 1 bounds kept" in out


def test_a_diverged_run_ends_with_1_and_keeps_its_trace(capsys: Capture) -> None:
    assert main(["run", "pendulum", *SHORT, "--set", "run.max_speed=0.01"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("diverged at ")
    assert load_trace("runs/pendulum-1/trace.parquet").outcome.kind == "diverged"


def test_a_stop_event_is_no_failure(capsys: Capture) -> None:
    stop = 'stop=[{column = "q[joint1]", below = 1.57}]'
    assert main(["run", "pendulum", "--set", "run.duration=1", "--no-report", "--set", stop]) == 0
    assert "stopped at" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "pendulm"], "you mean 'pendulum'"),
        (["run", "none.toml"], "cannot read"),
        (["run", "pendulum", "--set", "run.sed=1"], "you mean 'seed'"),
        (["run", "pendulum", "--set", "run.seed"], "--set takes KEY=VALUE"),
        (["run", "pendulum", "--set", 'record.channels=["qq"]'], "unknown channel 'qq'"),
        (["run", "pendulum", "--set", "robot.start.q=[1, 2]"], "shape (1,)"),
    ],
)
def test_a_users_mistake_ends_with_2_and_leaves_nothing(words: list[str], message: str, capsys: Capture) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert list(Path().iterdir()) == []


def test_quiet_prints_the_last_line_only(capsys: Capture) -> None:
    assert main(["run", "panda-wall", *SHORT, "--quiet"]) == 1
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert captured.err == ""


def test_what_is_probably_not_meant_is_noted(capsys: Capture) -> None:
    main(["run", "panda-wall", *SHORT])
    assert re.search(r"note.*reference.*1\.7.*after.*\(0\.05 s\)", capsys.readouterr().err)


def test_the_exit_code_of_the_process_is_that_of_the_run() -> None:
    done = subprocess.run([*COMMAND, "run", "pendulum", *SHORT], capture_output=True, text=True, timeout=ENDLESS)
    assert (done.returncode, done.stdout.splitlines()[-1][:9]) == (0, "completed")


@pytest.fixture
def listening_to_ctrl_c():
    """A process started in the background ignores SIGINT; these tests must not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening_to_ctrl_c")
def test_ctrl_c_leaves_a_valid_partial_trace(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console.RunProgress, "__call__", lambda self, now, end: signal.raise_signal(signal.SIGINT))
    assert main(["run", "panda-wall", "--set", "run.duration=50", "--out", "cut"]) == 130
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith("interrupted at ")
    trace = load_trace("cut/trace.parquet")
    assert trace.outcome.kind == "interrupted"
    assert 1 < len(trace) < 50_000
    assert load_scenario("cut/scenario.toml").run.duration == 50


def test_a_slow_start_is_told_by_its_cause() -> None:
    assert console.starting() in ("loading …", "compiling kernels, once, about a minute …")


class _Terminal:
    """Stands in for stderr."""

    def __init__(self, terminal: bool) -> None:
        self.terminal, self.text = terminal, ""

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the console's clock, s."""
    now = [100.0]
    monkeypatch.setattr(console, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return now


def test_a_long_run_is_told_in_plain_lines_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, now: list[float]
) -> None:
    stream = _Terminal(False)
    monkeypatch.setattr(sys, "stderr", stream)
    progress = console.RunProgress("x")
    now[0] += 20
    progress(5.0, 10.0)
    now[0] += console.EVERY - 0.1
    progress(6.0, 10.0)  # too soon for another line
    assert stream.text == "x: 50%, 20 s left, 0.25 × real time\n"
    now[0] += 0.2
    progress(7.0, 10.0)
    assert stream.text.count("\n") == 2


def test_time_spent_compiling_says_nothing_of_the_time_left(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    stream, spent = _Terminal(False), [7.0]  # 7 s before the run
    monkeypatch.setattr(sys, "stderr", stream)
    progress = console.RunProgress("x", compiled=lambda: spent[0])
    now[0] += 40
    spent[0] += 20.0
    progress(5.0, 10.0)
    assert stream.text == "x: 50%, 20 s left, 0.25 × real time\n"


def test_a_long_run_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    stream = _Terminal(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with console.RunProgress("x") as progress:
        now[0] += 20
        progress(5.0, 10.0)
        progress(6.0, 10.0)
        assert progress.bar is not None
        assert progress.bar.tasks[0].completed == 6.0


def test_a_short_run_and_a_quiet_one_show_nothing(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    stream = _Terminal(True)
    monkeypatch.setattr(sys, "stderr", stream)
    short, quiet = console.RunProgress("x"), console.RunProgress("x", quiet=True)
    now[0] += 0.4 * console.SOON
    short(5.0, 10.0)
    now[0] += 100
    quiet(5.0, 10.0)
    assert stream.text == ""


def test_patience_speaks_only_when_something_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    said, show = threading.Event(), console._show_message

    def shown(*args: Any) -> None:
        show(*args)
        said.set()

    monkeypatch.setattr(console, "_show_message", shown)
    monkeypatch.setattr(console, "SOON", 0.02)
    with console.patience("wait"):
        assert said.wait(ENDLESS)
    monkeypatch.setattr(console, "SOON", ENDLESS)
    with console.patience("not said"):
        pass
    monkeypatch.setattr(console, "SOON", 0.0)
    threads = threading.active_count()
    with console.patience("not said either", quiet=True):
        assert threading.active_count() == threads  # nobody waits to say it
    assert capsys.readouterr().err == "wait\n"


_IMPORTS_IN_THREADS = """
import builtins, sys, threading
plain, seen = builtins.__import__, set()
def watched(name, *args, **others):
    if threading.current_thread() is not threading.main_thread():
        seen.add(name)
    return plain(name, *args, **others)
builtins.__import__ = watched
from palpate.cli import console
console.SOON = float(sys.argv[1])
from palpate.cli.main import main
code = main(sys.argv[2:])
assert not seen, sorted(seen)
sys.exit(code)
"""


@pytest.mark.parametrize("soon", [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5])
def test_whenever_patience_speaks_it_imports_nothing_in_its_thread(soon: float) -> None:
    """A second thread that imports what the first is importing sees it half made."""
    words = [sys.executable, "-c", _IMPORTS_IN_THREADS, str(soon), "tools", "schema"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    assert soon > 0.1 or "loading …" in done.stderr

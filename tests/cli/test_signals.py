"""Ctrl-C and SIGTERM at any moment of any command: what is finished is kept, nothing is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from moments import COMMAND, finished, held, let_go, wait_until
from palpate.cli.main import main
from palpate.trace import load_trace

LONG = ["run", "pendulum", "--set", "run.duration=20", "--no-report", "--quiet", "--out", "o"]
SAMPLES = 4_001
INT, TERM = signal.SIGINT, signal.SIGTERM
HALF_WRITTEN = "palpate.trace.save:seal"  # the samples are in the temporary file, the footer is not


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def litter(folder: str) -> list[str]:
    """What no command may leave behind."""
    return [path.name for path in Path(folder).rglob(".palpate-*") if path.suffix in (".part", ".lock")]


@pytest.mark.parametrize("kind", [INT, TERM])
def test_a_signal_while_a_finished_run_is_saved_waits_for_the_save_and_says_so(kind: signal.Signals) -> None:
    process = held(LONG, HALF_WRITTEN)
    process.send_signal(kind)
    assert process.stderr is not None
    said = process.stderr.readline()
    let_go()
    _, more = finished(process)
    assert said == "palpate: the run has ended and is being saved; interrupt once more to cancel the save\n"
    assert (process.returncode, litter("o")) == (130, [])
    assert more.count("\n") == 1
    assert len(load_trace("o/trace.parquet")) == SAMPLES


def test_a_second_signal_gives_up_the_save_and_leaves_what_was_recorded_on_the_way() -> None:
    process = held(LONG, HALF_WRITTEN)
    Path("o/trace.partial.parts").unlink(missing_ok=True)  # as after a run of less than two seconds
    assert process.stderr is not None
    process.send_signal(TERM)
    process.stderr.readline()
    process.send_signal(INT)
    _, said = finished(process)
    assert (process.returncode, said.splitlines()[-1]) == (130, "palpate: interrupted")
    assert litter("o") == []
    assert not Path("o/trace.parquet").exists()


def test_the_part_that_was_recorded_on_the_way_is_readable_after_two_signals() -> None:
    process = held(LONG, HALF_WRITTEN, settings={"palpate.run.after.keep:EVERY": 0.0})
    assert process.stderr is not None
    said = ""
    for kind in (INT, INT):
        process.send_signal(kind)
        said = process.stderr.readline()
    finished(process)
    assert process.returncode == 130
    assert said == "palpate: the run was not saved; its first part is in o/trace.partial.parts\n"
    trace = load_trace("o/trace.partial.parts")
    assert trace.outcome.kind == "interrupted"
    assert len(trace) == SAMPLES


COMMANDS = {
    "run": ["run", "pendulum", "--set", "run.duration=3000", "--out", "o"],
    "sweep": ["sweep", "pendulum", "--vary", "robot.parameters.mass=uniform(0.5, 2)", "--runs", "40", "--out", "o"],
    "derive": ["derive", "planar3", "--steps", "--html", "o.html"],
    "verify": ["verify", "001"],
}
# What a command is about to do when it is interrupted: functions, and how often they were called.
MOMENTS = [
    *((command, "palpate.cli.main:_run", 1) for command in COMMANDS),
    ("run", "palpate.run.simulate:check_start", 1),
    ("run", "palpate.cli.console:RunProgress.__call__", 2),
    ("sweep", "palpate.tools.study.running.store:Store.write", 5),
    ("sweep", "palpate.tools.study.running.store:Store.merge", 1),
    ("derive", "palpate.tools.derive.command:_show", 1),
    ("derive", "palpate.files:os.replace", 1),
    ("verify", "palpate_documents.review:check_claim", 1),
    ("verify", "palpate_documents.review:check_claim", 3),
]


def heard(process: subprocess.Popen[str], kind: signal.Signals) -> bool:
    """Whether a signal has reached a process, or nothing reaches it any more."""
    if process.poll() is not None:
        return True
    lines = Path("/proc", str(process.pid), "status").read_text().splitlines()
    waiting = next(line.split()[1] for line in lines if line.startswith("ShdPnd"))
    return not int(waiting, 16) >> (kind - 1) & 1


def interrupt(process: subprocess.Popen[str], kinds: list[signal.Signals]) -> str:
    """Send signals, each after the one before has arrived; what the process says on its way out."""
    for kind in kinds:
        process.send_signal(kind)
        wait_until(partial(heard, process, kind))
    _, said = finished(process)
    return said


@pytest.mark.parametrize("kinds", [[TERM], [INT] * 4], ids=["SIGTERM", "four times Ctrl-C"])
@pytest.mark.parametrize(("command", "point", "call"), MOMENTS)
def test_signals_end_every_command_with_130_and_leave_nothing_half_done(
    command: str, point: str, call: int, kinds: list[signal.Signals]
) -> None:
    process = held(COMMANDS[command], point, call)
    said = interrupt(process, kinds)
    assert (process.returncode, litter(".")) == (130, []), said
    assert "a defect of palpate" not in said


@pytest.mark.parametrize("kinds", [[TERM], [INT] * 4], ids=["SIGTERM", "four times Ctrl-C"])
def test_signals_end_a_run_inside_its_compiled_loop(kinds: list[signal.Signals]) -> None:
    words = ["run", "pendulum", "--set", "run.duration=1e6", "--set", "record.stride=100000", "--out", "o"]
    process = held(words, "palpate.cli.console:RunProgress.__call__")
    let_go()  # 2e9 steps lie before it
    said = interrupt(process, kinds)
    assert (process.returncode, litter(".")) == (130, []), said
    if Path("o/trace.parquet").exists():
        assert load_trace("o/trace.parquet").outcome.kind == "interrupted"
    else:  # one of the later ones came while it was saved
        assert len(kinds) > 1


def test_in_python_the_handlers_are_those_of_before_again() -> None:
    before = signal.getsignal(INT), signal.getsignal(TERM)
    assert main(["list", "laws"]) == 0
    assert (signal.getsignal(INT), signal.getsignal(TERM)) == before


def test_a_full_output_is_one_line_and_no_defect() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, "list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "palpate: cannot write the output: No space left on device\n")


def test_a_run_that_the_limit_of_the_process_has_no_room_for_is_refused_by_name() -> None:
    line = 'ulimit -v 2500000 && exec "$0" -m palpate.cli.main run panda-wall --set run.duration=2000 --out o'
    done = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, text=True)
    assert done.returncode == 2
    assert "run needs 2.46" in done.stderr

"""Ctrl-C and SIGTERM at any moment of any command: what is finished is kept, nothing is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from palpate.cli.main import main
from palpate.trace import load_trace

COMMAND = [sys.executable, "-m", "palpate.cli.main"]
LONG = ["run", "pendulum", "--set", "run.duration=20", "--no-report", "--quiet", "--out", "o"]
SAMPLES = 4_001
INT, TERM = signal.SIGINT, signal.SIGTERM
# Holds a command where its trace is half written until a file `go` appears, so that signals hit that moment.
SLOW_SAVE = """
import sys, time
from pathlib import Path
import palpate.trace.save as save
write = save._WRITERS[".parquet"]
def slow(trace, file):
    file.write(b"half"), file.flush()
    Path("saving").touch()
    while not Path("go").exists(): time.sleep(0.01)
    file.seek(0), file.truncate()
    write(trace, file)
save._WRITERS[".parquet"] = slow
from palpate.cli.main import main

sys.exit(main())
"""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def started(program: Sequence[str], words: Sequence[str]) -> subprocess.Popen[str]:
    """A command that hears Ctrl-C even where the tests themselves run in the background."""
    return subprocess.Popen(
        [*program, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(INT, signal.SIG_DFL),
    )  # fmt: skip


def wait_for(there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not there():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def litter(folder: str) -> list[str]:
    """What no command may leave behind."""
    return [path.name for path in Path(folder).rglob(".palpate-*") if path.suffix in (".part", ".lock")]


def saving() -> subprocess.Popen[str]:
    process = started([sys.executable, "-c", SLOW_SAVE], LONG)
    wait_for(Path("saving").exists, process)
    return process


@pytest.mark.parametrize("kind", [INT, TERM])
def test_a_signal_while_a_finished_run_is_saved_waits_for_the_save_and_says_so(kind: signal.Signals) -> None:
    process = saving()
    process.send_signal(kind)
    assert process.stderr is not None
    said = process.stderr.readline()
    Path("go").touch()
    _, more = process.communicate(timeout=120)
    assert said == "palpate: the run has ended and is being saved; interrupt once more to cancel the save\n"
    assert (process.returncode, more, litter("o")) == (0, "", [])
    assert len(load_trace("o/trace.parquet")) == SAMPLES


def test_a_second_signal_gives_up_the_save_and_leaves_what_was_recorded_on_the_way() -> None:
    process = saving()
    Path("o/trace.partial.parts").unlink(missing_ok=True)  # as after a run of less than two seconds
    assert process.stderr is not None
    process.send_signal(TERM)
    process.stderr.readline()
    process.send_signal(INT)
    _, said = process.communicate(timeout=120)
    assert (process.returncode, said.splitlines()[-1]) == (130, "palpate: interrupted")
    assert litter("o") == []
    assert not Path("o/trace.parquet").exists()


@pytest.mark.slow  # a run that lasts long enough to be recorded on its way
def test_the_part_that_was_recorded_on_the_way_is_readable_after_two_signals() -> None:
    words = [word.replace("=20", "=4000") for word in LONG]
    process = started([sys.executable, "-c", SLOW_SAVE], words)
    wait_for(Path("saving").exists, process)
    assert process.stderr is not None
    for kind in (INT, INT):
        process.send_signal(kind)
        said = process.stderr.readline()
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert said == "palpate: the run was not saved; its first part is in o/trace.partial.parts\n"
    trace = load_trace("o/trace.partial.parts")
    assert trace.outcome.kind == "interrupted"
    assert len(trace) > 10_000


COMMANDS = {
    "run": ["run", "pendulum", "--set", "run.duration=3000", "--out", "o"],
    "sweep": ["sweep", "pendulum", "--vary", "robot.parameters.mass=uniform(0.5, 2)", "--runs", "5000", "--out", "o"],
    "derive": ["derive", "planar3", "--steps", "--html", "o.html"],
    "verify": ["verify", "001"],
}


def hears(pid: int) -> bool:
    """Whether a process is a command of palpate's by now, and no longer an interpreter that is still starting."""
    caught = next(line for line in Path("/proc", str(pid), "status").read_text().splitlines() if "SigCgt" in line)
    return bool(int(caught.split()[1], 16) >> (TERM - 1) & 1)


def spent(pid: int) -> float:
    """The processor's time that a process has taken, s: other work on the machine does not move the moment."""
    return 1e-9 * int(Path("/proc", str(pid), "schedstat").read_text().split()[0])


@pytest.mark.parametrize("moment", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("kinds", [[TERM], [INT] * 4], ids=["SIGTERM", "four times Ctrl-C"])
@pytest.mark.parametrize("command", COMMANDS)
def test_signals_end_every_command_with_130_and_leave_nothing_half_done(
    command: str, kinds: list[signal.Signals], moment: float
) -> None:
    process = started(COMMAND, COMMANDS[command])
    wait_for(lambda: hears(process.pid) and spent(process.pid) >= moment, process)
    for kind in kinds:
        process.send_signal(kind)
        time.sleep(0.1)
    _, said = process.communicate(timeout=120)
    assert (process.returncode, litter(".")) == (130, []), said
    assert "a defect of palpate" not in said


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
    assert "the record of this run needs 2.46 GB" in done.stderr

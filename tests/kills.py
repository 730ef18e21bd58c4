"""kill -9 at random moments of run, sweep, tune, verify, derive and report: nothing lost that was promised.

    python tests/kills.py --kills 50 --seed 1        (make kills)

Each command is first left in peace, which gives the bytes it writes and how long it takes: of the processor's time, so
that other work on the machine moves nothing. Then it is killed, with all processes it started, at moments drawn evenly
over the last four fifths of that time (before, it loads), and what must hold is looked at:

- Every file under its final name is whole: it has the bytes of the command that was left in peace, or can be read.
- The same command, or --resume, then ends well with the same bytes, and nothing of the killed one is left beside them.
- A file of the user's own in the folder is as it was.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from moments import COMMAND, ENDLESS

OWN = "thesis.txt"  # the user's, in the folder of every command
REVIEW = "verify.html"


@dataclass(frozen=True)
class Case:
    """A command, and what makes it whole again after a kill.

    Attributes:
        words: the command.
        again: the command after a kill, given the folder it was killed in.
        files: what it writes, below its folder; nothing else may be there at the end.
        before: a command that makes what this one reads.
    """

    words: tuple[str, ...]
    again: Callable[[Path], tuple[str, ...]]
    files: tuple[str, ...]
    before: tuple[str, ...] = ()


@dataclass
class Count:
    """What came of the kills of a command."""

    kills: int = 0
    early: int = 0  # before anything was written
    late: int = 0  # after the command had ended
    partial: int = 0  # a partial trace, or chunks, were there and were read
    faults: list[str] = field(default_factory=list)


def _same(words: tuple[str, ...]) -> Callable[[Path], tuple[str, ...]]:
    return lambda _: words


SWEEP = (
    "sweep", "pendulum", "--set", "run.duration=0.02", "--vary", "robot.parameters.mass=uniform(0.5, 2)", "--runs",
    "200", "--metrics", "energy_residual", "--workers", "0", "--no-report", "--quiet", "--out", "o",
)  # fmt: skip
TUNE = (
    "tune", "pendulum", "--set", "run.duration=0.1", "--over", "control.damping=0:2", "--minimise", "effort", "--runs",
    "24", "--workers", "0", "--no-report", "--quiet", "--out", "o",
)  # fmt: skip
RUN = ("run", "panda-wall", "--set", "run.duration=30", "--quiet", "--out", "o")
VERIFY = ("verify", "000", "--html", "o/verify.html")
DERIVE = ("derive", "planar2", "--numbers", "--c", "o")
REPORT = ("report", "t/trace.parquet", "--out", "o/report.html")
CASES = {
    "run": Case(RUN, _same(RUN), ("trace.parquet", "metrics.json", "report.html", "scenario.toml")),
    "sweep": Case(SWEEP, lambda o: _resumed("sweep", o) or SWEEP, ("table.parquet", "summary.json", "sweep.json")),
    "tune": Case(TUNE, lambda o: _resumed("tune", o) or TUNE, ("table.parquet", "summary.json", "sweep.json")),
    "verify": Case(VERIFY, _same(VERIFY), ("verify.html",)),
    "derive": Case(DERIVE, _same(DERIVE), ("planar2.c", "planar2.h", "planar2_test.c")),
    "report": Case(
        REPORT, _same(REPORT), ("report.html",),
        ("run", "panda-wall", "--set", "run.duration=5", "--no-report", "--quiet", "--out", "t"),
    ),
}  # fmt: skip


def _resumed(command: str, folder: Path) -> tuple[str, ...]:
    """The command that goes on with a sweep; nothing where it had not begun."""
    if not (folder / "sweep.json").is_file():
        return ()
    return (command, "--resume", "o", "--no-report", "--quiet", "--workers", "0")


def main() -> int:
    """Kill every command, print a table, and return how many faults there were (at most 1)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, metavar="N", help="of each command (50)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the moments (1)")
    parser.add_argument("--only", metavar="A,B", help=f"some of {','.join(CASES)}")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else list(CASES)
    print(f"{'command':8} {'kills':>6} {'early':>6} {'late':>6} {'went on':>8} {'faults':>7}", flush=True)
    faults: list[str] = []
    for name in names:
        count = killed(CASES[name], args.kills, random.Random(f"{name} {args.seed}"))
        print(
            f"{name:8} {count.kills:6} {count.early:6} {count.late:6} {count.partial:8} {len(count.faults):7}",
            flush=True,
        )
        faults += [f"{name}: {fault}" for fault in count.faults]
    print("\n".join(faults))
    return 1 if faults else 0


def killed(case: Case, kills: int, draw: random.Random) -> Count:
    """Kill a command at random moments, and count."""
    count = Count()
    with tempfile.TemporaryDirectory(prefix="palpate-kills-") as root:
        start, seconds = Path(root, "start"), 0.0
        (start / "o").mkdir(parents=True)
        if case.before:
            left_in_peace(case.before, start)
        for name in ("cold", "warm"):  # the second one tells how long it takes
            shutil.copytree(start, Path(root, name))
            seconds = left_in_peace(case.words, Path(root, name))
        whole = contents(Path(root, "warm", "o"))
        assert contents(Path(root, "cold", "o")) == whole, "the same command gives other bytes"
        assert set(case.files) <= set(whole), sorted(whole)
        for number in range(kills):
            here = Path(root, f"kill-{number}")
            shutil.copytree(start, here)
            moment = draw.uniform(0.2, 1.0) * seconds
            count.kills += 1
            for fault in one_kill(case, here, moment, whole, count):
                count.faults.append(f"killed after {moment:.3f} of {seconds:.3f} s: {fault}")
            shutil.rmtree(here)
    return count


def left_in_peace(words: tuple[str, ...], folder: Path) -> float:
    """Run a command to its end; the processor's time it took, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, timeout=ENDLESS)
    assert done.returncode == 0, f"{words}: {done.returncode} {done.stderr}"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime  # clock: only chooses random moments


def one_kill(case: Case, here: Path, moment: float, whole: dict[str, bytes], count: Count) -> Iterator[str]:
    """Kill the command once, look at what is there, let it go on, and look again; yields what is wrong."""
    ended = kill_at(case.words, here, moment)
    folder = here / "o"
    there = contents(folder) if folder.is_dir() else {}
    count.early += not there
    count.late += ended
    yield from (f"{name} is not whole" for name in there if not is_whole(name, there, whole, folder))
    if any(name.startswith("chunks/") or name.endswith(".parts") for name in there):
        count.partial += 1
    if there:
        (folder / "notes").mkdir()
        (folder / "notes" / OWN).write_text("mine")
    words = case.again(folder)
    done = subprocess.run([*COMMAND, *words], cwd=here, capture_output=True, text=True, timeout=ENDLESS)
    if done.returncode != 0:
        yield f"{' '.join(words)} then ends with {done.returncode}: {done.stderr.strip()}"
        return
    if there and contents(folder).get(f"notes/{OWN}") != b"mine":
        yield f"{OWN} of the user's is gone or changed"
    after = {name: content for name, content in contents(folder).items() if not name.startswith("notes/")}
    yield from (f"{name} is left behind" for name in sorted(after.keys() - whole.keys()))
    yield from (f"{name} is missing" for name in sorted(whole.keys() - after.keys()))
    same = sorted(after.keys() & whole.keys())
    yield from (f"{name} has other bytes than in peace" for name in same if after[name] != whole[name])


def kill_at(words: tuple[str, ...], folder: Path, moment: float) -> bool:
    """Kill a command and what it has started after some seconds of the processor; whether it had ended before."""
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while process.poll() is None:
        if spent(process.pid) >= moment:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False
        time.sleep(0.001)  # clock: how often it is looked at
    return True


def spent(pid: int) -> float:
    """The processor's time that the threads of a process have taken so far, s."""
    total = 0
    for clock in Path("/proc", str(pid), "task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # it has ended
            total += int(clock.read_text().split()[0])
    return 1e-9 * total


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, a review without the drawings: matplotlib gives them other identifiers each time."""
    files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    return {name: re.sub(rb"svg.xml;base64,[\w+/=]+", b"", c) if name == REVIEW else c for name, c in files.items()}


def is_whole(name: str, there: dict[str, bytes], whole: dict[str, bytes], folder: Path) -> bool:
    """Whether a file under its final name is as it would be in the end; temporary ones and locks may be anything."""
    if Path(name).name.endswith((".part", ".lock")):
        return True
    if name.endswith(".parts") or name.startswith("chunks/"):
        return _can_be_read(folder / name)
    return there[name] == whole.get(name)


def _can_be_read(file: Path) -> bool:
    from palpate.tools.study.running.chunk_file import read_chunk
    from palpate.trace import load_trace

    try:
        return len(load_trace(file)) >= 0 if file.suffix == ".parts" else bool(read_chunk(file))
    except Exception as error:
        print(f"{file}: {error}", file=sys.stderr)
        return False


if __name__ == "__main__":
    sys.exit(main())

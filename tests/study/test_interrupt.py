"""Interrupted, killed, out of space: what is done is kept, and the table comes out the same."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SWEEP = [
    "sweep", "pendulum", "--set", "run.duration=0.02", "--vary", "robot.parameters.mass=uniform(0.5, 2)", "--vary",
    "world.sensors.encoder_noise=uniform(0, 1e-3)", "--runs", "96", "--metrics", "energy_residual", "--no-report",
]  # fmt: skip
ALONE, TWO = ["--workers", "0"], ["--workers", "2"]
COMMAND = [sys.executable, "-m", "palpate.cli.main"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of the same sweep, left in peace."""
    folder = tmp_path_factory.mktemp("whole") / "s"
    subprocess.run([*COMMAND, *SWEEP, *ALONE, "--out", str(folder)], check=True, capture_output=True, timeout=300)
    return (folder / "table.parquet").read_bytes()


def begun(folder: Path) -> subprocess.Popen[str]:
    """A sweep that has finished some chunks and not all."""
    process = subprocess.Popen(
        [*COMMAND, *SWEEP, *TWO, "--out", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 240
    while len(list(folder.glob("chunks/*.parquet"))) < 4:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def resumed(folder: Path) -> bytes:
    command = [*COMMAND, "sweep", "--resume", str(folder), "--no-report", "--quiet", *ALONE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "P(failure) < 3.8 % with 95 % confidence (0 of 96" in done.stdout  # 1 − 0.025^(1/96) = 3.77 %
    return (folder / "table.parquet").read_bytes()


def gone(parent: int) -> None:
    """Wait until the worker processes of a sweep have ended: they never outlive it for long."""
    deadline = time.monotonic() + 60
    while any(_started_by(entry, parent) for entry in Path("/proc").glob("[0-9]*")):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _started_by(entry: Path, parent: int) -> bool:
    """Whether a process is a worker whose environment names the sweep that started it."""
    try:
        environment = (entry / "environ").read_bytes().split(b"\0")
        return (
            f"PALPATE_SWEEP={parent}".encode() in environment and b"multiprocessing" in (entry / "cmdline").read_bytes()
        )
    except OSError:
        return False


# On a busy machine SIGTERM may come before the first chunk is written.
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_sweep_that_is_stopped_goes_on_to_the_same_table(tmp_path: Path, whole: bytes, how: signal.Signals) -> None:
    folder = tmp_path / "s"
    process = begun(folder)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    done = {path.name: path.stat().st_mtime_ns for path in folder.glob("chunks/*.parquet")}
    assert 4 <= len(done) < 96
    assert not (folder / "table.parquet").exists()
    gone(process.pid)
    if how != signal.SIGKILL:
        assert process.returncode == 130
        assert f"continue with\n  palpate sweep --resume {folder}" in err
    assert resumed(folder) == whole


def test_a_full_disk_is_a_clear_error_and_the_sweep_goes_on_when_there_is_room(tmp_path: Path, whole: bytes) -> None:
    """A small file system where one may be mounted; else files that may not grow as large as the table."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = _mount("-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small))
    try:
        command = [*COMMAND, *SWEEP, *ALONE, "--out", str(small / "s")]
        limit = None if mounted else lambda: _limit_files(len(whole) // 2)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=limit)
        assert done.returncode == 2
        assert ("No space left on device" if mounted else "cannot write") in done.stderr
        assert f"palpate sweep --resume {small / 's'}" in done.stderr
        assert "Traceback" not in done.stderr
        assert not list(small.glob("s/**/*.part"))
        assert not mounted or _mount("-o", "remount,size=8m", str(small))
        assert resumed(small / "s") == whole
    finally:
        subprocess.run(["umount", str(small)], check=False, capture_output=True)


def _mount(*words: str) -> bool:
    return sys.platform == "linux" and subprocess.run(["mount", *words], capture_output=True).returncode == 0


def _limit_files(size: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

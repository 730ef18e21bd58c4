"""Interrupted, killed, out of space: what is done is kept, and the table comes out the same."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moments import COMMAND, ENDLESS, finished, held, wait_until

SWEEP = [
    "sweep", "pendulum", "--set", "run.duration=0.02", "--vary", "robot.parameters.mass=uniform(0.5, 2)", "--vary",
    "world.sensors.encoder_noise=uniform(0, 1e-3)", "--runs", "96", "--metrics", "energy_residual", "--no-report",
]  # fmt: skip
ALONE, TWO = ["--workers", "0"], ["--workers", "2"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of the same sweep, left in peace."""
    folder = tmp_path_factory.mktemp("whole") / "s"
    subprocess.run([*COMMAND, *SWEEP, *ALONE, "--out", str(folder)], check=True, capture_output=True, timeout=ENDLESS)
    return (folder / "table.parquet").read_bytes()


def begun(folder: Path) -> subprocess.Popen[str]:
    """A sweep that has written four chunks and is about to write the fifth."""
    return held([*SWEEP, *TWO, "--out", str(folder)], "palpate.tools.study.running.store:Store.write", 5)


def resumed(folder: Path) -> bytes:
    command = [*COMMAND, "sweep", "--resume", str(folder), "--no-report", "--quiet", *ALONE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENDLESS)
    assert done.returncode == 0, done.stderr
    assert "P(failure) < 3.08 % with 95 % confidence (0 of 96" in done.stdout  # 1 − 0.05^(1/96) = 3.072 %
    return (folder / "table.parquet").read_bytes()


def gone(parent: int) -> None:
    """Wait until the worker processes of a sweep have ended: they never outlive it for long."""
    wait_until(lambda: not any(_started_by(entry, parent) for entry in Path("/proc").glob("[0-9]*")))


def _started_by(entry: Path, parent: int) -> bool:
    """Whether a process is a worker whose environment names the sweep that started it."""
    try:
        environment = (entry / "environ").read_bytes().split(b"\0")
        return (
            f"PALPATE_SWEEP={parent}".encode() in environment and b"multiprocessing" in (entry / "cmdline").read_bytes()
        )
    except OSError:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_sweep_that_is_stopped_goes_on_to_the_same_table(
    tmp_path: Path, whole: bytes, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "s"
    process = begun(folder)
    process.send_signal(how)
    _, err = finished(process)
    assert len(list(folder.glob("chunks/*.json"))) == 4
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
        done = subprocess.run(command, capture_output=True, text=True, timeout=ENDLESS, preexec_fn=limit)
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

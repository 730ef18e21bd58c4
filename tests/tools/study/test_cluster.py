"""A real Dask scheduler and two workers on the loopback address, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.scenario.test_user_code import Folder
from tests.tools.study.test_user_code import job_without_the_file

import palpate as pp
from moments import ENDLESS, wait_until
from palpate.errors import StudyError
from palpate.scenario.model import Scenario
from palpate.tools.study.running.address import cluster_address
from palpate.tools.study.running.worker import RunTask, run_chunk

pytest.importorskip("distributed", reason="Dask is not installed")

from palpate.tools.study.running.cluster import DaskCluster

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own
VARY = {"robot.parameters.mass": "uniform(0.5, 2)", "world.sensors.encoder_noise": "uniform(0, 1e-3)"}
FEW = ["energy_residual"]


@dataclass
class Cluster:
    """The scheduler's address and file, and its workers."""

    address: str
    file: Path
    workers: list[subprocess.Popen[Any]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("dask")
    note = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    local = ["--scheduler-file", str(note), "--no-dashboard"]
    processes = [subprocess.Popen([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *local], **quiet)]
    wait_until(lambda: note.is_file() and note.read_text(), processes[0])
    alone = ["--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--death-timeout", str(ENDLESS)]
    processes += [subprocess.Popen([*dask, "worker", *alone, *local], **quiet) for _ in range(2)]
    yield Cluster(json.loads(note.read_text())["address"], note, processes[1:])
    for process in processes:
        process.kill()
        process.wait()


def wait_for_workers(cluster: Cluster, count: int) -> None:
    from distributed import Client

    with Client(cluster.address, timeout=ENDLESS, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=ENDLESS)


def test_the_table_is_the_local_one_and_a_killed_worker_loses_and_doubles_nothing(
    pendulum: Scenario, cluster: Cluster, tmp_path: Path
) -> None:
    local = pp.sweep(pendulum, VARY, runs=64, metrics=FEW, out=tmp_path / "local", workers=0).path.read_bytes()
    wait_for_workers(cluster, 2)
    peace = pp.sweep(pendulum, VARY, runs=64, metrics=FEW, out=tmp_path / "peace", cluster=cluster.address)
    assert peace.path.read_bytes() == local
    seen: list[int] = []

    def kill_one(done: int, total: int, failed: int) -> None:
        seen.append(done)
        if len(seen) == 6:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    found = pp.sweep(
        pendulum, VARY, runs=64, metrics=FEW, out=tmp_path / "war", cluster=str(cluster.file), progress=kill_one
    )
    assert cluster.workers[0].wait(ENDLESS) == -signal.SIGKILL
    assert seen == list(range(1, 65))  # every chunk, of one run each, once
    assert found.path.read_bytes() == local


def test_workers_get_the_text_of_own_code_that_their_machine_has_not_got(cluster: Cluster, tmp_path: Path) -> None:
    here, there = job_without_the_file(Folder(tmp_path))
    wait_for_workers(cluster, 1)
    tasks, workers = [RunTask(0, ())], DaskCluster(cluster_address(cluster.address))
    try:
        [(_, results)] = workers.results(there, [tasks])
    finally:
        workers.close()
    assert [one.row for one in results] == [one.row for one in run_chunk(here, tasks)]
    assert results[0].row["outcome"] == "completed"


def test_no_scheduler_is_a_clear_error(pendulum: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palpate.tools.study.running.cluster.PATIENCE", 1.0)
    with pytest.raises(StudyError, match=r"no Dask.*tcp://127\.0\.0\.1:9"):
        pp.sweep(pendulum, VARY, runs=2, cluster="tcp://127.0.0.1:9")


def test_a_worker_with_other_versions_is_refused(cluster: Cluster, tmp_path: Path, monkeypatch: Any) -> None:
    here, _ = job_without_the_file(Folder(tmp_path))
    wait_for_workers(cluster, 1)
    monkeypatch.setattr("palpate.tools.study.running.cluster.versions", lambda: {"palpate": "9.9.9"})
    workers = DaskCluster(cluster_address(cluster.address))
    try:
        with pytest.raises(StudyError, match=r"would.*palpate .* \(there 9\.9\.9\)"):
            list(workers.results(here, [[RunTask(0, ())]]))
    finally:
        workers.close()

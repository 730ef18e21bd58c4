"""A hundred thousand trivial runs on Dask workers: neither driver nor worker grows; `make cluster-memory`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import palpate as pp

psutil: Any = pytest.importorskip("psutil")
pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own
RUNS = int(os.environ.get("PALPATE_CLUSTER_RUNS", "100000"))
MOST_GROWTH = 0.1  # of what they take after a tenth of the runs, from there to the end


@pytest.mark.slow
def test_memory_of_driver_and_workers_is_flat(tmp_path: Path) -> None:
    """The driver hosts the scheduler, too, so that its memory is that of both."""
    scenario = pp.load_scenario("pendulum", ["run.duration=0.002", "record.stride=2"])
    measured: list[tuple[int, int, int]] = []

    def measure(done: int, total: int, failed: int) -> None:
        if done % (RUNS // 10) == 0:
            me = psutil.Process()
            workers = [child.memory_info().rss for child in me.children(recursive=True)]
            measured.append((done, me.memory_info().rss, max(workers)))

    sweep = pp.sweep(
        scenario, {"control.damping": "uniform(0, 0.2)"}, runs=RUNS, metrics=["energy_residual"], cluster="local:2",
        out=tmp_path / "swept", progress=measure,
    )  # fmt: skip
    assert len(sweep["run"]) == RUNS
    for done, driver, worker in measured:
        print(f"{done} runs: driver {driver / 1e6:.0f} MB, worker {worker / 1e6:.0f} MB")
    (_, driver_early, worker_early), (_, driver_late, worker_late) = measured[0], measured[-1]
    assert driver_late < (1 + MOST_GROWTH) * driver_early
    assert worker_late < (1 + MOST_GROWTH) * worker_early

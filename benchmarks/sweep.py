"""Many runs: what a run of a sweep costs beside its loop, how that grows with runs and processes, and its memory.

A run is one second of panda-wall at 1 kHz with a plant that differs from the law's model, so that nothing is shared;
every run has other masses, another wall and another seed. The loop alone is `run_steps` on an assembly that is there
already. PALPATE_BENCH_RUNS says how many runs the long sweep has: 10 000 for the figure that counts, 200 by default.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import Measurement
from benchmarks.loop import fill_targets
from palpate.metrics import METRICS
from palpate.run.assemble.renew import Renewable
from palpate.run.build import build
from palpate.run.loop import loop
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.tools.study.running.pool import LocalPool
from palpate.tools.study.running.worker import Job, RunTask, run_row, whole_trace
from palpate.tools.study.sweeps import sweep

RUNS = int(os.environ.get("PALPATE_BENCH_RUNS", "200"))
VARY = {
    "world.plant.mass_scale": "uniform(1.01, 1.2)",
    "world.surfaces.0.stiffness": "loguniform(5e3, 3e4)",
}
ROUNDS, TICKS = 15, 1000
BLOCKS, BLOCK = 5, 100  # turns, and runs of one process in each


def measure() -> list[Measurement]:
    """One run, then blocks by one process and by two, then many."""
    return [*_one_run(), *_side_by_side(), *_many()]


def panda_wall() -> Scenario:
    """A second of it."""
    return load_scenario("panda-wall", ["run.duration=1", "world.plant.mass_scale=1.05"])


def _one_run() -> list[Measurement]:
    """CPU time of a run in several ways, taking turns."""
    data, bounded = panda_wall().as_data(), tuple(panda_wall().metrics)
    kept = Renewable(build(panda_wall()))
    contenders: dict[str, Callable[[int], float]] = {
        "its loop alone": lambda k: _loop_time(kept),
        "with every metric": lambda k: _timed(lambda: run_row(data, _overrides(k))),
        "with the metrics that have bounds": lambda k: _timed(lambda: run_row(data, _overrides(k), bounded)),
        "whole, with its trace": lambda k: _timed(lambda: whole_trace(data, _overrides(k))),
    }
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for k in range(ROUNDS + 2):
        for name, one in contenders.items():
            taken[name].append(one(k))
    seconds = {name: float(np.median(values[2:])) for name, values in taken.items()}
    alone = seconds["its loop alone"]
    rows = [Measurement(f"a run of one second, {name}", 1e3 * value, "ms") for name, value in seconds.items()]
    rows += [
        Measurement(f"a run / its loop, all {len(METRICS)} metrics", seconds["with every metric"] / alone, "×", 1.5),
        Measurement("… the metrics that have bounds", seconds["with the metrics that have bounds"] / alone, "×", 1.3),
        Measurement("… whole, with its trace, built from nothing", seconds["whole, with its trace"] / alone, "×"),
    ]
    return rows


def _overrides(k: int) -> list[str]:
    return [f"world.plant.mass_scale={1.01 + 0.001 * k}", f"world.surfaces.0.stiffness={8000 + 100 * k}"]


def _timed(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _loop_time(kept: Renewable) -> float:
    kept.renew(kept.first)
    fill_targets(kept.assembly, TICKS + 1)
    return _timed(lambda: loop.run_steps(kept.assembly.loop.address, TICKS + 1))


def _side_by_side() -> list[Measurement]:
    """Blocks of runs by one process and by two in turns, beside a processor's own work by one and by two."""
    job = Job(panda_wall().as_data(), tuple(METRICS))
    pools = {1: LocalPool(1), 2: LocalPool(2)}
    taken: dict[str, list[float]] = {"speed": [], "ticks": [], "machine": []}
    try:
        for pool in pools.values():
            _block(pool, job, 2)  # warms up
        for _ in range(BLOCKS):
            one, two = _block(pools[1], job, BLOCK) / BLOCK, _block(pools[2], job, 2 * BLOCK) / (2 * BLOCK)
            taken["speed"].append(one / two)
            taken["ticks"].append(TICKS / two)
            taken["machine"].append(2.0 * _spinning(1) / _spinning(2))
    finally:
        for pool in pools.values():
            pool.close()
    speed, ticks, machine = (float(np.median(values)) for values in taken.values())
    return [
        Measurement("two processes over one, runs a second", speed, "×", 1.7, at_least=True),
        Measurement("… what the machine gives two busy processes over one", machine, "×"),
        Measurement("… as a share of that", speed / machine, "×", 0.9, at_least=True),
        Measurement("two processes, ticks a second", ticks, "1/s"),
    ]


def _block(pool: LocalPool, job: Job, runs: int) -> float:
    """Seconds of some runs, in chunks of five."""
    tasks = [RunTask(k, tuple(_overrides(k))) for k in range(runs)]
    start = time.perf_counter()
    for _ in pool.results(job, [tasks[k : k + 5] for k in range(0, runs, 5)]):
        pass
    return time.perf_counter() - start


def _spinning(processes: int) -> float:
    """Seconds in which so many processes count at the same time, each by its own clock, the slowest one's."""
    code = "import time; s = time.perf_counter(); sum(i * i for i in range(4_000_000)); print(time.perf_counter() - s)"
    begun = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return max(float(process.communicate()[0]) for process in begun)


def _many() -> list[Measurement]:
    """Many runs by two processes: CPU with everything in it, starting included, and peak memory."""
    few, many = max(RUNS // 10, 1), RUNS
    two = _swept(many, 2)
    pace = [Measurement(f"… after {done} runs", done * TICKS / seconds, "1/s") for done, seconds in two.pace]
    return [
        Measurement(f"{many} runs, two processes, CPU of a run", 1e3 * two.cpu / many, "ms"),
        Measurement(f"{many} runs, two processes, ticks a second from nothing", many * TICKS / two.wall, "1/s"),
        *pace,
        Measurement(f"peak memory of the sweep, at {many} runs over at {few}", two.own[1] / two.own[0], "×", 1.1),
        Measurement(
            f"peak memory of its workers, at {many} runs over at {few}", two.worker[1] / two.worker[0], "×", 1.1
        ),
        Measurement(f"peak memory of the sweep, at {many} runs", two.own[1], "MB"),
        Measurement(f"peak memory of its largest worker, at {many} runs", two.worker[1], "MB"),
    ]


@dataclass(frozen=True)
class Swept:
    """A sweep: its seconds and CPU seconds, peak MB after a tenth of it and at its end, and seconds after some runs."""

    wall: float
    cpu: float
    own: tuple[float, float]
    worker: tuple[float, float]
    pace: list[tuple[int, float]]


def _swept(runs: int, workers: int) -> Swept:
    """Run it in a process of its own, so that nothing else counts."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", _CODE, str(runs), str(workers), f"{folder}/out"]
        out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return Swept(**json.loads(out.splitlines()[-1]))


_CODE = """
import sys
from benchmarks.sweep import swept_here
print(swept_here(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
"""


def swept_here(runs: int, workers: int, folder: str) -> str:
    """Make a sweep and watch it: `Swept` as JSON. Kernels are ready, and starting processes counts."""
    peaks: list[tuple[float, float]] = []
    pace: list[tuple[int, float]] = []
    start = time.perf_counter()

    def watch(done: int, total: int, failed: int) -> None:
        if done >= 10 ** (len(pace) + 1):
            pace.append((done, time.perf_counter() - start))
        if (not peaks and done >= total // 10) or done >= total:
            peaks.append(_peaks())

    sweep(panda_wall(), VARY, method="random", runs=runs, workers=workers, out=folder, progress=watch)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    first, last = peaks[0], peaks[-1]
    own, worker = zip(first, last)
    return json.dumps({"wall": time.perf_counter() - start, "cpu": cpu, "own": own, "worker": worker, "pace": pace})


def _peaks() -> tuple[float, float]:
    """Peak resident MB of this process and of its largest child, so far."""
    mine = os.getpid()
    children = [_status(entry) for entry in Path("/proc").glob("[0-9]*") if entry.name != str(mine)]
    kids = [found.get("VmHWM", 0.0) for found in children if found.get("PPid") == mine]
    return _status(Path(f"/proc/{mine}"))["VmHWM"] / 1024, max(kids, default=0.0) / 1024


def _status(entry: Path) -> dict[str, float]:
    try:
        lines = (entry / "status").read_text("utf-8").splitlines()
    except OSError:
        return {}
    words = [line.split() for line in lines if line.startswith(("PPid:", "VmHWM:"))]
    return {word[0][:-1]: float(word[1]) for word in words}

"""Many runs: what a run of a sweep costs beside its loop, how that grows with runs and workers, and its memory.

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from benchmarks import Measurement
from benchmarks.loop import bare_steps, fill_targets
from palpate.engine.physics import Physics
from palpate.metrics import METRICS
from palpate.run.assemble.assemble import assemble
from palpate.run.assemble.renew import Renewable
from palpate.run.build import build
from palpate.run.loop import loop
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.tools.study.running.pool import LocalPool, Threads
from palpate.tools.study.running.worker import Job, RunTask, run_row, whole_trace
from palpate.tools.study.sweeps import sweep

RUNS = int(os.environ.get("PALPATE_BENCH_RUNS", "200"))
VARY = {
    "world.plant.mass_scale": "uniform(1.01, 1.2)",
    "world.surfaces.0.stiffness": "loguniform(5e3, 3e4)",
}
ROUNDS, TICKS = 15, 1000
BLOCKS, BLOCK = 5, 300  # turns, and runs of one worker in each: so many that the last hand-over does not count


def measure() -> list[Measurement]:
    """One run, then blocks by one worker and by two, then many."""
    return [*_one_run(), *_side_by_side(), *_many()]


def panda_wall() -> Scenario:
    """A second of it."""
    return load_scenario("panda-wall", ["run.duration=1", "world.plant.mass_scale=1.05"])


def _one_run() -> list[Measurement]:
    """CPU time of a run in several ways, taking turns: in the runs of a worker that is a thread, and alone."""
    data, bounded = panda_wall().as_data(), tuple(panda_wall().metrics)
    kept, worker = Renewable(build(panda_wall())), Threads(1)
    every, some = Job(data, tuple(METRICS)), Job(data, bounded)
    contenders: dict[str, Callable[[int], float]] = {
        "its loop alone": lambda k: loop_seconds(kept),
        "with every metric": lambda k: _cpu_of_a_run(worker, every),
        "with the metrics that have bounds": lambda k: _cpu_of_a_run(worker, some),
        "alone, with every metric": lambda k: _timed(lambda: run_row(data, _overrides(k))),
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
        Measurement("… the metrics that have bounds", seconds["with the metrics that have bounds"] / alone, "×", 1.15),
        Measurement("… whole, with its trace, built from nothing", seconds["whole, with its trace"] / alone, "×"),
    ]
    return rows


def _cpu_of_a_run(pool: Threads, job: Job) -> float:
    """CPU seconds of a run among those of a block."""
    start = time.process_time()
    _block(pool, job, BLOCK)
    return (time.process_time() - start) / BLOCK


def _overrides(k: int) -> list[str]:
    return [f"world.plant.mass_scale={1.01 + 0.001 * k}", f"world.surfaces.0.stiffness={8000 + 100 * k}"]


def _timed(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def loop_seconds(kept: Renewable) -> float:
    """Of a second of the loop alone."""
    kept.renew(kept.first)
    fill_targets(kept.assembly, TICKS + 1)
    return _timed(lambda: loop.run_steps(kept.assembly.loop.address, TICKS + 1))


def _side_by_side() -> list[Measurement]:
    """Blocks of runs by one worker and by two in turns, beside bare mj_step in one thread and in two.

    Workers are threads, which share one process, then processes. One has half of the runs of two.
    """
    every, bounded = (Job(panda_wall().as_data(), metrics) for metrics in (tuple(METRICS), tuple(panda_wall().metrics)))
    kinds = {
        "threads": (Threads, every),
        "threads, bounded metrics": (Threads, bounded),
        "processes": (LocalPool, every),
    }
    pools = {(name, n): (pool(n), job) for name, (pool, job) in kinds.items() for n in (1, 2)}
    bare, taken = BareSteps(), dict[tuple[str, int], list[float]]()
    try:
        for pool, job in pools.values():
            _block(pool, job, 6)  # warms up
        for _ in range(BLOCKS):
            for n in (1, 2):
                taken.setdefault(("mj_step", n), []).append(bare.seconds(n))
            for (name, n), (pool, job) in pools.items():
                taken.setdefault((name, n), []).append(_block(pool, job, n * BLOCK) / (n * BLOCK * TICKS))
    finally:
        for pool, _ in pools.values():
            pool.close()
    tick = {contender: float(np.median(values)) for contender, values in taken.items()}
    machine = tick["mj_step", 1] / tick["mj_step", 2]
    rows = [
        Measurement("bare mj_step, ticks a second in two threads", 1.0 / tick["mj_step", 2], "1/s"),
        Measurement("bare mj_step, two threads over one", machine, "×"),
    ]
    for name in kinds:
        speed, beside = tick[name, 1] / tick[name, 2], tick["mj_step", 2] / tick[name, 2]
        goals = (None, None) if name == "processes" else (1.8, 0.95)  # runs on equations are made in threads
        share = speed / machine
        rows += [
            Measurement(f"two {name}: ticks a second", 1.0 / tick[name, 2], "1/s"),
            Measurement(f"two {name}, over those of bare mj_step in two threads", beside, "×", goals[0], at_least=True),
            Measurement(f"two {name} over one, runs a second", speed, "×"),
            Measurement(f"two {name} over one, as a share of mj_step's own", share, "×", goals[1], at_least=True),
        ]
    return rows


class BareSteps:
    """mj_step of the scenario's plant, at rest, in threads."""

    def __init__(self) -> None:
        self._model = assemble(build(panda_wall())).plant.model
        self._start = build(panda_wall()).start()[0]

    def seconds(self, threads: int) -> float:
        """Of a tick, where each thread makes as many."""
        start = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(self._run, range(threads)))
        return (time.perf_counter() - start) / (threads * 20 * TICKS)

    def _run(self, number: int) -> None:
        data = mujoco.MjData(self._model)
        data.qpos[: len(self._start)] = self._start
        physics = Physics.of(self._model, data)
        bare_steps(physics.address, 20 * TICKS)


def _block(pool: Threads | LocalPool, job: Job, runs: int) -> float:
    """Seconds of some runs, in chunks of five."""
    tasks = [RunTask(k, tuple(_overrides(k))) for k in range(runs)]
    start = time.perf_counter()
    for _ in pool.results(job, [tasks[k : k + 5] for k in range(0, runs, 5)]):
        pass
    return time.perf_counter() - start


def _many() -> list[Measurement]:
    """Many runs by two workers: CPU with everything in it, starting included, and peak memory."""
    few, many = max(RUNS // 10, 1), RUNS
    two = _swept(many, 2)
    bare = BareSteps()
    bare.seconds(2)
    beside = float(np.median([bare.seconds(2) for _ in range(3)])) * many * TICKS / two.wall
    pace = [Measurement(f"… after {done} runs", done * TICKS / seconds, "1/s") for done, seconds in two.pace]
    return [
        Measurement(f"{many} runs, two workers, CPU of a run", 1e3 * two.cpu / many, "ms"),
        Measurement(f"{many} runs, two workers, ticks a second from nothing", many * TICKS / two.wall, "1/s"),
        Measurement("… from nothing, over those of bare mj_step in two threads", beside, "×", 0.5, at_least=True),
        *pace,
        Measurement(f"peak memory of the sweep, at {many} runs over at {few}", two.own[1] / two.own[0], "×", 1.1),
        Measurement(f"peak memory of the sweep, at {many} runs", two.own[1], "MB"),
    ]


@dataclass(frozen=True)
class Swept:
    """A sweep: its seconds and CPU seconds, peak MB after a tenth of it and at its end, and seconds after some runs."""

    wall: float
    cpu: float
    own: tuple[float, float]
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
    peaks: list[float] = []
    pace: list[tuple[int, float]] = []
    start = time.perf_counter()

    def watch(done: int, total: int, failed: int) -> None:
        if done >= 10 ** (len(pace) + 1):
            pace.append((done, time.perf_counter() - start))
        if (not peaks and done >= total // 10) or done >= total:
            peaks.append(_peak())

    sweep(panda_wall(), VARY, method="random", runs=runs, workers=workers, out=folder, progress=watch)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    own = peaks[0], peaks[-1]
    return json.dumps({"wall": time.perf_counter() - start, "cpu": cpu, "own": own, "pace": pace})


def _peak() -> float:
    """Peak resident MB of this process so far."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024

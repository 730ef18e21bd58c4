"""The exported law's tick in C, mean and worst, beside the loop's whole tick, from which it was taken.

`panda-wall` is exported with the robot's model inside, built with `cc` and replayed; the loop runs the same scenario
tick by tick. The worst tick is that of the quietest of several replays: on a busy machine others have it at times.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import Measurement
from benchmarks.loop import fill_targets
from palpate.checks import Array
from palpate.run.assemble.assemble import assemble
from palpate.run.loop import loop
from palpate.run.simulate import as_run
from palpate.tools.exporting import export

SCENARIO, TICKS, ROUNDS = "panda-wall", 2000, 20


def measure() -> list[Measurement]:
    """Mean and worst tick of both, and the stack that the law takes."""
    with tempfile.TemporaryDirectory() as folder:
        done = export(SCENARIO, Path(folder) / "law", ticks=TICKS)
        subprocess.run(["make", "-C", done.folder, "replay"], check=True, capture_output=True)
        law = np.array([_replayed(done.folder) for _ in range(ROUNDS)])
    ours = np.array([_looped() for _ in range(ROUNDS)])
    return [
        Measurement("exported law with its model, mean tick", float(np.median(law[:, 1])), "µs"),
        Measurement("exported law with its model, worst tick", float(law[:, 0].min()), "µs"),
        Measurement("the loop's whole tick, mean", float(np.median(ours.mean(axis=1))), "µs"),
        Measurement("the loop's whole tick, worst", float(ours.max(axis=1).min()), "µs"),
        Measurement("exported law, largest stack frame", float(done.frame), "B"),
    ]


def _replayed(folder: Path) -> tuple[float, float]:
    """Worst and mean microseconds that the exported program prints."""
    said = subprocess.run(["./replay", "vectors.bin"], cwd=folder, check=True, capture_output=True, text=True).stdout
    worst, mean = re.findall(r"(\d+) ns", said)
    return float(worst) / 1e3, float(mean) / 1e3


def _looped() -> Array:
    """Microseconds of each tick of the loop, one call each."""
    assembly = assemble(as_run(SCENARIO))
    fill_targets(assembly, TICKS + 1)
    taken = np.empty(TICKS)
    for k in range(TICKS):
        start = time.perf_counter()
        loop.run_steps(assembly.loop.address, 1)
        taken[k] = time.perf_counter() - start
    return 1e6 * taken

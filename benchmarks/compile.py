"""Compiling: CPU seconds from nothing and from the cache, for the loop with a first law and for each further law.

Every number is of a process of its own. From nothing, kernels go to an empty folder; a further law finds those of the
loop and of the laws before it there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks import Measurement
from palpate.control import LAWS

FIRST = "computed-torque"
_CODE = """
import sys, time
from palpate.scenario.model import law_class
import palpate.run.loop.loop as loop
import palpate.run.simulate
law = law_class(sys.argv[1]).kernel if hasattr(law_class(sys.argv[1]), "kernel") else None
start = time.process_time()
if sys.argv[2] == "loop":
    for kernel in (loop.first_half, loop.second_half, loop.run_steps):
        kernel.ready()
if law is not None:
    law.ready()
print(time.process_time() - start)
"""


def measure() -> list[Measurement]:
    """First law, further laws, and everything again from the cache."""
    rows, total = [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        first = seconds(FIRST, "loop", folder)
        rows.append(Measurement(f"loop and {FIRST}, from nothing", first, "s CPU", 12.0))
        for name in LAWS:
            taken = seconds(name, "law", folder)
            total += taken
            if name != FIRST:
                rows.append(Measurement(f"{name}, further", taken, "s CPU", 4.0))
        rows.append(Measurement("every further law together", total, "s CPU"))
        rows.append(Measurement(f"loop and {FIRST}, from the cache", seconds(FIRST, "loop", folder), "s CPU", 1.0))
    return rows


def seconds(law: str, what: str, folder: str) -> float:
    """CPU seconds that a fresh process takes to make a law's kernel ready, with the loop's if asked."""
    environment = {**os.environ, "PALPATE_CACHE_DIR": folder}
    words = [sys.executable, "-c", _CODE, law, what]
    return float(subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout.split()[-1])

"""The loop, the laws, a sweep's run and compiling beside an older checkout of palpate, in turns: what is slower now?

PALPATE_BENCH_BEFORE names the older checkout's folder; without it nothing is measured. Each round is a process of its
own in each checkout, with that checkout's own benchmark code. The loop's numbers are over bare physics in the same
process; what a law adds is in bare steps, a run of a sweep and compiling are in CPU time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks import Measurement

ROUNDS = 3
_CODE = """
import json, tempfile
import numpy as np
import benchmarks.compile as compiling, benchmarks.loop as loop, benchmarks.laws as laws, benchmarks.sweep as sweep
parts = loop.pressing()
runs = {"loop": loop._timed(parts), "loop, separate nominal model": loop._timed(loop.another_nominal_model(parts))}
runs["bare"] = loop._bare(parts)
taken = {name: [] for name in runs}
for _ in range(16):
    for name, run in runs.items():
        taken[name].append(run())
found = {name: float(np.percentile(values[1:], 10)) for name, values in taken.items()}
found = {name: value / found["bare"] for name, value in found.items() if name != "bare"}
found |= {row.name: row.value for row in laws._in_the_loop() if "adds to the loop" in row.name}
found |= {row.name: row.value for row in sweep._one_run() if row.unit == "ms"}
with tempfile.TemporaryDirectory() as folder:
    found["compiling the loop and a first law"] = compiling.seconds(compiling.FIRST, "loop", folder)
    for law in ("cartesian-impedance", "hybrid-force", "admittance"):
        found["compiling a further law, " + law] = compiling.seconds(law, "law", folder)
    found["the same from the cache"] = compiling.seconds(compiling.FIRST, "loop", folder)
print(json.dumps(found))
"""


def measure() -> list[Measurement]:
    """Now over before, for everything that both have."""
    older = os.environ.get("PALPATE_BENCH_BEFORE")
    if not older:
        print("PALPATE_BENCH_BEFORE names no older checkout to compare with")
        return []
    here = Path(__file__).parents[1]
    pairs = [(_ratios(here), _ratios(Path(older))) for _ in range(ROUNDS)]
    both = [name for name in pairs[0][0] if all(name in old for _, old in pairs)]
    return [_compared(name, *(float(np.median([pair[k][name] for pair in pairs])) for k in (0, 1))) for name in both]


def _compared(name: str, now: float, then: float) -> Measurement:
    """A ratio; of what a law adds, which may be next to nothing, the difference in bare steps."""
    words = f"{name}: now {now:.3g}, before {then:.3g}"
    if "adds to the loop" in name:
        return Measurement(f"{words}; now − before", now - then, "bare steps", 0.1)
    return Measurement(f"{words}; now / before", now / then, "×", 1.1)


def _ratios(checkout: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    words = [sys.executable, "-c", _CODE]
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment, cwd=checkout)
    return json.loads(done.stdout.splitlines()[-1])

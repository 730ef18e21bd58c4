"""One benchmark in a process of its own, several times: `python -m benchmarks._repeat NAME FILE REPEATS SECONDS`.

After every repeat FILE holds all numbers so far, so that a time-out loses only the repeat it falls into.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path


def main(name: str, file: Path, repeats: int, seconds: float) -> None:
    """Repeat until the time is over, but at least once."""
    module, start, rounds = importlib.import_module(f"benchmarks.{name}"), time.perf_counter(), []
    for _ in range(repeats):
        rounds.append([asdict(row) for row in module.measure()])
        file.write_text(json.dumps(rounds), encoding="utf-8")
        if time.perf_counter() - start > seconds:
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))

"""The traces of all shipped scenarios, compared bit for bit across a change that must not change a number.

    python tests/trace_hashes.py store before.json      # on the code before the change
    python tests/trace_hashes.py compare before.json    # on the code after it; exit code 1 and what differs
    python tests/trace_hashes.py store before.json panda-wall pendulum

A hash of every channel (name, unit, shape, numbers), of the outcome, of the warnings and of the remarks is kept, so
that a difference is named. The traces of one machine are compared with each other, not with those of another.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path

from palpate.run.simulate import simulate
from palpate.scenario.file.folders import shipped
from palpate.trace import Trace


def hashes(trace: Trace) -> dict[str, str]:
    """A hash for each channel of a trace, its outcome, warnings and remarks."""
    parts = {name: repr((trace.units[name], trace[name].shape)).encode() + trace[name].tobytes() for name in trace}
    told = {"outcome": trace.outcome, "warnings": trace.warnings, "remarks": trace.facts.remarks}
    parts |= {f"({name})": repr(value).encode() for name, value in told.items()}
    return {name: hashlib.sha256(content).hexdigest()[:16] for name, content in parts.items()}


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The parts of a trace that are not the same, or not in both."""
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]


def main(task: str, file: str, *names: str) -> int:
    """Store the hashes of the named scenarios' traces, all by default, or compare with those that were stored."""
    warnings.simplefilter("ignore")
    path, differing = Path(file), 0
    before = json.loads(path.read_text()) if task == "compare" else {}
    found = {}
    for name in names or before or sorted(shipped()):
        found[name] = hashes(simulate(name))
        if task == "compare" and (parts := differences(before.get(name, {}), found[name])):
            differing += 1
            print(f"{name}: {', '.join(parts)}", flush=True)
    if task == "store":
        path.write_text(json.dumps(found, indent=1))
        print(f"{len(found)} traces stored")
    else:
        print(f"{len(found)} traces compared, {differing} differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

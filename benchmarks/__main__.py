"""Run every benchmark: `python -m benchmarks [NAME …] [--repeats 5] [--seconds 30] [--page RESULTS.md] [--out FILE]`.

Each runs in a process of its own, is repeated while its share of the time lasts, and is ended when it takes too long;
one that fails is named with its reason, and the others go on.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import benchmarks
from benchmarks import Measurement
from benchmarks._page import Line, Outcome, conditions, lines_of, page, spread, verdict
from benchmarks.peers.elsewhere import NOT_COMPARED, versions_elsewhere

ROOT = Path(__file__).parents[1]
LONG_SWEEP = Path(__file__).parent / "long_sweep.json"  # what `make bench-sweep` found last, for every page
TIMEOUT = 300.0  # s, of one benchmark
# Threads that a library of linear algebra starts spin while they wait: CPU seconds that compute nothing.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


def names() -> list[str]:
    """The benchmarks there are."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.ispkg and m.name[0] != "_")


def title(name: str) -> str:
    """The first paragraph of a benchmark's docstring, which is read without importing it."""
    spec = importlib.util.find_spec(f"benchmarks.{name}")
    text = Path(spec.origin).read_text("utf-8") if spec and spec.origin else '""""""'
    return " ".join(text.split('"""')[1].split("\n\n")[0].split())


def run(name: str, repeats: int, seconds: float, timeout: float) -> Outcome:
    """A benchmark, several times, in a process of its own."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rounds.json"
        words = [sys.executable, "-m", "benchmarks._repeat", name, str(file), str(repeats), str(seconds)]
        said, problem = _ended(words, timeout)
        rounds = json.loads(file.read_text("utf-8")) if file.exists() else []
    lines = lines_of([[Measurement(**row) for row in rows] for rows in rounds])
    if not lines and not problem:
        problem = said.strip().splitlines()[-1] if said.strip() else "it found nothing to measure"
    notes = dict.fromkeys(line for line in said.splitlines() if NOT_COMPARED in line and line != problem)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return Outcome(name, title(name), lines, time.perf_counter() - start, load, problem, tuple(notes))


def _ended(words: Sequence[str], timeout: float) -> tuple[str, str]:
    """What a process said, and why it did not end as it should."""
    environment, pipe = {**os.environ, **ONE_THREAD}, subprocess.PIPE
    with subprocess.Popen(
        words, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, start_new_session=True, env=environment
    ) as process:
        try:
            said, complaint = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            _end_group(process.pid)
            return process.communicate()[0], f"ended after {timeout:g} s"
    if process.returncode == 0:
        return said, ""
    last = [line for line in complaint.splitlines() if line.strip()][-1:]
    return said, last[0] if last else f"ended with exit code {process.returncode}"


def _end_group(pid: int) -> None:
    """End a process and what it started."""
    try:
        os.killpg(pid, 9)
    except OSError:
        return


def show(outcome: Outcome) -> None:
    """Print one benchmark's lines."""
    print(f"\n{outcome.name}, {outcome.seconds:.0f} s {outcome.problem}".rstrip(), flush=True)
    width = max((len(line.row.name) for line in outcome.lines), default=0)
    for line in outcome.lines:
        between = f" ({spread(line)})" if spread(line) else ""
        goal = f" goal {verdict(line)}" if verdict(line) else ""
        print(f"  {line.row.name:<{width}}  {line.median:10.4g} {line.row.unit:<4}{between}{goal}".rstrip(), flush=True)


def as_json(outcomes: Sequence[Outcome]) -> str:
    """Every number of every repeat, how long each benchmark took, and the machine's load when it ended."""
    rows = {o.name: [{**asdict(line.row), "values": line.values} for line in o.lines] for o in outcomes}
    problems = {o.name: o.problem for o in outcomes if o.problem}
    took = {o.name: {"seconds": o.seconds, "load": o.load} for o in outcomes}
    whole = {**conditions(versions_elsewhere()), "took": took, "results": rows, "problems": problems}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def long_sweep(file: Path = LONG_SWEEP) -> Outcome:
    """The last sweep of 10 000 runs, which is not repeated for every page: its numbers, when and where it was made."""
    if not file.exists():
        return Outcome("long_sweep", "", problem="10 000 runs have not been measured yet (`make bench-sweep` does)")
    found = json.loads(file.read_text("utf-8"))
    lines = [
        Line(Measurement(**{key: value for key, value in row.items() if key != "values"}), tuple(row["values"]))
        for row in found["results"]["sweep"]
    ]
    made = f"Made by `make bench-sweep` on {found['date']}: palpate {found['palpate']}; {found['machine']}."
    took = found["took"]["sweep"]
    return Outcome("long_sweep", f"`sweep` with 10 000 runs. {made}", tuple(lines), took["seconds"], took["load"])


def _left_out(asked: Sequence[str]) -> list[Outcome]:
    return [Outcome(name, title(name), problem="not asked for this time") for name in names() if name not in asked]


def main() -> None:
    """Run, print, and write what was asked for; exit code 1 where one failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"which benchmarks, of {', '.join(names())}; all by default")
    parser.add_argument("--repeats", type=int, default=5, help="how often each is run at most, for the spread")
    parser.add_argument("--seconds", type=float, default=30.0, help="no further repeat of one begins after this time")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds after which one is ended")
    parser.add_argument("--out", type=Path, help="also write the numbers to this JSON file")
    parser.add_argument("--page", type=Path, help="also write them as a page, losses first")
    chosen = parser.parse_args()
    if unknown := set(chosen.name) - set(names()):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    outcomes: list[Outcome] = []
    asked = chosen.name or names()
    for name in asked:
        outcomes.append(run(name, max(chosen.repeats, 1), chosen.seconds, chosen.timeout))
        show(outcomes[-1])
        if chosen.page:
            whole = page([*outcomes, *_left_out(asked), long_sweep()], versions_elsewhere())
            chosen.page.write_text(whole, encoding="utf-8")
    if chosen.out:
        chosen.out.write_text(as_json(outcomes), encoding="utf-8")
    sys.exit(any(outcome.problem and not outcome.lines for outcome in outcomes))


if __name__ == "__main__":
    main()

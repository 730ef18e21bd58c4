"""Run every benchmark: `python -m benchmarks [NAME …] [--repeats 3] [--page RESULTS.md] [--out results.json]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from statistics import median

import benchmarks
from benchmarks import Measurement

PACKAGES = (
    "palpate", "mujoco-core", "numba", "numpy", "pin", "pin-pink", "drake", "roboticstoolbox-python", "mink", "placo",
)  # fmt: skip


def names() -> list[str]:
    """The benchmarks there are."""
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.ispkg and m.name[0] != "_")


def versions() -> dict[str, str]:
    """What is installed of the packages that take part."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class Line:
    """A measurement over repeats: their median, smallest and largest."""

    row: Measurement
    low: float
    high: float

    @property
    def lost(self) -> bool:
        """Whether a goal was missed."""
        return self.row.reached is False


def repeated(name: str, repeats: int) -> list[Line]:
    """A benchmark, several times."""
    module = importlib.import_module(f"benchmarks.{name}")
    rounds = [module.measure() for _ in range(repeats)]
    lines = []
    for place, first in enumerate(rounds[0]):
        values = [rows[place].value for rows in rounds if place < len(rows) and rows[place].name == first.name]
        lines.append(Line(replace(first, value=median(values)), min(values), max(values)))
    return lines


def show(name: str, lines: list[Line]) -> None:
    """Print one benchmark's lines."""
    print(f"\n{name}", flush=True)
    width = max((len(line.row.name) for line in lines), default=0)
    for line in lines:
        row = line.row
        spread = "" if line.low == line.high else f" ({line.low:.4g} to {line.high:.4g})"
        print(f"  {row.name:<{width}}  {row.value:10.4g} {row.unit:<4}{spread} {verdict(row)}".rstrip(), flush=True)


def verdict(row: Measurement) -> str:
    """Whether a goal is reached, in words."""
    if row.goal is None:
        return ""
    return f"goal {'≥' if row.at_least else '≤'} {row.goal:g}: {'reached' if row.reached else 'MISSED'}"


def conditions() -> dict[str, str]:
    """Machine and load, without which times say nothing."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {_processor()}",
        "system": f"{platform.system()}, Python {platform.python_version()}",
        "load average": f"{load:.1f} when the last benchmark ended",
        **versions(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def page(results: Mapping[str, list[Line]], repeats: int) -> str:
    """RESULTS.md: what was lost first, then everything."""
    head = [
        "# Results",
        "",
        f"Written by `make bench`. Medians of {repeats} repeats, smallest and largest beside them;",
    ]
    head += ["what counts is ratios. docs/benchmarks.md says what each line means.", "", "## Where we lose", ""]
    lost = [(name, line) for name, lines in results.items() for line in lines if line.lost]
    body = [*_table([(f"{name}: ", line) for name, line in lost])] if lost else ["Nowhere, by the goals set."]
    for name, lines in results.items():
        body += ["", f"## {name}", "", *_table([("", line) for line in lines])]
    body += ["", "## Conditions", "", *(f"- {key}: {value}" for key, value in conditions().items())]
    missing = sorted(set(PACKAGES) - set(versions()))
    if missing:
        body.append(f"- not installed, so not compared: {', '.join(missing)}")
    return "\n".join([*head, *body]) + "\n"


def _table(lines: list[tuple[str, Line]]) -> list[str]:
    rows = ["| | found | spread | goal |", "|---|---|---|---|"]
    for prefix, line in lines:
        row = line.row
        spread = "" if line.low == line.high else f"{line.low:.4g} … {line.high:.4g}"
        rows.append(f"| {prefix}{row.name} | {row.value:.4g} {row.unit} | {spread} | {verdict(row)[5:]} |")
    return rows


def main() -> None:
    """Run, print, and write what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"which benchmarks, of {', '.join(names())}; all by default")
    parser.add_argument("--repeats", type=int, default=1, help="how often each is run, for the spread")
    parser.add_argument("--out", type=Path, help="also write the numbers to this JSON file")
    parser.add_argument("--page", type=Path, help="also write them as a page, losses first")
    chosen = parser.parse_args()
    if unknown := set(chosen.name) - set(names()):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    results: dict[str, list[Line]] = {}
    for name in chosen.name or names():
        results[name] = repeated(name, max(chosen.repeats, 1))
        show(name, results[name])
        if chosen.page:
            chosen.page.write_text(page(results, max(chosen.repeats, 1)), encoding="utf-8")
    if chosen.out:
        rows = {
            name: [{**asdict(line.row), "low": line.low, "high": line.high} for line in lines]
            for name, lines in results.items()
        }
        chosen.out.write_text(json.dumps({**conditions(), "results": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()

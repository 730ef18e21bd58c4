"""Run every benchmark: `python -m benchmarks [NAME …] [--out results.json]`."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import platform
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

import benchmarks
from benchmarks import Measurement

PACKAGES = ("palpate", "mujoco-core", "numba", "numpy", "pin", "pin-pink", "drake", "roboticstoolbox-python")


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


def show(name: str, rows: list[Measurement]) -> None:
    """Print one benchmark's lines."""
    print(f"\n{name}")
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        print(f"  {row.name:<{width}}  {row.value:10.4g} {row.unit:<4}{_verdict(row)}")


def _verdict(row: Measurement) -> str:
    if row.goal is None:
        return ""
    return f"goal {'≥' if row.at_least else '≤'} {row.goal:g}: {'reached' if row.reached else 'MISSED'}"


def main() -> None:
    """Run, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"which benchmarks, of {', '.join(names())}; all by default")
    parser.add_argument("--out", type=Path, help="also write the numbers to this JSON file")
    chosen = parser.parse_args()
    if unknown := set(chosen.name) - set(names()):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    results = {}
    for name in chosen.name or names():
        results[name] = importlib.import_module(f"benchmarks.{name}").measure()
        show(name, results[name])
    if chosen.out:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
        rows = {name: [asdict(row) for row in rows] for name, rows in results.items()}
        chosen.out.write_text(json.dumps({"versions": versions(), **machine, "results": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()

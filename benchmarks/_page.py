"""What `make bench` writes: losses first, then what could not be measured, then every number with its spread."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import numpy as np

from benchmarks import Measurement

PACKAGES = ("palpate", "mujoco-core", "numba", "numpy", "scipy", "pin", "pin-pink", "mink", "drake")


@dataclass(frozen=True)
class Line:
    """A measurement over repeats."""

    row: Measurement
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The number that counts."""
        return float(np.median(self.values))

    @property
    def quartiles(self) -> tuple[float, float]:
        """Between which half of the repeats lie."""
        low, high = np.percentile(self.values, [25, 75])
        return float(low), float(high)

    @property
    def reached(self) -> bool | None:
        """Whether the median reaches the goal; None without one."""
        return self.row.reaches(self.median)

    @property
    def miss(self) -> float:
        """By which factor the goal is missed; 1 is reached."""
        if self.row.goal is None or self.reached:
            return 1.0
        return self.row.goal / self.median if self.row.at_least else self.median / self.row.goal


@dataclass(frozen=True)
class Outcome:
    """A benchmark that was run.

    Attributes:
        title: what it is about.
        lines: what it found.
        seconds: how long it took, all repeats together.
        load: of the machine when it ended.
        problem: why it did not end as it should; empty otherwise.
        notes: what it said on the way, such as who was not compared.
    """

    name: str
    title: str
    lines: tuple[Line, ...] = ()
    seconds: float = 0.0
    load: float = float("nan")
    problem: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def repeats(self) -> int:
        """How often it was run."""
        return max((len(line.values) for line in self.lines), default=0)


def lines_of(rounds: Sequence[Sequence[Measurement]]) -> tuple[Line, ...]:
    """The measurements of all repeats, by name."""
    found: dict[str, Line] = {}
    for row in (row for rows in rounds for row in rows):
        before = found[row.name].values if row.name in found else ()
        found[row.name] = Line(row, (*before, row.value))
    return tuple(found.values())


def verdict(line: Line) -> str:
    """Whether a goal is reached, in words."""
    row = line.row
    if row.goal is None:
        return ""
    return f"{'≥' if row.at_least else '≤'} {row.goal:g}: {'reached' if line.reached else 'MISSED'}"


def spread(line: Line) -> str:
    """Both quartiles; nothing where all repeats agree."""
    low, high = line.quartiles
    return "" if low == high else f"{low:.4g} … {high:.4g}"


def page(outcomes: Sequence[Outcome], elsewhere: Mapping[str, str] | None = None) -> str:
    """RESULTS.md: what was lost first, the largest miss on top."""
    parts = [
        "# Results",
        "",
        "Written by `make bench`: medians over repeats, and the quartiles between which half of them lie. Ratios",
        "count, seconds belong to one machine. docs/benchmarks.md says what each line means.",
        "",
        "## Where we lose",
        "",
        *_lost(outcomes),
        *_unmeasured(outcomes),
    ]
    for outcome in outcomes:
        if outcome.lines:
            parts += ["", f"## {outcome.name}", "", outcome.title, "", *_table([("", line) for line in outcome.lines])]
            parts += ["", _how(outcome)]
    parts += ["", "## Conditions", "", *(f"- {key}: {value}" for key, value in conditions(elsewhere or {}).items())]
    return "\n".join(parts) + "\n"


def _lost(outcomes: Sequence[Outcome]) -> list[str]:
    lost = [(f"{o.name}: ", line) for o in outcomes for line in o.lines if line.reached is False]
    if not lost:
        return ["Nowhere, by the goals set."]
    return _table(sorted(lost, key=lambda pair: -pair[1].miss))


def _unmeasured(outcomes: Sequence[Outcome]) -> list[str]:
    said = [f"- {o.name}: {o.problem}" for o in outcomes if o.problem]
    said += [f"- {o.name}: {note}" for o in outcomes for note in o.notes]
    return ["", "## Not measured", "", *said] if said else []


def _how(outcome: Outcome) -> str:
    times = "once" if outcome.repeats == 1 else f"{outcome.repeats} times"
    return f"Run {times} in {outcome.seconds:.0f} s; the machine's load when it ended was {outcome.load:.1f}."


def _table(lines: Sequence[tuple[str, Line]]) -> list[str]:
    rows = ["| | median | quartiles | goal |", "|---|---|---|---|"]
    for prefix, line in lines:
        rows.append(
            f"| {prefix}{line.row.name} | {line.median:.4g} {line.row.unit} | {spread(line)} | {verdict(line)} |"
        )
    return rows


def conditions(elsewhere: Mapping[str, str]) -> dict[str, str]:
    """Machine and versions, without which times say nothing; `elsewhere` are those of the peers' own environment."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors, {_processor()}",
        "system": f"{platform.system()}, Python {platform.python_version()}",
        "load average at the end": f"{load:.1f}",
        **versions(),
        **{f"{name} (in the peers' environment)": version for name, version in elsewhere.items()},
    }


def versions() -> dict[str, str]:
    """What is installed of the packages that take part."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed, so not compared"
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")

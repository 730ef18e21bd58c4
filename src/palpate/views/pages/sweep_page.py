"""The page of a sweep: what it proves, its runs, and the commands that make the notable ones again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.files import write_file
from palpate.metrics import METRICS
from palpate.parquet import read_columns, read_footer
from palpate.views.pages import sweep_charts as charts
from palpate.views.pages.markup import Plots, bullets, facts, folded, page, section, table

MOST_ROWS, MOST_LINES, MOST_HISTOGRAMS, MOST_AXES = 100, 1500, 6, 9
COUNTS = ("diverged", "impossible", "crashed")


def sweep_report(
    table: str | os.PathLike[str],
    summary: Mapping[str, Any],
    path: str | os.PathLike[str],
    replays: Mapping[str, str] | None = None,
) -> Path:
    """Write the page of a sweep as one HTML file that needs no network.

    Args:
        table: the sweep's table, a Parquet file.
        summary: what the sweep says, as plain data (summary.json).
        path: the file to write.
        replays: pages to link, by "best", "worst" or "failing", relative to `path`.

    Raises:
        FileError: the file cannot be written.
    """
    return write_file(path, sweep_html(_Runs(table, summary), summary, replays or {}))


class _Runs:
    """The columns of a table that the page shows."""

    def __init__(self, table: str | os.PathLike[str], summary: Mapping[str, Any]) -> None:
        self.table, self.keys = table, list(summary["vary"])
        names = read_footer(table).columns
        self.metrics = [name for name in names if name in METRICS or name == summary.get("metric")]
        self.passed = np.array(self.column("passed"), dtype=bool)
        self.ranked = summary.get("metric")

    def column(self, name: str, runs: Sequence[int] | None = None) -> list[Any]:
        """A column, or the chosen runs of it."""
        values = read_columns(self.table, [name])[name].to_list()
        return values if runs is None else [values[run] for run in runs]

    def numbers(self, name: str) -> Array:
        return read_columns(self.table, [name])[name].to_numpy().astype(float)

    def order(self, worst: Sequence[int]) -> list[int]:
        """Runs by what they tell: the worst, those that did not pass, then the others."""
        others = np.concatenate([np.flatnonzero(~self.passed)[:MOST_LINES], np.flatnonzero(self.passed)[:MOST_LINES]])
        return list(dict.fromkeys([*worst, *others.tolist()]))

    @cached_property
    def told(self) -> list[str]:
        """Metrics worth a histogram: the ranking one, then those that vary."""
        spread = [
            n for n in self.metrics if np.isfinite(v := self.numbers(n)).sum() > 1 and np.nanmax(v) > np.nanmin(v)
        ]
        return list(dict.fromkeys([n for n in [self.ranked, *spread] if n in spread]))[:MOST_HISTOGRAMS]


def sweep_html(runs: _Runs, summary: Mapping[str, Any], replays: Mapping[str, str]) -> str:
    """The page."""
    title = f"{summary['scenario']}: {summary['counted']}"
    plots, histograms = Plots(), [_histogram(runs, name) for name in runs.told]
    body = [
        f"<h1>{escape(title)}</h1>",
        _sentence(summary),
        facts(_facts(summary)),
        section("What varies", _varies(summary)),
        section("Notable runs", *_notable(summary, replays)),
        section("Map", plots.place(charts.boundary(summary["map"])) if summary.get("map") else ""),
        section("Sensitivity", *_sensitivity(plots, summary)),
        section("Pareto front", plots.place(_front(runs, summary["pareto"])) if summary.get("pareto") else ""),
        section("Histograms", plots.grid(map(plots.place, histograms))),
        section("Parallel coordinates", *_parallel(plots, runs, summary)),
        section("What went wrong", *_wrong(summary)),
        section("Runs", _table(runs, [one["run"] for one in summary["worst"]])),
    ]
    return page(title, body, plots.data)


def _sentence(summary: Mapping[str, Any]) -> str:
    lines = [summary["sentence"], *summary["said"]]
    text = "".join(f"<p><b>{escape(_capital(line))}.</b></p>" for line in lines if line)
    return f'<div class="outcome {"good" if _is_good(summary) else "bad"}">{text}</div>' if text else ""


def _is_good(summary: Mapping[str, Any]) -> bool:
    """Whether the box is green: all runs passed, or what was looked for was found among some that did."""
    method, passed = summary["method"], summary["counts"]["passed"]
    if method == "map" and summary.get("map"):
        return any(summary["map"]["good"])
    return passed == summary["runs"] or method == "rare" or (method in ("tune", "grid") and passed > 0)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _facts(summary: Mapping[str, Any]) -> dict[str, object]:
    counts = {kind.capitalize(): count for kind, count in summary["counts"].items() if count}
    return {"Method": summary["method"], "Runs": summary["runs"], **counts, "Seed of the draws": summary["seed"]}


def _varies(summary: Mapping[str, Any]) -> str:
    why = summary.get("spreads", {})
    specs = {key: s if isinstance(s, str) else ", ".join(map(str, s)) for key, s in summary["vary"].items()}
    rows = [[escape(text) for text in (key, spec, why.get(key, ""))] for key, spec in specs.items()]
    left = [f"{key} was left out: {reason}" for key, reason in summary.get("left_out", {}).items()]
    return table(["Key", "What it may be", "Why" if why else ""], rows, ["", "", "soft"]) + bullets(left)


def _notable(summary: Mapping[str, Any], replays: Mapping[str, str]) -> list[str]:
    """Best, worst and a failing run, each with the command that makes it again."""
    blocks = []
    for name, title in (("best", "Best"), ("worst", "Worst"), ("failing", "One that failed")):
        for one in summary[name][:1]:
            value = "" if one["value"] is None else f", {summary['metric']} {_number(one['value'], summary['unit'])}"
            broken = f", broke {', '.join(one['failed'])}" if one["failed"] else ""
            link = f' · <a href="{escape(replays[name])}">replay</a>' if name in replays else ""
            description = escape(f"run {one['run']}: {one['outcome']}{value}{broken}")
            blocks.append(f"<h3>{title}</h3><p>{description}{link}</p>{_command(one['command'])}")
    others = [f"run {one['run']}: {one['command']}" for one in summary["worst"][1:]]
    return [*blocks, folded("Further bad runs", bullets(others))]


def _command(text: str) -> str:
    return f'<pre style="white-space:pre-wrap;overflow-wrap:anywhere">{escape(text)}</pre>'


def _sensitivity(plots: Plots, summary: Mapping[str, Any]) -> list[str]:
    if summary.get("sensitivity_note"):
        return [f"<p class=soft>{escape(summary['sensitivity_note'])}</p>"]
    if not summary.get("sensitivity"):
        return []
    said = f"How much of the variance of {summary['metric']} each parameter explains."
    return [f"<p class=soft>{escape(said)}</p>", plots.place(charts.sensitivities(summary["sensitivity"]))]


def _front(runs: _Runs, front: Mapping[str, Any]) -> charts.Chart:
    names = front["metrics"]
    points = np.column_stack([runs.numbers(name) for name in names])
    finite = np.isfinite(points).all(axis=1)
    best = np.array(front["points"], dtype=float).reshape(-1, 2)
    return charts.front(list(map(_head, names)), points[finite], runs.passed[finite], best)


def _histogram(runs: _Runs, name: str) -> charts.Chart:
    return charts.histogram(_head(name), runs.numbers(name), runs.passed)


def _parallel(plots: Plots, runs: _Runs, summary: Mapping[str, Any]) -> list[str]:
    if len(runs.passed) < 2:
        return []
    chosen = runs.order([one["run"] for one in summary["worst"]])[:MOST_LINES]
    names = [*runs.keys[: MOST_AXES - 2], *runs.told[:2]]
    columns = {name: runs.column(name, chosen) for name in names}
    logs = [key for key, spec in summary["vary"].items() if isinstance(spec, str) and "log" in spec]
    chart = charts.parallel(columns, runs.passed[chosen], logs)
    some = "" if len(chosen) == len(runs.passed) else f" Of {len(runs.passed)} runs {len(chosen)} are drawn."
    said = f"A line per run; blue passed, orange did not. Drag along an axis to choose runs.{some}"
    wide = plots.place(chart, look=f' style="min-width:{95 * len(names)}px"')
    return [f"<p class=soft>{escape(said)}</p>", f"<div class=wide>{wide}</div>"]


def _wrong(summary: Mapping[str, Any]) -> list[str]:
    parts = []
    for kind in COUNTS:
        named = summary["named"].get(kind, [])
        more = summary["counts"].get(kind, 0) - len(named)
        lines = [f"run {one['run']}: {one['reason']}" for one in named] + ([f"and {more} more"] if more > 0 else [])
        parts.append(f"<h3>{kind.capitalize()}</h3>{bullets(lines)}" if named else "")
    warned = bullets(summary["warnings"])
    return [*parts, f"<h3>Warnings</h3>{warned}" if warned else ""]


def _table(runs: _Runs, worst: Sequence[int]) -> str:
    chosen, metrics = runs.order(worst)[:MOST_ROWS], runs.told[:4]
    names = ["run", *runs.keys, "outcome", *metrics]
    columns = [_cells(name, runs.column(name, chosen), runs.passed[chosen]) for name in names]
    classes = ["bound" if name == "outcome" else "number" for name in names]
    some = len(runs.passed) > len(chosen)
    note = f"<p class=soft>Of {len(runs.passed)} runs the {len(chosen)} most notable are listed.</p>" if some else ""
    return note + table([escape(_head(name)) for name in names], zip(*columns), classes)


def _head(name: str) -> str:
    """The name of a column, with its unit."""
    return name if name not in METRICS or METRICS[name].unit == "1" else f"{name} ({METRICS[name].unit})"


def _cells(name: str, values: Sequence[Any], passed: Array) -> list[str]:
    """A column of the table as markup."""
    if name == "outcome":
        marks = ['<b class="good">✓</b>' if good else '<b class="bad">✗</b>' for good in passed]
        return [f"{mark} {escape(str(value))}" for mark, value in zip(marks, values)]
    texts = ["–" if x is None else f"{x:.5g}" if isinstance(x, float) else str(x) for x in values]
    return list(map(escape, texts))


def _number(value: float, unit: str) -> str:
    return f"{value:.5g}" + ("" if unit == "1" else f" {unit}")

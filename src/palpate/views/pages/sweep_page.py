"""The page of a sweep: what it proves, its runs, and the commands that make the notable ones again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.escape import html_text
from palpate.files import write_file
from palpate.forking import cached_property
from palpate.metrics import METRICS
from palpate.parquet import read_columns, read_footer
from palpate.views.pages.markup import Plots, bullets, facts, folded, page, section, table
from palpate.views.panels import COLOURS

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
    def varying_metrics(self) -> list[str]:
        """Metrics worth a histogram: the ranking one, then those that vary."""
        spread = [
            n for n in self.metrics if np.isfinite(v := self.numbers(n)).sum() > 1 and np.nanmax(v) > np.nanmin(v)
        ]
        return list(dict.fromkeys([n for n in [self.ranked, *spread] if n in spread]))[:MOST_HISTOGRAMS]


def sweep_html(runs: _Runs, summary: Mapping[str, Any], replays: Mapping[str, str]) -> str:
    """The page."""
    title = f"{summary['scenario']}: {summary['counted']}"
    plots = Plots()
    histograms = [histogram(_head(name), runs.numbers(name), runs.passed) for name in runs.varying_metrics]
    body = [
        f"<h1>{html_text(title)}</h1>",
        _sentence(summary),
        facts(_facts(summary)),
        section("What varies", _varies(summary)),
        section("Notable runs", *_notable(summary, replays)),
        section("Map", plots.place(boundary(summary["map"])) if summary.get("map") else ""),
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
    text = "".join(f"<p><b>{html_text(line[0].upper() + line[1:])}.</b></p>" for line in lines if line)
    return f'<div class="outcome {"good" if _is_good(summary) else "bad"}">{text}</div>' if text else ""


def _is_good(summary: Mapping[str, Any]) -> bool:
    """Whether the box is green: all runs passed, or what was looked for was found among some that did."""
    method, passed = summary["method"], summary["counts"]["passed"]
    if method == "map" and summary.get("map"):
        return any(summary["map"]["good"])
    return passed == summary["runs"] or method == "rare" or (method in ("tune", "grid") and passed > 0)


def _facts(summary: Mapping[str, Any]) -> dict[str, object]:
    counts = {kind.capitalize(): count for kind, count in summary["counts"].items() if count}
    return {"Method": summary["method"], "Runs": summary["runs"], **counts, "Seed of the draws": summary["seed"]}


def _varies(summary: Mapping[str, Any]) -> str:
    why = summary.get("spreads", {})
    specs = {key: s if isinstance(s, str) else ", ".join(map(str, s)) for key, s in summary["vary"].items()}
    rows = [[html_text(text) for text in (key, spec, why.get(key, ""))] for key, spec in specs.items()]
    left = [f"{key} was left out: {reason}" for key, reason in summary.get("left_out", {}).items()]
    return table(["Key", "What it may be", "Why" if why else ""], rows, ["", "", "soft"]) + bullets(left)


def _notable(summary: Mapping[str, Any], replays: Mapping[str, str]) -> list[str]:
    """Best, worst and a failing run, each with the command that makes it again."""
    blocks = []
    for name, title in (("best", "Best"), ("worst", "Worst"), ("failing", "One that failed")):
        for one in summary[name][:1]:
            unit = "" if summary["unit"] == "1" else f" {summary['unit']}"
            value = "" if one["value"] is None else f", {summary['metric']} {one['value']:.5g}{unit}"
            broken = f", broke {', '.join(one['failed'])}" if one["failed"] else ""
            link = f' · <a href="{html_text(replays[name])}">replay</a>' if name in replays else ""
            command = f'<pre style="white-space:pre-wrap;overflow-wrap:anywhere">{html_text(one["command"])}</pre>'
            description = html_text(f"run {one['run']}: {one['outcome']}{value}{broken}")
            blocks.append(f"<h3>{title}</h3><p>{description}{link}</p>{command}")
    others = [f"run {one['run']}: {one['command']}" for one in summary["worst"][1:]]
    return [*blocks, folded("Further bad runs", bullets(others))]


def _sensitivity(plots: Plots, summary: Mapping[str, Any]) -> list[str]:
    if summary.get("sensitivity_note"):
        return [f"<p class=soft>{html_text(summary['sensitivity_note'])}</p>"]
    if not summary.get("sensitivity"):
        return []
    note = f"How much of the variance of {summary['metric']} each parameter explains."
    return [f"<p class=soft>{html_text(note)}</p>", plots.place(sensitivities(summary["sensitivity"]))]


def _front(runs: _Runs, pareto: Mapping[str, Any]) -> Chart:
    names = pareto["metrics"]
    points = np.column_stack([runs.numbers(name) for name in names])
    finite = np.isfinite(points).all(axis=1)
    best = np.array(pareto["points"], dtype=float).reshape(-1, 2)
    return front(list(map(_head, names)), points[finite], runs.passed[finite], best)


def _parallel(plots: Plots, runs: _Runs, summary: Mapping[str, Any]) -> list[str]:
    if len(runs.passed) < 2:
        return []
    chosen = runs.order([one["run"] for one in summary["worst"]])[:MOST_LINES]
    names = [*runs.keys[: MOST_AXES - 2], *runs.varying_metrics[:2]]
    columns = {name: runs.column(name, chosen) for name in names}
    logs = [key for key, spec in summary["vary"].items() if isinstance(spec, str) and "log" in spec]
    chart = parallel(columns, runs.passed[chosen], logs)
    some = "" if len(chosen) == len(runs.passed) else f" Of {len(runs.passed)} runs {len(chosen)} are drawn."
    note = f"A line per run; blue passed, orange did not. Drag along an axis to choose runs.{some}"
    wide = plots.place(chart, look=f' style="min-width:{95 * len(names)}px"')
    return [f"<p class=soft>{html_text(note)}</p>", f"<div class=wide>{wide}</div>"]


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
    chosen, metrics = runs.order(worst)[:MOST_ROWS], runs.varying_metrics[:4]
    names = ["run", *runs.keys, "outcome", *metrics]
    columns = [_cells(name, runs.column(name, chosen), runs.passed[chosen]) for name in names]
    classes = ["bound" if name == "outcome" else "number" for name in names]
    some = len(runs.passed) > len(chosen)
    note = f"<p class=soft>Of {len(runs.passed)} runs the {len(chosen)} most notable are listed.</p>" if some else ""
    return note + table([html_text(_head(name)) for name in names], zip(*columns), classes)


def _head(name: str) -> str:
    """The name of a column, with its unit."""
    return name if name not in METRICS or METRICS[name].unit == "1" else f"{name} ({METRICS[name].unit})"


def _cells(name: str, values: Sequence[Any], passed: Array) -> list[str]:
    """A column of the table as markup."""
    if name == "outcome":
        marks = ['<b class="good">✓</b>' if good else '<b class="bad">✗</b>' for good in passed]
        return [f"{mark} {html_text(str(value))}" for mark, value in zip(marks, values)]
    texts = ["–" if x is None else f"{x:.5g}" if isinstance(x, float) else str(x) for x in values]
    return list(map(html_text, texts))


# ----------------------------------------------------------------------------------------------
# Charts as plain data: traces with a layout, which the page's own script (assets/sweeps.js) draws.


Chart = dict[str, Any]
GOOD, BAD, FOUND, PREDICTED = COLOURS[0], COLOURS[3], COLOURS[6], COLOURS[2]
BINS = 30


def histogram(title: str, values: Array, passed: Array) -> Chart:
    """How often which value was met, runs that passed and runs that did not stacked."""
    finite = np.isfinite(values)
    low, high = float(values[finite].min()), float(values[finite].max())
    least = BINS * 2 * float(np.spacing(max(abs(low), abs(high))))  # narrower bins have no distinct edges
    edges = np.linspace(low, max(high, low + least), BINS + 1)
    centres, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    bars = []
    for label, colour, chosen in (("passed", GOOD, passed), ("did not pass", BAD, ~passed)):
        counts, _ = np.histogram(values[finite & chosen], bins=edges)
        bars.append({"type": "bar", "name": label, "x": centres.tolist(), "y": counts.tolist(), "width": width,
                     "marker": {"color": colour}})  # fmt: skip
    layout = {
        "barmode": "stack", "height": 260, "showlegend": False, "xaxis": _axis(title), "yaxis": _axis("runs"),
    }  # fmt: skip
    return {"data": bars, "layout": layout}


def _axis(title: str, log: bool = False) -> dict[str, Any]:
    return {"type": "log" if log else "linear", "title": {"text": title}}


def parallel(dimensions: Mapping[str, Sequence[Any]], passed: Array, logs: Sequence[str] = ()) -> Chart:
    """Parallel coordinates: a line per run through its parameters and its metric; drag along an axis to choose runs."""
    shown = short_names(list(dimensions))
    axes = [_dimension(label, list(values), key in logs) for (key, values), label in zip(dimensions.items(), shown)]
    line = {"color": passed.astype(int).tolist(), "colorscale": [[0, BAD], [1, GOOD]]}
    return {"data": [{"type": "parcoords", "dimensions": axes, "line": line}], "layout": {"height": 380}}


def _dimension(label: str, values: list[Any], log: bool) -> dict[str, Any]:
    if any(isinstance(value, str) for value in values):
        names = sorted({str(value) for value in values})
        places = [names.index(str(value)) for value in values]
        return {"label": label, "values": places, "tickvals": list(range(len(names))), "ticktext": names}
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    low = float(np.nanmin(numbers)) if np.isfinite(numbers).any() else 0.0
    numbers = np.where(np.isfinite(numbers), numbers, low)
    if not log or low <= 0:
        return {"label": label, "values": numbers.tolist()}
    logs = np.log10(numbers)
    ticks = np.linspace(logs.min(), logs.max(), 5)
    text = [f"{10**tick:.3g}" for tick in ticks]
    return {"label": label, "values": logs.tolist(), "tickvals": ticks.tolist(), "ticktext": text}


def short_names(keys: Sequence[str]) -> list[str]:
    """The last part of each key, more of it where two would be called the same."""
    parts = {key: key.split(".") for key in keys}
    names = {}
    for key in keys:
        size = next(
            n for n in range(1, len(parts[key]) + 1)
            if sum(parts[other][-n:] == parts[key][-n:] for other in keys) == 1 or n == len(parts[key])
        )  # fmt: skip
        plain = ".".join(parts[key][-size:])
        names[key] = plain if not parts[key][-1].isdecimal() or size > 1 else ".".join(parts[key][-2:])
    return [names[key] for key in keys]


def boundary(boundary_map: Mapping[str, Any]) -> Chart:
    """Verdicts over two parameters, the boundary that was found and the one that was predicted."""
    points = np.array(boundary_map["points"], dtype=float).reshape(-1, 2)
    good = np.array(boundary_map["good"], dtype=bool)
    data = [
        _scatter("good", points[good], {"color": GOOD, "size": 6, "symbol": "circle", "opacity": 0.55}),
        _scatter("bad", points[~good], {"color": BAD, "size": 6, "symbol": "x", "opacity": 0.55}),
    ]
    for name, colour, dash in (("boundary", FOUND, "solid"), ("predicted", PREDICTED, "dash")):
        data += [
            _line(name, np.array(line, dtype=float), colour, dash, first=k == 0)
            for k, line in enumerate(boundary_map.get(name, ()))
        ]
    axes = [_axis(key, log) for key, log in zip(boundary_map["keys"], boundary_map["log"])]
    return {"data": data, "layout": {"height": 520, "xaxis": axes[0], "yaxis": axes[1]}}


def _scatter(name: str, points: Array, marker: dict[str, Any], mode: str = "markers") -> dict[str, Any]:
    x, y = points.T.tolist()
    return {"type": "scatter", "mode": mode, "name": name, "x": x, "y": y, "marker": marker}


def _line(name: str, line: Array, colour: str, dash: str, first: bool) -> dict[str, Any]:
    look = {"showlegend": first, "line": {"color": colour, "dash": dash, "width": 2.5}}
    return {**_scatter(name, line, {}, "lines"), **look}


def front(titles: Sequence[str], all_points: Array, passed: Array, best: Array) -> Chart:
    """Two metrics of every run, and those that no other run beats in both."""
    line = {"color": FOUND, "shape": "hv"}
    data = [
        _scatter("passed", all_points[passed], {"color": GOOD, "size": 5, "opacity": 0.5}),
        _scatter("did not pass", all_points[~passed], {"color": BAD, "size": 5, "opacity": 0.5}),
        {**_scatter("front", best, {"size": 7}, "lines+markers"), "line": line},
    ]
    xaxis, yaxis = map(_axis, titles)
    return {"data": data, "layout": {"height": 420, "xaxis": xaxis, "yaxis": yaxis}}


def sensitivities(indices: Sequence[Mapping[str, Any]]) -> Chart:
    """First-order and total indices of each parameter, with their intervals."""
    keys = short_names([str(one["key"]) for one in indices])
    data = []
    for name, colour in (("first", GOOD), ("total", COLOURS[1])):
        values = [float(one[name]) for one in indices]
        ends = [one[f"{name}_interval"] for one in indices]
        spread = {
            "array": [max(end["high"] - value, 0.0) for end, value in zip(ends, values)],
            "arrayminus": [max(value - end["low"], 0.0) for end, value in zip(ends, values)],
        }
        label = "alone (first order)" if name == "first" else "with interactions (total)"
        data.append({"type": "bar", "name": label, "x": keys, "y": values,
                     "error_y": spread, "marker": {"color": colour}})  # fmt: skip
    return {"data": data, "layout": {"barmode": "group", "height": 340, "yaxis": _axis("Sobol index")}}

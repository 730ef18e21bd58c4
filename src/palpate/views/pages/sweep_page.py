"""The page of a sweep: the picture first, what it proves, its runs to point at, and how to make each of them again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import TraceError
from palpate.escape.documents import html_json, html_text
from palpate.files import write_file
from palpate.forking import cached_property
from palpate.metrics import METRICS
from palpate.parquet import read_columns, read_footer
from palpate.trace import Trace
from palpate.views.pages import sweep_charts as charts
from palpate.views.pages.markup import (
    Plots,
    bullets,
    contents,
    facts,
    folded,
    folded_section,
    page,
    section,
    table,
)
from palpate.views.pages.player import replay_data
from palpate.views.pages.sweep_charts import Bounded, Chart, Front, Points

MOST_ROWS, MOST_LINES, MOST_CHARTS, MOST_AXES, MOST_PAIRS = 100, 1500, 6, 9, 4
COUNTS = ("diverged", "impossible", "crashed")
DRAWN = (
    "random",
    "latin",
    "sobol",
)  # methods whose points are spread as the quantities are; others choose theirs
_TALL, _HALF, _SMALL = 400, 265, 225  # px, of charts on the first screen: alone, two, more of them


def sweep_report(
    table: str | os.PathLike[str],
    summary: Mapping[str, Any],
    path: str | os.PathLike[str],
    replays: Mapping[str, Trace] | None = None,
    commands: Mapping[str, str] | None = None,
) -> Path:
    """Write the page of a sweep as one HTML file that needs no network.

    Args:
        table: the sweep's table, a Parquet file.
        summary: what the sweep says, as plain data (summary.json).
        path: the file to write.
        replays: traces of runs to be replayed on the page, by the number of the run as text.
        commands: what makes a run again, by its number as text; "map 3" is run 3 of the map of a study.

    Raises:
        FileError: the file cannot be written.
    """
    return write_file(path, sweep_html(_Runs(table, summary), summary, replays or {}, commands or {}))


class _Runs:
    """The columns of a table that the page shows."""

    def __init__(self, table: str | os.PathLike[str], summary: Mapping[str, Any]) -> None:
        self.table, self.keys = table, list(summary["vary"])
        self.names = read_footer(table).columns
        self.metrics = [name for name in self.names if name in METRICS or name == summary.get("metric")]
        self.passed = np.array(self.column("passed"), dtype=bool)
        self.ranked, self.summary = summary.get("metric"), summary
        if summary["method"] == "tune":  # a search keeps bounds of its own too
            self.passed &= self._kept()
        self.labels = list(map(str, range(len(self.passed))))

    def _kept(self) -> Array:
        """Which runs keep every bound that is asked for; a missing number keeps none."""
        kept = np.ones(len(self.passed), dtype=bool)
        for name, bound in self.summary.get("bounds", {}).items():
            values = self.numbers(name) if name in self.names else np.full(len(kept), np.nan)
            kept &= (values >= bound.get("least", -np.inf)) & (values <= bound.get("most", np.inf))
        return kept

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
    def drawn(self) -> list[int]:
        """Runs that are drawn, in the order of the table."""
        return sorted(self.order([one["run"] for one in self.summary["worst"]])[:MOST_LINES])

    @cached_property
    def varying_metrics(self) -> list[str]:
        """Metrics that vary, those with a bound first: broken most often, then as the table has them."""
        spread = [
            n for n in self.metrics if np.isfinite(v := self.numbers(n)).sum() > 1 and np.nanmax(v) > np.nanmin(v)
        ]
        first = [*self.summary.get("broken", {}), self.ranked, *self.summary.get("bounds", {})]
        return list(dict.fromkeys([n for n in [*first, *spread] if n in spread]))[:MOST_CHARTS]

    @cached_property
    def shown_metrics(self) -> list[str]:
        """Metrics that the first pictures show: those with a bound; without any, the ranking one and some that vary."""
        bounds = self.summary.get("bounds", {})
        kept = [name for name in self.varying_metrics if name in bounds or name == self.ranked]
        return kept or self.varying_metrics[:4]

    def points(self, key: str, joined: bool = False) -> Points:
        """The drawn runs over a quantity."""
        chosen = self.drawn
        log = "log" in spec if isinstance(spec := self.summary["vary"].get(key), str) else False
        labels = [self.labels[run] for run in chosen]
        return Points(key, self.column(key, chosen), self.passed[chosen], labels, log, joined)

    def metric(self, name: str) -> Bounded:
        """A metric of the drawn runs."""
        bound = self.summary.get("bounds", {}).get(name, {})
        limits = {end: float(limit) for end, limit in bound.items() if end in ("least", "most") and limit is not None}
        return Bounded(name, METRICS[name].unit if name in METRICS else "1", self.numbers(name)[self.drawn], limits)


def sweep_html(
    runs: _Runs, summary: Mapping[str, Any], replays: Mapping[str, Trace], commands: Mapping[str, str]
) -> str:
    """The page."""
    title, plots = f"{summary['scenario']}: {summary['counted'].replace(': ', ', ', 1)}", Plots()
    first = _first_screen(plots, runs, summary)
    sections = [
        section("Map", _map(plots, runs, summary)),
        section(_further_title(summary), _further(plots, runs, summary)),
        section("Sensitivity", *_sensitivity(plots, summary)),
        section("Pareto front", _pareto(plots, runs, summary)),
        section("How the draws are spread", _histograms(plots, runs, summary)),
        section("Notable runs", *_notable(summary)),
        section("Parallel coordinates", *_parallel(plots, runs, summary)),
        section("What went wrong", *_wrong(summary)),
        section("What varies", _varies(summary), facts(_facts(summary))),
        folded_section("Runs", _table(runs, [one["run"] for one in summary["worst"]])),
    ]
    data = _run_data(runs, summary, commands)
    moving = _replays(replays)
    body = [
        contents(sections), f"<main><h1>{html_text(title)}</h1>", first, *sections, "</main>", moving,
        f'<script id="run-data" type="application/json">{html_json(data)}</script>',
    ]  # fmt: skip
    return page(title, body, plots.data, ("runs.js", *(("shapes3d.js", "replay.js") if moving else ())))


def _replays(replays: Mapping[str, Trace]) -> str:
    """What the replays of some runs draw, waiting until one is asked for."""
    parts = []
    for run, trace in replays.items():
        try:
            data = html_json(replay_data(trace))
        except TraceError:  # a run that left nothing to show has no replay
            continue
        parts.append(f'<script type="application/json" data-replay="{html_text(run)}">{data}</script>')
    return "".join(parts)


def _run_data(runs: _Runs, summary: Mapping[str, Any], commands: Mapping[str, str]) -> dict[str, Any]:
    """What each drawn run answers to a pointer or a click: its values, its metrics, its verdict and its command."""
    metrics = list(dict.fromkeys([*runs.shown_metrics, *summary.get("bounds", {})]))
    metrics = [name for name in metrics if name in runs.names][:8]
    units = [METRICS[name].unit if name in METRICS else "1" for name in metrics]
    columns = [runs.column(name, runs.drawn) for name in (*runs.keys, *metrics, "outcome", "passed")]
    failed = runs.column("failed", runs.drawn) if "failed" in runs.names else [()] * len(runs.drawn)
    rows = {str(run): [*row, list(broke or ())] for run, broke, *row in zip(runs.drawn, failed, *columns)}
    if summary.get("map") and summary["method"] != "map":
        both = zip(summary["map"]["points"], summary["map"]["good"])
        rows |= {f"map {k}": [point, good] for k, (point, good) in enumerate(both)}
    keys = summary["map"]["keys"] if summary.get("map") else []
    shown = {run: commands[run] for run in rows if run in commands}
    return {"keys": runs.keys, "metrics": metrics, "units": units, "map": keys, "rows": rows, "commands": shown}


# ---------------------------------------------------------------------------------------------- the first screen


def _first_screen(plots: Plots, runs: _Runs, summary: Mapping[str, Any]) -> str:
    """What the runs prove and which bounds broke, beside the picture that shows it."""
    title, pictures = _pictures(runs, summary)
    head = f"<h2>{html_text(title)}</h2>" if pictures else ""
    hint = "<p class=soft>Point at a run to see its values; click it for its command.</p>" if pictures else ""
    tight = ' class="pairs"' if len(pictures) > 2 else ""
    picture = f"<div{tight}>{''.join(map(plots.place, pictures))}</div>"
    edges = "".join(f"<li>{html_text(_sentence(text))}</li>" for text in summary.get("edges", ()))
    notes = f'<ul class="notes">{edges}</ul>' if edges else ""
    left = f"{_box(summary)}{notes}{_failures(summary)}{_constant(runs, summary)}"
    return f'<div class="first"><div>{left}</div><div>{head}{picture}{hint}</div></div>'


def _pictures(runs: _Runs, summary: Mapping[str, Any]) -> tuple[str, list[Chart]]:
    """The charts to see first, and their title."""
    keys, metrics = runs.keys, runs.shown_metrics[:MOST_PAIRS]
    if summary["method"] == "map" and summary.get("map"):
        return "Map", [charts.boundary(summary["map"], height=_TALL + 60)]
    if summary["method"] == "tune":
        return _search_pictures(runs, summary)
    if len(keys) == 1:
        made = [charts.metric_over(p, runs.metric(name), _height(metrics)) for name in metrics if (p := _alone(runs))]
        return f"Over {keys[0]}", made
    if len(keys) == 2:
        return "Verdicts over both", [charts.verdict_map(*map(runs.points, keys), height=_TALL)]
    pairs = summary.get("telling") or [[name, key, None] for name in metrics[:1] for key in keys[:MOST_PAIRS]]
    pairs = [pair for pair in pairs if pair[0] in runs.names and pair[1] in runs.names][:MOST_PAIRS]
    made = [charts.metric_over(runs.points(key), runs.metric(name), _height(pairs)) for name, key, _ in pairs]
    return "The most telling pairs", made


def _height(charts_beside: Sequence[object]) -> int:
    return {1: _TALL, 2: _HALF}.get(len(charts_beside), _SMALL)


def _alone(runs: _Runs) -> Points:
    """The one quantity that is varied; its runs are joined where each value has one."""
    values = runs.column(runs.keys[0])
    once = len(set(map(str, values))) == len(values)
    return runs.points(runs.keys[0], joined=once and runs.summary["method"] == "grid")


def _search_pictures(runs: _Runs, summary: Mapping[str, Any]) -> tuple[str, list[Chart]]:
    """The front between what a search makes small and the bound that it meets first, or its number over the search."""
    best = next((k for k, run in enumerate(runs.drawn) for one in summary["best"] if one["run"] == run), None)
    if summary.get("pareto"):
        return "Front", [_front(runs, summary["pareto"], best)]
    if runs.ranked not in runs.names:
        return "", []
    made = [charts.metric_over(runs.points(key), runs.metric(runs.ranked), _HALF, best) for key in runs.keys[:2]]
    return f"{runs.ranked} over what is searched", made


def _box(summary: Mapping[str, Any]) -> str:
    told = {one["sentence"] for one in summary.get("failures", ())} | set(summary.get("edges", ()))
    lines = [line for line in (summary["sentence"], *summary["said"]) if line and line not in told]
    text = "".join(f"<p>{html_text(_sentence(line))}</p>" for line in lines)
    return f'<div class="{_look(summary)}">{text}</div>' if text else ""


def _sentence(line: str) -> str:
    """A line as a sentence; one that begins with a key keeps it as it is."""
    first = line.split()[0]
    begins = line if any(sign in first for sign in "._*=") else line[0].upper() + line[1:]
    return f"{begins}."


def _look(summary: Mapping[str, Any]) -> str:
    """Classes of the box; a grid of which some runs passed is neither good nor bad."""
    some = 0 < summary["counts"]["passed"] < summary["runs"]
    if summary["method"] == "grid" and some:
        return "outcome"
    return f"outcome {'good' if _is_good(summary) else 'bad'}"


def _is_good(summary: Mapping[str, Any]) -> bool:
    """Whether the box is green: all runs passed, or what was looked for was found among some that did."""
    method, passed = summary["method"], summary["counts"]["passed"]
    if method == "map" and summary.get("map"):
        return any(summary["map"]["good"])
    return passed == summary["runs"] or method == "rare" or (method == "tune" and passed > 0)


def _failures(summary: Mapping[str, Any]) -> str:
    """Which bounds broke, as bars with their sentences."""
    failures = summary.get("failures", ())
    bad = sum(n for kind, n in summary["counts"].items() if kind in COUNTS)
    rows = [
        f'<li><div class="share"><i style="width:{100 * one["runs"] / summary["runs"]:.1f}%"></i></div>'
        f"{html_text(_sentence(one['sentence']))}</li>"
        for one in failures
    ]
    if bad:
        kinds = ", ".join(f"{n} {kind}" for kind, n in summary["counts"].items() if kind in COUNTS and n)
        rows.append(f"<li>{html_text(kinds)}.</li>")
    return f"<h2>Failures by bound</h2><ul class=failures>{''.join(rows)}</ul>" if rows else ""


def _constant(runs: _Runs, summary: Mapping[str, Any]) -> str:
    """Bounded metrics that are the same in every run, which no chart shows."""
    same = []
    for name in summary.get("bounds", {}):
        values = runs.numbers(name) if name in runs.names else np.empty(0)
        known = values[np.isfinite(values)]
        if len(known) and np.ptp(known) == 0:
            unit = f" {METRICS[name].unit}" if name in METRICS and METRICS[name].unit != "1" else ""
            same.append(f"{name} {known[0]:.6g}{unit}")
    return f"<p class=soft>{html_text('The same in every run: ' + ', '.join(same))}.</p>" if same else ""


# ---------------------------------------------------------------------------------------------- further sections


def _map(plots: Plots, runs: _Runs, summary: Mapping[str, Any]) -> str:
    """The map of a study, whose points are runs of their own."""
    if not summary.get("map") or summary["method"] == "map":
        return ""
    names = [f"map {k}" for k in range(len(summary["map"]["points"]))]
    return plots.place(charts.boundary(summary["map"], names))


def _further_title(summary: Mapping[str, Any]) -> str:
    searched = summary["method"] == "tune"
    return f"{summary['metric']} over what is searched" if searched else "Each bound over what varies"


def _further(plots: Plots, runs: _Runs, summary: Mapping[str, Any]) -> str:
    """Bounded metrics over the quantities that the first screen has no chart of."""
    metrics, keys = runs.shown_metrics, runs.keys
    if len(runs.passed) < 2:
        return ""
    if len(keys) == 1:
        over = _alone(runs)
        made = [charts.metric_over(over, runs.metric(name), _SMALL + 60) for name in metrics[MOST_PAIRS:]]
        return plots.grid(map(plots.place, made))
    if summary["method"] == "tune":
        best = next((k for k, run in enumerate(runs.drawn) for one in summary["best"] if one["run"] == run), None)
        ranked = [name for name in [runs.ranked] if name in runs.names]
        made = [charts.metric_over(runs.points(k), runs.metric(n), _SMALL + 60, best) for n in ranked for k in keys[:6]]
        return plots.grid(map(plots.place, made))
    if len(keys) == 2:
        made = [charts.metric_over(runs.points(key), runs.metric(n), _SMALL + 60) for n in metrics[:3] for key in keys]
        return plots.grid(map(plots.place, made))
    return ""


def _sensitivity(plots: Plots, summary: Mapping[str, Any]) -> list[str]:
    if summary.get("sensitivity_note"):
        return [f"<p class=soft>{html_text(summary['sensitivity_note'])}</p>"]
    if summary.get("sensitivity"):
        note = f"How much of the variance of {summary['metric']} each parameter explains."
        return [f"<p class=soft>{html_text(note)}</p>", plots.place(charts.sensitivities(summary["sensitivity"]))]
    if len(summary["vary"]) < 3 or not summary.get("shares"):
        return []
    note = (
        "How much of the variance of a metric's rank among the runs each quantity explains alone: its correlation "
        "ratio over groups of equal size, corrected for their number. Nearly 0 for all of them: none matters alone."
    )
    return [f"<p class=soft>{note}</p>", _shares(summary["shares"])]


def _shares(shares: Mapping[str, Mapping[str, float]]) -> str:
    """Keys by metrics, each share as a bar; the most telling keys first."""
    largest = {key: max(one.get(key, 0.0) for one in shares.values()) for some in shares.values() for key in some}
    rows = [
        [html_text(key), *(_share(one.get(key, 0.0)) for one in shares.values())]
        for key in sorted(largest, key=lambda name: -largest[name])
    ]
    return table(["Quantity", *map(html_text, shares)], rows, ["", *[""] * len(shares)])


def _share(share: float) -> str:
    return f'<div class="share"><i style="width:{100 * share:.1f}%"></i></div>{100 * share:.0f} %'


def _pareto(plots: Plots, runs: _Runs, summary: Mapping[str, Any]) -> str:
    if not summary.get("pareto") or summary["method"] == "tune":
        return ""
    return plots.place(_front(runs, summary["pareto"]))


def _front(runs: _Runs, pareto: Mapping[str, Any], chosen: int | None = None) -> Chart:
    x, y = (runs.metric(name) for name in pareto["metrics"])
    passed, labels = runs.passed[runs.drawn], [runs.labels[run] for run in runs.drawn]
    best = np.array(pareto["points"], dtype=float).reshape(-1, 2)
    return charts.front(Front(x, y, passed, labels, best, chosen))


def _histograms(plots: Plots, runs: _Runs, summary: Mapping[str, Any]) -> str:
    """Of draws alone: points that somebody chose are spread as they were chosen."""
    if summary["method"] not in DRAWN:
        return ""
    made = [
        charts.histogram(_head(name), runs.numbers(name), runs.passed, runs.metric(name)) for name in runs.shown_metrics
    ]
    return plots.grid(map(plots.place, made))


def _notable(summary: Mapping[str, Any]) -> list[str]:
    """Best, worst and a failing run, each with the command that makes it again."""
    blocks = []
    for name, title in (("best", "Best"), ("worst", "Worst"), ("failing", "One that failed")):
        for one in summary[name][:1]:
            unit = "" if summary["unit"] == "1" else f" {summary['unit']}"
            value = "" if one["value"] is None else f", {summary['metric']} {one['value']:.5g}{unit}"
            broken = f", broke {', '.join(one['failed'])}" if one["failed"] else ""
            text = html_text(f"Run {one['run']}: {one['outcome']}{value}{broken}")
            button = f'<button type="button" class="run" data-run="{one["run"]}">show</button>'
            command = folded("Command", f'<pre class="command">{html_text(one["command"])}</pre>')
            blocks.append(f"<div><h3>{title}</h3><p>{text} {button}</p>{command}</div>")
    others = [f"run {one['run']}: {one['command']}" for one in summary["worst"][1:] if not one["passed"]]
    return [f'<div class="grid">{"".join(blocks)}</div>' if blocks else "", folded("Further bad runs", bullets(others))]


def _parallel(plots: Plots, runs: _Runs, summary: Mapping[str, Any]) -> list[str]:
    if len(runs.passed) < 2 or len(runs.keys) < 2:
        return []
    chosen = runs.drawn
    names = [*runs.keys[: MOST_AXES - 2], *runs.varying_metrics[:2]]
    columns = {name: runs.column(name, chosen) for name in names}
    logs = [key for key, spec in summary["vary"].items() if isinstance(spec, str) and "log" in spec]
    chart = charts.parallel(columns, runs.passed[chosen], logs)
    some = "" if len(chosen) == len(runs.passed) else f" Of {len(runs.passed)} runs {len(chosen)} are drawn."
    note = f"A line per run; blue passed, orange did not. Drag along an axis to choose runs.{some}"
    wide = plots.place(chart, look=f' style="min-width:{95 * len(names)}px"')
    return [
        f"<p class=soft>{html_text(note)}</p>",
        f'<div class=wide tabindex="0" role="group" aria-label="parallel coordinates">{wide}</div>',
    ]


def _wrong(summary: Mapping[str, Any]) -> list[str]:
    parts = []
    for kind in COUNTS:
        named = summary["named"].get(kind, [])
        more = summary["counts"].get(kind, 0) - len(named)
        lines = [f"run {one['run']}: {one['reason']}" for one in named] + ([f"and {more} more"] if more > 0 else [])
        parts.append(f"<h3>{kind.capitalize()}</h3>{bullets(lines)}" if named else "")
    warned = bullets(summary["warnings"])
    return [*parts, f"<h3>Warnings</h3>{warned}" if warned else ""]


def _facts(summary: Mapping[str, Any]) -> dict[str, object]:
    counts = {kind.capitalize(): count for kind, count in summary["counts"].items() if count}
    return {"Method": summary["method"], "Runs": summary["runs"], **counts, "Seed of the draws": summary["seed"]}


def _varies(summary: Mapping[str, Any]) -> str:
    why = summary.get("spreads", {})
    specs = {key: s if isinstance(s, str) else ", ".join(map(str, s)) for key, s in summary["vary"].items()}
    columns = 3 if why else 2
    rows = [[html_text(text) for text in (key, spec, why.get(key, ""))][:columns] for key, spec in specs.items()]
    left = [f"{key} was left out: {reason}" for key, reason in summary.get("left_out", {}).items()]
    return table(["Key", "What it may be", "Why"][:columns], rows, ["", "", "soft"][:columns]) + bullets(left)


def _table(runs: _Runs, worst: Sequence[int]) -> str:
    chosen, metrics = runs.order(worst)[:MOST_ROWS], runs.varying_metrics[:4]
    names = ["run", *runs.keys, "outcome", *metrics]
    columns = [_cells(name, runs.column(name, chosen), runs.passed[chosen]) for name in names]
    drawn = set(runs.drawn)
    columns[0] = [_opener(run) if run in drawn else str(run) for run in chosen]
    classes = ["bound" if name == "outcome" else "number" for name in names]
    some = len(runs.passed) > len(chosen)
    note = f"<p class=soft>Of {len(runs.passed)} runs the {len(chosen)} most notable are listed.</p>" if some else ""
    return note + table([html_text(_head(name)) for name in names], zip(*columns), classes)


def _opener(run: int) -> str:
    return f'<button type="button" class="run" data-run="{run}" aria-label="show run {run}">{run}</button>'


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

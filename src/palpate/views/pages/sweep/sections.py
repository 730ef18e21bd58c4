"""Further sections of a sweep's page: maps, sensitivities, notable runs, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from palpate.checks import Array
from palpate.escape.documents import html_text
from palpate.metrics import METRICS
from palpate.views.pages.markup import Plots, bullets, folded, table
from palpate.views.pages.sweep import charts
from palpate.views.pages.sweep.pictures import SMALL, front_chart, only_quantity
from palpate.views.pages.sweep.runs import COUNTS, MOST_AXES, MOST_PAIRS, MOST_ROWS, SweepRuns

DRAWN = (
    "random",
    "latin",
    "sobol",
)  # methods whose points are spread as the quantities are; others choose theirs


def map_html(plots: Plots, runs: SweepRuns, summary: Mapping[str, Any]) -> str:
    """The map of a study, whose points are runs of their own."""
    if not summary.get("map") or summary["method"] == "map":
        return ""
    names = [f"map {k}" for k in range(len(summary["map"]["points"]))]
    return plots.place(charts.boundary(summary["map"], names))


def further_title(summary: Mapping[str, Any]) -> str:
    """The title of the section with further charts."""
    searched = summary["method"] == "tune"
    return f"{summary['metric']} over what is searched" if searched else "Each bound over what varies"


def further_html(plots: Plots, runs: SweepRuns, summary: Mapping[str, Any]) -> str:
    """Bounded metrics over the quantities that the first screen has no chart of."""
    metrics, keys = runs.shown_metrics, runs.keys
    if len(runs.passed) < 2:
        return ""
    if len(keys) == 1:
        over = only_quantity(runs)
        made = [charts.metric_over(over, runs.metric(name), SMALL + 60) for name in metrics[MOST_PAIRS:]]
        return plots.grid(map(plots.place, made))
    if summary["method"] == "tune":
        best = next((k for k, run in enumerate(runs.drawn) for one in summary["best"] if one["run"] == run), None)
        ranked = [name for name in [runs.ranked] if name in runs.names]
        made = [charts.metric_over(runs.points(k), runs.metric(n), SMALL + 60, best) for n in ranked for k in keys[:6]]
        return plots.grid(map(plots.place, made))
    if len(keys) == 2:
        made = [charts.metric_over(runs.points(key), runs.metric(n), SMALL + 60) for n in metrics[:3] for key in keys]
        return plots.grid(map(plots.place, made))
    return ""


def sensitivity_parts(plots: Plots, summary: Mapping[str, Any]) -> list[str]:
    """Sensitivities of the metric, or shares of variance."""
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


def pareto_html(plots: Plots, runs: SweepRuns, summary: Mapping[str, Any]) -> str:
    """The Pareto front, unless the first screen shows it."""
    if not summary.get("pareto") or summary["method"] == "tune":
        return ""
    return plots.place(front_chart(runs, summary["pareto"]))


def histograms_html(plots: Plots, runs: SweepRuns, summary: Mapping[str, Any]) -> str:
    """Histograms of the metrics, for drawn points alone: chosen points are spread as they were chosen."""
    if summary["method"] not in DRAWN:
        return ""
    made = [
        charts.histogram(_head(name), runs.numbers(name), runs.passed, runs.metric(name)) for name in runs.shown_metrics
    ]
    return plots.grid(map(plots.place, made))


def notable_parts(summary: Mapping[str, Any]) -> list[str]:
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


def parallel_parts(plots: Plots, runs: SweepRuns, summary: Mapping[str, Any]) -> list[str]:
    """Parallel coordinates of the drawn runs."""
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


def wrong_parts(summary: Mapping[str, Any]) -> list[str]:
    """Runs that ended badly with their reasons, and warnings."""
    parts = []
    for kind in COUNTS:
        named = summary["named"].get(kind, [])
        more = summary["counts"].get(kind, 0) - len(named)
        lines = [f"run {one['run']}: {one['reason']}" for one in named] + ([f"and {more} more"] if more > 0 else [])
        parts.append(f"<h3>{kind.capitalize()}</h3>{bullets(lines)}" if named else "")
    warned = bullets(summary["warnings"])
    return [*parts, f"<h3>Warnings</h3>{warned}" if warned else ""]


def fact_rows(summary: Mapping[str, Any]) -> dict[str, object]:
    """Method, counts and seed of the sweep."""
    counts = {kind.capitalize(): count for kind, count in summary["counts"].items() if count}
    return {"Method": summary["method"], "Runs": summary["runs"], **counts, "Seed of the draws": summary["seed"]}


def varies_html(summary: Mapping[str, Any]) -> str:
    """The keys that vary, with their values and reasons."""
    why = summary.get("spreads", {})
    specs = {key: s if isinstance(s, str) else ", ".join(map(str, s)) for key, s in summary["vary"].items()}
    columns = 3 if why else 2
    rows = [[html_text(text) for text in (key, spec, why.get(key, ""))][:columns] for key, spec in specs.items()]
    left = [f"{key} was left out: {reason}" for key, reason in summary.get("left_out", {}).items()]
    return table(["Key", "What it may be", "Why"][:columns], rows, ["", "", "soft"][:columns]) + bullets(left)


def runs_table(runs: SweepRuns, worst: Sequence[int]) -> str:
    """The most notable runs as a table."""
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

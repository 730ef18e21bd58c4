"""The first screen of a sweep's page: its proof, its broken bounds, and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palpate.escape.documents import html_text
from palpate.metrics import METRICS
from palpate.views.pages.markup import Plots
from palpate.views.pages.sweep import charts
from palpate.views.pages.sweep.charts import Chart
from palpate.views.pages.sweep.pictures import HALF, SMALL, TALL, front_chart, only_quantity
from palpate.views.pages.sweep.runs import COUNTS, MOST_PAIRS, SweepRuns


def first_screen(plots: Plots, runs: SweepRuns, summary: Mapping[str, Any]) -> str:
    """Result of the runs and the bounds that broke, beside the picture that shows it."""
    title, pictures = _pictures(runs, summary)
    head = f"<h2>{html_text(title)}</h2>" if pictures else ""
    hint = "<p class=soft>Point at a run to see its values; click it for its command.</p>" if pictures else ""
    tight = ' class="pairs"' if len(pictures) > 2 else ""
    picture = f"<div{tight}>{''.join(map(plots.place, pictures))}</div>"
    edges = "".join(f"<li>{html_text(_sentence(text))}</li>" for text in summary.get("edges", ()))
    notes = f'<ul class="notes">{edges}</ul>' if edges else ""
    left = f"{_box(summary)}{notes}{_failures(summary)}{_constant(runs, summary)}"
    return f'<div class="first"><div>{left}</div><div>{head}{picture}{hint}</div></div>'


def _pictures(runs: SweepRuns, summary: Mapping[str, Any]) -> tuple[str, list[Chart]]:
    """The charts to see first, and their title."""
    keys, metrics = runs.keys, runs.shown_metrics[:MOST_PAIRS]
    if summary["method"] == "map" and summary.get("map"):
        return "Map", [charts.boundary(summary["map"], height=TALL + 60)]
    if summary["method"] == "tune":
        return _search_pictures(runs, summary)
    if len(keys) == 1:
        made = [
            charts.metric_over(p, runs.metric(name), _height(metrics)) for name in metrics if (p := only_quantity(runs))
        ]
        return f"Over {keys[0]}", made
    if len(keys) == 2:
        return "Verdicts over both", [charts.verdict_map(*map(runs.points, keys), height=TALL)]
    pairs = summary.get("telling") or [[name, key, None] for name in metrics[:1] for key in keys[:MOST_PAIRS]]
    pairs = [pair for pair in pairs if pair[0] in runs.names and pair[1] in runs.names][:MOST_PAIRS]
    made = [charts.metric_over(runs.points(key), runs.metric(name), _height(pairs)) for name, key, _ in pairs]
    return "The most telling pairs", made


def _height(charts_beside: Sequence[object]) -> int:
    return {1: TALL, 2: HALF}.get(len(charts_beside), SMALL)


def _search_pictures(runs: SweepRuns, summary: Mapping[str, Any]) -> tuple[str, list[Chart]]:
    """The front between what a search makes small and the bound that it meets first, or its number over the search."""
    best = next((k for k, run in enumerate(runs.drawn) for one in summary["best"] if one["run"] == run), None)
    if summary.get("pareto"):
        return "Front", [front_chart(runs, summary["pareto"], best)]
    if runs.ranked not in runs.names:
        return "", []
    made = [charts.metric_over(runs.points(key), runs.metric(runs.ranked), HALF, best) for key in runs.keys[:2]]
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


def _constant(runs: SweepRuns, summary: Mapping[str, Any]) -> str:
    """Bounded metrics that are the same in every run, which no chart shows."""
    same = []
    for name in summary.get("bounds", {}):
        values = runs.numbers(name) if name in runs.names else np.empty(0)
        known = values[np.isfinite(values)]
        if len(known) and np.ptp(known) == 0:
            unit = f" {METRICS[name].unit}" if name in METRICS and METRICS[name].unit != "1" else ""
            same.append(f"{name} {known[0]:.6g}{unit}")
    return f"<p class=soft>{html_text('The same in every run: ' + ', '.join(same))}.</p>" if same else ""

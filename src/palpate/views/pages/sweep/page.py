"""The page of a sweep: the picture first, what it proves, its runs to point at, and how to make each of them again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from palpate.errors import TraceError
from palpate.escape.documents import html_json, html_text
from palpate.files import write_file
from palpate.metrics import METRICS
from palpate.trace import Trace
from palpate.views.pages.markup import Plots, contents, facts, folded_section, page, section
from palpate.views.pages.player import replay_data
from palpate.views.pages.sweep.first_screen import first_screen
from palpate.views.pages.sweep.runs import SweepRuns
from palpate.views.pages.sweep.sections import (
    fact_rows,
    further_html,
    further_title,
    histograms_html,
    map_html,
    notable_parts,
    parallel_parts,
    pareto_html,
    runs_table,
    sensitivity_parts,
    varies_html,
    wrong_parts,
)


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
    return write_file(path, sweep_html(SweepRuns(table, summary), summary, replays or {}, commands or {}))


def sweep_html(
    runs: SweepRuns, summary: Mapping[str, Any], replays: Mapping[str, Trace], commands: Mapping[str, str]
) -> str:
    """The page."""
    title, plots = f"{summary['scenario']}: {summary['counted'].replace(': ', ', ', 1)}", Plots()
    first = first_screen(plots, runs, summary)
    sections = [
        section("Map", map_html(plots, runs, summary)),
        section(further_title(summary), further_html(plots, runs, summary)),
        section("Sensitivity", *sensitivity_parts(plots, summary)),
        section("Pareto front", pareto_html(plots, runs, summary)),
        section("How the draws are spread", histograms_html(plots, runs, summary)),
        section("Notable runs", *notable_parts(summary)),
        section("Parallel coordinates", *parallel_parts(plots, runs, summary)),
        section("What went wrong", *wrong_parts(summary)),
        section("What varies", varies_html(summary), facts(fact_rows(summary))),
        folded_section("Runs", runs_table(runs, [one["run"] for one in summary["worst"]])),
    ]
    data = _run_data(runs, summary, commands)
    moving = _replays(replays)
    body = [
        contents(sections), f"<main><h1>{html_text(title)}</h1>", first, *sections, "</main>", moving,
        f'<script id="run-data" type="application/json">{html_json(data)}</script>',
    ]  # fmt: skip
    return page(title, body, plots.data, ("runs.js", *(("shapes3d.js", "replay.js") if moving else ())))


def _replays(replays: Mapping[str, Trace]) -> str:
    """Replay data of some runs, which the page draws on demand."""
    parts = []
    for run, trace in replays.items():
        try:
            data = html_json(replay_data(trace))
        except TraceError:  # a run that left nothing to show has no replay
            continue
        parts.append(f'<script type="application/json" data-replay="{html_text(run)}">{data}</script>')
    return "".join(parts)


def _run_data(runs: SweepRuns, summary: Mapping[str, Any], commands: Mapping[str, str]) -> dict[str, Any]:
    """Data shown for each drawn run at a pointer or a click: its values, metrics, verdict and command."""
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

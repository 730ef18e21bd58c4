"""Runs side by side: their metrics in one table, their motions on one axis."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import InvalidInput, NotApplicable, TraceError
from palpate.escape.documents import html_text
from palpate.files import write_file
from palpate.metrics import MetricResult, evaluate
from palpate.toml import toml_value
from palpate.trace import Trace
from palpate.views.pages.markup import Plots, contents, count, folded, folded_section, number, page, section, table
from palpate.views.pages.player import replay_data, replay_of
from palpate.views.pages.replay_arrows import SMALLEST_FORCE
from palpate.views.panels import TOOL_ERRORS, Figure, Panel, styled, without_flat_panels


def compare(
    traces: Sequence[Trace],
    names: Sequence[str],
    path: str | os.PathLike[str],
    results: Sequence[Sequence[MetricResult]] | None = None,
) -> Path:
    """Write a page that overlays two or more runs.

    Args:
        traces: the runs.
        names: what to call each; all different.
        path: the file to write.
        results: the metrics of each run; computed from the traces if not given.

    Raises:
        InvalidInput: fewer than two runs, or names that do not fit them.
        FileError: the file cannot be written.
    """
    if len(traces) < 2 or len(names) != len(traces) or len(set(names)) != len(names):
        raise InvalidInput(
            f"to compare takes two or more runs with a name each, all different; got {len(traces)} runs and the "
            f"names {', '.join(map(repr, names)) or 'none'}"
        )
    runs, plots = dict(zip(names, traces)), Plots()
    figures = [without_flat_panels(figure) for figure in overlaid(runs)]
    shown, moving = [figure for figure, _ in figures if figure.name not in DETAIL], side_by_side_replays(runs)
    picture = "".join(f"<h2>{html_text(one.title)}</h2>{plots.figure(one, titled=False)}" for one in shown[:1])
    first = f"<div><h2>What differs</h2>{differing_settings(runs)}</div><div>{picture}</div>"
    sections = [
        section("Metrics", _metrics(runs, results or [evaluate(trace) for trace in traces])),
        section("Replay", moving),
        section("Further plots", *(plots.figure(figure) for figure in shown[1:])),
        folded_section("Joints", *(plots.figure(f, note) for f, note in figures if f.name in DETAIL)),
    ]
    title = " · ".join(names)
    scripts = ("shapes3d.js", "replay.js") if moving else ()
    head = f'<main><h1>{html_text(title)}</h1><div class="first">{first}</div>'
    return write_file(path, page(title, [contents(sections), head, *sections, "</main>"], plots.data, scripts))


DETAIL = ("joints", "torques")  # figures that are folded away
_MOST_SETTINGS = 12  # that stand open
_MOST_REPLAYS = 4  # a page with more would be slow


def side_by_side_replays(runs: dict[str, Trace]) -> str:
    """The replays of the first runs that have one: on one clock, from one camera, with one scale of forces.

    They open at the moment of the largest force of all.
    """
    shown: dict[str, dict[str, Any]] = {}
    for name, trace in list(runs.items())[:_MOST_REPLAYS]:
        with suppress(TraceError):
            shown[name] = replay_data(trace)
    if not shown:
        return ""
    widest = max(shown.values(), key=lambda data: data["camera"]["reach"])
    strongest = max(shown.values(), key=lambda data: data["strongest"]["force"])["strongest"]
    scale = widest["camera"]["reach"] / 3 / max(strongest["force"], SMALLEST_FORCE)
    parts = []
    for name, data in shown.items():
        arrows = [{**arrow, "scale": scale} for arrow in data["arrows"]]
        alike = {**data, "camera": widest["camera"], "arrows": arrows, "strongest": strongest}
        parts.append(f"<div><p class=title>{html_text(name)}</p>{replay_of(alike)}</div>")
    return f'<div class="side-by-side">{"".join(parts)}</div>'


def differences(traces: Sequence[Trace]) -> dict[str, list[str]]:
    """Settings that are not the same in all runs: each key with its value in every run, as a file would give it."""
    flat = [_flat(trace.facts.scenario or {}) for trace in traces]
    keys = dict.fromkeys(key for one in flat for key in one)
    rows = {key: [one.get(key, "–") for one in flat] for key in keys}
    return {key: values for key, values in rows.items() if len(set(values)) > 1 and key != "description"}


def _flat(data: Any, above: str = "") -> dict[str, str]:
    """Dotted keys; lists of tables by the names of their entries where they have one."""
    if isinstance(data, dict) and data:
        items = data.items()
    elif isinstance(data, list) and data and all(isinstance(item, dict) for item in data):
        items = [(item.get("name", str(k)), item) for k, item in enumerate(data)]
    else:
        return {above: toml_value(data)}
    return {
        key: value for name, item in items for key, value in _flat(item, f"{above}.{name}" if above else name).items()
    }


def differing_settings(runs: dict[str, Trace]) -> str:
    """A table of the settings that are not the same in all runs."""
    changes = differences(list(runs.values()))
    if not changes:
        what = "the same settings" if all(trace.facts.scenario for trace in runs.values()) else "no scenario to compare"
        return f"<p class=soft>These runs have {what}.</p>"
    rows = [[html_text(text) for text in (key, *values)] for key, values in changes.items()]
    heads, classes = ["Setting", *map(html_text, runs)], ["", *["differs"] * len(runs)]
    more = rows[_MOST_SETTINGS:]
    rest = folded(f"{count(len(more), 'more setting')}", table(heads, more, classes)) if more else ""
    return table(heads, rows[:_MOST_SETTINGS], classes) + rest


def side_by_side(
    results: Sequence[Sequence[MetricResult]],
) -> dict[str, tuple[MetricResult, list[float | None]]]:
    """By name every metric that some run has, with its value in each; None where it does not apply."""
    tables = [{result.name: result for result in one} for one in results]
    every = {name: result for one in tables for name, result in one.items()}
    return {name: (every[name], [one[name].value if name in one else None for one in tables]) for name in every}


def _metrics(runs: dict[str, Trace], results: Sequence[Sequence[MetricResult]]) -> str:
    rows = [["outcome", *(html_text(trace.outcome.kind) for trace in runs.values())]]
    for name, (metric, values) in side_by_side(results).items():
        if any(value is not None for value in values):
            cells = ["—" if value is None else number(value, metric.unit) for value in values]
            rows.append([f"{html_text(name)}<small>{html_text(metric.help)}</small>", *cells])
    return table(["Metric", *map(html_text, runs)], rows, ["", *["number"] * len(runs)])


def overlaid(runs: dict[str, Trace]) -> list[Figure]:
    """Figures with a line of every run in each panel."""
    made = [
        Figure("contact", "Contact", _panels(runs, "contact_force") + _panels(runs, "penetration")),
        Figure("tool_position", "Tool position, world axes", _panels(runs, "tool_position", "xyz")),
        Figure("tool_errors", "Distance and angle from the target", _errors(runs)),
        Figure("joints", "Joint positions", _panels(runs, "q"), columns=2),
        Figure("torques", "Joint torques", _panels(runs, "tau"), columns=2),
    ]
    return [figure for figure in made if figure.panels]


def _panels(runs: dict[str, Trace], channel: str, labels: str = "") -> tuple[Panel, ...]:
    """One panel per column that every run has."""
    tables = {name: trace.table() for name, trace in runs.items()}
    first = next(iter(runs.values()))
    if channel not in first:
        return ()
    panels = []
    for i, (column, unit) in enumerate(zip(first.channels[channel].columns, first.channels[channel].column_units)):
        if all(column in table for table in tables.values()):
            lines = tuple(
                styled(k, name, runs[name].time, table[column]) for k, (name, table) in enumerate(tables.items())
            )
            panels.append(Panel(labels[i] if labels else column, unit, lines))
    return tuple(panels)


def _errors(runs: dict[str, Trace]) -> tuple[Panel, ...]:
    panels = []
    for title, unit, error in TOOL_ERRORS:
        try:
            sizes = [np.linalg.norm(error(trace), axis=1) for trace in runs.values()]
        except NotApplicable:
            continue
        lines = [styled(k, n, t.time, s) for k, ((n, t), s) in enumerate(zip(runs.items(), sizes))]
        panels.append(Panel(title, unit, tuple(lines)))
    return tuple(panels)

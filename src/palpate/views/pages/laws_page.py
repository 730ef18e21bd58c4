"""Laws side by side: what their common draws tell, their curves over each other, their replays on one clock."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from palpate.escape.documents import html_json, html_text
from palpate.files import write_file
from palpate.trace import Trace
from palpate.views.pages.comparison import DETAIL, differing_settings, overlaid, side_by_side_replays
from palpate.views.pages.markup import Plots, bullets, contents, folded_section, page, section, table
from palpate.views.pages.sweep import charts
from palpate.views.pages.sweep.charts import Bounded, Points
from palpate.views.panels import without_flat_panels


def laws_report(traces: Mapping[str, Trace], data: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the page of a comparison of laws as one HTML file that needs no network.

    Args:
        traces: of each law in the scenario as it is, by its name.
        data: what the draws tell, as plain data (`LawComparison.as_data`).
        path: the file to write.

    Raises:
        FileError: the file cannot be written.
    """
    plots, figures = Plots(), [without_flat_panels(figure) for figure in overlaid(dict(traces))]
    open_ones = [figure for figure, _ in figures if figure.name not in DETAIL]
    lead = open_ones[:1]
    first = _first_screen(plots, lead, data)
    moving = side_by_side_replays(dict(traces))
    sections = [
        section("Metrics on the common draws", *_metrics(plots, data)),
        section("Replay", moving),
        section("Further plots", *(plots.figure(figure) for figure in open_ones[1:])),
        section("What the draws vary", _varies(data)),
        section("Settings that differ", differing_settings(dict(traces))),
        folded_section("Joints", *(plots.figure(f, note) for f, note in figures if f.name in DETAIL)),
    ]
    title = f"{data['scenario']}: {len(data['laws'])} laws on {data['runs']} common draws"
    runs = f'<script id="run-data" type="application/json">{html_json(_run_data(data))}</script>'
    body = [contents(sections), f"<main><h1>{html_text(title)}</h1>", first, *sections, "</main>", runs]
    scripts = ("runs.js", *(("shapes3d.js", "replay.js") if moving else ()))
    return write_file(path, page(title, body, plots.data, scripts))


def _first_screen(plots: Plots, lead: list[Any], data: Mapping[str, Any]) -> str:
    sentence = data["sentence"][0].upper() + data["sentence"][1:]
    box = f'<div class="outcome"><p>{html_text(sentence)}.</p></div>'
    heads = ("Law", "Rank", "Failed", "P(failure)", "Broke most often")
    failures = table(heads, _failures(data), ("", "number", "number", "number", ""))
    held = f"<p class=soft>Exact one-sided bounds, {100 * data['confidence']:g} % confidence each.</p>"
    swaps = bullets([f"{text}." for text in data["swaps"].values()])
    gains = f"<h2>Gains</h2>{swaps}"
    title = f"{lead[0].title}, in the scenario as it is" if lead else ""
    picture = f"<h2>{html_text(title)}</h2>{plots.figure(lead[0], titled=False)}" if lead else ""
    left = f"{box}<h2>Failures</h2>{failures}{held}{gains}"
    return f'<div class="first"><div>{left}</div><div>{picture}</div></div>'


def _failures(data: Mapping[str, Any]) -> list[list[str]]:
    ties = _ties({law: one["rank"] for law, one in data["failures"].items()})
    rows = []
    for law, one in data["failures"].items():
        share = f"{one['failures']} of {one['runs']}"
        rows.append(
            [
                html_text(law),
                ties[law],
                share,
                f"&lt; {100 * one['bound']:.3g} %",
                html_text(_broke(data["verdicts"][law])),
            ]
        )
    return rows


def _broke(verdicts: Sequence[Sequence[Any]]) -> str:
    """The bound that a law broke most often, or how its runs ended otherwise, with a count."""
    counts = Counter(name for outcome, _, broken in verdicts for name in broken or _endings(outcome))
    return "–" if not counts else "{} ({})".format(*counts.most_common(1)[0])


def _endings(outcome: str) -> list[str]:
    return [] if outcome in ("completed", "stopped") else [outcome]


def _ties(ranks: Mapping[str, int]) -> dict[str, str]:
    """Ranks as texts; those that several share with a sign behind."""
    held = list(ranks.values())
    return {law: f"{rank}{' =' if held.count(rank) > 1 else ''}" for law, rank in ranks.items()}


def _metrics(plots: Plots, data: Mapping[str, Any]) -> list[str]:
    """A table and a chart for each metric."""
    level = f"{100 * data['confidence']:g} %"
    note = (
        f"Differences are paired, draw by draw, against {data['laws'][0]}. Intervals of {level} hold for all pairs of "
        "laws of a metric together (Student, Bonferroni); laws that they do not tell apart share a rank."
    )
    parts = [f"<p class=soft>{html_text(note)}</p>"]
    same = {name: one for name, one in data["metrics"].items() if _is_constant(one)}
    if same:
        told = ", ".join(f"{one['label']} {_plain(_first(one))}" for one in same.values())
        parts.append(f"<p class=soft>{html_text(f'The same for every law in every draw: {told}.')}</p>")
    for name, one in data["metrics"].items():
        if name in same:
            continue
        unit = "" if one["unit"] == "1" else f" ({one['unit']})"
        text = f"{one['label']}{unit}, {one['better']} is better"
        head = f"<h3>{html_text(text)}</h3>"
        chart = plots.place(_strips(name, one, data))
        parts.append(f'<div class="pair">{head}<div>{_metric_table(one)}</div><div>{chart}</div></div>')
    return parts


def _is_constant(one: Mapping[str, Any]) -> bool:
    return len({value for row in one["laws"].values() for value in row["values"]}) == 1


def _first(one: Mapping[str, Any]) -> float | None:
    return next(iter(one["laws"].values()))["values"][0]


def _metric_table(one: Mapping[str, Any]) -> str:
    ties, rows = _ties({law: row["rank"] for law, row in one["laws"].items()}), []
    for law, row in one["laws"].items():
        interval = "–" if row["interval"] is None else " to ".join(map(_signed, row["interval"]))
        apart = "–" if row["difference"] is None else _signed(row["difference"])
        rows.append([html_text(law), ties[law], _plain(row["mean"]), apart, interval, str(row["pairs"])])
    heads = ("Law", "Rank", "Mean", "Difference", "Interval", "Draws")
    return table(heads, rows, ("", *("number",) * 5))


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}".replace("-", "−")


def _signed(value: float) -> str:
    text = f"{value:+.4g}".replace("-", "−")
    return "0" if value == 0 else text


def _strips(name: str, one: Mapping[str, Any], data: Mapping[str, Any]) -> charts.Chart:
    """Every draw of every law over the names of the laws, with the bound."""
    names, values, runs, passed = [], [], [], []
    bound = data["bounds"].get(name, {})
    half = {"most": (bound["most"] - bound["least"]) / 2} if len(bound) == 2 else bound
    for law, row in one["laws"].items():
        for draw, value in enumerate(row["values"]):
            names.append(law)
            values.append(np.nan if value is None else value)
            runs.append(f"{law} {draw}")
            passed.append(value is not None and half.get("least", -np.inf) <= value <= half.get("most", np.inf))
    over = Points("", names, np.array(passed, dtype=bool), runs)
    return charts.metric_over(over, Bounded(one["label"], one["unit"], np.array(values, dtype=float), half), 260)


def _run_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """Data shown for each point: its draw, its law, its metrics, and its command."""
    metrics, rows, commands = list(data["metrics"]), {}, {}
    for law in data["laws"]:
        for draw in range(data["runs"]):
            name = f"{law} {draw}"
            values = [data["metrics"][metric]["laws"][law]["values"][draw] for metric in metrics]
            rows[name] = [law, draw, *values, *data["verdicts"][law][draw]]
            commands[name] = data["commands"][law][draw]
    units = [data["metrics"][name]["unit"] for name in metrics]
    labels = [data["metrics"][name]["label"] for name in metrics]
    return {"keys": ["law", "draw"], "metrics": labels, "units": units, "map": [], "rows": rows, "commands": commands}


def _varies(data: Mapping[str, Any]) -> str:
    specs = {key: s if isinstance(s, str) else ", ".join(map(str, s)) for key, s in data["vary"].items()}
    left = [f"{key} is not varied: {reason}" for key, reason in data["left_out"].items()]
    note = f"<p class=soft>Seed {data['seed']}. Draw k has the same values and the same noise for every law.</p>"
    rows = [[html_text(key), html_text(spec)] for key, spec in specs.items()]
    return note + table(("Key", "What it may be"), rows, ("", "")) + bullets(left)

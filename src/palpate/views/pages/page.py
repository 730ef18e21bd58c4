"""The report: one page with everything there is to know about a run, which needs no network.

First what was run, how it ended and the contact force; then the replay, the motion, the forces; what only some readers
want (every joint, every metric, every setting) is folded away.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from palpate.errors import TraceError
from palpate.escape.documents import html_text
from palpate.files import write_file
from palpate.metrics import MetricResult, evaluate
from palpate.toml import toml_text
from palpate.trace import Trace
from palpate.views.first_figure import leading
from palpate.views.pages import markup
from palpate.views.pages.equation import equation_of, typeset
from palpate.views.pages.interactive import MOST_POINTS, thinned
from palpate.views.pages.player import replay_element
from palpate.views.panels import Figure, figures_of, marks_of, telling


def report(trace: Trace, path: str | os.PathLike[str], results: Sequence[MetricResult] | None = None) -> Path:
    """Write a trace's report as one HTML file that needs no network.

    Args:
        trace: what happened.
        path: the file to write.
        results: its metrics with their verdicts; computed without bounds if not given.

    Raises:
        FileError: the file cannot be written.
    """
    return write_file(path, report_html(trace, evaluate(trace) if results is None else results))


def report_html(trace: Trace, results: Sequence[MetricResult]) -> str:
    """The report as a page."""
    plots, lead, figures = markup.Plots(marks_of(trace)), leading(trace), figures_of(trace)
    replay, moving = _replay(trace)
    drawn = {group: _group(plots, figures, lead, group) for group in ("law", "motion", "forces", "joints")}
    sections = [
        markup.section("Replay", replay),
        markup.section("Contact events", markup.events_table(trace.facts.contact_events)),
        markup.section("Motion", drawn["motion"]),
        markup.section("Internal state of the law", drawn["law"]),
        markup.section("Forces and energy", drawn["forces"]),
        markup.folded_section("Joints", drawn["joints"]),
        markup.folded_section("All metrics", markup.metrics_table(results)),
        markup.section("Guards", *_guards(trace)),
        markup.section("Assumptions", markup.bullets(trace.facts.assumptions)),
        markup.section("Scenario", *_scenario(trace)),
        markup.section("Run", *_run(trace, thinned(figures))),
    ]
    title = _title(trace)
    text = (trace.facts.scenario or {}).get("description")
    description = f"<p class=lead>{html_text(str(text))}</p>" if text else ""
    first = [markup.contents(sections), f"<main><h1>{html_text(title)}</h1>", description]
    body = [*first, f'<div class="first">{_result(trace, results)}{_lead(plots, lead)}</div>', _law(trace)]
    scripts = ("shapes3d.js", "replay.js") if moving else ()
    return markup.page(title, [*body, *sections, "</main>"], plots.data, scripts)


# ---------------------------------------------------------------------------------------------- the first screen


def _title(trace: Trace) -> str:
    run = trace.facts
    name = (run.scenario or {}).get("name")
    robot, law = run.robot or "robot", run.law
    pair = f"{robot} under {law}" if law else str(robot)
    return f"{name}: {pair}" if name else pair


def _result(trace: Trace, results: Sequence[MetricResult]) -> str:
    """How it ended, what to look at before believing it, and the verdicts."""
    warnings = "".join(f"<li><b>Warning:</b> {html_text(text)}</li>" for text in trace.facts.warnings)
    remarks = "".join(f"<li>{html_text(text)}</li>" for text in trace.facts.remarks)
    notes = f'<ul class="notes">{warnings}{remarks}</ul>' if warnings or remarks else ""
    expected = markup.folded("What was expected", markup.bullets(trace.facts.expected))
    return f"<div>{_ending(trace, results)}{notes}{markup.verdicts(results)}{expected}</div>"


def _ending(trace: Trace, results: Sequence[MetricResult]) -> str:
    judged = [result.passed for result in results if result.passed is not None]
    verdict = f" {sum(judged)} of {len(judged)} bounds kept." if judged else ""
    good = trace.outcome.ok and all(judged)
    text = f"{str(trace.outcome).rstrip('.')}.{verdict}"
    return f'<p class="outcome {"good" if good else "bad"}"><b>{html_text(text)}</b></p>'


def _lead(plots: markup.Plots, lead: Figure | None) -> str:
    if lead is None:
        return "<div></div>"
    zoom = '<button type="button" id="whole-time" hidden>whole run</button>'
    return f"<div><h2>{html_text(lead.title)}</h2>{plots.figure(lead, titled=False)}{zoom}</div>"


def _law(trace: Trace) -> str:
    """The law with its equation, and its gains with their units; other settings left at their defaults are folded."""
    run = trace.facts
    if run.law is None:
        return ""
    equation = equation_of(run.law_text)
    formula = f'<div class="equation">{typeset(equation)}</div>' if equation else ""
    chosen = [gain for gain in run.gains if not gain["default"] or gain["unit"] != "1"]
    others = [gain for gain in run.gains if gain not in chosen]
    story = "".join(f"<p>{html_text(part)}</p>" for part in run.law_text.split("\n\n"))
    more = markup.folded("The law in words, and its other settings", story + _gains(others)) if story else ""
    gains = _gains(chosen) + _gains(run.computed)
    return f'<div class="law"><h2>Law: {html_text(run.law)}</h2>{formula}{gains}{more}</div>'


def _gains(gains: Sequence[dict[str, Any]]) -> str:
    items = "".join(
        f'<span title="{html_text(gain["help"])}"><b>{html_text(gain["name"])}</b> {_gain(gain)}</span>'
        for gain in gains
    )
    return f'<div class="gains">{items}</div>' if items else ""


def _gain(gain: dict[str, Any]) -> str:
    unit = "" if gain["unit"] == "1" else f" {gain['unit']}"
    text = f"{_plain(gain['value'])}{unit}"
    return html_text(text) if len(text) < 70 else f"<span class=long>{html_text(text)}</span>"


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", "−")
    if (
        isinstance(value, list)
        and len(value) == 6
        and len(set(map(str, value[:3]))) == len(set(map(str, value[3:]))) == 1
    ):
        return f"{_plain(value[0])} (x, y, z), {_plain(value[3])} (about x, y, z)"
    return f"[{', '.join(map(_plain, value))}]" if isinstance(value, list) else str(value)


# ---------------------------------------------------------------------------------------------- below it


def _replay(trace: Trace) -> tuple[str, bool]:
    """The replay and whether there is one, or why there is none."""
    try:
        inside = replay_element(trace)
    except TraceError as error:
        return f"<p class=soft>{html_text(str(error))}</p>", False
    except Exception as error:  # an impossible drawing costs the picture, not the page
        reason = f"{type(error).__name__}: {error}"
        return f"<p class=soft>This scene cannot be drawn ({html_text(reason)}).</p>", False
    return f'{inside}<div class="stills"></div><p class=soft>{_KEYS}</p>', True


_KEYS = (
    "Arrows: contact force (red) and push (purple) on the robot, scale at the lower left. Axes and pale blue shape:"
    " target. Blue line: path of the tool. Drag to rotate, Ctrl and wheel or two fingers to zoom, Shift and drag to"
    " move, space to play. The plots follow the same time; drag across one to zoom in, double-click for the whole run."
)


def _group(plots: markup.Plots, figures: Sequence[Figure], lead: Figure | None, group: str) -> str:
    """The figures of a part of the page, without what stands on the first screen already and what does not move."""
    chosen = [telling(_without(figure, lead)) for figure in figures if figure.group == group]
    return "".join(plots.figure(figure, note) for figure, note in chosen)


def _without(figure: Figure, lead: Figure | None) -> Figure:
    """A figure without the panels that stand on the first screen."""
    if lead is not None and lead.name == "contact_force" and figure.name == "contact":
        panels = tuple(panel for panel in figure.panels if panel.unit != "N")
        return replace(figure, title="Deepest penetration", panels=panels)
    seen = [panel.title for panel in lead.panels] if lead is not None and figure.name == lead.name else []
    return replace(figure, panels=tuple(panel for panel in figure.panels if panel.title not in seen))


def _guards(trace: Trace) -> list[str]:
    ticks = trace.facts.guard_ticks
    counts = [f"{name}: {markup.count(number, 'control tick')}" for name, number in ticks.items() if number]
    events = [str(event) for event in trace.events if event.kind == "intervention"]
    idle = ticks and not any(ticks.values())
    first = "<p class=soft>No guard had to intervene.</p>" if idle else markup.bullets(counts)
    return [first, markup.folded(markup.count(len(events), "intervention"), markup.bullets(events)) if events else ""]


def _scenario(trace: Trace) -> list[str]:
    """The scenario as a file, with what is not a default marked; of a run made in Python its world."""
    run = trace.facts
    if not run.scenario:
        return [markup.folded("World", markup.listing(run.world)) if run.world else ""]
    scenario = _ordered(run.scenario)
    if run.changed is None:
        return [markup.listing(toml_text(scenario))]
    lines = [_marked(line) for line in toml_text(scenario, _changed_note(run.changed)).splitlines()]
    note = "Settings that differ from the defaults. Save them as a .toml file to run the scenario again."
    return [
        f"<p class=soft>{note}</p>{markup.listing(toml_text(_ordered(run.changed)))}",
        markup.folded("All settings, those that differ marked", f"<pre>{chr(10).join(lines)}</pre>"),
    ]


_FIRST = ("name", "description", "law", "kind", "model", "robot", "control", "reference", "world", "guards", "run")


def _ordered(data: Any) -> Any:
    """Tables in the order in which a person writes them; a trace's file has their keys sorted."""
    if isinstance(data, list):
        return [_ordered(item) for item in data]
    if not isinstance(data, dict):
        return data
    keys = sorted(data, key=lambda key: _FIRST.index(key) if key in _FIRST else len(_FIRST))
    return {key: _ordered(data[key]) for key in keys}


_NOTE = "≠ default"


def _changed_note(changed: dict[str, Any]) -> Any:
    """A comment that marks the lines whose key stands in `changed`."""

    def comment(path: tuple[str | int, ...]) -> str:
        here: Any = changed
        for part in path:
            if isinstance(here, list):
                here = dict(enumerate(here))
            if not isinstance(here, dict) or part not in here:
                return ""
            here = here[part]
        return _NOTE

    return comment


def _marked(line: str) -> str:
    if line.endswith(_NOTE):
        return f"<mark>{html_text(line.removesuffix(f'  # {_NOTE}'))}</mark>"
    return f'<span class="default">{html_text(line)}</span>' if line else ""


def _run(trace: Trace, thin: bool) -> list[str]:
    run, events = trace.facts, [str(event) for event in trace.events]
    drawn = f"Of {len(trace)} samples at most {MOST_POINTS} per line are drawn, peaks kept." if thin else ""
    known = {
        "Robot": run.robot,
        "Duration": _seconds(run.duration),
        "Physics step": _seconds(run.timestep),
        "Control period": _seconds(run.period),
        "Integrator": run.integrator,
        "Physics": run.physics,
        "Seed": run.seed,
        "Samples": len(trace),
        "Versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()) or None,
    }
    return [
        markup.facts(known),
        f"<p class=soft>{drawn}</p>" if drawn else "",
        markup.folded(markup.count(len(events), "event"), markup.bullets(events)) if events else "",
        markup.folded("Channels", markup.bullets([_channel(trace, name) for name in trace], 500)),
    ]


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:g} s"


def _channel(trace: Trace, name: str) -> str:
    channel = trace.channels[name]
    units = ", ".join(dict.fromkeys(channel.column_units))
    return f"{name} [{units}]" + (f": {channel.help}" if channel.help else "")

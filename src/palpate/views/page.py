"""The report: one page with everything there is to know about a run, which needs no network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path

from palpate.errors import TraceError
from palpate.files import atomic_write
from palpate.metrics import MetricResult, evaluate
from palpate.trace import Trace
from palpate.views.interactive import MOST_POINTS, thinned
from palpate.views.markup import bullets, count, facts, folded, listing, metrics_table, page, plot_section, section
from palpate.views.panels import figures_of, marks_of
from palpate.views.player import replay_html


def report(trace: Trace, path: str | os.PathLike[str], results: Sequence[MetricResult] | None = None) -> Path:
    """Write a trace's report as one HTML file that needs no network.

    Args:
        trace: what happened.
        path: the file to write.
        results: its metrics with their verdicts; computed without bounds if not given.

    Raises:
        FileError: the file cannot be written.
    """
    text = report_html(trace, evaluate(trace) if results is None else results).encode()
    return atomic_write(path, lambda file: file.write(text))


def report_html(trace: Trace, results: Sequence[MetricResult]) -> str:
    """The report as a page."""
    figures = figures_of(trace)
    plots, data = plot_section(figures, marks_of(trace))
    title = _title(trace)
    body = [
        f"<h1>{escape(title)}</h1>",
        _ending(trace, results),
        section("Warnings", bullets(trace.facts.warnings)),
        section("Remarks", bullets(trace.facts.remarks)),
        section("Expected", bullets(trace.facts.expected)),
        facts(_facts(trace)),
        section("Metrics", metrics_table(results)),
        section("Replay", _replay(trace)),
        section("Plots", _note(trace, thinned(figures)), plots),
        section("Guards", *_guards(trace)),
        section("Assumptions", bullets(trace.facts.assumptions)),
        section("What was run", *_run(trace)),
    ]
    return page(title, body, data)


def _title(trace: Trace) -> str:
    run = trace.facts
    name = (run.scenario or {}).get("name")
    robot, law = run.robot or "robot", run.law
    pair = f"{robot} under {law}" if law else str(robot)
    return f"{name}: {pair}" if name else pair


def _ending(trace: Trace, results: Sequence[MetricResult]) -> str:
    judged = [result.passed for result in results if result.passed is not None]
    verdict = f" {sum(judged)} of {len(judged)} bounds kept." if judged else ""
    good = trace.outcome.ok and all(judged)
    text = f"{str(trace.outcome).rstrip('.')}.{verdict}"
    return f'<p class="outcome {"good" if good else "bad"}"><b>{escape(text)}</b></p>'


def _facts(trace: Trace) -> dict[str, object]:
    run = trace.facts
    return {
        "Robot": run.robot,
        "Law": run.law,
        "Duration": _seconds(run.duration),
        "Physics step": _seconds(run.timestep),
        "Control period": _seconds(run.period),
        "Integrator": run.integrator,
        "Seed": run.seed,
        "Samples": len(trace),
        "Versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()) or None,
    }


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:g} s"


def _replay(trace: Trace) -> str:
    try:
        inside = replay_html(trace)
    except TraceError as error:
        return f"<p class=soft>{escape(str(error))}</p>"
    except Exception as error:  # an impossible drawing costs the picture, not the page
        return f"<p class=soft>This scene cannot be drawn ({escape(type(error).__name__)}: {escape(str(error))}).</p>"
    frame = f'<iframe title="3D replay" srcdoc="{escape(inside)}"></iframe>'
    return f"{frame}<p class=soft>{_KEYS}</p>"


_KEYS = (
    "Arrows: contact force (red) and push (purple) on the robot. Axes: target. Blue line: path of the tool. "
    "Drag to turn, scroll to zoom, space to play or pause."
)


def _note(trace: Trace, thin: bool) -> str:
    shaded = "Shaded: contact (blue), pushes (orange); a red foot: a guard at work."
    drawn = f" Of {len(trace)} samples at most {MOST_POINTS} per line are drawn, peaks kept." if thin else ""
    return f"<p class=soft>{shaded}{drawn}</p>"


def _guards(trace: Trace) -> list[str]:
    ticks = trace.facts.guard_ticks
    counts = [f"{name}: {count(number, 'control tick')}" for name, number in ticks.items()]
    events = [str(event) for event in trace.events if event.kind == "intervention"]
    quiet = "<p class=soft>No guard had to intervene.</p>" if ticks and not any(ticks.values()) else bullets(counts)
    return [quiet, folded(count(len(events), "intervention"), bullets(events))]


def _run(trace: Trace) -> list[str]:
    scenario, events = trace.facts.scenario, [str(event) for event in trace.events]
    return [
        listing(scenario) if scenario else "",
        folded("World", listing(trace.facts.world)) if trace.facts.world else "",
        folded(count(len(events), "event"), bullets(events)),
        folded("Channels", bullets([_channel(trace, name) for name in trace], 500)),
    ]


def _channel(trace: Trace, name: str) -> str:
    channel = trace.channels[name]
    units = ", ".join(dict.fromkeys(channel.column_units))
    return f"{name} [{units}]" + (f": {channel.help}" if channel.help else "")

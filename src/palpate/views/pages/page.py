"""The report: one page with everything there is to know about a run, which needs no network.

First what was run, how it ended and the contact force; then the replay, the motion, the forces; what only some readers
want (every joint, every metric, every setting) is folded away.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from palpate.escape.documents import html_text
from palpate.files import write_file
from palpate.metrics import MetricResult, evaluate
from palpate.trace import Trace
from palpate.views.first_figure import leading
from palpate.views.pages import markup
from palpate.views.pages.interactive import thinned
from palpate.views.pages.page_head import law_html, lead_html, result_html, title_of
from palpate.views.pages.page_sections import group_html, guard_parts, replay_part, run_parts, scenario_parts
from palpate.views.panels import figures_of, marks_of


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
    replay, moving = replay_part(trace)
    drawn = {group: group_html(plots, figures, lead, group) for group in ("law", "motion", "forces", "joints")}
    sections = [
        markup.section("Replay", replay),
        markup.section("Contact events", markup.events_table(trace.facts.contact_events)),
        markup.section("Motion", drawn["motion"]),
        markup.section("Internal state of the law", drawn["law"]),
        markup.section("Forces and energy", drawn["forces"]),
        markup.folded_section("Joints", drawn["joints"]),
        markup.folded_section("All metrics", markup.metrics_table(results)),
        markup.section("Guards", *guard_parts(trace)),
        markup.section("Assumptions", markup.bullets(trace.facts.assumptions)),
        markup.section("Scenario", *scenario_parts(trace)),
        markup.section("Run", *run_parts(trace, thinned(figures))),
    ]
    title = title_of(trace)
    text = (trace.facts.scenario or {}).get("description")
    description = f"<p class=lead>{html_text(str(text))}</p>" if text else ""
    first = [markup.contents(sections), f"<main><h1>{html_text(title)}</h1>", description]
    body = [*first, f'<div class="first">{result_html(trace, results)}{lead_html(plots, lead)}</div>', law_html(trace)]
    scripts = ("shapes3d.js", "replay.js") if moving else ()
    return markup.page(title, [*body, *sections, "</main>"], plots.data, scripts)

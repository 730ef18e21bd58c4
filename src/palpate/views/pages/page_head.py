"""The first screen of the report: how the run ended, its verdicts, its leading figure and its law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palpate.escape.documents import html_text
from palpate.metrics import MetricResult
from palpate.trace import Trace
from palpate.views.pages import markup
from palpate.views.pages.equation import equation_of, typeset
from palpate.views.panels import Figure


def title_of(trace: Trace) -> str:
    """The title of a report: the scenario's name, robot and law."""
    run = trace.facts
    name = (run.scenario or {}).get("name")
    robot, law = run.robot or "robot", run.law
    pair = f"{robot} under {law}" if law else str(robot)
    return f"{name}: {pair}" if name else pair


def result_html(trace: Trace, results: Sequence[MetricResult]) -> str:
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


def lead_html(plots: markup.Plots, lead: Figure | None) -> str:
    """The leading figure with its title and the button that ends a zoom."""
    if lead is None:
        return "<div></div>"
    zoom = '<button type="button" id="whole-time" hidden>whole run</button>'
    return f"<div><h2>{html_text(lead.title)}</h2>{plots.figure(lead, titled=False)}{zoom}</div>"


def law_html(trace: Trace) -> str:
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

"""A run in a few lines, as terminal, Python and notebook tell it: how it ended, its contact, main metrics, notes."""

from __future__ import annotations

from collections.abc import Sequence

from palpate.display import shows
from palpate.errors import PalpateError, harmless
from palpate.escape.documents import html_text
from palpate.metrics.table import METRICS, Bound, MetricResult, judge
from palpate.trace import Trace
from palpate.user_code import is_address

# Besides those with a bound, so many are shown as make six: those that apply and come first here.
_MAIN = (
    "force_peak", "force_steady_error", "first_contact", "tilt_max", "position_error_max", "position_steady_error",
    "joint_error_max", "peak_torque_ratio", "saturation_time", "energy_residual", "effort",
)  # fmt: skip
_SHOWN = 6


def main_metrics(results: Sequence[MetricResult]) -> list[MetricResult]:
    """The metrics with a bound, then main ones that have a value, six in all if there are as many."""
    judged = [result for result in results if result.bounded]
    known = {result.name: result for result in results if result.value is not None and not result.bounded}
    others = [known[name] for name in _MAIN if name in known]
    return [*judged, *others[: max(0, _SHOWN - len(judged))]]


def contact_line(results: Sequence[MetricResult]) -> str | None:
    """When it was first touched, and the largest force; that nothing was touched is among the remarks."""
    values = {result.name: result.value for result in results}
    first, peak = values.get("first_contact"), values.get("force_peak")
    return None if first is None or peak is None else f"contact: first at {first:.4g} s, at most {peak:.4g} N"


def edge_line(trace: Trace) -> str | None:
    """How near the edge of stability the loop was at the end; None where that is not known."""
    edge = trace.facts.edge
    if edge.get("stable") is None:
        return None
    joint = f", mostly of {edge['joint']}" if edge["joint"] else ""
    shakes = f" at {edge['frequency']:g} Hz" if edge["frequency"] > 0.0 else ""
    if not edge["stable"]:
        return f"loop at the end: unstable, an error grows by e^({-edge['rate']:g} t/s){shakes}{joint}"
    return f"loop at the end: stable, the slowest error dies out with e^(-{edge['rate']:g} t/s){shakes}{joint}"


def notes_of(trace: Trace, told: Sequence[str] = ()) -> list[str]:
    """Warnings and remarks of a run, each with its kind; what was `told` already is left out."""
    facts = trace.facts
    remarks = (f"remark: {text}" for text in facts.remarks if text not in told)
    return [*(f"warning: {text}" for text in facts.warnings), *remarks]


def bound_text(result: MetricResult) -> str:
    """Range that a bound allows, or why the metric has no value."""
    if result.reason is not None:
        return result.reason
    if result.least is not None and result.most is not None:
        return f"{result.least:.4g} to {result.most:.4g}"
    return f"at least {result.least:.4g}" if result.least is not None else f"at most {result.most:.4g}"


@shows
def summary_text(trace: Trace) -> str:
    """The run in lines of plain text."""
    head, results = _head(trace), _results(trace)
    rows = [[result.name, *_value(result), *_verdict(result)] for result in main_metrics(results)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    lines = [contact_line(results), edge_line(trace), *table, *notes_of(trace)]
    return harmless("\n  ".join([head, *(line for line in lines if line)]))


def summary_html(trace: Trace) -> str:
    """The same as HTML, without the list of channels."""
    results, name = _results(trace), (trace.facts.scenario or {}).get("name") or trace.facts.robot or "run"
    head = f"<b>{html_text(str(name))}</b>: {html_text(str(trace.outcome))}"
    lines = "".join(
        f"<br>{html_text(line)}" for line in (contact_line(results), edge_line(trace), _span(trace)) if line
    )
    rows = "".join(
        "<tr>"
        + "".join(f'<td style="text-align:left;padding:2px 12px 2px 0">{html_text(cell)}</td>' for cell in row)
        + "</tr>"
        for row in ([result.name, *_value(result), *_verdict(result)] for result in main_metrics(results))
    )
    told = "".join(f"<li>{html_text(note)}</li>" for note in notes_of(trace))
    return f"{head}{lines}<table>{rows}</table>" + (f"<ul>{told}</ul>" if told else "")


def _head(trace: Trace) -> str:
    name = (trace.facts.scenario or {}).get("name")
    title = f"<Trace of {name}: " if name else "<Trace: "
    return f"{title}{_span(trace)}, {len(trace.channels)} channels, {trace.outcome}>"


def _span(trace: Trace) -> str:
    samples = f"{len(trace)} samples"
    return f"{samples}, {trace.time[0]:.6g} to {trace.time[-1]:.6g} s" if len(trace) else samples


def _results(trace: Trace) -> list[MetricResult]:
    """The bounded and the main metrics of a trace; code that a scenario brings along is not run for this."""
    given = (trace.facts.scenario or {}).get("metrics", {})
    bounds = {name: Bound(**bound) for name, bound in given.items() if not is_address(name) and name in METRICS}
    results = []
    for name in dict.fromkeys((*bounds, *_MAIN)) if len(trace) else ():
        try:
            results.append(judge(METRICS[name], trace, bounds.get(name)))
        except PalpateError:  # a trace that lacks what the metric is made of
            continue
    return results


def _value(result: MetricResult) -> tuple[str, str]:
    return "–" if result.value is None else f"{result.value:.4g}", "" if result.unit == "1" else result.unit


def _verdict(result: MetricResult) -> tuple[str, str]:
    words = {True: "ok", False: "FAILED", None: "not judged"}
    return (bound_text(result), words[result.passed]) if result.bounded else ("", "")

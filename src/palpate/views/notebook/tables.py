"""Tables of a trace, a scenario, a robot, metrics, a sweep or a derivation: HTML without a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from palpate.display import shows
from palpate.escape.documents import html_text
from palpate.metrics import MetricResult
from palpate.toml import toml_text
from palpate.trace import Trace
from palpate.views.notebook.markup import framed_page, table_html
from palpate.views.summary import summary_html

if TYPE_CHECKING:
    from palpate.robot.robot import Robot


@shows
def trace_html(trace: Trace) -> str:
    """The run's summary, and a list of its channels."""
    rows = [[n, ", ".join(dict.fromkeys(c.column_units)), str(c.size), c.help] for n, c in trace.channels.items()]
    table = table_html(["channel", "unit", "columns", "what it is"], rows, "llrl")
    return f"<div>{summary_html(trace)}<details><summary>{len(rows)} channels</summary>{table}</details></div>"


@shows
def scenario_html(scenario: Any) -> str:
    """A scenario as its file, with what differs from the defaults."""
    heading = f"<b>{html_text(scenario.name)}</b>: {html_text(scenario.description)}"
    changed, whole = html_text(toml_text(scenario.changed())), html_text(toml_text(scenario.as_data()))
    return (
        f"<div>{heading}<pre>{changed}</pre><details><summary>every setting</summary><pre>{whole}</pre></details></div>"
    )


@shows
def robot_html(robot: Robot) -> str:
    """Joints and limits of a robot."""
    limits = robot.limits
    rows = [
        [name, unit, *(f"{float(x[i]):.4g}" for x in (limits.lower, limits.upper, limits.velocity, limits.torque))]
        for i, (name, unit) in enumerate(zip(robot.dof_names, robot.dof_units))
    ]
    mass = "kinematics only" if robot.unresisted else f"{robot.mass:.4g} kg"
    name, tool = html_text(robot.name), html_text(robot.tool_frame)
    head = f"<b>{name}</b>: {robot.nv} degrees of freedom, {mass}, tool frame {tool}"
    return f"<div>{head}{table_html(['joint', 'unit', 'lower', 'upper', 'speed', 'torque'], rows, 'llrrrr')}</div>"


@shows
def metrics_html(results: Sequence[MetricResult]) -> str:
    """Metrics that have a value, with verdicts."""
    verdict = {True: "✓ pass", False: "✗ fail", None: ""}
    rows = []
    for r in (r for r in results if r.value is not None or r.bounded):
        value, unit = "–" if r.value is None else f"{r.value:.4g}", "" if r.unit == "1" else r.unit
        judged = "not judged" if r.bounded and r.passed is None else verdict[r.passed]
        rows.append([r.name, value, unit, judged, r.help])
    return table_html(["metric", "value", "unit", "", "what it is"], rows, "lrlll")


@shows
def sweep_html(sweep: Any, most: int = 5) -> str:
    """Result of a sweep, and its worst and best runs with the commands that repeat them."""
    runs = [*((run, "worst") for run in sweep.worst(most)), *((run, "best") for run in sweep.best())]
    keys = [axis.key for axis in sweep.plan.axes]
    metric = [sweep.metric] if sweep.metric else []
    rows = []
    for run, kind in dict(runs).items():
        row = sweep.row(run)
        cells = [f"{row[key]:.4g}" if isinstance(row[key], float) else str(row[key]) for key in (*keys, *metric)]
        rows.append([str(run), kind, *cells, str(row["outcome"]), "✓" if row["passed"] else "✗", sweep.command(run)])
    heads = ["run", "", *keys, *metric, "outcome", "passed", "made again by"]
    table = table_html(heads, rows, "rl" + "r" * (len(keys) + len(metric)) + "lll")
    name = html_text(str(sweep.plan.scenario.get("name", "sweep")))
    return f"<div><b>{name}</b>: {len(sweep)} runs. {html_text(sweep.sentence)}{table}</div>"


@shows
def derivation_html(derivation: Any) -> str:
    """The equations as a page in a frame; of a recursive derivation, which has hundreds of lines, its name alone."""
    if derivation.engine == "recursive":
        head = f"<b>{html_text(derivation.name)}</b>: {html_text(repr(derivation))}"
        return f"<div>{head}<br><code>.text()</code>, <code>.latex()</code>, <code>.python()</code> write it out.</div>"
    return framed_page(derivation.html(), f"equations of {derivation.name}", scripts=False)

"""What a notebook shows of a trace, a scenario, a robot or metrics: HTML without a server, and matplotlib's axes."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.display import shows
from palpate.errors import TraceError, UnknownName
from palpate.escape.documents import html_text
from palpate.lazy import check_extra
from palpate.metrics import MetricResult
from palpate.toml import toml_text
from palpate.trace import Trace
from palpate.views.first_figure import leading
from palpate.views.panels import Curve, Panel, marks_of, styled
from palpate.views.summary import summary_html

if TYPE_CHECKING:
    import pandas

    from palpate.robot.robot import Robot

_STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_LEFT, _RIGHT = "text-align:left;padding:2px 12px 2px 0", "text-align:right;padding:2px 12px 2px 0"


@shows
def plot(trace: Trace, names: Sequence[str], axes: Any = None) -> Any:
    """Draw channels or columns over time, one pair of axes per unit; see `Trace.plot`."""
    check_extra("matplotlib", "figures", "a plot")
    from matplotlib import pyplot

    from palpate.views.figures import draw_panel

    panels = _panels(trace, names)
    if axes is not None:
        targets = list(axes) if isinstance(axes, Sequence) else [axes]
    else:
        _, grid = pyplot.subplots(
            len(panels), 1, sharex=True, squeeze=False, figsize=(8, 1.2 + 2.4 * len(panels)), layout="constrained"
        )
        targets = list(grid.flat)
    for panel, ax in zip(panels, targets):
        draw_panel(ax, panel, marks_of(trace) if trace else (), titled=False)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    targets[-1].set_xlabel("time (s)")
    return targets[0] if len(targets) == 1 else targets


def _panels(trace: Trace, names: Sequence[str]) -> list[Panel]:
    if not names:
        first = leading(trace)
        return list(first.panels) if first is not None else []
    units: dict[str, list[Curve]] = {}
    for name in names:
        for column, unit in _columns(trace, name):
            lines = units.setdefault(unit, [])
            lines.append(styled(len(lines), column, trace.time, trace.table()[column]))
    return [Panel(_shared([line.label for line in lines]), unit, tuple(lines)) for unit, lines in units.items()]


def _columns(trace: Trace, name: str) -> list[tuple[str, str]]:
    """The columns that a channel's or a column's name stands for, with their units."""
    known = {c: u for channel in trace.channels.values() for c, u in zip(channel.columns, channel.column_units)}
    if name in trace and name not in known:
        channel = trace.channels[name]
        return list(zip(channel.columns, channel.column_units))
    if name not in known:
        raise UnknownName("channel or column", name, [*trace, *known])
    return [(name, known[name])]


def _shared(labels: Sequence[str]) -> str:
    heads = {label.partition("[")[0] for label in labels}
    return heads.pop().replace("_", " ") if len(heads) == 1 else "value"


# ---------------------------------------------------------------------------------------------- tables


@shows
def trace_html(trace: Trace) -> str:
    """The run's summary, and a list of its channels."""
    rows = [[n, ", ".join(dict.fromkeys(c.column_units)), str(c.size), c.help] for n, c in trace.channels.items()]
    table = _table(["channel", "unit", "columns", "what it is"], rows, "llrl")
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
    return f"<div>{head}{_table(['joint', 'unit', 'lower', 'upper', 'speed', 'torque'], rows, 'llrrrr')}</div>"


@shows
def metrics_html(results: Sequence[MetricResult]) -> str:
    """Metrics that have a value, with verdicts."""
    verdict = {True: "✓ pass", False: "✗ fail", None: ""}
    rows = []
    for r in (r for r in results if r.value is not None or r.bounded):
        value, unit = "–" if r.value is None else f"{r.value:.4g}", "" if r.unit == "1" else r.unit
        judged = "not judged" if r.bounded and r.passed is None else verdict[r.passed]
        rows.append([r.name, value, unit, judged, r.help])
    return _table(["metric", "value", "unit", "", "what it is"], rows, "lrlll")


@shows
def sweep_html(sweep: Any, most: int = 5) -> str:
    """What a sweep proves, and its worst and best runs with the commands that make them again."""
    runs = [*((run, "worst") for run in sweep.worst(most)), *((run, "best") for run in sweep.best())]
    keys = [axis.key for axis in sweep.plan.axes]
    metric = [sweep.metric] if sweep.metric else []
    rows = []
    for run, kind in dict(runs).items():
        row = sweep.row(run)
        cells = [f"{row[key]:.4g}" if isinstance(row[key], float) else str(row[key]) for key in (*keys, *metric)]
        rows.append([str(run), kind, *cells, str(row["outcome"]), "✓" if row["passed"] else "✗", sweep.command(run)])
    heads = ["run", "", *keys, *metric, "outcome", "passed", "made again by"]
    table = _table(heads, rows, "rl" + "r" * (len(keys) + len(metric)) + "lll")
    name = html_text(str(sweep.plan.scenario.get("name", "sweep")))
    return f"<div><b>{name}</b>: {len(sweep)} runs. {html_text(sweep.sentence)}{table}</div>"


@shows
def derivation_html(derivation: Any) -> str:
    """The equations as a page in a frame; of a recursive derivation, which has hundreds of lines, its name alone."""
    if derivation.engine == "recursive":
        head = f"<b>{html_text(derivation.name)}</b>: {html_text(repr(derivation))}"
        return f"<div>{head}<br><code>.text()</code>, <code>.latex()</code>, <code>.python()</code> write it out.</div>"
    return _framed(derivation.html(), f"equations of {derivation.name}", scripts=False)


def _framed(page: str, title: str, *, scripts: bool) -> str:
    """A whole page inside a cell: with nothing to serve or to fetch."""
    allowed = "allow-scripts allow-downloads" if scripts else ""
    return (
        f'<iframe title="{html_text(title)}" srcdoc="{html_text(page)}" sandbox="{allowed}" '
        'style="width:100%;height:520px;border:0"></iframe>'
    )


@shows
class NotebookProgress:
    """A bar below the cell while a run or a sweep takes longer than a second; gone when it has ended."""

    def __init__(self) -> None:
        self.started = self.drawn = time.monotonic()
        self.handle: Any = None

    def __call__(self, done: float, total: float, failed: int = 0) -> None:
        """Show how far it is: simulated seconds of a run, or runs of a sweep with those that did not pass."""
        now = time.monotonic()
        if total <= 0 or (now - self.drawn < 0.2 and done < total) or (self.handle is None and now - self.started < 1):
            return
        self.drawn = now
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

        bar = HTML(_bar(done, total, failed, now - self.started) if done < total else "")
        if self.handle is None and done < total:
            self.handle = display(bar, display_id=True)
        elif self.handle is not None:
            self.handle.update(bar)


def _bar(done: float, total: float, failed: int, elapsed: float) -> str:
    left = elapsed * (total / done - 1) if done > 0 else float("nan")
    text = f"{done:.4g} of {total:.4g}, {left:.0f} s left" + (f", {failed} did not pass" if failed else "")
    return f'<progress value="{done:g}" max="{total:g}" style="width:50%"></progress> {text}'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    sides = [_RIGHT if side == "r" else _LEFT for side in align]
    head = "".join(f'<th style="{side}">{html_text(text)}</th>' for text, side in zip(heads, sides))
    cells = ["".join(f'<td style="{side}">{html_text(cell)}</td>' for cell, side in zip(row, sides)) for row in rows]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


# ---------------------------------------------------------------------------------------------- the replay


class ShownReplay:
    """The replay of a trace, as a notebook shows it: a page in a frame, with nothing to serve or to fetch."""

    def __init__(self, page: str) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        return _framed(self.page, "3D replay", scripts=True)

    def __repr__(self) -> str:
        return f"ShownReplay({len(self.page) / 1e6:.1f} MB; .save(path) writes it as a page)"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the replay as a page."""
        from palpate.files import write_file

        return write_file(path, self.page)


@shows
def shown_replay(trace: Trace) -> ShownReplay:
    """The replay of a trace; see `Trace.replay`."""
    from palpate.views.pages.player import replay_html

    return ShownReplay(replay_html(trace))


# ---------------------------------------------------------------------------------------------- other libraries


@shows
def to_pandas(trace: Trace) -> pandas.DataFrame:
    """One column per number, index time in s; `attrs["units"]` has the unit of each column."""
    pandas = _needed("pandas")
    columns = trace.table()
    frame = pandas.DataFrame({name: column for name, column in columns.items() if name != "time"})
    frame.index = pandas.Index(columns["time"], name="time")
    channels = trace.channels.values()
    frame.attrs["units"] = {n: u for channel in channels for n, u in zip(channel.columns, channel.column_units)}
    return frame


_COMPONENTS = {
    ("x", "y", "z"): "axis",
    ("w", "x", "y", "z"): "quaternion",
    ("vx", "vy", "vz", "wx", "wy", "wz"): "twist",
    ("fx", "fy", "fz", "nx", "ny", "nz"): "wrench",
}
_OF_JOINTS = ("v", "tau", "command", "target_v", "v_measured", "q", "target_q", "q_measured")


def _dimensions(trace: Trace) -> dict[tuple[str, ...], str]:
    """The name of the dimension for each set of labels, so that channels with the same labels align.

    On a robot with a free base or a ball joint the coordinates are more than the velocities: they are "coordinate".
    """
    named = dict(_COMPONENTS)
    joints = [trace.channels[name].labels for name in _OF_JOINTS if name in trace.channels]
    for labels, dimension in zip(dict.fromkeys(joints), ("joint", "coordinate")):
        named[labels] = dimension
    return named


@shows
def to_xarray(trace: Trace) -> Any:
    """An xarray Dataset: one variable per channel, over time and "joint", "axis" …; units and help stand in `attrs`."""
    xarray = _needed("xarray")
    variables: dict[str, Any] = {}
    shared = _dimensions(trace)
    coordinates: dict[str, Any] = {"time": ("time", trace.time, {"units": "s"})}
    for name, channel in trace.channels.items():
        if name == "time":
            continue
        dims = tuple(f"{name}.{k}" for k in range(len(channel.shape)))
        if len(dims) == 1 and channel.labels:
            dims = (shared.get(channel.labels, dims[0]),)
            coordinates[dims[0]] = list(channel.labels)
        known = {"units": channel.unit, "frame": channel.frame, "long_name": channel.help}
        attrs = {key: list(value) if isinstance(value, tuple) else value for key, value in known.items() if value}
        variables[name] = (("time", *dims), trace[name], attrs)
    run = {"outcome": str(trace.outcome), "robot": trace.facts.robot or "", "law": trace.facts.law or ""}
    return xarray.Dataset(variables, coordinates, run)


def _needed(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise TraceError(f"this needs {package}, which is not installed", hint=f"pip install {package}") from error

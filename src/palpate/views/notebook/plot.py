"""Plots of a trace's channels over time, in matplotlib's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palpate.display import shows
from palpate.errors import UnknownName
from palpate.lazy import check_extra
from palpate.trace import Trace
from palpate.views.first_figure import leading
from palpate.views.panels import Curve, Panel, marks_of, styled


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

"""Charts of a page, as the plain data that its own script (assets/charts.js) draws."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.views.panels import MARKS, TIME, Curve, Figure, Marks, Panel, kinds_of

MOST_POINTS = 1500
_TALL, _STACKED, _SMALL = 240, 150, 120  # px, of the axes alone


def charts(figure: Figure, marks: Marks) -> list[dict[str, Any]]:
    """One chart per panel; in a column only the lowest labels its time axis."""
    count, last = len(figure.panels), len(figure.panels) - 1
    height = _SMALL if figure.columns > 1 else _TALL if count == 1 else _STACKED
    return [
        _chart(figure, panel, marks, height, first=index == 0, last=index == last or figure.columns > 1)
        for index, panel in enumerate(figure.panels)
    ]


def _chart(figure: Figure, panel: Panel, marks: Marks, height: int, first: bool, last: bool) -> dict[str, Any]:
    timed = panel.over == TIME
    return {
        "name": f"{figure.title}: {panel.title} in {panel.unit} over {'time in s' if timed else panel.over}",
        "title": "" if figure.columns > 1 else panel.title,
        "unit": panel.unit,
        "height": height,
        "time": timed,
        "last": last or not timed,
        "least": panel.least,
        "x": {"title": panel.over},
        "series": [_series(line) for line in panel.lines],
        "marks": [[span.start, span.stop, span.kind] for span in marks if timed],
        "meanings": {kind: MARKS[kind][0] for kind in kinds_of(marks)} if first and timed else {},
    }


def _series(line: Curve) -> dict[str, Any]:
    time, values = thin(line.time, line.values, MOST_POINTS)
    return {
        "kind": "line", "label": line.label, "listed": line.listed, "colour": line.colour, "dash": line.dash,
        "width": line.width, "x": packed(time), "y": packed(values),
    }  # fmt: skip


def thin(time: Array, values: Array, most: int) -> tuple[Array, Array]:
    """At most `most` samples (≥ 4) that keep both ends and, of every stretch, its lowest and highest value."""
    if len(time) and np.ptp(values) == 0:
        ends = sorted({0, len(time) - 1})
        return time[ends], values[ends]
    if len(time) <= most:
        return time, values
    edges = np.linspace(0, len(time), (most - 2) // 2 + 1).astype(int)
    stretch = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    keep = [np.array([0, len(time) - 1])]
    for extreme in (np.minimum, np.maximum):
        there = np.flatnonzero(values == extreme.reduceat(values, edges[:-1])[stretch])
        keep.append(there[np.unique(stretch[there], return_index=True)[1]])  # the first, where several are
    rows = np.unique(np.concatenate(keep))
    return time[rows], values[rows]


def packed(values: Array) -> dict[str, str]:
    """Numbers in base 64; seven digits are plenty on a screen."""
    return {"dtype": "f4", "bdata": base64.b64encode(values.astype("<f4").tobytes()).decode()}


def thinned(figures: list[Figure]) -> bool:
    """Whether some line has more samples than are drawn."""
    return any(len(line.time) > MOST_POINTS for f in figures for panel in f.panels for line in panel.lines)

"""Plots of a page, as the plain data that plotly's script draws."""

from __future__ import annotations

import base64
import json
from html import escape
from typing import Any

from palpate.checks import Array
from palpate.views.panels import MARKS, SHADES, Figure, Line, Marks, Panel
from palpate.views.thin import thin

MOST_POINTS = 1500
_GAP = 0.045  # of the height, between panels
_FOOT = {"guard": {"y1": 0.02}}  # a bar along the foot, so that it hides nothing


def charts(figure: Figure, marks: Marks) -> list[dict[str, Any]]:
    """The figure as charts: one with its panels stacked, or one per panel where they stand in columns.

    Text in a chart is markup to plotly; every text is escaped here.
    """
    if figure.columns == 1:
        return [_chart(figure.panels, marks)]
    return [_chart((panel,), marks, title=panel.title) for panel in figure.panels]


def as_script(data: object) -> str:
    """JSON that is safe inside a page's script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def thinned(figures: list[Figure]) -> bool:
    """Whether some line has more samples than are drawn."""
    return any(len(line.time) > MOST_POINTS for f in figures for panel in f.panels for line in panel.lines)


def _chart(panels: tuple[Panel, ...], marks: Marks, title: str | None = None) -> dict[str, Any]:
    traces, seen = [], set()
    for number, panel in enumerate(panels, 1):
        for line in panel.lines:
            entry = (line.label, line.colour, line.dash)
            traces.append(_trace(line, panel.unit, number, line.listed and entry not in seen))
            seen.add(entry)
    traces += [_legend_patch(kind) for kind in marks.kinds]
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "time (s)"}, "anchor": f"y{len(panels)}" if len(panels) > 1 else "y"},
        "shapes": [_shape(span.start, span.stop, span.kind) for span in marks.spans],
        "height": 330 if len(panels) == 1 else 130 + 190 * len(panels),
    }
    if title is not None:
        layout |= {
            "title": {"text": escape(title), "x": 0.02, "font": {"size": 13}},
            "height": 250,
            "showlegend": False,
        }
    for number, panel in enumerate(panels, 1):
        layout[f"yaxis{number if number > 1 else ''}"] = _axis(panel, number, len(panels), titled=title is None)
    return {"data": traces, "layout": layout}


def _trace(line: Line, unit: str, number: int, listed: bool) -> dict[str, Any]:
    time, values = thin(line.time, line.values, MOST_POINTS)
    label = escape(line.label)
    return {
        "type": "scatter", "mode": "lines", "name": label, "showlegend": listed,
        "legendgroup": f"{label} {line.colour}",
        "x": _packed(time), "y": _packed(values), "yaxis": f"y{number}" if number > 1 else "y",
        "line": {"color": line.colour, "dash": line.dash, "width": line.width},
        "hovertemplate": f"%{{y:.5g}} {escape(unit)}",
    }  # fmt: skip


def _packed(values: Array) -> dict[str, str]:
    """Numbers as plotly's base64 arrays; seven digits are plenty on a screen."""
    return {"dtype": "f4", "bdata": base64.b64encode(values.astype("<f4").tobytes()).decode()}


def _axis(panel: Panel, number: int, count: int, titled: bool) -> dict[str, Any]:
    height = (1.0 - _GAP * (count - 1)) / count
    top = 1.0 - (number - 1) * (height + _GAP)
    text = f"{panel.title} ({panel.unit})" if titled else panel.unit
    return {"domain": [round(max(top - height, 0.0), 6), round(top, 6)], "title": {"text": escape(text)}}


def _shape(start: float, stop: float, kind: str) -> dict[str, Any]:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": stop, "y0": 0, "y1": 1, "layer": "below",
        "line": {"width": 0}, "fillcolor": MARKS[kind], "opacity": SHADES[kind][1], **_FOOT.get(kind, {}),
    }  # fmt: skip


def _legend_patch(kind: str) -> dict[str, Any]:
    marker = {"symbol": "square", "size": 11, "color": MARKS[kind], "opacity": min(2 * SHADES[kind][1], 1.0)}
    return {
        "type": "scatter", "mode": "markers", "name": SHADES[kind][0], "x": [None], "y": [None], "marker": marker,
        "hoverinfo": "skip", "legendgroup": f"mark {kind}",
    }  # fmt: skip


def plotly_script() -> str:
    """Plotly's own script, as its package carries it."""
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()

"""Charts of a sweep, as plain data: traces with a layout, which the page's own script (assets/sweeps.js) draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.views.panels import COLOURS

Chart = dict[str, Any]
GOOD, BAD, FOUND, PREDICTED = COLOURS[0], COLOURS[3], COLOURS[6], COLOURS[2]
BINS = 30


def histogram(title: str, values: Array, passed: Array) -> Chart:
    """How often which value was met, runs that passed and runs that did not stacked."""
    finite = np.isfinite(values)
    edges = np.histogram_bin_edges(values[finite], bins=BINS)
    centres, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    bars = []
    for label, colour, chosen in (("passed", GOOD, passed), ("did not pass", BAD, ~passed)):
        counts, _ = np.histogram(values[finite & chosen], bins=edges)
        bars.append({"type": "bar", "name": label, "x": centres.tolist(), "y": counts.tolist(), "width": width,
                     "marker": {"color": colour}})  # fmt: skip
    layout = {
        "barmode": "stack", "height": 260, "showlegend": False, "bargap": 0, "yaxis": {"title": {"text": "runs"}},
        "xaxis": {"title": {"text": title}, "exponentformat": "power"},
    }  # fmt: skip
    return {"data": bars, "layout": layout}


def parallel(dimensions: Mapping[str, Sequence[Any]], passed: Array, logs: Sequence[str] = ()) -> Chart:
    """Parallel coordinates: a line per run through its parameters and its metric; drag along an axis to choose runs."""
    shown = short_names(list(dimensions))
    axes = [_dimension(label, list(values), key in logs) for (key, values), label in zip(dimensions.items(), shown)]
    line = {
        "color": passed.astype(int).tolist(), "cmin": 0, "cmax": 1, "showscale": False,
        "colorscale": [[0, BAD], [0.5, BAD], [0.5, GOOD], [1, GOOD]],
    }  # fmt: skip
    trace = {"type": "parcoords", "dimensions": axes, "line": line, "labelangle": -12, "labelfont": {"size": 11}}
    return {"data": [trace], "layout": {"height": 380, "margin": {"l": 70, "r": 50, "t": 80, "b": 30}}}


def _dimension(label: str, values: list[Any], log: bool) -> dict[str, Any]:
    if any(isinstance(value, str) for value in values):
        names = sorted({str(value) for value in values})
        places = [names.index(str(value)) for value in values]
        return {"label": label, "values": places, "tickvals": list(range(len(names))), "ticktext": names}
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    low = float(np.nanmin(numbers)) if np.isfinite(numbers).any() else 0.0
    numbers = np.where(np.isfinite(numbers), numbers, low)
    if not log or low <= 0:
        return {"label": label, "values": numbers.tolist(), "tickformat": ".3~g"}
    logs = np.log10(numbers)
    ticks = np.linspace(logs.min(), logs.max(), 5)
    text = [f"{10**tick:.3g}" for tick in ticks]
    return {"label": label, "values": logs.tolist(), "tickvals": ticks.tolist(), "ticktext": text}


def short_names(keys: Sequence[str]) -> list[str]:
    """The last part of each key, more of it where two would be called the same."""
    parts = {key: key.split(".") for key in keys}
    names = {}
    for key in keys:
        size = next(
            n for n in range(1, len(parts[key]) + 1)
            if sum(parts[other][-n:] == parts[key][-n:] for other in keys) == 1 or n == len(parts[key])
        )  # fmt: skip
        plain = ".".join(parts[key][-size:])
        names[key] = plain if not parts[key][-1].isdecimal() or size > 1 else ".".join(parts[key][-2:])
    return [names[key] for key in keys]


def boundary(boundary_map: Mapping[str, Any]) -> Chart:
    """Verdicts over two parameters, the boundary that was found and the one that was predicted."""
    points = np.array(boundary_map["points"], dtype=float).reshape(-1, 2)
    good = np.array(boundary_map["good"], dtype=bool)
    data = [
        _scatter("good", points[good], {"color": GOOD, "size": 6, "symbol": "circle", "opacity": 0.55}),
        _scatter("bad", points[~good], {"color": BAD, "size": 6, "symbol": "x", "opacity": 0.55}),
    ]
    for name, colour, dash in (("boundary", FOUND, "solid"), ("predicted", PREDICTED, "dash")):
        data += [
            _line(name, np.array(line, dtype=float), colour, dash, first=k == 0)
            for k, line in enumerate(boundary_map.get(name, ()))
        ]
    axes = [
        {"type": "log" if log else "linear", "title": {"text": key}, "exponentformat": "power"}
        for key, log in zip(boundary_map["keys"], boundary_map["log"])
    ]
    return {"data": data, "layout": {"height": 520, "hovermode": "closest", "xaxis": axes[0], "yaxis": axes[1]}}


def _scatter(name: str, points: Array, marker: dict[str, Any], mode: str = "markers") -> dict[str, Any]:
    x, y = points.T.tolist()
    return {"type": "scatter", "mode": mode, "name": name, "x": x, "y": y, "marker": marker}


def _line(name: str, line: Array, colour: str, dash: str, first: bool) -> dict[str, Any]:
    look = {"legendgroup": name, "showlegend": first, "line": {"color": colour, "dash": dash, "width": 2.5}}
    return {**_scatter(name, line, {}, "lines"), **look}


def front(titles: Sequence[str], all_points: Array, passed: Array, best: Array) -> Chart:
    """Two metrics of every run, and those that no other run beats in both."""
    line = {"color": FOUND, "shape": "hv"}
    data = [
        _scatter("passed", all_points[passed], {"color": GOOD, "size": 5, "opacity": 0.5}),
        _scatter("did not pass", all_points[~passed], {"color": BAD, "size": 5, "opacity": 0.5}),
        {**_scatter("front", best, {"size": 7}, "lines+markers"), "line": line},
    ]
    axes = [{"title": {"text": title}, "exponentformat": "power"} for title in titles]
    return {"data": data, "layout": {"height": 420, "hovermode": "closest", "xaxis": axes[0], "yaxis": axes[1]}}


def sensitivities(indices: Sequence[Mapping[str, Any]]) -> Chart:
    """First-order and total indices of each parameter, with their intervals."""
    keys = short_names([str(one["key"]) for one in indices])
    data = []
    for name, colour in (("first", GOOD), ("total", COLOURS[1])):
        values = [float(one[name]) for one in indices]
        ends = [one[f"{name}_interval"] for one in indices]
        spread = {
            "type": "data", "symmetric": False, "thickness": 1.2,
            "array": [max(end["high"] - value, 0.0) for end, value in zip(ends, values)],
            "arrayminus": [max(value - end["low"], 0.0) for end, value in zip(ends, values)],
        }  # fmt: skip
        label = "alone (first order)" if name == "first" else "with interactions (total)"
        data.append({"type": "bar", "name": label, "x": [key for key in keys], "y": values,
                     "error_y": spread, "marker": {"color": colour}})  # fmt: skip
    return {"data": data, "layout": {"barmode": "group", "height": 340, "yaxis": {"title": {"text": "Sobol index"}}}}

"""Charts of a sweep as plain data: traces with a layout, which the page's own script (assets/sweeps.js) draws.

A trace whose points are runs names them under `runs`, so that each answers a pointer and a click.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.views.panels import COLOURS

Chart = dict[str, Any]
GOOD, BAD, FOUND, PREDICTED, GREY = COLOURS[0], COLOURS[3], COLOURS[6], COLOURS[2], "#888888"
BINS = 30
FAR = 2.5  # spans of the values: a bound farther away than this is named, but does not stretch the axis
DECADES = 300.0  # largest over smallest value from which an axis is logarithmic


@dataclass(frozen=True)
class Points:
    """Runs over one quantity.

    Attributes:
        title: of the quantity.
        values: of each run; numbers, or texts of a list.
        passed: whether each run passed.
        runs: what the page calls each run.
        log: whether the quantity was spread over its logarithm.
        joined: whether neighbours may be joined by a line: one run at each value, and nothing else varies.
    """

    title: str
    values: Sequence[Any]
    passed: Array
    runs: Sequence[str]
    log: bool = False
    joined: bool = False

    @property
    def named(self) -> bool:
        """Whether the quantity is a choice from a list of texts."""
        return any(isinstance(value, str) for value in self.values)

    def places(self) -> tuple[Array, list[str] | None]:
        """Where each run stands along the axis, and the names of the places where they are texts."""
        if not self.named:
            return np.array([np.nan if x is None else float(x) for x in self.values], dtype=float), None
        names = list(dict.fromkeys(map(str, self.values)))
        places = np.array([names.index(str(value)) for value in self.values], dtype=float)
        aside = np.modf(0.618034 * np.arange(len(places)))[0] - 0.5  # so that runs of one choice hide none
        return (places + 0.5 * aside if len(places) > 3 * len(names) else places), names


@dataclass(frozen=True)
class Bounded:
    """A metric of each run, and what it must keep: {"least": …}, {"most": …}, both or nothing."""

    name: str
    unit: str
    values: Array
    bound: Mapping[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name with its unit."""
        return self.name if self.unit == "1" else f"{self.name} ({self.unit})"


def axis(title: str, log: bool = False, names: Sequence[str] | None = None) -> dict[str, Any]:
    """An axis."""
    plain = {"type": "log" if log else "linear", "title": {"text": title}}
    return plain if names is None else {**plain, "names": list(names)}


def metric_over(over: Points, metric: Bounded, height: int, best: int | None = None) -> Chart:
    """A metric over what was varied, with its bound; runs without a value stand at the upper edge.

    Args:
        over: what was varied.
        metric: over it.
        height: px, of the chart.
        best: which run to ring, or None.
    """
    x, names = over.places()
    y, known = metric.values, np.isfinite(metric.values)
    log = names is None and over.log and bool(np.nanmin(x, initial=np.inf) > 0)
    upright = _spreads_over_decades(y[known], metric.bound)
    data: list[dict[str, Any]] = []
    if over.joined and names is None and known.sum() > 1:
        order = np.argsort(x[known])
        line = np.column_stack([x[known][order], y[known][order]])
        data.append({**_scatter("", line, {}, "lines"), "showlegend": False, "line": {"color": GREY, "width": 1.2}})
    top = np.inf if upright else _upper_edge(y[known], metric.bound)
    data += verdicts(np.column_stack([x, y]), over.passed, over.runs, known & (y <= top))
    data += bound_lines(metric, (float(np.nanmin(x)), float(np.nanmax(x))), y[known & (y <= top)])
    data += _beyond(np.column_stack([x, y]), top, over.runs)
    if not known.all():
        top = float(y[known & (y <= top)].max()) if known.any() else 1.0
        lost = np.column_stack([x[~known], np.full((~known).sum(), top)])
        data.append(_runs("no value", lost, _at(over.runs, ~known), {"color": BAD, "size": 9, "symbol": "down"}))
    if best is not None and known[best]:
        data.append(_ring(x[best], y[best], over.runs[best]))
    layout = {"height": height, "xaxis": axis(over.title, log, names), "yaxis": axis(metric.title, upright)}
    return {"data": data, "layout": layout}


def _upper_edge(values: Array, bound: Mapping[str, float]) -> float:
    """Where to cut an axis off: far above three quarters of the values, so that a few do not flatten all others."""
    if len(values) < 8:
        return np.inf
    low, high = np.quantile(values, [0.25, 0.75])
    edge = max(high + 6.0 * (high - low), *bound.values()) if bound else high + 6.0 * (high - low)
    return float(edge) if high > low and values.max() > edge else np.inf


def _beyond(points: Array, top: float, runs: Sequence[str]) -> list[dict[str, Any]]:
    """Runs that lie above the picture, at its upper edge."""
    above = np.isfinite(points).all(axis=1) & (points[:, 1] > top)
    if not above.any():
        return []
    held = np.column_stack([points[above, 0], np.full(above.sum(), top)])
    return [_runs(f"above {top:.3g}", held, _at(runs, above), {"color": BAD, "size": 9, "symbol": "triangle"})]


def _spreads_over_decades(values: Array, bound: Mapping[str, float]) -> bool:
    if not len(values) or min([*values.tolist(), *bound.values()]) <= 0:
        return False
    return bool(max([*values.tolist(), *bound.values()]) > DECADES * np.quantile(values, 0.1))


def verdicts(points: Array, passed: Array, runs: Sequence[str], shown: Array | None = None) -> list[dict[str, Any]]:
    """Runs that passed as dots and those that did not as crosses, each of which can be pointed at."""
    seen = np.isfinite(points).all(axis=1) if shown is None else shown & np.isfinite(points).all(axis=1)
    size = 7 if seen.sum() <= 200 else 5
    looks = (
        ("passed", passed, {"color": GOOD, "size": size, "symbol": "circle", "opacity": 0.75}),
        ("did not pass", ~passed, {"color": BAD, "size": size, "symbol": "x", "opacity": 0.85}),
    )
    return [
        _runs(label, points[seen & kind], _at(runs, seen & kind), marker)
        for label, kind, marker in looks
        if (seen & kind).any()
    ]


def _at(runs: Sequence[str], chosen: Array) -> list[str]:
    return [run for run, there in zip(runs, chosen) if there]


def bound_lines(metric: Bounded, ends: tuple[float, float], values: Array) -> list[dict[str, Any]]:
    """Each end of a bound as a dashed line; one far from every value is named in the legend alone."""
    unit = "" if metric.unit == "1" else f" {metric.unit}"
    lines = []
    for end, sign in (("least", "≥"), ("most", "≤")):
        limit = metric.bound.get(end)
        if limit is None:
            continue
        span = float(np.ptp(values)) if len(values) else 0.0
        gap = max(float(limit - values.max()), float(values.min() - limit)) if len(values) else 0.0
        far = span > 0 and gap > FAR * span
        label = f"bound {sign} {limit:.6g}{unit}".replace("-", "−") + (", beyond this picture" if far else "")
        line = np.empty((0, 2)) if far else np.array([[ends[0], limit], [ends[1], limit]])
        look = {"color": FOUND, "dash": "dash", "width": 1.6, "span": True}
        lines.append({**_scatter(label, line, {}, "lines"), "line": look})
    return lines


def _ring(x: float, y: float, run: str) -> dict[str, Any]:
    return _runs("best", np.array([[x, y]]), [run], {"color": FOUND, "size": 15, "symbol": "ring"})


def verdict_map(x: Points, y: Points, height: int) -> Chart:
    """Verdicts over two quantities; one that is a choice from a list lies along the horizontal axis."""
    across, up = (y, x) if y.named and not x.named else (x, y)
    places, names = across.places()
    heights, _ = up.places()
    data = verdicts(np.column_stack([places, heights]), x.passed, x.runs)
    axes = axis(across.title, across.log and names is None, names), axis(up.title, up.log and not up.named)
    return {"data": data, "layout": {"height": height, "xaxis": axes[0], "yaxis": axes[1]}}


def histogram(title: str, values: Array, passed: Array, metric: Bounded | None = None) -> Chart:
    """How often which value was met, runs that passed and runs that did not stacked; a bound as a line."""
    finite = np.isfinite(values)
    low, high = float(values[finite].min()), float(values[finite].max())
    least = BINS * 2 * float(np.spacing(max(abs(low), abs(high))))  # narrower bins have no distinct edges
    edges = np.linspace(low, max(high, low + least), BINS + 1)
    centres, width = (edges[1:] + edges[:-1]) / 2, float(edges[1] - edges[0])
    bars, most = [], 0
    for label, colour, chosen in (("passed", GOOD, passed), ("did not pass", BAD, ~passed)):
        counts, _ = np.histogram(values[finite & chosen], bins=edges)
        most = max(most, int(counts.max(initial=0)))
        bars.append({"type": "bar", "name": label, "x": centres.tolist(), "y": counts.tolist(), "width": width,
                     "marker": {"color": colour}})  # fmt: skip
    limits = [] if metric is None else [x for x in metric.bound.values() if low <= x <= high + FAR * (high - low)]
    for limit in limits:
        line = np.array([[limit, 0.0], [limit, float(most)]])
        look = {"color": FOUND, "dash": "dash", "width": 1.6}
        bars.append({**_scatter("bound", line, {}, "lines"), "line": look})
    layout = {"barmode": "stack", "height": 260, "showlegend": False, "xaxis": axis(title), "yaxis": axis("runs")}
    return {"data": bars, "layout": layout}


def parallel(dimensions: Mapping[str, Sequence[Any]], passed: Array, logs: Sequence[str] = ()) -> Chart:
    """Parallel coordinates: a line per run through its parameters and its metric; drag along an axis to choose runs."""
    shown = short_names(list(dimensions))
    axes = [_dimension(label, list(values), key in logs) for (key, values), label in zip(dimensions.items(), shown)]
    line = {"color": passed.astype(int).tolist(), "colorscale": [[0, BAD], [1, GOOD]]}
    return {"data": [{"type": "parcoords", "dimensions": axes, "line": line}], "layout": {"height": 380}}


def _dimension(label: str, values: list[Any], log: bool) -> dict[str, Any]:
    if any(isinstance(value, str) for value in values):
        names = sorted({str(value) for value in values})
        places = [names.index(str(value)) for value in values]
        return {"label": label, "values": places, "tickvals": list(range(len(names))), "ticktext": names}
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    low = float(np.nanmin(numbers)) if np.isfinite(numbers).any() else 0.0
    numbers = np.where(np.isfinite(numbers), numbers, low)
    if not log or low <= 0:
        return {"label": label, "values": numbers.tolist()}
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


def boundary(boundary_map: Mapping[str, Any], runs: Sequence[str] | None = None, height: int = 520) -> Chart:
    """Verdicts over two parameters, the boundary that was found and the one that was predicted."""
    points = np.array(boundary_map["points"], dtype=float).reshape(-1, 2)
    good = np.array(boundary_map["good"], dtype=bool)
    names = list(map(str, range(len(points)))) if runs is None else runs
    data = [
        _runs("good", points[good], _at(names, good), {"color": GOOD, "size": 6, "symbol": "circle", "opacity": 0.55}),
        _runs("bad", points[~good], _at(names, ~good), {"color": BAD, "size": 6, "symbol": "x", "opacity": 0.55}),
    ]
    for name, colour, dash in (("boundary", FOUND, "solid"), ("predicted", PREDICTED, "dash")):
        data += [
            _line(name, np.array(line, dtype=float), colour, dash, first=k == 0)
            for k, line in enumerate(boundary_map.get(name, ()))
        ]
    axes = [axis(key, log) for key, log in zip(boundary_map["keys"], boundary_map["log"])]
    return {"data": data, "layout": {"height": height, "xaxis": axes[0], "yaxis": axes[1]}}


def _scatter(name: str, points: Array, marker: dict[str, Any], mode: str = "markers") -> dict[str, Any]:
    x, y = points.T.tolist()
    return {"type": "scatter", "mode": mode, "name": name, "x": x, "y": y, "marker": marker}


def _runs(name: str, points: Array, runs: Sequence[str], marker: dict[str, Any]) -> dict[str, Any]:
    return {**_scatter(name, points, marker), "runs": list(runs)}


def _line(name: str, line: Array, colour: str, dash: str, first: bool) -> dict[str, Any]:
    look = {"showlegend": first, "line": {"color": colour, "dash": dash, "width": 2.5}}
    return {**_scatter(name, line, {}, "lines"), **look}


@dataclass(frozen=True)
class Front:
    """Two metrics of every run and the runs that no other one beats in both.

    Attributes:
        x, y: the metrics.
        passed: whether each run passed.
        runs: what the page calls each run.
        best: points of the front, (n, 2), in its order.
        chosen: the run to ring, or None.
    """

    x: Bounded
    y: Bounded
    passed: Array
    runs: Sequence[str]
    best: Array
    chosen: int | None = None


def front(both: Front, height: int = 420) -> Chart:
    """A front as a chart, with the bounds of both metrics."""
    points = np.column_stack([both.x.values, both.y.values])
    whole = np.isfinite(points).all(axis=1)
    upright = [_spreads_over_decades(points[whole, k], one.bound) for k, one in enumerate((both.x, both.y))]
    top = np.inf if upright[1] else _upper_edge(points[whole, 1], both.y.bound)
    whole &= points[:, 1] <= top
    data = [*verdicts(points, both.passed, both.runs, whole), *_beyond(points, top, both.runs)]
    look = {"color": FOUND, "shape": "hv", "width": 1.6}
    data.append({**_scatter("front", both.best, {}, "lines"), "line": look})
    if whole.any():
        ends = float(points[whole, 0].min()), float(points[whole, 0].max())
        data += bound_lines(both.y, ends, points[whole, 1])
    if both.chosen is not None and whole[both.chosen]:
        data.append(_ring(points[both.chosen, 0], points[both.chosen, 1], both.runs[both.chosen]))
    layout = {"height": height, "xaxis": axis(both.x.title, upright[0]), "yaxis": axis(both.y.title, upright[1])}
    return {"data": data, "layout": layout}


def sensitivities(indices: Sequence[Mapping[str, Any]]) -> Chart:
    """First-order and total indices of each parameter, with their intervals."""
    keys = short_names([str(one["key"]) for one in indices])
    data = []
    for name, colour in (("first", GOOD), ("total", COLOURS[1])):
        values = [float(one[name]) for one in indices]
        ends = [one[f"{name}_interval"] for one in indices]
        spread = {
            "array": [max(end["high"] - value, 0.0) for end, value in zip(ends, values)],
            "arrayminus": [max(value - end["low"], 0.0) for end, value in zip(ends, values)],
        }
        label = "alone (first order)" if name == "first" else "with interactions (total)"
        data.append({"type": "bar", "name": label, "x": keys, "y": values,
                     "error_y": spread, "marker": {"color": colour}})  # fmt: skip
    return {"data": data, "layout": {"barmode": "group", "height": 340, "yaxis": axis("Sobol index")}}

"""The runs of a sweep's table: the columns, metrics and order that its page shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.forking import cached_property
from palpate.metrics import METRICS
from palpate.parquet import read_columns, read_footer
from palpate.views.pages.sweep.charts import Bounded, Points

MOST_ROWS, MOST_LINES, MOST_CHARTS, MOST_AXES, MOST_PAIRS = 100, 1500, 6, 9, 4
COUNTS = ("diverged", "impossible", "crashed")


class SweepRuns:
    """The columns of a table that the page shows."""

    def __init__(self, table: str | os.PathLike[str], summary: Mapping[str, Any]) -> None:
        self.table, self.keys = table, list(summary["vary"])
        self.names = read_footer(table).columns
        self.metrics = [name for name in self.names if name in METRICS or name == summary.get("metric")]
        self.passed = np.array(self.column("passed"), dtype=bool)
        self.ranked, self.summary = summary.get("metric"), summary
        if summary["method"] == "tune":  # a search keeps bounds of its own too
            self.passed &= self._kept()
        self.labels = list(map(str, range(len(self.passed))))

    def _kept(self) -> Array:
        """Which runs keep every bound that is asked for; a missing number keeps none."""
        kept = np.ones(len(self.passed), dtype=bool)
        for name, bound in self.summary.get("bounds", {}).items():
            values = self.numbers(name) if name in self.names else np.full(len(kept), np.nan)
            kept &= (values >= bound.get("least", -np.inf)) & (values <= bound.get("most", np.inf))
        return kept

    def column(self, name: str, runs: Sequence[int] | None = None) -> list[Any]:
        """A column, or the chosen runs of it."""
        values = read_columns(self.table, [name])[name].to_list()
        return values if runs is None else [values[run] for run in runs]

    def numbers(self, name: str) -> Array:
        """A column as floating-point numbers."""
        return read_columns(self.table, [name])[name].to_numpy().astype(float)

    def order(self, worst: Sequence[int]) -> list[int]:
        """Runs by what they tell: the worst, those that did not pass, then the others."""
        others = np.concatenate([np.flatnonzero(~self.passed)[:MOST_LINES], np.flatnonzero(self.passed)[:MOST_LINES]])
        return list(dict.fromkeys([*worst, *others.tolist()]))

    @cached_property
    def drawn(self) -> list[int]:
        """Runs that are drawn, in the order of the table."""
        return sorted(self.order([one["run"] for one in self.summary["worst"]])[:MOST_LINES])

    @cached_property
    def varying_metrics(self) -> list[str]:
        """Metrics that vary, those with a bound first: broken most often, then as the table has them."""
        spread = [
            n for n in self.metrics if np.isfinite(v := self.numbers(n)).sum() > 1 and np.nanmax(v) > np.nanmin(v)
        ]
        first = [*self.summary.get("broken", {}), self.ranked, *self.summary.get("bounds", {})]
        return list(dict.fromkeys([n for n in [*first, *spread] if n in spread]))[:MOST_CHARTS]

    @cached_property
    def shown_metrics(self) -> list[str]:
        """Metrics that the first pictures show: those with a bound; without any, the ranking one and some that vary."""
        bounds = self.summary.get("bounds", {})
        kept = [name for name in self.varying_metrics if name in bounds or name == self.ranked]
        return kept or self.varying_metrics[:4]

    def points(self, key: str, joined: bool = False) -> Points:
        """The drawn runs over a quantity."""
        chosen = self.drawn
        log = "log" in spec if isinstance(spec := self.summary["vary"].get(key), str) else False
        labels = [self.labels[run] for run in chosen]
        return Points(key, self.column(key, chosen), self.passed[chosen], labels, log, joined)

    def metric(self, name: str) -> Bounded:
        """A metric of the drawn runs."""
        bound = self.summary.get("bounds", {}).get(name, {})
        limits = {end: float(limit) for end, limit in bound.items() if end in ("least", "most") and limit is not None}
        return Bounded(name, METRICS[name].unit if name in METRICS else "1", self.numbers(name)[self.drawn], limits)

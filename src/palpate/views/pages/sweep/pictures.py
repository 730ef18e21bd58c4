"""Charts that several parts of a sweep's page draw: over the one quantity that varies, and of a front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from palpate.views.pages.sweep import charts
from palpate.views.pages.sweep.charts import Chart, Front, Points
from palpate.views.pages.sweep.runs import SweepRuns

TALL, HALF, SMALL = 400, 265, 225  # px, of charts on the first screen: alone, two, more of them


def only_quantity(runs: SweepRuns) -> Points:
    """The one quantity that is varied; its runs are joined where each value has one."""
    values = runs.column(runs.keys[0])
    once = len(set(map(str, values))) == len(values)
    return runs.points(runs.keys[0], joined=once and runs.summary["method"] == "grid")


def front_chart(runs: SweepRuns, pareto: Mapping[str, Any], chosen: int | None = None) -> Chart:
    """The Pareto front of two metrics among the drawn runs."""
    x, y = (runs.metric(name) for name in pareto["metrics"])
    passed, labels = runs.passed[runs.drawn], [runs.labels[run] for run in runs.drawn]
    best = np.array(pareto["points"], dtype=float).reshape(-1, 2)
    return charts.front(Front(x, y, passed, labels, best, chosen))

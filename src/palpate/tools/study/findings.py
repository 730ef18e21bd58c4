"""Findings of a sweep as plain data: sensitivity, Pareto front, map."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.errors import InvalidInput
from palpate.tools.study.analysis.maps import BoundaryMap

if TYPE_CHECKING:
    from palpate.tools.study.result import Sweep

MOST_LINES = 3000  # points of a line that are written down


def sensitivity_data(sweep: Sweep) -> dict[str, Any]:
    """Sobol indices of the ranking metric, if the sweep has rows for them."""
    if sweep.plan.method != "saltelli" or sweep.metric is None:
        return {}
    try:
        return {"sensitivity": [asdict(one) for one in sweep.sensitivity(sweep.metric)]}
    except InvalidInput as error:
        return {"sensitivity": [], "sensitivity_note": str(error)}


def pareto_data(sweep: Sweep, first: str, second: str) -> dict[str, Any]:
    """The Pareto front of two metrics."""
    runs = sweep.pareto(first, second)[:MOST_LINES]
    points = np.column_stack([sweep.numbers(name)[runs] for name in (first, second)]).tolist()
    return {"pareto": {"metrics": [first, second], "runs": runs, "points": points}}


def map_data(sweep: Sweep) -> dict[str, Any]:
    """The map of a sweep, if it made one."""
    if not isinstance(sweep.finding, BoundaryMap):
        return {}
    finding = sweep.finding
    return {
        "map": {
            "keys": [axis.key for axis in sweep.plan.axes],
            "log": [finding.x.log, finding.y.log],
            "ends": [[finding.x.low, finding.x.high], [finding.y.low, finding.y.high]],
            "points": finding.points.tolist(),
            "good": finding.verdicts.tolist(),
            "boundary": [line[:MOST_LINES].tolist() for line in finding.boundary],
            "predicted": [],
        }
    }

"""The driver of a map."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from palpate.checks import Array
from palpate.tools.study.analysis.maps import COARSE, TOLERANCE, BoundaryMap, map_spans, refine
from palpate.tools.study.drivers.rules import metric_names, parse_rule
from palpate.tools.study.drivers.search import drive_search
from palpate.tools.study.plans.points import PlannedRun, PlanStage
from palpate.tools.study.running.store import Store


def verdicts(store: Store, first: int, count: int) -> Array:
    """Whether each run was good: it passed, or by the rule of the plan."""
    rule = store.plan.options.get("by") or "passed"
    if rule in ("passed", "ended"):
        column = "passed" if rule == "passed" else "outcome"
        values = store.columns([column], first, count)[column]
        return np.array([value in (True, "completed", "stopped") for value in values])
    name, sign, level = parse_rule(rule, "--by", metric_names(store.plan))
    values = store.columns([name], first, count)[name]
    return np.array([value is not None and (value < level if sign == "<" else value > level) for value in values])


def drive_map(store: Store) -> Generator[PlanStage, None, BoundaryMap]:
    """The driver of a map: cells along the boundary are refined, level by level."""
    plan = store.plan
    (x, y), options = map_spans(plan), plan.options
    cells = int(options["cells"])
    steps = refine(cells, min(COARSE, cells), float(options.get("tolerance", TOLERANCE)), x, y)

    def points(places: Array, first: int, level: int) -> list[PlannedRun]:
        return [PlannedRun((x.at(u), y.at(v)), plan.own_seed, first + k, 0, level) for k, (u, v) in enumerate(places)]

    return (yield from drive_search(steps, points, lambda first, count: verdicts(store, first, count)))

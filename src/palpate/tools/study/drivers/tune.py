"""The driver of a search for gains: its points, and the score of each row."""

from __future__ import annotations

import numpy as np

from palpate.tools.study.analysis import maps
from palpate.tools.study.drivers.gain_search import Score, search_for
from palpate.tools.study.drivers.rules import parse_rule
from palpate.tools.study.drivers.search import Driver, drive_search
from palpate.tools.study.plans.axis import Value
from palpate.tools.study.plans.plan import REFUSED
from palpate.tools.study.plans.points import PlannedRun
from palpate.tools.study.running.store import Store


def drive_tuning(store: Store, refuse: maps.Refuse | None) -> Driver:
    """The driver of a search for gains; points that `refuse` gives a reason for are not simulated."""
    plan = store.plan

    def points(asked: list[tuple[Value, ...]], first: int, _: int) -> list[PlannedRun]:
        made = []
        for run, values in enumerate(asked[: plan.runs - first], first):
            refusal = None if refuse is None else maps.refusal(plan, values, refuse)
            made.append(PlannedRun(values, plan.own_seed, run, refusal=refusal))
        return made

    search = search_for(plan.axes, plan.runs, plan.seed)
    return drive_search(search, points, lambda first, count: scores_of(store, first, count), most=plan.runs)


def scores_of(store: Store, first: int, count: int) -> list[Score]:
    """The rows of a stage as the search needs them."""
    options, bounds = store.plan.options, tuning_bounds(store)
    name = options["minimise"]
    columns = store.columns([name, "outcome", *bounds], first, count)
    rows = []
    for k, (value, outcome) in enumerate(zip(columns[name], columns["outcome"])):
        broken = sum(_violation(columns[metric][k], *bounds[metric]) for metric in bounds)
        missing = outcome not in ("completed", "stopped") or value is None
        rows.append(
            Score(np.inf if value is None else float(value), broken + (_ENDED.get(outcome, 1.0) if missing else 0.0))
        )
    return rows


_ENDED = {"diverged": 10.0, REFUSED: 100.0, "impossible": 1000.0, "crashed": 1000.0}  # how far from good, roughly


def tuning_bounds(store: Store) -> dict[str, tuple[float | None, float | None]]:
    """Least and most of every bounded metric: the scenario's, drawn tighter by --keep."""
    bounded = store.plan.scenario.get("metrics", {})
    bounds = {name: (bound.get("least"), bound.get("most")) for name, bound in bounded.items()}
    for text in store.plan.options["keep"]:
        name, sign, level = parse_rule(text, "--keep", store.plan.metrics)
        least, most = bounds.get(name, (None, None))
        if sign == "<":
            most = level if most is None or level is None else min(most, level)
        else:
            least = level if least is None or level is None else max(least, level)
        bounds[name] = (least, most)
    return bounds


def _violation(value: float | None, least: float | None, most: float | None) -> float:
    """By how much a bound is broken, relative to its size; 1 where there is no number."""
    if value is None:
        return 1.0
    over = 0.0 if most is None else max(0.0, value - most) / max(abs(most), 1e-12)
    under = 0.0 if least is None else max(0.0, least - value) / max(abs(least), 1e-12)
    return over + under

"""The driver of a rare failure."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.study.analysis.rare import Batch, RareEstimate, rare_failure
from palpate.tools.study.drivers.rules import metric_names, parse_rule
from palpate.tools.study.drivers.search import drive_search
from palpate.tools.study.plans.plan import Plan
from palpate.tools.study.plans.points import PlannedRun, PlanStage, run_seed
from palpate.tools.study.running.store import Store


def score_of(plan: Plan) -> tuple[str, Callable[[Any], float]]:
    """The metric of a rare failure, and how badly a value of it did: 0 and above is a failure."""
    name, sign, level = parse_rule(plan.options["rare"], "--rare", metric_names(plan))
    if level is None:
        bound = plan.scenario.get("metrics", {}).get(name, {})
        sign, level = (">", bound.get("most")) if bound.get("most") is not None else ("<", bound.get("least"))
        if level is None:
            raise InvalidInput(
                f"--rare {name}: the scenario has no bound on it", hint=f"give a level, such as --rare '{name}>40'"
            )
    side, edge = (1.0 if sign == ">" else -1.0), float(level)
    return name, lambda value: np.inf if value is None else side * (float(value) - edge)


def drive_rare(store: Store) -> Generator[PlanStage, None, RareEstimate]:
    """The driver of a rare failure: levels of the climb, then fresh runs of the last proposal."""
    from scipy.special import ndtr

    plan = store.plan
    name, score = score_of(plan)
    climb = rare_failure(len(plan.axes), plan.runs, plan.seed, float(plan.options["confidence"]))

    def points(batch: Batch, first: int, level: int) -> list[PlannedRun]:
        values = [tuple(axis.at(u) for axis, u in zip(plan.axes, row)) for row in ndtr(batch.u)]
        seeds = [run_seed(plan.seed, first + k, 0) for k in range(len(values))]
        weights = batch.weight.tolist()
        return [PlannedRun(values[k], seeds[k], first + k, 0, level, weights[k]) for k in range(len(values))]

    def scores(first: int, count: int) -> Array:
        return np.array([score(value) for value in store.columns([name], first, count)[name]])

    return (yield from drive_search(climb, points, scores))

"""How each method goes about its runs: a generator that asks for stages and, when their rows are there, for more.

A driver depends on the plan and on rows alone, so that it finds the same answer when it is driven again over rows that
are already there: that is how a sweep resumes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, check_names
from palpate.metrics import METRICS
from palpate.tools.study.analysis.maps import COARSE, TOLERANCE, BoundaryMap, map_spans, refine
from palpate.tools.study.analysis.statistics import Batch, Interval, RareEstimate, confidence_sequence, rare_failure
from palpate.tools.study.plans.plan import Plan, PlannedRun, PlanStage, run_seed
from palpate.tools.study.running.store import Store
from palpate.user_code import is_address

Driver = Generator[PlanStage, None, Any]
LOOK_EVERY = 8  # chunks between two looks of a sweep that may stop by itself
_RULE = re.compile(r"\s*([a-z_]+|[\w.]+:\w+)\s*(?:(<=?|>=?)\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*)?")


def drive(store: Store) -> Driver:
    """The driver of a sweep."""
    return _ADAPTIVE.get(store.plan.method, _planned)(store)


# ---------------------------------------------------------------------------------------------- stopping by itself


def parse_rule(text: str, what: str, names: Sequence[str]) -> tuple[str, str | None, float | None]:
    """`name<number`: the name, the sign without its =, and the number; sign and number may be missing."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise InvalidInput(f"{what} {text!r} is not understood", hint="write NAME<NUMBER or NAME>NUMBER")
    check_names(f"name in {what}", [match[1]], names)
    return match[1], match[2] and match[2][0], None if match[3] is None else float(match[3])


def check_until(text: str) -> tuple[str, float]:
    """`failure<0.01` or `width<0.02`: what must be known before a sweep stops by itself."""
    name, sign, level = parse_rule(text, "--until", ("failure", "width"))
    if sign != "<" or level is None or not 0 < level < 1:
        raise InvalidInput(f"--until {text!r} is not understood", hint="write failure<0.01 or width<0.02")
    return name, level


def decided(rule: tuple[str, float], interval: Interval) -> bool:
    """Whether enough is known: P(failure) on one side of the level, or an interval narrow enough."""
    name, level = rule
    return interval.width < level if name == "width" else interval.high < level or interval.low > level


def _planned(store: Store) -> Driver:
    """All runs; with --until in batches until a confidence sequence decides, whose interval of failure is returned."""
    plan = store.plan
    if not plan.options.get("until"):
        yield PlanStage(0, plan.runs, plan.points)
        return None
    rule, confidence = check_until(plan.options["until"]), float(plan.options["confidence"])
    first = failures = 0
    interval = confidence_sequence(0, 0, confidence)
    while first < plan.runs and not decided(rule, interval):
        count = min(LOOK_EVERY * plan.chunk, plan.runs - first)
        yield PlanStage(first, count, plan.points)
        failures += store.columns(["passed"], first, count)["passed"].count(False)
        first += count
        interval = confidence_sequence(failures, first, confidence)
    return interval


# ---------------------------------------------------------------------------------------------- rare failures


def _metric_names(plan: Plan) -> tuple[str, ...]:
    return (*METRICS, *filter(is_address, plan.metrics))


def score_of(plan: Plan) -> tuple[str, Callable[[Any], float]]:
    """The metric of a rare failure, and how badly a value of it did: 0 and above is a failure."""
    name, sign, level = parse_rule(plan.options["rare"], "--rare", _metric_names(plan))
    if level is None:
        bound = plan.scenario.get("metrics", {}).get(name, {})
        sign, level = (">", bound.get("most")) if bound.get("most") is not None else ("<", bound.get("least"))
        if level is None:
            raise InvalidInput(
                f"--rare {name}: the scenario has no bound on it", hint=f"give a level, such as --rare '{name}>40'"
            )
    side, edge = (1.0 if sign == ">" else -1.0), float(level)
    return name, lambda value: np.inf if value is None else side * (float(value) - edge)


def _rare(store: Store) -> Generator[PlanStage, None, RareEstimate]:
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


def drive_search(
    search: Generator[Any, Any, Any],
    points: Callable[[Any, int, int], list[PlannedRun]],
    answers: Callable[[int, int], Any],
    most: int | None = None,
) -> Driver:
    """Drive a search: the points that it asks for, from run `first` on, as a stage; then it is sent their answers.

    It ends with the search, whose answer is returned, or once `most` runs are made.
    """
    asked, first, level = next(search), 0, 0
    try:
        while True:
            made = points(asked, first, level)
            yield PlanStage(first, len(made), lambda a, b, made=made, first=first: made[a - first : b - first])
            if first + len(made) == most:
                return None
            asked = search.send(answers(first, len(made)))
            first, level = first + len(made), level + 1
    except StopIteration as end:
        return end.value


# ---------------------------------------------------------------------------------------------- maps


def verdicts(store: Store, first: int, count: int) -> Array:
    """Whether each run was good: it passed, or by the rule of the plan."""
    rule = store.plan.options.get("by") or "passed"
    if rule in ("passed", "ended"):
        column = "passed" if rule == "passed" else "outcome"
        values = store.columns([column], first, count)[column]
        return np.array([value in (True, "completed", "stopped") for value in values])
    name, sign, level = parse_rule(rule, "--by", _metric_names(store.plan))
    values = store.columns([name], first, count)[name]
    return np.array([value is not None and (value < level if sign == "<" else value > level) for value in values])


def _map(store: Store) -> Generator[PlanStage, None, BoundaryMap]:
    plan = store.plan
    (x, y), options = map_spans(plan), plan.options
    cells = int(options["cells"])
    steps = refine(cells, min(COARSE, cells), float(options.get("tolerance", TOLERANCE)), x, y)

    def points(places: Array, first: int, level: int) -> list[PlannedRun]:
        return [PlannedRun((x.at(u), y.at(v)), plan.own_seed, first + k, 0, level) for k, (u, v) in enumerate(places)]

    return (yield from drive_search(steps, points, lambda first, count: verdicts(store, first, count)))


_ADAPTIVE: dict[str, Callable[[Store], Driver]] = {"rare": _rare, "map": _map}

"""Sweeps whose runs are planned beforehand, and that may stop by themselves."""

from __future__ import annotations

from palpate.errors import InvalidInput
from palpate.tools.study.analysis.statistics import Interval, confidence_sequence
from palpate.tools.study.drivers.rules import parse_rule
from palpate.tools.study.drivers.search import Driver
from palpate.tools.study.plans.points import PlanStage
from palpate.tools.study.running.store import Store

LOOK_EVERY = 8  # chunks between two looks of a sweep that may stop by itself


def check_until(text: str) -> tuple[str, float]:
    """`failure<0.01` or `width<0.02`: what must be known before a sweep stops by itself."""
    name, sign, level = parse_rule(text, "--until", ("failure", "width"))
    if sign != "<" or level is None or not 0 < level < 1:
        raise InvalidInput(f"--until {text!r} is not understood", hint="write failure<0.01 or width<0.02")
    return name, level


def is_decided(rule: tuple[str, float], interval: Interval) -> bool:
    """Whether enough is known: P(failure) on one side of the level, or an interval narrow enough."""
    name, level = rule
    return interval.width < level if name == "width" else interval.high < level or interval.low > level


def drive_planned(store: Store) -> Driver:
    """All runs; with --until in batches until a confidence sequence decides, whose interval of failure is returned."""
    plan = store.plan
    if not plan.options.get("until"):
        yield PlanStage(0, plan.runs, plan.points)
        return None
    rule, confidence = check_until(plan.options["until"]), float(plan.options["confidence"])
    first = failures = 0
    interval = confidence_sequence(0, 0, confidence)
    while first < plan.runs and not is_decided(rule, interval):
        count = min(LOOK_EVERY * plan.chunk, plan.runs - first)
        yield PlanStage(first, count, plan.points)
        failures += store.columns(["passed"], first, count)["passed"].count(False)
        first += count
        interval = confidence_sequence(failures, first, confidence)
    return interval

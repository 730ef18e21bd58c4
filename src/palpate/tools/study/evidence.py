"""Sentences about what the runs of a sweep prove."""

from __future__ import annotations

from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

import numpy as np

from palpate.tools.study.analysis import statistics
from palpate.tools.study.analysis.maps import BoundaryMap
from palpate.tools.study.analysis.rare import RareEstimate
from palpate.tools.study.analysis.scenario_bound import scenario_level
from palpate.tools.study.counts import unit_of
from palpate.tools.study.plans.plan import CRASHED, ENDED, IMPOSSIBLE
from palpate.tools.study.plans.points import INDEPENDENT

if TYPE_CHECKING:
    from palpate.tools.study.result import Sweep


def _independent(sweep: Sweep) -> np.ndarray:
    """The runs that are independent draws: all, or rows A and B of a sensitivity design."""
    runs = np.arange(len(sweep))
    if sweep.plan.method == "saltelli":
        part = runs % (len(sweep.plan.axes) + 2)
        return runs[(part == 0) | (part == len(sweep.plan.axes) + 1)]
    return runs[runs % sweep.plan.repeat == 0]


def probability_sentences(sweep: Sweep) -> list[str]:
    """Sentences about the probability of failure; why there is none where the runs are no independent draws."""
    plan = sweep.plan
    if plan.method in ("rare", "map", "tune"):
        return []
    if plan.method not in INDEPENDENT:
        bad = int(np.count_nonzero(~sweep.passed))
        why = "a grid is no draw" if plan.method == "grid" else f"{plan.method} points are not independent draws"
        return [f"{bad} of {len(sweep)} runs did not pass; {why}, so no probability is given"]
    drawn = _independent(sweep)
    failures = int(np.count_nonzero(~sweep.passed[drawn]))
    confidence = float(plan.options["confidence"])
    if isinstance(sweep.finding, statistics.Interval):
        interval, how = sweep.finding, "a confidence sequence, valid at every number of runs"
    else:
        most = statistics.failure_bound(failures, len(drawn), confidence)
        interval, how = statistics.Interval(0.0, most, confidence), "exact one-sided bound, Clopper–Pearson"
    return [_probability(interval, failures, len(drawn), how, sweep)]


def _probability(interval: statistics.Interval, failures: int, runs: int, how: str, sweep: Sweep) -> str:
    held = f"with {percent(interval.confidence)} confidence"
    evidence = f"({failures} of {runs} independent runs failed; {how})"
    never = int(np.count_nonzero(sweep.is_one_of("outcome", (IMPOSSIBLE, CRASHED))))
    note = f"; {never} that could not run count as failures" if never else ""
    if interval.low == 0.0:
        return f"P(failure) < {percent(interval.high, up=True)} {held} {evidence}{note}"
    ends = f"{percent(interval.low, up=False)} and {percent(interval.high, up=True)}"
    return f"P(failure) lies between {ends} {held} {evidence}{note}"


def scenario_sentences(sweep: Sweep) -> list[str]:
    """The largest value seen, as a bound on a new draw."""
    if sweep.plan.method not in INDEPENDENT or sweep.metric is None or isinstance(sweep.finding, statistics.Interval):
        return []
    drawn, confidence = _independent(sweep), float(sweep.plan.options["confidence"])
    values = np.where(sweep.is_one_of("outcome", ENDED), sweep.numbers(sweep.metric), np.nan)[drawn]
    missing = int(np.count_nonzero(~np.isfinite(values)))
    if missing == len(values):
        return []
    level = scenario_level(len(drawn), confidence, discarded=missing)
    unit = unit_of(sweep.metric)
    worst = f"{np.nanmax(values):.6g}{'' if unit == '1' else ' ' + unit}"
    besides = f", the {missing} runs that ended badly or have none counted as beyond it" if missing else ""
    return [
        f"the largest {sweep.metric} seen, {worst}, is exceeded with probability < {percent(level, up=True)}, "
        f"confidence {percent(confidence)} (scenario bound, one free number{besides})"
    ]


def finding_sentences(sweep: Sweep) -> list[str]:
    """Sentences about a rare failure or a map."""
    if isinstance(sweep.finding, RareEstimate):
        return [rare_sentence(sweep.finding, str(sweep.plan.options["rare"]))]
    if isinstance(sweep.finding, BoundaryMap):
        finding = sweep.finding
        share = f"{finding.runs} runs, {finding.share:.1%} of a grid as fine".replace("%", " %")
        if not finding.boundary:
            verdict = "good" if finding.verdicts.all() else "bad" if not finding.verdicts.any() else "mixed"
            return [f"the map is {verdict} everywhere it was looked at ({finding.runs} runs); no boundary"]
        return [
            f"{int(finding.verdicts.sum())} of {finding.runs} runs of the map were good; boundary found with {share}"
        ]
    return []


def rare_sentence(estimate: RareEstimate, rule: str) -> str:
    """The estimate of a small probability, with its interval and its cost."""
    note = f"; {estimate.note}" if estimate.note else ""
    held = f"with {percent(estimate.interval.confidence)} confidence"
    if estimate.probability is None:
        return f"P({rule}) < {percent(estimate.interval.high, up=True)} {held} after {estimate.runs} runs{note}"
    less = estimate.plain_runs / estimate.runs
    low, high = estimate.interval.low, estimate.interval.high
    return (
        f"P({rule}) = {estimate.probability:.3g}, between {low:.3g} and {high:.3g} {held} "
        f"({estimate.runs} runs, {estimate.hits} of them hits;"
        f" plain sampling would need {less:.3g} times as many{note})"
    )


def percent(share: float, up: bool | None = None) -> str:
    """A share in per cent, three digits; rounded away from the safe side where `up` says which that is."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    value = 100.0 * share
    step = 10.0 ** (floor(log10(abs(value))) - 2)
    rounded = round(value / step) * step if up is None else (ceil if up else floor)(value / step) * step
    return f"{rounded:.6g} %" if isfinite(rounded) else "–"

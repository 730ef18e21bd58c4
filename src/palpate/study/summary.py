"""What a sweep says at the end: counts, a sentence that holds, worst cases with their commands, all as plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.errors import InvalidInput
from palpate.metrics import METRICS
from palpate.study.analysis.maps import BoundaryMap
from palpate.study.analysis.rare import RareEstimate
from palpate.study.analysis.statistics import Interval, clopper_pearson, scenario_level
from palpate.study.plans.plan import CRASHED, ENDED, IMPOSSIBLE, INDEPENDENT, REFUSED

if TYPE_CHECKING:
    from palpate.study.result import Sweep

NAMED = 5  # runs of a kind that are named
MOST_LINES = 3000  # points of a line that are written down


def summarise(sweep: Sweep, pareto: tuple[str, str] | None = None) -> dict[str, Any]:
    """Everything there is to say about a sweep.

    Args:
        sweep: the runs.
        pareto: two metrics whose front is wanted.
    """
    plan, counts = sweep.plan, _counts(sweep)
    facts: dict[str, Any] = {
        "scenario": plan.scenario.get("name"),
        "description": plan.scenario.get("description", ""),
        "method": plan.method,
        "runs": len(sweep),
        "vary": plan.vary,
        "seed": plan.seed,
        "repeat": plan.repeat,
        "metric": sweep.metric,
        "unit": unit_of(sweep.metric),
        "confidence": plan.options.get("confidence", 0.95),
        "counts": counts,
        "counted": _counted(len(sweep), counts),
        "sentence": "",
        "said": [],
        "worst": [told_run(sweep, run) for run in sweep.worst()],
        "best": [told_run(sweep, run) for run in sweep.best()],
        "failing": [told_run(sweep, run) for run in _failing(sweep)],
        "named": _named(sweep),
        "warnings": _warnings(sweep),
    }
    said = [*_proved(sweep), *_found(sweep), *_bound(sweep)]
    facts["sentence"], facts["said"] = (said[0], said[1:]) if said else ("", [])
    facts |= _sensitivity(sweep) | _map(sweep)
    return facts | (_pareto(sweep, *pareto) if pareto else {})


def _failing(sweep: Sweep) -> list[int]:
    """One failing run: another than the worst, if there is one."""
    failing, worst = sweep.failing(), sweep.worst(1)
    return [run for run in failing if run not in worst][:1] or failing[:1]


# ---------------------------------------------------------------------------------------------- counts


def _counts(sweep: Sweep) -> dict[str, int]:
    broke = int(np.count_nonzero(sweep.is_one_of("outcome", ENDED) & ~sweep.passed))
    kinds = ("diverged", IMPOSSIBLE, CRASHED, REFUSED)
    others = {kind: int(np.count_nonzero(sweep.is_one_of("outcome", [kind]))) for kind in kinds}
    return {"passed": int(np.count_nonzero(sweep.passed)), "broke a bound": broke, **others}


def unit_of(metric: str | None) -> str:
    """A metric's unit, "1" where it has none."""
    return METRICS[metric].unit if metric is not None and metric in METRICS else "1"


def _counted(runs: int, counts: dict[str, int]) -> str:
    parts = [f"{count} {kind}" for kind, count in counts.items() if count or kind == "passed"]
    return f"{runs} runs: {', '.join(parts)}"


def _named(sweep: Sweep) -> dict[str, list[dict[str, Any]]]:
    """The first runs of each kind that is no plain success, with their reasons."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for kind in ("diverged", IMPOSSIBLE, CRASHED):
        for run in np.flatnonzero(sweep.is_one_of("outcome", [kind]))[:NAMED].tolist():
            reason = " ".join(str(sweep.row(run)["reason"]).split())
            groups.setdefault(kind, []).append({"run": run, "reason": reason, "command": sweep.command(run)})
    return groups


def _warnings(sweep: Sweep) -> list[str]:
    counted = Counter(text for said in sweep["warnings"] for text in said or ())
    return [f"{text} ({count} runs)" for text, count in counted.most_common(NAMED)]


def told_run(sweep: Sweep, run: int) -> dict[str, Any]:
    """What there is to say about one run."""
    row = sweep.row(run)
    return {
        "run": run,
        "value": None if sweep.metric is None else row[sweep.metric],
        **{name: row[name] for name in ("outcome", "passed", "failed", "reason")},
        "values": sweep.values(run),
        "command": sweep.command(run),
    }


# ---------------------------------------------------------------------------------------------- what is proved


def _independent(sweep: Sweep) -> np.ndarray:
    """The runs that are independent draws: all, or rows A and B of a sensitivity design."""
    runs = np.arange(len(sweep))
    if sweep.plan.method == "saltelli":
        part = runs % (len(sweep.plan.axes) + 2)
        return runs[(part == 0) | (part == len(sweep.plan.axes) + 1)]
    return runs[runs % sweep.plan.repeat == 0]


def _proved(sweep: Sweep) -> list[str]:
    plan = sweep.plan
    if plan.method in ("rare", "map", "tune"):
        return []
    if plan.method not in INDEPENDENT:
        bad = int(np.count_nonzero(~sweep.passed))
        why = "a grid is no draw" if plan.method == "grid" else f"{plan.method} points are not independent draws"
        return [f"{bad} of {len(sweep)} runs did not pass; {why}, so that no probability is claimed"]
    drawn = _independent(sweep)
    failures = int(np.count_nonzero(~sweep.passed[drawn]))
    confidence = float(plan.options["confidence"])
    if isinstance(sweep.finding, Interval):
        interval, how = sweep.finding, "a confidence sequence, which may stop when it likes"
    else:
        interval, how = clopper_pearson(failures, len(drawn), confidence), "exact, Clopper–Pearson"
    return [_probability(interval, failures, len(drawn), how, sweep)]


def _probability(interval: Interval, failures: int, runs: int, how: str, sweep: Sweep) -> str:
    held = f"with {percent(interval.confidence)} confidence"
    evidence = f"({failures} of {runs} independent runs failed; {how})"
    never = int(np.count_nonzero(sweep.is_one_of("outcome", (IMPOSSIBLE, CRASHED))))
    note = f"; {never} that could not run count as failures" if never else ""
    if failures == 0:
        return f"P(failure) < {percent(interval.high, up=True)} {held} {evidence}{note}"
    ends = f"{percent(interval.low, up=False)} and {percent(interval.high, up=True)}"
    return f"P(failure) lies between {ends} {held} {evidence}{note}"


def _bound(sweep: Sweep) -> list[str]:
    """The largest value seen, as a bound on a new draw."""
    if sweep.plan.method not in INDEPENDENT or sweep.metric is None or isinstance(sweep.finding, Interval):
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


def _found(sweep: Sweep) -> list[str]:
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
    """What is known of a small probability."""
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


# ---------------------------------------------------------------------------------------------- further findings


def _sensitivity(sweep: Sweep) -> dict[str, Any]:
    if sweep.plan.method != "saltelli" or sweep.metric is None:
        return {}
    try:
        return {"sensitivity": [asdict(one) for one in sweep.sensitivity(sweep.metric)]}
    except InvalidInput as error:
        return {"sensitivity": [], "sensitivity_note": str(error)}


def _pareto(sweep: Sweep, first: str, second: str) -> dict[str, Any]:
    runs = sweep.pareto(first, second)
    runs = runs[:MOST_LINES]
    points = np.column_stack([sweep.numbers(name)[runs] for name in (first, second)]).tolist()
    return {"pareto": {"metrics": [first, second], "runs": runs, "points": points}}


def _map(sweep: Sweep) -> dict[str, Any]:
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


def percent(share: float, up: bool | None = None) -> str:
    """A share in per cent, three digits; rounded away from the safe side where `up` says which that is."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    value = 100.0 * share
    step = 10.0 ** (floor(log10(abs(value))) - (2 if up is None else 1))
    rounded = round(value / step) * step if up is None else (ceil if up else floor)(value / step) * step
    return f"{rounded:.6g} %" if isfinite(rounded) else "–"

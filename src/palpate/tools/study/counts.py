"""Counts of a sweep: outcomes, the first bad runs, warnings, and single runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.metrics import METRICS
from palpate.tools.study.plans.plan import CRASHED, ENDED, IMPOSSIBLE, REFUSED

if TYPE_CHECKING:
    from palpate.tools.study.result import Sweep

NAMED = 5  # runs of a kind that are named
_NUMBER = re.compile(r"(?<![A-Za-z_\d])[-+−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")  # not the 2 of joint2


def outcome_counts(sweep: Sweep) -> dict[str, int]:
    """Numbers of runs by how they ended."""
    broke = int(np.count_nonzero(sweep.is_one_of("outcome", ENDED) & ~sweep.passed))
    kinds = ("diverged", IMPOSSIBLE, CRASHED, REFUSED)
    others = {kind: int(np.count_nonzero(sweep.is_one_of("outcome", [kind]))) for kind in kinds}
    return {"passed": int(np.count_nonzero(sweep.passed)), "broke a bound": broke, **others}


def unit_of(metric: str | None) -> str:
    """A metric's unit, "1" where it has none."""
    return METRICS[metric].unit if metric is not None and metric in METRICS else "1"


def counts_text(runs: int, counts: dict[str, int]) -> str:
    """The counts in words."""
    parts = [f"{count} {kind}" for kind, count in counts.items() if count or kind == "passed"]
    return f"{runs} runs: {', '.join(parts)}"


def first_bad_runs(sweep: Sweep) -> dict[str, list[dict[str, Any]]]:
    """The first runs of each kind that is no plain success, with their reasons."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for kind in ("diverged", IMPOSSIBLE, CRASHED):
        for run in np.flatnonzero(sweep.is_one_of("outcome", [kind]))[:NAMED].tolist():
            reason = " ".join(str(sweep.row(run)["reason"]).split())
            groups.setdefault(kind, []).append({"run": run, "reason": reason, "command": sweep.command(run)})
    return groups


def warning_texts(sweep: Sweep) -> list[str]:
    """Warnings by how many runs have them; those that differ in their numbers alone are one, told of the worst."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for run, texts in enumerate(sweep["warnings"]):
        for text in texts or ():
            groups.setdefault(_NUMBER.sub("#", text), []).append((run, text))
    most = sorted(groups.values(), key=len, reverse=True)
    shown = [_counted_warning(one) for one in most[:NAMED]]
    return [*shown, f"{len(most) - NAMED} more kinds of warnings"] if len(most) > NAMED else shown


def _counted_warning(told: list[tuple[int, str]]) -> str:
    """One warning of many runs, in the words of the run whose first differing number is largest."""
    runs, alike = {run for run, _ in told}, len({text for _, text in told}) == 1
    count = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    if alike:
        return f"{count}: {told[0][1]}"
    numbers = [[float(x.replace("−", "-")) for x in _NUMBER.findall(text)] for _, text in told]
    place = next(k for k in range(len(numbers[0])) if len({row[k] for row in numbers}) > 1)
    largest = max(range(len(told)), key=lambda k: abs(numbers[k][place]))
    return f"{count}, largest in run {told[largest][0]}: {told[largest][1]}"


def run_summary(sweep: Sweep, run: int) -> dict[str, Any]:
    """One run as plain data: outcome, values, broken bounds, command."""
    row = sweep.row(run)
    bounds = sweep.plan.scenario.get("metrics", {})
    return {
        "run": run,
        "broken": {
            name: {"value": row.get(name), "unit": unit_of(name), **bounds.get(name, {})} for name in row["failed"]
        },
        "value": None if sweep.metric is None else row[sweep.metric],
        **{name: row[name] for name in ("outcome", "passed", "failed", "reason")},
        "values": sweep.values(run),
        "command": sweep.command(run),
    }

"""The summary of a sweep as plain data: counts, a sentence that holds, worst cases with their commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palpate.tools.study.analysis.broken import broken_bounds
from palpate.tools.study.analysis.telling import telling_shares
from palpate.tools.study.counts import counts_text, first_bad_runs, outcome_counts, run_summary, unit_of, warning_texts
from palpate.tools.study.evidence import finding_sentences, probability_sentences, scenario_sentences
from palpate.tools.study.findings import map_data, pareto_data, sensitivity_data

if TYPE_CHECKING:
    from palpate.tools.study.result import Sweep


def summarise(sweep: Sweep, pareto: tuple[str, str] | None = None) -> dict[str, Any]:
    """Everything there is to say about a sweep.

    Args:
        sweep: the runs.
        pareto: two metrics whose front is wanted.
    """
    plan, counts = sweep.plan, outcome_counts(sweep)
    broken = broken_bounds(sweep)
    sentences = [*probability_sentences(sweep), *finding_sentences(sweep), *scenario_sentences(sweep)]
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
        "counted": counts_text(len(sweep), counts),
        "sentence": "".join(sentences[:1]),
        "said": [*(one.sentence for one in broken), *sentences[1:]],
        "bounds": _bounds(plan.scenario),
        "broken": {one.metric: len(one.runs) for one in broken},
        "failures": [{"metric": one.metric, "runs": len(one.runs), "sentence": one.sentence} for one in broken],
        "worst": [run_summary(sweep, run) for run in sweep.worst()],
        "best": [run_summary(sweep, run) for run in sweep.best()],
        "failing": [run_summary(sweep, run) for run in _failing(sweep)],
        "named": first_bad_runs(sweep),
        "warnings": warning_texts(sweep),
    }
    told = telling_shares(sweep, list(facts["broken"]))
    return facts | told | sensitivity_data(sweep) | map_data(sweep) | (pareto_data(sweep, *pareto) if pareto else {})


def _bounds(scenario: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Bounds of the metrics, without the ends that are open."""
    bounds = scenario.get("metrics", {}).items()
    return {name: {end: limit for end, limit in bound.items() if limit is not None} for name, bound in bounds}


def _failing(sweep: Sweep) -> list[int]:
    """One failing run: another than the worst, if there is one."""
    failing, worst = sweep.failing(), sweep.worst(1)
    return [run for run in failing if run not in worst][:1] or failing[:1]

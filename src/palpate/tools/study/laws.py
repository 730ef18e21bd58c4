"""compare: several laws on the same scenario and the same draws, and which of them is better for certain."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.checks import Array
from palpate.display import notebook_progress
from palpate.errors import InvalidInput, PalpateError, check_names
from palpate.files import make_folder
from palpate.forking import cached_property
from palpate.scenario.file.load import load_scenario, overridden
from palpate.scenario.file.swap import LawSwap, swap_law
from palpate.scenario.model import Scenario
from palpate.tools.study.analysis import paired
from palpate.tools.study.analysis.statistics import failure_bound
from palpate.tools.study.counts import unit_of
from palpate.tools.study.evidence import percent
from palpate.tools.study.planning import check_points, make_plan
from palpate.tools.study.plans.axis import Spec
from palpate.tools.study.plans.plan import ENDED
from palpate.tools.study.result import Sweep
from palpate.tools.study.robust import spreads
from palpate.tools.study.running.store import Store
from palpate.tools.study.running.worker import whole_trace
from palpate.tools.study.sweeps import Progress, finish

if TYPE_CHECKING:
    from palpate.trace import Trace

RUNS = 150
Laws = Sequence[str] | Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class MetricComparison:
    """One metric of all laws on common draws.

    Attributes:
        metric, unit: its name and unit.
        label: what is compared: the metric, or its distance from the middle of a bound with two ends.
        better: "smaller" or "larger".
        values: what is compared, a number per draw and law; NaN where a run has none.
        differences: of each pair of laws, first − second; intervals that hold for all pairs together.
        ranks: 1 for the best; laws that cannot be told apart share one.
    """

    metric: str
    unit: str
    label: str
    better: str
    values: Mapping[str, Array]
    differences: Mapping[tuple[str, str], paired.Difference]
    ranks: Mapping[str, int]

    def against_first(self, law: str) -> paired.Difference | None:
        """The difference of a law from the first one; None for the first."""
        first = next(iter(self.values))
        if law == first:
            return None
        one = self.differences[first, law]
        turned = paired.Interval(0.0 - one.interval.high, 0.0 - one.interval.low, one.interval.confidence)
        return paired.Difference(0.0 - one.mean, turned, one.pairs)


@dataclass(frozen=True)
class FailureRate:
    """How often a law failed on the common draws, and the exact one-sided bound of its probability."""

    failures: int
    runs: int
    bound: float
    confidence: float

    @property
    def sentence(self) -> str:
        """The bound with its evidence."""
        held = f"with {percent(self.confidence)} confidence"
        return f"P(failure) < {percent(self.bound, up=True)} {held} ({self.failures} of {self.runs} failed)"


class LawComparison:
    """Several laws on common draws.

    Attributes:
        sweeps: the runs of each law, by its name; run k of each is draw k.
        swaps: which gains each law took over, dropped and was given.
        confidence: of every interval; those of one metric hold for all pairs of laws together.
        left_out: quantities that not every law can have varied, and why.
    """

    def __init__(
        self, sweeps: Mapping[str, Sweep], swaps: Mapping[str, LawSwap], confidence: float, left_out: Mapping[str, str]
    ) -> None:
        self.sweeps, self.swaps, self.confidence, self.left_out = dict(sweeps), dict(swaps), confidence, dict(left_out)

    @property
    def laws(self) -> list[str]:
        """Their names, in the order asked for."""
        return list(self.sweeps)

    @property
    def bounds(self) -> dict[str, dict[str, float]]:
        """Bounds of the scenario's metrics."""
        return next(iter(self.sweeps.values())).summary["bounds"]

    def draws(self, key: str) -> list[Any]:
        """The values of a quantity in the draws, which are the same for every law."""
        return next(iter(self.sweeps.values()))[key]

    @cached_property
    def failures(self) -> dict[str, FailureRate]:
        """How often each law failed."""
        rates = {}
        for law, sweep in self.sweeps.items():
            count = int(np.count_nonzero(~sweep.passed))
            bound = failure_bound(count, len(sweep), self.confidence)
            rates[law] = FailureRate(count, len(sweep), bound, self.confidence)
        return rates

    @cached_property
    def failure_ranks(self) -> dict[str, int]:
        """Ranks by failures: two laws are told apart where McNemar's exact test does, at the level for all pairs."""
        level = 1.0 - paired.simultaneous(self.confidence, len(self.laws))
        worse = {}
        for a, b in combinations(self.laws, 2):
            bad = [~self.sweeps[law].passed for law in (a, b)]
            apart = paired.discordance(*bad) <= level
            worse[a, b] = int(np.sign(bad[0].sum() - bad[1].sum())) if apart else 0
        return paired.ranks(self.laws, worse)

    @cached_property
    def metrics(self) -> dict[str, MetricComparison]:
        """Every bounded metric and every one asked for."""
        first = next(iter(self.sweeps.values()))
        wanted = [str(first.plan.options["metric"])] if first.plan.options.get("metric") else []
        names = dict.fromkeys([*self.bounds, *wanted])
        return {name: self.compare(name) for name in names if name in first.columns}

    def compare(self, metric: str) -> MetricComparison:
        """One metric on the common draws; a metric without a bound is better where it is smaller."""
        check_names("metric", [metric], next(iter(self.sweeps.values())).columns)
        bound = self.bounds.get(metric, {})
        label, better, values = metric, "smaller", {law: _ended(sweep, metric) for law, sweep in self.sweeps.items()}
        if len(bound) == 2:
            middle = (bound["least"] + bound["most"]) / 2
            label = f"|{metric}|" if middle == 0 else f"|{metric} − {middle:g}|"
            values = {law: np.abs(one - middle) for law, one in values.items()}
        elif "least" in bound:
            better = "larger"
        level, sign = paired.simultaneous(self.confidence, len(self.laws)), 1 if better == "smaller" else -1
        pairs = list(combinations(self.laws, 2))
        differences = {(a, b): paired.paired_difference(values[a], values[b], level) for a, b in pairs}
        ranked = paired.ranks(self.laws, {pair: sign * one.sign for pair, one in differences.items()})
        return MetricComparison(metric, unit_of(metric), label, better, values, differences, ranked)

    def trace(self, law: str, run: int | None = None) -> Trace:
        """The trace of a law in one of the draws, made again; in the scenario as it is, if none is named."""
        check_names("law", [law], self.laws)
        sweep = self.sweeps[law]
        return whole_trace(sweep.plan.scenario, []) if run is None else sweep.trace(run)

    @property
    def sentence(self) -> str:
        """Which laws fail least, for certain."""
        best = [law for law, rank in self.failure_ranks.items() if rank == 1]
        rates = ", ".join(f"{law} {rate.failures}" for law, rate in self.failures.items())
        runs = next(iter(self.failures.values())).runs
        if len(best) == len(self.laws):
            return f"{runs} common draws do not tell the laws apart by their failures ({rates})"
        least = "fails least" if len(best) == 1 else "fail least, and are not told apart"
        return f"of {runs} common draws failed: {rates}; {' and '.join(best)} {least}"

    def as_data(self) -> dict[str, Any]:
        """Everything there is to say, as plain data."""
        first = next(iter(self.sweeps.values()))
        return {
            "scenario": first.plan.scenario.get("name"), "laws": self.laws, "runs": len(first), "seed": first.plan.seed,
            "vary": first.plan.vary, "confidence": self.confidence, "sentence": self.sentence, "bounds": self.bounds,
            "swaps": {law: swap.sentence for law, swap in self.swaps.items()}, "left_out": self.left_out,
            "failures": {
                law: {"failures": one.failures, "runs": one.runs, "bound": one.bound, "rank": self.failure_ranks[law]}
                for law, one in self.failures.items()
            },
            "metrics": {name: self._metric_data(one) for name, one in self.metrics.items()},
            "verdicts": {law: _verdicts(sweep) for law, sweep in self.sweeps.items()},
            "commands": {law: [*sweep.commands(range(len(sweep))).values()] for law, sweep in self.sweeps.items()},
        }  # fmt: skip

    def _metric_data(self, one: MetricComparison) -> dict[str, Any]:
        rows = {}
        for law, values in one.values.items():
            known, apart = values[np.isfinite(values)], one.against_first(law)
            rows[law] = {
                "rank": one.ranks[law],
                "mean": float(known.mean()) if len(known) else None,
                "values": [float(x) if np.isfinite(x) else None for x in values],
                "difference": None if apart is None or apart.pairs < 2 else apart.mean,
                "interval": None if apart is None or apart.pairs < 2 else [apart.interval.low, apart.interval.high],
                "pairs": len(known) if apart is None else apart.pairs,
            }
        return {"unit": one.unit, "label": one.label, "better": one.better, "laws": rows}

    def __repr__(self) -> str:
        return f"<LawComparison: {', '.join(self.laws)}, {len(next(iter(self.sweeps.values())))} common draws>"


def _verdicts(sweep: Sweep) -> list[list[Any]]:
    """Outcome, whether it passed and the bounds it broke, of each run."""
    broke = [list(names or ()) for names in sweep["failed"]]
    return [list(one) for one in zip(sweep["outcome"], sweep.passed.tolist(), broke)]


def _ended(sweep: Sweep, metric: str) -> Array:
    """A metric of the runs that ended as they should; NaN of the others."""
    return np.where(sweep.is_one_of("outcome", ENDED), sweep.numbers(metric), np.nan)


def compare(
    scenario: Scenario | str | os.PathLike[str],
    laws: Laws,
    vary: Mapping[str, Spec] | None = None,
    *,
    runs: int = RUNS,
    seed: int = 0,
    metric: str | None = None,
    confidence: float = 0.95,
    take_over: bool = True,
    overrides: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> LawComparison:
    """Run a scenario under several laws on the same draws.

    Draw k has the same values and the same noise for every law. Gains that the scenario gives are taken over by a law
    that has one of the same name and unit; `swaps` of the result says which, and which were dropped.

    Args:
        scenario: a scenario, its shipped name, or its file.
        laws: two or more names; or names with gains, {"operational-space": {"stiffness": 400.0}, …}.
        vary: keys and what they may be, as for `sweep`; the spreads of a robustness study if not given.
        runs, seed: draws, and their seed.
        metric: one more to compare, beside those with a bound; smaller is better.
        confidence: of every interval.
        take_over: False leaves the gains of all laws but the scenario's own at their defaults.
        overrides: `key=value` texts put into the scenario first.
        out: folder, which gets one sweep per law; by default a temporary one that goes with the result.
        workers, progress: as for `sweep`.

    Raises:
        InvalidInput: fewer than two laws, or a law that does not fit the scenario.
    """
    gains = dict(laws) if isinstance(laws, Mapping) else {law: {} for law in laws}
    if len(gains) < 2 or (not isinstance(laws, Mapping) and len(laws) != len(gains)):
        raise InvalidInput("to compare takes two or more different laws", hint="palpate list laws")
    typed = (scenario if isinstance(scenario, Scenario) else load_scenario(scenario, overrides)).with_code()
    swaps = {law: swap_law(typed, law, given, take_over=take_over) for law, given in gains.items()}
    under = {law: _under(scenario, overrides, swap) for law, swap in swaps.items()}
    varied, left_out = (dict(vary), {}) if vary else _common_spreads(under)
    keeper = tempfile.TemporaryDirectory(prefix="palpate-laws-") if out is None else None
    folder = Path(keeper.name if keeper else str(out))
    wanted = {"method": "random", "runs": runs, "seed": seed, "confidence": confidence, "metric": metric}
    plans = {}
    for law, (source, texts) in under.items():
        plans[law] = _named(law, lambda s=source, t=texts: make_plan(s, varied, t, **wanted))
        _named(law, lambda plan=plans[law]: check_points(plan))
    sweeps, told = {}, progress or notebook_progress()
    for k, (law, plan) in enumerate(plans.items(), 1):
        place = folder / f"{k}-{re.sub(r'[^A-Za-z0-9_-]+', '-', law)}"
        make_folder(place)
        sweeps[law] = finish(Store.begin(place, plan, keeper), workers, None, told)
    return LawComparison(sweeps, swaps, confidence, left_out)


def _under(
    scenario: Scenario | str | os.PathLike[str], overrides: Sequence[str], swap: LawSwap
) -> tuple[Any, list[str]]:
    """A scenario under a law: what `make_plan` takes."""
    texts = [*overrides, *swap.overrides]
    if not isinstance(scenario, Scenario):
        return scenario, texts
    return overridden(scenario.as_data(), texts), []


def _named(law: str, step: Any) -> Any:
    try:
        return step()
    except PalpateError as error:
        raise InvalidInput(f"{law}: {error.args[0]}", hint=error.hint) from error


def _common_spreads(under: Mapping[str, tuple[Any, list[str]]]) -> tuple[dict[str, Spec], dict[str, str]]:
    """Distributions of a robustness study that all of the laws can have, and why others are left out."""
    offered: dict[str, Spec] = {}
    left_out: dict[str, str] = {}
    for law, (source, texts) in under.items():
        typed = source if isinstance(source, Scenario) else _named(law, lambda s=source, t=texts: load_scenario(s, t))
        kept, refused = _named(law, lambda one=typed: spreads(one.with_code()))
        offered = {**{one.key: one.spec for one in kept}, **offered}
        left_out |= {key: f"{law}: {reason}" for key, reason in refused.items()}
    return {key: spec for key, spec in offered.items() if key not in left_out}, left_out

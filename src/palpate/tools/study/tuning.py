"""tune: search the gains that make a metric smallest while bounds are kept.

Optuna's tree-structured Parzen estimator looks everywhere first; a pattern search with parabolas then closes in on the
best point. Both ask for points and are told rows, so that a search resumes as a sweep does: driven again over the rows
that are there, it asks for the same points.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace as changed
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.errors import InvalidInput, UnknownName
from palpate.metrics import METRICS
from palpate.scenario.model import Scenario
from palpate.tools.study.analysis import maps
from palpate.tools.study.analysis.pareto import pareto_front
from palpate.tools.study.drivers.gain_search import import_optuna
from palpate.tools.study.drivers.rules import parse_rule
from palpate.tools.study.drivers.tune import drive_tuning, scores_of, tuning_bounds
from palpate.tools.study.planning import check_points, make_plan
from palpate.tools.study.plans.axis import Spec, Value
from palpate.tools.study.plans.plan import REFUSED
from palpate.tools.study.result import Sweep
from palpate.tools.study.running.store import Store
from palpate.tools.study.sweeps import Progress, finish
from palpate.user_code import is_address

if TYPE_CHECKING:
    from palpate.trace import Trace

EDGE = 0.005  # share of a range that counts as its end
OWN = "objective"  # column of a metric written in Python


@dataclass(frozen=True)
class Tuned:
    """Result of a search.

    Attributes:
        sweep: every run of it.
        run: the best one.
        values: its parameters.
        value: its number; None where no run gave one.
        kept: whether it keeps every bound.
        refused: points that theory refused, never simulated.
    """

    sweep: Sweep
    run: int
    values: dict[str, Value]
    value: float | None
    kept: bool
    refused: int

    @property
    def command(self) -> str:
        """The command that makes the best run again."""
        return self.sweep.command(self.run)

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        name = str(self.sweep.plan.options["minimise"])
        unit = METRICS[name].unit if name in METRICS else "1"
        settings = ", ".join(f"{key} = {_shown(value)}" for key, value in self.values.items())
        spent = f"{len(self.sweep)} points, {self.refused} of them predicted to be unstable and not simulated"
        if self.value is None or not self.kept:
            return f"no point keeps every bound ({spent}); the nearest is {settings}"
        least = f"{self.value:.6g}{'' if unit == '1' else ' ' + unit}"
        return "; ".join([f"{settings} makes {name} smallest: {least} ({spent})", *self.at_edges])

    @property
    def bounds(self) -> dict[str, dict[str, float]]:
        """Bounds of the metrics: the scenario's, made tighter by those of the search."""
        ends = {name: {"least": low, "most": high} for name, (low, high) in tuning_bounds(self.sweep.store).items()}
        return {name: {end: x for end, x in both.items() if x is not None} for name, both in ends.items()}

    @property
    def front(self) -> dict[str, Any] | None:
        """The runs that no other one beats in what is minimised and in the bounded metric that stands against it.

        That is the metric, among those that vary, whose bound is broken most often by the runs with a smaller number
        than the best one; of several the one whose bound the best run comes nearest to, as a share of the bound. More
        of it is better where it has a lower bound alone. None where no other metric with a bound varies.
        """
        name, bounds = str(self.sweep.plan.options["minimise"]), self.bounds
        others = {n: self.sweep.numbers(n) for n in bounds if n != name and n in self.sweep.columns}
        others = {n: v for n, v in others.items() if np.isfinite(v[self.run]) and np.ptp(v[np.isfinite(v)]) > 0}
        if not others or name not in self.sweep.columns:
            return None
        value = self.sweep.numbers(name)
        smaller = np.flatnonzero(value < (np.inf if self.value is None else self.value))

        def order(metric: str) -> tuple[int, float]:
            room = [_room(float(x), bounds[metric]) for x in others[metric][smaller]]
            return -sum(x < 0 for x in room), _room(float(others[metric][self.run]), bounds[metric])

        against = min(others, key=order)
        sign = -1.0 if "most" not in bounds[against] else 1.0
        runs = pareto_front(value, sign * others[against]).tolist()
        points = np.column_stack([value[runs], others[against][runs]]).tolist()
        return {"metrics": [name, against], "runs": runs, "points": points}

    @property
    def at_edges(self) -> list[str]:
        """A sentence for each parameter whose best value lies at an end of its range, where a wider one may help."""
        sentences = []
        for axis in self.sweep.plan.axes:
            if axis.span is None or axis.span.low == axis.span.high:
                continue
            value, fraction = self.values[axis.key], axis.span.place(float(self.values[axis.key]))
            if min(fraction, 1.0 - fraction) <= EDGE:
                end = "lower" if fraction < 0.5 else "upper"
                sentences.append(
                    f"{axis.key} = {_shown(value)} is at the {end} end of its range, {_shown(axis.span.low)} to"
                    f" {_shown(axis.span.high)}: a wider range may hold a better value"
                )
        return sentences


def tune(
    scenario: Scenario | str | os.PathLike[str],
    over: Mapping[str, Spec],
    minimise: str | Callable[[Trace], float],
    *,
    keep: Sequence[str] = (),
    runs: int = 100,
    seed: int = 0,
    refuse: maps.Refuse | None = maps.refuse,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    overrides: Sequence[str] = (),
) -> Tuned:
    """Search the values of keys that make a metric smallest; bounds of the scenario are kept too.

    Args:
        scenario: a scenario, its shipped name, or its file.
        over: keys and where to look: "100:2000", "1e3:1e5:log", a list of values.
        minimise: a metric's name, or a function of a trace (then everything runs in this process).
        keep: bounds such as "force_peak<25".
        runs: points to try, those that theory refuses included.
        seed: of the search.
        refuse: from a scenario to the reason why it need not be run, or None; None asks nothing.
        out, workers, cluster, progress: as for `sweep`; an unfinished search in `out` goes on.
        overrides: `key=value` texts put into the scenario first.

    Raises:
        StudyError: Optuna is not installed.
        InvalidInput: a parameter or a bound that is not understood.
    """
    import_optuna()
    if runs < 1:
        raise InvalidInput(f"--runs must be at least 1, got {runs}")
    own = {} if isinstance(minimise, str) else {OWN: minimise}
    name = minimise if isinstance(minimise, str) else OWN
    if name not in own and not is_address(name) and name not in METRICS:
        raise UnknownName("metric", name, METRICS)
    wanted = (*METRICS, name) if is_address(name) else None
    base = make_plan(scenario, over, overrides, method="random", runs=runs, seed=seed, metrics=wanted)
    rules = [parse_rule(text, "--keep", base.metrics) for text in keep]
    if any(level is None for _, _, level in rules):
        raise InvalidInput(f"--keep needs a level, got {', '.join(keep)}", hint="--keep 'force_peak<25'")
    for axis in base.axes:
        if axis.values is None and axis.span is None:
            raise InvalidInput(
                f"{axis.key}: a search needs a range of numbers or a list, got {axis.spec!r}",
                hint="write start:stop, uniform(a, b), loguniform(a, b) or a,b,c",
            )
    options = {"confidence": 0.95, "minimise": name, "metric": name, "keep": list(keep)}
    plan = changed(base, method="tune", chunk=1, runs=runs, options=options, metrics=(*base.metrics, *own))
    check_points(plan)
    store = Store.begin(out, plan)
    sweep = finish(store, 0 if own else workers, cluster, progress, own, lambda _: drive_tuning(store, refuse))
    return best_of(sweep)


def resume(store: Store, refuse: maps.Refuse | None = maps.refuse, **where: Any) -> Tuned:
    """Go on with a search, from its folder."""
    if store.plan.options.get("minimise") == OWN:
        raise InvalidInput("this search minimises a function of Python's; call palpate.tune again to go on")
    return best_of(finish(store, driver=lambda _: drive_tuning(store, refuse), **where))


def best_of(sweep: Sweep) -> Tuned:
    """The best point of a search."""
    results = scores_of(sweep.store, 0, len(sweep))
    run = min(range(len(results)), key=lambda k: (results[k].rank, k))
    value = results[run].value if np.isfinite(results[run].value) else None
    refused = sweep["outcome"].count(REFUSED)
    return Tuned(sweep, run, sweep.values(run), value, results[run].violation == 0.0, refused)


def _room(value: float, bound: Mapping[str, float]) -> float:
    """How far a value is from the nearest end of its bound, as a share of that end; below 0 where it broke it."""
    gaps = [(x - value if end == "most" else value - x) / max(abs(x), 1e-12) for end, x in bound.items()]
    return min(gaps)


def _shown(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

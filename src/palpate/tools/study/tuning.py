"""tune: search the gains that make a metric smallest while bounds are kept.

Optuna's tree-structured Parzen estimator looks everywhere first; a pattern search with parabolas then closes in on the
best point. Both ask for points and are told rows, so that a search resumes as a sweep does: driven again over the rows
that are there, it asks for the same points.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace as changed
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, StudyError, UnknownName
from palpate.metrics import METRICS
from palpate.scenario.model import Scenario
from palpate.tools.study.analysis import maps
from palpate.tools.study.analysis.drivers import Driver, drive_search, parse_rule
from palpate.tools.study.analysis.statistics import pareto_front
from palpate.tools.study.plans.axis import Axis, Spec, Value
from palpate.tools.study.plans.plan import REFUSED, PlannedRun
from palpate.tools.study.result import Sweep
from palpate.tools.study.running.store import Store
from palpate.tools.study.sweeps import Progress, check_points, finish, make_plan

if TYPE_CHECKING:
    from palpate.trace import Trace
from palpate.user_code import is_address

BATCH = 4  # points asked for at once, whatever the number of workers, so that the search is the same on every machine
EXPLORE = 0.6  # share of the runs that looks everywhere
FINEST = 1e-5  # step of the pattern search, share of a stretch, at which it ends
EDGE = 0.005  # share of a range that counts as its end
OWN = "objective"  # column of a metric written in Python
Ask = Generator[list[tuple[Value, ...]], list["Score"], None]


@dataclass(frozen=True)
class Score:
    """What came of a point: the number to make small, and by how much bounds are broken (0 where they are kept)."""

    value: float
    violation: float

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better: first keep the bounds, then the number."""
        return self.violation, self.value


@dataclass(frozen=True)
class Tuned:
    """What a search found.

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
        """What was found, in a sentence."""
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
        """What each bounded metric must keep: the scenario's bounds, drawn tighter by those of the search."""
        ends = {name: {"least": low, "most": high} for name, (low, high) in _bounds(self.sweep.store).items()}
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
    _optuna()
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
    sweep = finish(store, 0 if own else workers, cluster, progress, own, lambda _: _driver(store, refuse))
    return best_of(sweep)


def resume(store: Store, refuse: maps.Refuse | None = maps.refuse, **where: Any) -> Tuned:
    """Go on with a search, from its folder."""
    if store.plan.options.get("minimise") == OWN:
        raise InvalidInput("this search minimises a function of Python's; call palpate.tune again to go on")
    return best_of(finish(store, driver=lambda _: _driver(store, refuse), **where))


def best_of(sweep: Sweep) -> Tuned:
    """The best point of a search."""
    results = _scores(sweep.store, 0, len(sweep))
    run = min(range(len(results)), key=lambda k: (results[k].rank, k))
    value = results[run].value if np.isfinite(results[run].value) else None
    refused = sweep["outcome"].count(REFUSED)
    return Tuned(sweep, run, sweep.values(run), value, results[run].violation == 0.0, refused)


# ---------------------------------------------------------------------------------------------- the driver


def _driver(store: Store, refuse: maps.Refuse | None) -> Driver:
    plan = store.plan

    def points(asked: list[tuple[Value, ...]], first: int, _: int) -> list[PlannedRun]:
        made = []
        for run, values in enumerate(asked[: plan.runs - first], first):
            refusal = None if refuse is None else maps.refusal(plan, values, refuse)
            made.append(PlannedRun(values, plan.own_seed, run, refusal=refusal))
        return made

    search = search_for(plan.axes, plan.runs, plan.seed)
    return drive_search(search, points, lambda first, count: _scores(store, first, count), most=plan.runs)


def _scores(store: Store, first: int, count: int) -> list[Score]:
    """The rows of a stage as the search needs them."""
    options, bounds = store.plan.options, _bounds(store)
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


def _bounds(store: Store) -> dict[str, tuple[float | None, float | None]]:
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


# ---------------------------------------------------------------------------------------------- the search


def search_for(axes: Sequence[Axis], runs: int, seed: int) -> Ask:
    """Ask for points and be told what came of them: everywhere first, then around the best."""
    best: tuple[tuple[Value, ...], Score] | None = None
    smooth = [k for k, axis in enumerate(axes) if axis.span is not None and not axis.whole]
    explore = _sampled(axes, seed)
    spent, asked = 0, next(explore)
    while spent < (EXPLORE * runs if smooth else runs):
        results = yield asked
        best = min([*([] if best is None else [best]), *zip(asked, results)], key=lambda pair: pair[1].rank)
        spent, asked = spent + len(asked), explore.send(results)
    if best is not None and smooth:
        yield from _pattern_search(axes, smooth, best)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise StudyError("tune needs Optuna", hint="pip install 'palpate[tune]'") from error
    return optuna


def _sampled(axes: Sequence[Axis], seed: int) -> Ask:
    """Optuna's sampler, asked for a batch at a time."""
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings(action="ignore"):  # parts of it are marked experimental
        sampler = optuna.samplers.TPESampler(
            seed=seed % 2**32, multivariate=True, constant_liar=True, constraints_func=lambda t: t.user_attrs["broken"]
        )
        study = optuna.create_study(sampler=sampler)
        spaces = {f"x{k}": _space(optuna, axis) for k, axis in enumerate(axes)}
    while True:
        with warnings.catch_warnings(action="ignore"):
            trials = [study.ask(spaces) for _ in range(BATCH)]
        results = yield [_values(axes, trial.params) for trial in trials]
        for trial, one in zip(trials, results):
            trial.set_user_attr("broken", [one.violation])
            with warnings.catch_warnings(action="ignore"):
                study.tell(trial, one.value if np.isfinite(one.value) else 1e300)


def _space(optuna: Any, axis: Axis) -> Any:
    values = axis.values or ()
    if axis.span is None:
        return optuna.distributions.CategoricalDistribution(list(range(len(values))))
    if axis.whole:
        return optuna.distributions.IntDistribution(min(values), max(values))
    return optuna.distributions.FloatDistribution(0.0, 1.0)


def _values(axes: Sequence[Axis], params: Mapping[str, Any]) -> tuple[Value, ...]:
    values = []
    for k, axis in enumerate(axes):
        param = params[f"x{k}"]
        if axis.span is None:
            values.append((axis.values or ())[param])
        else:
            values.append(int(param) if axis.whole else axis.span.at(float(param)))
    return tuple(values)


def _pattern_search(axes: Sequence[Axis], smooth: Sequence[int], best: tuple[tuple[Value, ...], Score]) -> Ask:
    """Pattern search: look a step to each side, and where parabolas are lowest; where nothing is better, halve."""
    values, best_result = best
    centre = np.array([axes[k].span.place(values[k]) for k in smooth])  # pyright: ignore[reportOptionalMemberAccess]
    step, guess = 0.05, None

    def full(at: Array) -> tuple[Value, ...]:
        moved = {k: axes[k].span.at(float(u)) for k, u in zip(smooth, at)}  # pyright: ignore[reportOptionalMemberAccess]
        return tuple(moved.get(k, value) for k, value in enumerate(values))

    while step > FINEST:
        moves = [side * step * row for row in np.eye(len(smooth)) for side in (-1.0, 1.0)]
        around = [np.clip(centre + move, 0.0, 1.0) for move in moves]
        around += [] if guess is None else [guess]
        answers = yield [full(at) for at in around]
        guess = _lowest(centre, best_result, around, answers, step)
        k = min(range(len(answers)), key=lambda i: answers[i].rank)
        if answers[k].rank < best_result.rank:
            centre, best_result = around[k], answers[k]
        else:
            step /= 2.0


def _lowest(centre: Array, here: Score, around: Sequence[Array], answers: Sequence[Score], step: float) -> Array | None:
    """The lowest point of the parabola through each parameter's three values; None where there is none."""
    guess = centre.copy()
    for k in range(len(centre)):
        low, high = answers[2 * k], answers[2 * k + 1]
        bend = low.value - 2 * here.value + high.value
        spread = abs(around[2 * k + 1][k] - around[2 * k][k] - 2 * step)
        if here.violation or low.violation or high.violation or not np.isfinite(bend) or bend <= 0 or spread > 1e-12:
            return None
        guess[k] += np.clip(step * (low.value - high.value) / (2 * bend), -step, step)
    return np.clip(guess, 0.0, 1.0)


def _room(value: float, bound: Mapping[str, float]) -> float:
    """How far a value is from the nearest end of its bound, as a share of that end; below 0 where it broke it."""
    gaps = [(x - value if end == "most" else value - x) / max(abs(x), 1e-12) for end, x in bound.items()]
    return min(gaps)


def _shown(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

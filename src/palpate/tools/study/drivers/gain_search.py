"""The search for gains: Optuna's sampler first, then a pattern search with parabolas around the best point.

Both ask for points and are told scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import StudyError
from palpate.tools.study.plans.axis import Axis, Value

BATCH = 4  # points asked for at once, whatever the number of workers, so that the search is the same on every machine
EXPLORE = 0.6  # share of the runs that looks everywhere
FINEST = 1e-5  # step of the pattern search, share of a stretch, at which it ends
Ask = Generator[list[tuple[Value, ...]], list["Score"], None]


@dataclass(frozen=True)
class Score:
    """The score of a point: the number to make small, and by how much bounds are broken (0 where they are kept)."""

    value: float
    violation: float

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better: first keep the bounds, then the number."""
        return self.violation, self.value


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


def import_optuna() -> Any:
    """Import Optuna, or say how it is installed."""
    try:
        import optuna
    except ImportError as error:
        raise StudyError("tune needs Optuna", hint="pip install 'palpate[tune]'") from error
    return optuna


def _sampled(axes: Sequence[Axis], seed: int) -> Ask:
    """Optuna's sampler, asked for a batch at a time."""
    optuna = import_optuna()
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

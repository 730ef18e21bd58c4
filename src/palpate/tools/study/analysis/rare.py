"""Rare failures: cross-entropy importance sampling.

The parameters are drawn through standard normals u ~ f = N(0, 1). A first part of the runs climbs: in each level the
worst fifth, weighted back to f, moves a proposal N(μ, σ²) towards failure (cross-entropy). The proposal is then
fixed, and *fresh* runs are drawn from q = 0.9 N(μ, σ²) + 0.1 f, so that

    p̂ = (1/n) Σ 1[fails] f(u)/q(u)

is unbiased whatever the climb did. The share of f bounds every weight by 10.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.study.analysis.statistics import Interval, failure_bound, log_interval

ELITE, DEFENCE = 0.2, 0.1  # share of each level that moves the proposal; share of the plain density in the last one
NARROWEST = 1.0  # of σ: a proposal with lighter tails than f would hide failures
MOST_LEVELS = 12
FEW_HITS = 30  # fewer failing runs than this in the last part make the interval untrustworthy


@dataclass(frozen=True)
class Batch:
    """Runs to make: standard normals (n × d), and each one's weight f/q."""

    u: Array
    weight: Array


@dataclass(frozen=True)
class RareEstimate:
    """A small probability.

    Attributes:
        probability: p̂, unbiased; None where no failure was met.
        interval: its interval.
        variation: coefficient of variation of p̂.
        runs: spent in all.
        hits: failing runs among the last part.
        plain_runs: what plain sampling would have needed for the same variation, (1 − p)/(p cv²).
        note: what to think of it, or nothing.
    """

    probability: float | None
    interval: Interval
    variation: float
    runs: int
    hits: int
    plain_runs: float
    note: str = ""


Climb = Generator[Batch, Array, RareEstimate]


def rare_failure(dimensions: int, runs: int, seed: int = 0, confidence: float = 0.95) -> Climb:
    """Ask for batches of runs and give an estimate: `batch = next(g)`, then `g.send(scores)` until it returns.

    Args:
        dimensions: d, how many standard normals a run has.
        runs: in all; a tenth of them per level of the climb.
        seed: of the draws.
        confidence: of the interval.

    A score is how badly a run did: 0 and above is a failure, and larger is worse; +inf may stand for a run that ended
    badly. Scores below 0 must tell how far from failure a run was: that is what is climbed.
    """
    if runs < 200:
        raise InvalidInput(f"a rare failure needs at least 200 runs, got {runs}")
    rng = np.random.default_rng([seed, 0xCE])
    per_level, spent = max(runs // 10, 50), 0
    mean, spread, highest = np.zeros(dimensions), np.ones(dimensions), -np.inf
    for _ in range(MOST_LEVELS):
        if runs - spent < 2 * per_level:
            break
        u = mean + spread * rng.standard_normal((per_level, dimensions))
        weight = _weight(u, mean, spread)
        scores = yield Batch(u, weight)
        spent += per_level
        highest = max(highest, float(np.max(scores)))
        level = min(float(np.quantile(scores, 1 - ELITE, method="lower")), 0.0)
        mean, spread = _fitted(u, weight, scores >= level)
        if level >= 0.0:
            break
    count = runs - spent
    plain = rng.random(count) < DEFENCE
    normal = rng.standard_normal((count, dimensions))
    u = np.where(plain[:, None], normal, mean + spread * normal)
    weight = 1.0 / (DEFENCE + (1.0 - DEFENCE) / _weight(u, mean, spread))
    scores = yield Batch(u, weight)
    return estimate(weight * (scores >= 0.0), plain, runs, max(highest, float(np.max(scores))), confidence)


def estimate(values: Array, plain: Array, runs: int, highest: float, confidence: float) -> RareEstimate:
    """p̂ from 1[fails] f/q of the last part; without a failing run only what its plain draws say."""
    n, hits = len(values), int(np.count_nonzero(values))
    if hits == 0:
        most = failure_bound(0, max(int(np.count_nonzero(plain)), 1), confidence)
        bound = Interval(0.0, most, confidence)
        text = f"no run failed; the nearest came within {-highest:.4g} of failing"
        return RareEstimate(None, bound, np.inf, runs, 0, np.inf, text)
    p = float(values.mean())
    variation = float(values.std(ddof=1)) / p / np.sqrt(n)
    note = "" if hits >= FEW_HITS else f"only {hits} of the last {n} runs failed: the interval is a guess; more runs"
    plain_runs = max((1.0 - p), 0.0) / (p * variation**2) if variation > 0 else float(runs)
    return RareEstimate(p, log_interval(p, variation, confidence), variation, runs, hits, plain_runs, note)


def _weight(u: Array, mean: Array, spread: Array) -> Array:
    """f(u)/N(u; μ, σ²)."""
    proposal = 0.5 * np.sum(((u - mean) / spread) ** 2, axis=1) + np.sum(np.log(spread))
    return np.exp(proposal - 0.5 * np.sum(u**2, axis=1))


def _fitted(u: Array, weight: Array, elite: Array) -> tuple[Array, Array]:
    """μ and σ of the elite, weighted back to f; σ never narrower than NARROWEST."""
    share = weight[elite] / weight[elite].sum()
    mean = share @ u[elite]
    return mean, np.maximum(np.sqrt(share @ (u[elite] - mean) ** 2), NARROWEST)

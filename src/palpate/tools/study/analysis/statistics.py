"""What a number of runs proves: exact intervals, scenario counts, intervals that may be looked at, Pareto fronts.

Everything here holds for independent draws. It says nothing about a grid.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, log

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.errors import InvalidInput


@dataclass(frozen=True)
class Interval:
    """An interval that holds the truth with at least the given confidence."""

    low: float
    high: float
    confidence: float

    @property
    def width(self) -> float:
        """How much is left open."""
        return self.high - self.low


def clopper_pearson(count: int, runs: int, confidence: float = 0.95) -> Interval:
    """The exact interval of a probability, of which `count` of `runs` independent draws are a sample.

        low:  P(Bin(n, p) ≥ k) = α/2,   high:  P(Bin(n, p) ≤ k) = α/2,   α = 1 − confidence

    so that low and high are quantiles of Beta(k, n − k + 1) and Beta(k + 1, n − k). Never too narrow, whatever p is.
    """
    from scipy.special import betaincinv

    k, n, alpha = _checked_counts(count, runs, confidence)
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, alpha / 2))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - alpha / 2))
    return Interval(low, high, confidence)


def failure_bound(count: int, runs: int, confidence: float = 0.95) -> float:
    """The exact upper bound of a probability, of which `count` of `runs` independent draws are a sample.

    P(Bin(n, p) ≤ k) = 1 − confidence, so that p is a quantile of Beta(k + 1, n − k): one-sided (Clopper and Pearson),
    the least that can be promised. With no failure it is 1 − (1 − confidence)^(1/n).
    """
    from scipy.special import betaincinv

    k, n, _ = _checked_counts(count, runs, confidence)
    return 1.0 if k == n else float(betaincinv(k + 1, n - k, confidence))


def confidence_sequence(count: int, runs: int, confidence: float = 0.95) -> Interval:
    """An interval of a probability that may be looked at after every run and still holds at all times together.

    With a uniform prior, prior/posterior at the true p is a martingale of mean 1, so that by Ville's inequality it
    ever reaches 1/α with probability at most α. The interval is where it is below: Beta(p; k + 1, n − k + 1) > α.
    Wider than Clopper–Pearson's, which is what it costs to stop when one likes.
    """
    k, n, alpha = _checked_counts(count, runs, confidence, least=0)
    if n == 0:
        return Interval(0.0, 1.0, confidence)
    peak = k / n

    def above(p: float) -> float:
        return _log_beta(p, k + 1, n - k + 1) - log(alpha)

    low = 0.0 if k == 0 or above(0.0) > 0 else _root(above, 0.0, peak)
    high = 1.0 if k == n or above(1.0) > 0 else _root(above, peak, 1.0)
    return Interval(low, high, confidence)


def _checked_counts(count: int, runs: int, confidence: float, least: int = 1) -> tuple[int, int, float]:
    if not least <= runs or not 0 <= count <= runs:
        raise InvalidInput(f"{count} of {runs} runs: the number of runs must be at least {least}, the count within it")
    _check_between(confidence, "confidence")
    return int(count), int(runs), 1.0 - confidence


def _check_between(share: float, name: str) -> None:
    if not 0.0 < share < 1.0:
        raise InvalidInput(f"a {name} lies between 0 and 1, got {share:g}")


def _log_beta(p: float, a: float, b: float) -> float:
    """log of the density of Beta(a, b) at p; −∞ at an end where it is 0."""
    from scipy.special import betaln, xlog1py, xlogy

    return float(xlogy(a - 1.0, p) + xlog1py(b - 1.0, -p) - betaln(a, b))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that is monotone between `low` and `high` changes sign, to the last digit."""
    rising = function(high) > 0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if (function(middle) > 0) == rising else (middle, high)
    return high if rising else low


# ---------------------------------------------------------------------------------------------- the scenario bound


def scenario_level(runs: int, confidence: float, free: int = 1, discarded: int = 0) -> float:
    """ε of the scenario approach: what was chosen with these runs is violated by a new draw with probability < ε.

    Exact (Campi and Garatti 2008; 2011 for discarded runs): the smallest ε with

        C(k + d − 1, k) · Σ_{i < k + d} C(N, i) εⁱ (1 − ε)ᴺ⁻ⁱ ≤ β,   β = 1 − confidence

    Args:
        runs: N, independent draws.
        confidence: 1 − β.
        free: d, numbers chosen with these very runs: 1 for the largest value seen alone; gains tuned on them count too.
        discarded: k, runs left out of the choice, the worst ones.
    """
    _check_scenario(confidence, free, discarded)
    if runs < free + discarded:
        return 1.0
    return min(1.0, _root(lambda level: -_excess(runs, level, confidence, free, discarded), 0.0, 1.0))


def scenario_count(free: int, level: float, confidence: float, discarded: int = 0) -> int:
    """The smallest number of independent draws whose `scenario_level` is at most `level`."""
    _check_scenario(confidence, free, discarded)
    _check_between(level, "level")

    def reached(runs: int) -> bool:
        return _excess(runs, level, confidence, free, discarded) <= 0

    least = most = free + discarded
    while not reached(most):
        least, most = most, 2 * most
    return bisect_left(range(most), True, lo=least, key=reached)


def _excess(runs: int, level: float, confidence: float, free: int, discarded: int) -> float:
    """log of the left side over β: positive while the level is not yet reached."""
    from scipy.special import bdtr

    choose = lgamma(free + discarded) - lgamma(discarded + 1) - lgamma(free)
    tail = float(bdtr(free + discarded - 1, runs, level))
    return choose + (log(tail) if tail > 0 else -inf) - log(1.0 - confidence)


def _check_scenario(confidence: float, free: int, discarded: int) -> None:
    if free < 1 or discarded < 0:
        raise InvalidInput(f"at least one number is chosen and none is discarded twice, got {free} and {discarded}")
    _check_between(confidence, "confidence")


# ---------------------------------------------------------------------------------------------- two metrics at once


def pareto_front(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Places of the points that no other one beats in both numbers, smaller being better; by rising `first`.

    Places with a NaN take no part. Of equal points the first stands for all.
    """
    a, b = (np.asarray(x, dtype=np.float64) for x in (first, second))
    places = np.flatnonzero(np.isfinite(a) & np.isfinite(b))
    order = places[np.lexsort((places, b[places], a[places]))]
    lowest_before = np.minimum.accumulate(np.r_[inf, b[order][:-1]])
    return order[b[order] < lowest_before]


def log_interval(estimate: float, variation: float, confidence: float = 0.95) -> Interval:
    """p · exp(± z cv): the interval of a positive estimate of coefficient of variation cv, by the central limit."""
    from scipy.special import ndtri

    finite_array([estimate, variation], "estimate and variation")
    reach = float(ndtri(0.5 + confidence / 2)) * variation
    return Interval(estimate * exp(-reach), min(1.0, estimate * exp(reach)), confidence)


# ----------------------------------------------------------------------------------------------
# Which parameter matters: Sobol's first-order and total indices, with intervals.
#
#     S_i = V[E[f | x_i]] / V[f]        what x_i explains alone
#     T_i = E[V[f | x_~i]] / V[f]       what would remain if all but x_i were known: its interactions included
#
# estimated from rows A, B and A with column i of B (Saltelli 2010 for S, Jansen 1999 for T):
#
#     S_i ≈ mean(f(B) (f(AB_i) − f(A))) / V,    T_i ≈ mean((f(A) − f(AB_i))²) / 2V
#
# The mean of f is taken off first, which leaves what is estimated and lowers its scatter.


RESAMPLES, BATCH = 1000, 20


@dataclass(frozen=True)
class Sensitivity:
    """The indices of one parameter."""

    key: str
    first: float
    first_interval: Interval
    total: float
    total_interval: Interval


def indices(
    keys: Sequence[str], A: Array, AB: Array, B: Array, confidence: float = 0.95, seed: int = 0
) -> list[Sensitivity]:
    """Indices from the values at rows A (n), AB (n × d) and B (n), with bootstrap intervals over the rows.

    Args:
        keys: the d parameters.
        A, AB, B: values of f; a row with a NaN anywhere is left out.
        confidence: of each interval.
        seed: of the resampling.

    Raises:
        InvalidInput: fewer than two whole rows, or f never changes.
    """
    whole = np.isfinite(A) & np.isfinite(B) & np.isfinite(AB).all(axis=1)
    A, AB, B = A[whole], AB[whole], B[whole]
    if len(A) < 2:
        raise InvalidInput(f"sensitivity needs at least two whole rows, got {len(A)}", hint="more runs")
    if np.ptp(np.concatenate([A, B])) == 0.0:
        raise InvalidInput("the value is the same in every run, so that no parameter explains it")

    def estimates(rows: Array, axis: int) -> Array:
        return _estimates(A[rows], AB[rows], B[rows])

    from scipy.stats import bootstrap

    first, total = _estimates(A, AB, B)
    spread = bootstrap(
        (np.arange(len(A)),), estimates, n_resamples=RESAMPLES, batch=BATCH, vectorized=True, axis=-1,
        confidence_level=confidence, method="percentile", rng=np.random.default_rng(seed),
    ).confidence_interval  # fmt: skip
    ends = [[Interval(float(low), float(high), confidence) for low, high in zip(*both)] for both in zip(*spread)]
    return [Sensitivity(*one) for one in zip(keys, first.tolist(), ends[0], total.tolist(), ends[1])]


def _estimates(A: Array, AB: Array, B: Array) -> Array:
    """S and T (2, d, …) of stacks of samples: A, B (…, n), AB (…, n, d)."""
    both = np.concatenate([A, B], axis=-1)
    mean, variance = both.mean(axis=-1)[..., None], both.var(axis=-1)[..., None]
    variance = np.where(variance > 0, variance, np.nan)
    a, ab, b = (A - mean)[..., None], AB - mean[..., None], (B - mean)[..., None]
    first = (b * (ab - a)).mean(axis=-2) / variance
    total = ((a - ab) ** 2).mean(axis=-2) / (2 * variance)
    return np.nan_to_num(np.moveaxis(np.stack([first, total]), -1, 1))


# ----------------------------------------------------------------------------------------------
# Rare failures: cross-entropy importance sampling.
#
# The parameters are drawn through standard normals u ~ f = N(0, 1). A first part of the runs climbs: in each level the
# worst fifth, weighted back to f, moves a proposal N(μ, σ²) towards failure (cross-entropy). The proposal is then
# fixed, and *fresh* runs are drawn from q = 0.9 N(μ, σ²) + 0.1 f, so that
#
#     p̂ = (1/n) Σ 1[fails] f(u)/q(u)
#
# is unbiased whatever the climb did. The share of f bounds every weight by 10.


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

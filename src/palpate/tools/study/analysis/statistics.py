"""Exact intervals of a probability, from independent runs, and intervals that may be looked at after every run.

Everything here holds for independent draws. It says nothing about a grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

from palpate.checks import finite_array
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

    low = 0.0 if k == 0 or above(0.0) > 0 else find_root(above, 0.0, peak)
    high = 1.0 if k == n or above(1.0) > 0 else find_root(above, peak, 1.0)
    return Interval(low, high, confidence)


def _checked_counts(count: int, runs: int, confidence: float, least: int = 1) -> tuple[int, int, float]:
    if not least <= runs or not 0 <= count <= runs:
        raise InvalidInput(f"{count} of {runs} runs: the number of runs must be at least {least}, the count within it")
    check_between(confidence, "confidence")
    return int(count), int(runs), 1.0 - confidence


def check_between(share: float, name: str) -> None:
    """Refuse a share that does not lie between 0 and 1."""
    if not 0.0 < share < 1.0:
        raise InvalidInput(f"a {name} lies between 0 and 1, got {share:g}")


def _log_beta(p: float, a: float, b: float) -> float:
    """log of the density of Beta(a, b) at p; −∞ at an end where it is 0."""
    from scipy.special import betaln, xlog1py, xlogy

    return float(xlogy(a - 1.0, p) + xlog1py(b - 1.0, -p) - betaln(a, b))


def find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that is monotone between `low` and `high` changes sign, to the last digit."""
    rising = function(high) > 0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if (function(middle) > 0) == rising else (middle, high)
    return high if rising else low


def log_interval(estimate: float, variation: float, confidence: float = 0.95) -> Interval:
    """p · exp(± z cv): the interval of a positive estimate of coefficient of variation cv, by the central limit."""
    from scipy.special import ndtri

    finite_array([estimate, variation], "estimate and variation")
    reach = float(ndtri(0.5 + confidence / 2)) * variation
    return Interval(estimate * exp(-reach), min(1.0, estimate * exp(reach)), confidence)

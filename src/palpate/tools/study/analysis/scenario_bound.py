"""The scenario approach: how a new draw compares with what was chosen on draws before it."""

from __future__ import annotations

from bisect import bisect_left
from math import inf, lgamma, log

from palpate.errors import InvalidInput
from palpate.tools.study.analysis.statistics import check_between, find_root


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
    return min(1.0, find_root(lambda level: -_excess(runs, level, confidence, free, discarded), 0.0, 1.0))


def scenario_count(free: int, level: float, confidence: float, discarded: int = 0) -> int:
    """The smallest number of independent draws whose `scenario_level` is at most `level`."""
    _check_scenario(confidence, free, discarded)
    check_between(level, "level")

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
    check_between(confidence, "confidence")

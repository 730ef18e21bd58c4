"""Two or more ways of doing the same runs, compared draw by draw: paired differences, exact tests, ranks with ties.

Runs on common draws differ only by what is compared, so that the spread of their differences, not that of the runs, is
what a statement has to be made against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.study.analysis.statistics import Interval


@dataclass(frozen=True)
class Difference:
    """The mean of a − b over the draws in which both have a number.

    Attributes:
        mean: of the differences; NaN without a pair.
        interval: Student's, of the mean; without end where fewer than two pairs are there.
        pairs: draws that count.
    """

    mean: float
    interval: Interval
    pairs: int

    @property
    def sign(self) -> int:
        """1 where a is larger, −1 where b is, 0 where the interval holds both."""
        return int(self.interval.low > 0) - int(self.interval.high < 0)


def paired_difference(a: Array, b: Array, confidence: float = 0.95) -> Difference:
    """The mean difference of paired numbers and its interval, d̄ ± t(n − 1) s / √n.

    Exact for normal differences; the central limit theorem makes it good for others from some thirty pairs on.

    Args:
        a, b: a number per draw, NaN where there is none.
        confidence: of the interval.
    """
    if a.shape != b.shape:
        raise InvalidInput(f"paired numbers come in equal counts, got {a.shape} and {b.shape}")
    from scipy.special import stdtrit

    differences = (a - b)[np.isfinite(a) & np.isfinite(b)]
    n = len(differences)
    if n < 2:
        mean = float(differences[0]) if n else np.nan
        return Difference(mean, Interval(-np.inf, np.inf, confidence), n)
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    reach = float(stdtrit(n - 1, 0.5 + confidence / 2)) * spread / np.sqrt(n)
    return Difference(mean, Interval(mean - reach, mean + reach, confidence), n)


def discordance(a: Array, b: Array) -> float:
    """McNemar's exact p-value of two verdicts on the same draws: how likely so uneven a split is by chance.

    Of the n draws that only one of both failed, k are a's; under equal chances k ~ Bin(n, ½), two-sided.
    """
    from scipy.special import bdtr

    only_a, only_b = int(np.count_nonzero(a & ~b)), int(np.count_nonzero(b & ~a))
    n, k = only_a + only_b, min(only_a, only_b)
    return 1.0 if n == 0 else min(1.0, 2.0 * float(bdtr(k, n, 0.5)))


def simultaneous(confidence: float, count: int) -> float:
    """The level of each of the pairs of `count` things at which all pairs hold together (Bonferroni)."""
    pairs = max(1, count * (count - 1) // 2)
    return 1.0 - (1.0 - confidence) / pairs


def ranks(names: Sequence[str], worse: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """The rank of each: 1 + how many are better for certain, so that those that cannot be told apart share one.

    Args:
        names: what is ranked.
        worse: for each pair of names, in their order, 1 where the first is worse, −1 where the second is, 0 if unknown.
    """
    beaten = dict.fromkeys(names, 0)
    for first, second in combinations(names, 2):
        sign = worse[first, second]
        beaten[first] += sign > 0
        beaten[second] += sign < 0
    return {name: 1 + count for name, count in beaten.items()}

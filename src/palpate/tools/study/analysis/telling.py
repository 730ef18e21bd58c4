"""Which quantity matters, read off runs that were made for another purpose: correlation ratios from given data.

    η² = Var(E[y | x]) / Var(y),   estimated over m groups of equal size along x

is Sobol's first-order index of x (Plischke, Borgonovo and Smith 2013, doi:10.1016/j.ejor.2012.11.047). With n runs in m
groups its estimate is too large by (m − 1)/(n − 1) where x does nothing; 1 − (1 − η²)(n − 1)/(n − m) takes that off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.checks import Array

if TYPE_CHECKING:
    from palpate.tools.study.result import Sweep

LEAST_RUNS, MOST_GROUPS, MOST_METRICS, MOST_PAIRS = 20, 20, 4, 4
LEAST_SHARE = 0.05  # below, a pair says nothing
CHOSEN = ("map", "tune", "rare")  # methods that go where they like: their points are no sample of the quantities


def explained(x: Sequence[Any], y: Array) -> float:
    """The share of the variance of y that x explains alone, 0 to 1.

    Args:
        x: numbers, or texts, which are groups as they are.
        y: finite numbers, as many.
    """
    groups = _groups(x)
    count, whole = int(groups.max()) + 1, len(y)
    spread = float(np.var(y))
    if count < 2 or count >= whole or spread == 0.0:
        return 0.0
    sizes = np.bincount(groups, minlength=count)
    means = np.bincount(groups, weights=y, minlength=count) / sizes
    ratio = float(np.sum(sizes * (means - y.mean()) ** 2)) / (whole * spread)
    return float(np.clip(1.0 - (1.0 - ratio) * (whole - 1) / (whole - count), 0.0, 1.0))


def _groups(x: Sequence[Any]) -> np.ndarray:
    """The group of each value: its own where there are few, one of about √n of equal size along x otherwise."""
    names, own = np.unique([str(value) for value in x], return_inverse=True)
    most = max(2, min(MOST_GROUPS, int(np.sqrt(len(x)))))
    if len(names) <= most or not all(isinstance(value, int | float) for value in x):
        return own
    order = np.argsort(np.asarray(x, dtype=float), kind="stable")
    groups = np.empty(len(x), dtype=np.int64)
    groups[order] = np.arange(len(x)) * most // len(x)
    return groups


def telling_shares(sweep: Sweep, broken: Sequence[str]) -> dict[str, Any]:
    """Of each bounded metric, the share of the variance of its rank that each key explains; and the largest of them.

    A run without a value ranks last. Nothing of fewer than 20 runs, of fewer than three keys, or of points that were
    chosen by a search.
    """
    plan = sweep.plan
    keys = [axis.key for axis in plan.axes]
    if len(keys) < 3 or len(sweep) < LEAST_RUNS or plan.method in CHOSEN:
        return {}
    bounded = [name for name in plan.scenario.get("metrics", {}) if name in sweep.columns]
    names = list(dict.fromkeys([*(name for name in broken if name in bounded), *bounded]))
    columns = {key: sweep[key] for key in keys}
    ranks = {name: _ranks(sweep.numbers(name)) for name in names}
    shares = {
        name: {key: explained(columns[key], rank) for key in keys} for name, rank in ranks.items() if np.ptp(rank) > 0
    }
    shares = dict(list(shares.items())[:MOST_METRICS])
    every: list[list[Any]] = [[name, key, share] for name, one in shares.items() for key, share in one.items()]
    pairs = sorted(every, key=lambda pair: -pair[2])
    first = [next(pair for pair in pairs if pair[0] == name) for name in broken if name in shares]
    rest = [pair for pair in pairs if pair not in first and pair[2] >= LEAST_SHARE]
    return {"shares": shares, "telling": [*first, *rest][:MOST_PAIRS] or pairs[:1]}


def _ranks(values: Array) -> Array:
    from scipy.stats import rankdata

    return rankdata(np.where(np.isfinite(values), values, np.inf))

"""Sobol's first-order and total indices, with intervals: which parameter matters.

    S_i = V[E[f | x_i]] / V[f]        what x_i explains alone
    T_i = E[V[f | x_~i]] / V[f]       what would remain if all but x_i were known: its interactions included

estimated from rows A, B and A with column i of B (Saltelli 2010 for S, Jansen 1999 for T):

    S_i ≈ mean(f(B) (f(AB_i) − f(A))) / V,    T_i ≈ mean((f(A) − f(AB_i))²) / 2V

The mean of f is taken off first, which leaves what is estimated and lowers its scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.tools.study.analysis.statistics import Interval

RESAMPLES, BATCH = 1000, 20


@dataclass(frozen=True)
class SobolIndex:
    """The indices of one parameter."""

    key: str
    first: float
    first_interval: Interval
    total: float
    total_interval: Interval


def estimate_indices(
    keys: Sequence[str], A: Array, AB: Array, B: Array, confidence: float = 0.95, seed: int = 0
) -> list[SobolIndex]:
    """Indices from the values at rows A (n), AB (n × d) and B (n), with bootstrap intervals over the rows.

    Args:
        keys: the d parameters.
        A, AB, B: values of f; a row with a NaN anywhere is left out.
        confidence: of each interval.
        seed: of the resampling.

    Raises:
        InvalidInput: fewer than two complete rows, or f never changes.
    """
    whole = np.isfinite(A) & np.isfinite(B) & np.isfinite(AB).all(axis=1)
    A, AB, B = A[whole], AB[whole], B[whole]
    if len(A) < 2:
        raise InvalidInput(f"sensitivity needs at least two complete rows, got {len(A)}", hint="more runs")
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
    return [SobolIndex(*one) for one in zip(keys, first.tolist(), ends[0], total.tolist(), ends[1])]


def _estimates(A: Array, AB: Array, B: Array) -> Array:
    """S and T (2, d, …) of stacks of samples: A, B (…, n), AB (…, n, d)."""
    both = np.concatenate([A, B], axis=-1)
    mean, variance = both.mean(axis=-1)[..., None], both.var(axis=-1)[..., None]
    variance = np.where(variance > 0, variance, np.nan)
    a, ab, b = (A - mean)[..., None], AB - mean[..., None], (B - mean)[..., None]
    first = (b * (ab - a)).mean(axis=-2) / variance
    total = ((a - ab) ** 2).mean(axis=-2) / (2 * variance)
    return np.nan_to_num(np.moveaxis(np.stack([first, total]), -1, 1))

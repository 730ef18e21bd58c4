"""The Pareto front of two metrics."""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import ArrayLike


def pareto_front(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Places of the points that no other one beats in both numbers, smaller being better; by rising `first`.

    Places with a NaN take no part. Of equal points the first stands for all.
    """
    a, b = (np.asarray(x, dtype=np.float64) for x in (first, second))
    places = np.flatnonzero(np.isfinite(a) & np.isfinite(b))
    order = places[np.lexsort((places, b[places], a[places]))]
    lowest_before = np.minimum.accumulate(np.r_[inf, b[order][:-1]])
    return order[b[order] < lowest_before]

"""Fewer points that look the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from palpate.checks import Array


def thin(time: Array, values: Array, most: int) -> tuple[Array, Array]:
    """At most `most` samples (≥ 4) that keep both ends and, of every stretch, its lowest and highest value."""
    if len(time) and np.ptp(values) == 0:
        ends = sorted({0, len(time) - 1})
        return time[ends], values[ends]
    if len(time) <= most:
        return time, values
    edges = np.linspace(0, len(time), (most - 2) // 2 + 1).astype(int)
    keep = {0, len(time) - 1}
    for start, stop in pairwise(edges.tolist()):
        keep |= {start + int(np.argmin(values[start:stop])), start + int(np.argmax(values[start:stop]))}
    rows = np.array(sorted(keep))
    return time[rows], values[rows]

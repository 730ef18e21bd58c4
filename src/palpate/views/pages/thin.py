"""Fewer points that look the same."""

from __future__ import annotations

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
    stretch = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    keep = [np.array([0, len(time) - 1])]
    for extreme in (np.minimum, np.maximum):
        there = np.flatnonzero(values == extreme.reduceat(values, edges[:-1])[stretch])
        keep.append(there[np.unique(stretch[there], return_index=True)[1]])  # the first, where several are
    rows = np.unique(np.concatenate(keep))
    return time[rows], values[rows]

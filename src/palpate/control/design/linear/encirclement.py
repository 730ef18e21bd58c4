"""How many poles lie beyond a boundary, by the argument principle: cheap for delays of a thousand samples.

With Δ(p) the characteristic matrix of a real loop (p = z or s), det Δ is analytic beyond the boundary and grows like
pⁿ there, so that the number of its zeros beyond is n − (1/π) × the turn of its argument along the upper half of the
boundary: the circle |z| = e^{gT} of a sampled loop, or the line Re s = g of a continuous one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palpate.checks import Array

Along = Callable[[Array], Array]  # places along the boundary, 0 to 1, to complex points
Matrices = Callable[[Array], Array]  # complex points to characteristic matrices, (count, n, n)

TURN = 0.7  # rad, and in log size: the most that a resolved piece of the boundary may change
MOST_POINTS = 400_000
_FINEST = 1e-13
_CHUNK = 200_000  # complex numbers per batch of matrices


def determinants(matrices: Matrices, points: Array, size: int) -> tuple[Array, Array]:
    """(sign, log size) of det Δ at each point, in batches that stay small."""
    rows = max(1, _CHUNK // (size * size))
    pieces = [np.linalg.slogdet(matrices(points[i : i + rows])) for i in range(0, len(points), rows)]
    return np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])


def resolved(matrices: Matrices, along: Along, grid: Array, size: int) -> tuple[Array, Array, Array]:
    """(places, signs, log sizes): the grid, halved wherever det Δ still changes too much from place to place.

    Pieces beside one that changes too much are halved too: two zeros between two places turn the argument by a whole
    turn, which cannot be seen from the places themselves, but their neighbours see the size fall towards them.
    """
    signs, logs = determinants(matrices, along(grid), size)
    while len(grid) < MOST_POINTS:
        wild = (np.abs(np.angle(signs[1:] / signs[:-1])) > TURN) | ~(np.abs(np.diff(logs)) < TURN)
        wild[1:] |= wild[:-1].copy()
        wild[:-1] |= wild[1:].copy()
        wild &= np.diff(grid) > _FINEST * np.maximum(grid[1:], _FINEST)
        if not wild.any():
            break
        middle = ((grid[1:] + grid[:-1]) / 2)[wild]
        new_signs, new_logs = determinants(matrices, along(middle), size)
        order = np.argsort(np.concatenate([grid, middle]), kind="stable")
        grid = np.concatenate([grid, middle])[order]
        signs, logs = np.concatenate([signs, new_signs])[order], np.concatenate([logs, new_logs])[order]
    return grid, signs, logs


def turn(signs: Array) -> float:
    """How far the argument turns along the places, rad."""
    return float(np.angle(signs[1:] / signs[:-1]).sum())


def refined_where(grid: Array, active: Array, step: float) -> Array:
    """The grid with every active piece divided into parts no longer than `step`."""
    parts = np.where(active, np.maximum(np.ceil(np.diff(grid) / step), 1), 1).astype(int)
    starts, lengths = np.repeat(grid[:-1], parts), np.repeat(np.diff(grid) / parts, parts)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(parts) - parts, parts)
    return np.append(starts + within * lengths, grid[-1])

"""Structure of a linear map: numbers that nothing reads, that nothing changes, and positions that nothing holds.

A map x⁺ = A x over all numbers that are carried from tick to tick has poles that say nothing of the loop. They are
found by the map's structure, not by their size:

- a number that none but itself depends on (a counter, an angle that nothing pulls back),
- a number that depends on none but itself and stays what it is (a constant of the law),
- what a sticking contact conserves: the place of its friction spring's foot, so that wᵀ A = wᵀ,
- positions that can be moved together without any effect on what follows: A r = r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from palpate.checks import Array
from palpate.one_thread import one_thread

_FELT = 1e-8  # of an entry of A in its units: below it is rounding of the differences
_SAME = 1e-7  # of a singular value of A − 1: below it a direction stays what it is
_CONSERVED = 1e-4  # distance of poles from 1 that sticking contacts conserve, whose number is known; 0 at rest
_SHIFT = 1e-8  # of an inverse iteration towards 1
_NEAR_ONE = 1e-5
_DENSE = 700  # coordinates up to which all poles are found
_LEADING = 40  # poles that are found beyond


@dataclass(frozen=True)
class Reduced:
    """A map without what is no loop.

    Attributes:
        whole: A of all coordinates.
        kept: the coordinates of the loop.
        A: the map of these.
        poles: eigenvalues, largest first.
        neutral: names of what was taken out with a pole of 1.
    """

    whole: Array
    kept: Array
    A: Array
    poles: Array
    neutral: tuple[str, ...]

    def vector_of(self, pole: complex) -> Array:
        """The mode of a pole over all coordinates, largest entry 1: by inverse iteration."""
        A, n = self.A.astype(complex), len(self.A)
        factors = scipy.linalg.lu_factor(A - (pole + 1e-10 * (1.0 + abs(pole))) * np.eye(n), check_finite=False)
        x = np.ones(n, complex) / np.sqrt(n)
        for _ in range(3):
            x = scipy.linalg.lu_solve(factors, x, check_finite=False)
            x /= np.linalg.norm(x)
        whole = np.zeros(len(self.whole), complex)
        whole[self.kept] = x
        return whole / whole[np.argmax(np.abs(whole))]


def reduce_map(A: Array, names: tuple[str, ...], conserved: int) -> Reduced:
    """The loop in a map, and its poles.

    Args:
        A: of all coordinates.
        names: of them.
        conserved: directions that sticking contacts conserve.
    """
    with one_thread():
        kept, neutral = loop_of(A, names)
        inner, named = A[np.ix_(kept, kept)], [names[at] for at in kept]
        left, Z, feet = _without_feet(inner, conserved)
        if feet:
            neutral.append(f"the foot of a sticking contact, {feet} directions")
        poles = _sorted_poles(left)
        if (np.abs(poles - 1.0) < _NEAR_ONE).any():
            left, free = _without_drift(left, Z, named)
            poles, neutral = _sorted_poles(left) if free else poles, neutral + free
        return Reduced(A, kept, inner, poles, tuple(neutral))


def _without_feet(A: Array, conserved: int) -> tuple[Array, Array, int]:
    """The map of states in which what sticking contacts conserve is 0, a basis of them, and how much is conserved.

    wᵀ A = wᵀ for the place of a foot: of the left eigenvectors nearest to 1 as many as there are such directions, by
    inverse iteration; states across them stay across them.
    """
    n = len(A)
    if not 0 < conserved < n:
        return A, np.eye(n), 0
    try:
        towards_one = np.linalg.inv((A - (1.0 + _SHIFT) * np.eye(n)).T)
    except np.linalg.LinAlgError:
        return A, np.eye(n), 0
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((n, conserved)))[0]
    for _ in range(4):
        W = np.linalg.qr(towards_one @ W)[0]
    if np.abs(np.linalg.eigvals(W.T @ A @ W) - 1.0).max() > _CONSERVED:
        return A, np.eye(n), 0
    Z = np.linalg.qr(W, mode="complete")[0][:, conserved:]
    return Z.T @ A @ Z, Z, conserved


def _without_drift(A: Array, Z: Array, names: list[str]) -> tuple[Array, list[str]]:
    """The map across directions that nothing pulls back, A r = r without any velocity in r; and their names."""
    moving = [k for k, name in enumerate(names) if ".plant.qvel[" in name]
    _, sizes, V = np.linalg.svd(np.vstack([A - np.eye(len(A)), Z[moving]]))
    r = V[sizes < _SAME]
    if not len(r):
        return A, []
    most = [names[int(np.argmax(np.abs(Z @ row)))] for row in r]
    across = np.linalg.qr(r.T, mode="complete")[0][:, len(r) :]
    return across.T @ A @ across, [f"a direction of {name} and others, which nothing pulls back" for name in most]


def _sorted_poles(A: Array) -> Array:
    if len(A) > _DENSE:
        sparse = scipy.sparse.csr_matrix(A)
        values = scipy.sparse.linalg.eigs(sparse, k=_LEADING, which="LM", return_eigenvectors=False)
    else:
        values = np.linalg.eigvals(A) if len(A) else np.zeros(0, complex)
    return values[np.argsort(-np.abs(values), kind="stable")].astype(complex)


def loop_of(A: Array, names: tuple[str, ...], B: Array | None = None) -> tuple[Array, list[str]]:
    """The coordinates left when those are taken out that none reads, or that nothing changes.

    A joint's speed that goes on from itself alone, under a damper without a spring, is a loop of its own. Where inputs
    count, what B drives is changed by them.
    """
    by_inputs = np.zeros(len(A), bool) if B is None else (np.abs(B) > _FELT).any(axis=1)
    linked = np.abs(A) > _FELT
    own = np.diag(linked).copy()
    np.fill_diagonal(linked, False)
    alive, neutral = np.ones(len(A), bool), []
    itself = own & (np.abs(np.diag(A) - 1.0) > _SAME) & np.array([".plant.qvel[" in name for name in names], bool)
    while True:
        read = linked[alive].any(axis=0)  # by another one
        changed = linked[:, alive].any(axis=1) | by_inputs  # by another one, or from outside
        constant = ~changed & (np.abs(np.diag(A) - 1.0) <= _SAME)
        gone = alive & ((~read & ~itself) | (~changed & ~own) | constant)
        if not gone.any():
            break
        steady = gone & own & changed & (np.abs(np.diag(A) - 1.0) <= _SAME)
        neutral += [names[k] for k in np.flatnonzero(steady)]
        alive &= ~gone
    return np.flatnonzero(alive), neutral

"""A hierarchy of least squares within limits by a cascade of DAQP's QPs, each answer checked."""

from __future__ import annotations

from itertools import pairwise

import daqp
import numpy as np

from palpate.checks import Array
from palpate.control.solve.active_set import RANK
from palpate.errors import NoSolution

_FAR = 1e30  # how DAQP writes infinity


def daqp_hierarchy(A: Array, b: Array, starts: Array, C: Array, lower: Array, upper: Array) -> Array:
    """The same by a cascade of DAQP's QPs, each in a basis of the freedom the higher ones leave; answers checked.

    DAQP's own hierarchical mode is not used: what it returns is no least-squares optimum of the levels.
    """
    n = A.shape[1]
    x, Z = np.zeros(n), np.eye(n)
    levels = [(A[i:j], b[i:j]) for i, j in pairwise(starts) if j > i]
    for number, (B, wanted) in enumerate([*levels, (np.eye(n), np.zeros(n))]):
        G, low, high = B @ Z, lower - C @ x, upper - C @ x
        if number > 0:  # x is feasible up to rounding: do not let rounding make the next level infeasible
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        x = x + Z @ _daqp_level(G, wanted - B @ x, C @ Z, low, high)
        _, values, rows = np.linalg.svd(G)
        rank = int((values > RANK * max(values[0], 1e-300)).sum())
        Z = Z @ rows[rank:].T
        if Z.shape[1] == 0:
            break
    return x


def _daqp_level(G: Array, wanted: Array, E: Array, lower: Array, upper: Array) -> Array:
    """min |G y − wanted|² within the limits; tight tolerances first, DAQP's own if those do not work out."""
    flags = []
    for tolerance in (1e-11, 1e-6):
        y, _, flag, _ = daqp.solve(
            G.T @ G, -G.T @ wanted, np.ascontiguousarray(E),
            np.minimum(upper + tolerance, _FAR), np.maximum(lower - tolerance, -_FAR),
            np.zeros(len(E), dtype=np.int32), primal_tol=tolerance, dual_tol=tolerance,
        )  # fmt: skip
        flags.append(int(flag))
        at = E @ y
        slack = 10 * tolerance * (1.0 + np.abs(at))
        if flag >= 1 and np.isfinite(y).all() and (at <= upper + slack).all() and (at >= lower - slack).all():
            return np.asarray(y)
    raise NoSolution(f"the QP solver DAQP gave no valid answer (status {flags})")

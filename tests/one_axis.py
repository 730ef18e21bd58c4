"""A mass on a wall under a sampled law, in closed form: the witness that loops of runs are held to.

    m ẍ = u − (k + k_w) x … with the command held over T, some samples late, and low-passed if asked:
    u = −K x − D ẋ,   or   u = −D ẋ − I,  I ← I + k_i T k_w x  for integral force control

Poles are the eigenvalues of the map over a period, by the exponential of the plant; no code of the package is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq


def one_axis_poles(
    mass: float,
    stiffness: float,
    damping: float,
    *,
    period: float,
    wall: float = 0.0,
    wall_damping: float = 0.0,
    delay: int = 0,
    cutoff: float | None = None,
    integral: float = 0.0,
) -> np.ndarray:
    """The poles of the loop, largest first."""
    A = np.array([[0.0, 1.0, 0.0], [-wall / mass, -wall_damping / mass, 1.0 / mass], [0.0, 0.0, 0.0]])
    E = expm(A * period)
    Phi, Gamma = E[:2, :2], E[:2, 2]
    share = 1.0 if cutoff is None else period / (period + 1.0 / (2.0 * np.pi * cutoff))
    size = 2 + 1 + 1 + delay  # x, ẋ, I, filtered command, commands under way
    M = np.zeros((size, size))
    command = np.zeros(size)
    command[:2] = -stiffness, -damping
    M[2, 2] = 1.0
    M[2, 0] = integral * period * wall
    command -= M[2]  # with the integral after this sample
    arriving = command if delay == 0 else np.eye(size)[size - 1]
    filtered = share * arriving + (1.0 - share) * np.eye(size)[3]
    M[:2] = np.outer(Gamma, filtered)
    M[:2, :2] += Phi
    M[3] = filtered
    if delay:
        M[4] = command
        for k in range(5, size):
            M[k, k - 1] = 1.0
    values = np.linalg.eigvals(M)
    values = values[np.abs(values - 1.0) > 1e-9] if integral == 0.0 else values
    return values[np.argsort(-np.abs(values))]


def largest(mass: float, stiffness: float, damping: float, **loop: Any) -> float:
    """The largest |pole|."""
    return float(abs(one_axis_poles(mass, stiffness, damping, **loop)[0]))


def largest_wall(mass: float, stiffness: float, damping: float, low: float, high: float, **loop: Any) -> float:
    """The wall's stiffness at which the largest pole reaches the unit circle."""
    return float(brentq(lambda k: largest(mass, stiffness, damping, wall=k, **loop) - 1.0, low, high))  # pyright: ignore

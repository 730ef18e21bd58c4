"""From one control tick to the next: a linear plant under a held command, exactly or as a simulation steps it."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from palpate.checks import Array

Integrator = Literal["euler", "implicit", "rk4"]


def held(A: Array, B: Array, time: float) -> tuple[Array, Array]:
    """Φ = exp(A t) and Γ = ∫₀ᵗ exp(A s) ds B: ẋ = A x + B u with u held for a time t (zero-order hold).

    A is balanced first, so that a wall of 10⁹ N/m costs no digits.
    """
    n, m = B.shape
    if time <= 0.0:
        return np.eye(n), np.zeros((n, m))
    return _held(A.tobytes(), np.ascontiguousarray(B).tobytes(), n, m, float(time))


@lru_cache(maxsize=256)  # a search over gains asks for the same plant again and again
def _held(A_bytes: bytes, B_bytes: bytes, n: int, m: int, time: float) -> tuple[Array, Array]:
    from scipy.linalg import expm, matrix_balance

    A, B = np.frombuffer(A_bytes).reshape(n, n), np.frombuffer(B_bytes).reshape(n, m)
    balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = balanced, B / scale[:, None]
    whole = expm(block * time)
    Phi, Gamma = scale[:, None] * whole[:n, :n] / scale, scale[:, None] * whole[:n, n:]
    Phi.setflags(write=False)
    Gamma.setflags(write=False)
    return Phi, Gamma


def substepped(
    A: Array, B: Array, count: int, step: float, *, integrator: Integrator = "euler", damper: Array | None = None
) -> tuple[Array, Array]:
    """Φ and Γ of `count` physics steps of a simulation, with u held; x = [q; v; further states], q and v first.

    "euler" and "implicit" are the engine's semi-implicit step: v⁺ = v + h (1 + h M⁻¹B)⁻¹ a(q, v, u), q⁺ = q + h v⁺,
    joint damping B implicit and every other force explicit. "rk4" is the classical Runge–Kutta step.

    Args:
        A, B: ẋ = A x + B u.
        count: physics steps.
        step: h, s.
        integrator: as a run has it.
        damper: M⁻¹B, n×n over the velocities.
    """
    one = _runge_kutta_step(A, B, step) if integrator == "rk4" else _euler_step(A, B, step, damper)
    n, m = B.shape
    block = np.eye(n + m)
    block[:n] = one
    whole = np.linalg.matrix_power(block, count)
    return whole[:n, :n], whole[:n, n:]


def _runge_kutta_step(A: Array, B: Array, h: float) -> Array:
    """[Φ, Γ] of one step: of a linear system, the exponential's series up to h⁴."""
    n, m = B.shape
    block = np.zeros((n + m, n + m))
    block[:n, :n], block[:n, n:] = A * h, B * h
    term = total = np.eye(n + m)
    for k in range(1, 5):
        term = term @ block / k
        total = total + term
    return total[:n]


def _euler_step(A: Array, B: Array, h: float, damper: Array | None) -> Array:
    size, m = B.shape
    n = size // 2 if damper is None else len(damper)
    rate = np.hstack([A, B])
    if damper is not None and damper.any():
        rate[n : 2 * n] = np.linalg.solve(np.eye(n) + h * damper, rate[n : 2 * n])
    new = np.eye(size, size + m) + h * rate
    new[:n] = np.eye(n, size + m) + h * new[n : 2 * n]  # positions with the new velocities
    return new

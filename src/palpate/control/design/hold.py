"""A linear plant under a command that is held over a time: from one control tick to the next, exactly."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from palpate.checks import Array


def zero_order_hold(A: Array, B: Array, time: float) -> tuple[Array, Array]:
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

"""Timing along a path: s(t) from 0 to 1 with its rate and acceleration."""

from __future__ import annotations

from typing import Literal

import numpy as np

from palpate.checks import Array

Timing = Literal["minimum-jerk", "quintic", "trapezoidal"]


def quintic(times: Array, start: float, end: float, x0: Array, x1: Array, v0: Array, v1: Array) -> list[Array]:
    """Quintic from (x0, v0) to (x1, v1) with no acceleration at either end: position, velocity, acceleration.

    With τ = (t − start)/T and h = x1 − x0:
    x = x0 + v0 T τ + (10h − 6v0T − 4v1T) τ³ + (−15h + 8v0T + 7v1T) τ⁴ + (6h − 3v0T − 3v1T) τ⁵.
    At rest at both ends it is the motion of least jerk, h (10τ³ − 15τ⁴ + 6τ⁵). Outside it moves on at v0 or v1.

    Args:
        times: s, (N,).
        start, end: s.
        x0, x1, v0, v1: (dimensions,).

    Returns:
        Three arrays (N, dimensions).
    """
    T = end - start
    inside = np.clip(times, start, end)
    tau = ((inside - start) / T)[:, None]
    h, a, b = x1 - x0, v0 * T, v1 * T
    c3, c4, c5 = 10 * h - 6 * a - 4 * b, 8 * a - 15 * h + 7 * b, 6 * h - 3 * a - 3 * b
    x = x0 + tau * (a + tau**2 * (c3 + tau * (c4 + tau * c5)))
    v = (a + tau**2 * (3 * c3 + tau * (4 * c4 + tau * 5 * c5))) / T
    acceleration = tau * (6 * c3 + tau * (12 * c4 + tau * 20 * c5)) / T**2
    return [x + (times - inside)[:, None] * v, v, np.where((times == inside)[:, None], acceleration, 0.0)]


def trapezoidal(times: Array, start: float, end: float, blend: float) -> list[Array]:
    """s from 0 to 1: even acceleration for `blend` of the time, even speed 1/((1 − blend) T), even braking."""
    T = end - start
    tau = np.clip((times - start) / T, 0.0, 1.0)
    peak = 1.0 / (1.0 - blend)  # of ds/dτ
    ramp = peak / blend
    left = np.minimum(tau, 1.0 - tau)  # the second half mirrors the first
    rising = left < blend
    half = np.where(rising, 0.5 * ramp * left**2, peak * (left - 0.5 * blend))
    s = np.where(tau <= 0.5, half, 1.0 - half)
    rate = np.where(rising, ramp * left, peak) / T
    moving = rising & (times > start) & (times < end)
    acceleration = np.where(moving, np.where(tau <= 0.5, ramp, -ramp), 0.0) / T**2
    return [s[:, None], rate[:, None], acceleration[:, None]]

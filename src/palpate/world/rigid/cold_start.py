"""The modes of a velocity problem where those of the step before do not lead to them."""

from __future__ import annotations

import math

from palpate.engine.kernels import clear, kernel, put
from palpate.world.rigid.newton import take_newton_steps
from palpate.world.rigid.problem import YIELD, VelocityProblem, find_row_velocities, loosen

_SOFTER = (0.1, 0.4, 0.7)  # factors between compliances
_SWEEPS, _MOST_TRIES = 200, 40


@kernel
def start_cold(w: VelocityProblem) -> bool:
    """Find the modes without those of the step before: along ever harder rows, in smaller steps, then by sweeps."""
    clear(w.impulse)
    if take_newton_steps(w):
        return True
    for k in range(len(_SOFTER)):
        if _harden_from(w, _SOFTER[k]):
            return True
    return _sweep_and_try(w)


@kernel
def _harden_from(w: VelocityProblem, factor: float) -> bool:
    """From rows as compliant as they are mobile, which are easy, to hard ones, each a factor harder than the last."""
    clear(w.impulse)
    share = 1.0
    while True:
        loosen(w, share)
        if not take_newton_steps(w):
            return False
        if share == YIELD:
            return True
        share = max(share * factor, YIELD)


@kernel
def _sweep_and_try(w: VelocityProblem) -> bool:
    """Row after row with all others held, and Newton steps now and then."""
    clear(w.impulse)
    loosen(w, YIELD)
    for _ in range(_MOST_TRIES):
        find_row_velocities(w)
        for _ in range(_SWEEPS):
            _sweep(w)
        put(w.before, 0, w.impulse)
        if take_newton_steps(w):
            return True
        put(w.impulse, 0, w.before)
    return False


@kernel
def _sweep(w: VelocityProblem) -> None:
    """Every row once: its impulse with all others held."""
    for c in range(w.contacts):
        n = 3 * c
        _change(w, n, max(w.impulse[n] - w.pace[n] * w.u[n], 0.0))
        x, y = w.impulse[n + 1] - w.pace[n + 1] * w.u[n + 1], w.impulse[n + 2] - w.pace[n + 2] * w.u[n + 2]
        most, size = w.mu[c] * w.impulse[n], math.sqrt(x * x + y * y)
        share = 1.0 if size <= most else most / size
        _change(w, n + 1, share * x)
        _change(w, n + 2, share * y)
    for r in range(3 * w.contacts, 3 * w.contacts + w.stops):
        _change(w, r, max(w.impulse[r] - w.pace[r] * w.u[r], 0.0))
    for r in range(w.rows - w.rubs, w.rows):
        over = w.impulse[r] - w.pace[r] * w.u[r]
        _change(w, r, min(max(over, -w.bound[r]), w.bound[r]))


@kernel
def _change(w: VelocityProblem, r: int, impulse: float) -> None:
    change = impulse - w.impulse[r]
    if change != 0.0:
        w.impulse[r] = impulse
        for s in range(w.rows):
            w.u[s] += w.A[s, r] * change
        w.u[r] += w.loose[r] * change

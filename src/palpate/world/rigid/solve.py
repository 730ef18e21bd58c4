"""Solve the velocity problem of a step: from the impulses of the step before, from nothing, or relaxed."""

from __future__ import annotations

import math

from palpate.engine.kernels import clear, kernel, put
from palpate.world.rigid.cold_start import start_cold
from palpate.world.rigid.newton import choose_modes, solve_with_modes, take_newton_steps
from palpate.world.rigid.problem import (
    SETTLED,
    YIELD,
    VelocityProblem,
    end_velocities,
    error_of,
    find_row_velocities,
    loosen,
    prepare,
)
from palpate.world.rigid.relaxed import relax

_RELAXED_YIELD = (1e-6, 1e-3)  # compliances of the relaxed answer's rows, of their own mobility,
_RELAXED_TIMES = 8  # which are taken away by as many turns
_SHIFTS = 60  # of the aims, half of them with either compliance
_TAKEN_AWAY = 6  # times at most that what rows yield is taken away
_SERVES = 1e-11  # of the largest velocity: error of a relaxed answer that is Coulomb's too


@kernel
def solve_velocities(w: VelocityProblem) -> bool:
    """v and the impulses of a step; exactly 0 where a joint sticks. False where M̂ is not one of a body."""
    w.turns = 0
    if not prepare(w):
        return False
    put(w.impulse, 0, w.anchor)
    loosen(w, YIELD)
    if _still_holds(w):
        end_velocities(w)
        return True
    known = not _nothing_before(w) and take_newton_steps(w)
    if not (known or _from_relaxed(w) or _from_shifted(w) or start_cold(w)):
        w.unsettled += 1
        _relax(w, _RELAXED_YIELD[0])
    _take_away_yield(w)
    end_velocities(w)
    return True


@kernel
def _from_relaxed(w: VelocityProblem) -> bool:
    """Newton steps from the relaxed answer, or this itself where it is Coulomb's too, as where everything sticks."""
    for k in range(len(_RELAXED_YIELD)):
        _relax(w, _RELAXED_YIELD[k])
        if error_of(w) <= _SERVES * w.speed:
            return True
    return take_newton_steps(w)


@kernel
def _from_shifted(w: VelocityProblem) -> bool:
    """Newton steps from relaxed answers that do not open: each with the aims moved by μ |u_t| of the one before.

    Where that has an end, it is Coulomb's answer (de Saxcé and Feng 1998; Acary and others 2011). Rows yield about the
    impulses of the answer before, and so less and less.
    """
    clear(w.shift)
    for k in range(_SHIFTS):
        _move_aims(w, 1.0)
        _relax(w, _RELAXED_YIELD[k // (_SHIFTS // 2)])
        _move_aims(w, -1.0)
        _yield_about_now(w)
        find_row_velocities(w)
        for c in range(w.contacts):
            x, y = w.u[3 * c + 1], w.u[3 * c + 2]
            w.shift[c] = w.mu[c] * math.sqrt(x * x + y * y)
        if error_of(w) <= _SERVES * w.speed:
            choose_modes(w)
            return True
        if take_newton_steps(w):
            return True
    return False


@kernel
def _move_aims(w: VelocityProblem, way: float) -> None:
    for c in range(w.contacts):
        w.aim[3 * c] -= way * w.shift[c]
        w.u_free[3 * c] += way * w.shift[c]


@kernel
def _nothing_before(w: VelocityProblem) -> bool:
    """Whether no impulse of the step before is known; of several answers the relaxed one then finds what sticks."""
    for r in range(w.rows):
        if w.anchor[r] != 0.0:
            return False
    return w.rows > 0


@kernel
def _relax(w: VelocityProblem, share: float) -> None:
    """The relaxed answer as it is, of rows with a compliance of a share of their own mobility."""
    put(w.before, 0, w.anchor)
    for _ in range(_RELAXED_TIMES):
        loosen(w, share)
        relax(w)
        _yield_about_now(w)
    loosen(w, YIELD)
    find_row_velocities(w)
    choose_modes(w)
    put(w.anchor, 0, w.before)


@kernel
def _yield_about_now(w: VelocityProblem) -> None:
    """Let rows yield about their present impulses; those with a compliance of their own, as stops, keep theirs."""
    for r in range(w.rows):
        if w.R[r] == 0.0:
            w.anchor[r] = w.impulse[r]


@kernel
def _still_holds(w: VelocityProblem) -> bool:
    """Whether the impulses of the step before fulfil all conditions of this one, as at rest."""
    find_row_velocities(w)
    if error_of(w) > SETTLED * w.speed:
        return False
    choose_modes(w)
    return True


@kernel
def _take_away_yield(w: VelocityProblem) -> None:
    """Once more with the same modes, about the impulses just found: rows that hold are rigid then.

    Where that breaks a condition, Newton's steps go on about them until little is yielded.
    """
    for _ in range(_TAKEN_AWAY):
        yielded = 0.0
        for r in range(w.rows):
            if w.R[r] == 0.0:
                yielded = max(yielded, w.loose[r] * abs(w.impulse[r] - w.anchor[r]))
                w.anchor[r] = w.impulse[r]
        if yielded <= SETTLED * w.speed:
            return
        put(w.before, 0, w.impulse)
        solve_with_modes(w)
        find_row_velocities(w)
        if error_of(w) <= SETTLED * w.speed:
            return
        put(w.impulse, 0, w.before)
        if not take_newton_steps(w):
            put(w.impulse, 0, w.before)
            find_row_velocities(w)
            choose_modes(w)
            return

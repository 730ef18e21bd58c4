"""A piece of an impact in which a slip turns: du/dP is a smooth flow, integrated to rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from palpate.checks import Array
from palpate.contact.complementarity import Solution, attempt
from palpate.contact.contacts import FREE, SLIDING, STICKING
from palpate.errors import NoSolution

if TYPE_CHECKING:
    from palpate.contact.routh import Course, Goal, Piece

_STOPPED = 1e-10  # of the largest row velocity: a turning slip slower than this has stopped


def follow(course: Course, piece: Piece, goal: Goal) -> float:
    """Integrate a piece to its goal or to where a mode changes; the course is left there. How far it went."""
    from scipy.integrate import solve_ivp

    m, size = len(course.u), 1e-3 + float(np.abs(course.u).max())
    start = np.concatenate([course.u, course.Z, course.work])
    events = _events(course, piece, goal, _STOPPED * size)
    far = goal.length if math.isfinite(goal.length) else 1e6 * size / course.scale

    def flow(_: float, y: Array) -> Array:
        now = _at(piece, y[:m])
        return np.concatenate([now.rates - piece.problem.b, now.z, now.z * y[:m]])

    scales = np.concatenate([np.full(m, size), np.full(m, size / course.scale), np.full(m, size**2 / course.scale)])
    path = solve_ivp(flow, (0.0, far), start, method="DOP853", rtol=1e-12, atol=1e-14 * scales, events=events)
    if path.status < 0:
        raise NoSolution(f"an impact's sliding could not be followed: {path.message}")
    end = path.y[:, -1]
    course.u, course.Z, course.work = end[:m].copy(), end[m : 2 * m].copy(), end[2 * m :].copy()
    _stop_slow(course, piece, 2 * _STOPPED * size)
    return float(path.t[-1])


def _at(piece: Piece, u: Array) -> Solution:
    """Multipliers and rates with the slips' directions as u has them."""
    options = list(piece.options)
    for number, (candidate, option) in enumerate(zip(piece.problem.candidates, options)):
        if option.mode == SLIDING and option.slip is not None:
            slip = u[candidate.tangents]
            speed = float(np.linalg.norm(slip))
            if candidate.slip is not None and speed > 0.0 and len(slip) == 2:
                options[number] = option._replace(slip=tuple(slip / speed))
    found = attempt(piece.problem, options)
    if found is None:
        raise NoSolution("the contacts contradict each other inside an impact")
    return found


def _events(course: Course, piece: Piece, goal: Goal, slow: float) -> list[Callable]:
    m = len(course.u)
    found: list[Callable] = [_falls(lambda y: _slack(piece, y[:m]))]
    for candidate, option in zip(piece.problem.candidates, piece.options):
        if option.mode == SLIDING and option.slip is not None and len(option.slip) == 2:
            rows = candidate.tangents
            found.append(_falls(lambda y, rows=rows: float(np.linalg.norm(y[rows])) - slow))
    for row in course.watched_rows(piece):
        sign = math.copysign(1.0, course.u[row])
        found.append(_falls(lambda y, row=row, sign=sign: sign * y[row]))
    if goal.row is not None:
        found.append(_falls(lambda y, row=goal.row: -y[row]))
    if goal.work_rows:
        rows = [2 * m + row for row in goal.work_rows]
        found.append(_falls(lambda y, rows=rows: goal.work - float(y[rows].sum())))
    return found


def _falls(value: Callable[[Array], float]) -> Callable:
    """An event of solve_ivp that ends the path where a value falls through 0."""

    def event(_: float, y: Array) -> float:
        return value(y)

    event.terminal = True  # type: ignore[attr-defined]
    event.direction = -1.0  # type: ignore[attr-defined]
    return event


def _slack(piece: Piece, u: Array) -> float:
    """How far the options are from being violated."""
    now = _at(piece, u)
    slack = math.inf
    for candidate, option in zip(piece.problem.candidates, piece.options):
        if candidate.normal is None:
            continue
        if option.mode == FREE:
            slack = min(slack, float(now.rates[candidate.normal]))
        elif candidate.one_sided and candidate.drive is None:
            slack = min(slack, float(now.z[candidate.normal]))
        if option.mode == STICKING:
            grip = float(np.linalg.norm(now.z[candidate.tangents]))
            slack = min(slack, candidate.hold * float(now.z[candidate.normal]) - grip)
    return slack


def _stop_slow(course: Course, piece: Piece, slow: float) -> None:
    for candidate, option in zip(piece.problem.candidates, piece.options):
        rows = candidate.tangents
        if option.mode == SLIDING and candidate.slip is not None and np.linalg.norm(course.u[rows]) < slow:
            course.u[rows] = 0.0

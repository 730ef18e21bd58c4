"""A piece of an impact in which a slip turns: du/dP is a smooth flow, integrated to rounding by compiled steps.

Near the end of a slip its direction settles within an ever shorter impulse, so the steps shrink with the slip; the
last part, 1e-8 of the velocities at play, is a straight line.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.contact.contacts import FREE, LOCKED, SLIDING, STICKING
from palpate.contact.kernels import error_norm, stage
from palpate.contact.records import Row, Step, make_step
from palpate.contact.solve import eliminate, least_norm
from palpate.engine.kernels import follows_types
from palpate.errors import NoSolution

if TYPE_CHECKING:
    from palpate.contact.routh import Course, Goal, Piece

# One contact of the piece.
LEG = np.dtype(
    [
        ("mode", "i8"),
        ("normal", "i8"),  # row, −1 for a pin
        ("count", "i8"),
        ("tangents", "i8", 3),
        ("friction", "f8"),
        ("hold", "f8"),
        ("side", "f8"),
        ("drive", "f8"),  # nan if none
        ("one_sided", "i8"),
        ("turns", "i8"),  # whether its slip's direction follows the velocities
        ("slip", "f8", 2),
    ],
    align=True,
)


class Flow(NamedTuple):
    """A piece for compiled code: contacts, mobility, wanted rates, watched rows with their signs, the goal."""

    legs: Array
    G: Array
    b: Array
    rows: Array
    signs: Array
    goal_row: int
    work_rows: Array
    work: float
    slow: float
    scale: float
    held: Array
    columns: Array
    S: Array
    LU: Array
    V: Array
    wanted: Array
    values: Array
    z: Array
    rates: Array
    margins: Array


@register_jitable
def _stack(flow: Flow, u: Array):
    """Held rows and their multipliers' columns with the slips' directions as u has them; prescribed z."""
    m, size = 0, flow.z.size
    for r in range(size):
        flow.z[r] = 0.0
    for i in range(flow.legs.size):
        leg = flow.legs[i]
        if leg.mode == FREE:
            continue
        d0, d1 = leg.slip[0], leg.slip[1]
        if leg.turns:
            a, c = u[leg.tangents[0]], u[leg.tangents[1]]
            speed = math.hypot(a, c)
            if speed > 0.0:
                d0, d1 = a / speed, c / speed
        if leg.normal >= 0:
            driven = math.isfinite(leg.drive)
            for r in range(size):
                flow.columns[m, r] = 0.0
            flow.columns[m, leg.normal] = 1.0
            if leg.mode == SLIDING and leg.count > 0:
                flow.columns[m, leg.tangents[0]] = -leg.friction * leg.side * d0
                if leg.count > 1:
                    flow.columns[m, leg.tangents[1]] = -leg.friction * leg.side * d1
            if driven:
                for r in range(size):
                    flow.z[r] += leg.drive * flow.columns[m, r]
            else:
                flow.held[m] = leg.normal
                m += 1
        if leg.mode == STICKING or leg.mode == LOCKED:
            for k in range(leg.count):
                for r in range(size):
                    flow.columns[m, r] = 0.0
                flow.columns[m, leg.tangents[k]] = 1.0
                flow.held[m] = leg.tangents[k]
                m += 1
    return m


@register_jitable
def _solve(flow: Flow, u: Array):
    """z and rates of the piece at row velocities u."""
    size, m = flow.z.size, _stack(flow, u)
    for a in range(m):
        row = flow.held[a]
        wanted = -flow.b[row]
        for r in range(size):
            wanted -= flow.G[row, r] * flow.z[r]
        flow.wanted[a] = flow.values[a] = wanted
        for c in range(m):
            total = 0.0
            for r in range(size):
                total += flow.G[row, r] * flow.columns[c, r]
            flow.S[a, c] = flow.LU[a, c] = total
    _, regular = eliminate(flow.LU, flow.values, m, flow.scale)
    if not regular:
        least_norm(flow.S, flow.V, flow.wanted, flow.values, m, flow.scale)
    for a in range(m):
        for r in range(size):
            flow.z[r] += flow.columns[a, r] * flow.values[a]
    for r in range(size):
        flow.rates[r] = flow.b[r]
        for k in range(size):
            flow.rates[r] += flow.G[r, k] * flow.z[k]


@register_jitable
def _slope(flow: Flow, y: Array, dy: Array):
    """d[u; Z; work]/dP."""
    size = flow.z.size
    _solve(flow, y[:size])
    for r in range(size):
        dy[r] = flow.rates[r] - flow.b[r]
        dy[size + r] = flow.z[r]
        dy[2 * size + r] = flow.z[r] * y[r]


@register_jitable
def _slack(flow: Flow, leg: Row):
    """How far one contact is from leaving its mode."""
    if leg.normal < 0:
        return math.inf
    if leg.mode == FREE:
        return flow.rates[leg.normal]
    slack = math.inf
    if leg.one_sided and not math.isfinite(leg.drive):
        slack = flow.z[leg.normal]
    if leg.mode == STICKING:
        grip = 0.0
        for k in range(leg.count):
            grip += flow.z[leg.tangents[k]] ** 2
        slack = min(slack, leg.hold * flow.z[leg.normal] - math.sqrt(grip))
    return slack


@register_jitable
def _measure(flow: Flow, y: Array):
    """Every margin at y (after `_slope` there); a piece ends where one falls to 0."""
    size, count = flow.z.size, flow.legs.size
    for i in range(count):
        leg = flow.legs[i]
        flow.margins[2 * i] = _slack(flow, leg)
        flow.margins[2 * i + 1] = math.inf
        if leg.turns:
            flow.margins[2 * i + 1] = math.hypot(y[leg.tangents[0]], y[leg.tangents[1]]) - flow.slow
    for k in range(flow.rows.size):
        flow.margins[2 * count + k] = flow.signs[k] * y[flow.rows[k]]
    last = 2 * count + flow.rows.size
    flow.margins[last] = -y[flow.goal_row] if flow.goal_row >= 0 else math.inf
    flow.margins[last + 1] = math.inf
    if flow.work_rows.size:
        done = 0.0
        for k in range(flow.work_rows.size):
            done += y[2 * size + flow.work_rows[k]]
        flow.margins[last + 1] = flow.work - done


@register_jitable
def _stride(flow: Flow, step: Step, y: Array, h: float):
    for s in range(1, 12):
        stage(step.K, step.A[s], y, h, step.point, s)
        _slope(flow, step.point, step.K[s])
    stage(step.K, step.B, y, h, step.y, 12)
    _slope(flow, step.y, step.K[12])
    _measure(flow, step.y)
    return error_norm(step.K, step.E3, step.E5, y, step.y, h, (step.tolerance[0], step.tolerance[1]))


@register_jitable
def _fallen(flow: Flow, armed: Array):
    """The first margin that has fallen, or −1."""
    for k in range(flow.margins.size):
        if armed[k] and flow.margins[k] <= 0.0:
            return k
    return -1


@register_jitable
def _find(flow: Flow, step: Step, y: Array, h: float, k: int):
    """The length of the step at whose end margin k is 0, by halving and secants."""
    low, high = 0.0, h
    _slope(flow, y, step.K[0])
    _measure(flow, y)
    a, b = flow.margins[k], 0.0
    _stride(flow, step, y, h)
    b = flow.margins[k]
    for n in range(200):
        middle = 0.5 * (low + high) if n % 3 == 2 else high - b * (high - low) / (b - a)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        _stride(flow, step, y, middle)
        value = flow.margins[k]
        if value > 0.0:
            low, a = middle, value
        else:
            high, b = middle, value
        if high - low <= 1e-15 * h or value == 0.0:
            break
    _stride(flow, step, y, high)
    return high


@follows_types
def _probe(flow: Flow, y: Array, dy: Array):
    """Slope and margins at y, compiled."""
    _slope(flow, y, dy)
    _measure(flow, y)


@follows_types
def _run(flow: Flow, step: Step, y: Array, far: float, armed: Array):
    """Steps to the first fallen margin or as far as asked; (how far, which margin or −1, −2 where it got stuck)."""
    s = 0.0
    _slope(flow, y, step.K[0])
    swift, fast = 1e-300, 0.0
    for r in range(flow.z.size):
        swift, fast = max(swift, abs(step.K[0, r])), max(fast, abs(y[r]))
    natural = (fast + flow.slow) / swift
    h = 0.01 * natural
    for _ in range(100000):
        if far - s <= 1e-15 * far:
            return s, -1
        h = min(h, far - s)
        _slope(flow, y, step.K[0])
        error = _stride(flow, step, y, h)
        if not error <= 1.0:
            h *= max(0.2, 0.9 * error ** (-0.125)) if math.isfinite(error) else 0.2
            if h < 1e-16 * natural:
                return s, -2
            continue
        grown = h * min(5.0, 0.9 * error ** (-0.125) if error > 0.0 else 5.0)
        fallen = _fallen(flow, armed)
        while fallen >= 0:
            h = _find(flow, step, y, h, fallen)
            other = _fallen(flow, armed)
            if other == fallen or other < 0:
                break
            fallen = other
        for i in range(y.size):
            y[i] = step.y[i]
        for k in range(armed.size):
            armed[k] = armed[k] or flow.margins[k] > 0.0
        s += h
        if fallen >= 0:
            return s, fallen
        h = grown
    return s, -2


def follow(course: Course, piece: Piece, goal: Goal) -> float:
    """Integrate a piece to its goal or to where a mode changes; the course is left there. How far it went."""
    size = 1e-3 + float(np.abs(course.u).max())
    flow, step = _make(course, piece, goal, size)
    y = np.concatenate([course.u, course.Z, course.work])
    far = min(goal.length, 1e30)
    armed = np.ones(len(flow.margins), dtype=bool)
    armed[: 2 * len(flow.legs)] = _clear_now(flow, y)
    armed[-2] = flow.margins[-2] > 0.0  # a contact that does not close yet ends where it has closed and opened again
    length, fallen = _run(flow, step, y, far, armed)
    if fallen == -2 or (fallen == -1 and not math.isfinite(goal.length)):
        raise NoSolution("an impact's sliding could not be followed to its end")
    m = len(course.u)
    course.u, course.Z, course.work = y[:m].copy(), y[m : 2 * m].copy(), y[2 * m :].copy()
    return length + _finish(course, flow, goal, int(fallen))


def _clear_now(flow: Flow, y: Array) -> Array:
    """Which contacts' margins are clear of 0 at the start; the others are watched once they are."""
    _probe(flow, y, np.empty(len(y)))
    return flow.margins[: 2 * len(flow.legs)] > 1e-12 * np.abs(flow.z).max(initial=1e-300)


def _finish(course: Course, flow: Flow, goal: Goal, fallen: int) -> float:
    """Set to 0 what has come to 0; a slip that was about to stop goes on to where it does."""
    count = len(flow.legs)
    if fallen < 0:
        return 0.0
    if fallen >= 2 * count:
        place = fallen - 2 * count
        if place < len(flow.rows):
            course.u[flow.rows[place]] = 0.0
        elif place == len(flow.rows):
            course.u[goal.row] = 0.0
        return 0.0
    leg = flow.legs[fallen // 2]
    if fallen % 2 == 0:
        return 0.0
    rows = leg["tangents"][:2]
    y = np.concatenate([course.u, course.Z, course.work])
    _probe(flow, y, np.empty(len(y)))
    rates, slip = flow.rates - flow.b, course.u[rows]
    speed = float(np.linalg.norm(slip))
    braking = -float(slip @ rates[rows]) / speed
    step = min(speed / braking if braking > 0.0 else 0.0, goal.length)
    course.work += flow.z * (course.u * step + 0.5 * rates * step**2)
    course.u = course.u + rates * step
    course.Z = course.Z + flow.z * step
    course.u[rows] = 0.0
    return step


def _make(course: Course, piece: Piece, goal: Goal, size: float) -> tuple[Flow, Step]:
    candidates, m = piece.problem.candidates, len(course.u)
    legs = np.zeros(len(candidates), LEG)
    for leg, candidate, option in zip(legs, candidates, piece.options):
        leg["mode"], leg["normal"] = option.mode, -1 if candidate.normal is None else candidate.normal
        leg["count"] = len(candidate.tangents)
        leg["tangents"][: len(candidate.tangents)] = candidate.tangents
        leg["friction"] = candidate.friction if option.slip is not None else 0.0
        leg["hold"], leg["side"], leg["one_sided"] = candidate.hold, option.side, candidate.one_sided
        leg["drive"] = math.nan if candidate.drive is None else candidate.drive
        leg["turns"] = option.slip is not None and len(option.slip) == 2 and candidate.slip is not None
        leg["slip"][: len(option.slip or ())] = option.slip or ()
    rows = np.array(course.watched_rows(piece), dtype=np.int64)
    work_rows = np.array(list(goal.work_rows), dtype=np.int64)
    margins = np.zeros(2 * len(legs) + len(rows) + 2)
    square, line = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
    flow = Flow(
        legs, np.ascontiguousarray(piece.problem.G), piece.problem.b, rows, np.sign(course.u[rows]),
        -1 if goal.row is None else goal.row, work_rows, goal.work, course.slow, course.scale,
        np.zeros(m + 1, dtype=np.int64), np.zeros((m + 1, m)), square, square.copy(), square.copy(),
        line, line.copy(), np.zeros(m), np.zeros(m), margins,
    )  # fmt: skip
    return flow, make_step(3 * m, 1, 1e-13, 1e-14 * size)

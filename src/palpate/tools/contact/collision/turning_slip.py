"""A piece of an impact in which a slip turns: du/dP is a smooth flow, integrated to rounding by compiled steps.

Near the end of a slip its direction settles within an ever shorter impulse, so the steps shrink with the slip; the
last part, 1e-8 of the velocities at play, is a straight line.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from palpate.engine.kernels import clear, dot, kernel
from palpate.engine.maths import hypot
from palpate.engine.records import Integers, Matrix, Record, Vector, sized
from palpate.errors import NoSolution
from palpate.tools.contact.integrator import OK, Step, accept, evaluate, make_step, next_length, try_step
from palpate.tools.contact.modes.linear_algebra import gauss_solve, least_norm
from palpate.tools.contact.touch.contacts import FREE, STICKING

if TYPE_CHECKING:
    from palpate.tools.contact.collision.impacts import Goal, ImpulsePath, Piece
    from palpate.tools.contact.modes.complementarity import Candidate, ModeOption

REACHED, STUCK = -1, -2  # how a piece ended, where no margin fell
_SHORTEST = 1e-16  # of the impulse that would stop the slip: no step is shorter
_MOST_STEPS = 100_000
_CLEAR = 1e-12  # of the largest impulse rate: a margin below it at the start is watched once it has risen


class PieceContact(Record):
    """One contact of the piece."""

    mode: int
    normal: int  # row, −1 for a pin
    count: int
    tangents: Integers = sized(3)
    hold: float
    presses: int  # whether it ends where its normal multiplier falls to 0
    forcing_row: int  # which row of `forcing` follows the direction of its slip; −1 for none
    friction: float  # tangential over normal multiplier along that direction: −μ, or μ on the other side of a slot


class TurningSlip(Record):
    """A piece for compiled code: contacts, mobility, wanted rates, watched rows with their signs, the goal; scratch."""

    contacts: list[PieceContact]
    G: Matrix
    b: Vector
    held: Integers  # rows whose rates are 0, by as many of the multipliers
    forcing: Matrix  # what each multiplier does to the rows: of the held ones, then of those that drive the impact
    values: Vector  # the multipliers
    rows: Integers
    signs: Vector
    goal_row: int
    work_rows: Integers
    work: float
    slow: float
    scale: float
    S: Matrix = sized("held", "held")
    LU: Matrix = sized("held", "held")
    V: Matrix = sized("held", "held")
    wanted: Vector = sized("held")
    z: Vector = sized("size")
    rates: Vector = sized("size")
    armed: Integers = sized("margins")  # which margins end the piece when they fall


@kernel
def _follow_slips(flow: TurningSlip, u: Vector) -> None:
    """Let the forces of the turning slips act against the slips as u has them."""
    for i in range(len(flow.contacts)):
        contact = flow.contacts[i]
        first, second = contact.tangents[0], contact.tangents[1]
        speed = hypot(u[first], u[second]) if contact.forcing_row >= 0 else 0.0
        if speed > 0.0:
            flow.forcing[contact.forcing_row, first] = contact.friction * (u[first] / speed)
            flow.forcing[contact.forcing_row, second] = contact.friction * (u[second] / speed)


@kernel
def _add_forces(flow: TurningSlip, start: int, stop: int) -> None:
    """z += what multipliers start … stop do to the rows."""
    for a in range(start, stop):
        for r in range(flow.z.size):
            flow.z[r] += flow.forcing[a, r] * flow.values[a]


@kernel
def _solve(flow: TurningSlip, u: Vector) -> None:
    """z and rates of the piece at row velocities u."""
    size, m = flow.z.size, flow.held.size
    _follow_slips(flow, u)
    clear(flow.z)
    _add_forces(flow, m, flow.values.size)
    for a in range(m):
        row = flow.held[a]
        flow.wanted[a] = flow.values[a] = -flow.b[row] - dot(flow.G[row], flow.z, size)
        for c in range(m):
            flow.S[a, c] = flow.LU[a, c] = dot(flow.G[row], flow.forcing[c], size)
    _, regular = gauss_solve(flow.LU, flow.values, m, flow.scale)
    if not regular:
        least_norm(flow.S, flow.V, flow.wanted, flow.values, m, flow.scale)
    _add_forces(flow, 0, m)
    for r in range(size):
        flow.rates[r] = flow.b[r] + dot(flow.G[r], flow.z, size)


@kernel
def rate(flow: TurningSlip, clock: float, y: Vector, dy: Vector, margins: Vector) -> int:
    """d[u; Z; work]/dP, and every margin: a piece ends where one falls to 0."""
    size, count = flow.z.size, len(flow.contacts)
    _solve(flow, y)
    for r in range(size):
        dy[r] = flow.rates[r] - flow.b[r]
        dy[size + r] = flow.z[r]
        dy[2 * size + r] = flow.z[r] * y[r]
    for i in range(count):
        contact = flow.contacts[i]
        margins[2 * i] = _slack(flow, contact)
        margins[2 * i + 1] = math.inf
        if contact.forcing_row >= 0:
            margins[2 * i + 1] = hypot(y[contact.tangents[0]], y[contact.tangents[1]]) - flow.slow
    for k in range(flow.rows.size):
        margins[2 * count + k] = flow.signs[k] * y[flow.rows[k]]
    last = 2 * count + flow.rows.size
    margins[last] = -y[flow.goal_row] if flow.goal_row >= 0 else math.inf
    margins[last + 1] = math.inf
    if flow.work_rows.size:
        done = 0.0
        for k in range(flow.work_rows.size):
            done += y[2 * size + flow.work_rows[k]]
        margins[last + 1] = flow.work - done
    return OK


@kernel
def _slack(flow: TurningSlip, contact: PieceContact) -> float:
    """How far one contact is from leaving its mode."""
    if contact.normal < 0:
        return math.inf
    if contact.mode == FREE:
        return flow.rates[contact.normal]
    slack = math.inf
    if contact.presses:
        slack = flow.z[contact.normal]
    if contact.mode == STICKING:
        grip = 0.0
        for k in range(contact.count):
            grip += flow.z[contact.tangents[k]] ** 2
        slack = min(slack, contact.hold * flow.z[contact.normal] - math.sqrt(grip))
    return slack


def _run(flow: TurningSlip, step: Step, far: float) -> int:
    """Steps to the first fallen margin or as far as asked; which margin, REACHED, or STUCK."""
    size = flow.z.size
    natural = (np.abs(step.origin[:size]).max() + flow.slow) / np.abs(step.K[0, :size]).max(initial=1e-300)
    h = 0.01 * natural  # of the impulse over which the velocities change by their own size
    for _ in range(_MOST_STEPS):
        step.h = min(h, far - step.t)
        try_step(step.address, step.lowest)
        h = next_length(step.address)
        if not step.error <= 1.0:
            if h < _SHORTEST * natural:
                return STUCK
            continue
        fallen = _shorten(flow, step)
        accept(step.address)
        flow.armed[step.margins > 0.0] = 1
        if fallen != REACHED or far - step.t <= 1e-15 * far:
            return fallen
    return STUCK


def _shorten(flow: TurningSlip, step: Step) -> int:
    """Shorten the step just tried to where the first watched margin falls; which one, or REACHED."""
    from scipy.optimize import brentq

    def margin(length: float, k: int) -> float:
        step.h = length
        try_step(step.address, step.lowest)
        return float(step.margins[k])

    def end(k: int) -> float:
        return float(np.asarray(brentq(margin, 0.0, whole, (k,), xtol=1e-15 * whole))) if margin(0.0, k) > 0.0 else 0.0

    fallen, whole = np.flatnonzero((flow.armed > 0) & (step.margins <= 0.0)).tolist(), step.h
    ends = {end(k): k for k in fallen}
    if not ends:
        return REACHED
    margin(min(ends), 0)
    return ends[min(ends)]


def follow(path: ImpulsePath, piece: Piece, goal: Goal) -> float:
    """Integrate a piece to its goal or to where a mode changes; the path is left there. How far it went."""
    size = 1e-3 + float(np.abs(path.u).max())
    flow, step = _build(path, piece, goal, size)
    step.origin[:] = np.concatenate([path.u, path.Z, path.work])
    _arm(flow, step)
    fallen = _run(flow, step, min(goal.length, 1e30))
    if fallen == STUCK or (fallen == REACHED and not math.isfinite(goal.length)):
        raise NoSolution("an impact's sliding could not be followed to its end")
    path.u, path.Z, path.work = (part.copy() for part in np.split(step.origin, 3))
    return step.t + _finish(path, flow, step, goal, fallen)


def _arm(flow: TurningSlip, step: Step) -> None:
    """Watch the margins that are clear of 0 at the start; the others once they are."""
    evaluate(step.address, 0.0, step.origin, step.K[0])
    contacts = 2 * len(flow.contacts)
    flow.armed[:] = 1
    flow.armed[:contacts] = step.margins[:contacts] > _CLEAR * np.abs(flow.z).max(initial=1e-300)
    flow.armed[-2] = step.margins[-2] > 0.0  # a contact that does not close yet is watched once it does


def _finish(path: ImpulsePath, flow: TurningSlip, step: Step, goal: Goal, fallen: int) -> float:
    """Set to 0 what has come to 0; a slip that was about to stop goes on to where it does."""
    watched = [*flow.rows, *([] if goal.row is None else [goal.row])]
    further = fallen - 2 * len(flow.contacts)
    if 0 <= further < len(watched):
        path.u[watched[further]] = 0.0
    if further >= 0 or fallen < 0 or fallen % 2 == 0:
        return 0.0
    rows = flow.contacts[fallen // 2].tangents[:2]
    evaluate(step.address, 0.0, step.origin, step.K[0])
    rates, slip = flow.rates - flow.b, path.u[rows]
    speed = float(np.linalg.norm(slip))
    braking = -float(slip @ rates[rows]) / speed
    left = min(speed / braking if braking > 0.0 else 0.0, goal.length)
    path.follow(flow.z, rates, left)
    path.u[rows] = 0.0
    return left


def _build(path: ImpulsePath, piece: Piece, goal: Goal, size: float) -> tuple[TurningSlip, Step]:
    problem, pairs = piece.problem, list(zip(piece.problem.candidates, piece.options))
    m, rows = len(path.u), np.array(path.watched_rows(piece), dtype=np.int64)
    held, columns, _ = problem.stack(piece.options)
    driven = [(c, o) for c, o in pairs if c.drive is not None]
    forcing = np.vstack([columns.T, *(c.push(o, m) for c, o in driven)])
    values = np.array([*[0.0] * len(held), *(c.drive for c, _ in driven)], dtype=float)
    pushed = [*held, *(c.normal for c, _ in driven)]
    contacts = [_piece_contact(c, o, pushed) for c, o in pairs]
    margins = 2 * len(contacts) + len(rows) + 2
    flow = TurningSlip(
        {"held": len(held), "size": m, "margins": margins}, contacts=contacts, G=np.ascontiguousarray(problem.G),
        b=problem.b, held=np.array(held, dtype=np.int64), forcing=forcing, values=values, rows=rows,
        signs=np.sign(path.u[rows]), goal_row=-1 if goal.row is None else goal.row,
        work_rows=np.array(list(goal.work_rows), dtype=np.int64), work=goal.work, slow=path.slow, scale=path.scale,
    )  # fmt: skip
    return flow, make_step(rate, flow, (3 * m, 0, margins), 1e-13, 1e-14 * size)


def _piece_contact(candidate: Candidate, option: ModeOption, pushed: list[int | None]) -> PieceContact:
    is_turning = option.slip is not None and len(option.slip) == 2 and candidate.slip is not None
    contact = PieceContact(
        mode=option.mode, normal=-1 if candidate.normal is None else candidate.normal, count=len(candidate.tangents),
        hold=candidate.hold, presses=int(candidate.one_sided and candidate.drive is None),
        forcing_row=pushed.index(candidate.normal) if is_turning else -1, friction=-candidate.friction * option.side,
    )  # fmt: skip
    contact.tangents[: len(candidate.tangents)] = candidate.tangents
    return contact

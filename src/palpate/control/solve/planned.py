"""The fastest straight stop over the whole way: redundancy used to keep the line and to brake hard to the end.

`fastest_stop` is greedy: it brakes as hard as it can now, and may so lose the line, or braking power, later. Here the
whole stop is a sequence of commands u₀, u₁, …, each held for a period, and

    minimise T   subject to   the tool on its line, never speeding up, at rest at T;   every u, τ, v, q within bounds

is solved by a sequence of linear programs (HiGHS) around motions that keep the line exactly, beginning with the greedy
one. Where that loses the line, first bounds are widened as far as keeping it takes, and the widening is brought down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.solve.stop import Stop, TorqueBounds, bounds_of, fastest_stop
from palpate.control.solve.straight import FASTER, Limits, Line, Track, half_range, moved
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot

_WITHIN = 1e-9  # an excess over bounds that counts as none
_GAIN = 1e-7  # s: a gain in time not worth a further program


@dataclass(frozen=True)
class PlannedStop:
    """A stop planned as a whole.

    Attributes:
        feasible: whether a straight stop within all bounds was found.
        verdict: what was found, or why not, in words.
        proven: whether the verdict is certain: a stop that was found, or a line that no command keeps even at first.
        time: s until the tool stands; ∞ without a stop.
        distance: how far along the line, m.
        deviation: the largest distance from the line, at the samples, m.
        relaxation: by which fraction of half their range bounds would have to grow; 0 where there is a stop.
        greedy_time: how long braking as hard as possible at every moment takes, s; None if that loses the line.
        t: times of the samples: every period, and the end.
        q, v: joint positions and velocities at them.
        a: the acceleration held from each sample on; at the last, 0.
        rates: λ = −d·p̈ / d·ṗ at each sample but the last, 1/s.
        active: −1, 0, +1 per sample and joint: a at its lower bound, between, at its upper.
    """

    feasible: bool
    verdict: str
    proven: bool
    time: float
    distance: float
    deviation: float
    relaxation: float
    greedy_time: float | None
    t: Array
    q: Array
    v: Array
    a: Array
    rates: Array
    active: Array


def planned_stop(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    limits: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    *,
    torque: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    period: float = 1e-3,
    axes: str = "xyz",
    frame: str | None = None,
    segments: int = 100,
    rounds: int = 60,
) -> PlannedStop:
    """The fastest stop of the tool along a straight line, planned over its whole length.

    Joint position and velocity limits of the robot count too, as far as it starts within them.

    Args:
        robot: the arm, scalar joints only.
        q, v: its state; the tool must move.
        limits: |u_i| ≤ limits_i, or a pair (lower, upper); the robot's acceleration limits by default.
        torque: |τ_i| ≤ torque_i, or a pair, as well; none by default.
        period: for how long a command is held, s.
        axes: which axes of the tool's position count.
        frame: the tool; the robot's by default.
        segments: about how many commands a stop may have; a longer one holds each for several periods.
        rounds: how many linear programs at the most.
    """
    line = _line(robot, q, v, limits, torque, axes, frame)
    period = finite_number(period, "period", above=0.0)
    if segments < 4 or rounds < 1:
        raise InvalidInput(f"segments must be at least 4 and rounds at least 1, got {segments} and {rounds}")
    first = _at_first(line)
    if not first.feasible:
        return _without(line, _why_not(first), True, first.relaxation)
    line.h, greedy = period, None
    for held in (1, 4, 16, 64, 256):
        line.h = held * period
        greedy = line.roll(2 * segments, rescue=True)
        if greedy is not None:
            return _planned(line, greedy, period, rounds)
    return _without(line, "no straight stop found, whatever the bounds", False, float("inf"))


def _planned(line: Line, greedy: Track, period: float, rounds: int) -> PlannedStop:
    most, lost = 3 * len(greedy.u) + 10, greedy.excess > _WITHIN
    track, left = _improve(line, greedy, most, rounds, elastic=True) if lost else (greedy, rounds)
    if track.excess > _WITHIN or not track.kept:
        verdict = f"no straight stop found; bounds {track.excess:.1%} wider would do"
        return _without(line, verdict, False, track.excess)
    track, _ = _improve(line, track, most, left, elastic=False)
    return _result(line, track, period, None if lost else greedy.time)


# ------------------------------------------------------------------ one linear program after another


def _improve(line: Line, track: Track, most: int, rounds: int, *, elastic: bool) -> tuple[Track, int]:
    """Better motions, until the linear model promises none: with less excess if elastic, else sooner at rest."""
    radius, left = 0.3, rounds
    while left > 0 and radius > 1e-4:
        left -= 1
        change, excess, promised = _program(line, track, radius, elastic=elastic)
        if promised <= (1e-3 * track.excess if elastic else _GAIN):
            break
        found = line.roll(most, track.u + change, allow=excess, rescue=elastic)
        if found is not None and found.kept and _is_better(found, track, elastic=elastic):
            track, radius = found, min(2 * radius, 1.0)
            if elastic and track.excess <= _WITHIN:
                break
        else:
            radius /= 3
    return track, left


def _is_better(found: Track, track: Track, *, elastic: bool) -> bool:
    if elastic:
        return found.excess < track.excess * (1 - 1e-3)
    return found.excess <= _WITHIN and found.time < track.time


def _program(line: Line, track: Track, radius: float, *, elastic: bool) -> tuple[Array, float, float]:
    """What a linear model of the motion takes for the best: change of commands, excess over the bounds, what it gains.

    Over δu and ε ≥ 0: least ε if elastic, else least final speed; the line kept, the speed falling, every bound widened
    by ε, |δu| within a radius of half its range.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack

    steps, n = track.u.shape
    across, along = _sensitivities(line, track)
    size, room = steps * n, half_range(line.limits.u)
    tops, slack = [], []
    falling = np.vstack([along[0], np.diff(along, axis=0)])
    _add(
        tops, slack, falling, -np.diff(track.along), np.full(steps, FASTER * line.speed), radius * np.tile(room, steps)
    )
    for rows, value, bounds, half in _bounded(line, track, radius):
        _add(tops, slack, rows, bounds[1] - value, half, radius * np.tile(room, steps))
        _add(tops, slack, -rows, value - bounds[0], half, radius * np.tile(room, steps))
    blocks = [hstack([csr_array(rows), csr_array(-half[:, None])]) for rows, half in tops]
    cost = np.append(along[-1] + 1e-3 * along.mean(axis=0), 0.0)
    if elastic:
        cost = np.append(cost[:-1] * 1e-3 / line.speed, 1.0)
    reach = radius * np.tile(room, steps)
    found = linprog(
        cost,
        A_ub=vstack(blocks, format="csr") if blocks else None,
        b_ub=np.concatenate(slack) if blocks else None,
        A_eq=np.hstack([across, np.zeros((len(across), 1))]),
        b_eq=-track.across[1:].reshape(-1),
        bounds=np.vstack([np.column_stack([-reach, reach]), [0.0, np.inf if elastic else max(track.excess, 0.0)]]),
        method="highs",
    )
    if found.x is None:
        return np.zeros((steps, n)), track.excess, np.inf
    change, excess = found.x[:size], float(found.x[size])
    if elastic:
        return change.reshape(steps, n), excess, track.excess - excess
    hardest = -np.diff(track.along)[-1] / track.h[-1]
    return change.reshape(steps, n), 0.0, float(-along[-1] @ change / hardest)


def _add(tops: list, slack: list, rows: Array, room: Array, half: Array, reach: Array) -> None:
    """rows δu ≤ room + half ε, where a change within reach could matter."""
    near = np.abs(rows) @ reach > room
    if near.any():
        tops.append((rows[near], half[near]))
        slack.append(room[near])


def _effects(track: Track) -> tuple[Array, Array]:
    """How much of command j is in state k + 1: in q, and in v; both (steps × steps)."""
    ends = np.cumsum(track.h)
    before = np.tri(len(ends))
    return before * (track.h * (ends[:, None] - ends) + track.h**2 / 2), before * track.h


def _sensitivities(line: Line, track: Track) -> tuple[Array, Array]:
    """How velocities across and along the line at the ends of steps change with all commands, row by row."""
    in_q, in_v = _effects(track)
    rates = [line.rates(q, v) for q, v in zip(track.q[1:], track.v[1:])]
    by_q, by_v = np.array([a for a, _ in rates]), np.array([b for _, b in rates])
    rows = np.einsum("kri,kj->krji", by_q, in_q) + np.einsum("kri,kj->krji", by_v, in_v)
    steps, count, _, n = rows.shape
    flat = rows.reshape(steps, count, steps * n)
    return flat[:, :-1].reshape(steps * (count - 1), steps * n), flat[:, -1]


def _bounded(line: Line, track: Track, radius: float) -> list[tuple[Array, Array, tuple[Array, Array], Array]]:
    """What is bounded besides the line: (rows over all commands, value, bounds, half range), one tuple per kind."""
    steps, n = track.u.shape
    in_q, in_v = _effects(track)
    unit, kinds = np.eye(n), []

    def kind(rows: Array, value: Array, bounds: tuple[Array, Array]) -> None:
        spread = (np.tile(bounds[0], steps), np.tile(bounds[1], steps))
        kinds.append((rows, value.reshape(-1), spread, np.tile(half_range(bounds), steps)))

    kind(np.eye(steps * n), track.u, line.limits.u)
    for effect, value, bounds in ((in_q, track.q[1:], line.limits.q), (in_v, track.v[1:], line.limits.v)):
        if np.isfinite(bounds[1] - bounds[0]).any():
            kind(np.einsum("kj,ab->kajb", effect, unit).reshape(steps * n, steps * n), value, bounds)
    if line.limits.torque is not None:
        rows, value = _torques(line, track, in_q, in_v)
        kind(rows, value, line.limits.torque)
    return kinds


def _torques(line: Line, track: Track, in_q: Array, in_v: Array) -> tuple[Array, Array]:
    """τ = M u + bias at the beginning of each step, and how it changes with all commands."""
    robot, (steps, n), small = line.robot, track.u.shape, 1e-6
    values, rows = np.empty((steps, n)), np.zeros((steps, n, steps, n))
    for k, (q, v, u) in enumerate(zip(track.q, track.v, track.u)):
        values[k] = robot.inverse_dynamics(q, v, u, losses=False)
        rows[k, :, k] = robot.mass_matrix(q)
        if k == 0:
            continue
        for i, e in enumerate(small * np.eye(n)):
            by_q = (robot.inverse_dynamics(q + e, v, u, losses=False) - values[k]) / small
            by_v = (robot.inverse_dynamics(q, v + e, u, losses=False) - values[k]) / small
            rows[k, :, :, i] += np.outer(by_q, in_q[k - 1]) + np.outer(by_v, in_v[k - 1])
    return rows.reshape(steps * n, steps * n), values


# ------------------------------------------------------------------ question and answer


def _line(
    robot: Robot, q: ArrayLike, v: ArrayLike, limits: object, torque: object, axes: str, frame: str | None
) -> Line:
    if robot.nq != robot.nv:
        raise InvalidInput(f"{robot.name} has a free or ball joint; a stop is planned for scalar joints only")
    q, v = finite_array(q, "q", (robot.nq,)), finite_array(v, "v", (robot.nv,))
    if not axes or any(axis not in "xyz" for axis in axes) or len(set(axes)) != len(axes):
        raise InvalidInput(f"axes must be some of x, y and z, each once, got {axes!r}")
    own = bounds_of(robot.limits.acceleration if limits is None else limits, robot.nv, "limits")
    if not np.isfinite(own).all():
        raise InvalidInput(f"{robot.name} needs a finite acceleration bound for every joint", hint="give `limits`")
    known = robot.limits
    bounds = Limits(
        own,
        None if torque is None else bounds_of(torque, robot.nv, "torque"),
        (np.minimum(known.lower, q), np.maximum(known.upper, q)),
        (np.minimum(-known.velocity, v), np.maximum(known.velocity, v)),
    )
    rows = ["xyz".index(axis) for axis in axes]
    J = robot.jacobian(q, frame)[rows]
    if np.linalg.norm(J @ v) <= 1e-9 * np.linalg.norm(J) * np.linalg.norm(v):
        raise InvalidInput("the tool does not move: there is no direction to keep")
    return Line(robot, q, v, rows, frame, bounds)


def _at_first(line: Line) -> Stop:
    """The greedy stop of the first moment, which settles whether any command keeps the line at all."""
    t, own = line.robot.terms(line.q, line.v, line.frame), line.limits
    bounds = own.u if own.torque is None else TorqueBounds(t.M, t.bias, own.torque, own.u)
    J = t.J[line.axes]
    return fastest_stop(J, t.drift[line.axes], J @ line.v, bounds)


def _why_not(first: Stop) -> str:
    if np.isfinite(first.rate):
        return f"no straight stop exists: at first the line is kept only while speeding up, λ = {first.rate:.4g} 1/s"
    if not np.isfinite(first.relaxation):
        return "no straight stop exists: at first no command keeps the line, whatever the bounds"
    return f"no straight stop exists: at first no command keeps the line; bounds {first.relaxation:.1%} wider would do"


def _without(line: Line, verdict: str, proven: bool, relaxation: float) -> PlannedStop:
    n, inf = line.robot.nv, float("inf")
    none = np.zeros((1, n))
    return PlannedStop(
        False, verdict, proven, inf, inf, 0.0, relaxation, None,
        np.zeros(1), line.q[None], line.v[None], none, np.zeros(0), none.astype(int),
    )  # fmt: skip


def _result(line: Line, track: Track, period: float, greedy: float | None) -> PlannedStop:
    """The motion at every period and at its end."""
    t, q, v, a, start, held = [], [], [], [], 0.0, round(line.h / period)
    for k, (length, u) in enumerate(zip(track.h, track.u)):
        for part in range(held):
            if part * period < length - 1e-12 * period:
                at = moved(track.q[k], track.v[k], u, part * period)
                t.append(start + part * period)
                q.append(at[0])
                v.append(at[1])
                a.append(u)
        start += length
    t, q, v, a = (
        np.array([*t, start]),
        np.array([*q, track.q[-1]]),
        np.array([*v, track.v[-1]]),
        np.array([*a, 0 * a[0]]),
    )
    seen = [line.look(*state, period) for state in zip(q, v)]
    places, speeds = np.array([p for *_, p in seen]), np.array([along for _, along, *_ in seen])
    way = places @ line.direction
    offset = np.linalg.norm(places - np.outer(way, line.direction), axis=1)
    near, (lower, upper) = 1e-9 * (1.0 + np.abs(a)), line.limits.u
    active = np.where(a >= upper - near, 1, 0) - np.where(a <= lower + near, 1, 0)
    faster = "" if greedy is None else f", {1e3 * (greedy - track.time):.3g} ms sooner than greedily"
    rescued = "; the greedy stop loses the line" if greedy is None else faster
    return PlannedStop(
        True, f"stops on its line in {track.time:.4f} s{rescued}", True, track.time, float(way[-1]),
        float(offset.max()), 0.0, greedy, t, q, v, a, _rates(line, q, v, a, speeds), active,
    )  # fmt: skip


def _rates(line: Line, q: Array, v: Array, a: Array, speeds: Array) -> Array:
    """λ = −d·(J u + J̇v) / d·ṗ at every sample but the last."""
    found = []
    for state, u, speed in zip(zip(q[:-1], v[:-1]), a, speeds):
        t = line.robot.terms(*state, line.frame)
        found.append(-line.direction @ (t.J @ u + t.drift)[line.axes] / speed)
    return np.array(found)

"""Motions of a tool along a straight line, period by period: the model, limits and roll-outs under a planned stop.

A command u is held for a step h: q⁺ = q + h v + ½ h² u, v⁺ = v + h u. The line p₀ + s d is kept where, at the end of
every step, the velocity across it is −κ times the distance from it (W spans what is across d):

    W J⁺ v⁺ + κ W (p⁺ − p₀) = 0
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.solve.hierarchy import solve_hierarchy
from palpate.robot.robot import Robot

_RETURN = 0.2  # κ h: which share of the distance from the line is made good in a step
FASTER = 0.02  # of the first speed: a gain in speed per step that counts as a whole range of excess
_KEPT = 1e-7  # of the first speed: a velocity across the line that counts as none


@dataclass(frozen=True)
class Limits:
    """What joints may do: u and τ by bounds, q and v by ranges; any may be infinite."""

    u: tuple[Array, Array]
    torque: tuple[Array, Array] | None
    q: tuple[Array, Array]
    v: tuple[Array, Array]


@dataclass(frozen=True)
class Track:
    """A motion: N steps h with commands u, and N + 1 states.

    Attributes:
        h, u: steps, s, and what is held during each.
        q, v: at their ends.
        along: the tool's speed along the line, m/s.
        across: W J v + κ W (p − p₀), m/s; 0 where the line is kept.
        offset: distance from the line, m.
        way: distance along it, m.
        excess: by which fraction of half its range the worst bound is left, or of `FASTER` the tool speeds up in a
            step; 0 within all bounds and always slower.
    """

    h: Array
    u: Array
    q: Array
    v: Array
    along: Array
    across: Array
    offset: Array
    way: Array
    excess: float

    @property
    def time(self) -> float:
        """s."""
        return float(self.h.sum())

    @property
    def kept(self) -> bool:
        """Whether the line is."""
        return bool(np.abs(self.across).max(initial=0.0) <= 100 * _KEPT * self.along[0])


def half_range(bounds: tuple[Array, Array]) -> Array:
    """Half the width of bounds; 1 where they are infinite."""
    lower, upper = bounds
    return np.where(np.isfinite(upper - lower), (upper - lower) / 2, 1.0)


def excess_of(values: Array, bounds: tuple[Array, Array]) -> float:
    """By which fraction of half its range the worst of some values leaves its bounds; 0 if none does."""
    over = np.maximum(values - bounds[1], bounds[0] - values) / half_range(bounds)
    return float(max(over.max(initial=0.0), 0.0))


def moved(q: Array, v: Array, u: Array, h: float) -> tuple[Array, Array]:
    """Where joints are after u was held for h, and how fast."""
    return q + h * v + h * h / 2 * u, v + h * u


class Line:
    """The straight line through a moving tool, and how joints move it along and across."""

    def __init__(self, robot: Robot, q: Array, v: Array, axes: list[int], frame: str | None, limits: Limits) -> None:
        self.robot, self.q, self.v, self.axes, self.frame, self.limits = robot, q, v, axes, frame, limits
        t = robot.terms(q, v, frame)
        p = t.J[axes] @ v
        self.start, self.speed = t.position[axes].copy(), float(np.linalg.norm(p))
        self.direction = p / self.speed
        # The rows of W: an orthonormal basis of what is across the direction.
        self.across = np.linalg.svd(self.direction[None])[2][1:]
        self.h = 1e-3  # s, the step

    @property
    def kappa(self) -> float:
        """κ, 1/s."""
        return _RETURN / self.h

    def look(self, q: Array, v: Array, h: float) -> tuple[Array, float, Array, Array]:
        """After a step h: (W J v + κ W (p − p₀), speed along, the rows of both over the u of that step, p − p₀)."""
        t = self.robot.terms(q, v, self.frame)
        J, p = t.J[self.axes], t.position[self.axes] - self.start
        velocity = J @ v
        rows = np.vstack([self.across @ J * (h + self.kappa * h * h / 2), self.direction @ J * h])
        return self.across @ (velocity + self.kappa * p), float(self.direction @ velocity), rows, p

    def rates(self, q: Array, v: Array) -> tuple[Array, Array]:
        """How what `look` sees, across and along, changes with q and with v: two (m × n) arrays.

        ∂(J v)/∂q = J̇, and J̇(q, v) eᵢ = (J̇v at v + eᵢ − J̇v at v − eᵢ) / 4 because J̇v is quadratic in v.
        """
        n, J = self.robot.nv, self.robot.jacobian(q, self.frame)[self.axes]

        def drift(speed: Array) -> Array:
            return self.robot.jacobian_drift(q, speed, self.frame)[self.axes]

        J_rate = np.column_stack([(drift(v + e) - drift(v - e)) / 4 for e in np.eye(n)])
        turn = np.vstack([self.across, self.direction])
        by_q = turn @ J_rate
        by_q[:-1] += self.kappa * (self.across @ J)
        return by_q, turn @ J

    # ------------------------------------------------------------------ one step

    def bounds(self, q: Array, v: Array, allow: float) -> tuple[Array, Array, Array]:
        """lower ≤ C u ≤ upper at a state, widened by a fraction of half their range."""
        n = self.robot.nv
        (lower, upper), more = self.limits.u, allow * half_range(self.limits.u)
        if self.limits.torque is None:
            return np.eye(n), lower - more, upper + more
        t, (low, high) = self.robot.terms(q, v, self.frame), self.limits.torque
        further = allow * half_range(self.limits.torque)
        return (
            np.vstack([np.eye(n), t.M]),
            np.concatenate([lower - more, low - t.bias - further]),
            np.concatenate([upper + more, high - t.bias + further]),
        )

    def step(
        self, q: Array, v: Array, h: float, wanted: Array | None, allow: float, guess: Array | None = None
    ) -> tuple[Array, float]:
        """The command of one step, within bounds: line kept, then as wanted or braking most; and what it misses, m/s.

        Without `wanted`, or where that would turn the tool round, it brakes most, to rest at the most, and is short.
        """
        n, count = self.robot.nv, len(self.across)
        C, lower, upper = self.bounds(q, v, allow)
        u, ones, missed = (np.zeros(n) if guess is None else guess), np.ones(len(C)), 0.0
        u = u if wanted is None else wanted
        for _ in range(5):
            g, along, rows, _ = self.look(*moved(q, v, u, h), h)
            if wanted is None or along < 0.0:
                A, b, starts = rows, rows @ u - np.append(g, along), np.array([0, count, count + 1])
            else:
                A = np.vstack([rows[:count], np.eye(n)])
                b, starts = np.concatenate([rows[:count] @ u - g, wanted]), np.array([0, count, count + n])
            found = solve_hierarchy(A, b, starts, C, lower, upper, ones).x
            missed = float(np.abs(A[:count] @ found - b[:count]).max(initial=0.0))
            change, u = np.abs(found - u).max(), found
            if change <= 1e-6 * (1.0 + np.abs(u).max()):  # the next change would be a hundred times smaller
                break
        return u, missed

    def widening(self, q: Array, v: Array, guess: Array) -> float:
        """By which fraction of half their range bounds must grow for a step to keep the line; 0 if they need not."""

        def misses(allow: float) -> bool:
            return self.step(q, v, self.h, None, allow, guess)[1] > _KEPT * self.speed

        low, high = 0.0, 0.0
        while misses(high):
            low, high = high, max(2 * high, 0.02)
            if high > 1e3:
                return math.inf
        while high - low > 1e-3 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if misses(middle) else (low, middle)
        return high * 1.001

    # ------------------------------------------------------------------ a whole stop

    def roll(self, most: int, wanted: Array | None = None, *, allow: float = 0.0, rescue: bool = False) -> Track | None:
        """Steps until the tool stands, along commands as wanted, then, or without them, braking most; None if lost.

        Args:
            most: how many steps at the most.
            wanted: commands to follow.
            allow: by how much these may leave the bounds.
            rescue: leave the bounds as far as it takes to keep the line, where it would be lost.
        """
        q, v, h, steps, commands, u = self.q, self.v, self.h, [], [], None
        for k in range(most):
            goal, extra = (wanted[k], allow) if wanted is not None and k < len(wanted) else (None, 0.0)
            u, missed = self.step(q, v, h, goal, extra, u)
            if missed > _KEPT * self.speed:
                extra = self.widening(q, v, u) if rescue else math.inf
                if not math.isfinite(extra):
                    return None
                u, _ = self.step(q, v, h, goal, extra, u)
            length, last = h, self.look(*moved(q, v, u, h), h)[1] <= 1e-9 * self.speed
            if last:
                length, u = self._last(q, v, extra)
            q, v = moved(q, v, u, length)
            steps.append(length)
            commands.append(u)
            if last:
                return self.track(np.array(steps), np.array(commands))
        return None

    def _last(self, q: Array, v: Array, allow: float) -> tuple[float, Array]:
        """The shortest step that brings the tool to rest, and its command."""
        h = length = self.h
        u, _ = self.step(q, v, length, None, allow)
        speed = self.look(q, v, h)[1]
        for _ in range(6):
            # Ask for more than rest, to see how hard the tool can brake over this length.
            tried = self._hardest(q, v, length, allow)
            end = self.look(*moved(q, v, tried, length), length)[1]
            if end >= speed:
                break
            shorter = min(length * speed / (speed - end), h)
            done, length = abs(shorter - length) <= 1e-9 * h, max(shorter, 1e-6 * h)
            u = tried
            if done:
                break
        return length, u

    def _hardest(self, q: Array, v: Array, h: float, allow: float) -> Array:
        """The command that keeps the line and brakes most, were it to turn the tool round."""
        C, lower, upper = self.bounds(q, v, allow)
        u, count = np.zeros(self.robot.nv), len(self.across)
        for _ in range(3):
            g, along, rows, _ = self.look(*moved(q, v, u, h), h)
            goal = rows @ u - np.append(g, along + self.speed)
            u = solve_hierarchy(rows, goal, np.array([0, count, count + 1]), C, lower, upper, np.ones(len(C))).x
        return u

    def track(self, steps: Array, u: Array) -> Track:
        """The motion under commands, and what it keeps."""
        q, v = np.empty((len(u) + 1, len(self.q))), np.empty((len(u) + 1, len(self.q)))
        q[0], v[0] = self.q, self.v
        for k, (length, command) in enumerate(zip(steps, u)):
            q[k + 1], v[k + 1] = moved(q[k], v[k], command, length)
        seen = [self.look(a, b, self.h) for a, b in zip(q, v)]
        along = np.array([speed for _, speed, *_ in seen])
        places = np.array([place for *_, place in seen])
        way = places @ self.direction
        excess = max(
            excess_of(u, self.limits.u),
            excess_of(q[1:], self.limits.q),
            excess_of(v[1:], self.limits.v),
            max((self._torque_excess(*state) for state in zip(q, v, u)), default=0.0),
            float(np.diff(along).max() / (FASTER * self.speed)),
        )
        return Track(
            steps, u, q, v, along, np.array([g for g, *_ in seen]),
            np.linalg.norm(places - np.outer(way, self.direction), axis=1), way, excess,
        )  # fmt: skip

    def _torque_excess(self, q: Array, v: Array, u: Array) -> float:
        if self.limits.torque is None:
            return 0.0
        return excess_of(self.robot.inverse_dynamics(q, v, u, losses=False), self.limits.torque)

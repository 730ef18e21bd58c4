"""The path of an impact: velocities followed through the growing impulse (Routh's method).

A collision takes no time but a path: while the normal impulse grows, the slip slows, stops, sticks or reverses, and
contacts that only rested lift off or are pressed. Along the path u(P) = u⁻ + G z(P), in the space of the contacts'
rows; between changes the rates du/dP are constant where slip has one direction, and a smooth flow where it has two.

- One colliding contact: its normal impulse is the clock. Compression ends where its normal velocity is 0.
- Several: they are brought to rest together, every normal velocity falling in proportion; without friction this is
  u⁺ = −e u⁻ for all at once.
- Contacts at rest answer at once: they stay, or lift off, so that they neither pull nor penetrate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from palpate.checks import Array
from palpate.contact.modes.complementarity import Candidate, Option, Problem, Solution, solve
from palpate.contact.touch.contacts import FREE, SLIDING, STICKING
from palpate.errors import NoSolution

_STILL = 1e-11  # m/s, of the largest row velocity: slower counts as none
_STOPPING = 1e-8  # of the same: from here a slip that turns stops on a straight line
SINGULAR = 1e-6  # of the contacts' mobility: a smaller coefficient of a contact in Painlevé's zone counts as 0
_MOST_PIECES = 1000


@dataclass(frozen=True)
class Goal:
    """Where a phase of an impact ends: a row's velocity at 0, a length of the clock, or work given back."""

    row: int | None = None
    length: float = math.inf
    work_rows: Sequence[int] = ()
    work: float = math.inf


@dataclass(frozen=True)
class Piece:
    """A stretch of an impact in which no mode changes: its problem, options, impulse and velocity rates."""

    problem: Problem
    options: tuple[Option, ...]
    z: Array
    rates: Array

    @property
    def turns(self) -> bool:
        """Whether a slip in two directions may turn, so that the rates are not constant."""
        return any(o.mode == SLIDING and o.slip is not None and len(o.slip) == 2 for o in self.options)


@dataclass
class ImpulsePath:
    """How far an impact has come.

    Attributes:
        G: R M⁻¹ Rᵀ of the closed contacts' rows.
        candidates: the contacts.
        u: row velocities over the surfaces.
        Z: impulses of the rows so far.
        work: done by each row's impulse so far, J.
        phases: what happened, in words.
    """

    G: Array
    candidates: list[Candidate]
    scale: float
    u: Array
    Z: Array = field(init=False)
    work: Array = field(init=False)
    phases: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.Z, self.work = np.zeros(len(self.u)), np.zeros(len(self.u))
        size = 1e-3 + float(np.abs(self.u).max(initial=0.0))
        self.still, self.slow = _STILL * size, _STOPPING * size

    # ------------------------------------------------------------------ the two phases

    def compress_one(self, k: int, paradox: bool = False) -> None:
        """Until contact k closes no more; in an impact without collision, until its impulse opens it again.

        Where sliding runs into Painlevé's zone the impulse neither closes nor opens the contact at first (its
        coefficient n·M⁻¹(n − μ d) is 0 to rounding), so that no closing velocity tells when to stop: it grows until
        the slip has come to rest.
        """
        n, opening = self._normal(k), SINGULAR * self.scale if paradox else 0.0
        for _ in range(_MOST_PIECES):
            piece = self._piece({k: 1.0}, {})
            if self.u[n] >= -self.still * 1e-3 and piece.rates[n] >= opening:
                self.u[n] = 0.0
                return
            self._run(piece, Goal(row=n))
        raise NoSolution("an impact's compression does not end")

    def compress_together(self, colliding: Sequence[int]) -> None:
        """All closing velocities to 0 in proportion, over a clock from 0 to 1."""
        self._clocked({}, {k: float(self.u[self._normal(k)]) for k in colliding})
        for k in colliding:
            n = self._normal(k)
            if abs(self.u[n]) < 1e3 * self.still:
                self.u[n] = 0.0

    def release_impulse(self, drives: dict[int, float]) -> None:
        """Poisson: give back a share of each impulse of compression."""
        self._clocked(drives, {})

    def release_work(self, drives: dict[int, float], target: float) -> None:
        """Stronge: until the normal impulses have given back the work `target`."""
        rows = [self._normal(k) for k in drives]
        wanted = float(self.work[rows].sum()) + target
        for _ in range(_MOST_PIECES):
            if wanted - float(self.work[rows].sum()) <= 1e-12 * target:
                return
            self._run(self._piece(drives, {}), Goal(work_rows=rows, work=wanted))
        raise NoSolution("an impact's release does not end")

    def _clocked(self, drives: dict[int, float], offsets: dict[int, float]) -> None:
        left = 1.0
        for _ in range(_MOST_PIECES):
            left -= self._run(self._piece(drives, offsets), Goal(length=left))
            if left < 1e-15:
                return
        raise NoSolution("an impact's phases do not end")

    # ------------------------------------------------------------------ one piece of constant modes

    def _normal(self, k: int) -> int:
        normal = self.candidates[k].normal
        assert normal is not None
        return normal

    def _candidates(self, drives: dict[int, float], offsets: dict[int, float]) -> list[Candidate]:
        """The contacts as they now are: lifted ones left out, slips as the velocities have them."""
        candidates = []
        for k, c in enumerate(self.candidates):
            if c.normal is not None and k not in drives and k not in offsets and self.u[c.normal] > self.still:
                continue
            candidates.append(replace(c, index=k, slip=self.slip_of(c), drive=drives.get(k)))
        return candidates

    def slip_of(self, c: Candidate) -> tuple[float, ...] | None:
        """The direction in which a contact slips; None for one that does not."""
        if c.normal is None:
            return None
        slip = self.u[c.tangents]
        speed = float(np.linalg.norm(slip))
        return tuple(slip / speed) if speed > (self.still if len(slip) < 2 else 2 * self.slow) else None

    def _problem(self, drives: dict[int, float], offsets: dict[int, float]) -> Problem:
        b = np.zeros(len(self.u))
        for k, closing in offsets.items():
            b[self._normal(k)] = closing
        return Problem(self.G, b, self._candidates(drives, offsets), self.scale)

    def _piece(self, drives: dict[int, float], offsets: dict[int, float]) -> Piece:
        """The modes, multipliers and velocity rates that hold from here on."""
        problem = self._problem(drives, offsets)
        solutions = solve(problem)
        if not solutions:
            raise NoSolution("no consistent mode inside an impact", hint="less friction at the contacts that rest")
        best = min(solutions, key=lambda s: (float(np.abs(s.z).sum()), s.deficiency))
        self._note(problem, best)
        return Piece(problem, best.options, best.z, best.rates - problem.b)

    def _note(self, problem: Problem, best: Solution) -> None:
        for candidate, option in zip(problem.candidates, best.options):
            if not candidate.tangents or candidate.friction == 0.0 or option.mode == FREE:
                continue
            slipping = option.slip is not None
            word = "stick" if option.mode == STICKING else f"slip {_sign(option)}" if slipping else "slide"
            last = [w for k, w in self.phases if k == candidate.index]
            if not last or last[-1] != word:
                self.phases.append((candidate.index, word))

    def _run(self, piece: Piece, goal: Goal) -> float:
        """Follow a piece to the goal or to where its modes change; how far it went."""
        if piece.turns:
            from palpate.contact.collision.turning_slip import follow

            return follow(self, piece, goal)
        step, zero = self._next_change(piece, goal)
        self.work += piece.z * (self.u * step + 0.5 * piece.rates * step**2)
        self.u = self.u + piece.rates * step
        self.Z = self.Z + piece.z * step
        self.u[zero] = 0.0
        return step

    def _next_change(self, piece: Piece, goal: Goal) -> tuple[float, list[int]]:
        """How long the rates hold, and which row velocities are 0 then."""
        ends = [(goal.length, -1)] if math.isfinite(goal.length) else []
        if goal.row is not None and piece.rates[goal.row] > 0.0 and self.u[goal.row] < 0.0:
            ends += self._crossing(piece, goal.row)
        if goal.work_rows:
            ends.append((self._work_end(piece, goal), -1))
        for row in self.watched_rows(piece):
            ends += self._crossing(piece, row)
        step = min((step for step, _ in ends), default=math.inf)
        if not math.isfinite(step):
            raise NoSolution("an impact's impulse grows without end")
        return step, [row for s, row in ends if row >= 0 and s <= step * (1 + 1e-12)]

    def _work_end(self, piece: Piece, goal: Goal) -> float:
        rows = list(goal.work_rows)
        power, growth = float(piece.z[rows] @ self.u[rows]), float(piece.z[rows] @ piece.rates[rows])
        return _quadratic_end(power, growth, goal.work - float(self.work[rows].sum()))

    def watched_rows(self, piece: Piece) -> list[int]:
        """Rows whose velocity changes a mode where it comes to 0: slips along a line, and lifted contacts."""
        rows = []
        for candidate, option in zip(piece.problem.candidates, piece.options):
            if option.mode == SLIDING and option.slip is not None and candidate.slip is not None:
                rows += candidate.tangents if len(candidate.tangents) == 1 else []
        active = {c.index for c in piece.problem.candidates}
        return rows + [c.normal for k, c in enumerate(self.candidates) if k not in active and c.normal is not None]

    def _crossing(self, piece: Piece, row: int) -> list[tuple[float, int]]:
        rate = piece.rates[row]
        return [(-self.u[row] / rate, row)] if self.u[row] * rate < 0.0 else []


def _sign(option: Option) -> str:
    if option.slip is None or len(option.slip) != 1:
        return "on"
    return "+" if option.slip[0] > 0 else "−"


def _quadratic_end(power: float, growth: float, left: float) -> float:
    """The smallest s > 0 with power s + ½ growth s² = left; infinite if there is none."""
    if abs(growth) < 1e-300:
        return left / power if power > 0.0 else math.inf
    inside = power * power + 2.0 * growth * left
    if inside < 0.0:
        return math.inf
    root = math.sqrt(inside)
    ends = [s for s in ((-power + root) / growth, (-power - root) / growth) if s > 0.0]
    return min(ends, default=math.inf)

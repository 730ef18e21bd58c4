"""Which closed contacts separate, slide or stick: every consistent answer of a small linear problem with friction.

In the space of the contacts' rows, rates = b + G z: b the rates without contact forces, G = R M⁻¹ Rᵀ, z the
multipliers. Each contact takes one of a few options (separate, slide, stick); an option fixes which rows are held
and along what its force acts. Every combination is solved and tested:

- separate: z = 0 and the normal rate is not negative;
- slide: normal rate 0, z_t = −μ z_n d, pressing (a two-sided surface may pull), and the slip, where it begins now,
  speeds up along d;
- stick: all rates 0, pressing, |z_t| ≤ μ_s |z_n|.

The same problem, with velocity changes for rates and impulses for forces, runs inside an impact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from palpate.checks import Array
from palpate.contact.modes.linear_algebra import RANK_CUT
from palpate.contact.touch.contacts import FREE, LOCKED, SLIDING, STICKING
from palpate.errors import NoSolution

MOST_COMBINATIONS = 6000
_TOLERANCE = 1e-9
_DIRECTIONS = 48


class ModeOption(NamedTuple):
    """One way a contact can behave: mode, slip direction in its tangents, side of a two-sided surface's force."""

    mode: int
    slip: tuple[float, ...] | None = None
    side: float = 1.0
    seek: bool = False  # the slip's direction is still unknown


@dataclass
class Candidate:
    """A closed contact as the problem sees it.

    Attributes:
        index: the contact's number.
        normal: its normal's row, None for a pin.
        tangents: its tangential rows (a pin's all).
        one_sided: whether it cannot pull.
        friction, hold: sliding and static coefficients.
        slip: unit direction of the present slip in its tangents; None if it does not slip.
        drive: a prescribed normal multiplier (the impulse of an impact); None if it follows from the rest.
    """

    index: int
    normal: int | None
    tangents: list[int] = field(default_factory=list)
    one_sided: bool = True
    friction: float = 0.0
    hold: float = 0.0
    slip: tuple[float, ...] | None = None
    drive: float | None = None

    @property
    def rows(self) -> list[int]:
        """All its rows, the normal's first."""
        return self.tangents if self.normal is None else [self.normal, *self.tangents]

    def options(self) -> list[ModeOption]:
        """Everything it could do."""
        if self.normal is None:
            return [ModeOption(LOCKED)]
        free = [ModeOption(FREE)] if self.one_sided and self.drive is None else []
        if not self.tangents or (self.friction == 0.0 and self.hold == 0.0):
            return [ModeOption(SLIDING), *free]
        sides = (1.0,) if self.one_sided or self.drive is not None else (1.0, -1.0)
        if self.slip is not None:
            return [*(ModeOption(SLIDING, self.slip, side) for side in sides), *free]
        slips: list[tuple[tuple[float, ...] | None, bool]]
        slips = [((1.0,), False), ((-1.0,), False)] if len(self.tangents) == 1 else [(None, True)]
        moving = [ModeOption(SLIDING, slip, side, seek) for slip, seek in slips for side in sides]
        return [ModeOption(STICKING), *moving, *free]

    def push(self, option: ModeOption, size: int) -> Array:
        """The rows' multipliers for a unit of a contact's normal multiplier: n − μ d where it slides along d."""
        push = np.zeros(size)
        push[self.normal] = 1.0
        if option.mode == SLIDING and option.slip is not None:
            push[self.tangents] = -self.friction * option.side * np.array(option.slip)
        return push

    def cone(self, size: int) -> list[Array]:
        """Edges of what it can carry at rest: its friction cone, as a pyramid inside it; of a pin all directions."""
        unit, both = np.eye(size), (1.0, -1.0)
        if self.normal is None:
            return [sign * unit[row] for row in self.tangents for sign in both]
        count = (1, 2, _DIRECTIONS)[len(self.tangents)]
        angles = 2 * math.pi * np.arange(count) / count
        directions = np.column_stack([np.cos(angles), np.sin(angles)])[:, : len(self.tangents)]
        grips = self.hold * directions @ unit[self.tangents]
        return [side * unit[self.normal] + grip for side in (both[:1] if self.one_sided else both) for grip in grips]

    def slip_against(self, z: Array) -> ModeOption:
        """Sliding against the friction that multipliers z have where it sticks; with two tangents a first guess."""
        grip = z[self.tangents]
        size = max(float(np.linalg.norm(grip)), 1e-300)
        return ModeOption(SLIDING, tuple(-grip / size), math.copysign(1.0, z[self.normal]), len(grip) > 1)


@dataclass(frozen=True)
class Solution:
    """A consistent answer: each contact's option, multipliers and rates of all rows, how many rows were dependent.

    `wedged` says that all rest, held by multipliers that are one choice of many, and not the shortest.
    """

    options: tuple[ModeOption, ...]
    z: Array
    rates: Array
    deficiency: int = 0
    wedged: bool = False


@dataclass
class ContactProblem:
    """rates = b + G z over the contacts' rows, the contacts, and what they can do.

    Attributes:
        G, b: R M⁻¹ Rᵀ, and the rates without contact forces.
        candidates: the contacts.
        scale: typical mobility, 1/kg.
    """

    G: Array
    b: Array
    candidates: list[Candidate]
    scale: float

    def __post_init__(self) -> None:
        self.rate_size = 1.0 + float(np.abs(self.b).max(initial=0.0))
        self.force_size = self.rate_size / self.scale

    def solve(self, preferred: Mapping[int, int] = MappingProxyType({})) -> list[Solution]:
        """The answer, or every answer where there may be several or none.

        An answer is sought by mending what is violated, from sticking contacts or the `preferred` modes on. Only where
        some contact's own coefficient n·M⁻¹(n − μ d) may be negative, or mending fails, is every combination tried.
        """
        if not any(self.is_risky(c) for c in self.candidates):
            solution = self._by_mending(preferred)
            if solution is not None:
                return [self._wedged(solution, preferred) or solution]
        return self.solutions()

    def _wedged(self, solution: Solution, preferred: Mapping[int, int]) -> Solution | None:
        """The answer in which all contacts stick, where one says that contacts slide although nothing moves.

        A body wedged between contacts is held in many ways: the shortest multipliers may leave a friction cone while
        others do not. They are sought as sums of the cones' edges, z = Σ s_k e_k with s_k ≥ 0 and G z = −b.
        """
        if any(preferred.get(c.index) == FREE or c.slip is not None or c.drive is not None for c in self.candidates):
            return None
        labelled = any(o.mode == SLIDING and c.hold > 0.0 for c, o in zip(self.candidates, solution.options))
        if not labelled or np.abs(solution.rates).max(initial=0.0) > _TOLERANCE * self.rate_size:
            return None
        options = tuple(c.options()[0] for c in self.candidates)
        held, _, _ = self.stack(options)
        rank = int((np.linalg.svd(self.G[np.ix_(held, held)], compute_uv=False) > RANK_CUT * self.scale).sum())
        if rank == len(held):
            return None
        edges = np.array([edge for c in self.candidates for edge in c.cone(len(self.b))]).T
        from scipy.optimize import nnls

        shares, miss = nnls(self.G @ edges / self.scale, -self.b / self.scale)
        if miss > _TOLERANCE * self.force_size:
            return None
        z = edges @ shares
        return Solution(options, z, self.b + self.G @ z, len(held) - rank, wedged=True)

    def solutions(self) -> list[Solution]:
        """Every consistent answer; those that differ only in labels are all listed."""
        choices = [candidate.options() for candidate in self.candidates]
        count = math.prod(len(choice) for choice in choices)
        if count > MOST_COMBINATIONS:
            raise NoSolution(
                f"no mode was found for {len(choices)} contacts at once, and they are too many to try all"
                f" {count} of them",
                hint="fewer contact points, or no friction on those that do not need it",
            )
        tried = (self._consistent(options) for options in itertools.product(*choices))
        return [solution for group in tried for solution in group]

    def is_risky(self, c: Candidate) -> bool:
        """Whether sliding friction could turn the contact's own coefficient negative."""
        if c.normal is None or not c.tangents or c.friction == 0.0 or c.drive is not None:
            return False
        if c.slip is not None:
            return self.coefficient(c) <= 1e-9 * self.scale
        pull = float(np.linalg.norm(self.G[c.normal, c.tangents]))
        return self.G[c.normal, c.normal] - c.friction * pull <= 1e-9 * self.scale

    def distinct(self, answers: Sequence[Solution]) -> list[Solution]:
        """One of each set of answers with the same rates."""
        kept: list[Solution] = []
        for one in answers:
            if not any(np.abs(one.rates - other.rates).max(initial=0.0) < 1e-7 * self.rate_size for other in kept):
                kept.append(one)
        return kept

    def attempt(self, options: Sequence[ModeOption]) -> Solution | None:
        """The multipliers and rates of given options, tested or not: None only where they contradict each other."""
        rows, columns, z = self.stack(options)
        S, wanted = self.G[rows] @ columns, -(self.b[rows] + self.G[rows] @ z)
        values, deficiency = _solve(S, wanted, self.scale)
        if np.abs(S @ values - wanted).max(initial=0.0) > _TOLERANCE * self.rate_size:
            return None
        z = z + columns @ values
        return Solution(tuple(options), z, self.b + self.G @ z, deficiency)

    def coefficient(self, candidate: Candidate, slip: tuple[float, ...] | None = None) -> float:
        """∂(normal rate)/∂(normal force) of a sliding contact: n·M⁻¹(n − μ d), 1/kg; Painlevé where not positive."""
        assert candidate.normal is not None
        slip = slip if slip is not None else candidate.slip
        value = self.G[candidate.normal, candidate.normal]
        for row, share in zip(candidate.tangents, slip or ()):
            value -= candidate.friction * share * self.G[candidate.normal, row]
        return float(value)

    def stack(self, options: Sequence[ModeOption]) -> tuple[list[int], Array, Array]:
        """Held rows, the columns of their unknown multipliers, and the multipliers prescribed by drives."""
        rows: list[int] = []
        columns: list[Array] = []
        z = np.zeros(len(self.b))
        for candidate, option in zip(self.candidates, options):
            if option.mode == FREE:
                continue
            if candidate.normal is not None and candidate.drive is not None:
                z += candidate.drive * candidate.push(option, len(z))
            elif candidate.normal is not None:
                rows.append(candidate.normal)
                columns.append(candidate.push(option, len(z)))
            if option.mode in (STICKING, LOCKED):
                rows += candidate.tangents
                columns += list(np.eye(len(z))[candidate.tangents])
        return rows, np.array(columns).reshape(len(columns), len(z)).T, z

    def _violation(self, c: Candidate, o: ModeOption, s: Solution) -> ModeOption | None:
        """The option to try instead, or None where this one is consistent."""
        if c.normal is None:
            return None
        rate_slack, force_slack = _TOLERANCE * self.rate_size, _TOLERANCE * self.force_size
        force_slack = max(force_slack, _TOLERANCE * float(np.abs(s.z).max(initial=0.0)))
        press = s.z[c.normal]
        if o.mode == FREE:
            sticky = bool(c.tangents) and c.hold > 0.0 and c.slip is None
            return ModeOption(STICKING if sticky else SLIDING, c.slip) if s.rates[c.normal] < -rate_slack else None
        if c.one_sided and c.drive is None and press < -force_slack:
            return ModeOption(FREE)
        if o.mode == SLIDING and o.slip is not None:
            if not c.one_sided and c.drive is None and press * o.side < -force_slack:
                return o._replace(side=-o.side)
            if c.slip is None and np.dot(o.slip, s.rates[c.tangents]) < -rate_slack:
                return ModeOption(STICKING, side=o.side)
        slips = o.mode == STICKING and np.linalg.norm(s.z[c.tangents]) > c.hold * abs(press) + force_slack
        return c.slip_against(s.z) if slips else None

    def _consistent(self, options: Sequence[ModeOption]) -> Iterator[Solution]:
        """The consistent answers of a combination; slips of unknown direction are sought first."""
        for choice in self._directions(list(options)):
            solution = self.attempt(choice)
            if solution is None:
                continue
            pairs = zip(self.candidates, choice)
            if all(self._violation(c, o, solution) is None for c, o in pairs):  # none pulls, penetrates, breaks Coulomb
                yield solution

    def _directions(self, options: list[ModeOption]) -> list[list[ModeOption]]:
        """Combinations in which every sought slip speeds up exactly along its own direction."""
        sought = _Seeking(self, options)
        if not sought.numbers:
            return [options]
        if len(sought.numbers) == 1:
            return [sought.filled([angle]) for angle in _zeros(lambda a: float(sought.across([a])[0]))]
        sticking = self.attempt([ModeOption(STICKING, side=o.side) if o.seek else o for o in options])
        grips = [] if sticking is None else [sticking.z[self.candidates[n].tangents] for n in sought.numbers]
        combination = sought.from_guess([math.atan2(-g[1], -g[0]) for g in grips]) if grips else None
        return [] if combination is None else [combination]

    def _by_mending(self, preferred: Mapping[int, int]) -> Solution | None:
        """One answer by changing whatever is violated; None where that goes round in circles."""
        options: list[ModeOption] | None = self._first_guess(preferred)
        seen: set[tuple[ModeOption, ...]] = set()
        while options is not None and tuple(options) not in seen:
            seen.add(tuple(options))
            solution = self.attempt(options)
            if solution is None:
                return None
            pairs = enumerate(zip(self.candidates, options))
            wrong = {n: better for n, (c, o) in pairs if (better := self._violation(c, o, solution)) is not None}
            if not wrong:
                return solution
            options = [wrong.get(n, o) for n, o in enumerate(options)]
            options = self._with_directions(options)
            if len(seen) > 30 + 10 * len(options or ()):
                return None
        return None

    def _first_guess(self, preferred: Mapping[int, int]) -> list[ModeOption]:
        """Every contact held as far as it can be, but as the wishes say."""
        options = [c.options()[0] for c in self.candidates]
        sticking = self.attempt(options)
        for n, c in enumerate(self.candidates):
            if c.normal is None or c.drive is not None:
                continue
            if preferred.get(c.index) == FREE and c.one_sided:
                options[n] = ModeOption(FREE)
            elif preferred.get(c.index) == SLIDING and options[n].mode == STICKING and sticking is not None:
                options[n] = c.slip_against(sticking.z)
        return self._with_directions(options) or [c.options()[0] for c in self.candidates]

    def _with_directions(self, options: list[ModeOption]) -> list[ModeOption] | None:
        """Options whose slips that begin now point to where they speed up; a guess of their direction is given."""
        guesses = [o.slip for o in options if o.seek]
        angles = [math.atan2(slip[1], slip[0]) for slip in guesses if slip is not None]
        if not guesses:
            return options
        return _Seeking(self, options).from_guess(angles) if len(angles) == len(guesses) else None


@dataclass
class _Seeking:
    """Slips whose directions are unknown: angles in their tangents."""

    problem: ContactProblem
    options: list[ModeOption]

    @cached_property
    def numbers(self) -> list[int]:
        """Which contacts' slips they are."""
        return [n for n, o in enumerate(self.options) if o.seek]

    def filled(self, angles: Sequence[float]) -> list[ModeOption]:
        """The options with these directions."""
        out = list(self.options)
        for number, angle in zip(self.numbers, angles):
            out[number] = out[number]._replace(slip=(math.cos(angle), math.sin(angle)), seek=False)
        return out

    def across(self, angles: Sequence[float]) -> Array:
        """How far each slip's acceleration points off its direction."""
        solution = self.problem.attempt(self.filled(angles))
        if solution is None:
            return np.full(len(self.numbers), 1e3)
        rates = [solution.rates[self.problem.candidates[n].tangents] for n in self.numbers]
        return np.array([r[1] * math.cos(a) - r[0] * math.sin(a) for r, a in zip(rates, angles)])

    def from_guess(self, start: Sequence[float]) -> list[ModeOption] | None:
        """The directions found from a guess, by Newton's method."""
        from scipy.optimize import root

        answer = root(self.across, start, tol=1e-13)
        good = np.abs(self.across(answer.x)).max() < 1e-2 * _TOLERANCE * self.problem.rate_size
        return self.filled(list(answer.x)) if good else None


def _solve(S: Array, wanted: Array, scale: float) -> tuple[Array, int]:
    """S⁻¹ wanted, or the shortest multipliers where rows depend on each other."""
    U, sizes, Vt = np.linalg.svd(S)
    kept = sizes > RANK_CUT * scale
    values = Vt[kept].T @ ((U.T[kept] @ wanted) / sizes[kept])
    return values, int((~kept).sum())


def _zeros(function: Callable[[float], float]) -> Iterator[float]:
    """Where a function of an angle is zero, around the circle."""
    from scipy.optimize import brentq

    angles = np.linspace(-math.pi, math.pi, _DIRECTIONS + 1) + 1e-3
    values = [function(a) for a in angles]
    for a, b, fa, fb in zip(angles, angles[1:], values, values[1:]):
        if fa == 0.0:
            yield float(a)
        elif fa * fb < 0.0:
            yield float(np.asarray(brentq(function, a, b, xtol=1e-15)))

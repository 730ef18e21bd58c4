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


@dataclass
class ContactProblem:
    """rates = b + G z over the contacts' rows, and the contacts."""

    G: Array
    b: Array
    candidates: list[Candidate]
    scale: float  # typical mobility, 1/kg

    def __post_init__(self) -> None:
        self.rate_size = 1.0 + float(np.abs(self.b).max(initial=0.0))
        self.force_size = self.rate_size / self.scale


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


def solve(problem: ContactProblem, wishes: Mapping[int, int] = MappingProxyType({})) -> list[Solution]:
    """The answer, or every answer where there may be several or none.

    An answer is sought by mending what is violated, from sticking contacts or the modes of `wishes` on. Only where
    some contact's own coefficient n·M⁻¹(n − μ d) may be negative, or mending fails, is every combination tried.
    """
    if not any(is_risky(problem, c) for c in problem.candidates):
        solution = _mended(problem, wishes)
        if solution is not None:
            return [_at_rest(problem, solution, wishes) or solution]
    return solutions(problem)


def _at_rest(problem: ContactProblem, solution: Solution, wishes: Mapping[int, int]) -> Solution | None:
    """The answer in which all contacts stick, where one says that contacts slide although nothing moves.

    A body wedged between contacts is held in many ways: the shortest multipliers may leave a friction cone while
    others do not. They are sought as sums of the cones' edges, z = Σ s_k e_k with s_k ≥ 0 and G z = −b.
    """
    if any(wishes.get(c.index) == FREE or c.slip is not None or c.drive is not None for c in problem.candidates):
        return None
    labelled = any(o.mode == SLIDING and c.hold > 0.0 for c, o in zip(problem.candidates, solution.options))
    if not labelled or np.abs(solution.rates).max(initial=0.0) > _TOLERANCE * problem.rate_size:
        return None
    options = tuple(c.options()[0] for c in problem.candidates)
    held, _, _ = stack(problem, options)
    rank = int((np.linalg.svd(problem.G[np.ix_(held, held)], compute_uv=False) > RANK_CUT * problem.scale).sum())
    if rank == len(held):
        return None
    edges = np.array([edge for c in problem.candidates for edge in _cone(c, len(problem.b))]).T
    from scipy.optimize import nnls

    shares, miss = nnls(problem.G @ edges / problem.scale, -problem.b / problem.scale)
    if miss > _TOLERANCE * problem.force_size:
        return None
    z = edges @ shares
    return Solution(options, z, problem.b + problem.G @ z, len(held) - rank, wedged=True)


def _cone(c: Candidate, size: int) -> list[Array]:
    """Edges of what a contact at rest can carry: its friction cone, as a pyramid inside it; a pin all directions."""
    unit = np.eye(size)
    if c.normal is None:
        return [sign * unit[row] for row in c.tangents for sign in (1.0, -1.0)]
    angles = np.arange(2) * math.pi if len(c.tangents) == 1 else 2 * math.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    turns = np.column_stack([np.cos(angles), np.sin(angles)])[:, : len(c.tangents)] if c.tangents else np.zeros((1, 0))
    sides = (1.0,) if c.one_sided else (1.0, -1.0)
    return [side * unit[c.normal] + c.hold * unit[c.tangents].T @ direction for side in sides for direction in turns]


def solutions(problem: ContactProblem) -> list[Solution]:
    """Every consistent answer; those that differ only in labels are all listed."""
    choices = [candidate.options() for candidate in problem.candidates]
    count = math.prod(len(choice) for choice in choices)
    if count > MOST_COMBINATIONS:
        raise NoSolution(
            f"no mode was found for {len(choices)} contacts at once, and they are too many to try all {count} of them",
            hint="fewer contact points, or no friction on those that do not need it",
        )
    tried = (_settled(problem, options) for options in itertools.product(*choices))
    return [solution for group in tried for solution in group]


def is_risky(problem: ContactProblem, c: Candidate) -> bool:
    """Whether sliding friction could turn the contact's own coefficient negative."""
    if c.normal is None or not c.tangents or c.friction == 0.0 or c.drive is not None:
        return False
    if c.slip is not None:
        return coefficient(problem, c) <= 1e-9 * problem.scale
    pull = float(np.linalg.norm(problem.G[c.normal, c.tangents]))
    return problem.G[c.normal, c.normal] - c.friction * pull <= 1e-9 * problem.scale


def distinct(answers: Sequence[Solution], problem: ContactProblem) -> list[Solution]:
    """One of each set of answers with the same rates."""
    kept: list[Solution] = []
    for one in answers:
        if not any(np.abs(one.rates - other.rates).max(initial=0.0) < 1e-7 * problem.rate_size for other in kept):
            kept.append(one)
    return kept


def attempt(problem: ContactProblem, options: Sequence[ModeOption]) -> Solution | None:
    """The multipliers and rates of given options, tested or not: None only where they contradict each other."""
    rows, columns, z = stack(problem, options)
    if rows:
        S, wanted = problem.G[rows] @ columns, -(problem.b[rows] + problem.G[rows] @ z)
        values, deficiency = _solve(S, wanted, problem.scale)
        if np.abs(S @ values - wanted).max() > _TOLERANCE * problem.rate_size:
            return None
        z = z + columns @ values
    else:
        deficiency = 0
    return Solution(tuple(options), z, problem.b + problem.G @ z, deficiency)


def coefficient(problem: ContactProblem, candidate: Candidate, slip: tuple[float, ...] | None = None) -> float:
    """∂(normal rate)/∂(normal force) of a contact that slides: n·M⁻¹(n − μ d), 1/kg; Painlevé where not positive."""
    assert candidate.normal is not None
    slip = slip if slip is not None else candidate.slip
    value = problem.G[candidate.normal, candidate.normal]
    for row, share in zip(candidate.tangents, slip or ()):
        value -= candidate.friction * share * problem.G[candidate.normal, row]
    return float(value)


def stack(problem: ContactProblem, options: Sequence[ModeOption]) -> tuple[list[int], Array, Array]:
    """Held rows, the columns of their unknown multipliers, and the multipliers prescribed by drives."""
    rows: list[int] = []
    columns: list[Array] = []
    z = np.zeros(len(problem.b))
    for candidate, option in zip(problem.candidates, options):
        if option.mode == FREE:
            continue
        if candidate.normal is not None and candidate.drive is not None:
            z += candidate.drive * push_of(candidate, option, len(z))
        elif candidate.normal is not None:
            rows.append(candidate.normal)
            columns.append(push_of(candidate, option, len(z)))
        if option.mode in (STICKING, LOCKED):
            rows += candidate.tangents
            columns += list(np.eye(len(z))[candidate.tangents])
    return rows, np.array(columns).reshape(len(columns), len(z)).T, z


def push_of(candidate: Candidate, option: ModeOption, size: int) -> Array:
    """The rows' multipliers for a unit of a contact's normal multiplier: n − μ d where it slides along d."""
    push = np.zeros(size)
    push[candidate.normal] = 1.0
    if option.mode == SLIDING and option.slip is not None:
        push[candidate.tangents] = -candidate.friction * option.side * np.array(option.slip)
    return push


def _solve(S: Array, wanted: Array, scale: float) -> tuple[Array, int]:
    """S⁻¹ wanted, or the shortest multipliers where rows depend on each other."""
    U, sizes, Vt = np.linalg.svd(S)
    kept = sizes > RANK_CUT * scale
    values = Vt[kept].T @ ((U.T[kept] @ wanted) / sizes[kept])
    return values, int((~kept).sum())


def _violation(problem: ContactProblem, c: Candidate, o: ModeOption, s: Solution) -> ModeOption | None:
    """The option to try instead, or None where this one is consistent."""
    if c.normal is None:
        return None
    rate_slack, force_slack = _TOLERANCE * problem.rate_size, _TOLERANCE * problem.force_size
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
    if o.mode == STICKING:
        grip = s.z[c.tangents]
        size = float(np.linalg.norm(grip))
        if size > c.hold * abs(press) + force_slack:
            return ModeOption(SLIDING, tuple(-grip / size), math.copysign(1.0, press), len(grip) > 1)
    return None


def _settled(problem: ContactProblem, options: Sequence[ModeOption]) -> Iterator[Solution]:
    """The consistent answers of a combination; slips of unknown direction are sought first."""
    seeking = [number for number, option in enumerate(options) if option.seek]
    for choice in _headings(problem, list(options), seeking) if seeking else [options]:
        solution = attempt(problem, choice)
        if solution is None:
            continue
        pairs = zip(problem.candidates, choice)
        if all(_violation(problem, c, o, solution) is None for c, o in pairs):  # none pulls, penetrates, breaks Coulomb
            yield solution


@dataclass
class _Seeking:
    """Slips whose directions are unknown: angles in their tangents."""

    problem: ContactProblem
    options: list[ModeOption]
    numbers: list[int]

    def filled(self, angles: Sequence[float]) -> list[ModeOption]:
        """The options with these directions."""
        out = list(self.options)
        for number, angle in zip(self.numbers, angles):
            out[number] = out[number]._replace(slip=(math.cos(angle), math.sin(angle)), seek=False)
        return out

    def across(self, angles: Sequence[float]) -> Array:
        """How far each slip's acceleration points off its direction."""
        solution = attempt(self.problem, self.filled(angles))
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


def _headings(problem: ContactProblem, options: list[ModeOption], seeking: list[int]) -> Iterator[list[ModeOption]]:
    """Combinations in which every sought slip speeds up exactly along its own direction."""
    sought = _Seeking(problem, options, seeking)
    if len(seeking) == 1:
        yield from (sought.filled([angle]) for angle in _zeros(lambda a: float(sought.across([a])[0])))
        return
    sticking = attempt(problem, [ModeOption(STICKING, side=o.side) if o.seek else o for o in options])
    if sticking is None:
        return
    grips = [sticking.z[problem.candidates[n].tangents] for n in seeking]
    combination = sought.from_guess([math.atan2(-g[1], -g[0]) for g in grips])
    if combination is not None:
        yield combination


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


def _mended(problem: ContactProblem, wishes: Mapping[int, int]) -> Solution | None:
    """One answer by changing whatever is violated; None where that goes round in circles."""
    options: list[ModeOption] | None = _first_guess(problem, wishes)
    seen: set[tuple[ModeOption, ...]] = set()
    while options is not None and tuple(options) not in seen:
        seen.add(tuple(options))
        solution = attempt(problem, options)
        if solution is None:
            return None
        pairs = enumerate(zip(problem.candidates, options))
        wrong = {n: better for n, (c, o) in pairs if (better := _violation(problem, c, o, solution)) is not None}
        if not wrong:
            return solution
        options = [wrong.get(n, o) for n, o in enumerate(options)]
        options = _directed(problem, options)
        if len(seen) > 30 + 10 * len(options or ()):
            return None
    return None


def _first_guess(problem: ContactProblem, wishes: Mapping[int, int]) -> list[ModeOption]:
    """Every contact held as far as it can be, but as the wishes say."""
    options = [c.options()[0] for c in problem.candidates]
    sticking = attempt(problem, options)
    for n, c in enumerate(problem.candidates):
        if c.normal is None or c.drive is not None:
            continue
        if wishes.get(c.index) == FREE and c.one_sided:
            options[n] = ModeOption(FREE)
        elif wishes.get(c.index) == SLIDING and options[n].mode == STICKING and sticking is not None:
            grip = sticking.z[c.tangents]
            size = max(float(np.linalg.norm(grip)), 1e-300)
            press = math.copysign(1.0, sticking.z[c.normal])
            options[n] = ModeOption(SLIDING, tuple(-grip / size), press, len(grip) > 1)
    return _directed(problem, options) or [c.options()[0] for c in problem.candidates]


def _directed(problem: ContactProblem, options: list[ModeOption]) -> list[ModeOption] | None:
    """Options whose slips that begin now point to where they speed up; a guess of their direction is given."""
    seeking = [n for n, o in enumerate(options) if o.seek]
    if not seeking:
        return options
    angles = [math.atan2(o.slip[1], o.slip[0]) for o in (options[n] for n in seeking) if o.slip is not None]
    return _Seeking(problem, options, seeking).from_guess(angles) if len(angles) == len(seeking) else None

"""Which closed contacts separate, slide or stick: every consistent answer of a small linear problem with friction.

In the space of the contacts' rows, rates = b + G z: b the rates without contact forces, G = R M⁻¹ Rᵀ, z the
multipliers. Each contact takes one of a few options (separate, slide, stick); an option fixes which rows are held
and along what its force acts. Every combination is solved and tested:

- separate: z = 0 and the normal rate is not negative;
- slide: normal rate 0, z_t = −μ z_n d, pressing (a two-sided surface may pull), and the slip, where it begins now,
  speeds up along d;
- stick: all rates 0, pressing, |z_t| ≤ μ_s |z_n|.

The dry friction of a joint has one row and no normal: it slides with z = −F d, or sticks with rate 0 and |z| ≤ F. For
given modes of the contacts there is one answer of all joints, which is found by itself (`attempt`); joints are no part
of the combinations.

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
from palpate.errors import NoSolution
from palpate.forking import cached_property
from palpate.tools.contact.modes.linear_algebra import RANK_CUT
from palpate.tools.contact.touch.contacts import FREE, LOCKED, SLIDING, STICKING

MOST_COMBINATIONS = 6000
_TOLERANCE = 1e-9
_DIRECTIONS = 48
_MOST_JOINT_TRIALS, _JOINT_TRIALS_TOGETHER = 60, 12


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
        limit: the largest force F of a joint's dry friction, which has no normal; None for contacts and pins.
    """

    index: int
    normal: int | None
    tangents: list[int] = field(default_factory=list)
    one_sided: bool = True
    friction: float = 0.0
    hold: float = 0.0
    slip: tuple[float, ...] | None = None
    drive: float | None = None
    limit: float | None = None

    @property
    def rows(self) -> list[int]:
        """All its rows, the normal's first."""
        return self.tangents if self.normal is None else [self.normal, *self.tangents]

    def options(self) -> list[ModeOption]:
        """Everything it could do."""
        if self.limit is not None:
            slips = [(1.0,), (-1.0,)] if self.slip is None else [self.slip]
            sticks = [ModeOption(STICKING)] if self.slip is None else []
            return sticks + [ModeOption(SLIDING, slip) for slip in slips]
        if self.normal is None:
            return [ModeOption(LOCKED)]
        free = [ModeOption(FREE)] if self.one_sided and self.drive is None else []
        if not self.tangents or (self.friction == 0.0 and self.hold == 0.0):
            return [ModeOption(SLIDING), *free]
        sides = (1.0,) if self.one_sided or self.drive is not None else (1.0, -1.0)
        if self.slip is not None:
            return [*(ModeOption(SLIDING, self.slip, side) for side in sides), *free]
        begun: list[tuple[tuple[float, ...] | None, bool]]
        begun = [((1.0,), False), ((-1.0,), False)] if len(self.tangents) == 1 else [(None, True)]
        moving = [ModeOption(SLIDING, slip, side, seek) for slip, seek in begun for side in sides]
        return [ModeOption(STICKING), *moving, *free]

    def push(self, option: ModeOption, size: int) -> Array:
        """The rows' multipliers for a unit of a contact's normal multiplier: n − μ d where it slides along d."""
        push = np.zeros(size)
        push[self.normal] = 1.0
        if option.mode == SLIDING and option.slip is not None:
            push[self.tangents] = -self.friction * option.side * np.array(option.slip)
        return push

    def bounds(self, size: int, side: float) -> tuple[Array, Array]:
        """A, b with A z ≤ b for what it can carry at rest: its friction cone on a side, as a pyramid inside it."""
        unit = np.eye(size)
        if self.limit is not None:
            row = unit[self.tangents]
            return np.vstack([row, -row]), np.full(2, self.limit)
        if self.normal is None:
            return unit[:0], np.zeros(0)
        count = (1, 2, _DIRECTIONS)[len(self.tangents)]
        angles = 2 * math.pi * np.arange(count) / count
        directions = np.column_stack([np.cos(angles), np.sin(angles)])[:, : len(self.tangents)]
        inside = math.cos(math.pi / count) if len(self.tangents) == 2 else 1.0
        A = directions @ unit[self.tangents] - side * inside * self.hold * unit[self.normal]
        return np.vstack([A, -side * unit[self.normal]]), np.zeros(count + 1)

    def slip_against(self, z: Array) -> ModeOption:
        """Sliding against the friction that multipliers z have where it sticks; with two tangents a first guess."""
        grip = z[self.tangents]
        size = max(float(np.linalg.norm(grip)), 1e-300)
        # A one-sided surface only pushes, whatever the sign of a multiplier that is still being sought.
        side = 1.0 if self.one_sided or self.normal is None else math.copysign(1.0, z[self.normal])
        return ModeOption(SLIDING, tuple(-grip / size), side, len(grip) > 1)


@dataclass(frozen=True)
class Solution:
    """A consistent answer: each contact's option, multipliers and rates of all rows, how many rows were dependent.

    `wedged` says that all rest, held by multipliers that are one choice of many. `contradicts` marks no answer but a
    trial whose held rows cannot all be held.
    """

    options: tuple[ModeOption, ...]
    z: Array
    rates: Array
    deficiency: int = 0
    wedged: bool = False
    contradicts: bool = False


@dataclass
class ContactProblem:
    """rates = b + G z over the contacts' rows, the contacts, and what they can do.

    Attributes:
        G, b: R M⁻¹ Rᵀ, and the rates without contact forces.
        candidates: the contacts, and the joints with dry friction.
        scale: typical mobility, 1/kg.
        anchor: multipliers before; where rows depend on each other, those nearest to them are taken.
    """

    G: Array
    b: Array
    candidates: list[Candidate]
    scale: float
    anchor: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if len(self.anchor) != len(self.b):
            self.anchor = np.zeros(len(self.b))
        self.joints = [n for n, c in enumerate(self.candidates) if c.limit is not None]
        self.rate_size = 1.0 + float(np.abs(self.b).max(initial=0.0))
        self.force_size = self.rate_size / self.scale

    def solve(self, preferred: Mapping[int, int] = MappingProxyType({})) -> list[Solution]:
        """The answer, or every answer where there may be several or none.

        An answer is sought by mending what is violated, from sticking contacts or the `preferred` modes on. Only where
        some contact's own coefficient n·M⁻¹(n − μ d) may be negative, or mending fails, is every combination tried.
        Where nothing moves and some forces inside all cones keep it so, that answer comes first (`_wedged`).
        """
        risky = any(self.is_risky(c) for c in self.candidates)
        mended = None if risky else self._by_mending(preferred)
        found = self.solutions() if risky else [mended] if mended else []
        if not any(self.rests(s) and not self._slides_by_name(s) for s in found):
            wedged = self._wedged(preferred)
            if wedged is not None:
                return [wedged, *(s for s in found if not self.rests(s))]
        return found if found or risky else self.solutions()

    def rests(self, solution: Solution) -> bool:
        """Whether nothing moves, now or from now on."""
        still = all(c.slip is None for c in self.candidates)
        return still and bool(np.abs(solution.rates).max(initial=0.0) <= _TOLERANCE * self.rate_size)

    def _slides_by_name(self, solution: Solution) -> bool:
        """Whether an answer says that contacts or joints slide, be it without motion."""
        pairs = zip(self.candidates, solution.options)
        return any(o.mode == SLIDING and (c.hold > 0.0 or c.limit is not None) for c, o in pairs)

    def _wedged(self, preferred: Mapping[int, int]) -> Solution | None:
        """The answer in which everything sticks, where dependent rows are held in many ways; None if there is none.

        A body wedged between contacts, or an arm at a wall whose joints stick, is held in many ways: the multipliers
        nearest to the anchor may leave a friction cone while others do not. With z = z₀ + N y, G z₀ = −b, G N = 0:
        the y that minimises |z − anchor|² within all cones.
        """
        if any(preferred.get(c.index) == FREE or c.slip is not None or c.drive is not None for c in self.candidates):
            return None
        options = tuple(c.options()[0] for c in self.candidates)
        held, _, _ = self.stack(options)
        U, sizes, Vt = np.linalg.svd(self.G[:, held])
        kept = sizes > RANK_CUT * self.scale
        rank = int(kept.sum())
        if rank == len(held):
            return None
        unit = np.eye(len(self.b))[held]
        N, z0 = Vt[rank:] @ unit, -(U.T[:rank] @ self.b / sizes[:rank]) @ Vt[:rank] @ unit
        if np.abs(self.b + self.G @ z0).max(initial=0.0) > _TOLERANCE * self.rate_size:
            return None
        sides = [1.0 if c.one_sided or c.normal is None else math.copysign(1.0, z0[c.normal]) for c in self.candidates]
        bounds = [c.bounds(len(self.b), side) for c, side in zip(self.candidates, sides)]
        A, upper = np.vstack([A for A, _ in bounds]), np.concatenate([b for _, b in bounds])
        y = _nearest_point(N @ (self.anchor - z0), A @ N.T, upper - A @ z0)
        if y is None:
            return None
        z = z0 + y @ N
        return Solution(options, z, self.b + self.G @ z, len(held) - rank, wedged=True)

    def solutions(self) -> list[Solution]:
        """Every consistent answer; those that differ only in labels are all listed."""
        choices = [c.options() if c.limit is None else c.options()[:1] for c in self.candidates]
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
        """The multipliers and rates of given options, tested or not: None only where they contradict each other.

        Joints with dry friction begin with their options and change them until each sticks or slides as it must. Their
        problem has one answer for given modes of the contacts: after some rounds only the first wrong joint is changed,
        which ends (Murty).
        """
        options = list(options)
        solution = self._attempt(options)
        for trial in range(_MOST_JOINT_TRIALS):
            pairs = [(n, self._violation(self.candidates[n], options[n], solution)) for n in self.joints]
            wrong = {n: better for n, better in pairs if better is not None}
            if not wrong:
                return None if solution.contradicts else solution
            for n in sorted(wrong)[: None if trial < _JOINT_TRIALS_TOGETHER else 1]:
                options[n] = wrong[n]
            solution = self._attempt(options)
        return None if solution.contradicts else solution

    def _attempt(self, options: Sequence[ModeOption]) -> Solution:
        """The same with every joint as its option says; `contradicts` where the held rows do not go together."""
        rows, columns, z = self.stack(options)
        S, wanted = self.G[rows] @ columns, -(self.b[rows] + self.G[rows] @ z)
        values, deficiency, contradicts = _solve(S, wanted, self.scale, self.anchor[rows])
        contradicts = contradicts or np.abs(S @ values - wanted).max(initial=0.0) > _TOLERANCE * self.rate_size
        z = z + columns @ values
        return Solution(tuple(options), z, self.b + self.G @ z, deficiency, contradicts=bool(contradicts))

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
            if candidate.limit is not None and option.slip is not None:
                z[candidate.tangents] -= candidate.limit * np.array(option.slip)
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
        if c.normal is None and c.limit is None:
            return None
        rate_slack, force_slack = _TOLERANCE * self.rate_size, _TOLERANCE * self.force_size
        force_slack = max(force_slack, _TOLERANCE * float(np.abs(s.z).max(initial=0.0)))
        if c.normal is None:
            return self._joint_violation(c, o, s, rate_slack, force_slack)
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
            if c.slip is None and _across(o.slip, s.rates[c.tangents]) > rate_slack:
                return o._replace(seek=True)  # found while other contacts were in other modes
        slips = o.mode == STICKING and np.linalg.norm(s.z[c.tangents]) > c.hold * abs(press) + force_slack
        return c.slip_against(s.z) if slips else None

    def _joint_violation(
        self, c: Candidate, o: ModeOption, s: Solution, rate_slack: float, force_slack: float
    ) -> ModeOption | None:
        """The same of a joint with dry friction."""
        assert c.limit is not None
        if o.mode == STICKING:
            return c.slip_against(s.z) if abs(s.z[c.tangents[0]]) > c.limit + force_slack else None
        turns_back = c.slip is None and np.dot(o.slip or (), s.rates[c.tangents]) < -rate_slack
        return ModeOption(STICKING) if turns_back else None

    def _consistent(self, options: Sequence[ModeOption]) -> Iterator[Solution]:
        """The consistent answers of a combination; slips of unknown direction are sought first."""
        for choice in self._directions(list(options)):
            solution = self.attempt(choice)
            if solution is None:
                continue
            pairs = zip(self.candidates, solution.options)
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
            options = list(solution.options)  # joints as they have settled
            pairs = enumerate(zip(self.candidates, options))
            wrong = {n: better for n, (c, o) in pairs if (better := self._violation(c, o, solution)) is not None}
            if not wrong:
                return solution
            pairs = ((c, wrong.get(n, options[n])) for n, c in enumerate(self.candidates))
            options = self._with_directions([o._replace(seek=_begins_anywhere(c, o)) for c, o in pairs])
            if len(seen) > 30 + 10 * len(options or ()):
                return None
        return None

    def _first_guess(self, preferred: Mapping[int, int]) -> list[ModeOption]:
        """Every contact held as far as it can be, but as the wishes say."""
        options = [c.options()[0] for c in self.candidates]
        sticking = self.attempt(options)
        for n, c in enumerate(self.candidates):
            if (c.normal is None and c.limit is None) or c.drive is not None:
                continue
            if preferred.get(c.index) == FREE and c.one_sided and c.limit is None:
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
        """The directions found from a guess, or from those of slips without friction, by Newton's method."""
        from scipy.optimize import root

        for guess in (start, self._without_friction()):
            answer = root(self.across, guess, tol=1e-13)
            if np.abs(self.across(answer.x)).max() < 1e-2 * _TOLERANCE * self.problem.rate_size:
                return self.filled(list(answer.x))
        return None

    def _without_friction(self) -> list[float]:
        """Angles in which the contacts would begin to slip if they had no friction."""
        smooth = self.problem.attempt([ModeOption(SLIDING) if o.seek else o for o in self.options])
        if smooth is None:
            return [0.0] * len(self.numbers)
        rates = [smooth.rates[self.problem.candidates[n].tangents] for n in self.numbers]
        return [math.atan2(r[1], r[0]) for r in rates]


def _begins_anywhere(c: Candidate, o: ModeOption) -> bool:
    """Whether a slip begins now in a direction of two dimensions, which depends on the modes of all others."""
    return o.mode == SLIDING and c.slip is None and o.slip is not None and len(o.slip) == 2


def _across(slip: tuple[float, ...], rates: Array) -> float:
    """How far rates point off a slip in two directions."""
    return abs(slip[0] * rates[1] - slip[1] * rates[0]) if len(slip) == 2 else 0.0


def _solve(S: Array, wanted: Array, scale: float, anchor: Array) -> tuple[Array, int, bool]:
    """S⁻¹ wanted, how many rows depend on others, and whether rows contradict each other.

    Of dependent rows' multipliers those nearest to the anchor are taken. Where rows contradict each other, the
    multipliers grow as those of a very stiff hold would: they show which rows fight.
    """
    U, sizes, Vt = np.linalg.svd(S)
    kept = sizes > RANK_CUT * scale
    if kept.all():
        return Vt.T @ ((U.T @ wanted) / sizes), 0, False
    shares = U.T @ (wanted - S @ anchor)
    values = anchor + Vt[kept].T @ (shares[kept] / sizes[kept])
    contradicts = bool(np.abs(shares[~kept]).max() > _TOLERANCE * (1.0 + np.abs(wanted).max()))
    if contradicts:
        values = values + Vt[~kept].T @ (shares[~kept] / (RANK_CUT * scale))
    return values, int((~kept).sum()), contradicts


def _nearest_point(target: Array, A: Array, upper: Array) -> Array | None:
    """The y nearest to a target with A y ≤ upper; None if there is none."""
    import daqp

    n, size = len(target), max(1.0, float(np.abs(upper).max(initial=0.0)), float(np.abs(target).max(initial=0.0)))
    low, sense = np.full(len(upper), -1e30), np.zeros(len(upper), dtype=np.int32)
    tight = {"primal_tol": 1e-11, "dual_tol": 1e-11}
    y, _, flag, _ = daqp.solve(np.eye(n), -target / size, np.ascontiguousarray(A), upper / size, low, sense, **tight)
    y = np.asarray(y) * size
    return y if flag >= 1 and (A @ y - upper).max(initial=0.0) <= _TOLERANCE * size else None


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

"""Impacts: velocities after a collision with friction, by Poisson's, Stronge's or Newton's restitution."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.contact.modes.complementarity import Candidate, ContactProblem, ModeOption, Solution
from palpate.contact.modes.dynamics import GAP, SPEED, refuse_overlap
from palpate.contact.modes.model import ContactModel, ContactRows, Snapshot
from palpate.contact.touch.contacts import FREE, LAWS, SLIDING, STICKING, Contact, Law, Pin, Touch
from palpate.contact.touch.records import PIN
from palpate.errors import EnergyCreated, InvalidInput, NoSolution, check_names
from palpate.robot.robot import Robot

_STILL = 1e-11  # m/s, of the largest row velocity: slower counts as none
_STOPPING = 1e-8  # of the same: from here a slip that turns stops on a straight line
SINGULAR = 1e-6  # of the contacts' mobility: a smaller coefficient of a contact in Painlevé's zone counts as 0
HELD_GAP = 1e-8  # m: closer than this a contact that is held touches
_MOST_PIECES = 1000
_MOST_ROUNDS = 30


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

    problem: ContactProblem
    options: tuple[ModeOption, ...]
    z: Array
    rates: Array

    @property
    def turns(self) -> bool:
        """Whether a slip in two directions may turn, so that the rates are not constant."""
        return any(o.mode == SLIDING and o.slip is not None and len(o.slip) == 2 for o in self.options)


@dataclass
class ImpulsePath:
    """How far an impact has come: velocities followed through the growing impulse (Routh's method).

    A collision takes no time but a path: while the normal impulse grows, the slip slows, stops, sticks or reverses, and
    contacts that only rested lift off or are pressed. Along the path u(P) = u⁻ + G z(P), in the space of the contacts'
    rows; between changes the rates du/dP are constant where slip has one direction, and a smooth flow where it has two.

    - One colliding contact: its normal impulse is the clock. Compression ends where its normal velocity is 0.
    - Several: they are brought to rest together, every normal velocity falling in proportion; without friction this is
      u⁺ = −e u⁻ for all at once.
    - Contacts at rest answer at once: they stay, or lift off, so that they neither pull nor penetrate.

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
        self._run_clock({}, {k: float(self.u[self._normal(k)]) for k in colliding})
        for k in colliding:
            n = self._normal(k)
            if abs(self.u[n]) < 1e3 * self.still:
                self.u[n] = 0.0

    def release_impulse(self, drives: dict[int, float]) -> None:
        """Poisson: give back a share of each impulse of compression."""
        self._run_clock(drives, {})

    def release_work(self, drives: dict[int, float], target: float) -> None:
        """Stronge: until the normal impulses have given back the work `target`."""
        rows = [self._normal(k) for k in drives]
        wanted = float(self.work[rows].sum()) + target
        for _ in range(_MOST_PIECES):
            if wanted - float(self.work[rows].sum()) <= 1e-12 * target:
                return
            self._run(self._piece(drives, {}), Goal(work_rows=rows, work=wanted))
        raise NoSolution("an impact's release does not end")

    def _run_clock(self, drives: dict[int, float], offsets: dict[int, float]) -> None:
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

    def _piece(self, drives: dict[int, float], offsets: dict[int, float]) -> Piece:
        """The modes, multipliers and velocity rates that hold from here on."""
        b = np.zeros(len(self.u))
        for k, closing in offsets.items():
            b[self._normal(k)] = closing
        problem = ContactProblem(self.G, b, self._candidates(drives, offsets), self.scale)
        solutions = problem.solve()
        if not solutions:
            raise NoSolution("no consistent mode inside an impact", hint="less friction at the contacts that rest")
        best = min(solutions, key=lambda s: (float(np.abs(s.z).sum()), s.deficiency))
        self._record_phases(problem, best)
        return Piece(problem, best.options, best.z, best.rates - problem.b)

    def _record_phases(self, problem: ContactProblem, best: Solution) -> None:
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
        self.follow(piece.z, piece.rates, step)
        self.u[zero] = 0.0
        return step

    def follow(self, z: Array, rates: Array, step: float) -> None:
        """Go a length of the clock with constant impulse and velocity rates."""
        self.work = self.work + z * (self.u * step + 0.5 * rates * step**2)
        self.u, self.Z = self.u + rates * step, self.Z + z * step

    def _next_change(self, piece: Piece, goal: Goal) -> tuple[float, list[int]]:
        """How long the rates hold, and which row velocities are 0 then."""
        ends = [(goal.length, -1)] if math.isfinite(goal.length) else []
        if goal.row is not None and piece.rates[goal.row] > 0.0 and self.u[goal.row] < 0.0:
            ends += self._crossing(piece, goal.row)
        if goal.work_rows:
            rows, left = list(goal.work_rows), goal.work - float(self.work[list(goal.work_rows)].sum())
            power, growth = float(piece.z[rows] @ self.u[rows]), float(piece.z[rows] @ piece.rates[rows])
            ends.append((_quadratic_end(power, growth, left), -1))
        for row in self.watched_rows(piece):
            ends += self._crossing(piece, row)
        step = min((step for step, _ in ends), default=math.inf)
        if not math.isfinite(step):
            raise NoSolution("an impact's impulse grows without end")
        return step, [row for s, row in ends if row >= 0 and s <= step * (1 + 1e-12)]

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


def _sign(option: ModeOption) -> str:
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


@dataclass(frozen=True)
class Impact:
    """What a collision does.

    Attributes:
        velocity: v after it.
        impulses: contact × 3, of the surface on the robot, N·s, world axes.
        normal_impulses: one per contact, N·s.
        energy_before, energy_after: kinetic energy, J.
        dissipated: energy the contacts took, J; with surfaces that move it is not the difference of the two.
        phases: (contact, what its slip did), in order, such as ("floor", "slip −"), ("floor", "stick").
        law: of restitution, by contact that collided.
        names: of the contacts.
    """

    velocity: Array
    impulses: Array
    normal_impulses: Array
    energy_before: float
    energy_after: float
    dissipated: float
    phases: tuple[tuple[str, str], ...]
    law: Mapping[str, Law]
    names: tuple[str, ...]


def impact(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Sequence[Touch],
    restitution: float | None = None,
    friction: float | None = None,
    law: Law | None = None,
    *,
    time: float = 0.0,
) -> Impact:
    """Velocities after the collision of every contact that touches and closes.

    M (v⁺ − v⁻) = Σ J_cᵀ P. The impulse is followed as it grows (Routh): slip may slow down, stop, stick or reverse.
    Compression ends where the closing velocity is 0; then Poisson's law gives back e times its impulse, Stronge's e²
    times its work. Newton's law asks for u_n⁺ = −e u_n⁻ with Coulomb's law on the whole impulse; with friction it can
    create energy, and is then refused. Contacts that touch at rest answer without rebound. Several colliding ones
    are brought to rest in proportion. Without friction all laws agree: ΔT = −½ (1 − e²) u_nᵀ Λ u_n.

    Args:
        robot: the robot.
        q, v: its state before; every colliding contact's gap is 0 to 1e-9 m.
        contacts: what it may touch.
        restitution, friction, law: instead of the contacts' own.
        time: when, for surfaces that ride, s.

    Raises:
        InvalidInput: a contact penetrates; e or μ out of range.
        EnergyCreated: Newton's law would raise the kinetic energy.
    """
    touches = [_overridden(touch, restitution, friction, law) for touch in contacts]
    model = ContactModel(robot, touches)
    snap = model.begin_at(q, v, time)
    for i in range(model.count):
        if model.records[i]["kind"] != PIN:
            refuse_overlap(model, i, float(snap.states[i]["gap"]))
    colliding, resting = colliding_and_resting(model, snap)
    return solve_impact(model, snap, colliding, resting)


def colliding_and_resting(
    model: ContactModel, snap: Snapshot, slow: float = SPEED, skip: Collection[int] = (), sinking: Collection[int] = ()
) -> tuple[list[int], list[int]]:
    """Contacts that close faster than `slow`, m/s, and those that touch at rest; `sinking` ones rest in any case.

    A contact that is held touches over a gap of 1e-8 m, one that is free over 1e-9 m.
    """
    colliding, resting = [], []
    for i, (record, kinematics) in enumerate(zip(model.records, snap.states)):
        if record["kind"] == PIN or record["two_sided"]:
            if record["mode"] != FREE:
                resting.append(i)
        elif i not in skip and abs(kinematics["gap"]) <= (GAP if record["mode"] == FREE else HELD_GAP):
            if kinematics["rate"] < -slow:
                colliding.append(i)
            elif kinematics["rate"] <= slow or i in sinking:
                resting.append(i)
    return colliding, resting


def solve_impact(
    model: ContactModel, snap: Snapshot, colliding: Sequence[int], resting: Sequence[int], paradox: bool = False
) -> Impact:
    """The impact of some contacts while others rest; with `paradox` an impact without collision of one contact."""
    closed = [*colliding, *resting]
    rows = snap.rows(closed, np.inf)
    u = snap.row_velocities(closed)
    e = {k: getattr(model.contacts[i], "restitution", 0.0) for k, i in enumerate(colliding)}
    laws: dict[str, Law] = {model.names[i]: getattr(model.contacts[i], "law", "poisson") for i in colliding}
    path = ImpulsePath(rows.G, rows.candidates, rows.scale, u.copy())
    if "newton" in laws.values():
        if set(laws.values()) != {"newton"}:
            raise InvalidInput("Newton's law cannot be mixed with others in one impact", hint="name one law for all")
        _newton_impact(path, u, e)
    elif e:
        _repeat_until_open(path, e, dict(zip(e, laws.values())), paradox)
    return _result(model, snap, rows, path, u, laws)


def _overridden(touch: Touch, restitution: float | None, friction: float | None, law: Law | None) -> Touch:
    check_names("impact law", [] if law is None else [law], LAWS)
    if isinstance(touch, Pin):
        return touch
    if friction is not None and isinstance(touch, Contact):
        touch = replace(touch, friction=friction, static_friction=None)
    e, law = touch.restitution if restitution is None else restitution, law or touch.law
    return replace(touch, restitution=e, law=law)


def _repeat_until_open(path: ImpulsePath, e: dict[int, float], laws: Mapping[int, Law], paradox: bool) -> None:
    """Compression and release; once more without rebound for whatever still closes."""
    for _ in range(_MOST_ROUNDS):
        _compress_and_release(path, e, laws, paradox)
        closing = [k for k, c in enumerate(path.candidates) if c.normal is not None and path.u[c.normal] < -path.still]
        if not closing:
            return
        e, paradox = {k: 0.0 for k in closing}, False
    raise NoSolution(
        "simultaneous impacts do not come to an end", hint="contacts that strike each other's bodies in turn"
    )


def _compress_and_release(path: ImpulsePath, e: dict[int, float], laws: Mapping[int, Law], paradox: bool) -> None:
    before, work = path.Z.copy(), path.work.copy()
    if len(e) == 1:
        path.compress_one(next(iter(e)), paradox)
    else:
        path.compress_together(list(e))
    normals = {k: path._normal(k) for k in e}
    gained = {k: float(path.Z[n] - before[n]) for k, n in normals.items()}
    works = {k: float(work[n] - path.work[n]) for k, n in normals.items()}
    impulses = {k: e[k] * gained[k] for k in e if laws.get(k, "poisson") == "poisson" and e[k] * gained[k] > 0.0}
    if impulses:
        path.release_impulse(impulses)
    stored = {k: e[k] ** 2 * works[k] for k in e if laws.get(k) == "stronge" and e[k] * gained[k] > 0.0}
    if sum(stored.values()) > 0.0:
        path.release_work({k: gained[k] for k in stored}, sum(stored.values()))


def _newton_impact(path: ImpulsePath, u: Array, e: Mapping[int, float]) -> None:
    """u_n⁺ = −e u_n⁻ and Coulomb's law on the whole impulse, as one complementarity problem."""
    b = u.copy()
    for k, value in e.items():
        b[path._normal(k)] *= 1.0 + value
    problem = ContactProblem(path.G, b, path.candidates, path.scale)
    outcomes = problem.distinct(problem.solutions())
    if not outcomes:
        raise NoSolution("Newton's law with friction has no answer here", hint="use Poisson's or Stronge's law")
    best = min(outcomes, key=lambda s: float(np.abs(s.z).sum()))
    path.Z, path.u = best.z, u + path.G @ best.z


def _result(
    model: ContactModel, snap: Snapshot, rows: ContactRows, path: ImpulsePath, u: Array, laws: Mapping[str, Law]
) -> Impact:
    velocity = snap.v + rows.inverse @ path.Z
    # ΔT = ½ (v⁺ + v⁻)·Rᵀ Z; over the surfaces' own motion the same with u, which is what the contacts take.
    dissipated = -0.5 * float(path.Z @ (2.0 * u + rows.G @ path.Z))
    before, after = snap.energy(snap.v), snap.energy(velocity)
    flow = 0.5 * float(np.abs(path.Z) @ np.abs(2.0 * u + rows.G @ path.Z))
    if dissipated < -1e-12 * (before + flow):
        raise EnergyCreated(next(iter(laws.values()), "poisson"), before, before - dissipated)
    impulses, normal = np.zeros((model.count, 3)), np.zeros(model.count)
    for c in rows.candidates:
        impulses[c.index] = path.Z[c.rows] @ snap.directions(c.index)
        normal[c.index] = 0.0 if c.normal is None else path.Z[c.normal]
    phases = tuple((model.names[rows.candidates[k].index], word) for k, word in path.phases)
    return Impact(velocity, impulses, normal, before, after, dissipated, phases, laws, model.names)

"""Impacts: velocities after a collision with friction, by Poisson's, Stronge's or Newton's restitution."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import EnergyCreated, InvalidInput, NoSolution, check_names
from palpate.robot.robot import Robot
from palpate.tools.contact.modes.complementarity import Candidate, ContactProblem, ModeOption, Solution
from palpate.tools.contact.modes.dynamics import GAP, SPEED, refuse_overlap
from palpate.tools.contact.modes.model import ContactModel, ContactRows, Snapshot
from palpate.tools.contact.modes.truth import check_impact, imbalance_of
from palpate.tools.contact.touch.contacts import FREE, LAWS, SLIDING, STICKING, Contact, Law, Pin, Touch
from palpate.tools.contact.touch.records import PIN

_STILL = 1e-11  # m/s, of the largest row velocity: slower counts as none
_STOPPING = 1e-8  # of the same: from here a slip that turns stops on a straight line
SINGULAR = 1e-6  # of the contacts' mobility: a smaller coefficient of a contact in Painlevé's zone counts as 0
HELD_GAP = 1e-8  # m: closer than this a contact that is held touches
_MOST_PIECES = 1000
_MOST_ROUNDS = 30
_MOST_BLOWS = 2000
_STRUCK = 1e-12  # of the largest impulse: a contact that takes less was not struck
Order = Literal["simultaneous", "sequential"]
ORDERS: tuple[Order, ...] = ("simultaneous", "sequential")


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
        alone: the one-sided contact that strikes while the others are taken to be apart; None where all answer.
    """

    G: Array
    candidates: list[Candidate]
    scale: float
    u: Array
    Z: Array = field(init=False)
    work: Array = field(init=False)
    phases: list[tuple[int, str]] = field(default_factory=list)
    alone: int | None = None

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
            if self._is_apart(k):
                continue
            if c.normal is not None and k not in drives and k not in offsets and self.u[c.normal] > self.still:
                continue
            candidates.append(replace(c, index=k, slip=self.slip_of(c), drive=drives.get(k)))
        return candidates

    def _is_apart(self, k: int) -> bool:
        """Whether a contact does not answer the blow of another."""
        return self.alone not in (None, k) and self.candidates[k].normal is not None and self.candidates[k].one_sided

    def closing(self) -> list[int]:
        """Contacts that still close."""
        pairs = enumerate(self.candidates)
        return [k for k, c in pairs if c.normal is not None and c.one_sided and self.u[c.normal] < -self.still]

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
            from palpate.tools.contact.collision.turning_slip import follow

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
        lifted = [k for k in range(len(self.candidates)) if k not in active and not self._is_apart(k)]
        return rows + [self._normal(k) for k in lifted]

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
    """Result of a collision.

    Attributes:
        velocity: v after it.
        impulses: contact × 3, of the surface on the robot, N·s, world axes.
        normal_impulses: one per contact, N·s.
        energy_before, energy_after: kinetic energy, J.
        dissipated: energy the contacts took, J; with surfaces that move it is not the difference of the two.
        phases: (contact, what its slip did), in order, such as ("floor", "slip −"), ("floor", "stick").
        law: of restitution, by contact that collided.
        names: of the contacts.
        order: "simultaneous": contacts that touch at once are struck together; "sequential": one after the other.
        others: velocities after it by the other orders, where they differ; theories of impacts of several contacts at
            once differ, and experiments decide between them. Filled by `impact`, where several contacts touch.
        struck: numbers of the contacts that took an impulse.
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
    order: Order = "simultaneous"
    others: Mapping[str, Array] = field(default_factory=dict)
    struck: frozenset[int] = frozenset()


def join_impacts(first: Impact | None, second: Impact | None) -> Impact | None:
    """Two impacts of one instant as one: impulses and losses add up."""
    if first is None or second is None:
        return first or second
    return replace(
        second, impulses=first.impulses + second.impulses, energy_before=first.energy_before,
        normal_impulses=first.normal_impulses + second.normal_impulses, struck=first.struck | second.struck,
        dissipated=first.dissipated + second.dissipated, phases=first.phases + second.phases,
        law={**first.law, **second.law},
    )  # fmt: skip


def impact(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Sequence[Touch],
    restitution: float | None = None,
    friction: float | None = None,
    law: Law | None = None,
    *,
    order: Order = "simultaneous",
    time: float = 0.0,
) -> Impact:
    """Velocities after the collision of every contact that touches and closes.

    M (v⁺ − v⁻) = Σ J_cᵀ P. The impulse is followed as it grows (Routh): slip may slow down, stop, stick or reverse.
    Compression ends where the closing velocity is 0; then Poisson's law gives back e times its impulse, Stronge's e²
    times its work. Newton's law asks for u_n⁺ = −e u_n⁻ with Coulomb's law on the whole impulse; with friction it can
    create energy, and is then refused. Without friction all laws agree: ΔT = −½ (1 − e²) u_nᵀ Λ u_n. Joint friction
    has no part in it: bounded torques give no impulse in no time.

    Where several contacts touch at once theories differ, and `order` chooses one. "simultaneous": colliding contacts
    are brought to rest in proportion; contacts that touch at rest, or open and are closed by the blow, answer at once
    and without rebound. "sequential": the contact that closes fastest collides as if the others were apart, each with
    its own e, until none closes. Three equal balls in a row, the first with velocity 1 and e = 1, leave with
    (−⅓, ⅔, ⅔) or (0, 0, 1). `Impact.others` holds the velocities of the order that was not taken, where they differ.

    Args:
        robot: the robot.
        q, v: its state before; every colliding contact's gap is 0 to 1e-9 m.
        contacts: what it may touch.
        restitution, friction, law: instead of the contacts' own.
        order: of the blows where several contacts touch at once.
        time: when, for surfaces that ride, s.

    Raises:
        InvalidInput: a contact penetrates; e or μ out of range.
        EnergyCreated: Newton's law would raise the kinetic energy.
        InconsistentContact: the answer breaks a condition (see `truth`).
    """
    check_names("order", [order], ORDERS)
    touches = [_overridden(touch, restitution, friction, law) for touch in contacts]
    model = ContactModel(robot, touches, losses=False)
    snap = model.begin_at(q, v, time)
    for i in range(model.count):
        if model.records[i]["kind"] != PIN:
            refuse_overlap(model, i, float(snap.states[i]["gap"]))
    touching = touching_contacts(model, snap)
    result = solve_impact(model, snap, touching, order)
    return replace(result, others=_other_orders(model, snap, touching, result))


class TouchingContacts(NamedTuple):
    """Contacts that touch: those that close, those at rest (pins and two-sided ones among them), those that open."""

    colliding: list[int]
    resting: list[int]
    opening: list[int]


def touching_contacts(
    model: ContactModel, snap: Snapshot, slow: float = SPEED, skip: Collection[int] = (), sinking: Collection[int] = ()
) -> TouchingContacts:
    """Contacts that close or open faster than `slow`, m/s, and those at rest; `sinking` ones rest in any case.

    A contact that is held touches over a gap of 1e-8 m, one that is free over 1e-9 m.
    """
    touching = TouchingContacts([], [], [])
    for i, (record, kinematics) in enumerate(zip(model.records[: model.given], snap.states)):
        if record["kind"] == PIN or record["two_sided"]:
            if record["mode"] != FREE:
                touching.resting.append(i)
        elif i not in skip and abs(kinematics["gap"]) <= (GAP if record["mode"] == FREE else HELD_GAP):
            if kinematics["rate"] < -slow:
                touching.colliding.append(i)
            elif kinematics["rate"] <= slow or i in sinking:
                touching.resting.append(i)
            else:
                touching.opening.append(i)
    return touching


def solve_impact(
    model: ContactModel, snap: Snapshot, touching: TouchingContacts, order: Order, paradox: bool = False
) -> Impact:
    """The impact of some contacts while others touch; with `paradox` an impact without collision of one contact."""
    closed = [*touching.colliding, *touching.resting, *touching.opening]
    rows = snap.rows(closed, np.inf)
    u = snap.row_velocities(closed)
    e = {k: float(getattr(model.contacts[i], "restitution", 0.0)) for k, i in enumerate(closed)}
    laws: dict[int, Law] = {k: getattr(model.contacts[i], "law", "poisson") for k, i in enumerate(closed)}
    first = range(len(touching.colliding))
    named: dict[str, Law] = {model.names[i]: laws[k] for k, i in enumerate(touching.colliding)}
    path = ImpulsePath(rows.G, rows.candidates, rows.scale, u.copy())
    if "newton" in named.values() and set(named.values()) != {"newton"}:
        raise InvalidInput("Newton's law cannot be mixed with others in one impact", hint="name one law for all")
    if order == "sequential":
        _strike_in_turn(path, e, laws, paradox)
    elif "newton" in named.values():
        _newton_impact(path, {k: e[k] for k in first})
    elif named:
        _repeat_until_open(path, {k: e[k] for k in first}, laws, paradox)
    return _result(model, snap, rows, path, u, named, order)


def _other_orders(model: ContactModel, snap: Snapshot, touching: TouchingContacts, taken: Impact) -> dict[str, Array]:
    """Velocities by the orders that were not taken, where they have an answer and it differs."""
    if not touching.colliding or sum(map(len, touching)) < 2:
        return {}
    others = {}
    for order in ORDERS:
        if order == taken.order:
            continue
        try:
            velocity = solve_impact(model, snap, touching, order).velocity
        except NoSolution:
            continue
        size = 1e-3 + float(np.abs(taken.velocity).max(initial=0.0))
        if np.abs(velocity - taken.velocity).max(initial=0.0) > 1e-7 * size:
            others[order] = velocity
    return others


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
        closing = path.closing()
        if not closing:
            return
        e, paradox = {k: 0.0 for k in closing}, False
    raise NoSolution(
        "simultaneous impacts do not come to an end", hint="contacts that strike each other's bodies in turn"
    )


def _strike_in_turn(path: ImpulsePath, e: Mapping[int, float], laws: Mapping[int, Law], paradox: bool) -> None:
    """The contact that closes fastest collides as if the others were apart, until none closes."""
    closing = [0] if paradox else path.closing()
    for _ in range(_MOST_BLOWS):
        if not closing:
            path.alone = None
            return
        k = path.alone = min(closing, key=lambda k: path.u[path._normal(k)])
        if laws[k] == "newton":
            _newton_impact(path, {k: e[k]})
        else:
            _compress_and_release(path, {k: e[k]}, laws, paradox)
        closing, paradox = path.closing(), False
    raise NoSolution(
        f"after {_MOST_BLOWS} blows in turn contacts still close",
        hint='order = "simultaneous" brings them to rest together',
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


def _newton_impact(path: ImpulsePath, e: Mapping[int, float]) -> None:
    """u_n⁺ = −e u_n⁻ and Coulomb's law on the whole impulse, as one complementarity problem."""
    b = path.u.copy()
    for k, value in e.items():
        b[path._normal(k)] *= 1.0 + value
    candidates = [c for k, c in enumerate(path.candidates) if not path._is_apart(k)]
    problem = ContactProblem(path.G, b, candidates, path.scale)
    outcomes = problem.distinct(problem.solutions())
    if not outcomes:
        raise NoSolution("Newton's law with friction has no answer here", hint="use Poisson's or Stronge's law")
    best = min(outcomes, key=lambda s: float(np.abs(s.z).sum()))
    path.Z, path.u = path.Z + best.z, path.u + path.G @ best.z


def _result(
    model: ContactModel, snap: Snapshot, rows: ContactRows, path: ImpulsePath, u: Array, laws: Mapping[str, Law],
    order: Order,
) -> Impact:  # fmt: skip
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
    change = velocity - snap.v
    imbalance = imbalance_of(snap.M @ change, rows.R.T @ path.Z)
    check_impact(rows.candidates, u, u + rows.R @ change, path.Z, path.work, imbalance, model.names, snap.t)
    sizes = np.linalg.norm(impulses, axis=1)
    struck = frozenset(np.flatnonzero(sizes > _STRUCK * sizes.max(initial=0.0)).tolist())
    struck |= {model.names.index(name) for name in laws}
    phases = tuple((model.names[rows.candidates[k].index], word) for k, word in path.phases)
    given = model.given
    return Impact(
        velocity, impulses[:given], normal[:given], before, after, dissipated, phases, laws, model.names[:given],
        order, struck=struck,
    )  # fmt: skip

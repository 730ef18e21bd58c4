"""Events: where a mode ends, and what happens there.

A mode ends where one of its margins falls through 0, found by steps of other lengths from the same state. At that
instant impacts come first, then the modes of every closed contact from the accelerations, then what to call it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from palpate.checks import Array
from palpate.errors import NoSolution, Painleve
from palpate.tools.contact.collision.impacts import (
    Impact,
    Order,
    TouchingContacts,
    join_impacts,
    solve_impact,
    touching_contacts,
)
from palpate.tools.contact.modes.complementarity import ModeOption
from palpate.tools.contact.modes.dynamics import GAP, Settled, apply_option, close_gaps, painleve, settle
from palpate.tools.contact.modes.model import ContactModel, Snapshot
from palpate.tools.contact.motion.steps import Stepper
from palpate.tools.contact.touch.contacts import FREE, MODES, SLIDING, STICKING, Mode
from palpate.tools.contact.touch.records import DRY, EDGE_MARGIN, NORMAL_MARGIN, PIN, SLIP_MARGIN, StepControl

TOGETHER = 1e-10  # s: events closer than this are one
GRAZE = 1e-10  # m: a gap that comes closer than this without closing has grazed
_STEADY = 0.02  # how much the ratio of two successive flights may still change
UNRESOLVED = 1e-8  # s: a flight shorter than this is lost in rounding, whatever its series
SLOW = 2e-9  # m/s: what events within 1e-10 s leave of a velocity that is 0
_NO_OPTIONS: Mapping[int, ModeOption] = MappingProxyType({})
_AHEAD = 1e-8  # m: how far beyond an edge the next feature is looked for
# Events of one instant are listed in this order.
_EVENT_ORDER = ("touchdown", "impact", "edge", "stick", "slip", "reversal", "side", "graze", "lift-off")


@dataclass(frozen=True)
class ContactEvent:
    """Something that happened to a contact.

    Attributes:
        time: when, s.
        what: "touchdown", "impact" (an impulse while closed), "graze", "lift-off", "slip", "stick", "reversal", "side",
            "edge", "zeno", "painleve", "dependent" (held directions) or "limit" (of a joint).
        contact: its name (a joint's for "limit").
        where: its point (a ball's centre), world, m.
        before, after: its mode.
        q: coordinates.
        v_before, v_after: velocities; they differ where there is an impulse.
        detail: impulse (N·s, world), dissipated energy (J), coefficient (1/kg), and the like, where there is one.
    """

    time: float
    what: str
    contact: str
    where: Array
    before: Mode
    after: Mode
    q: Array
    v_before: Array
    v_after: Array
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        change = f"{self.before} → {self.after}" if self.before != self.after else self.before
        return f"{self.time:14.10f} s  {self.what:<10} {self.contact:<12} {change}"


def first_fall(control: StepControl, lengths: Array, margins: Array) -> tuple[float, float, list[int]] | None:
    """The first of the sampled intervals (its ends, s) in which a margin falls, and all that fall there."""
    armed = control.armed.astype(bool)
    left, before = 0.0, control.margins
    for right, values in zip(lengths, margins):
        # What was near 0 from the start counts only if it goes on falling.
        sinking = ~armed & (values < -control.noise) & (values < before)
        fallen = np.flatnonzero((armed & (values <= 0.0)) | sinking)
        if fallen.size:
            return float(left), float(right), [int(j) for j in fallen]
        armed |= values > control.noise
        left, before = right, values
    control.armed[:] = armed
    return None


def dips(stepper: Stepper, lengths: Array, margins: Array) -> list[tuple[float, int, float]]:
    """Where margins are least between the samples of a step, near 0: (length, margin, value)."""
    from scipy.optimize import minimize_scalar

    minima, ends, start = [], np.append(0.0, lengths), stepper.control.margins
    for j in np.flatnonzero(np.isfinite(start) & np.isfinite(margins).all(axis=0)):
        values = np.append(start[j], margins[:, j])
        k = int(np.argmin(values))
        if not 0 < k < len(values) - 1 or not values[k] < max(values[k - 1], values[k + 1]) - values[k]:
            continue  # between two samples it falls by no more than it rises over them
        low = minimize_scalar(
            lambda length, j=j: float(stepper.margins_after(length)[j]),
            bounds=(ends[k - 1], ends[k + 1]),
            method="bounded",
            options={"xatol": 1e-9 * ends[-1]},
        )
        minima.append((float(low.x), int(j), float(low.fun)))
    return sorted(minima)


def locate(stepper: Stepper, bracket: tuple[float, float, list[int]]) -> tuple[float, list[int]]:
    """How long the step to the first margin that falls in a bracket is, and the margins that are 0 there."""
    left, right, fallen = bracket
    roots = {j: _root(stepper, j, left, right) for j in fallen}
    first = min(roots.values())
    return first, [j for j in fallen if roots[j] - first <= TOGETHER]


def _root(stepper: Stepper, j: int, left: float, right: float) -> float:
    """Where margin j is 0; where it has just jumped below, under a force that jumps."""
    from scipy.optimize import brentq

    def value(length: float) -> float:
        return float(stepper.margins_after(length)[j])

    low, high = value(left), value(right)
    if low <= 0.0 or high >= 0.0:  # it was 0 from the start, or falls exactly at the end
        return left if low <= 0.0 else right
    root, ahead = float(np.asarray(brentq(value, left, right, xtol=1e-16, rtol=np.float64(1e-15)))), 1e-16
    while value(root) > stepper.control.noise[j]:
        root, ahead = min(root + ahead, right), 2.0 * ahead
    return root


@dataclass
class Bounces:
    """One contact's bounces: when it left its surface, and for how long each time.

    A flight that begins with u lasts T = 2 u/|g̈|. With D the time between its last two departures and r the ratio of
    their flights, the next departures follow after D r, D r², …, and the series ends at L = t + D r/(1 − r). L errs by
    the third order of the flight, by the second where damping acts, so its error shrinks by r³ or r² each time; the
    last three estimates tell which (Aitken), and the rest of that series is taken off.
    """

    times: list[float] = field(default_factory=list)
    flights: list[float] = field(default_factory=list)

    def add(self, time: float, flight: float) -> None:
        """A departure and the flight after it; only the last few are kept."""
        self.times, self.flights = [*self.times[-4:], time], [*self.flights[-4:], flight]

    def limit(self) -> tuple[float, float] | None:
        """When the series ends and how far the last two estimates differ; None while it is not geometric."""
        if len(self.flights) < 4:
            return None
        T = self.flights
        r, r_before = T[-1] / T[-2], T[-2] / T[-3]
        if not (r < 1.0 and r_before < 1.0 and abs(r - r_before) < _STEADY):
            return None
        last, before = self._end(-1, r), self._end(-2, r_before)
        shrinks = r**3
        if len(T) > 4 and before != (earlier := self._end(-3, T[-3] / T[-4])):
            shrinks = min(max((last - before) / (before - earlier), r**3), r**2)
        return max(last + (last - before) * shrinks / (1 - shrinks), self.times[-1]), abs(last - before)

    def _end(self, n: int, r: float) -> float:
        """L from the n-th departure."""
        next_pause, pause = self.flights[n], self.times[n] - self.times[n - 1]
        if abs(pause - self.flights[n - 1]) > 1e-3 * pause:  # another contact strikes in between
            next_pause = pause * r
        return self.times[n] + next_pause / (1 - r)


@dataclass
class Memory:
    """State kept between two advances.

    Attributes:
        records: the contacts' records.
        fresh: whether the modes still have to be found.
        bounces: by contact.
        pending: the end of a series of bounces: when, s, of which contacts, and how uncertain the time is, s.
        stride: the step to try next, s.
        dependent: whether held directions are known to depend on each other.
        told: whether an event has said so of joints that stick, which happens often and is said once.
        pull: generalised forces of coasting contacts.
        force: held until now, where it was numbers.
        forces: of the contacts and of the joints' friction at the last evaluation.
        beyond: joints out of their range.
    """

    records: Array
    fresh: bool
    bounces: dict[int, Bounces] = field(default_factory=dict)
    pending: tuple[float, tuple[int, ...], float] | None = None
    stride: float = 1e-3
    dependent: bool = False
    told: bool = False
    pull: Array | None = None
    force: Array | None = None
    forces: Array | float = 0.0
    out_of_range: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Rules:
    """Behaviour at Painlevé's paradox; the flight, s, below which a series of bounces ends by its tail; the order in
    which contacts that touch at once collide."""

    painleve: Literal["impact", "stop"]
    shortest_flight: float
    order: Order


class EventHandler:
    """Turns a state at which something happens into one with new modes and velocities, and writes the events."""

    def __init__(self, model: ContactModel, stepper: Stepper, rules: Rules, memory: Memory) -> None:
        self.model, self.stepper, self.rules, self.memory = model, stepper, rules, memory
        self.events: list[ContactEvent] = []
        self.stopped = False
        self.sinking = self.left_edges = set[int]()  # free contacts whose gap has closed; points beyond a face's edge

    def resolve(
        self, t: float, y: Array, triggers: Mapping[int, int], paradox: bool = False
    ) -> tuple[float, Array, float]:
        """The state after everything that happens at t; and how long the shortest flight that begins here lasts."""
        t, y = self._stop_slow_slips(t, y, triggers)
        before, sides = self.model.records["mode"].copy(), self.model.records["side"].copy()
        self.sinking = {i for i, margin in triggers.items() if margin == NORMAL_MARGIN and before[i] == FREE}
        self._leave_edges(t, y, triggers)
        snap = self._survey(t, y)
        v_before, impact = snap.v, None
        for _ in range(20):
            snap, hit = self._collide(snap)
            impact = join_impacts(impact, hit)
            try:
                settled = self._settle(snap, triggers, paradox)
            except Painleve as error:
                snap, hit = self._paradox(snap, error)
                impact = join_impacts(impact, hit)
                if self.stopped:
                    return t, y, np.inf
                paradox = False
                continue
            break
        else:
            raise NoSolution(f"impacts at t = {t:.12g} s do not come to an end")
        self._apply(snap, settled)
        self._change_sides(triggers, before, sides)
        flight = np.inf
        if impact is not None:
            flight, snap, settled = self._bounce(snap, settled)
        y, nq = self.project(t, snap.y, settled.options), len(snap.q)
        self._add_events(snap, (y[:nq], v_before, y[nq:]), before, triggers, impact)
        return t, y, flight

    # ------------------------------------------------------------------ the steps of it

    def _survey(self, t: float, y: Array) -> Snapshot:
        nq = self.model.robot.nq
        return self.model.survey(t, y[:nq].copy(), y[nq:].copy())

    def _stop_slow_slips(self, t: float, y: Array, triggers: Mapping[int, int]) -> tuple[float, Array]:
        """A slip in two directions was caught just before it stops: go on to where it does."""
        for i, margin in triggers.items():
            record = self.model.records[i]
            if margin != SLIP_MARGIN or record["mode"] != SLIDING or record["freedoms"] != 2:
                continue
            slope = self.stepper.slope(t, y)
            snap = self._survey(t, y)
            slide, a = snap.states[i]["slide"], slope[self.model.robot.nq :]
            speed = float(np.linalg.norm(slide))
            braking = -float(slide @ (snap.Jc[i] @ a + snap.states[i]["drift"])) / max(speed, 1e-300)
            if braking > 0.0:
                wait = speed / braking
                q = self.model.robot.integrate(snap.q, snap.v + 0.5 * wait * a, wait)
                return t + wait, np.concatenate([q, snap.v + wait * a])
        return t, y

    def _leave_edges(self, t: float, y: Array, triggers: Mapping[int, int]) -> None:
        """Points leave a face at its edge; balls roll on over it."""
        edges = [i for i, margin in triggers.items() if margin == EDGE_MARGIN]
        self.left_edges = {i for i in edges if self.model.records[i]["radius"] == 0.0}
        for i in edges:
            self.model.records[i]["feature"] = -1
            if i in self.left_edges:
                self.model.records[i]["mode"] = FREE
            else:
                self.model.records[i]["feature"] = self._feature_ahead(t, y, i)

    def _feature_ahead(self, t: float, y: Array, i: int) -> int:
        """The face or edge that a ball rolls onto: on the border itself rounding would decide."""
        snap = self._survey(t, y)
        speed = float(np.linalg.norm(snap.states[i]["slide"])) + float(np.abs(snap.states[i]["rate"]))
        ahead = self.model.robot.integrate(snap.q, snap.v, _AHEAD / max(speed, 1e-12))
        return int(self.model.survey(t, ahead, snap.v).states[i]["feature"])

    def _closed(self, snap: Snapshot) -> TouchingContacts:
        """Contacts that collide, those that touch at rest, and those that touch and open."""
        return touching_contacts(self.model, snap, SLOW, self.left_edges, self.sinking)

    def _collide(self, snap: Snapshot) -> tuple[Snapshot, Impact | None]:
        touching = self._closed(snap)
        if not touching.colliding:
            return snap, None
        impact = solve_impact(self.model, snap, touching, self.rules.order)
        self.sinking -= set(touching.colliding)  # a rebound is no sinking
        return self.model.survey(snap.t, snap.q, impact.velocity), impact

    def _settle(self, snap: Snapshot, triggers: Mapping[int, int], paradox: bool = False) -> Settled:
        colliding, resting, _ = self._closed(snap)
        force = self.stepper.force_at(snap.t, snap.y)
        prefer = self._preferred_modes(triggers)
        if paradox:
            rows = snap.rows(resting, SLOW)
            raise painleve(self.model, snap, rows.problem(np.zeros(len(snap.v))), "inconsistent")
        settled = settle(self.model, snap, force, [*colliding, *resting], SLOW, prefer)
        if settled.answers > 1 and not settled.problem.rests(settled.solution):
            error = painleve(self.model, snap, settled.problem, "indeterminate")
            self._add_paradox(snap, error)
        return settled

    def _preferred_modes(self, triggers: Mapping[int, int]) -> dict[int, int]:
        """The mode a trigger leads to where others would be as good."""
        wishes = {}
        for i, margin in triggers.items():
            mode = self.model.records[i]["mode"]
            if margin == NORMAL_MARGIN and mode != FREE:
                wishes[i] = FREE
            elif margin == SLIP_MARGIN:
                wishes[i] = SLIDING if mode == STICKING else STICKING
        return wishes

    def _paradox(self, snap: Snapshot, error: Painleve) -> tuple[Snapshot, Impact | None]:
        """No answer: name it, then go on by an impact without collision, or stop."""
        self._add_paradox(snap, error)
        if self.rules.painleve == "stop":
            self.stopped = True
            return snap, None
        _, resting, opening = self._closed(snap)
        i = self.model.names.index(error.contact)
        touching = TouchingContacts([i], [k for k in resting if k != i], opening)
        impact = solve_impact(self.model, snap, touching, self.rules.order, paradox=True)
        return self.model.survey(snap.t, snap.q, impact.velocity), impact

    def _apply(self, snap: Snapshot, settled: Settled) -> None:
        for i, record in enumerate(self.model.records):
            if i in settled.options:
                apply_option(self.model, snap, i, settled.options[i])
                record["wedged"] = settled.solution.wedged
            elif record["kind"] not in (PIN, DRY):
                record["mode"], record["feature"], record["creep"] = FREE, -1, 0
                record["wedged"] = 0

        self.model.records["anchor"] = 0.0
        for c in settled.rows.candidates:
            force = settled.solution.z[c.rows] @ snap.directions(c.index)
            self.model.records[c.index]["anchor"] = force

    def _change_sides(self, triggers: Mapping[int, int], before: Array, sides: Array) -> None:
        """A slot's force that falls through 0 comes out on the other side; at 0 itself rounding would decide."""
        for i, margin in triggers.items():
            slot = margin == NORMAL_MARGIN and self.model.records[i]["two_sided"]
            if slot and self.model.records[i]["mode"] == before[i] == SLIDING:
                self.model.records[i]["side"] = -sides[i]

    def _bounce(self, snap: Snapshot, settled: Settled) -> tuple[float, Snapshot, Settled]:
        """After an impact: the flights that begin, and the end of their series where they are short enough."""
        flights = self._flights(snap, settled)
        limits = {}
        for i, flight in flights.items():
            history = self.memory.bounces.setdefault(i, Bounces())
            history.add(snap.t, flight)
            limit = history.limit() if flight < self.rules.shortest_flight else None
            if limit is None and flight < UNRESOLVED:
                limit = (snap.t + flight, flight)
            if limit is not None:
                limits[i] = limit
        landed = self._land(snap, tuple(limits)) if limits else None
        if landed is None:
            return min(flights.values(), default=np.inf), snap, settled
        for i in limits:
            del self.memory.bounces[i]
        time, uncertainty = max(limits.values())
        self.memory.pending = time, tuple(limits), uncertainty
        left = self._flights(*landed)
        return min(left.values(), default=np.inf), *landed

    def _flights(self, snap: Snapshot, settled: Settled) -> dict[int, float]:
        """How long each contact that has just left stays off: 2 u/|g̈|."""
        flights = {}
        for i, (record, kinematics) in enumerate(zip(self.model.records, snap.states)):
            free = record["mode"] == FREE and record["kind"] != PIN
            if free and abs(kinematics["gap"]) <= GAP and kinematics["rate"] > SLOW:
                fall = -(snap.normals[i] @ settled.acceleration + kinematics["bend"])
                if fall > 0.0:
                    flights[i] = 2.0 * float(kinematics["rate"]) / fall
        return flights

    def _land(self, snap: Snapshot, bouncing: Sequence[int]) -> tuple[Snapshot, Settled] | None:
        """Close the bouncing contacts for good: what all further impulses take off their velocities, in one."""
        _, resting, _ = self._closed(snap)
        closed = [*bouncing, *(i for i in resting if i not in bouncing)]
        force = self.stepper.force_at(snap.t, snap.y)
        try:
            settled = settle(self.model, snap, force, closed, SLOW)
        except Painleve:
            return None
        if any(settled.options[i].mode == FREE for i in bouncing):
            return None
        self._apply(snap, settled)
        v = self._allowed(snap, settled.options, frictional=True)
        return self.model.survey(snap.t, snap.q, v), settled

    # ------------------------------------------------------------------ projection

    def project(self, t: float, y: Array, options: Mapping[int, ModeOption] = _NO_OPTIONS) -> Array:
        """The state brought back onto the constraints of the present modes; `options` led to them if they are new."""
        snap = self._survey(t, y)
        closed = np.flatnonzero(self.model.records["mode"] != FREE).tolist()
        q = close_gaps(self.model, t, snap.q, snap.v, closed)
        return np.concatenate([q, self._allowed(self.model.survey(t, q, snap.v), options)])

    def _allowed(self, snap: Snapshot, options: Mapping[int, ModeOption], frictional: bool = False) -> Array:
        """v without what the present modes do not allow: normal velocities, slips of what sticks or begins to slip.

        It is taken off by impulses along the same directions; with `frictional` sliding contacts answer along n − μ d.
        """
        closed = np.flatnonzero(self.model.records["mode"] != FREE).tolist()
        rows, u = snap.rows(closed, SLOW), snap.row_velocities(closed, exact=True)
        unit = np.eye(len(u))
        held, pushes = [unit[:0]], [unit[:0]]
        for c in rows.candidates:
            record, option = self.model.records[c.index], options.get(c.index)
            begins = option is not None and option.slip is not None and c.slip is None
            held_rows = c.rows if record["mode"] != SLIDING or begins else c.rows[: c.normal is not None]
            along = unit[held_rows]
            if record["creep"]:
                across = snap.states[c.index]["tangents"] @ snap.states[c.index]["across"] @ unit[c.tangents]
                along = np.vstack([along, across])
            held.append(along)
            if frictional and option is not None and c.normal is not None:
                along = np.vstack([c.push(option, len(u)), along[1:]])
            pushes.append(along)
        H, P = np.vstack(held), np.vstack(pushes).T
        if not len(H):
            return snap.v
        share = np.linalg.lstsq(H @ rows.G @ P, H @ u, rcond=1e-12)[0]
        v, joints = snap.v - rows.inverse @ (P @ share), self.model.records[self.model.given :]
        v[joints["dof"][joints["mode"] == STICKING]] = 0.0
        return v

    # ------------------------------------------------------------------ writing events

    def _add_events(
        self, snap: Snapshot, states: Sequence[Array], before: Array, triggers: Mapping[int, int], impact: Impact | None
    ) -> None:
        """Write what happened at an instant; states are the coordinates, and the velocities before and after."""
        changes = list(zip(before.tolist(), self.model.records["mode"].tolist()))
        struck, collided = (frozenset(), {}) if impact is None else (impact.struck, impact.law)
        words = []
        for i, (old, new) in enumerate(changes):
            lifted = old != FREE == new and self.model.names[i] not in collided  # by the blow of another
            words.append(self._event_name(i, (old, new), triggers.get(i), i in struck and not lifted))
        happened = [i for i, word in enumerate(words) if word]
        for i in sorted(happened, key=lambda i: _EVENT_ORDER.index(words[i])):
            detail: dict[str, object] = {}
            if impact is not None and i in struck:
                detail = {"impulse": impact.impulses[i], "dissipated": impact.dissipated, "phases": impact.phases}
                detail |= {"order": impact.order} if len(impact.struck) > 1 else {}
            self._add(snap.t, states, words[i], i, changes[i], snap.states[i]["point"], detail)

    def _event_name(self, i: int, modes: tuple[int, int], trigger: int | None, struck: bool) -> str:
        """Name of the event that happened to a contact; empty if none did."""
        (old, new), record = modes, self.model.records[i]
        if struck:
            return "touchdown" if old == FREE else "impact"
        if old != new and i not in self.left_edges:
            return "touchdown" if old == FREE else {FREE: "lift-off", STICKING: "stick"}.get(new, "slip")
        if trigger == EDGE_MARGIN:
            return "edge"
        if trigger == NORMAL_MARGIN and old == FREE:
            return "graze"
        if trigger == NORMAL_MARGIN and old == SLIDING and record["two_sided"]:
            return "side"
        return "reversal" if trigger == SLIP_MARGIN and old == SLIDING else ""

    def _add_paradox(self, snap: Snapshot, error: Painleve) -> None:
        detail = {"kind": error.kind, "coefficient": error.coefficient}
        self.add_event(snap.t, snap.y, "painleve", self.model.names.index(error.contact), detail)

    def add_event(self, t: float, y: Array, what: str, i: int, detail: Mapping[str, object], before: int = -1) -> None:
        """An event that changes no mode, or whose old mode is given."""
        nq, mode = self.model.robot.nq, int(self.model.records[i]["mode"])
        modes = (before if before >= 0 else mode, mode)
        self._add(t, (y[:nq], y[nq:], y[nq:]), what, i, modes, self.model.states[i]["point"], detail)

    def add_limit_event(self, t: float, y: Array, joint: str, value: float) -> None:
        """A joint that has left its range."""
        nq = self.model.robot.nq
        q, v = y[:nq].copy(), y[nq:].copy()
        self.events.append(ContactEvent(t, "limit", joint, np.zeros(3), "free", "free", q, v, v, {"position": value}))

    def _add(
        self, t: float, states: Sequence[Array], what: str, i: int, modes: tuple[int, int], where: Array, detail: Any
    ) -> None:
        """An event; states are the coordinates, and the velocities before and after."""
        before, after = MODES[modes[0]], MODES[modes[1]]
        q, v, v_after = (state.copy() for state in states)
        self.events.append(
            ContactEvent(t, what, self.model.names[i], where.copy(), before, after, q, v, v_after, detail)
        )

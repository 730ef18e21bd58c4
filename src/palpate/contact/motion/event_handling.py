"""At an event: impacts first, then the modes of every closed contact from the accelerations, and what to call it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from palpate.checks import Array
from palpate.contact.collision.impacts import Impact, strike, who_collides
from palpate.contact.modes.complementarity import ModeOption, push_of
from palpate.contact.modes.dynamics import (
    GAP,
    Settled,
    apply_option,
    close_gaps,
    directions_of,
    painleve,
    row_velocities,
    rows_of,
    settle,
)
from palpate.contact.modes.model import ContactModel, Snapshot
from palpate.contact.motion.events import UNRESOLVED, Bounces, ContactEvent
from palpate.contact.motion.steps import Stepper
from palpate.contact.touch.contacts import FREE, MODES, SLIDING, STICKING
from palpate.contact.touch.records import EDGE_MARGIN, NORMAL_MARGIN, PIN, SLIP_MARGIN
from palpate.errors import NoSolution, Painleve

SLOW = 2e-9  # m/s: what events within 1e-10 s leave of a velocity that is 0
_NO_OPTIONS: Mapping[int, ModeOption] = MappingProxyType({})
_AHEAD = 1e-8  # m: how far beyond an edge the next feature is looked for
# Events of one instant are listed in this order.
_ORDER = ("touchdown", "impact", "edge", "stick", "slip", "reversal", "side", "graze", "lift-off")


@dataclass(frozen=True)
class Rules:
    """What to do at Painlevé's paradox; the flight, s, below which a series of bounces ends by its tail."""

    painleve: Literal["impact", "stop"]
    shortest_flight: float


@dataclass(frozen=True)
class _Happening:
    """What led to the new modes of an instant: the old ones, the margins that fell, a collision, edges left."""

    before: Array
    triggers: Mapping[int, int]
    blow: Impact | None
    gone: set[int]


class EventHandler:
    """Turns a state at which something happens into one with new modes and velocities, and writes the events."""

    def __init__(self, model: ContactModel, stepper: Stepper, rules: Rules, bounces: dict[int, Bounces]) -> None:
        self.model, self.stepper, self.rules, self.bounces = model, stepper, rules, bounces
        self.events: list[ContactEvent] = []
        self.stopped, self.sinking = False, set[int]()  # sinking: free contacts whose gap has closed
        self.limit: tuple[float, tuple[int, ...]] | None = None
        self.tail: Mapping[str, object] = {}

    def resolve(
        self, t: float, y: Array, triggers: Mapping[int, int], paradox: bool = False
    ) -> tuple[float, Array, float]:
        """The state after everything that happens at t; and how long the shortest flight that begins here lasts."""
        t, y = self._stop_slow_slips(t, y, triggers)
        before, sides = self.model.records["mode"].copy(), self.model.records["side"].copy()
        self.sinking = {i for i, margin in triggers.items() if margin == NORMAL_MARGIN and before[i] == FREE}
        gone = self._edges(t, y, triggers)
        snap = self._survey(t, y)
        v_before, blow = snap.v, None
        for _ in range(20):
            snap, hit = self._collide(snap, gone)
            blow = hit or blow
            try:
                settled = self._settle(snap, triggers, gone, paradox)
            except Painleve as error:
                snap, blow = self._paradox(snap, error, gone)
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
        if blow is not None:
            flight, snap, settled = self._bounce(snap, settled, gone)
        y, nq = self.project(t, np.concatenate([snap.q, snap.v]), settled.options), len(snap.q)
        self._describe(t, (y[:nq], v_before, y[nq:]), _Happening(before, triggers, blow, gone), snap)
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

    def _edges(self, t: float, y: Array, triggers: Mapping[int, int]) -> set[int]:
        """Points that leave a face at its edge; balls roll on over it."""
        gone = set()
        for i, margin in triggers.items():
            if margin != EDGE_MARGIN:
                continue
            self.model.records[i]["feature"] = -1
            if self.model.records[i]["radius"] == 0.0:
                self.model.records[i]["mode"] = FREE
                gone.add(i)
            else:
                self.model.records[i]["feature"] = self._feature_ahead(t, y, i)
        return gone

    def _feature_ahead(self, t: float, y: Array, i: int) -> int:
        """The face or edge that a ball rolls onto: on the border itself rounding would decide."""
        snap = self._survey(t, y)
        speed = float(np.linalg.norm(snap.states[i]["slide"])) + float(np.abs(snap.states[i]["rate"]))
        ahead = self.model.robot.integrate(snap.q, snap.v, _AHEAD / max(speed, 1e-12))
        return int(self.model.survey(t, ahead, snap.v).states[i]["feature"])

    def _closed(self, snap: Snapshot, gone: set[int]) -> tuple[list[int], list[int]]:
        """Contacts that collide, and those that touch at rest."""
        return who_collides(self.model, snap, SLOW, gone, self.sinking)

    def _collide(self, snap: Snapshot, gone: set[int]) -> tuple[Snapshot, Impact | None]:
        colliding, resting = self._closed(snap, gone)
        if not colliding:
            return snap, None
        blow = strike(self.model, snap, colliding, resting)
        self.sinking -= set(colliding)  # a rebound is no sinking
        return self.model.survey(snap.t, snap.q, blow.velocity), blow

    def _settle(self, snap: Snapshot, triggers: Mapping[int, int], gone: set[int], paradox: bool = False) -> Settled:
        colliding, resting = self._closed(snap, gone)
        force = self.stepper.force_at(snap.t, np.concatenate([snap.q, snap.v]))
        prefer = self._wishes(triggers)
        if paradox:
            rows = rows_of(self.model, snap, resting, SLOW)
            raise painleve(self.model, snap, rows.problem(np.zeros(len(snap.v))), "inconsistent")
        settled = settle(self.model, snap, force, [*colliding, *resting], SLOW, prefer)
        if settled.answers > 1:
            error = painleve(self.model, snap, settled.problem, "indeterminate")
            self._say_paradox(snap, error)
        return settled

    def _wishes(self, triggers: Mapping[int, int]) -> dict[int, int]:
        """The mode a trigger leads to where others would be as good."""
        wishes = {}
        for i, margin in triggers.items():
            mode = self.model.records[i]["mode"]
            if margin == NORMAL_MARGIN and mode != FREE:
                wishes[i] = FREE
            elif margin == SLIP_MARGIN:
                wishes[i] = SLIDING if mode == STICKING else STICKING
        return wishes

    def _paradox(self, snap: Snapshot, error: Painleve, gone: set[int]) -> tuple[Snapshot, Impact | None]:
        """No answer: name it, then go on by an impact without collision, or stop."""
        self._say_paradox(snap, error)
        if self.rules.painleve == "stop":
            self.stopped = True
            return snap, None
        _, resting = self._closed(snap, gone)
        i = self.model.names.index(error.contact)
        blow = strike(self.model, snap, [i], [k for k in resting if k != i], paradox=True)
        return self.model.survey(snap.t, snap.q, blow.velocity), blow

    def _apply(self, snap: Snapshot, settled: Settled) -> None:
        for i, record in enumerate(self.model.records):
            if i in settled.options:
                apply_option(self.model, snap, i, settled.options[i])
                record["wedged"] = settled.solution.wedged
            elif record["kind"] != PIN:
                record["mode"], record["feature"], record["creep"] = FREE, -1, 0
                record["wedged"] = 0

        for c in settled.rows.candidates if settled.solution.wedged else ():
            force = settled.solution.z[c.rows] @ directions_of(self.model, snap, c.index)
            self.model.records[c.index]["carried"] = force

    def _change_sides(self, triggers: Mapping[int, int], before: Array, sides: Array) -> None:
        """A slot's force that falls through 0 comes out on the other side; at 0 itself rounding would decide."""
        for i, margin in triggers.items():
            slot = margin == NORMAL_MARGIN and self.model.records[i]["two_sided"]
            if slot and self.model.records[i]["mode"] == before[i] == SLIDING:
                self.model.records[i]["side"] = -sides[i]

    def _bounce(self, snap: Snapshot, settled: Settled, gone: set[int]) -> tuple[float, Snapshot, Settled]:
        """After an impact: the flights that begin, and the end of their series where they are short enough."""
        flights = self._flights(snap, settled)
        limits = {}
        for i, flight in flights.items():
            history = self.bounces.setdefault(i, Bounces())
            history.add(snap.t, flight)
            limit = history.limit() if flight < self.rules.shortest_flight else None
            if limit is None and flight < UNRESOLVED:
                limit = (snap.t + flight, flight)
            if limit is not None:
                limits[i] = limit
        landed = self._land(snap, tuple(limits), gone) if limits else None
        if landed is None:
            return min(flights.values(), default=np.inf), snap, settled
        for i in limits:
            del self.bounces[i]
        last = max(limits.values())
        self.limit, self.tail = (last[0], tuple(limits)), {"uncertainty": last[1]}
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

    def _land(self, snap: Snapshot, bouncing: Sequence[int], gone: set[int]) -> tuple[Snapshot, Settled] | None:
        """Close the bouncing contacts for good: what all further impulses take off their velocities, in one."""
        _, resting = self._closed(snap, gone)
        closed = [*bouncing, *(i for i in resting if i not in bouncing)]
        force = self.stepper.force_at(snap.t, np.concatenate([snap.q, snap.v]))
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
        rows, u = rows_of(self.model, snap, closed, SLOW), row_velocities(self.model, snap, closed, exact=True)
        unit = np.eye(len(u))
        held, pushes = [unit[:0]], [unit[:0]]
        for c in rows.candidates:
            record, option = self.model.records[c.index], options.get(c.index)
            begins = option is not None and option.slip is not None and c.slip is None
            along = unit[c.rows if record["mode"] != SLIDING or begins else c.rows[:1]]
            if record["creep"]:
                across = snap.states[c.index]["tangents"] @ snap.states[c.index]["across"] @ unit[c.tangents]
                along = np.vstack([along, across])
            held.append(along)
            if frictional and option is not None and c.normal is not None:
                along = np.vstack([push_of(c, option, len(u)), along[1:]])
            pushes.append(along)
        H, P = np.vstack(held), np.vstack(pushes).T
        if not len(H):
            return snap.v
        share = np.linalg.lstsq(H @ rows.G @ P, H @ u, rcond=1e-12)[0]
        return snap.v - rows.inverse @ (P @ share)

    # ------------------------------------------------------------------ words

    def _describe(self, t: float, states: tuple[Array, Array, Array], why: _Happening, snap: Snapshot) -> None:
        blow, modes = why.blow, list(zip(why.before.tolist(), self.model.records["mode"].tolist()))
        words = [(what, i) for i in range(self.model.count) if (what := self._word(i, modes[i], why)) is not None]
        for what, i in sorted(words, key=lambda word: (_ORDER.index(word[0]), word[1])):
            detail: dict[str, object] = {}
            if blow is not None and np.any(blow.impulses[i]):
                detail = {"impulse": blow.impulses[i], "dissipated": blow.dissipated, "phases": blow.phases}
            self._add(t, states, what, i, modes[i], snap.states[i]["point"], detail)

    def _word(self, i: int, modes: tuple[int, int], why: _Happening) -> str | None:
        (old, new), trigger = modes, why.triggers.get(i)
        if why.blow is not None and self.model.names[i] in why.blow.law:
            return "touchdown" if old == FREE else "impact"
        if i in why.gone:
            return "edge"
        if old != new:
            return "touchdown" if old == FREE else {FREE: "lift-off", STICKING: "stick"}.get(new, "slip")
        if trigger == EDGE_MARGIN:
            return "edge"
        if trigger == NORMAL_MARGIN and old == FREE:
            return "graze"
        if trigger == NORMAL_MARGIN and old == SLIDING and self.model.records[i]["two_sided"]:
            return "side"
        return "reversal" if trigger == SLIP_MARGIN and old == SLIDING else None

    def _say_paradox(self, snap: Snapshot, error: Painleve) -> None:
        detail = {"kind": error.kind, "coefficient": error.coefficient}
        self.say(snap.t, np.concatenate([snap.q, snap.v]), "painleve", self.model.names.index(error.contact), detail)

    def say(self, t: float, y: Array, what: str, i: int, detail: Mapping[str, object], before: int = -1) -> None:
        """An event that changes no mode, or whose old mode is given."""
        nq, mode = self.model.robot.nq, int(self.model.records[i]["mode"])
        old = before if before >= 0 else mode
        q, v = y[:nq].copy(), y[nq:].copy()
        self._add(t, (q, v, v), what, i, (old, mode), self.model.states[i]["point"], detail)

    def say_joint(self, t: float, y: Array, joint: str, value: float) -> None:
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

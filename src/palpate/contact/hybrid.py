"""The exact integrator: free, sliding, sticking and locked contacts, located events, impacts, Zeno and Painlevé."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.contact.coast import Coaster
from palpate.contact.contacts import MODES, Mode, Pin, Touch
from palpate.contact.dynamics import GAP, Wrench, refuse_overlap
from palpate.contact.events import GRAZE, Event, Watch, dips, is_suspicious, locate, noise_of
from palpate.contact.model import ContactModel
from palpate.contact.records import LEVERAGE_MARGIN, MARGINS, PIN
from palpate.contact.resolve import SLOW, Resolver
from palpate.contact.stepper import Force, Stepper
from palpate.contact.zeno import Bounces
from palpate.errors import InvalidInput, NoSolution, NotFinite
from palpate.robot.robot import Robot

_SHORTEST = 1e-13  # s
_STATE_FIELDS = ["mode", "sign", "side", "slip", "feature", "moving", "home", "coast", "since"]


@dataclass(frozen=True)
class HybridState:
    """A robot with its contacts at an instant.

    Attributes:
        time: s.
        q, v: coordinates and velocities.
        modes: of each contact.
        forces: contact × 3, of the surfaces on the robot, world axes, N, under the force held until now.
        memory: what the integrator keeps between calls.
    """

    time: float
    q: Array
    v: Array
    modes: tuple[Mode, ...]
    forces: Array
    memory: Memory = field(repr=False, compare=False)


@dataclass
class Memory:
    """The contacts' records, whether the modes still have to be found, the bounces, the step to try next."""

    records: Array
    fresh: bool
    bounces: dict[int, Bounces]
    pending: tuple[float, tuple[int, ...]] | None = None
    stride: float = 1e-3
    dependent: bool = False
    pull: Array | None = None  # of coasting contacts
    force: Array | None = None  # held until now, where it was numbers
    beyond: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Samples:
    """States inside an advance: time (m), q, v, modes (codes, see `MODES`), forces (m × contact × 3)."""

    time: Array
    q: Array
    v: Array
    modes: Array
    forces: Array


@dataclass(frozen=True)
class Advance:
    """What `HybridSystem.advance` did: the state reached, the events on the way, the samples asked for, how it ended.

    `outcome` is "done", or "painleve" where the system was told to stop at the paradox.
    """

    state: HybridState
    events: tuple[Event, ...]
    samples: Samples
    outcome: Literal["done", "painleve"]


class HybridSystem:
    """A robot and its contacts as an exact hybrid system.

    Between events M v̇ + C v + g + losses = τ + Jᵀ F + Σ J_cᵀ f is integrated in the present modes by an eighth-order
    method; events are found where a gap, a normal force, a slip or a friction margin falls through 0, and located
    to 1e-10 s. At an event, in this order: contacts that close collide (all at once), then every closed contact
    separates, slides or sticks as the complementarity problem of the accelerations says.

    Args:
        robot: any robot.
        contacts: what may hold it.
        losses: whether the model's joint damping and springs act.
        painleve: what to do where friction leaves no answer: "impact" (an impact without collision) or "stop".
        relative, absolute: tolerance of the integration.
        shortest_flight: a bounce shorter than this, s, ends its series by the analytic tail.

    A system may be used by one thread at a time; states are values and may be kept, copied and resumed.
    """

    def __init__(
        self,
        robot: Robot,
        contacts: Sequence[Touch],
        *,
        losses: bool = True,
        painleve: Literal["impact", "stop"] = "impact",
        relative: float = 1e-12,
        absolute: float = 1e-13,
        shortest_flight: float = 1e-5,
    ) -> None:
        if painleve not in ("impact", "stop"):
            raise InvalidInput(f"painleve must be 'impact' or 'stop', got {painleve!r}")
        self.model = ContactModel(robot, contacts, losses=losses)
        self.robot, self.contacts, self.names = robot, self.model.contacts, self.model.names
        self.painleve: Literal["impact", "stop"] = painleve
        self.shortest_flight = finite_number(shortest_flight, "shortest_flight", above=0.0)
        self._stepper = Stepper(
            self.model,
            finite_number(relative, "relative", above=0.0),
            finite_number(absolute, "absolute", above=0.0),
        )
        self._weight = 9.81 * robot.mass

    # ------------------------------------------------------------------ start

    def start(self, q: ArrayLike, v: ArrayLike | None = None, time: float = 0.0) -> HybridState:
        """A state to begin with. Pins hold their points where q has them.

        Raises:
            InvalidInput: a surface through the posture, a two-sided one off it, a pinned point that moves.
        """
        model, robot = self.model, self.robot
        y = model.stack(q, np.zeros(robot.nv) if v is None else v)
        q, v = y[: robot.nq], y[robot.nq :]
        time = finite_number(time, "time")
        for record, touch in zip(model.records, model.contacts):
            record["mode"] = 3 if isinstance(touch, Pin) else 1 if record["two_sided"] else 0
            record["feature"], record["moving"] = -1, float(record["start"] <= time < record["stop"])
            record["coast"] = 0
        model.pin_here(q, time)
        snap = model.survey(time, q, v)
        for i in range(model.count):
            self._check_start(i, snap.found[i])
            if (
                model.records[i]["mode"] == 0
                and abs(snap.found[i]["gap"]) <= GAP
                and abs(snap.found[i]["rate"]) <= SLOW
            ):
                model.records[i]["mode"] = 1  # until the first force is known
        memory = Memory(model.records.copy(), True, {})
        return HybridState(time, q, v, self._modes(), np.zeros((model.count, 3)), memory)

    def _check_start(self, i: int, found: np.void) -> None:
        record = self.model.records[i]
        if record["kind"] == PIN:
            speed = float(np.linalg.norm(found["slide"]))
            if speed > 1e-6:
                raise InvalidInput(f"pin {self.names[i]!r} holds a point that moves at {speed:.3g} m/s")
            return
        refuse_overlap(self.model, i, float(found["gap"]))
        if record["two_sided"] and abs(found["rate"]) > 1e-6:
            raise InvalidInput(
                f"contact {self.names[i]!r} is two-sided, but its point leaves the surface at {found['rate']:.3g} m/s",
                hint="start with a velocity along the surface",
            )

    # ------------------------------------------------------------------ advance

    def advance(
        self,
        state: HybridState,
        until: float,
        tau: ArrayLike | Force,
        *,
        wrench: Wrench | None = None,
        samples: ArrayLike = (),
    ) -> Advance:
        """Move on to a time under a force held constant, or given as a smooth function of (t, q, v).

        Args:
            state: where to begin; of this system.
            until: the time to reach, s. A control tick is the end of one call and the beginning of the next.
            tau: generalised forces, N·m or N: numbers, or a function (t, q, v) → numbers.
            wrench: [f; n] of the environment at the tool frame, world axes, or a dict of frames to wrenches.
            samples: times in (state.time, until] at which to note the state; sorted.
        """
        until = finite_number(until, "until", least=state.time)
        run = _Run(self, state, self._force(tau, wrench), np.atleast_1d(finite_array(samples, "samples")))
        outcome = run.go(until)
        return Advance(run.state(), tuple(run.events), run.samples(), outcome)

    def _force(self, tau: ArrayLike | Force, wrench: Wrench | None) -> Array | Force:
        robot = self.robot
        held = None if callable(tau) else robot._plain(tau, "tau", robot.nv, finite=True)
        if wrench is None:
            return held if held is not None else tau  # type: ignore[return-value]

        def both(t: float, q: Array, v: Array) -> Array:
            own = held if held is not None else np.asarray(tau(t, q, v))  # type: ignore[operator]
            return own + robot.generalised_force(q, wrench)

        return both

    def run(
        self,
        q: ArrayLike,
        v: ArrayLike | None,
        duration: float,
        tau: ArrayLike | Force | Callable[[HybridState], ArrayLike] = 0.0,
        *,
        period: float | None = None,
        sample: float | None = None,
    ) -> Advance:
        """From a start to the end, with or without a sampled law.

        Args:
            q, v: the start; at rest if v is None.
            duration: s.
            tau: a held force or a function (t, q, v); with a `period`, a law `state → force` asked at every tick.
            period: of the control ticks, s.
            sample: note the state every so many seconds; only at the end if None.
        """
        state = self.start(q, v)
        ends = np.array([duration]) if period is None else _grid(period, duration)
        notes = np.array([duration]) if sample is None else _grid(sample, duration)
        force = np.zeros(self.robot.nv) if isinstance(tau, float) and tau == 0.0 else tau
        parts: list[Advance] = []
        for end in ends:
            held = force if period is None else force(state)  # type: ignore[operator]
            inside = notes[(notes > state.time) & (notes <= end)]
            parts.append(self.advance(state, float(end), held, samples=inside))  # type: ignore[arg-type]
            state = parts[-1].state
            if parts[-1].outcome != "done":
                break
        return _joined(parts)

    def _modes(self) -> tuple[Mode, ...]:
        return tuple(MODES[int(m)] for m in self.model.records["mode"])


def _grid(period: float, duration: float) -> Array:
    """Multiples of a period up to a duration, the end included."""
    count = int(np.ceil(duration / finite_number(period, "period", above=0.0) - 1e-9))
    return np.minimum(period * np.arange(1, count + 1), duration)


def _joined(parts: Sequence[Advance]) -> Advance:
    names = ("time", "q", "v", "modes", "forces")
    samples = Samples(*(np.concatenate([getattr(p.samples, n) for p in parts]) for n in names))
    return Advance(parts[-1].state, tuple(e for p in parts for e in p.events), samples, parts[-1].outcome)


class _Run:
    """One call of `advance`."""

    def __init__(self, system: HybridSystem, state: HybridState, force: Array | Force, notes: Array) -> None:
        self.system, self.model, self.stepper = system, system.model, system._stepper
        memory = state.memory
        self.model.records[_STATE_FIELDS] = memory.records[_STATE_FIELDS]
        self.fresh, self.pending = memory.fresh, memory.pending
        self.bounces = {i: history.copy() for i, history in memory.bounces.items()}
        self.h, self.dependent, self.beyond = memory.stride, memory.dependent, set(memory.beyond)
        if memory.pull is not None:
            self.model.work.pull[:] = memory.pull
        self.stepper.push(force)
        self.coaster = Coaster(system.model, self.stepper)
        self.held_before = memory.force
        self.t, self.y = state.time, np.concatenate([state.q, state.v])
        self.notes, self.next_note = notes, 0
        self.noted: list[tuple[float, Array, Array, Array]] = []
        self.events: list[Event] = []
        self.resolver = Resolver(system.model, self.stepper, self.events, system.painleve)
        self.flight = np.inf

    # ------------------------------------------------------------------ the loop

    def go(self, until: float) -> Literal["done", "painleve"]:
        """Reach a time, event by event."""
        same = 0
        self._begin_at_state()
        while self.t < until and not self.resolver.stopped:
            before = self.t
            self._segment(min(until, self._next_appointment()))
            same = same + 1 if self.t - before < _SHORTEST else 0
            if same > 100:
                raise NoSolution(f"modes keep changing at t = {self.t:.12g} s", hint=str(self.events[-1]))
        return "painleve" if self.resolver.stopped else "done"

    def _begin_at_state(self) -> None:
        if self.fresh:
            self._resolve({})  # before its first step a contact's mode is found, not changed
            self.events[:] = [e for e in self.events if e.detail or e.what == "painleve"]
            self.fresh = False
            return
        self.coaster.jump(self.t, self.y, self.held_before)
        margins = self.stepper.begin(self.t, self.y)
        noise = self._noise()
        wrong = np.flatnonzero(margins < -noise)
        if wrong.size:  # the force has jumped: a tick is an event
            self._resolve(self._triggers([int(j) for j in wrong]))
        else:
            self._arm(margins, noise)

    def _noise(self) -> Array:
        forces = self.system._weight + float(np.abs(self.model.found["pressure"]).max(initial=0.0))
        return noise_of(self.model, forces)

    def _arm(self, margins: Array, noise: Array) -> None:
        self.margins, self.watch = margins, Watch(noise, margins > noise)

    def _next_appointment(self) -> float:
        """The next time at which a ride turns or a series of bounces ends."""
        times = [float(r[k]) for r in self.model.records for k in ("start", "stop") if np.any(r["velocity"])]
        if self.pending is not None:
            times.append(self.pending[0])
        return min((t for t in times if t > self.t), default=np.inf)

    def _segment(self, end: float) -> None:
        """One step, up to an event or the end."""
        h = min(self.h, end - self.t, 1.5 * self.flight)
        h = end - self.t if end - self.t - h < 1e-3 * h else h
        while (error := self.stepper.stride(h, self.margins)) > 1.0 or not np.isfinite(error):
            h *= max(0.2, 0.9 * error ** (-1 / 8)) if np.isfinite(error) else 0.2
            if h < _SHORTEST:
                self._underflow()
                return
        self.h = h * min(5.0, 0.9 * error ** (-1 / 8) if error > 0 else 5.0)
        if self._event_in_step():
            return
        self._take(h)
        if self.t >= end - 1e-15 * max(1.0, abs(end)):
            self.t = float(end)
            self._appointment()

    def _underflow(self) -> None:
        if self.stepper.margins()[-1] < 1e-3:  # the friction problem is turning singular: Painlevé
            self._resolve({}, paradox=True)
            return
        raise NoSolution(f"the step shrank below {_SHORTEST:g} s at t = {self.t:.12g} s")

    def _event_in_step(self) -> bool:
        step = self.stepper.step
        if not is_suspicious(step.lowest, step.highest, self.watch.noise):
            self.watch.armed |= self.stepper.margins() > self.watch.noise
            return False
        end, y_end, K_end = self.stepper.margins(), step.y.copy(), step.K[12].copy()
        self.stepper.extend()
        x, margins = self.stepper.sampled_margins()
        margins[-1] = end
        bracket = self.watch.first_fall(x, margins, self.margins)
        if bracket is None:
            bracket = self._look_at_dips(x, margins)
        if bracket is None:
            step.y[:], step.K[12] = y_end, K_end
            self.stepper.slope(float(self.stepper.span.sum()), step.y, step.K[12])
            return False
        length, fallen = locate(self.stepper, self.margins, bracket)
        if length > 0.0:
            self._take(length, settle=False)
        self._resolve(self._triggers(fallen))
        return True

    def _look_at_dips(self, x: Array, margins: Array) -> tuple[float, float, list[int]] | None:
        """A gap that closes and opens between two samples is a fall after all; one that only touches 0 has grazed."""
        t, h = self.stepper.span
        for place, i, gap in dips(self.stepper, x, margins, self.margins):
            if gap < -self.watch.noise[MARGINS * i]:
                before = x[x < place]
                return float(before[-1]) if len(before) else 0.0, place, [MARGINS * i]
            if gap < GRAZE:
                self.resolver.say(float(t + place * h), self.stepper.inside(place), "graze", i, {"gap": gap})
        return None

    def _take(self, h: float, settle: bool = True) -> None:
        """Accept the step just tried, noting samples inside it."""
        self._note_inside(h)
        self.stepper.accept()
        self.t, self.y = float(self.stepper.span[0]), self.stepper.y
        self.margins = self.stepper.margins()
        self.flight = np.inf if self.t > 0 and self.flight < np.inf and self._off() else self.flight
        self._watch_health()
        if settle and self._drifted():
            self.y = self.resolver.project(self.t, self.y)
            self.margins = self.stepper.begin(self.t, self.y)

    def _off(self) -> bool:
        return not bool((self.model.records["mode"] == 0).any())

    def _drifted(self) -> bool:
        found, records = self.model.found, self.model.records
        closed = (records["mode"] > 0) & (records["coast"] == 0)
        pins = records["kind"] == PIN
        gaps = np.where(pins, np.abs(found["normal"]).max(axis=1, initial=0.0), np.abs(found["gap"]))
        stuck = closed & (records["mode"] > 1)
        return bool(
            (gaps[closed] > 1e-12).any()
            or (np.abs(found["rate"][closed & ~pins]) > 1e-12).any()
            or (np.abs(found["slide"][stuck]) > 1e-12).any()
        )

    def _watch_health(self) -> None:
        """Say when constraints become dependent, and when a joint leaves its range."""
        verdict = self.model.work.verdict[0]
        deficient = bool(verdict["rank"] < verdict["rows"])
        if deficient and not self.dependent:
            detail = {"dependent": int(verdict["rows"] - verdict["rank"]), "residual": float(verdict["residual"])}
            self.resolver.say(self.t, self.y, "dependent", 0, detail)
        self.dependent = deficient
        if not np.isfinite(self.y).all():
            raise NotFinite(f"the state of {self.system.robot.name} is not finite at t = {self.t:g} s")
        self._watch_limits()

    def _watch_limits(self) -> None:
        robot = self.system.robot
        if robot.nq != robot.nv:
            return
        limits, q = robot._limits, self.y[: robot.nq]
        out = set(np.flatnonzero((q < limits.lower - 1e-9) | (q > limits.upper + 1e-9)).tolist())
        for j in out - self.beyond:
            self.resolver.say_joint(self.t, self.y, robot.dof_names[j], float(q[j]))
        self.beyond = out

    # ------------------------------------------------------------------ events

    def _triggers(self, fallen: Sequence[int]) -> dict[int, int]:
        """Contact → which of its margins fell; −1 → the friction problem's determinant."""
        last = MARGINS * self.model.count
        return {(-1 if j == last else j // MARGINS): j % MARGINS for j in sorted(fallen, reverse=True)}

    def _resolve(self, triggers: dict[int, int], paradox: bool = False) -> None:
        turned = {i for i, margin in triggers.items() if i >= 0 and margin == LEVERAGE_MARGIN}
        if turned:
            self._coast(turned)
            triggers = {i: margin for i, margin in triggers.items() if i not in turned}
            if not triggers:
                self._arm(self.stepper.begin(self.t, self.y), self._noise())
                return
        self.t, self.y, self.flight = self.resolver.resolve(
            self.t, self.y, triggers, self.bounces, self.system.shortest_flight, paradox
        )
        if self.resolver.limit is not None:
            self.pending, self.resolver.limit = self.resolver.limit, None
        margins = self.stepper.begin(self.t, self.y)
        self._arm(margins, self._noise())
        self.h = min(self.h, 1e-2)

    def _coast(self, turned: set[int]) -> None:
        """Carry singular constraints through by their own smooth force, or hold them again."""
        for i in sorted(turned):
            if self.model.records[i]["coast"]:
                self.model.records[i]["coast"] = 0
                self.y = self.resolver.project(self.t, self.y)
            else:
                self.resolver.say(self.t, self.y, "dependent", i, {"dependent": 1})
                self.coaster.begin(self.t, self.y, i)

    def _appointment(self) -> None:
        """What was due at this time: the end of a series of bounces, a ride that turns."""
        if self.pending is not None and self.t >= self.pending[0]:
            for i in self.pending[1]:
                self.resolver.say(self.t, self.y, "zeno", i, self.resolver.tail, before=0)
            self.pending = None
        turning = False
        for record in self.model.records:
            moving = float(record["start"] <= self.t < record["stop"])
            if np.any(record["velocity"]) and moving != record["moving"]:
                record["moving"], turning = moving, True
        if turning:
            self._resolve({})

    # ------------------------------------------------------------------ results

    def _note_inside(self, h: float) -> None:
        end = self.t + h
        if self.next_note >= len(self.notes) or self.notes[self.next_note] > end + 1e-15:
            return
        step = self.stepper.step
        y_end, K_end = step.y.copy(), step.K[12].copy()
        found = self.model.found.copy()
        extended = False
        while self.next_note < len(self.notes) and self.notes[self.next_note] <= end + 1e-15:
            time = float(self.notes[self.next_note])
            self.next_note += 1
            if end - time <= 1e-14:
                self.noted.append((time, y_end.copy(), self.model.records["mode"].copy(), found["force"].copy()))
                continue
            if not extended:
                self.stepper.extend()
                extended = True
            y = self.stepper.inside((time - self.t) / h)
            self.stepper.slope(time, y, step.point)
            self.noted.append((time, y, self.model.records["mode"].copy(), self.model.found["force"].copy()))
        if extended:
            step.y[:], step.K[12] = y_end, K_end
            self.stepper.slope(end, step.y, step.K[12])

    def state(self) -> HybridState:
        """The state reached."""
        nq = self.system.robot.nq
        memory = Memory(
            self.model.records.copy(), self.fresh, self.bounces, self.pending, self.h, self.dependent,
            self.model.work.pull.copy() if self.model.records["coast"].any() else None,
            None if self.stepper.force is not None else self.stepper.tau.copy(), frozenset(self.beyond),
        )  # fmt: skip
        forces = self.model.found["force"].copy()
        return HybridState(self.t, self.y[:nq].copy(), self.y[nq:].copy(), self.system._modes(), forces, memory)

    def samples(self) -> Samples:
        """What was asked to be noted."""
        nq, k, many = self.system.robot.nq, self.model.count, len(self.noted)
        y = np.array([n[1] for n in self.noted]).reshape(many, len(self.y))
        times, modes = np.array([n[0] for n in self.noted]), np.array([n[2] for n in self.noted], dtype=int)
        forces = np.array([n[3] for n in self.noted]).reshape(many, k, 3)
        return Samples(times, y[:, :nq], y[:, nq:], modes.reshape(many, k), forces)

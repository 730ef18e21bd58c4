"""A way through modes and events: steps while nothing happens, and what to do where something does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from palpate.checks import Array
from palpate.errors import InconsistentContact, NoSolution, NotFinite
from palpate.tools.contact.modes.accelerations import follow_creep
from palpate.tools.contact.modes.dynamics import joint_friction, joint_modes
from palpate.tools.contact.modes.model import ContactModel
from palpate.tools.contact.motion import steps
from palpate.tools.contact.motion.events import GRAZE, EventHandler, Memory, Rules, dips, first_fall, locate
from palpate.tools.contact.motion.steps import Force, Stepper
from palpate.tools.contact.touch.contacts import FREE, MODES, STICKING, Mode
from palpate.tools.contact.touch.records import COAST_TERMS, LEVERAGE_MARGIN, MARGINS, NORMAL_MARGIN, Touching

_FIT_SPAN = 2e-3  # s: how far back the fit looks
_FIT_POINTS = 6
_FIRST_STRIDE, _LONGEST_AFTER_EVENT = 1e-3, 1e-2  # s: the step tried first where nothing is known; after an event

NO_TIMES = np.zeros(0)
_STATE_FIELDS = ["origin", *list(Touching.fields)[list(Touching.fields).index("mode") :]]


def state_of(model: ContactModel, time: float, q: Array, v: Array, memory: Memory) -> HybridState:
    """A state with the present modes and forces of the contacts and joints."""
    modes = model.records["mode"].tolist()
    forces = memory.forces = model.states["force"].copy()
    contacts = tuple(MODES[mode] for mode in modes[: model.given])
    joints = joint_modes(model, modes), joint_friction(model, forces)
    return HybridState(time, q, v, contacts, forces[: model.given].copy(), *joints, memory)


@dataclass(frozen=True)
class HybridState:
    """A robot with its contacts at an instant.

    Attributes:
        time: s.
        q, v: coordinates and velocities.
        modes: of each contact.
        forces: contact × 3, of the surfaces on the robot, world axes, N, under the force held until now.
        joint_modes: of each velocity: "sliding" or "sticking" where its joint has dry friction, else "free".
        joint_friction: torque of dry friction on each velocity, N·m or N.
        memory: what the integrator keeps between calls.
    """

    time: float
    q: Array
    v: Array
    modes: tuple[Mode, ...]
    forces: Array
    joint_modes: tuple[Mode, ...]
    joint_friction: Array
    memory: Memory = field(repr=False, compare=False)


class Samples(NamedTuple):
    """States inside an advance: time (m), q, v, modes (codes, see `MODES`), forces (m × contact × 3)."""

    time: Array
    q: Array
    v: Array
    modes: Array
    forces: Array


class Simulation:
    """From a state on, under one force after another: `push` a force, then `go` as far as it is held.

    Attributes:
        t, y: the state reached, y = [q; v].
        events: so far, in order.
    """

    def __init__(self, model: ContactModel, stepper: Stepper, state: HybridState, rules: Rules, notes: Array) -> None:
        bounces = {i: replace(history) for i, history in state.memory.bounces.items()}
        memory = self.memory = replace(state.memory, bounces=bounces)
        self.model, self.stepper, self.control = model, stepper, stepper.control
        model.records[_STATE_FIELDS] = memory.records[_STATE_FIELDS]
        self.control.stride, self.control.dependent, self.control.flight = memory.stride, memory.dependent, np.inf
        model.states["force"] = memory.forces
        if memory.pull is not None:
            model.work.pull[:] = memory.pull
        self.begun = False
        self.t, self.y = state.time, np.concatenate([state.q, state.v])
        shapes = (model.robot.nq,), (model.robot.nv,), (model.given,), (model.given, 3)
        self.notes, self.next_note = Samples(notes.copy(), *(np.zeros((len(notes), *shape)) for shape in shapes)), 0
        self.handler = EventHandler(model, stepper, rules, memory)
        self.events = self.handler.events
        self.moving_surfaces = [record for record in model.records if np.any(record["velocity"])]
        self.ride_times = [float(record[end]) for record in self.moving_surfaces for end in ("start", "stop")]

    # ------------------------------------------------------------------ the loop

    def push(self, force: Array | Force) -> None:
        """The generalised force from here on: numbers, held, or a function of (t, q, v)."""
        if self.begun:
            self.memory.force = self._held()
        self.stepper.push(force)
        self.begun = False

    def go(self, until: float) -> Literal["done", "painleve"]:
        """Reach a time, event by event; a force just pushed acts at once, even if that time is now."""
        stalled = self.control.steps = 0
        if not self.begun:
            self._begin_at_state()
            self.begun = True
        while self.t < until and not self.handler.stopped:
            before = self.t
            self._advance(min(until, self._next_due_time()))
            stalled = stalled + 1 if self.t - before < steps.SHORTEST else 0
            if stalled > 100:
                raise NoSolution(f"modes keep changing at t = {self.t:.12g} s", hint=str(self.events[-1]))
        return "painleve" if self.handler.stopped else "done"

    def catch_up(self) -> None:
        """Stand where compiled steps outside this object have come to."""
        self.t, self.y = self.stepper.step.t, self.stepper.y

    def take_over(self, status: int, until: float) -> Literal["done", "painleve"]:
        """Go on after `catch_up` from where compiled steps have stopped with a status of `step_until_event`."""
        self._answer(self.stepper.check_status(status))
        return self.go(until)

    def _answer(self, status: int) -> None:
        """Do the work that compiled steps have asked for."""
        if status == steps.CHECK_STATE:
            self._maintain_state()
        elif status == steps.TURNED:
            self._evaluate_again()

    @property
    def steady_until(self) -> float:
        """Up to where compiled steps alone may go: the next appointment."""
        return self._next_due_time() if self.begun else self.t

    def _begin_at_state(self) -> None:
        if self.memory.fresh:
            self._resolve({})  # before its first step a contact's mode is found, not changed
            self.events[:] = [e for e in self.events if e.detail or e.what == "painleve"]
            self.memory.fresh = False
            return
        self._answer_jump()
        if steps.is_wedged(self.model.machine.address):
            self._resolve({})
            return
        if not self.stepper.stand(self.t, self.y):  # the force has jumped: a tick is an event
            wrong = np.flatnonzero(self.control.margins < -self.control.noise)
            self._resolve(self._triggers([int(j) for j in wrong]))
        elif follow_creep(self.model.machine.address):
            self._evaluate_again()

    def _advance(self, end: float) -> None:
        """Compiled steps to a time, or to where something happens on the way."""
        status = self.stepper.step_to(self.t, self.y, end)
        self.catch_up()
        if status == steps.TOO_SHORT:
            self._handle_short_step()
        elif status == steps.LOOK_CLOSER:
            self._locate_event()
        else:
            self._answer(status)
        if self.t >= end:
            self._handle_due()

    def _next_due_time(self) -> float:
        """The next time at which a surface starts or stops, a series of bounces ends or the state is to be noted."""
        times = [*self.ride_times, *self.notes.time[self.next_note : self.next_note + 1]]
        times += [] if self.memory.pending is None else [self.memory.pending[0]]
        return min((t for t in times if t > self.t), default=np.inf)

    def _handle_short_step(self) -> None:
        if self.stepper.step.margins[-1] < 1e-3:  # the friction problem is turning singular: Painlevé
            self._resolve({}, paradox=True)
            return
        raise NoSolution(f"the step shrank below {steps.SHORTEST:g} s at t = {self.t:.12g} s")

    def _locate_event(self) -> None:
        """The step just tried, up to the first event in it if there is one."""
        h, control = self.stepper.step.h, self.control
        control.stride = steps.next_stride(self.stepper.step.address, control.address)
        lengths, margins = self.stepper.sampled_margins()
        bracket = first_fall(self.control, lengths, margins) or self._examine_dips(lengths, margins)
        length, fallen = (h, []) if bracket is None else locate(self.stepper, bracket)
        if length > 0.0:
            self.stepper.try_step(length, self.control.margins)
            self._accept_step()
        if bracket is None:
            self._maintain_state()
        else:
            self._check_state()
            self._resolve(self._triggers(fallen))

    def _examine_dips(self, lengths: Array, margins: Array) -> tuple[float, float, list[int]] | None:
        """A margin that falls and rises between two samples has fallen; a gap that only touches 0 has grazed."""
        for length, j, least in dips(self.stepper, lengths, margins):
            if least < -self.control.noise[j]:
                return float(max(lengths[lengths < length], default=0.0)), length, [j]
            i, kind = divmod(j, MARGINS)
            if kind == NORMAL_MARGIN and self.model.records[i]["mode"] == FREE and least < GRAZE:
                self.stepper.try_step(length, self.control.margins)
                self.handler.add_event(self.t + length, self.stepper.step.y, "graze", i, {"gap": least})
        return None

    def _accept_step(self) -> None:
        """Accept the step just tried, which an event may have shortened: the next one is as long as it was to be."""
        stride = self.control.stride
        steps.take_step(self.model.machine.address, self.stepper.step.address, self.control.address)
        self.control.stride = stride
        self.catch_up()

    def _maintain_state(self) -> None:
        """Check the state just reached, and bring it back onto its constraints."""
        if self.t > 0 and not (self.model.records["mode"] == FREE).any():
            self.control.flight = np.inf
        self._check_state()
        self._project_if_drifted()
        if self.stepper.force is not None and steps.is_wedged(self.model.machine.address):
            self._resolve({})
        if follow_creep(self.model.machine.address):
            self._evaluate_again()

    def _evaluate_again(self) -> None:
        """Evaluate the state with other rows or slip directions, and bring it back onto what they hold."""
        self.stepper.begin(self.t, self.y)
        self._project_if_drifted()

    def _project_if_drifted(self) -> None:
        if steps.has_drifted(self.model.machine.address):
            self.y = self.handler.project(self.t, self.y)
            self.stepper.begin(self.t, self.y)

    def _check_state(self) -> None:
        """Add an event when constraints become dependent, and when a joint leaves its range."""
        verdict = self.model.work.verdict
        deficient = verdict.rank < verdict.rows
        stuck = (self.model.records["mode"][self.model.given :] == STICKING).any()
        if deficient and not self.control.dependent and not (stuck and self.memory.told):
            self.memory.told = bool(stuck)
            detail = {"dependent": verdict.rows - verdict.rank, "residual": verdict.residual}
            self.handler.add_event(self.t, self.y, "dependent", 0, detail)
        self.control.dependent = deficient
        driven = steps.driven_by_friction(self.model.machine.address, self.control.address)
        if driven >= 0:
            f = self.model.states[driven]
            power = float(f["force"] @ f["slide"])
            raise InconsistentContact(self.model.names[driven], "friction against the slip", power, 0.0, self.t)
        if not np.isfinite(self.y).all():
            raise NotFinite(f"the state of {self.model.robot.name} is not finite at t = {self.t:g} s")
        self._check_limits()

    def _check_limits(self) -> None:
        robot = self.model.robot
        if robot.nq != robot.nv:
            return
        limits, q = robot._limits, self.y[: robot.nq]
        out = set(np.flatnonzero((q < limits.lower - 1e-9) | (q > limits.upper + 1e-9)).tolist())
        for j in out - self.memory.out_of_range:
            self.handler.add_limit_event(self.t, self.y, robot.dof_names[j], float(q[j]))
        self.memory.out_of_range = frozenset(out)

    # ------------------------------------------------------------------ events

    def _triggers(self, fallen: Sequence[int]) -> dict[int, int]:
        """Contact → which of its margins fell, the first of several."""
        return {j // MARGINS: j % MARGINS for j in sorted(fallen, reverse=True) if j < MARGINS * self.model.count}

    def _resolve(self, triggers: dict[int, int], paradox: bool = False) -> None:
        turned = {i for i, margin in triggers.items() if margin == LEVERAGE_MARGIN}
        if turned:
            self._coast(turned)
            triggers = {i: margin for i, margin in triggers.items() if i not in turned}
            if not triggers:
                self.stepper.stand(self.t, self.y)
                return
        self.t, self.y, self.control.flight = self.handler.resolve(self.t, self.y, triggers, paradox)
        self.stepper.stand(self.t, self.y)
        # Before a paradox steps shrink towards its singular point; they say nothing about the motion after it.
        self.control.stride = _FIRST_STRIDE if paradox else min(self.control.stride, _LONGEST_AFTER_EVENT)

    def _coast(self, turned: set[int]) -> None:
        """Carry singular constraints through by their own smooth force, or hold them again."""
        for i in sorted(turned):
            if self.model.records[i]["coast"]:
                self.model.records[i]["coast"] = 0
                self.y = self.handler.project(self.t, self.y)
            else:
                self.handler.add_event(self.t, self.y, "dependent", i, {"dependent": 1})
                self._begin_coasting(i)

    def _begin_coasting(self, i: int) -> None:
        """Let contact i coast from here, through a singular constraint: its normal has lost its grip on the joints.

        At a branch point (two unit links folded on each other with the tip on a line through the base) the normal row
        n·J is zero: the multiplier is not determined, and nearby it is a quotient of two small numbers. The
        constraint's generalised force Q = (n·J)ᵀ λ stays smooth along the branch, so it is fitted by a cubic before the
        point and carried on until the row has grown again; then the constraint holds as before. The row is small
        meanwhile, and so is the error.
        """
        times = -_FIT_SPAN * np.linspace(0.0, 1.0, _FIT_POINTS)
        forces = [self._generalised_force(self.t, self.y, i)]
        for s in times[1:]:
            self.stepper.begin(self.t, self.y)
            self.stepper.try_step(float(s), self.control.margins)
            forces.append(self._generalised_force(self.t + float(s), self.stepper.step.y.copy(), i))
        powers = np.vander(times / _FIT_SPAN, COAST_TERMS, increasing=True)
        fit = np.linalg.lstsq(powers, np.array(forces), rcond=None)[0]
        self.model.work.pull[i] = fit / _FIT_SPAN ** np.arange(COAST_TERMS)[:, None]
        self.model.records[i]["coast"], self.model.records[i]["since"] = 1, self.t

    def _generalised_force(self, t: float, y: Array, i: int) -> Array:
        """Jᵀ f of a contact at a state, in the present modes."""
        self.stepper.slope(t, y)
        return self.model.work.Jc[i].T @ self.model.states[i]["force"]

    def _answer_jump(self) -> None:
        """A new force from a tick on: what the singular constraints answer to the change."""
        coasting = np.flatnonzero(self.model.records["coast"])
        if self.memory.force is None or self.stepper.force is not None or not len(coasting):
            return
        nq, change = self.model.robot.nq, self.stepper.tau - self.memory.force
        snap = self.model.survey(self.t, self.y[:nq], self.y[nq:])
        for i in coasting:
            size = float(np.linalg.norm(snap.normals[i]))
            if size > 1e-9:
                row = snap.normals[i] / size
                inverse = np.linalg.solve(snap.M, np.column_stack([row, change]))
                self.model.work.pull[i, 0] -= row * (row @ inverse[:, 1]) / (row @ inverse[:, 0])

    def _handle_due(self) -> None:
        """Do what is due at this time: note the state, end a series of bounces, start or stop a surface."""
        notes, nq = self.notes, self.model.robot.nq
        while self.next_note < len(notes.time) and notes.time[self.next_note] <= self.t:
            k = self.next_note
            notes.q[k], notes.v[k] = self.y[:nq], self.y[nq:]
            given = self.model.given
            notes.modes[k] = self.model.records["mode"][:given]
            notes.forces[k] = self.model.states["force"][:given]
            self.next_note += 1
        if self.memory.pending is not None and self.t >= self.memory.pending[0]:
            _, contacts, uncertainty = self.memory.pending
            for i in contacts:
                self.handler.add_event(self.t, self.y, "zeno", i, {"uncertainty": uncertainty}, before=FREE)
            self.memory.pending = None
        changed = False
        for record in self.moving_surfaces:
            moving = float(record["start"] <= self.t < record["stop"])
            if moving != record["moving"]:
                record["moving"], changed = moving, True
        if changed:
            self._resolve({})

    # ------------------------------------------------------------------ results

    def _held(self) -> Array | None:
        return None if self.stepper.force is not None else self.stepper.tau.copy()

    def state(self) -> HybridState:
        """The state reached."""
        model, nq = self.model, self.model.robot.nq
        pull = model.work.pull.copy() if model.records["coast"].any() else None
        step = {"stride": self.control.stride, "dependent": self.control.dependent}
        memory = replace(self.memory, records=model.records.copy(), pull=pull, force=self._held(), **step)
        return state_of(model, self.t, self.y[:nq].copy(), self.y[nq:].copy(), memory)

    def samples(self) -> Samples:
        """The samples noted so far."""
        noted = Samples(*(values[: self.next_note] for values in self.notes))
        return noted._replace(modes=noted.modes.astype(int))

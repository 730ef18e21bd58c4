"""The exact loop: the same sensors, laws, guards and records as the compiled loop, over an exact hybrid plant.

Between two physics steps the torque is held, and a `Simulation` integrates robot and contacts from event to
event; a control tick is an event too. What the law measures at a tick are the multipliers under the torque held until
then (nothing before the first); what is recorded are those under the torque that the tick has just set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.engine.kernels import address_of_record, call_law, clear, kernel, put
from palpate.engine.library import mj_differentiatePos
from palpate.engine.records import Record, Vector
from palpate.engine.views import address_of
from palpate.errors import InvalidInput, PalpateError
from palpate.run.loop import loop
from palpate.run.loop.acting_forces import add_exact_contacts
from palpate.run.loop.state import NO_ANSWER, PAINLEVE, RUNNING, Loop, TouchReading
from palpate.run.stepping import Ending, run_python
from palpate.tools.contact.integrator import Step
from palpate.tools.contact.modes.accelerations import OK, follow_creep
from palpate.tools.contact.motion.events import ContactEvent
from palpate.tools.contact.motion.hybrid import HybridSystem
from palpate.tools.contact.motion.simulation import Simulation
from palpate.tools.contact.motion.steps import (
    LOOK_CLOSER,
    TURNED,
    coasts,
    is_wedged,
    stand,
    step_until_event,
    turn_slips,
)
from palpate.tools.contact.system import exact_system
from palpate.tools.contact.touch.contacts import JointStop
from palpate.tools.contact.touch.records import PIN, Machine, StepControl
from palpate.trace import Event, Outcome
from palpate.world.config import World
from palpate.world.plants.plant import Plant

if TYPE_CHECKING:
    from palpate.run.assemble.assemble import Assembly
    from palpate.run.run import Run


EXACT_SLICE = 200  # physics steps between two looks at the progress bar and Ctrl-C
# Where compiled steps leave off: a torque changes modes, a creeping slip turns with it, something happens on the way.
_SETTLE, _REDIRECT, _ADVANCE = 101, 102, 103
_MEANING = {
    "touchdown": "touches",
    "impact": "takes an impulse",
    "edge": "leaves an edge",
    "stick": "sticks",
    "slip": "slips",
    "reversal": "slips the other way",
    "side": "changes sides",
    "graze": "grazes its surface",
    "lift-off": "lifts off",
    "zeno": "has bounced infinitely often",
    "painleve": "has no or several solutions",
    "dependent": "is redundant with other contacts",
    "limit": "leaves its range",
}


class ExactLoop(Record):
    """The parts of the hybrid system that the compiled loop needs."""

    machine: Machine
    step: Step
    control: StepControl
    tau: Vector  # drives and pushes, as the last tick has set them
    begun: bool = False  # whether a torque has ever acted
    slice: int = 0  # physics steps to take
    steady_until: float = 0.0  # s: where something is due that is not found by looking at margins
    status: int = 0  # of the steps on the way, where the loop has left off there


class ExactPlant:
    """The hybrid system behind a run, its present state and the events so far.

    Attributes:
        system: the robot as the plant has it, with its contacts.
        touches: names of the surface contacts and pins, which come first among the system's contacts.
        readings: what each of them does to the robot, as the loop reads it.
        simulation: the way through modes and events, up to the last step.
        trouble: what ended the run, where the equations had no answer.
    """

    def __init__(self, run: Run, plant: Plant, felt: set[int]) -> None:
        _refuse_what_is_not_exact(run)
        bodies = _bodies(plant, run.world)
        self.system: HybridSystem = exact_system(plant, run.robot, run.world)
        self.touches = self.system.names[: len(bodies)]
        self.readings = [TouchReading(felt=body in felt) for body in bodies]
        self.simulation: Simulation = self.system.simulation(self.system.start(*run.start()))
        self.tau = np.zeros(run.robot.nv)
        parts = {"machine": self.system.model.machine, "step": self.system.stepper.step}
        self.compiled = ExactLoop(**parts, control=self.system.stepper.control, tau=self.tau)
        self.trouble: PalpateError | None = None
        self._machine, self._step = self.system.model.machine.address, self.system.stepper.step.address

    def settle(self, L: Loop) -> int:
        """Take the torque that a tick has set: the modes and forces it leads to at once."""
        if take_torque(L.address, self.tau) or not self.simulation.begun:
            return self.push(L)
        renew_contacts(L.address)
        return RUNNING

    def push(self, L: Loop) -> int:
        """Let the torque act: the modes and forces it leads to at once."""
        self.simulation.push(self.tau.copy())
        return self._respond(L, lambda: self.simulation.go(self.simulation.t))

    def redirect_slip(self, L: Loop) -> int:
        """Let a torque act that turns a creeping slip and changes no mode."""
        return self._respond(L, lambda: self.simulation.take_over(TURNED, self.simulation.stepper.step.t))

    def _respond(self, L: Loop, go: Callable[[], str]) -> int:
        status = self._status_after(go)
        show(L.address, self._machine)
        renew_contacts(L.address)
        return status

    def advance(self, L: Loop) -> int:
        """One physics step, event by event, and the work done in it."""
        depart(L.address, self._step)
        return self._arrive(L, self.simulation.go)

    def finish_step(self, L: Loop) -> int:
        """The rest of a physics step in which compiled steps have left off."""
        return self._arrive(L, lambda until: self.simulation.take_over(self.compiled.status, until))

    def _arrive(self, L: Loop, go: Callable[[float], str]) -> int:
        seen, until = len(self.simulation.events), (L.step + 1) * L.dt
        status = self._status_after(lambda: go(until))
        if len(self.simulation.events) > seen:
            L.energy.dissipated += self._impact_loss(self.simulation.events[seen:])
        arrive(L.address, self._machine, self._step)
        return status

    def _status_after(self, go: Callable[[], str]) -> int:
        try:
            outcome = go()
        except PalpateError as error:
            self.trouble = error
            return NO_ANSWER
        return PAINLEVE if outcome == "painleve" else RUNNING

    def _impact_loss(self, events: list[ContactEvent]) -> float:
        """Kinetic energy that impacts took, J."""
        lost = 0.0
        for event in {event.time: event for event in events}.values():
            change = event.v_before - event.v_after
            if change.any():
                mean = 0.5 * (event.v_before + event.v_after)
                lost += float(mean @ self.system.robot.mass_matrix(event.q) @ change)
        return lost

    # ------------------------------------------------------------------ for the trace

    def stepper(self, assembly: Assembly, ending: Ending) -> Callable[[int], int]:
        """The function that takes up to a number of steps, a slice at a time."""
        return lambda steps: run_exact(assembly, self, min(steps, EXACT_SLICE), ending)

    def outcome(self, period: float) -> Outcome:
        """How a run ended whose equations had no answer, or which was told to stop there."""
        t = self.simulation.t
        tick = int(t / period + 1e-9)
        if self.trouble is not None:
            return Outcome("diverged", str(self.trouble), t, tick, "exact contact")
        last = next((e for e in reversed(self.simulation.events) if e.what == "painleve"), None)
        name = last.contact if last else "a contact"
        kind = f"{last.detail['kind']}, coefficient {last.detail['coefficient']:.6g} 1/kg" if last else "no answer"
        return Outcome("stopped", f"Painlevé's paradox at {name!r} ({kind})", t, tick, name)

    def trace_events(self, period: float) -> list[Event]:
        """Every event as a trace lists it."""
        return [
            Event(
                event.time,
                int(event.time / period + 1e-9),
                f"contact.{event.contact}",
                event.what,
                f"{event.contact} {_MEANING.get(event.what, event.what)}: {_mode_change(event)}",
            )
            for event in self.simulation.events
        ]

    def event_table(self) -> list[dict[str, Any]]:
        """Every event as plain data."""
        return [_row(event) for event in self.simulation.events]

    def stop_warnings(self) -> list[str]:
        """Joints that met their stops, and when first."""
        named = zip(self.system.names, self.system.contacts)
        stops = {name: touch.joint for name, touch in named if isinstance(touch, JointStop)}
        first: dict[str, float] = {}
        for event in self.simulation.events:
            if event.contact in stops and event.what == "touchdown":
                first.setdefault(stops[event.contact], event.time)
        return [f"{joint} reached its stop at {t:.6g} s, which acts as an exact contact" for joint, t in first.items()]

    def assumptions(self, world: World) -> list[str]:
        """The assumptions of exact contact, in plain words."""
        notes = [
            "contact is exact: rigid surfaces, Coulomb friction, instantaneous impacts;"
            " forces are multipliers, impulses are listed with the events",
            "bodies touch at points and spheres, not along whole links; joints stop without rebound",
            "between two physics steps the joint torques are held",
        ]
        if world.pushes:
            notes.append("pushes act as joint forces held over each physics step")
        events = self.simulation.events
        if any("order" in event.detail for event in events):
            notes.append(
                f"several contacts took impulses at one instant: their order is {world.exact.order}; theories differ,"
                " and the other order (world.exact.order) may give other velocities"
            )
        if any(event.what == "dependent" for event in events):
            notes.append(
                "joints or contacts that stick hold the robot more than once: rigid mechanics does not determine their"
                " forces, and those nearest to the forces before are reported"
            )
        return notes


def _mode_change(event: ContactEvent) -> str:
    return event.before if event.before == event.after else f"{event.before} → {event.after}"


def _row(event: ContactEvent) -> dict[str, Any]:
    row = {"time": event.time, "what": event.what, "contact": event.contact}
    row |= {"before": event.before, "after": event.after, "where": [float(x) for x in event.where]}
    return row | {"detail": {key: _plain(value) for key, value in event.detail.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


@kernel
def take_torque(L: Loop, tau: Vector) -> bool:
    """Let tau be the generalised force of drives and pushes now; whether it was another."""
    changed = False
    for k in range(tau.size):
        now = L.row.tau[k] + L.pushed.force[k]
        changed = changed or now != tau[k]
        tau[k] = now
    return changed


@kernel
def depart(L: Loop, step: Step) -> None:
    """Note where a physics step begins."""
    put_part(L.q_old, step.origin, 0)
    clear(step.integrals)


@kernel
def arrive(L: Loop, machine: Machine, step: Step) -> None:
    """Store the end of a physics step: the plant's state, the work of held torques, the contacts as they are."""
    plant, moved = L.plant, L.mean_v
    mj_differentiatePos(plant.model, address_of(moved), 1.0, address_of(L.q_old), address_of(step.origin))
    for k in range(moved.size):
        L.energy.injected += L.row.tau[k] * moved[k]
        L.energy.pushed += L.pushed.force[k] * moved[k]
    put_part(plant.qpos, step.origin, 0)
    put_part(plant.qvel, step.origin, plant.qpos.size)
    put(plant.qacc, 0, machine.work.acceleration)
    plant.time = (L.step + 1) * L.dt
    L.energy.dissipated += step.integrals[0]
    L.energy.pushed += step.integrals[1]
    show(L, machine)


@kernel(inline=True)
def put_part(target: Vector, source: Vector, start: int) -> None:
    """target = source[start : start + len(target)]."""
    for k in range(target.size):
        target[k] = source[start + k]


@kernel
def show(L: Loop, machine: Machine) -> None:
    """Write modes, gaps, multipliers and forces of the surface contacts and pins where the loop records them."""
    row = L.row
    for k in range(len(L.touches)):
        c, f, reading = machine.contacts[k], machine.states[k], L.touches[k]
        pinned = c.kind == PIN
        across = total = 0.0
        for i in range(3):
            reading.force[i] = row.touch_forces[k, i] = f.force[i]
            reading.position[i] = row.touch_positions[k, i] = f.point[i] - (0.0 if pinned else c.radius * f.normal[i])
            across += f.force[i] * f.normal[i]
            total += f.force[i] ** 2
        row.contact_mode[k] = c.mode
        row.contact_gap[k] = 0.0 if pinned else f.gap
        row.contact_multiplier[k] = math.sqrt(total) if pinned else across


@kernel
def renew_contacts(L: Loop) -> None:
    """The contact wrench of the exact contacts as they are now."""
    clear(L.row.contact_wrench)
    add_exact_contacts(L)


def run_exact(assembly: Assembly, exact: ExactPlant, steps: int, ending: Ending) -> int:
    """Up to `steps` physics steps over an exact plant; how the last one went."""
    if assembly.compiled:
        return _run_compiled(assembly, exact, steps)
    return run_python(assembly, steps, ending, partial(_second_half, assembly.loop, exact))


def _run_compiled(assembly: Assembly, exact: ExactPlant, steps: int) -> int:
    """The same with a compiled law: in machine code from event to event."""
    L, X, end = assembly.loop, exact.compiled, assembly.loop.step + steps
    status = RUNNING
    while L.step < end and status == RUNNING:
        X.slice, X.steady_until = end - L.step, exact.simulation.steady_until
        X.begun = exact.simulation.begun
        status = assembly.rescues.call(steps_to_event, X.address)
        if X.begun:
            exact.simulation.catch_up()
        if status in (_SETTLE, _REDIRECT):
            status = _record_and_advance(L, exact, exact.push(L) if status == _SETTLE else exact.redirect_slip(L))
        elif status == _ADVANCE:
            status = exact.finish_step(L)
            status = loop.end_step(L.address) if status == RUNNING else status
    return status


@kernel
def steps_to_event(L: Loop, X: ExactLoop) -> int:
    """Physics steps with a compiled law while nothing happens; how the last one went, or where it left off."""
    for _ in range(X.slice):
        due = loop.before_law(L)
        if due and not L.blind:
            tick = address_of_record(L.tick)  # pyright: ignore[reportCallIssue]
            call_law(L.law, tick, L.gains, L.memory, L.terms)  # pyright: ignore[reportCallIssue]
        status = loop.decide(L, due)
        if status == RUNNING and (take_torque(L, X.tau) or not X.begun):
            status = _take(L, X)
        if status != RUNNING:
            return status
        renew_contacts(L)
        status = loop.write_down(L)
        if status != RUNNING:
            return status
        depart(L, X.step)
        X.control.until, X.control.steps = (L.step + 1) * L.dt, 0
        X.status = LOOK_CLOSER if X.control.until >= X.steady_until else step_until_event(X.machine, X.step, X.control)
        if X.status != OK:
            return _ADVANCE
        arrive(L, X.machine, X.step)
        status = loop.end_step(L)
        if status != RUNNING:
            return status
    return RUNNING


@kernel
def _take(L: Loop, X: ExactLoop) -> int:
    """Let a new torque act, where it changes no mode and no singular or wedged contact has to answer it."""
    if not X.begun or X.step.t >= X.steady_until or is_wedged(X.machine) or coasts(X.machine):
        return _SETTLE
    put(X.machine.tau, 0, X.tau)
    if stand(X.machine, X.step, X.control) != OK:
        return _SETTLE
    if follow_creep(X.machine) and turn_slips(X.machine, X.step, X.control) != OK:
        return _REDIRECT
    show(L, X.machine)
    return RUNNING


def _second_half(L: Loop, exact: ExactPlant, due: int) -> int:
    """Do the part of a physics step that follows the law: command, record, advance to the next step."""
    status = loop.decide(L.address, due == 1)
    return _record_and_advance(L, exact, exact.settle(L) if status == RUNNING else status)


def _record_and_advance(L: Loop, exact: ExactPlant, status: int) -> int:
    """Once the torque has been taken: record, and the way to the next step."""
    status = loop.write_down(L.address) if status == RUNNING else status
    status = exact.advance(L) if status == RUNNING else status
    return loop.end_step(L.address) if status == RUNNING else status


def _bodies(plant: Plant, world: World) -> list[int]:
    """The body of each surface contact and pin."""
    bodies = [point.body for point in plant.points if point.on_robot for _ in plant.surfaces]
    return bodies + [(plant.tool if pin.frame is None else plant.frame(pin.frame)).body for pin in world.pins]


def _refuse_what_is_not_exact(run: Run) -> None:
    if run.robot.coordinates.coupled:
        raise InvalidInput(
            f"{run.robot.name} has mimic joints, which exact contact in a run does not hold yet; lock them"
        )
    if run.robot.unresisted:
        raise InvalidInput(f"{run.robot.name} has joints without mass, which exact contact cannot accelerate")

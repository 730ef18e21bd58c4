"""The exact loop: the same sensors, laws, guards and records as the compiled loop, over an exact hybrid plant.

Between two physics steps the torque is held, and a `Passage` integrates robot and contacts from event to
event; a control tick is an event too. What the law measures at a tick are the multipliers under the torque held until
then (nothing before the first); what is recorded are those under the torque that the tick has just set.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from palpate.contact.events import Event
from palpate.contact.hybrid import HybridSystem
from palpate.contact.integrator import Step
from palpate.contact.passage import Passage
from palpate.contact.records import PIN, Machine
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.library import mj_differentiatePos
from palpate.engine.records import Vector
from palpate.engine.views import address_of
from palpate.errors import InvalidInput, PalpateError
from palpate.run import loop
from palpate.run.ending import RAISED, Ending
from palpate.run.physics import add_exact_contacts
from palpate.run.rescue import FATAL
from palpate.run.state import NO_ANSWER, PAINLEVE, RUNNING, Loop, TouchReading
from palpate.world.config import World
from palpate.world.exact import exact_system
from palpate.world.plant import Plant

if TYPE_CHECKING:
    from palpate.run.assemble import Assembly
    from palpate.run.run import Run


EXACT_SLICE = 50  # physics steps between two looks at the progress bar and Ctrl-C


class ExactPlant:
    """The hybrid system behind a run, its present state and the events so far.

    Attributes:
        system: the robot as the plant has it, with its contacts.
        touches: names of the surface contacts and pins, which come first among the system's contacts.
        readings: what each of them does to the robot, as the loop reads it.
        passage: the way through modes and events, up to the last step.
        trouble: what ended the run, where the equations had no answer.
    """

    def __init__(self, run: Run, plant: Plant, felt: set[int]) -> None:
        _refuse_what_is_not_exact(run)
        bodies = _bodies(plant, run.world)
        self.system: HybridSystem = exact_system(plant, run.robot, run.world)
        self.touches = self.system.names[: len(bodies)]
        self.readings = [TouchReading(felt=body in felt) for body in bodies]
        self.passage: Passage = self.system.passage(self.system.start(*run.start()))
        self.tau = np.zeros(run.robot.nv)
        self.trouble: PalpateError | None = None
        self._machine, self._step = self.system.model.machine.address, self.system.stepper.step.address

    @property
    def time(self) -> float:
        """When the state is that has been reached, s."""
        return self.passage.t

    @property
    def events(self) -> list[Event]:
        """What has happened so far, in order."""
        return self.passage.events

    def settle(self, L: Loop) -> int:
        """Take the torque that a tick has set: the modes and forces it leads to at once."""
        status = RUNNING
        if take_torque(L.address, self.tau) or not self.passage.begun:
            self.passage.push(self.tau.copy())
            status = self._go(self.time)
            show(L.address, self._machine)
        renew_contacts(L.address)
        return status

    def advance(self, L: Loop) -> int:
        """One physics step, event by event, and the work done in it."""
        seen = len(self.events)
        depart(L.address, self._step)
        status = self._go((L.step + 1) * L.dt)
        if len(self.events) > seen:
            L.energy.dissipated += self._lost(self.events[seen:])
        arrive(L.address, self._machine, self._step)
        return status

    def _go(self, until: float) -> int:
        try:
            outcome = self.passage.go(until)
        except PalpateError as error:
            self.trouble = error
            return NO_ANSWER
        return PAINLEVE if outcome == "painleve" else RUNNING

    def _lost(self, events: list[Event]) -> float:
        """Kinetic energy that impacts took, J."""
        lost = 0.0
        for event in {event.time: event for event in events}.values():
            change = event.v_before - event.v_after
            if change.any():
                mean = 0.5 * (event.v_before + event.v_after)
                lost += float(mean @ self.system.robot.mass_matrix(event.q) @ change)
        return lost


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
    """What a physics step leaves: the plant's state, the work of held torques on the way, the contacts as they are."""
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
        c, f, reading = machine.contacts[k], machine.found[k], L.touches[k]
        pinned = c.kind == PIN
        across = total = 0.0
        for i in range(3):
            reading.force[i] = row.touch_forces[k, i] = f.force[i]
            reading.place[i] = f.point[i] - (0.0 if pinned else c.radius * f.normal[i])
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


def run_exact(assembly: Assembly, steps: int, ending: Ending) -> int:
    """Up to `steps` physics steps over an exact plant; how the last one went."""
    L, law, exact, call = assembly.loop, assembly.law, assembly.exact, assembly.rescues.call
    assert exact is not None
    for _ in range(steps):
        due = call(loop.first_half)
        if due == FATAL:
            return FATAL
        if due and not L.blind:
            with ending.noting("law", L.step):
                law.decide(L.tick)
            if ending.raised is not None:
                return RAISED
        status = _step(L, exact, due == 1)
        if status != RUNNING:
            return status
    return RUNNING


def _step(L: Loop, exact: ExactPlant, due: bool) -> int:
    """What follows the law in a physics step: command, record, and the way to the next step."""
    status = loop.decide(L.address, due)
    status = exact.settle(L) if status == RUNNING else status
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

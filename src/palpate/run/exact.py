"""The exact loop: the same sensors, laws, guards and records as the compiled loop, over an exact hybrid plant.

Between two physics steps the torque is held, and `HybridSystem.advance` integrates robot and contacts from event to
event; a control tick is an event too. What the law measures at a tick are the multipliers under the torque held until
then (nothing before the first); what is recorded are those under the torque that the tick has just set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.contact.contacts import MODES
from palpate.contact.events import Event
from palpate.contact.hybrid import HybridState, HybridSystem
from palpate.engine.kernels import clear, kernel
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
        state: at the last step.
        events: so far, in order.
        trouble: what ended the run, where the equations had no answer.
    """

    def __init__(self, run: Run, plant: Plant, felt: set[int]) -> None:
        _refuse_what_is_not_exact(run)
        bodies = _bodies(plant, run.world)
        self.system: HybridSystem = exact_system(plant, run.robot, run.world)
        self.touches = self.system.names[: len(bodies)]
        self._pins = len(bodies) - len(run.world.pins)  # where they begin
        self.readings = [TouchReading(felt=body in felt) for body in bodies]
        self.state: HybridState = self.system.start(*run.start())
        self.tau = np.zeros(run.robot.nv)
        self.events: list[Event] = []
        self.trouble: PalpateError | None = None
        self._moved = np.zeros(run.robot.nv)

    def settle(self, L: Loop) -> int:
        """Take the torque that a tick has set: the modes and forces it leads to at once."""
        tau, status = L.row.tau + L.pushed.force, RUNNING
        if L.step == 0 or (tau != self.tau).any():
            self.tau = tau
            status = self._go(self.state.time)
            self._show(L)
        renew_contacts(L.address)
        return status

    def advance(self, L: Loop) -> int:
        """One physics step, event by event, and the work done in it."""
        before, powers, seen = self.state, self._powers(), len(self.events)
        status = self._go((L.step + 1) * L.dt)
        self._account(L, before, self.events[seen:])
        L.plant.qpos[:], L.plant.qvel[:], L.plant.qacc[:] = (
            self.state.q,
            self.state.v,
            self.system.model.work.acceleration,
        )
        L.plant.time = (L.step + 1) * L.dt
        lost, driven = 0.5 * L.dt * (powers + self._powers())
        L.energy.dissipated += lost
        L.energy.pushed += driven
        self._show(L)
        return status

    def _go(self, until: float) -> int:
        try:
            step = self.system.advance(self.state, until, self.tau)
        except PalpateError as error:
            self.trouble = error
            return NO_ANSWER
        self.state = step.state
        self.events += step.events
        return PAINLEVE if step.outcome == "painleve" else RUNNING

    def _show(self, L: Loop) -> None:
        """Write modes, gaps, multipliers and forces where the loop records them."""
        found, records, row = self.system.model.found, self.system.model.records, L.row
        for k, reading in enumerate(self.readings):
            f, c, pinned = found[k], records[k], k >= self._pins
            reading.force[:] = f["force"]
            reading.place[:] = f["point"] if pinned else f["point"] - c["radius"] * f["normal"]
            row.contact_mode[k] = MODES.index(self.state.modes[k])
            row.contact_gap[k] = 0.0 if pinned else f["gap"]
            row.contact_multiplier[k] = np.linalg.norm(f["force"]) if pinned else f["force"] @ f["normal"]
            row.touch_forces[k] = f["force"]

    def _powers(self) -> Array:
        """Power that friction takes and that moving surfaces bring in now, W; the loop accounts for dampers."""
        found = self.system.model.found[: len(self.touches)]
        return np.array([-np.sum(found["force"] * found["slide"]), np.sum(found["force"] * found["carry"])])

    def _account(self, L: Loop, before: HybridState, events: list[Event]) -> None:
        """Work of held torques along the way made; kinetic energy that impacts took."""
        robot = self.system.robot
        mujoco.mj_differentiatePos(robot.model, self._moved, 1.0, before.q, self.state.q)
        L.energy.injected += float(L.row.tau @ self._moved)
        L.energy.pushed += float(L.pushed.force @ self._moved)
        for event in {event.time: event for event in events}.values():
            change = event.v_before - event.v_after
            if change.any():
                mean = 0.5 * (event.v_before + event.v_after)
                L.energy.dissipated += float(mean @ robot.mass_matrix(event.q) @ change)


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
    if run.robot.coupling is not None:
        raise InvalidInput(
            f"{run.robot.name} has mimic joints, which exact contact in a run does not hold yet; lock them"
        )
    if run.robot.unresisted:
        raise InvalidInput(f"{run.robot.name} has joints without mass, which exact contact cannot accelerate")

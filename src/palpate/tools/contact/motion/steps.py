"""Steps in the present modes: compiled for as long as nothing happens that modes depend on, and one by one."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.engine.kernels import dot, kernel, put
from palpate.errors import NoSolution
from palpate.tools.contact.integrator import OK, Step, accept, evaluate, make_step, next_length, try_step
from palpate.tools.contact.modes.accelerations import FORCE_FAILED, STOPPED, follow_creep, normalize_quaternions, slope
from palpate.tools.contact.modes.model import ContactModel
from palpate.tools.contact.motion.projection import project
from palpate.tools.contact.touch.contacts import FREE, SLIDING
from palpate.tools.contact.touch.records import MARGINS, NORMAL_MARGIN, PIN, SLIP_MARGIN, STOP, Machine, StepControl

# What Python is asked for: to look for an event in the step just tried, to check the state reached, to evaluate it with
# new slip directions, to handle a step that would be too short, to give up.
LOOK_CLOSER, CHECK_STATE, TURNED, TOO_SHORT, TOO_SLOW = 20, 21, 22, 23, 24
# So many steps must bring the time on by this, s: 1 µs each, a hundredth of what a stiff contact at 1 kHz needs.
MANY_STEPS, LITTLE_TIME = 5000, 5e-3
SHORTEST = 1e-13  # s: error control makes no step shorter
LEAST_TRY = 1e-10  # s: the shortest step that is tried first, however short the last ones were
LONGEST_CREEP = 1e-3  # s: the longest step in which a creeping slip keeps its direction
DRIFT = 1e-12  # m, m/s: beyond it a held contact is brought back
DRIVEN = 1e-8  # of (weight + force)(1 m/s + slip): friction that brings in more power than this is a fault
Force = Callable[[float, Array, Array], ArrayLike]
# s: the longest step under a force that is a function, so that a pulse longer than this is not stepped over.
LONGEST_STEP = 5e-3
_SAMPLES = np.linspace(0.0, 1.0, 11)[1:]  # fractions of a step at which a margin that came low is looked at
_ForceEntry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double)


@kernel
def stand(machine: Machine, step: Step, control: StepControl) -> int:
    """Slope and margins at step.origin; LOOK_CLOSER where a margin is below 0 by more than its noise."""
    status = _look(step, control)
    return arm(machine, control) if status == OK else status


@kernel
def arm(machine: Machine, control: StepControl) -> int:
    """Each margin's noise, and which margins are clear of 0; LOOK_CLOSER where one is below."""
    _set_noise(machine, control)
    status = OK
    for j in range(control.margins.size):
        control.armed[j] = 1 if control.margins[j] > control.noise[j] else 0
        if control.margins[j] < -control.noise[j]:
            status = LOOK_CLOSER
    return status


@kernel
def _set_noise(machine: Machine, control: StepControl) -> None:
    """How far from 0 each margin counts as 0: 1e-12 m, 1e-11 m/s, 1e-10 of the forces at play."""
    forces, noise = control.weight, control.noise
    for i in range(len(machine.states)):
        forces = max(forces, control.weight + abs(machine.states[i].normal_force))
    for i in range(len(machine.contacts)):
        c, at = machine.contacts[i], MARGINS * i
        for k in range(MARGINS):
            noise[at + k] = 1e-12
        if c.mode != FREE:
            noise[at + NORMAL_MARGIN] = noise[at + SLIP_MARGIN] = 1e-10 * forces
            if c.mode == SLIDING:
                noise[at + SLIP_MARGIN] = 1e-11 if c.freedoms == 1 else 2.0 * STOPPED
    noise[noise.size - 1] = 1e-9


@kernel
def step_until_event(machine: Machine, step: Step, control: StepControl) -> int:
    """Steps from step.origin to control.until; OK there, else what has to be looked at where it stands.

    LOOK_CLOSER leaves the state before the step in which something may happen, tried and not accepted; TOO_SHORT the
    state from which no step is exact enough; CHECK_STATE the state after one that has left a constraint, a joint's
    range or the rank of the held rows; TURNED one after which a creeping slip points elsewhere, where `turn_slips` has
    not brought it back. TOO_SLOW: the steps have become so short that the end is out of reach.
    """
    while step.t < control.until:
        if _is_too_slow(step, control):
            return TOO_SLOW
        status = _try_step(machine, step, control)
        if status != OK:
            return status
        if is_suspicious(step, control):
            return LOOK_CLOSER
        take_step(machine, step, control)
        if follow_creep(machine):
            status = turn_slips(machine, step, control)
            if status != OK:
                return status
            continue
        if _needs_mending(machine, step, control):
            return CHECK_STATE
    return OK


@kernel
def turn_slips(machine: Machine, step: Step, control: StepControl) -> int:
    """Slope and margins at step.origin under new directions of slip, with the state brought back onto what they hold.

    TURNED where it is not.
    """
    status = _look(step, control)
    if status != OK or not has_drifted(machine):
        return status
    if not project(machine, step.t, step.origin):
        return TURNED
    return _look(step, control)


@kernel
def _look(step: Step, control: StepControl) -> int:
    status = evaluate(step, step.t, step.origin, step.K[0])
    if status == OK:
        put(control.margins, 0, step.margins)
    return status


@kernel
def _is_too_slow(step: Step, control: StepControl) -> bool:
    """Count a step; whether the last many have hardly brought the time on."""
    if control.steps == 0:
        control.counted = step.t
    control.steps += 1
    if control.steps < MANY_STEPS:
        return False
    control.steps = 0
    return step.t - control.counted < LITTLE_TIME


@kernel
def _try_step(machine: Machine, step: Step, control: StepControl) -> int:
    """A step that is exact enough, not beyond control.until; TOO_SHORT if there is none.

    A rest before control.until may be as short as rounding makes it (a sample at 0.3 s, a tick at 300 · 0.001 s): it is
    a step like any other. A step is too short only where error control has made it so.
    """
    left = control.until - step.t
    h = min(max(control.stride, LEAST_TRY), control.longest, left, 1.5 * control.flight)
    if creeps(machine) or (machine.force != 0 and is_wedged(machine)):
        h = min(h, LONGEST_CREEP)
    if left - h < 1e-3 * h:
        h = left
    while True:
        step.h = h
        status = try_step(step, control.margins)
        if status != OK or step.error <= 1.0:
            return status
        h = next_length(step)
        if h < SHORTEST:
            return TOO_SHORT


@kernel
def is_suspicious(step: Step, control: StepControl) -> bool:
    """Whether a margin came so low over the step's stages that it may have been 0 in between."""
    for j in range(control.margins.size):
        if math.isfinite(step.highest[j]):
            spread = step.highest[j] - step.lowest[j]
            if step.lowest[j] < 0.5 * spread + 10.0 * control.noise[j]:
                return True
    return False


@kernel
def next_stride(step: Step, control: StepControl) -> float:
    """The length to try after the step just tried; one that control.until has cut short says nothing against more."""
    cut = step.t + step.h >= control.until
    return max(control.stride, next_length(step)) if cut else next_length(step)


@kernel
def take_step(machine: Machine, step: Step, control: StepControl) -> None:
    """Make the end of the step just tried the state, and choose the length to try next."""
    control.stride = next_stride(step, control)
    accept(step)
    normalize_quaternions(machine, step.origin)
    if control.until - step.t <= 1e-15 * max(1.0, abs(control.until)):
        step.t = control.until
    put(control.margins, 0, step.margins)
    for j in range(control.margins.size):
        if control.margins[j] > control.noise[j]:
            control.armed[j] = 1


@kernel
def _needs_mending(machine: Machine, step: Step, control: StepControl) -> bool:
    verdict, y = machine.work.verdict, step.origin
    if machine.force != 0 and is_wedged(machine):
        return True
    if (verdict.rank < verdict.rows) != control.dependent:
        return True
    for i in range(y.size):
        if not math.isfinite(y[i]):
            return True
    for i in range(control.lower.size):
        if y[i] < control.lower[i] - 1e-9 or y[i] > control.upper[i] + 1e-9:
            return True
    return has_drifted(machine) or driven_by_friction(machine, control) >= 0


@kernel
def has_drifted(machine: Machine) -> bool:
    """Whether a held contact has left its surface, or a stuck one moves, by more than rounding."""
    worst = 0.0
    for i in range(len(machine.contacts)):
        c, f = machine.contacts[i], machine.states[i]
        if c.mode == FREE or c.coast:
            continue
        if c.kind != PIN:
            worst = max(worst, abs(f.gap), abs(f.rate))
        for k in range(3):
            if c.kind == PIN:
                worst = max(worst, abs(f.normal[k]))
            if c.mode > SLIDING:
                worst = max(worst, abs(f.slide[k]))
        if c.creep:
            worst = max(worst, abs(dot(f.slide, f.across, 3)))
    return worst > DRIFT


@kernel
def driven_by_friction(machine: Machine, control: StepControl) -> int:
    """The first contact or joint whose friction acts along its slip, f·u > 0 beyond rounding; −1 where none does."""
    for i in range(len(machine.contacts)):
        f = machine.states[i]
        if machine.contacts[i].mode == FREE or machine.contacts[i].kind == STOP or machine.contacts[i].coast:
            continue
        force, speed = math.sqrt(dot(f.force, f.force, 3)), math.sqrt(dot(f.slide, f.slide, 3))
        if dot(f.force, f.slide, 3) > DRIVEN * (control.weight + force) * (1.0 + speed):
            return i
    return -1


@kernel
def is_wedged(machine: Machine) -> bool:
    """Whether contacts rest under one of many forces."""
    for i in range(len(machine.contacts)):
        if machine.contacts[i].wedged:
            return True
    return False


@kernel
def coasts(machine: Machine) -> bool:
    """Whether a singular constraint is carried through."""
    for i in range(len(machine.contacts)):
        if machine.contacts[i].coast:
            return True
    return False


@kernel
def creeps(machine: Machine) -> bool:
    """Whether any slip creeps."""
    for i in range(len(machine.contacts)):
        if machine.contacts[i].creep:
            return True
    return False


class Stepper:
    """Advances y = [q; v] in the present modes.

    Attributes:
        force: the function that gives the generalised force; None while it is held.
        tau: the generalised force, held or of the last evaluation.
    """

    def __init__(self, model: ContactModel, relative: float, absolute: float) -> None:
        self.model = model
        self.nq, size = model.robot.nq, model.robot.nq + model.robot.nv
        count = MARGINS * model.count + 1
        self.step = make_step(slope, model.machine, (size, 2, count), relative, absolute)
        self.tau, self.force = model.machine.tau, None
        self.y = self.step.origin
        robot, bounded = model.robot, model.robot.nq == model.robot.nv
        lower, upper = (robot.limits.lower, robot.limits.upper) if bounded else (np.zeros(0), np.zeros(0))
        self.control = StepControl({"margins": count}, weight=9.81 * robot.mass, lower=lower, upper=upper)
        self._entry = _ForceEntry(self._write_force)
        self._failed: Future[None] = Future()

    def push(self, tau: Array | Force) -> None:
        """The generalised force from now on: numbers, held, or a function of (t, q, v)."""
        self.force = tau if callable(tau) else None
        self.model.machine.force = (ctypes.cast(self._entry, ctypes.c_void_p).value or 0) if callable(tau) else 0
        self.control.longest = LONGEST_STEP if callable(tau) else np.inf
        if not callable(tau):
            self.tau[:] = tau

    def _write_force(self, t: float) -> int:
        """Called by the kernels: the force at the state that is being evaluated."""
        try:
            self.tau[:] = self._value(t, self.model.work.q.copy(), self.model.work.v.copy())
        except BaseException as error:
            self._failed = Future()
            self._failed.set_exception(error)
            return FORCE_FAILED
        return OK

    def _value(self, t: float, q: Array, v: Array) -> Array:
        assert self.force is not None
        return finite_array(self.force(t, q, v), "the force function's value", (len(self.tau),))

    def force_at(self, t: float, y: Array) -> Array:
        """The generalised force at a state."""
        return self.tau.copy() if self.force is None else self._value(t, y[: self.nq].copy(), y[self.nq :].copy())

    def begin(self, t: float, y: Array) -> None:
        """Stand at a state: its slope, and its margins in `control`."""
        self.step.t, self.y[:] = t, y
        self.check_status(evaluate(self.step.address, t, self.y, self.step.K[0]))
        self.control.margins[:] = self.step.margins

    def stand(self, t: float, y: Array) -> bool:
        """Stand at a state and arm the margins in `control`; False where one is below 0 by more than its noise."""
        self.step.t, self.y[:] = t, y
        machine, control = self.model.machine, self.control
        return self.check_status(stand(machine.address, self.step.address, control.address)) == OK

    def step_to(self, t: float, y: Array, until: float) -> int:
        """Go on in compiled steps from a state whose slope and margins are at hand; see `control.step_until_event`."""
        self.step.t, self.y[:], self.control.until = t, y, until
        return self.check_status(step_until_event(self.model.machine.address, self.step.address, self.control.address))

    def check_status(self, status: int) -> int:
        """A kernel's status; what it refuses is raised."""
        if status == FORCE_FAILED:
            self._failed.result()  # raises what the force function raised
        if status == TOO_SLOW:
            raise NoSolution(
                f"the last {MANY_STEPS} steps took the motion of {self.model.robot.name} on by less than"
                f" {LITTLE_TIME * 1e3:g} ms, to t = {self.step.t:.12g} s: forces or speeds are too large to follow",
                hint="look at forces, masses and velocities at this time; a smaller force has an answer",
            )
        if status not in (OK, LOOK_CLOSER, CHECK_STATE, TURNED, TOO_SHORT):
            self.model.raise_for_status(status, self.step.t)
        return status

    def slope(self, t: float, y: Array) -> Array:
        """dy/dt at a state."""
        step = self.step
        step.point[:] = y
        self.check_status(evaluate(step.address, t, step.point, step.slope))
        return step.slope[: len(y)].copy()

    def try_step(self, h: float, start: Array) -> float:
        """Try a step of length h; its error over the tolerance. `start` are the margins at its beginning."""
        self.step.h = h
        self.check_status(try_step(self.step.address, start))
        return self.step.error

    def margins_after(self, length: float) -> Array:
        """The margins at the end of a step of a length; at its beginning for 0."""
        if length <= 0.0:
            return self.control.margins
        self.try_step(length, self.control.margins)
        return self.step.margins.copy()

    def sampled_margins(self) -> tuple[Array, Array]:
        """Lengths of steps up to the one just tried, and the margins at their ends."""
        lengths, end = self.step.h * _SAMPLES, self.step.margins.copy()
        return lengths, np.array([*(self.margins_after(float(length)) for length in lengths[:-1]), end])

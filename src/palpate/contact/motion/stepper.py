"""Steps of a robot and its contacts in the present modes, under a held force or a function of (t, q, v)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.contact import integrator
from palpate.contact.modes import accelerations as kernels
from palpate.contact.modes.model import ContactModel
from palpate.contact.motion.steps import (
    LITTLE_TIME,
    LOOK_CLOSER,
    MANY_STEPS,
    MEND,
    TOO_SLOW,
    TURNED,
    arm,
    is_too_slow,
    stand,
    step_until_event,
)
from palpate.contact.touch.records import MARGINS, StepControl
from palpate.errors import NoSolution

Force = Callable[[float, Array, Array], ArrayLike]

# s: the longest step under a force that is a function, so that a pulse longer than this is not stepped over.
LONGEST_STEP = 5e-3
_SAMPLES = np.linspace(0.0, 1.0, 11)[1:]  # fractions of a step at which a margin that came low is looked at
_ForceEntry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double)


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
        self.step = integrator.make_step(kernels.slope, model.machine, (size, 2, count), relative, absolute)
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
            return kernels.FORCE_FAILED
        return kernels.OK

    def _value(self, t: float, q: Array, v: Array) -> Array:
        assert self.force is not None
        return finite_array(self.force(t, q, v), "the force function's value", (len(self.tau),))

    def force_at(self, t: float, y: Array) -> Array:
        """The generalised force at a state."""
        return self.tau.copy() if self.force is None else self._value(t, y[: self.nq].copy(), y[self.nq :].copy())

    def begin(self, t: float, y: Array) -> Array:
        """Stand at a state: its slope, and its margins."""
        self.step.t, self.y[:] = t, y
        self.checked(integrator.evaluate(self.step.address, t, self.y, self.step.K[0]))
        return self.margins()

    def stand(self, t: float, y: Array) -> bool:
        """Stand at a state and arm the margins in `control`; False where one is below 0 by more than its noise."""
        self.step.t, self.y[:] = t, y
        machine, control = self.model.machine, self.control
        return self.checked(stand(machine.address, self.step.address, control.address)) == kernels.OK

    def arm(self) -> None:
        """Watch the margins anew from the present state on."""
        arm(self.model.machine.address, self.control.address)

    def step_to(self, t: float, y: Array, until: float) -> int:
        """Go on in compiled steps from a state whose slope and margins are at hand; see `control.step_until_event`."""
        self.step.t, self.y[:], self.control.until = t, y, until
        return self.checked(step_until_event(self.model.machine.address, self.step.address, self.control.address))

    def checked(self, status: int) -> int:
        """A kernel's status; what it refuses is raised."""
        if status == kernels.FORCE_FAILED:
            self._failed.result()  # raises what the force function raised
        if status == TOO_SLOW:
            raise NoSolution(
                f"the last {MANY_STEPS} steps took the motion of {self.model.robot.name} on by less than"
                f" {LITTLE_TIME * 1e3:g} ms, to t = {self.step.t:.12g} s: forces or speeds are too large to follow",
                hint="look at forces, masses and velocities at this time; a smaller force has an answer",
            )
        if status not in (kernels.OK, LOOK_CLOSER, MEND, TURNED):
            self.model.refuse(status, self.step.t)
        return status

    def slope(self, t: float, y: Array) -> Array:
        """dy/dt at a state."""
        step = self.step
        step.point[:] = y
        self.checked(integrator.evaluate(step.address, t, step.point, step.slope))
        return step.slope[: len(y)].copy()

    def margins(self) -> Array:
        """The margins of the last evaluation."""
        return self.step.margins.copy()

    def count(self) -> None:
        """Count a step taken outside `step_to`; refuse where many have hardly brought the time on."""
        self.checked(TOO_SLOW if is_too_slow(self.step.address, self.control.address) else kernels.OK)

    def stride(self, h: float, start: Array) -> float:
        """Try a step of length h; its error over the tolerance. `start` are the margins at its beginning."""
        self.step.h = h
        self.checked(integrator.stride(self.step.address, start))
        return self.step.error

    def accept(self) -> None:
        """Make the step's end the new state; K[0] is its slope."""
        integrator.accept(self.step.address)
        kernels.unit_quaternions(self.model.machine.address, self.y)

    # ------------------------------------------------------------------ dense output

    def extend(self) -> None:
        """Prepare dense output of the last tried step."""
        self.checked(integrator.extend(self.step.address))

    def inside(self, x: float) -> Array:
        """The state at the fraction x of the last tried step; needs `extend`."""
        self.checked(integrator.look_inside(self.step.address, x))
        return self.step.point.copy()

    def margins_inside(self, x: float) -> Array:
        """The margins at the fraction x."""
        self.inside(x)
        return self.margins()

    def sampled_margins(self) -> tuple[Array, Array]:
        """Fractions of the step and the margins there."""
        return _SAMPLES, np.array([self.margins_inside(float(x)) for x in _SAMPLES])

"""Steps of the eighth-order Runge–Kutta method of Dormand and Prince (SciPy's tables) with dense output."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.contact import kernels
from palpate.contact.glide import LOOK_CLOSER, MEND, arm, glide_on, stand
from palpate.contact.model import ContactModel
from palpate.contact.records import MARGINS, Glide, Step, make_step, step_sharing

Force = Callable[[float, Array, Array], ArrayLike]
_MOST_STEPS = 10_000  # compiled in one go, so that a way without progress is seen


class Stepper:
    """Advances y = [q; v] in the present modes under a held or a smoothly varying generalised force."""

    def __init__(self, model: ContactModel, relative: float, absolute: float) -> None:
        self.model = model
        self.nq, size = model.robot.nq, model.robot.nq + model.robot.nv
        count = MARGINS * model.count + 1
        self.step = make_step(size, count, relative, absolute)
        self._one = step_sharing(self.step, [0.0])
        self.tau, self.force = np.zeros(model.robot.nv), None
        self.span = self.step.span
        self.y = self.step.origin
        robot, bounded = model.robot, model.robot.nq == model.robot.nv
        lower, upper = (robot.limits.lower, robot.limits.upper) if bounded else (np.zeros(0), np.zeros(0))
        self.glide = Glide({"margins": count}, weight=9.81 * robot.mass, lower=lower, upper=upper)

    def push(self, tau: Array | Force) -> None:
        """The generalised force from now on: numbers, held, or a function of (t, q, v)."""
        if callable(tau):
            self.force = tau
        else:
            self.force, self.tau = None, tau

    def force_at(self, t: float, y: Array) -> Array:
        """The generalised force at a state."""
        if self.force is None:
            return self.tau
        q, v = y[: self.nq].copy(), y[self.nq :].copy()
        kernels.unit_quaternions(self.model.machine, q)
        name = "the force function's value"
        return finite_array(self.force(t, q, v), name, (self.model.robot.nv,))

    def begin(self, t: float, y: Array) -> Array:
        """Stand at a state: its slope, and its margins."""
        self.span[0] = t
        self.y[:] = y
        self.slope(t, self.y, self.step.K[0])
        return self.margins()

    def stand(self, t: float, y: Array) -> bool:
        """Stand at a state and arm the margins in `glide`; False where one is below 0 by more than its noise."""
        machine, glide = self.model.machine, self.glide
        if self.force is not None:
            glide.margins[:] = self.begin(t, y)
            return arm(machine.address, glide.address) == kernels.OK
        self.span[0], self.y[:], machine.tau[:] = t, y, self.tau
        return self._checked(stand(machine.address, self.step.address, glide.address)) == kernels.OK

    def glide_to(self, t: float, y: Array, until: float) -> int:
        """Go on in compiled steps from a state whose slope and margins are at hand; see `glide.glide_on`."""
        machine, glide = self.model.machine, self.glide
        self.span[0], self.y[:], machine.tau[:] = t, y, self.tau
        glide.until = min(until, t + max(_MOST_STEPS * glide.stride, 1e-5))
        return self._checked(glide_on(machine.address, self.step.address, glide.address))

    def _checked(self, status: int) -> int:
        if status not in (kernels.OK, LOOK_CLOSER, MEND):
            self.model.refuse(status, float(self.span[0]))
        return status

    def slope(self, t: float, y: Array, out: Array) -> None:
        """dy/dt at a state."""
        self.model.rate(t, y, self.force_at(t, y), out)

    def margins(self) -> Array:
        """The margins of the last evaluation."""
        out = np.empty(MARGINS * self.model.count + 1)
        out[:-1] = self.model.found["margin"].ravel()
        out[-1] = self.model.work.verdict.determinant
        return out

    def stride(self, h: float, start: Array) -> float:
        """Try a step of length h; its error over the tolerance. `start` are the margins at its beginning."""
        step, model = self.step, self.model
        self.span[1] = h
        step.lowest[:] = step.highest[:] = start
        if self.force is None:
            model.machine.tau[:] = self.tau
            model.act(kernels.STRIDE, step)
        else:
            self._stride_in_python(h)
        return float(step.error[0])

    def _stride_in_python(self, h: float) -> None:
        step, t = self.step, float(self.span[0])
        for s in range(1, 12):
            step.point[:] = self.y + h * (step.A[s, :s] @ step.K[:s])
            self.slope(t + step.C[s] * h, step.point, step.K[s])
            self._widen()
        step.y[:] = self.y + h * (step.B @ step.K[:12])
        kernels.unit_quaternions(self.model.machine, step.y[: self.nq])
        self.slope(t + h, step.y, step.K[12])
        self._widen()
        relative, absolute = step.tolerance
        scale = absolute + relative * np.maximum(np.abs(self.y), np.abs(step.y))
        fifth, third = (float(np.sum((E @ step.K[:13] / scale) ** 2)) for E in (step.E5, step.E3))
        spread = np.sqrt((fifth + 0.01 * third) * len(self.y))
        step.error[0] = h * fifth / spread if spread > 0.0 else 0.0

    def _widen(self) -> None:
        margins = self.margins()
        np.minimum(self.step.lowest, margins, out=self.step.lowest)
        np.maximum(self.step.highest, margins, out=self.step.highest)

    def accept(self) -> None:
        """Make the step's end the new state; K[0] is its slope."""
        self.span[0] += self.span[1]
        self.y[:] = self.step.y
        self.step.K[0] = self.step.K[12]

    # ------------------------------------------------------------------ dense output

    def extend(self) -> None:
        """Prepare dense output of the last tried step."""
        step, model = self.step, self.model
        if self.force is None:
            model.machine.tau[:] = self.tau
            model.act(kernels.EXTEND, step)
            return
        t, h = self.span
        for s in range(3):
            step.point[:] = self.y + h * (step.A_extra[s, : 13 + s] @ step.K[: 13 + s])
            self.slope(t + step.C_extra[s] * h, step.point, step.K[13 + s])
        rise = step.y - self.y
        step.F[0], step.F[1] = rise, h * step.K[0] - rise
        step.F[2] = 2.0 * rise - h * (step.K[12] + step.K[0])
        step.F[3:] = h * (step.D @ step.K)

    def inside(self, x: float) -> Array:
        """The state at the fraction x of the last tried step; needs `extend`."""
        value = np.zeros(len(self.y))
        for r in range(6, -1, -1):
            value = (value + self.step.F[r]) * (x if r % 2 == 0 else 1.0 - x)
        return self.y + value

    def sampled_margins(self) -> tuple[Array, Array]:
        """Fractions of the step and the margins there."""
        return self.step.x, self._look(self.step)

    def margins_inside(self, x: float) -> Array:
        """The margins at the fraction x."""
        self._one.x[0] = x
        return self._look(self._one)[0]

    def _look(self, step: Step) -> Array:
        if self.force is None:
            self.model.machine.tau[:] = self.tau
            self.model.act(kernels.MARGINS_ALONG, step)
        else:
            for s, x in enumerate(step.x):
                y = self.inside(float(x))
                self.slope(float(self.span[0] + x * self.span[1]), y, step.scratch)
                step.margins[s] = self.margins()
        return step.margins

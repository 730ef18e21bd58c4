"""Through a singular constraint: where a surface's normal loses its grip on the joints for a moment.

At a branch point (two unit links folded on each other with the tip on a line through the base) the normal row n·J is
zero: the multiplier is not determined, and nearby it is a quotient of two small numbers. The constraint's generalised
force Q = (n·J)ᵀ λ stays smooth along the branch, so it is fitted by a cubic before the point and carried on until the
row has grown again; then the constraint holds as before. The row is small meanwhile, and so is the error.
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.contact.modes.model import ContactModel
from palpate.contact.motion.stepper import Stepper
from palpate.contact.touch.records import COAST_TERMS

_BACK = 2e-3  # s: how far back the fit looks
_POINTS = 6


class SingularConstraints:
    """Fits and mends the generalised force of contacts that coast."""

    def __init__(self, model: ContactModel, stepper: Stepper) -> None:
        self.model, self.stepper = model, stepper

    def begin(self, t: float, y: Array, i: int) -> None:
        """Let contact i coast from here: the cubic through its force over the last moments."""
        margins = self.stepper.begin(t, y)
        times = -_BACK * np.linspace(0.0, 1.0, _POINTS)
        forces = [self._force(t, y, i)]
        for s in times[1:]:
            self.stepper.begin(t, y)
            self.stepper.stride(float(s), margins)
            forces.append(self._force(t + float(s), self.stepper.step.y.copy(), i))
        powers = np.vander(times / _BACK, COAST_TERMS, increasing=True)
        fit = np.linalg.lstsq(powers, np.array(forces), rcond=None)[0]
        self.model.work.pull[i] = fit / _BACK ** np.arange(COAST_TERMS)[:, None]
        record = self.model.records[i]
        record["coast"], record["since"] = 1, t

    def jump(self, t: float, y: Array, before: Array | None) -> None:
        """A new force from a tick on: what the singular constraints answer to the change."""
        if before is None or self.stepper.force is not None or not self.model.records["coast"].any():
            return
        change = self.stepper.tau - before
        nq = self.model.robot.nq
        snap = self.model.survey(t, y[:nq], y[nq:])
        for i in np.flatnonzero(self.model.records["coast"]):
            row = snap.normals[i]
            size = float(np.linalg.norm(row))
            if size > 1e-9:
                way = row / size
                inverse = np.linalg.solve(snap.M, np.column_stack([way, change]))
                self.model.work.pull[i, 0] -= way * (way @ inverse[:, 1]) / (way @ inverse[:, 0])

    def _force(self, t: float, y: Array, i: int) -> Array:
        """Jᵀ f of a contact at a state, in the present modes."""
        self.stepper.slope(t, y)
        return self.model.work.Jc[i].T @ self.model.found[i]["force"]

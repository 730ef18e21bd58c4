"""Effect of the physics step on a simulated loop: its growth with the step as it is, and with a quarter of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from palpate.errors import InvalidInput
from palpate.run.build import Source
from palpate.run.tangent.loop_poles import poles


@dataclass(frozen=True)
class HoldError:
    """Growth of a sampled loop in a simulation, beside its growth in a finer one.

    Attributes:
        finer: growth with physics steps of a quarter, 1/s; negative if it dies out.
        simulated: growth with the physics step as it is, 1/s.
        physics_step, period: s.
    """

    finer: float
    simulated: float
    physics_step: float
    period: float

    @property
    def error(self) -> float:
        """simulated − finer, 1/s."""
        return self.simulated - self.finer

    @property
    def hides(self) -> bool:
        """Whether the simulation comes to the other verdict."""
        return (self.finer < 0.0) != (self.simulated < 0.0)

    @property
    def sentence(self) -> str:
        """Both in words; empty where they agree to a tenth."""
        if abs(self.error) <= 0.1 * max(abs(self.finer), abs(self.simulated)):
            return ""
        verb = {True: "grows", False: "decays"}
        return (
            f"with steps of {1e3 * self.physics_step:g} ms the simulation shows a loop that"
            f" {verb[self.simulated > 0]} at {abs(self.simulated):.3g} 1/s; with steps of a quarter it"
            f" {verb[self.finer > 0]} at {abs(self.finer):.3g} 1/s"
        )


def hold_error(source: Source, at: float | Literal["end"] = "end") -> HoldError:
    """How a run's physics step changes the growth of its slowest mode, with the command held over the same period.

    With one physics step per period, a semi-implicit step moves the positions with the velocities after the step, and
    the half period that a hold costs disappears.

    Args:
        source: a scenario, its name or file, or a `Run`.
        at: s, the moment at which the loop is asked; or "end".

    Raises:
        InvalidInput: nothing is known of the poles then.
    """
    found = poles(source, at, probing=False)
    if math.isnan(found.finer) or math.isnan(found.largest):
        raise InvalidInput(f"the poles are not known: {found.not_known or found.not_differentiable}")
    now, finer = (math.log(max(x, 1e-300)) / found.period for x in (found.largest, found.finer))
    return HoldError(finer, now, found.timestep, found.period)

"""The clock of a run: how long, in which steps, and how often the law is asked."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from palpate.config import Config, setting
from palpate.errors import InvalidInput

Integrator = Literal["euler", "implicit", "rk4"]
PhysicsChoice = Literal["auto", "engine", "equations"]


class Clock(Config):
    """The clock."""

    duration: float = setting(2.0, "s", "how long to simulate", gt=0, le=1e6)
    timestep: float = setting(1e-3, "s", "physics step", ge=1e-9, le=0.1)
    period: float | None = setting(None, "s", "control period, a whole multiple of the physics step", ge=1e-9, le=1e6)
    rate: float | None = setting(
        None, "Hz", "or the control rate; one tick per physics step if neither is given", ge=1e-6, le=1e9
    )
    integrator: Integrator = setting("euler", "1", "euler (semi-implicit), implicit, or rk4 for energy work")
    physics: PhysicsChoice = setting(
        "auto", "1", "integrates the plant: its equations, the engine, or auto: equations wherever possible"
    )
    seed: int = setting(0, "1", "of sensor noise", ge=0, lt=2**63)
    max_speed: float = setting(100.0, "rad/s or m/s", "joint speed beyond which the run counts as diverged", gt=0)

    @property
    def ratio(self) -> int:
        """Physics steps per control period."""
        wanted = self.period if self.rate is None else 1.0 / self.rate
        return 1 if wanted is None else max(round(wanted / self.timestep), 1)

    @property
    def control_period(self) -> float:
        """The control period, s."""
        return self.timestep * self.ratio

    @property
    def steps(self) -> int:
        """Physics steps in the run."""
        return max(1, round(self.duration / self.timestep))

    @model_validator(mode="after")
    def _whole_periods(self) -> Clock:
        if self.period is not None and self.rate is not None:
            raise InvalidInput("the control period is given by period or by rate, not both")
        if self.duration < self.timestep:
            raise InvalidInput(f"the duration {self.duration:g} s is shorter than the physics step {self.timestep:g} s")
        wanted = self.period if self.rate is None else 1.0 / self.rate
        if wanted is not None and abs(self.control_period - wanted) > 1e-9 * wanted:
            raise InvalidInput(
                f"the control period {wanted:g} s must be a whole multiple of the physics step {self.timestep:g} s",
                hint=f"the nearest is {self.control_period:g} s",
            )
        return self

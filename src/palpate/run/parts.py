"""The parts of one run, checked against each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.control.guards import Guards
from palpate.control.law import Law, PythonLaw
from palpate.control.references.reference import Hold, Reference
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.trace import Recording
from palpate.world.config import World

Integrator = Literal["euler", "implicit", "rk4"]


@dataclass(frozen=True)
class StopWhen:
    """An event that ends the run: a recorded column leaves a bound.

    Attributes:
        column: name of a column, such as "contact_force" or "tool_position[x]".
        above, below: the bound; exactly one.
        magnitude: compare |value| with `above`.

    Several events end the run at whichever comes first.
    """

    column: str
    above: float | None = None
    below: float | None = None
    magnitude: bool = False

    def __post_init__(self) -> None:
        if (self.above is None) == (self.below is None):
            raise InvalidInput(f"event on {self.column!r} needs exactly one of above and below")
        if self.magnitude and self.below is not None:
            raise InvalidInput(f"event on {self.column!r}: magnitude goes with above, not with below")
        finite_number(self.bound, f"bound of the event on {self.column!r}")

    @property
    def bound(self) -> float:
        """The number that the column is compared with."""
        return float(self.above if self.above is not None else self.below)  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class Parts:
    """A robot under a law in a world, with a reference and a clock.

    Attributes:
        robot: the nominal robot, which the law knows.
        law: what decides.
        world: what pushes back, how the plant differs from the robot, sensors and actuators.
        reference: what the law is asked to do.
        duration: s.
        timestep: physics step, s.
        period: control period, s; a whole multiple of the physics step; the physics step by default.
        integrator: "euler" (semi-implicit), "implicit", or "rk4" (for energy work).
        q_start, v_start: the robot's state at t = 0; home and rest by default.
        recording: which channels, and every how many physics steps.
        stop_when: events that end the run.
        seed: of sensor noise.
        max_speed: joint speed, rad/s or m/s, beyond which a run counts as diverged.
        scenario: the file behind this run, kept in the trace.
        guards: limits around the law; none beyond the actuators' own if not given.
    """

    robot: Robot
    law: Law | PythonLaw
    world: World = field(default_factory=World)
    reference: Reference = field(default_factory=Hold)
    duration: float = 1.0
    timestep: float = 1e-3
    period: float | None = None
    integrator: Integrator = "euler"
    q_start: ArrayLike | None = None
    v_start: ArrayLike | None = None
    recording: Recording = field(default_factory=Recording)
    stop_when: tuple[StopWhen, ...] = ()
    seed: int = 0
    max_speed: float = 100.0
    scenario: dict[str, Any] | None = None
    guards: Guards | None = None

    def __post_init__(self) -> None:
        finite_number(self.timestep, "timestep", above=0.0)
        finite_number(self.duration, "duration", above=0.0)
        finite_number(self.max_speed, "max_speed", above=0.0)
        if not 0 <= self.seed < 2**63:
            raise InvalidInput(f"seed must be a whole number from 0 to 2^63 − 1, got {self.seed}")
        self.ratio()

    def steps(self) -> int:
        """Physics steps in the run."""
        return max(1, round(self.duration / self.timestep))

    def ratio(self) -> int:
        """Physics steps per control period."""
        period = self.timestep if self.period is None else finite_number(self.period, "period", above=0.0)
        ratio = round(period / self.timestep)
        if ratio < 1 or abs(ratio * self.timestep - period) > 1e-9 * period:
            raise InvalidInput(
                f"the control period {period:g} s must be a whole multiple of the physics step {self.timestep:g} s",
                hint=f"the nearest is {max(ratio, 1) * self.timestep:g} s",
            )
        return ratio

    def start(self) -> tuple[Array, Array]:
        """Coordinates and velocities at t = 0."""
        robot = self.robot
        q = robot.home if self.q_start is None else finite_array(self.q_start, "q_start", (robot.nq,))
        v = np.zeros(robot.nv) if self.v_start is None else finite_array(self.v_start, "v_start", (robot.nv,))
        return q.copy(), v.copy()

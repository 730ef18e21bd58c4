"""Run: a robot under a law in a world, with a reference and a clock; checked in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.control.around import Around
from palpate.control.guards import Guards
from palpate.control.law import Law
from palpate.control.python_law import PythonLaw
from palpate.control.references.reference import Hold, Reference
from palpate.control.rig import Rig
from palpate.errors import InvalidInput
from palpate.forking import cached_property
from palpate.robot.robot import Robot
from palpate.scenario.reference import FittedLaw, rig_of
from palpate.trace import Recording, StopWhen
from palpate.world.clock import Clock
from palpate.world.config import World


@dataclass(frozen=True)
class Run:
    """A robot under a law in a world.

    Attributes:
        robot: the nominal robot, which the law knows.
        law: what decides.
        world: what pushes back, how the plant differs from the robot, sensors and driver.
        reference: what the law is asked to do.
        clock: duration, physics step, control period, integrator, seed.
        record: which channels, and every how many physics steps.
        stop: events that end the run.
        q_start, v_start: the robot's state at t = 0; home and rest by default.
        guards: limits around the law; none beyond the driver's own if not given.
        around: what stands around the law: it sees every tick and may change the command; nothing if not given.
        scenario: the file behind this run, kept in the trace.
        changed: what of it differs from the defaults, likewise.
    """

    robot: Robot
    law: Law | PythonLaw
    world: World = field(default_factory=World)
    reference: Reference = field(default_factory=Hold)
    clock: Clock = field(default_factory=Clock)
    record: Recording = field(default_factory=Recording)
    stop: tuple[StopWhen, ...] = ()
    q_start: ArrayLike | None = None
    v_start: ArrayLike | None = None
    guards: Guards | None = None
    around: Around | None = None
    scenario: dict[str, Any] | None = None
    changed: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, kinds in _KINDS.items():
            value = getattr(self, name)
            if not isinstance(value, kinds):
                wanted = " or ".join(kind.__name__ for kind in kinds if kind is not type(None))
                raise InvalidInput(
                    f"{name} of a Run must be a {wanted}, got {type(value).__name__}",
                    hint="Run(robot, law, world=…, reference=…, clock=Clock(duration=2, rate=1000))",
                )
        if not callable(getattr(self.reference, "sample", None)):
            raise InvalidInput(f"reference of a Run must have a method sample, got {type(self.reference).__name__}")
        rules = (self.stop,) if isinstance(self.stop, StopWhen) else self.stop
        if not isinstance(rules, list | tuple) or not all(isinstance(rule, StopWhen) for rule in rules):
            raise InvalidInput(f"stop of a Run must be StopWhen rules, got {self.stop!r}")
        object.__setattr__(self, "stop", tuple(rules))
        object.__setattr__(self, "world", self.world.in_samples(self.clock.control_period))
        object.__setattr__(self, "_start", self._checked_start())

    def varied(self, **parts: Any) -> Run:
        """The same run with another law, world, reference or clock; the start is not checked again."""
        run = object.__new__(Run)
        vars(run).update({name: value for name, value in vars(self).items() if name != "fitted"} | parts)
        if "world" in parts or "clock" in parts:
            vars(run)["world"] = run.world.in_samples(run.clock.control_period)
        return run

    @cached_property
    def fitted(self) -> FittedLaw:
        """The law fitted to the robot and to the run's clock, delays and sensors."""
        return FittedLaw(self.law, self.robot, self.rig)

    def __getstate__(self) -> dict[str, Any]:
        """A copied or pickled run fits its law again: a bound law is at addresses of this process."""
        return {name: value for name, value in vars(self).items() if name != "fitted"}

    @property
    def rig(self) -> Rig:
        """Facts about its loop that the law may use."""
        return rig_of(self.world, self.clock, self.start()[0])

    @property
    def gravity(self) -> Array:
        """The world's gravity, m/s²."""
        return self.robot.model.opt.gravity.copy() if self.world.gravity is None else np.array(self.world.gravity)

    def start(self) -> tuple[Array, Array]:
        """Coordinates and velocities at t = 0."""
        q, v = self._start  # pyright: ignore[reportAttributeAccessIssue]
        return q.copy(), v.copy()

    def starts_like(self, other: Run) -> bool:
        """Whether both start in the same state."""
        mine, theirs = self._start, other._start  # pyright: ignore[reportAttributeAccessIssue]
        return mine is theirs or np.array_equal(mine, theirs)

    def _checked_start(self) -> tuple[Array, Array]:
        robot = self.robot
        q = robot.home if self.q_start is None else finite_array(self.q_start, "q_start", (robot.nq,))
        v = np.zeros(robot.nv) if self.v_start is None else finite_array(self.v_start, "v_start", (robot.nv,))
        return q.copy(), v.copy()


_KINDS: dict[str, tuple[type, ...]] = {
    "robot": (Robot,),
    "law": (Law, PythonLaw),
    "world": (World,),
    "clock": (Clock,),
    "record": (Recording,),
    "guards": (Guards, type(None)),
    "around": (Around, type(None)),
    "scenario": (dict, type(None)),
    "changed": (dict, type(None)),
}

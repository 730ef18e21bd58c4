"""A law that is a function in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from palpate.control.bound_law import BoundLaw
from palpate.control.commands import COMMANDS, CommandKind
from palpate.control.reads import Reads
from palpate.control.report import LawReport
from palpate.control.rig import Beginning, Rig
from palpate.control.traits import Follows, LawTraits
from palpate.errors import InvalidInput
from palpate.lazy import may_read
from palpate.robot.robot import Robot


@dataclass(frozen=True)
class PythonLaw:
    """A law written in plain Python: slower, the same loop and the same trace.

        def spring_to_home(tick, gains, memory):
            return {"spring": 50 * (tick.target.q - tick.q) - 8 * tick.v, "gravity": tick.gravity}

        PythonLaw(spring_to_home, terms=("spring", "gravity"))

    Attributes:
        function: given the `Tick` to read, gains and memory, it returns one array per term, by name.
        terms: names of the terms.
        command: what their sum means.
        gains, memory: handed to it; the memory is copied for every run.
        follows: whose target it follows, "tool", "joints" or "nothing"; errors of both are reported if not said.
    """

    function: Callable[[Any, Any, Any], Mapping[str, ArrayLike]]
    terms: tuple[str, ...] = ("torque",)
    command: CommandKind = "torque"
    gains: Any = None
    memory: Any = None
    name: str = "python"
    follows: Follows | None = None

    @property
    def report(self) -> LawReport:
        """Nothing to report: what it does is not known."""
        return LawReport()

    @property
    def traits(self) -> LawTraits:
        """The target that it follows, as far as that was said."""
        return LawTraits(follows=self.follows)

    @property
    def reads(self) -> Reads:
        """Everything that its function may read, custom sensors (`tick.seen`) where they are named in it."""
        return Reads(sensors=may_read(self.function, 0, "seen"))

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """Itself: what it leaves open is not known."""
        return self

    def bind(self, robot: Robot) -> BoundLaw:
        """Make the law ready for a robot."""
        if self.command not in COMMANDS:
            raise InvalidInput(f"command must be one of {', '.join(COMMANDS)}, got {self.command!r}")
        if isinstance(self.terms, str) or not self.terms or len(set(self.terms)) != len(self.terms):
            raise InvalidInput(f"a law needs terms of different names, got {self.terms!r}")
        rows = np.zeros((len(self.terms), robot.nv))
        return BoundLaw(
            self.name, self.function, tuple(self.terms), self.command, self.gains, deepcopy(self.memory), rows
        )

    def bound_to(self, robot: Robot) -> BoundLaw:
        """As `bind`: it leaves nothing open."""
        return self.bind(robot)

    def begin(self, bound: BoundLaw, robot: Robot, start: Beginning) -> BoundLaw:
        """The bound law: any beginning suits it."""
        return bound

"""Laws in plain Python that scenario files can name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from palpate.control.bound_law import BoundLaw
from palpate.control.law import Law
from palpate.control.python_law import PythonLaw
from palpate.control.reads import Reads
from palpate.control.traits import Follows, LawTraits, promises_of
from palpate.lazy import may_read
from palpate.robot.robot import Robot
from palpate.user_code import blamed


class PlainLaw(Law):
    """A law in plain Python with settings of its own, which scenario files can name; some 50 µs per tick.

    class Spring(PlainLaw):
        terms: ClassVar[tuple[str, ...]] = ("spring", "gravity")
        stiffness: float = setting(50.0, "N·m/rad", "K", ge=0)

        def decide(self, tick, memory):
            return {"spring": self.stiffness * (tick.target.q - tick.q), "gravity": tick.gravity}
    """

    _kept_names: ClassVar[tuple[str, ...]] = ("follows",)
    terms: ClassVar[tuple[str, ...]] = ("torque",)  # pyright: ignore[reportIncompatibleMethodOverride]
    follows: ClassVar[Follows | None] = None  # whose target; errors of tool and joints are reported if it is not said

    @abstractmethod
    def decide(self, tick: Any, memory: Any) -> Mapping[str, ArrayLike]:
        """One array per term, by name; `memory` is what `memory(robot)` returned, to be changed in place."""

    @property
    def traits(self) -> LawTraits:
        """The target that it follows, and the promise that goes with it."""
        return LawTraits(follows=self.follows, promises=partial(promises_of, self.follows, self.reads))

    @property
    def reads(self) -> Reads:
        """Everything that its code may read; custom sensors (`tick.seen`) where `decide` names them."""
        return Reads(sensors=may_read(type(self).decide, 1, "seen"))

    def gains(self, robot: Robot) -> Any:
        """The law itself: its settings are its gains."""
        return self

    def memory(self, robot: Robot) -> Any:
        """The memory at the start, anything that can be changed in place."""
        return {}

    def bound_to(self, robot: Robot) -> BoundLaw:
        """Its function in Python, on its settings."""
        law = PythonLaw(_decided, self.terms, self.command, self.gains(robot), self.memory(robot), self.name)
        return replace(law.bind(robot), remarks=self.report.remarks, alarms=self.report.alarms)


def _decided(tick: Any, law: PlainLaw, memory: Any) -> Mapping[str, ArrayLike]:
    with blamed(law.decide.__code__.co_filename):
        return law.decide(tick, memory)

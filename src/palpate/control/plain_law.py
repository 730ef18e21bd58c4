"""Laws in plain Python that scenario files can name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from palpate.control.law import BoundLaw, Follows, Law, PythonLaw
from palpate.control.reads import Reads
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

    terms: ClassVar[tuple[str, ...]] = ("torque",)

    @abstractmethod
    def decide(self, tick: Any, memory: Any) -> Mapping[str, ArrayLike]:
        """One array per term, by name; `memory` is what `memory(robot)` returned, to be changed in place."""

    @property
    def follows(self) -> Follows | None:
        """Whose target it follows; errors of tool and joints are reported if a subclass does not say."""
        return None

    @property
    def tick_reads(self) -> Reads:
        """Everything: what its code reads is not known."""
        return Reads()

    @property
    def reads_sensors(self) -> bool:
        """Whether `decide` may read custom sensors, `tick.seen`."""
        return may_read(type(self).decide, 1, "seen")

    def gains(self, robot: Robot) -> Any:
        """The law itself: its settings are its gains."""
        return self

    def memory(self, robot: Robot) -> Any:
        """The memory at the start, anything that can be changed in place."""
        return {}

    def bound_to(self, robot: Robot) -> BoundLaw:
        """Its function in Python, on its settings."""
        law = PythonLaw(_decided, self.terms, self.command, self.gains(robot), self.memory(robot), self.name)
        return replace(law.bind(robot), remarks=self.remarks, alarms=self.alarms)


def _decided(tick: Any, law: PlainLaw, memory: Any) -> Mapping[str, ArrayLike]:
    with blamed(law.decide.__code__.co_filename):
        return law.decide(tick, memory)

"""A sensor of one's own, as settings: one class says what it reads; noise, delay and record come with it.

    class Gap(Sensor):
        unit: ClassVar[str] = "m"
        wall: float = setting(0.35, "m", "where the plane is")

        def read(self, truth, memory):
            return self.wall - truth.position[0]

Compiled, a `kernel` in the form of a law takes the place of `read` (`palpate.world.sensing.custom`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ValidationInfo

from palpate.config import setting, tagged, typed
from palpate.errors import InvalidInput
from palpate.plugins import Table, of_kind
from palpate.world.sensing.late import Late


class Sensor(Late):
    """Settings of a sensor of one's own; a subclass adds its own, and `read` or a kernel. Noise and delay are added.

    `read(truth, memory)` returns one number, or as many as there are labels. `truth` has t, period, q, v, tau (s, rad
    or m, N·m or N; as they are, not as measured), position, rotation, twist of the tool, wrench of the environment on
    the robot about the tool's origin (world axes), and the engine's model and data as `plant`.
    """

    unit: ClassVar[str | tuple[str, ...]] = "1"
    labels: ClassVar[tuple[str, ...]] = ()  # of its numbers; one number if there are none
    frame: ClassVar[str | None] = None
    kernel: ClassVar[Any] = None  # (x: Truth, k: Gains, m: Memory, out: Reading), instead of `read`

    kind: str = setting("", "1", "module:Class of the sensor, or the name of an installed one")
    noise: float = setting(0.0, "the reading's", "standard deviation per number and sample", ge=0)

    @property
    def width(self) -> int:
        """How many numbers it reads."""
        return max(len(self.labels), 1)

    def gains(self, robot: Any) -> Any:
        """What a kernel reads of the settings: a record; None if it reads nothing."""
        return None

    def memory(self, robot: Any) -> Any:
        """What it remembers between ticks: of a kernel a record, else anything that can be changed in place."""
        return None if self.kernel is not None else {}

    def read(self, truth: Any, memory: Any) -> Any:
        """What is true now."""
        raise InvalidInput(f"{type(self).__name__} needs a method `read`, or a `kernel`")


def _entered(entry: Any, sensor: Any) -> type[Sensor]:
    known = of_kind(Sensor, entry, sensor)
    if known.kernel is None and known.read is Sensor.read:
        raise InvalidInput(f"{known.__name__} has neither a method `read` nor a `kernel`")
    return known


SENSORS: Table[type[Sensor]] = Table("palpate.sensors", {}, _entered)


def sensor_of(value: Any, info: ValidationInfo) -> Sensor:
    """A sensor from its table in a scenario."""
    if isinstance(value, Sensor):
        return value
    kind, _ = tagged(value, "kind", SENSORS)
    return typed(SENSORS[kind], value, info)

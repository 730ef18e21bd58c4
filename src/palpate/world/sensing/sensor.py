"""A custom sensor, as settings: one class says what it reads; noise, delay and record come with it.

    class Gap(Sensor):
        unit: ClassVar[str] = "m"
        wall: float = setting(0.35, "m", "where the plane is")

        def read(self, truth, memory):
            return self.wall - truth.position[0]

Compiled, a `kernel` in the form of a law takes the place of `read` (`palpate.world.sensing.custom`).
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import ConfigDict, ValidationInfo, model_validator

from palpate.config import Config, setting, tagged, typed
from palpate.errors import InvalidInput
from palpate.lazy import may_read
from palpate.plugins import Table, of_kind
from palpate.user_code import Unloaded, is_address, is_loaded


class Late(Config):
    """Something that arrives late: by samples or by seconds, not both."""

    delay: int = setting(0, "samples", "control periods until it arrives", ge=0, le=1000)
    delay_time: float | None = setting(None, "s", "or how long, a whole number of control periods", ge=0)

    @model_validator(mode="after")
    def _one_delay(self) -> Self:
        if self.delay_time is not None and self.delay != 0:
            raise InvalidInput("a delay is given by delay (samples) or by delay_time (s), not both")
        return self

    def in_samples(self, period: float) -> Self:
        """The same with its delay in control periods, s.

        Raises:
            InvalidInput: the delay is no whole number of them, or of more than 1000.
        """
        if self.delay_time is None:
            return self
        count = round(self.delay_time / period)
        if abs(count * period - self.delay_time) > 1e-9 * max(self.delay_time, period):
            raise InvalidInput(
                f"a delay_time of {self.delay_time:g} s is no whole number of control periods of {period:g} s",
                hint=f"the nearest is {count * period:g} s; or shorten the control period",
            )
        if count > 1000:
            raise InvalidInput(
                f"a delay_time of {self.delay_time:g} s is {count} control periods, at most 1000 are kept"
            )
        return self.model_copy(update={"delay": count, "delay_time": None})


class Sensor(Late):
    """Settings of a custom sensor; a subclass adds its own, and `read` or a kernel. Noise and delay are added.

    `read(truth, memory)` returns one number, or as many as there are labels. `truth` has t, period, q, v, tau (s, rad
    or m, N·m or N; as they are, not as measured), position, rotation, twist of the tool, wrench of the environment on
    the robot about the tool's origin (world axes), and the engine's model and data as `plant`. A sensor that reads
    `plant`, or hands `truth` on to another function, needs the engine to move the plant.
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

    @property
    def reads_plant(self) -> bool:
        """Whether it may read the engine's own arrays, `truth.plant`, which equations of motion do not fill."""
        if self.kernel is not None:
            return may_read(self.kernel, 0, "plant")
        return may_read(type(self).read, 1, "plant")

    def gains(self, robot: Any) -> Any:
        """Settings as a kernel reads them: a record; None if it reads nothing."""
        return None

    def memory(self, robot: Any) -> Any:
        """Memory between ticks: of a kernel a record, else anything that can be changed in place."""
        return None if self.kernel is not None else {}

    def read(self, truth: Any, memory: Any) -> Any:
        """Return the reading for the true state of this tick."""
        raise InvalidInput(f"{type(self).__name__} needs a method `read`, or a `kernel`")


def _entered(entry: Any, sensor: Any) -> type[Sensor]:
    known = of_kind(Sensor, entry, sensor)
    if known.kernel is None and known.read is Sensor.read:
        raise InvalidInput(f"{known.__name__} has neither a method `read` nor a `kernel`")
    return known


class UnloadedSensor(Unloaded, Sensor):
    """An own sensor's settings as they were given; `Scenario.with_code` makes the sensor of them."""

    model_config = ConfigDict(extra="allow")


SENSORS: Table[type[Sensor]] = Table("palpate.sensors", {}, _entered)


def sensor_of(value: Any, info: ValidationInfo) -> Sensor:
    """A sensor from its table in a scenario."""
    if isinstance(value, Sensor):
        return value
    if isinstance(value, dict) and is_address(value.get("kind")) and not is_loaded(value["kind"]):
        return typed(UnloadedSensor, value, info)
    kind, _ = tagged(value, "kind", SENSORS)
    return typed(SENSORS[kind], value, info)

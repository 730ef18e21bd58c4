"""Custom sensors in the loop: each is handed the true state, and its reading gets noise and a delay.

A compiled sensor is a kernel in the form of a law; it writes every element of `out.values`:

    class Gains(Record):
        wall: float

    @sensor_kernel
    def _kernel(x: Truth, k: Gains, m: NoMemory, out: Reading) -> None:
        out.values[0] = k.wall - x.position[0]

    class Gap(Sensor):
        kernel = _kernel
        wall: float = setting(0.35, "m", "where the plane is")

        def gains(self, robot):
            return Gains(wall=self.wall)

The numbers of all stand in `tick.seen.values`, in the order of the scenario, and in the channels `sensor.<name>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.config import MOST_SENSOR_VALUES
from palpate.engine.kernels import Kernel, address_of_record, call_law, kernel, put
from palpate.engine.physics import Physics
from palpate.engine.records import Matrix, ReadOnly, Record, Vector, sized
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.user_code import blamed
from palpate.world.sensing.noise import normal
from palpate.world.sensing.sensor import Sensor
from palpate.world.sensing.sensors import Delayed, arrive, delay_line

_STREAM, _APART = 5000, 100  # of noise: the first sensor's, and how far the next one's is


class Truth(Record):
    """True state at a control tick; world axes, SI units."""

    t: float = 0.0
    period: float = 0.0
    q: Vector = sized("nq")
    v: Vector = sized("nv")
    tau: Vector = sized("nv")  # at the joints, of the period before
    position: Vector = sized(3)  # of the tool
    rotation: Matrix = sized(3, 3)
    twist: Vector = sized(6)
    wrench: Vector = sized(6)  # of surfaces and objects on the robot, about the tool's origin
    plant: Physics


class Reading(Record):
    """Reading of a sensor."""

    values: Vector = sized("width")


class NoState(Record):
    """The gains or memory of a sensor that needs none."""


class CustomSensor(Record):
    """A sensor in the loop."""

    function: int  # address of its kernel, 0 for plain Python; then of its records
    gains: int
    memory: int
    reading: Reading
    noise: float
    stream: int
    first: int  # index of its numbers among those of all
    signal: Delayed


@dataclass(frozen=True)
class BoundSensor:
    """A sensor made ready for one run: what the loop holds, and what must stay alive beside it."""

    name: str
    sensor: Sensor
    record: CustomSensor
    gains: Any
    memory: Any

    @property
    def compiled(self) -> bool:
        """Whether it is machine code."""
        return self.sensor.kernel is not None

    def read(self, truth: ReadOnly) -> None:
        """Let plain Python read, and check what it says."""
        with blamed(self.sensor.read.__code__.co_filename):
            value = self.sensor.read(truth, self.memory)
        numbers = np.atleast_1d(np.asarray(value))
        if numbers.shape != (self.sensor.width,) or numbers.dtype.kind not in "fiub":
            raise InvalidInput(
                f"sensor {self.name!r} must read {self.sensor.width} number(s), got {numbers.dtype} of shape"
                f" {np.shape(value)}",
                hint="give it as many `labels` as it has numbers",
            )
        if not np.isfinite(numbers).all():
            raise InvalidInput(f"sensor {self.name!r} read {numbers.tolist()}, which is not a number")
        self.record.reading.values[:] = numbers


def sensor_kernel(function: Callable[..., None]) -> Kernel:
    """Compile a sensor `(x: Truth, k: Gains, m: Memory, out: Reading)`, cached on disk."""
    return kernel(function)


def bound_sensors(sensors: Mapping[str, Sensor], robot: Robot) -> tuple[BoundSensor, ...]:
    """The sensors of a world, ready for a run.

    Raises:
        InvalidInput: together they have more numbers than a law can see.
    """
    total = sum(sensor.width for sensor in sensors.values())
    if total > MOST_SENSOR_VALUES:
        raise InvalidInput(f"custom sensors have {total} numbers in all, at most {MOST_SENSOR_VALUES} are allowed")
    bound, first = [], 0
    for k, (name, sensor) in enumerate(sensors.items()):
        bound.append(_bound(name, sensor, robot, _STREAM + _APART * k, first))
        first += sensor.width
    return tuple(bound)


def _bound(name: str, sensor: Sensor, robot: Robot, stream: int, first: int) -> BoundSensor:
    gains, memory = sensor.gains(robot), sensor.memory(robot)
    function, addresses = 0, (0, 0)
    if sensor.kernel is not None:
        gains, memory = (NoState() if part is None else part for part in (gains, memory))
        if not isinstance(gains, Record) or not isinstance(memory, Record):
            raise InvalidInput(f"sensor {name!r} is compiled: its gains and its memory are records")
        function, addresses = sensor.kernel.pointer, (gains.address, memory.address)
    record = CustomSensor(
        function=function, gains=addresses[0], memory=addresses[1], reading=Reading({"width": sensor.width}),
        noise=sensor.noise, stream=stream, first=first, signal=delay_line(sensor.delay, sensor.width),
    )  # fmt: skip
    return BoundSensor(name, sensor, record, gains, memory)


@kernel
def read_sensor(s: CustomSensor, truth: Truth) -> None:
    """Read the true state by a compiled sensor."""
    truth_address, reading = address_of_record(truth), address_of_record(s.reading)  # pyright: ignore[reportCallIssue]
    call_law(s.function, truth_address, s.gains, s.memory, reading)


@kernel
def pass_on(s: CustomSensor, seed: int, count: int, seen: Vector) -> None:
    """Noise and delay; then the law sees it."""
    for i in range(s.reading.values.size):
        s.signal.fresh[i] = s.reading.values[i]
        if s.noise > 0.0:
            s.signal.fresh[i] += s.noise * normal(seed, s.stream + i, count)
    arrive(s.signal, count)
    put(seen, s.first, s.signal.seen)

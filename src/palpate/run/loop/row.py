"""Everything that can be recorded, declared once: the row that the loop fills, and the channels it holds.

A channel is a field of `Row`. Its position follows from the order of the fields; the loop's own arrays are parts of the
row where they can be, so that recording them costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.control.bound_law import BoundLaw
from palpate.control.guards import GUARD_NAMES
from palpate.control.shown import Shown
from palpate.engine.records import Kept, Matrix, Record, Sized, State, Vector
from palpate.robot.limits import coordinate_labels, rate_labels
from palpate.robot.robot import Robot
from palpate.trace import Channel
from palpate.world.plants.plant import Plant
from palpate.world.sensing.sensor import Sensor

_XYZ, _WXYZ = ("x", "y", "z"), ("w", "x", "y", "z")
_TWIST = ("vx", "vy", "vz", "wx", "wy", "wz")
_WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")
_TWIST_UNITS, _WRENCH_UNITS = ("m/s",) * 3 + ("rad/s",) * 3, ("N",) * 3 + ("N·m",) * 3
_GUARD_HELP = "active guards, sum of bits: 1 torque limit, 2 torque-rate limit" + "".join(
    f", {bit} {name}" for bit, name in GUARD_NAMES.items()
)
# Of a robot without masses these would be numbers about nothing.
_OF_MASSES = ("tau", "kinetic", "potential", "stored", "injected", "pushed", "dissipated")


@dataclass(frozen=True)
class RecordedQuantity(Sized):
    """A recorded quantity: its size, and what its channel says.

    Attributes:
        name: of the channel; that of the field if not given. One with {} stands for several, one per row.
        unit: a unit, one per column, or the key of a robot's own units ("position", "speed", "effort", "command").
        labels: of the columns, or the key of a robot's own ("coordinates", "joints", "rest", "rest rates").
    """

    name: str | None = None
    unit: str | tuple[str, ...] = "1"
    labels: str | tuple[str, ...] | None = None
    frame: str | None = None
    help: str = ""


def recorded(*shape: int | str, **meaning: Any) -> Any:
    """Declare a recorded quantity: its size, and what its channel says."""
    return RecordedQuantity(shape, **meaning)


def _of_joints(key: str, help: str, **meaning: Any) -> Any:
    """One number per joint, in a robot's own unit."""
    return recorded("nv", unit=key, labels="joints", help=help, **meaning)


def _of_elastic(key: str, help: str) -> Any:
    """One number per joint, where joints are elastic."""
    return recorded("elastic", unit=key, labels="joints", help=help)


def _of_coordinates(help: str) -> Any:
    return recorded("nq", unit="position", labels="coordinates", help=help)


def _point(help: str, *rows: str, size: int | str = 3, name: str | None = None, unit: str = "m") -> Any:
    """A position, or a force with its unit, in world axes; several with `rows`."""
    return recorded(*rows, size, name=name, unit=unit, labels=_XYZ, frame="world", help=help)


def _orientation(help: str) -> Any:
    return recorded(4, labels=_WXYZ, frame="world", help=help)


def _twist(help: str) -> Any:
    return recorded(6, unit=_TWIST_UNITS, labels=_TWIST, frame="world", help=help)


def _wrench(help: str) -> Any:
    return recorded(6, unit=_WRENCH_UNITS, labels=_WRENCH, frame="world, about the tool's origin", help=help)


def _energy(kind: str, help: str) -> Any:
    return recorded(1, name=f"energy.{kind}", unit="J", help=help)


def _of_contacts(unit: str, help: str) -> Any:
    return recorded("touches", unit=unit, labels="touches", help=help)


class Row(Record):
    """Quantities of a physics step; the order of these fields is that of the trace's channels."""

    q: Vector = _of_coordinates("true joint positions")
    v: Vector = _of_joints("speed", "true joint velocities")
    q_measured: Vector = _of_coordinates("measured joint positions, as the law received them")
    v_measured: Vector = _of_joints("speed", "measured joint velocities, as the law received them")
    tau: State[Vector] = _of_joints("effort", "torques at the joints; of elastic ones, of their motors")
    command: Vector = _of_joints("command", "the law's command, sum of its terms, before guards")
    terms: Matrix = recorded("terms", "nv", name="tau.{}", unit="command", labels="joints", help="the law's term '{}'")
    tool_position: Vector = _point("position of the tool")
    tool_quat_wxyz: Kept[Vector] = _orientation("orientation of the tool")
    tool_twist: Vector = _twist("twist of the tool")
    target_q: Vector = _of_coordinates("wanted joint positions")
    target_v: Vector = _of_joints("speed", "wanted joint velocities")
    target_position: Vector = _point("position of the target")
    target_quat_wxyz: Kept[Vector] = _orientation("orientation of the target")
    target_twist: Vector = _twist("twist of the target")
    target_wrench: Vector = _wrench("desired wrench of the environment on the robot")
    contact_wrench: Vector = _wrench("true wrench of surfaces and objects on the robot")
    measured_wrench: Vector = _wrench("wrench of the environment on the robot, measured by the wrist sensor")
    push_wrench: Vector = _wrench("wrench of pushes on the robot")
    penetration: Vector = recorded(1, unit="m", help="largest penetration of the robot into a surface or object")
    contact_force: Vector = recorded(1, unit="N", help="magnitude of the contact force on the robot")
    kinetic: Vector = _energy("kinetic", "kinetic energy of everything that moves")
    potential: Vector = _energy("potential", "energy of gravity and of springs in the model")
    stored: Vector = _energy("stored", "energy stored in compliant contacts")
    injected: Vector = _energy("injected", "work of the joint torques since the start")
    pushed: Vector = _energy(
        "pushed", "work of pushes and moving surfaces, and energy of attached loads, since the start"
    )
    dissipated: Vector = _energy(
        "dissipated",
        "energy lost in joints and contacts since the start; rigid surfaces that move count as contacts where the"
        " engine holds them",
    )
    guard: Vector = recorded(1, help=_GUARD_HELP)
    motor_q: Vector = _of_elastic("position", "positions of the motors of elastic joints, behind their gears")
    motor_v: Vector = _of_elastic("speed", "their velocities")
    joint_torque: Vector = _of_elastic("effort", "torques in elastic joints: K (θ − q) + D (θ̇ − q̇)")
    rest_q: Vector = recorded("rest_q", unit="rest", labels="rest", help="coordinates of pole and objects")
    rest_v: Vector = recorded("rest_v", unit="rest speed", labels="rest rates", help="velocities of pole and objects")
    pole_AB: Vector = _point("from the pole's foot to its sphere", size="pole axes", name="pole.AB")
    pole_tilt: Vector = recorded("pole", name="pole.tilt", unit="rad", help="angle of the pole from the vertical")
    law: Vector = recorded("law", name="law.{}", help="{}")
    sensors: Vector = recorded("sensors", name="sensor.{}", help="{}")
    surfaces: Matrix = _point("position of the surface", "surfaces", name="surface.{}")
    contact_mode: Vector = _of_contacts("1", "mode of each exact contact: 0 free, 1 sliding, 2 sticking, 3 locked")
    contact_gap: Vector = _of_contacts("m", "gap of each exact contact")
    contact_multiplier: Vector = _of_contacts("N", "normal force of each exact contact (of a pin, its magnitude)")
    touch_forces: Matrix = _point("force of contact '{}' on the robot", "contacts", name="contact.{}", unit="N")
    touch_positions: Matrix = _point("position of contact '{}'", "contacts", name="contact_position.{}")


@dataclass(frozen=True)
class Layout:
    """The row of one run: its numbers, the record over them, and the channels they are."""

    array: Array
    row: Row
    channels: tuple[Channel, ...]
    starts: dict[str, int]

    def columns(self) -> dict[str, int]:
        """Where in the row every flat column is, by name."""
        return {
            name: self.starts[channel.name] + index
            for channel in self.channels
            for index, name in enumerate(channel.columns)
        }


def layout(
    robot: Robot,
    plant: Plant,
    law: BoundLaw,
    sensors: Mapping[str, Sensor],
    touches: tuple[str, ...] = (),
    points: tuple[str, ...] = (),
) -> Layout:
    """Lay the row of a run out.

    `sensors` are the custom ones, `touches` the names of its exact contacts, `points` those of other contacts whose
    forces are recorded one by one.
    """
    other_sizes = {"rest_q": plant.model.nq - robot.model.nq, "rest_v": plant.model.nv - robot.model.nv}
    shown = sum(item.source(law.memory).size for item in law.shown)
    sizes = {"nq": robot.nq, "nv": robot.nv, "terms": len(law.terms), "surfaces": len(plant.surfaces), "law": shown}
    poles = int(plant.pole >= 0)
    sizes["sensors"] = sum(sensor.width for sensor in sensors.values())
    sizes["elastic"] = 0 if plant.elastic is None else robot.nv
    sizes |= other_sizes | {"pole": poles, "pole axes": 3 * poles, "touches": len(touches)}
    sizes["contacts"] = len(touches) + len(points)
    words = _Words(robot, plant, law, touches, points)
    channels, starts, offset = [], {}, 0
    for field, shape in Row.shapes(sizes).items():
        meaning = Row.fields[field].default
        if field in ("law", "sensors"):
            shown = [_shown_channel(item, item.source(law.memory).size) for item in law.shown]
            for channel in shown if field == "law" else map(_sensor_channel, sensors.items()):
                channels.append(channel)
                starts[channel.name] = offset
                offset += channel.size
            continue
        rows = words.rows.get(field)
        for name in [meaning.name or field] if rows is None else [str(meaning.name).format(row) for row in rows]:
            size = int(np.prod(shape)) if rows is None else shape[1]
            if size and not (robot.unresisted and field in _OF_MASSES):
                channels.append(words.channel(name, meaning, size, name.partition(".")[2]))
                starts[name] = offset
            offset += size
    array = np.zeros(offset)
    return Layout(array, Row.over(array, sizes), tuple(channels), starts)


def _shown_channel(item: Shown, size: int) -> Channel:
    shape = (size,) if item.labels or size > 1 else ()
    return Channel(item.channel, item.unit, shape, item.frame, item.labels, item.help)


def _sensor_channel(item: tuple[str, Sensor]) -> Channel:
    name, sensor = item
    shape = (sensor.width,) if sensor.labels else ()
    summary = (type(sensor).__doc__ or "").partition("\n")[0] if type(sensor).__doc__ != Sensor.__doc__ else ""
    help = summary or "reading of a custom sensor, as the law received it"
    return Channel(f"sensor.{name}", sensor.unit, shape, sensor.frame, sensor.labels, help)


class _Words:
    """A robot's own labels and units, and in `rows` the channels' names where a field stands for several."""

    def __init__(
        self, robot: Robot, plant: Plant, law: BoundLaw, touches: tuple[str, ...], points: tuple[str, ...]
    ) -> None:
        model, own = plant.model, [robot.model.joint(name).id for name in robot.joint_names]
        others = range(robot.model.njnt, model.njnt)
        coordinates, positions = coordinate_labels(robot.model, own)
        other_labels, rest_units = coordinate_labels(model, others)
        rates, rate_units = rate_labels(model, others)
        units = robot.dof_units
        effort = tuple("N" if u == "m" else "N·m" for u in units)
        speed = tuple(f"{u}/s" for u in units)
        acceleration = tuple(f"{u}/s²" for u in units)
        command = {"torque": effort, "velocity": speed, "position": units, "acceleration": acceleration}
        self.labels = {"coordinates": coordinates, "joints": robot.dof_names, "rest": other_labels, "rest rates": rates}
        self.units = {"position": positions, "speed": speed, "effort": effort, "rest": rest_units}
        self.units |= {"rest speed": rate_units, "command": command[law.command]}
        self.labels["touches"] = touches
        self.rows = {"terms": law.terms, "surfaces": tuple(surface.name for surface in plant.surfaces)}
        self.rows |= dict.fromkeys(("touch_forces", "touch_positions"), (*touches, *points))

    def channel(self, name: str, meaning: RecordedQuantity, size: int, row: str) -> Channel:
        """The channel of a recorded quantity."""
        labels = self.labels[meaning.labels] if isinstance(meaning.labels, str) else meaning.labels
        unit = self.units.get(meaning.unit, meaning.unit) if isinstance(meaning.unit, str) else meaning.unit
        shape = () if labels is None else (size,)
        return Channel(name, unit, shape, meaning.frame, labels or (), meaning.help.format(row))

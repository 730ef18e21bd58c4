"""A scenario as typed data: robot, law, reference, world, clock, record, events and bounds on metrics."""

from __future__ import annotations

import importlib
import json
from typing import Annotated, Any, Literal

from pydantic import SerializeAsAny, ValidationInfo, field_serializer, field_validator, model_validator

from palpate.config import Config, Quaternion, Vector3, required, setting
from palpate.control import LAWS
from palpate.control.guards import Guards
from palpate.control.law import Law
from palpate.control.references import REFERENCES
from palpate.control.references.reference import Hold, ReferenceSettings
from palpate.errors import InvalidInput, UnknownName
from palpate.metrics.metric import Bound
from palpate.scenario.sweep import SweepSettings
from palpate.trace import Recording, StopWhen
from palpate.world.clock import Clock
from palpate.world.config import ORIGIN, UPRIGHT, World

Tensor = Annotated[
    tuple[float, float, float] | tuple[float, float, float, float, float, float] | tuple[Vector3, Vector3, Vector3],
    "three moments, six entries (xx yy zz xy xz yz) or three rows",
]
Friction = float | tuple[float, float]


class Base(Config):
    """Where the robot stands."""

    position: Vector3 = setting(ORIGIN, "m", "of its base, world axes")
    quat_wxyz: Quaternion = setting(UPRIGHT, "1", "of its base")


class Payload(Config):
    """A rigid load that the law knows about."""

    mass: float = required("kg", "its mass", gt=0)
    com: Vector3 = setting(ORIGIN, "m", "its centre of mass in the frame")
    inertia: Tensor = setting(ORIGIN, "kg·m²", "about that centre, axes of the frame: 3 moments, 6 entries or 3×3")
    frame: str | None = setting(None, "1", "where it is fixed; the tool frame if not given")


class Tool(Payload):
    """A tool that the law knows about; its tip becomes the tool frame."""

    mass: float = required("kg", "its mass; 0 where only the tip matters", ge=0)
    tip_position: Vector3 = setting(ORIGIN, "m", "of the tip in the frame")
    tip_quat_wxyz: Quaternion = setting(UPRIGHT, "1", "of the tip in the frame")


class DHRow(Config):
    """One row of a Denavit–Hartenberg table with the link's mass and the joint's limits."""

    a: float = setting(0.0, "m", "length along x")
    alpha: float = setting(0.0, "rad", "twist about x")
    d: float = setting(0.0, "m", "length along z; a prismatic joint adds to it")
    theta: float = setting(0.0, "rad", "angle about z; a revolute joint adds to it")
    kind: Literal["revolute", "prismatic"] = setting("revolute", "1", "what the joint does")
    mass: float = setting(1.0, "kg", "of the link", ge=0)
    com: Vector3 = setting(ORIGIN, "m", "centre of mass in the link's DH frame")
    inertia: Tensor = setting(ORIGIN, "kg·m²", "about that centre, DH axes: 3 moments, 6 entries or 3×3")
    motor_inertia: float = setting(0.0, "kg·m²", "of the rotor about its own axis", ge=0)
    gear: float = setting(1.0, "1", "turns of the rotor per turn of the joint")
    damping: float = setting(0.0, "N·m·s/rad or N·s/m", "viscous loss at the joint", ge=0)
    friction: Friction = setting(0.0, "N·m or N", "Coulomb loss at the joint; two numbers where the ways differ")
    motor_damping: float = setting(0.0, "N·m·s/rad", "viscous loss at the rotor; the joint feels gear² as much", ge=0)
    motor_friction: Friction = setting(0.0, "N·m", "Coulomb loss at the rotor; the joint feels |gear| as much")
    lower: float | None = setting(None, "rad or m", "lower limit; none if not given")
    upper: float | None = setting(None, "rad or m", "upper limit; none if not given")
    velocity: float | None = setting(None, "rad/s or m/s", "largest speed; any if not given", gt=0)
    torque: float | None = setting(None, "N·m or N", "largest torque; any if not given", gt=0)


class Start(Config):
    """The state at t = 0: joint coordinates, or where the tool is (the posture is then found by inverse kinematics)."""

    q: tuple[float, ...] | None = setting(None, "rad or m", "coordinates in joint order; home if not given")
    v: tuple[float, ...] | None = setting(None, "rad/s or m/s", "joint velocities; at rest if not given")
    position: Vector3 | None = setting(None, "m", "or the tool's position, world axes")
    quat_wxyz: Quaternion | None = setting(None, "1", "with its orientation; any if not given")

    @model_validator(mode="after")
    def _one_way(self) -> Start:
        if self.q is not None and (self.position is not None or self.quat_wxyz is not None):
            raise InvalidInput("the start is given by q or by the tool's position, not both")
        if self.quat_wxyz is not None and self.position is None:
            raise InvalidInput("a start orientation needs a start position beside it")
        return self


class RobotSettings(Config):
    """Which robot, where it stands, what it carries and how it starts."""

    model: str | None = setting(None, "1", "a catalogue name (palpate list), or a .urdf or MJCF .xml file")
    parameters: dict[str, float | tuple[float, ...]] = setting({}, "SI", "parameters of a catalogue robot, by name")
    dh: tuple[DHRow, ...] = setting((), "1", "or a Denavit–Hartenberg table, row by row")
    dh_convention: Literal["standard", "modified"] = setting("standard", "1", "how the table is meant")
    repair: bool = setting(False, "1", "take the nearest possible inertia where the table's is impossible")
    packages: tuple[str, ...] = setting((), "1", "folders that package:// files of the model may lie in")
    xacro: bool = setting(False, "1", "the model file is xacro, a program: run it")
    estimate_inertia: float | None = setting(None, "kg", "total mass to estimate a URDF's missing masses from", gt=0)
    lock: dict[str, float] = setting({}, "rad or m", "joints welded at a value, by name")
    base: Base = setting(Base(), "1", "where it stands")
    tool: Tool | None = setting(None, "1", "a tool fixed at its flange")
    payload: Payload | None = setting(None, "1", "a load it carries")
    tool_frame: str | None = setting(None, "1", "frame that the law moves; the robot's own tool frame if not given")
    gravity: Vector3 | None = setting(None, "m/s²", "gravity as robot and law know it; the model's if not given")
    start: Start = setting(Start(), "1", "its state at t = 0")

    @model_validator(mode="after")
    def _one_source(self) -> RobotSettings:
        if (self.model is None) == (not self.dh):
            raise InvalidInput("a robot needs exactly one of model and dh")
        return self


class RecordSettings(Config):
    """What to keep."""

    channels: tuple[str, ...] = setting((), "1", "names of channels, such as q or contact_force; all if none is given")
    stride: int = setting(1, "physics steps", "record every so many", ge=1)

    def recording(self) -> Recording:
        """The same for a run."""
        return Recording(self.channels or "all", self.stride)


class StopEvent(Config):
    """An event that ends the run: a recorded column leaves a bound."""

    column: str = required("1", "a column such as contact_force or tool_position[x]", min_length=1)
    above: float | None = setting(None, "the column's", "stop when it is above this")
    below: float | None = setting(None, "the column's", "stop when it is below this")
    magnitude: bool = setting(False, "1", "compare its absolute value with `above`")

    @model_validator(mode="after")
    def _one_bound(self) -> StopEvent:
        if (self.above is None) == (self.below is None):
            raise InvalidInput("an event needs exactly one of above and below")
        return self

    def rule(self) -> StopWhen:
        """The same for a run."""
        return StopWhen(self.column, self.above, self.below, self.magnitude)


class Scenario(Config):
    """A run as data: everything that shapes a trace, and nothing that runs."""

    name: str = required("1", "name of the scenario", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)
    description: str = setting("", "1", "what it shows, in a sentence or two")
    extends: str | None = setting(None, "1", "a shipped scenario or a .toml file whose settings this one changes")
    robot: RobotSettings = required("1", "the robot")
    control: SerializeAsAny[Law] = required("1", "the law by its name, and its gains")
    reference: SerializeAsAny[ReferenceSettings] = setting(Hold(), "1", "what the law is asked to do")
    world: World = setting(World(), "1", "what pushes back, what is measured, and how the plant differs")
    guards: Guards | None = setting(None, "1", "limits around the law; none beyond the actuators' own if not given")
    run: Clock = setting(Clock(), "1", "the clock")
    record: RecordSettings = setting(RecordSettings(), "1", "what to keep")
    stop: tuple[StopEvent, ...] = setting((), "1", "events that end the run")
    metrics: dict[str, Bound] = setting({}, "1", "bounds on metrics, by name (palpate list metrics)")
    sweep: SweepSettings | None = setting(None, "1", "what `palpate sweep` varies")

    @field_validator("control", mode="plain")
    @classmethod
    def _law(cls, value: Any, info: ValidationInfo) -> Law:
        if isinstance(value, Law):
            return _registered(value)
        chosen, gains = _tagged(value, "law", LAWS)
        return _typed(law_class(chosen), gains, info)

    @field_validator("reference", mode="plain")
    @classmethod
    def _kind(cls, value: Any, info: ValidationInfo) -> ReferenceSettings:
        if isinstance(value, ReferenceSettings):
            return value
        chosen, _ = _tagged(value, "kind", REFERENCES)
        return _typed(REFERENCES[chosen], value, info)

    @field_serializer("control", mode="wrap")
    def _with_name(self, law: Law, handler: Any) -> dict[str, Any]:
        return {"law": law.name, **handler(law)}

    def as_data(self) -> dict[str, Any]:
        """Plain data that `Scenario.model_validate` reads back to an equal scenario."""
        return self.model_dump(mode="json", exclude_none=True)


def law_class(name: str) -> type[Law]:
    """A law's settings by its registered name; only that law is imported."""
    if name not in LAWS:
        raise UnknownName("law", name, LAWS)
    module, class_name = LAWS[name]
    return getattr(importlib.import_module(module), class_name)


def _registered(law: Law) -> Law:
    if law.name not in LAWS or type(law) is not law_class(law.name):
        raise InvalidInput(
            f"the law {law.name!r} is not registered, so that a file cannot name it",
            hint="hand a law of your own to palpate.Run, or add it to palpate.control.LAWS",
        )
    return law


def _tagged(value: Any, key: str, known: Any) -> tuple[str, dict[str, Any]]:
    """The tag of a table whose fields depend on it, and the rest of the table."""
    if not isinstance(value, dict):
        raise InvalidInput(f"a table with the key {key!r} is needed, got {value!r}")
    if key not in value:
        raise InvalidInput(f"the key {key!r} is missing; one of {', '.join(known)}")
    if not isinstance(value[key], str) or value[key] not in known:
        unknown = UnknownName(key, str(value[key]), known)
        raise InvalidInput(unknown.args[0], hint=unknown.hint)  # pydantic collects errors of values only
    return value[key], {name: item for name, item in value.items() if name != key}


def _typed(cls: type[Any], value: dict[str, Any], info: ValidationInfo) -> Any:
    if info.mode == "json":  # a file: 1 is a number, "1" is not
        return cls.__pydantic_validator__.validate_json(json.dumps(value), strict=True)
    return cls.__pydantic_validator__.validate_python(value)

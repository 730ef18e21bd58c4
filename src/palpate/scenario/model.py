"""A scenario as typed data: robot, law, reference, world, clock, record, events and bounds on metrics."""

from __future__ import annotations

import importlib
import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from pydantic import SerializeAsAny, ValidationInfo, create_model, field_serializer, field_validator, model_validator

from palpate.config import Config, Quaternion, Vector3, required, setting, tagged, typed
from palpate.control import LAWS
from palpate.control.around import Around
from palpate.control.guards import Guards
from palpate.control.law import Law
from palpate.control.references import REFERENCES
from palpate.control.references.reference import Hold, ReferenceSettings
from palpate.control.unloaded import UnloadedReference, unloaded_law
from palpate.display import shown
from palpate.errors import InvalidInput, check_names, value_text
from palpate.metrics.table import Bound
from palpate.robot.load import Joints
from palpate.robot.readers.dh.table import DHLink, Tensor
from palpate.toolbox import around_class
from palpate.trace import Recording, StopWhen
from palpate.user_code import Unloaded, is_address, is_loaded
from palpate.world.clock import Clock
from palpate.world.config import ORIGIN, UPRIGHT, World

if TYPE_CHECKING:
    from palpate.scenario.reference import FittedLaw


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


def _row_settings() -> type[Config]:
    """The columns of `DHLink` as keys of a file; an infinite limit is one that is not given."""
    keys: dict[str, Any] = {}
    for column in fields(DHLink):
        kind, default, metadata = column.metadata["kind"], column.default, column.metadata
        if isinstance(default, float) and math.isinf(default):
            kind, default = kind | None, None
        keys[column.name] = (kind, setting(default, metadata["unit"], metadata["help"], **metadata["bounds"]))
    return create_model("DHRow", __base__=Config, **keys)


class DHRow(_row_settings()):
    """One row of a Denavit–Hartenberg table with the link's mass and the joint's limits: a `DHLink` in a file."""

    def link(self) -> DHLink:
        """The same for a robot."""
        return DHLink(**self.model_dump(exclude_none=True))


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
    dh_convention: Literal["standard", "modified"] = setting("standard", "1", "convention of the table")
    repair: bool = setting(False, "1", "take the nearest possible inertia where the table's is impossible")
    packages: tuple[str, ...] = setting((), "1", "folders that package:// files of the model may lie in")
    xacro: bool | dict[str, str] = setting(False, "1", "the model file is xacro, a program: run it; or its arguments")
    estimate_inertia: float | None = setting(None, "kg", "total mass to estimate a URDF's missing masses from", gt=0)
    joints: Joints = setting(
        "as_built",
        "1",
        "with the rotor inertia and friction that model and catalogue know; ideal: without; elastic: also with the"
        " stiffness of the gears",
    )
    lock: dict[str, float] = setting({}, "rad or m", "joints welded at a value, by name")
    base: Base = setting(Base(), "1", "pose of its base in the world")
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
    """Samples and channels to keep."""

    channels: tuple[str, ...] = setting((), "1", "names of channels, such as q or contact_force; all if none is given")
    stride: int = setting(1, "physics steps", "record every so many", ge=1)
    period: float | None = setting(None, "s", "or how often, a whole number of physics steps", gt=0)
    points: bool = setting(False, "1", "record force and position at each contact point, which the replay draws")

    @model_validator(mode="after")
    def _one_way(self) -> RecordSettings:
        if self.period is not None and self.stride != 1:
            raise InvalidInput("how often to record is given by stride (physics steps) or by period (s), not both")
        return self

    def recording(self, timestep: float) -> Recording:
        """The same for a run with so long a physics step, s."""
        stride = self.stride if self.period is None else round(self.period / timestep)
        if self.period is not None and abs(stride * timestep - self.period) > 1e-9 * self.period:
            raise InvalidInput(
                f"the recording period {self.period:g} s must be a whole multiple of the physics step {timestep:g} s",
                hint=f"the nearest is {max(stride, 1) * timestep:g} s",
            )
        return Recording(self.channels or "all", stride, self.points)


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


class SweepSettings(Config):
    """Defaults of `palpate sweep` for this scenario; `palpate run` ignores them."""

    vary: dict[str, str | tuple[Any, ...]] = setting(
        {}, "1", "by key: a range 100:2000:20, a list of values, or a distribution such as normal(1, 0.05)"
    )
    method: Literal["grid", "random", "latin", "sobol", "saltelli", "map"] | None = setting(
        None, "1", "how runs are chosen; a grid where every key has a list, else random"
    )
    runs: int | None = setting(None, "1", "number of runs; not for a grid", ge=1)
    repeat: int = setting(1, "1", "runs of each point, with different seeds", ge=1)
    seed: int = setting(0, "1", "of the draws", ge=0, lt=2**63)
    metric: str | None = setting(None, "1", "metric that ranks the runs; the first with a bound if not given")
    traces: Literal["none", "all", "failing", "best", "worst"] = setting("none", "1", "which traces are kept")
    until: str | None = setting(None, "1", "failure<0.01 or width<0.02: stop as soon as this is known")
    rare: str | None = setting(None, "1", "force_peak>40: estimate a small probability by importance sampling")


class Scenario(Config):
    """A run as data: everything that shapes a trace, and nothing that runs.

    What it names by `module:object` is kept as data too, until `with_code` loads it.
    """

    name: str = required("1", "name of the scenario", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)
    description: str = setting("", "1", "what it shows, in a sentence or two")
    document: str | None = setting(None, "1", "name of the document, exam or book it shows a part of", max_length=20)
    extends: str | None = setting(None, "1", "a shipped scenario or a .toml file whose settings this one changes")
    modules: dict[str, str] = setting(
        {}, "1", "files of modules that own laws, references and metrics are in, by name; those beside it are found"
    )
    robot: RobotSettings = required("1", "the robot")
    control: SerializeAsAny[Law] = required("1", "the law by its name, and its gains")
    reference: SerializeAsAny[ReferenceSettings] = setting(Hold(), "1", "desired motion and force over time")
    world: World = setting(World(), "1", "surfaces, pushes, sensors, driver, and differences of the plant")
    guards: Guards | None = setting(None, "1", "limits around the law; none beyond the driver's own if not given")
    reactions: SerializeAsAny[Around] | None = setting(
        None, "1", "what stands around the law: contact felt and answered, energy and limits kept"
    )
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
        if _is_data(value, "law"):
            return typed(unloaded_law(value["law"]), {k: v for k, v in value.items() if k != "law"}, info)
        chosen, gains = tagged(value, "law", LAWS)
        return typed(law_class(chosen), gains, info)

    @field_validator("reference", mode="plain")
    @classmethod
    def _kind(cls, value: Any, info: ValidationInfo) -> ReferenceSettings:
        if isinstance(value, ReferenceSettings):
            return value
        if _is_data(value, "kind"):
            return typed(UnloadedReference, value, info)
        chosen, _ = tagged(value, "kind", REFERENCES)
        return typed(REFERENCES[chosen], value, info)

    @field_validator("reactions", mode="plain")
    @classmethod
    def _around(cls, value: Any, info: ValidationInfo) -> Around | None:
        if value is None or isinstance(value, Around):
            return value
        if not isinstance(value, dict):
            raise InvalidInput(f"a table is needed, got {value_text(value)}")
        return typed(around_class("reactions"), value, info)

    @field_serializer("control", mode="wrap")
    def _with_name(self, law: Law, handler: Any) -> dict[str, Any]:
        return {"law": law.name, **handler(law)}

    @property
    def fitted(self) -> FittedLaw | None:
        """The law as the check of this scenario has fitted it to its robot, for the run that follows."""
        return self.__dict__.get("_fitted")  # beside the fields: equal scenarios are equal whoever was checked

    def keep_fitted(self, fitted: FittedLaw | None) -> None:
        """Hand a law that was fitted on to the run."""
        object.__setattr__(self, "_fitted", fitted)

    @property
    def code(self) -> dict[tuple[str, ...], str]:
        """Every `module:object` that the scenario names, by the path of its key."""
        sensors = {("world", "sensors", "custom", k): sensor.kind for k, sensor in self.world.sensors.custom.items()}
        named = {("control",): self.control.name, ("reference",): self.reference.kind, **sensors}
        named |= {("metrics", name): name for name in self.metrics}
        return {path: name for path, name in named.items() if is_address(name)}

    def with_code(self) -> Scenario:
        """This scenario with the code loaded that it names, its settings checked by that code; says so on stderr first.

        Whatever runs a scenario calls it: `simulate`, `sweep`, `tune`, `export` and the rest. It also lets a model in
        xacro run.

        Raises:
            ScenarioError: the code is forbidden, fails or refuses its settings; every problem in one message.
        """
        from palpate.scenario.file.load import with_code

        return with_code(self)

    def as_data(self) -> dict[str, Any]:
        """Plain data from which Scenario.model_validate makes an equal scenario."""
        return self.model_dump(mode="json", exclude_none=True)

    def changed(self) -> dict[str, Any]:
        """As `as_data`, with only those settings that are not the defaults, and the names that tell tables apart."""
        short = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        return _with_tags(short, self.as_data())

    def replace(self, **changes: Any) -> Scenario:
        """This scenario with other values, checked like a file: `scenario.replace(control__stiffness=[300] * 6)`.

        Args:
            changes: keys with `__` for the dots of a file, such as `world__surfaces__wall__stiffness=2e4`; None takes
                away what was given; another `control__law` takes over no gains of the one before.

        Raises:
            ScenarioError: everything that is wrong with the result, in one message.
        """
        from palpate.scenario.file.load import replaced

        return replaced(self, changes)

    def _repr_html_(self) -> str:
        return shown("scenario_html")(self)


_TELLING = ("name", "kind")  # say which table it is, so they stand even where they are the default


def _with_tags(short: Any, whole: Any) -> Any:
    """Data without defaults, with the keys that say which table it is put back."""
    if isinstance(short, list) and isinstance(whole, list):
        return [_with_tags(a, b) for a, b in zip(short, whole)]
    if not isinstance(short, dict) or not isinstance(whole, dict):
        return short
    tags = {key: whole[key] for key in _TELLING if isinstance(whole.get(key), str)}
    return tags | {key: _with_tags(value, whole.get(key)) for key, value in short.items()}


def _is_data(value: Any, key: str) -> bool:
    """Whether a table names code of its own that was not loaded."""
    return isinstance(value, dict) and is_address(value.get(key)) and not is_loaded(value[key])


def law_class(name: str) -> type[Law]:
    """A law's settings by its registered name; only that law is imported."""
    check_names("law", [name], LAWS)
    law = LAWS[name]
    return law if isinstance(law, type) else getattr(importlib.import_module(law[0]), law[1])


def _registered(law: Law) -> Law:
    if isinstance(law, Unloaded):
        return law
    if law.name not in LAWS or type(law) is not law_class(law.name):
        raise InvalidInput(
            f"the law {law.name!r} is not registered, so that a file cannot name it",
            hint="palpate.control.register(YourLaw), or name it module:YourLaw",
        )
    return law

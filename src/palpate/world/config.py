"""Parts of a world, as typed settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import PlainValidator, SerializeAsAny, model_validator

from palpate.config import Config, PerJoint, Quaternion, Vector3, Vector6, required, setting
from palpate.errors import InvalidInput, shortened
from palpate.spatial.height_field import FEWEST, MOST
from palpate.spatial.shapes import SHAPES
from palpate.world.driver import Driver
from palpate.world.sensing.faults import Fault
from palpate.world.sensing.sensor import Late, Sensor, sensor_of

if TYPE_CHECKING:
    ShapeName = str
else:
    ShapeName = Literal[tuple(SHAPES)]

ORIGIN: Vector3 = (0.0, 0.0, 0.0)
UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)


class Motion(Config):
    """How a surface moves: a steady velocity between two times, and a sinusoid."""

    velocity: Vector3 = setting(ORIGIN, "m/s", "steady velocity, world axes")
    start: float = setting(0.0, "s", "when the steady motion begins", ge=0)
    stop: float = setting(1e9, "s", "when the steady motion ends", ge=0)
    amplitude: Vector3 = setting(ORIGIN, "m", "amplitude of the sinusoid, world axes")
    frequency: float = setting(0.0, "Hz", "frequency of the sinusoid", ge=0)


class Surface(Config):
    """A plane, box, sphere, cylinder, height field or mesh that pushes back.

    Compliant contact: f = k δ + d δ̇ (Kelvin–Voigt) or f = k δᵉ (1 + c δ̇) (Hunt–Crossley), never pulling; friction
    is a spring of stiffness k_t that slips at μ f. Rigid contact neither yields nor creeps and is solved at each step
    with joint friction and stops (by MuJoCo's constraint solver where equations cannot hold it). Exact contact is a
    constraint: forces are its multipliers, impacts take no time, events are located (see `palpate.tools.contact`).
    """

    name: str = setting("wall", "1", "name of the surface", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    shape: ShapeName = setting("plane", "1", "its shape")
    size: tuple[float, ...] = setting(
        (),
        "m",
        "box: three edge lengths; sphere: radius; cylinder: radius, length; height-field: lengths along x and y;"
        " plane, mesh: none",
    )
    heights: tuple[tuple[float, ...], ...] = setting(
        (), "m", "of a height-field: rows from the smallest y on, each from the smallest x on; 4 by 4 at least"
    )
    file: str | None = setting(None, "1", "heights (.npy, .csv, .png) or a mesh (.stl, .obj), relative to the scenario")
    scale: float = setting(1.0, "m", "one unit of the file; of a .png the height of white above black", gt=0, le=1e6)
    position: Vector3 = setting(ORIGIN, "m", "its centre (a point of the plane), world axes")
    quat_wxyz: Quaternion | None = setting(None, "1", "its orientation; a plane may give `normal` instead")
    normal: Vector3 = setting((0.0, 0.0, 1.0), "1", "outward normal of a plane, world axes")
    contact: Literal["compliant", "rigid", "exact"] = setting("compliant", "1", "how it pushes back")
    model: Literal["kelvin-voigt", "hunt-crossley"] = setting("kelvin-voigt", "1", "law of a compliant contact")
    stiffness: float = setting(1e4, "N/m", "k of a compliant contact (N/mᵉ for Hunt–Crossley)", gt=0)
    damping: float = setting(50.0, "N·s/m", "d of a Kelvin–Voigt contact", ge=0)
    dissipation: float = setting(0.5, "s/m", "c of a Hunt–Crossley contact", ge=0)
    exponent: float = setting(1.0, "1", "e of a Hunt–Crossley contact", ge=1, le=3)
    friction: float = setting(0.0, "1", "Coulomb coefficient μ", ge=0)
    tangential_stiffness: float | None = setting(None, "N/m", "k_t; the normal stiffness if not given", gt=0)
    tangential_damping: float | None = setting(
        None, "N·s/m", "of a sticking contact; the normal one if not given", ge=0
    )
    two_sided: bool = setting(False, "1", "exact contact: hold from both sides, as a slot or a rail does")
    static_friction: float | None = setting(
        None, "1", "exact contact: the coefficient up to which it sticks; μ if not given", ge=0
    )
    restitution: float = setting(0.0, "1", "exact contact: e of an impact", ge=0, le=1)
    impact_law: Literal["poisson", "stronge", "newton"] = setting(
        "poisson", "1", "exact contact: e is a ratio of impulses, e² one of works, or e one of speeds"
    )
    motion: Motion | None = setting(None, "1", "how it moves; still if not given")

    @model_validator(mode="after")
    def _exact_keys_are_for_exact_contact(self) -> Surface:
        meant = [key for key, default in _EXACT_DEFAULTS.items() if getattr(self, key) != default]
        if meant and self.contact != "exact":
            raise InvalidInput(
                f"surface {self.name!r}: {', '.join(meant)} is for exact contact, but this one is {self.contact}",
                hint='set contact = "exact", or leave it out',
            )
        if self.static_friction is not None and self.static_friction < self.friction:
            raise InvalidInput(
                f"surface {self.name!r}: static_friction {self.static_friction:g} must be at least the sliding"
                f" friction {self.friction:g}"
            )
        return self

    @model_validator(mode="after")
    def _data_fits_shape(self) -> Surface:
        needs, name = SHAPES[self.shape].data, f"surface {self.name!r}"
        if self.heights and needs != "heights":
            raise InvalidInput(f"{name}: heights are for a height-field, this is a {self.shape}")
        if self.file is not None and not needs:
            raise InvalidInput(f"{name}: a file is for a height-field or a mesh, this is a {self.shape}")
        if needs and (self.file is None) == (not self.heights):
            wanted = "its heights or a file of them, not both" if needs == "heights" else "the file of its triangles"
            raise InvalidInput(f"{name}: a {self.shape} needs {wanted}")
        if needs and self.contact != "compliant":
            raise InvalidInput(
                f"{name}: a {self.shape} has compliant contact only, this one is {self.contact}",
                hint="rigid and exact contact take a plane, box, sphere or cylinder",
            )
        widths = {len(row) for row in self.heights}
        if self.heights and (len(widths) > 1 or not FEWEST <= min(widths) <= MOST >= len(self.heights) >= FEWEST):
            shape = f"{len(self.heights)} rows of {' or '.join(map(str, sorted(widths)[:5]))}"
            raise InvalidInput(f"{name}: heights are {FEWEST} to {MOST} rows of {FEWEST} to {MOST} each, got {shape}")
        return self

    @model_validator(mode="after")
    def _size_fits_shape(self) -> Surface:
        wanted = len(SHAPES[self.shape].sizes)
        if len(self.size) != wanted:
            raise InvalidInput(f"surface {self.name!r}: a {self.shape} has {wanted} sizes, got {len(self.size)}")
        if any(edge <= 0 for edge in self.size):
            raise InvalidInput(f"surface {self.name!r}: sizes must be positive, got {self.size}")
        if sum(x * x for x in self.normal) == 0:
            raise InvalidInput(f"surface {self.name!r}: the normal must have a direction, got {self.normal}")
        return self


_EXACT_DEFAULTS = {
    key: Surface.model_fields[key].default for key in ("two_sided", "static_friction", "restitution", "impact_law")
}


class LockedPoint(Config):
    """A point of the robot that is locked where it starts, by exact contact."""

    name: str = setting("pin", "1", "name of the pin", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    frame: str | None = setting(None, "1", "the frame whose origin is locked; the tool frame if not given")


class ExactRules(Config):
    """How exact contact is integrated, and what it does where rigid bodies with dry friction have no one answer."""

    painleve: Literal["impact", "stop"] = setting(
        "impact", "1", "where friction has no solution: continue by an impact without collision, or stop the run"
    )
    order: Literal["simultaneous", "sequential"] = setting(
        "simultaneous", "1", "contacts that touch at once are struck together, or one after the other, fastest first"
    )
    shortest_flight: float = setting(
        1e-5, "s", "a bounce shorter than this ends its series by the analytic tail (Zeno)", gt=0
    )
    relative: float = setting(1e-12, "1", "relative tolerance of the integration", gt=0, le=1e-3)
    absolute: float = setting(1e-13, "rad, m, rad/s, m/s", "absolute tolerance of the integration", gt=0, le=1e-3)


class FreeObject(Config):
    """A sphere or box that moves freely; the robot's contact spheres and other objects touch it rigidly."""

    name: str = required("1", "name of the object", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    shape: Literal["sphere", "box"] = setting("sphere", "1", "its shape")
    size: tuple[float, ...] = setting((0.05,), "m", "sphere: radius; box: three edge lengths")
    mass: float = setting(1.0, "kg", "its mass, spread evenly", gt=0)
    position: Vector3 = setting(ORIGIN, "m", "its centre at the start")
    quat_wxyz: Quaternion = setting(UPRIGHT, "1", "its orientation at the start")
    velocity: Vector6 = setting((0.0,) * 6, "m/s, rad/s", "its twist at the start: linear (world), angular (body)")
    friction: float = setting(0.5, "1", "Coulomb coefficient towards the robot and other objects", ge=0)

    @model_validator(mode="after")
    def _size_fits_shape(self) -> FreeObject:
        wanted = len(SHAPES[self.shape].sizes)
        if len(self.size) != wanted or any(edge <= 0 for edge in self.size):
            raise InvalidInput(f"object {self.name!r}: a {self.shape} has {wanted} positive sizes, got {self.size}")
        return self


class Pole(Config):
    """A pole with a sphere at its end, hinged at the tool; massless and without friction by default."""

    length: float = setting(1.0, "m", "l", gt=0)
    mass: float = setting(0.1, "kg", "m_s, of the sphere", gt=0)
    rod_mass: float = setting(0.0, "kg", "of the rod, spread evenly over its length", ge=0)
    pivot_damping: float = setting(0.0, "N·m·s/rad", "viscous friction of the hinge", ge=0)
    pivot_friction: float = setting(0.0, "N·m", "Coulomb friction of the hinge", ge=0)
    joint: Literal["universal", "ball"] = setting("universal", "1", "how it is hinged on the tool")
    tilt: tuple[float, float] = setting((0.0, 0.0), "rad", "rotation about the world's x and y at the start")
    radius: float = setting(0.03, "m", "of the drawn sphere", gt=0)

    @property
    def centre(self) -> float:
        """Distance of the centre of mass from the foot, m."""
        return (self.mass + 0.5 * self.rod_mass) * self.length / (self.mass + self.rod_mass)


class Push(Config):
    """A wrench on a body, on the clock."""

    name: str = setting("push", "1", "name of the push", min_length=1)
    kind: Literal["pulse", "ramp", "sine", "impulse"] = setting(
        "pulse", "1", "constant, rising from 0, sinusoidal, or a short blow of given impulse"
    )
    frame: str | None = setting(None, "1", "frame whose origin is pushed; the tool frame if not given")
    force: Vector3 = setting(ORIGIN, "N (N·s for an impulse)", "force, its peak, or its impulse")
    torque: Vector3 = setting(ORIGIN, "N·m (N·m·s for an impulse)", "torque, its peak, or its impulse")
    start: float = setting(0.0, "s", "when it begins", ge=0)
    duration: float = setting(1.0, "s", "how long it lasts (one physics step for an impulse)", gt=0)
    frequency: float = setting(1.0, "Hz", "of a sinusoid", gt=0)
    axes: Literal["world", "frame"] = setting("world", "1", "axes of force and torque")


class Attachment(Config):
    """A mass that is fixed to, or released from, the robot during the run."""

    name: str = setting("payload", "1", "name of the load", min_length=1)
    frame: str | None = setting(None, "1", "where; the tool frame if not given")
    mass: float = required("kg", "mass of the load", gt=0)
    com: Vector3 = setting(ORIGIN, "m", "its centre in the frame")
    attach: float = setting(0.0, "s", "when it is attached", ge=0)
    release: float | None = setting(None, "s", "when it is released; never if not given", gt=0)


class WrenchSensor(Late):
    """A wrist force/torque sensor; it reports the wrench of the environment on the robot after tool compensation."""

    frame: str | None = setting(None, "1", "where it sits; bodies beyond it are the tool; the tool frame if not given")
    noise_force: float = setting(0.0, "N", "standard deviation per axis and sample", ge=0)
    noise_torque: float = setting(0.0, "N·m", "standard deviation per axis and sample", ge=0)
    bias: Vector6 = setting((0.0,) * 6, "N, N·m", "constant error")
    cutoff: float | None = setting(None, "Hz", "first-order low-pass; none if not given", gt=0)
    compensate: bool = setting(True, "1", "subtract the nominal weight of the tool")


class Camera(Config):
    """Camera on the pole: pictures of its direction, late and noisy; if it is ideal, direction and rate at once."""

    rate: float | None = setting(None, "Hz", "images per second; one per control period if not given", gt=0)
    delay: float = setting(0.0, "s", "until an image arrives", ge=0, le=10)
    noise: float = setting(0.0, "rad", "standard deviation of the direction, per axis and image", ge=0)

    @property
    def ideal(self) -> bool:
        """Whether the law is told the true direction and its rate at every tick."""
        return self == Camera()


class Sensors(Late):
    """Sensors of the joints, the wrist and the pole; ideal unless set otherwise."""

    encoders: Literal["motor", "link", "torque", "gravity"] = setting(
        "motor",
        "1",
        "of elastic joints: at the motor, at the link, or at the motor less the sensed torque, or the model's gravity,"
        " over the stiffness",
    )
    encoder_resolution: float = setting(0.0, "rad or m", "smallest step of a joint encoder; 0 for none", ge=0)
    encoder_noise: float = setting(0.0, "rad or m", "standard deviation per sample", ge=0)
    velocity: Literal["measured", "differentiated"] = setting("measured", "1", "where joint velocities come from")
    velocity_noise: float = setting(0.0, "rad/s or m/s", "standard deviation per sample, if measured", ge=0)
    velocity_cutoff: float | None = setting(None, "Hz", "low-pass on the velocities; none if not given", gt=0)
    torque_noise: float = setting(0.0, "N·m or N", "standard deviation of joint torque sensors", ge=0)
    wrench: WrenchSensor = setting(WrenchSensor(), "1", "the wrist sensor")
    camera: Camera = setting(Camera(), "1", "camera that measures the pole")
    custom: dict[str, Annotated[SerializeAsAny[Sensor], PlainValidator(sensor_of)]] = setting(
        {}, "1", "your own sensors by name, each with its kind, module:Class; the law reads tick.seen.values"
    )

    @model_validator(mode="after")
    def _names_of_channels(self) -> Sensors:
        for name in self.custom:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
                raise InvalidInput(f"a sensor's name is letters, digits, '-' and '_', got {shortened(name)!r}")
        return self

    @model_validator(mode="after")
    def _differentiated_velocity_has_no_noise_of_its_own(self) -> Sensors:
        if self.velocity == "differentiated" and self.velocity_noise > 0:
            raise InvalidInput("velocity_noise is for measured velocities; differentiated ones have encoder_noise")
        return self

    @property
    def ideal(self) -> bool:
        """Whether the law sees the true joint state."""
        return (
            self.encoder_resolution == self.encoder_noise == self.velocity_noise == 0
            and self.velocity == "measured"
            and self.velocity_cutoff is None
            and self.delay == 0
        )


class PlantChange(Config):
    """How the true plant differs from the model the law knows."""

    mass_scale: float = setting(1.0, "1", "true mass over nominal mass, every link", gt=0)
    link_mass_scale: dict[str, float] = setting({}, "1", "the same for single links, by name")
    com_offset: Vector3 = setting(ORIGIN, "m", "shift of every link's centre of mass, link axes")
    joint_damping: PerJoint = setting(0.0, "N·m·s/rad or N·s/m", "viscous friction added, at least 0")
    joint_friction: PerJoint = setting(0.0, "N·m or N", "Coulomb friction added, at least 0")
    rotor_inertia: PerJoint = setting(
        0.0, "kg·m² or kg", "reflected inertia of the drives added, at least 0; known to the joint servo alone"
    )
    joint_stiffness: PerJoint | None = setting(
        None, "N·m/rad or N/m", "of the gears: joints are elastic; as robot.joints has it if not given"
    )
    gear_damping: PerJoint | None = setting(None, "N·m·s/rad or N·s/m", "beside that stiffness; likewise")
    breakaway: PerJoint = setting(0.0, "N·m or N", "friction of an elastic joint's motor at rest beyond Coulomb's")
    stribeck_speed: float = setting(0.05, "rad/s or m/s", "at which e^-1 of that is left", gt=0)
    base_position: Vector3 = setting(ORIGIN, "m", "error of the base's position")
    tool_offset: Vector3 = setting(ORIGIN, "m", "error of the tool frame's place on its link")

    @property
    def none(self) -> bool:
        """Whether plant and nominal model are the same."""
        return self == _AS_MODELLED


_AS_MODELLED = PlantChange()


class ContactShape(Config):
    """A shape on the robot that touches surfaces with several points; it lies in the xy-plane of its axes.

    Each of n points has an n-th of a compliant surface's stiffness and damping, so that pressed flat the whole has all:
    an elastic pad. A disc of radius R then resists tilting by k R²/4, a pad of edge a by k a²/12.
    """

    name: str = setting("pad", "1", "name of the shape", min_length=1)
    shape: Literal["disc", "pad", "edge", "sphere", "points"] = setting("disc", "1", "what it is")
    size: tuple[float, ...] = setting(
        (0.02,), "m", "disc, sphere: radius; pad: edges along x and y; edge: length along x"
    )
    points: tuple[Vector3, ...] = setting((), "m", "places of `points`, in its axes")
    count: int = setting(16, "1", "how many points a disc, pad or edge has", ge=1, le=400)
    frame: str | None = setting(None, "1", "where it is fixed; the tool frame if not given")
    position: Vector3 = setting(ORIGIN, "m", "its centre in the frame")
    quat_wxyz: Quaternion = setting(UPRIGHT, "1", "its axes in the frame")

    @model_validator(mode="after")
    def _size_fits_shape(self) -> ContactShape:
        if (self.shape == "points") != bool(self.points):
            raise InvalidInput(f"contact shape {self.name!r}: points belong to the shape 'points', and only to it")
        wanted = {"pad": 2, "points": 0}.get(self.shape, 1)
        size = () if self.shape == "points" else self.size
        if len(size) != wanted or any(x <= 0 for x in size):
            raise InvalidInput(f"contact shape {self.name!r}: a {self.shape} has {wanted} positive sizes, got {size}")
        return self


class World(Config):
    """Surroundings of the robot, its sensors and its driver."""

    surfaces: tuple[Surface, ...] = setting((), "1", "walls, tables, balls")
    pins: tuple[LockedPoint, ...] = setting((), "1", "points of the robot that are locked where they start")
    exact: ExactRules = setting(ExactRules(), "1", "how exact contact is integrated")
    objects: tuple[FreeObject, ...] = setting((), "1", "free objects")
    pole: Pole | None = setting(None, "1", "a pole balanced on the tool")
    pushes: tuple[Push, ...] = setting((), "1", "external wrenches at given times")
    attachments: tuple[Attachment, ...] = setting((), "1", "masses attached or released during the run")
    sensors: Sensors = setting(Sensors(), "1", "what the law sees")
    driver: Driver = setting(Driver(), "1", "interface between the law and the joints")
    faults: tuple[Fault, ...] = setting((), "1", "faults and their times")
    plant: PlantChange = setting(PlantChange(), "1", "how the plant differs from the nominal model")
    gravity: Vector3 | None = setting(None, "m/s²", "gravity; the robot's own if not given")
    contact_points: tuple[str, ...] = setting(
        (),
        "1",
        "spheres of the robot that touch surfaces, by geom name (points too for exact contact, by frame name);"
        " its `tip`, or its tool point, if none",
    )
    contact_shapes: tuple[ContactShape, ...] = setting((), "1", "discs, pads and edges that touch surfaces")
    contact_links: tuple[str, ...] = setting((), "1", "links whose convex hulls touch compliant surfaces")

    @property
    def is_exact(self) -> bool:
        """Whether the run is one of exact contact: an exact surface, or a pin."""
        return bool(self.pins) or any(surface.contact == "exact" for surface in self.surfaces)

    @model_validator(mode="after")
    def _exact_contact_stands_alone(self) -> World:
        """Refuse by name what the exact equations do not cover."""
        if not self.is_exact:
            return self
        soft = [f"surface {s.name!r} is {s.contact}" for s in self.surfaces if s.contact != "exact"]
        others = [f"object {item.name!r} moves freely" for item in self.objects]
        others += ["a pole hangs on the tool"] if self.pole is not None else []
        others += [
            f"load {load.name!r} is {'attached' if load.attach > 0 else 'released'} during the run"
            for load in self.attachments
            if load.attach > 0 or load.release is not None
        ]
        if soft or others:
            raise InvalidInput(
                f"exact contact stands alone, but {', '.join([*soft, *others])}",
                hint="make every surface exact, or none; objects, poles and loads on the clock need another contact",
            )
        return self

    @model_validator(mode="after")
    def _links_touch_what_is_compliant(self) -> World:
        """Links are points that springs push, too many for a rigid surface, which would let them through."""
        named = [f"contact link {link!r}" for link in self.contact_links]
        rigid = [surface.name for surface in self.surfaces if surface.contact == "rigid"]
        if named and rigid:
            raise InvalidInput(
                f"{shortened(', '.join(named), 200)} touches compliant surfaces only,"
                f" but surface {rigid[0]!r} is rigid",
                hint='make the surface compliant, or let geoms or shapes touch it: contact_points = ["tip"]',
            )
        return self

    def with_rotors(self, rotors: tuple[float, ...]) -> World:
        """The same with rotors of these inertias, kg·m² or kg, per joint."""
        return self.model_copy(update={"plant": self.plant.model_copy(update={"rotor_inertia": rotors})})

    def in_samples(self, period: float) -> World:
        """The same with every delay in control periods of `period` seconds."""
        late = (self.sensors, self.sensors.wrench, self.driver, *self.sensors.custom.values())
        if all(part.delay_time is None for part in late):
            return self
        sensors, driver = self.sensors.in_samples(period), self.driver.in_samples(period)
        custom = {name: sensor.in_samples(period) for name, sensor in sensors.custom.items()}
        sensors = sensors.model_copy(update={"wrench": sensors.wrench.in_samples(period), "custom": custom})
        return self.model_copy(update={"sensors": sensors, "driver": driver})

"""What a world is made of, as typed settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import model_validator

from palpate.config import Config, PerJoint, Quaternion, Vector3, Vector6, required, setting
from palpate.errors import InvalidInput
from palpate.spatial.shapes import SHAPES

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
    """A plane, box, sphere or cylinder that pushes back.

    Compliant contact: f = k δ + d δ̇ (Kelvin–Voigt) or f = k δᵉ (1 + c δ̇) (Hunt–Crossley), never pulling; friction
    is a spring of stiffness k_t that slips at μ f. Rigid contact is MuJoCo's constraint solver.
    """

    name: str = setting("wall", "1", "name of the surface", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    shape: ShapeName = setting("plane", "1", "its shape")
    size: tuple[float, ...] = setting(
        (), "m", "box: three edge lengths; sphere: radius; cylinder: radius, length; plane: none"
    )
    position: Vector3 = setting(ORIGIN, "m", "its centre (a point of the plane), world axes")
    quat_wxyz: Quaternion | None = setting(None, "1", "its orientation; a plane may give `normal` instead")
    normal: Vector3 = setting((0.0, 0.0, 1.0), "1", "outward normal of a plane, world axes")
    contact: Literal["compliant", "rigid"] = setting("compliant", "1", "how it pushes back")
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
    motion: Motion | None = setting(None, "1", "how it moves; still if not given")

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
    """A pole with a sphere at its end, hinged at the tool; massless and without friction in document 000."""

    length: float = setting(1.0, "m", "l", gt=0)
    mass: float = setting(0.1, "kg", "m_s, of the sphere", gt=0)
    rod_mass: float = setting(0.0, "kg", "of the rod, spread evenly over its length", ge=0)
    pivot_damping: float = setting(0.0, "N·m·s/rad", "viscous friction of the hinge", ge=0)
    pivot_friction: float = setting(0.0, "N·m", "Coulomb friction of the hinge", ge=0)
    joint: Literal["universal", "ball"] = setting("universal", "1", "how it hangs on the tool")
    tilt: tuple[float, float] = setting((0.0, 0.0), "rad", "turn about the world's x and y at the start")
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


class WrenchSensor(Late):
    """A wrist force/torque sensor; it reports the wrench of the environment on the robot after tool compensation."""

    frame: str | None = setting(None, "1", "where it sits; bodies beyond it are the tool; the tool frame if not given")
    noise_force: float = setting(0.0, "N", "standard deviation per axis and sample", ge=0)
    noise_torque: float = setting(0.0, "N·m", "standard deviation per axis and sample", ge=0)
    bias: Vector6 = setting((0.0,) * 6, "N, N·m", "constant error")
    cutoff: float | None = setting(None, "Hz", "first-order low-pass; none if not given", gt=0)
    compensate: bool = setting(True, "1", "subtract the nominal weight of the tool")
    fault: Literal["none", "nan", "frozen", "dropout"] = setting(
        "none", "1", "from `fault_start` on it reads NaN, its last value for ever, or exactly 0"
    )
    fault_start: float = setting(0.0, "s", "when the fault begins", ge=0)


class Camera(Config):
    """What watches the pole: pictures of its direction, late and noisy; if it is ideal, direction and rate at once."""

    rate: float | None = setting(None, "Hz", "pictures per second; one per control period if not given", gt=0)
    delay: float = setting(0.0, "s", "until a picture arrives", ge=0, le=10)
    noise: float = setting(0.0, "rad", "standard deviation of the direction, per axis and picture", ge=0)

    @property
    def ideal(self) -> bool:
        """Whether the law is told the true direction and its rate at every tick."""
        return self == Camera()


class Sensors(Late):
    """What the law gets to see; ideal unless said otherwise."""

    encoder_resolution: float = setting(0.0, "rad or m", "smallest step of a joint encoder; 0 for none", ge=0)
    encoder_noise: float = setting(0.0, "rad or m", "standard deviation per sample", ge=0)
    velocity: Literal["measured", "differentiated"] = setting("measured", "1", "where joint velocities come from")
    velocity_noise: float = setting(0.0, "rad/s or m/s", "standard deviation per sample, if measured", ge=0)
    velocity_cutoff: float | None = setting(None, "Hz", "low-pass on the velocities; none if not given", gt=0)
    torque_noise: float = setting(0.0, "N·m or N", "standard deviation of joint torque sensors", ge=0)
    wrench: WrenchSensor = setting(WrenchSensor(), "1", "the wrist sensor")
    camera: Camera = setting(Camera(), "1", "what watches the pole")

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


class Actuators(Late):
    """What stands between a command and a joint torque."""

    torque_limit: bool = setting(True, "1", "respect the robot's torque limits")
    torque_rate_limit: bool = setting(True, "1", "respect the robot's torque-rate limits where known")
    rotor_inertia: PerJoint = setting(
        0.0,
        "kg·m² or kg",
        "reflected inertia of the drives: in the plant, and known to the servo alone",
    )
    servo_bandwidth: float = setting(60.0, "rad/s", "of the joint servo behind position and velocity commands", gt=0)


class PlantChange(Config):
    """How the true plant differs from the model the law knows."""

    mass_scale: float = setting(1.0, "1", "true mass over nominal mass, every link", gt=0)
    link_mass_scale: dict[str, float] = setting({}, "1", "the same for single links, by name")
    com_offset: Vector3 = setting(ORIGIN, "m", "shift of every link's centre of mass, link axes")
    joint_damping: PerJoint = setting(0.0, "N·m·s/rad or N·s/m", "viscous friction added, at least 0")
    joint_friction: PerJoint = setting(0.0, "N·m or N", "Coulomb friction added, at least 0")
    base_position: Vector3 = setting(ORIGIN, "m", "error of the base's position")
    tool_offset: Vector3 = setting(ORIGIN, "m", "error of the tool frame's place on its link")

    @property
    def none(self) -> bool:
        """Whether plant and nominal model are the same."""
        return self == PlantChange()


class World(Config):
    """What pushes back."""

    surfaces: tuple[Surface, ...] = setting((), "1", "walls, tables, balls")
    objects: tuple[FreeObject, ...] = setting((), "1", "things that move freely")
    pole: Pole | None = setting(None, "1", "a pole balanced on the tool")
    pushes: tuple[Push, ...] = setting((), "1", "wrenches on the clock")
    attachments: tuple[Attachment, ...] = setting((), "1", "masses attached or released during the run")
    sensors: Sensors = setting(Sensors(), "1", "what the law sees")
    actuators: Actuators = setting(Actuators(), "1", "what carries the law's command out")
    plant: PlantChange = setting(PlantChange(), "1", "how the plant differs from the nominal model")
    gravity: Vector3 | None = setting(None, "m/s²", "gravity; the robot's own if not given")
    contact_points: tuple[str, ...] = setting(
        (),
        "1",
        "spheres of the robot that touch compliant surfaces, by geom name; its `tip`, or its tool point, if none",
    )

    def in_samples(self, period: float) -> World:
        """The same with every delay in control periods of so many seconds."""
        sensors, actuators = self.sensors.in_samples(period), self.actuators.in_samples(period)
        sensors = sensors.model_copy(update={"wrench": sensors.wrench.in_samples(period)})
        return self.model_copy(update={"sensors": sensors, "actuators": actuators})

"""Contacts of a robot: a point or ball on a surface, a pinned point, the stop of a joint; the surfaces' shapes.

Each shape is the zero set of a signed distance φ(p), positive where the robot may be; its gradient is the normal n
and its second derivative the curvature that enters the acceleration of a contact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import InvalidInput, check_names
from palpate.spatial import matrix_from_quat

PLANE, SPHERE, CYLINDER, BOX = 0, 1, 2, 3


@dataclass(frozen=True)
class Form:
    """A shape as numbers: its code, sizes, axes (columns, world), place, and +1 outside or −1 inside."""

    code: int
    size: Array
    rotation: Array
    position: Array
    outward: float = 1.0


@dataclass(frozen=True)
class Plane:
    """φ = n·(p − point): the half space the normal points into is free.

    Attributes:
        point: a point of the plane, m, world axes.
        normal: its outward normal, of any length.
    """

    point: ArrayLike = (0.0, 0.0, 0.0)
    normal: ArrayLike = (0.0, 0.0, 1.0)
    form: Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rotation = _axes_with_z(_direction(self.normal, "the plane's normal"))
        _keep(self, Form(PLANE, np.zeros(3), rotation, finite_array(self.point, "the plane's point", (3,))))


@dataclass(frozen=True)
class Sphere:
    """φ = |p − centre| − radius outside, radius − |p − centre| inside a hollow one.

    Attributes:
        centre: m, world axes.
        radius: m.
        inside: whether the robot is inside (a bowl).
    """

    centre: ArrayLike = (0.0, 0.0, 0.0)
    radius: float = 1.0
    inside: bool = False
    form: Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        radius = finite_number(self.radius, "the sphere's radius", above=0.0)
        centre = finite_array(self.centre, "the sphere's centre", (3,))
        _keep(self, Form(SPHERE, np.array([radius, 0, 0]), np.eye(3), centre, -1.0 if self.inside else 1.0))


@dataclass(frozen=True)
class Cylinder:
    """A cylinder: φ is the distance to its side, its two ends or their rims; inside, to its side alone (a tube).

    Attributes:
        centre: m, world axes.
        radius: m.
        length: m; infinite by default.
        axis: its direction, of any length.
        inside: whether the robot is inside; such a tube is endless.
    """

    centre: ArrayLike = (0.0, 0.0, 0.0)
    radius: float = 1.0
    length: float = math.inf
    axis: ArrayLike = (0.0, 0.0, 1.0)
    inside: bool = False
    form: Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        radius = finite_number(self.radius, "the cylinder's radius", above=0.0)
        if not self.length > 0:
            raise InvalidInput(f"the cylinder's length must be greater than 0, got {self.length}")
        if self.inside and math.isfinite(self.length):
            raise InvalidInput("the inside of a cylinder is endless", hint="leave its length out")
        rotation = _axes_with_z(_direction(self.axis, "the cylinder's axis"))
        centre = finite_array(self.centre, "the cylinder's centre", (3,))
        size = np.array([radius, 0.5 * self.length, 0.0])
        _keep(self, Form(CYLINDER, size, rotation, centre, -1.0 if self.inside else 1.0))


@dataclass(frozen=True)
class Box:
    """A box: φ is the distance to its nearest face, edge or corner.

    Attributes:
        centre: m, world axes.
        size: its three edge lengths, m.
        quat_wxyz: its orientation.
    """

    centre: ArrayLike = (0.0, 0.0, 0.0)
    size: ArrayLike = (1.0, 1.0, 1.0)
    quat_wxyz: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    form: Form = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        size = finite_array(self.size, "the box's size", (3,))
        if (size <= 0).any():
            raise InvalidInput(f"the box's edges must be positive, got {size.tolist()}")
        centre = finite_array(self.centre, "the box's centre", (3,))
        _keep(self, Form(BOX, 0.5 * size, matrix_from_quat(self.quat_wxyz), centre))


Shape = Plane | Sphere | Cylinder | Box


@dataclass(frozen=True)
class Ride:
    """How a surface moves: a steady velocity between two times and a sinusoid, x(t) = v (t − start) + a sin 2πft.

    A belt is a plane that rides along itself.

    Attributes:
        velocity: m/s, world axes, between `start` and `stop`.
        start, stop: s.
        amplitude: m, world axes.
        frequency: Hz.
    """

    velocity: ArrayLike = (0.0, 0.0, 0.0)
    start: float = -math.inf
    stop: float = math.inf
    amplitude: ArrayLike = (0.0, 0.0, 0.0)
    frequency: float = 0.0

    def __post_init__(self) -> None:
        for name in ("velocity", "amplitude"):
            object.__setattr__(self, name, finite_array(getattr(self, name), f"the ride's {name}", (3,)))
        finite_number(self.frequency, "the ride's frequency", least=0.0)
        if not self.start < self.stop:
            raise InvalidInput(f"a ride starts before it stops, got {self.start} and {self.stop}")


def _keep(shape: object, form: Form) -> None:
    object.__setattr__(shape, "form", form)


def _direction(value: ArrayLike, name: str) -> Array:
    vector = finite_array(value, name, (3,))
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise InvalidInput(f"{name} must have a direction, got {vector.tolist()}")
    return vector / length


def _axes_with_z(z: Array) -> Array:
    """A rotation whose third column is z."""
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


Law = Literal["poisson", "stronge", "newton"]
LAWS: tuple[Law, ...] = ("poisson", "stronge", "newton")
Mode = Literal["free", "sliding", "sticking", "locked"]
MODES: tuple[Mode, ...] = ("free", "sliding", "sticking", "locked")
FREE, SLIDING, STICKING, LOCKED = 0, 1, 2, 3


@dataclass(frozen=True)
class Contact:
    """A point or ball of the robot that may touch a surface.

    Attributes:
        surface: what it touches.
        frame: the robot's frame that carries the point; the tool frame if None.
        offset: the point (the ball's centre) in that frame, m.
        radius: of the ball, m; 0 for a point.
        friction: Coulomb coefficient μ while sliding, at least 0.
        static_friction: the coefficient up to which it sticks; μ if None.
        restitution: e, from 0 (no rebound) to 1.
        law: what e means: "poisson" (ratio of impulses), "stronge" (e² is the ratio of works), "newton" (ratio of
            speeds).
        two_sided: whether the surface holds from both sides, as a slot or a rail does; it may then pull.
        ride: how the surface moves; it stands still if None.
        name: how results call it; the shape's name and a number if None.
    """

    surface: Shape
    frame: str | None = None
    offset: ArrayLike = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float = 0.0
    static_friction: float | None = None
    restitution: float = 0.0
    law: Law = "poisson"
    two_sided: bool = False
    ride: Ride | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        where = f"contact {self.name!r}: " if self.name else "contact: "
        if not isinstance(self.surface, Plane | Sphere | Cylinder | Box):
            raise InvalidInput(f"{where}its surface must be a Plane, Sphere, Cylinder or Box, got {self.surface!r}")
        finite_array(self.offset, where + "offset", (3,))
        finite_number(self.radius, where + "radius", least=0.0)
        finite_number(self.friction, where + "friction", least=0.0)
        _check_restitution(self.restitution, where)
        check_names("impact law", [self.law], LAWS)
        if self.static_friction is not None and not self.static_friction >= self.friction:
            raise InvalidInput(
                f"{where}static friction must be at least the sliding friction {self.friction:g},"
                f" got {self.static_friction:g}"
            )


@dataclass(frozen=True)
class Pin:
    """A point of the robot locked where it is: no motion of it in any direction it could move along.

    Attributes:
        frame: the frame that carries the point; the tool frame if None.
        offset: the point in that frame, m.
        ride: how what holds it moves; it stands still if None.
        name: how results call it.
    """

    frame: str | None = None
    offset: ArrayLike = (0.0, 0.0, 0.0)
    ride: Ride | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        finite_array(self.offset, "pin: offset", (3,))


@dataclass(frozen=True)
class JointStop:
    """The end of a joint's travel as a one-sided contact.

    Attributes:
        joint: the joint's name (hinge or slide).
        at: where the stop is, rad or m.
        side: "upper" keeps q ≤ at, "lower" keeps q ≥ at.
        restitution: e, from 0 to 1.
        law: what e means.
        name: how results call it; "joint:side" if None.
    """

    joint: str
    at: float
    side: Literal["lower", "upper"]
    restitution: float = 0.0
    law: Law = "poisson"
    name: str | None = None

    def __post_init__(self) -> None:
        where = f"stop of {self.joint}: "
        finite_number(self.at, where + "place")
        _check_restitution(self.restitution, where)
        if self.side not in ("lower", "upper"):
            raise InvalidInput(f"{where}side must be 'lower' or 'upper', got {self.side!r}")
        check_names("impact law", [self.law], LAWS)


Touch = Contact | Pin | JointStop


@dataclass(frozen=True)
class DryJoint:
    """Dry friction of a joint: it sticks while it is loaded with less than F, else it is braked with F.

    Attributes:
        joint: its name.
        dof: its index in v.
        friction: F, N·m or N.
    """

    joint: str
    dof: int
    friction: float


def _check_restitution(value: float, where: str) -> None:
    """Refuse an e outside 0…1."""
    e = finite_number(value, f"{where}restitution", least=0.0)
    if e > 1.0:
        raise InvalidInput(
            f"{where}restitution must lie between 0 and 1, got {e:g}",
            hint="above 1 a collision would create energy",
        )


def names_of(contacts: tuple[Touch, ...]) -> tuple[str, ...]:
    """A name for each: its own, or the kind's with a number where it has none."""
    names = [touch.name or _kind(touch, number) for number, touch in enumerate(contacts)]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"two contacts are called {name!r}", hint="give each a name of its own")
    return tuple(names)


def _kind(touch: Touch, number: int) -> str:
    if isinstance(touch, JointStop):
        return f"{touch.joint}:{touch.side}"
    kind = "pin" if isinstance(touch, Pin) else type(touch.surface).__name__.lower()
    return f"{kind}{number}"

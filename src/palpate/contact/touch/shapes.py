"""Surfaces a robot can touch: planes, spheres, cylinders and boxes, and how they move.

Each shape is the zero set of a signed distance φ(p), positive where the robot may be; its gradient is the normal n
and its second derivative the curvature that enters the acceleration of a contact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import InvalidInput
from palpate.spatial import matrix_from_quat

PLANE, SPHERE, CYLINDER, BOX = 0, 1, 2, 3


@dataclass(frozen=True)
class Form:
    """A shape as numbers: its code, sizes, axes (columns, world), place, and +1 outside or −1 inside."""

    code: int
    size: Array
    turn: Array
    place: Array
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

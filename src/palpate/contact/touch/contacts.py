"""What can hold a robot: a point or ball on a surface, a pinned point, the stop of a joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from palpate.checks import finite_array, finite_number
from palpate.contact.touch.shapes import Box, Cylinder, Plane, Ride, Shape, Sphere
from palpate.errors import InvalidInput, UnknownName

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
        checked_friction(self.friction, where)
        checked_restitution(self.restitution, where)
        if self.law not in LAWS:
            raise UnknownName("impact law", str(self.law), LAWS)
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
        checked_restitution(self.restitution, where)
        if self.side not in ("lower", "upper"):
            raise InvalidInput(f"{where}side must be 'lower' or 'upper', got {self.side!r}")
        if self.law not in LAWS:
            raise UnknownName("impact law", str(self.law), LAWS)


Touch = Contact | Pin | JointStop


def checked_restitution(value: float, where: str = "") -> float:
    """e, refused outside 0…1."""
    e = finite_number(value, f"{where}restitution", least=0.0)
    if e > 1.0:
        raise InvalidInput(
            f"{where}restitution must lie between 0 and 1, got {e:g}",
            hint="above 1 a collision would create energy",
        )
    return e


def checked_friction(value: float, where: str = "") -> float:
    """μ, refused below 0."""
    return finite_number(value, f"{where}friction", least=0.0)


def names_of(contacts: tuple[Touch, ...]) -> tuple[str, ...]:
    """A name for each: its own, or the kind's with a number where it has none."""
    names: list[str] = []
    for number, touch in enumerate(contacts):
        names.append(touch.name or _kind(touch, number))
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"two contacts are called {name!r}", hint="give each a name of its own")
    return tuple(names)


def _kind(touch: Touch, number: int) -> str:
    if isinstance(touch, JointStop):
        return f"{touch.joint}:{touch.side}"
    kind = "pin" if isinstance(touch, Pin) else type(touch.surface).__name__.lower()
    return f"{kind}{number}"

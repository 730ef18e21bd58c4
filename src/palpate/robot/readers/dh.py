"""Robots from Denavit–Hartenberg tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import InvalidInput
from palpate.robot.tree import FixedFrame, Joint, Link, Shape, Tree

Convention = Literal["standard", "modified"]


@dataclass(frozen=True)
class DHLink:
    """One row of a DH table with the link's mass properties.

    Standard convention: A = Rz(θ) Tz(d) Tx(a) Rx(α), the frame at the link's far end.
    Modified (Craig) convention: A = Rx(α) Tx(a) Rz(θ) Tz(d), the frame at the joint.

    Attributes:
        a, d: lengths, m.
        alpha, theta: angles, rad. The joint's coordinate adds to θ (revolute) or to d (prismatic).
        mass: kg.
        com: centre of mass in the link's DH frame, m.
        inertia: 3×3 tensor, or three principal moments, about the centre of mass in DH axes, kg·m².
        motor_inertia: of the rotor about its own axis, kg·m².
        gear: turns of the rotor per turn of the joint (rad per m for a prismatic joint). The joint feels
            motor_inertia · gear².
        damping, friction: viscous and Coulomb losses at the joint.
        lower, upper, velocity, torque: limits, infinite where there is none.
    """

    a: float = 0.0
    alpha: float = 0.0
    d: float = 0.0
    theta: float = 0.0
    kind: Literal["revolute", "prismatic"] = "revolute"
    mass: float = 1.0
    com: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike = (0.0, 0.0, 0.0)
    motor_inertia: float = 0.0
    gear: float = 1.0
    damping: float = 0.0
    friction: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    torque: float = math.inf


def tree_from_dh(rows: Sequence[DHLink], convention: Convention = "standard", name: str = "dh-arm") -> Tree:
    """The chain of a DH table: links link1…linkN whose frames are the DH frames, and a frame `tool` at the last."""
    if convention not in ("standard", "modified"):
        raise InvalidInput(f"DH convention must be 'standard' or 'modified', got {convention!r}")
    if not rows:
        raise InvalidInput("a DH table needs at least one row")
    links, joints = [Link("base")], []
    for number, row in enumerate(rows, start=1):
        _check(row, number)
        parent = links[-1].name
        links.append(_link(row, number))
        joints.append(_joint(row, number, parent, convention))
    tool = FixedFrame("tool", links[-1].name)
    return Tree(name, tuple(_with_looks(links, joints)), tuple(joints), (tool,))


def rotation_x(angle: float) -> Array:
    """Rx(angle)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def rotation_z(angle: float) -> Array:
    """Rz(angle)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def _check(row: DHLink, number: int) -> None:
    where = f"DH row {number}: "
    if row.kind not in ("revolute", "prismatic"):
        raise InvalidInput(f"{where}kind must be 'revolute' or 'prismatic', got {row.kind!r}")
    for field in ("a", "alpha", "d", "theta", "gear"):
        finite_number(getattr(row, field), where + field)
    finite_number(row.mass, where + "mass", above=0.0)
    for field in ("motor_inertia", "damping", "friction"):
        finite_number(getattr(row, field), where + field, least=0.0)
    if not row.lower < row.upper:
        raise InvalidInput(f"{where}lower limit {row.lower:g} must be below upper limit {row.upper:g}")
    for field in ("velocity", "torque"):
        if not getattr(row, field) > 0:
            raise InvalidInput(f"{where}{field} limit must be positive, got {getattr(row, field):g}")


def _link(row: DHLink, number: int) -> Link:
    where = f"DH row {number}: "
    com = finite_array(row.com, where + "com", (3,))
    inertia = finite_array(row.inertia, where + "inertia")
    if inertia.shape == (3,):
        inertia = np.diag(inertia)
    return Link(f"link{number}", float(row.mass), com, checked_inertia(inertia, where + "inertia"))


def checked_inertia(inertia: ArrayLike, name: str) -> Array:
    """The tensor itself, refused unless symmetric, positive semidefinite and of real mass (triangle inequality)."""
    inertia = finite_array(inertia, name, (3, 3))
    scale = max(float(np.abs(inertia).max()), 1e-300)
    if np.abs(inertia - inertia.T).max() > 1e-9 * scale:
        raise InvalidInput(f"{name} must be symmetric; largest defect {np.abs(inertia - inertia.T).max():g} kg·m²")
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -1e-9 * scale:
        raise InvalidInput(f"{name} must have no negative principal moment, got {moments}")
    if moments[2] > (moments[0] + moments[1]) * (1 + 1e-9) + 1e-300:
        margin = moments[2] - moments[0] - moments[1]
        raise InvalidInput(
            f"{name} breaks the triangle inequality: {moments[0]:g} + {moments[1]:g} < {moments[2]:g}"
            f" (by {margin:g} kg·m²)",
            hint="no distribution of mass has such moments; check units and axes",
        )
    return inertia


def _joint(row: DHLink, number: int, parent: str, convention: Convention) -> Joint:
    fixed = rotation_x(row.alpha)
    spin = rotation_z(row.theta)
    if convention == "standard":
        position = spin @ np.array([row.a, 0.0, row.d])
        rotation = spin @ fixed
        axis = fixed.T @ np.array([0.0, 0.0, 1.0])
        anchor = -fixed.T @ np.array([row.a, 0.0, row.d])
    else:
        position = np.array([row.a, 0.0, 0.0]) + fixed @ np.array([0.0, 0.0, row.d])
        rotation = fixed @ spin
        axis = np.array([0.0, 0.0, 1.0])
        anchor = np.zeros(3)
    return Joint(
        f"joint{number}",
        row.kind,
        parent,
        f"link{number}",
        position,
        rotation,
        axis,
        anchor,
        row.lower,
        row.upper,
        row.velocity,
        row.torque,
        row.damping,
        row.friction,
        row.motor_inertia * row.gear**2,
    )


def _with_looks(links: list[Link], joints: list[Joint]) -> list[Link]:
    """A capsule from each joint to the next origin, so that a replay shows an arm."""
    looks: dict[str, list[Shape]] = {link.name: [] for link in links}
    for joint in joints:
        looks[joint.child].append(Shape("sphere", (0.04,), rgba=(0.25, 0.3, 0.38, 1.0)))
        start = joint.anchor
        if np.linalg.norm(start) > 1e-6:
            looks[joint.child].append(capsule_between(start, np.zeros(3), 0.03))
        elif np.linalg.norm(joint.position) > 1e-6:
            looks[joint.parent].append(capsule_between(np.zeros(3), joint.position, 0.03))
    return [Link(k.name, k.mass, k.com, k.inertia, tuple(looks[k.name])) for k in links]


def capsule_between(start: Array, end: Array, radius: float) -> Shape:
    """A capsule whose axis runs from start to end."""
    along = end - start
    length = float(np.linalg.norm(along))
    z = along / length
    helper = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    rotation = np.column_stack([x, np.cross(z, x), z])
    return Shape("capsule", (radius, length), (start + end) / 2, rotation, (0.55, 0.6, 0.68, 1.0))

"""A robot as plain data: links, joints and frames in a tree, whatever file or table they came from.

Lengths m, angles rad, masses kg, inertias kg·m². Every pose is given in the parent link's frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, get_args

import numpy as np

from palpate.checks import Array

ShapeKind = Literal["box", "sphere", "cylinder", "capsule", "mesh"]
JointKind = Literal["revolute", "continuous", "prismatic", "fixed", "floating", "spherical", "planar"]
JOINT_KINDS: tuple[JointKind, ...] = get_args(JointKind)
FREEDOMS: dict[JointKind, int] = dict(zip(JOINT_KINDS, (1, 1, 1, 0, 6, 3, 3)))


_zeros, _identity = partial(np.zeros, 3), partial(np.eye, 3)


@dataclass(frozen=True)
class Mesh:
    """Triangles: vertices (n × 3), and for each face its three vertices (m × 3)."""

    vertices: Array
    faces: np.ndarray


@dataclass(frozen=True)
class LinkShape:
    """A shape of a link, for display or for collision.

    Attributes:
        kind: "box" (size = three full edge lengths), "sphere" (radius), "cylinder" or "capsule"
            (radius, length along z), or "mesh" (three scale factors).
        mesh: for kind "mesh", the path of its file or its triangles.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    position: Array = field(default_factory=_zeros)
    rotation: Array = field(default_factory=_identity)
    rgba: tuple[float, float, float, float] | None = None
    mesh: str | Mesh | None = None


@dataclass(frozen=True)
class Link:
    """A rigid body.

    Attributes:
        mass: kg; 0 for a frame, or for a link without a given mass.
        com: centre of mass in the link frame.
        inertia: 3×3 tensor about the centre of mass, link-frame axes.
    """

    name: str
    mass: float = 0.0
    com: Array = field(default_factory=_zeros)
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    visuals: tuple[LinkShape, ...] = ()
    collisions: tuple[LinkShape, ...] = ()


@dataclass(frozen=True)
class Mimic:
    """Ties a joint to another: q = multiplier · q_joint + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A joint that connects a link to its parent.

    Attributes:
        position, rotation: pose of the joint (and child link) frame in the parent link, at q = 0.
        axis: unit vector in the child link's frame; a planar joint's is the normal of its plane, a spherical joint
            has none.
        anchor: a point on the axis, in the child link's frame.
        lower, upper: position limits, rad or m; infinite where there is none.
        velocity, acceleration, effort: limits of |q̇|, |q̈| and |τ|; infinite where there is none.
        damping: viscous, N·m·s/rad or N·s/m.
        friction: Coulomb, N·m or N: the mean of both directions.
        friction_bias: Coulomb friction against positive motion less the mean, N·m or N; 0 where both are alike.
        armature: rotor inertia seen at the joint, kg·m² or kg.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    position: Array = field(default_factory=_zeros)
    rotation: Array = field(default_factory=_identity)
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    anchor: Array = field(default_factory=_zeros)
    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None
    friction_bias: float = 0.0
    acceleration: float = np.inf


@dataclass(frozen=True)
class FixedFrame:
    """A named frame fixed on a link."""

    name: str
    link: str
    position: Array = field(default_factory=_zeros)
    rotation: Array = field(default_factory=_identity)


@dataclass(frozen=True)
class Tree:
    """A whole robot: one root link, every other link the child of exactly one joint.

    Attributes:
        notes: texts the robot carries along: provenance, what was estimated.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    frames: tuple[FixedFrame, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()

    @property
    def root(self) -> str:
        """Name of the link that has no parent."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)


# ----------------------------------------------------------------------------------------------
# How much inertia each joint has to move, in the robot's zero position, and what moves without any.


# What resists less is nothing: kg·m² or kg, and as a share of the inertia about all axes (rounding leaves 1e-16).
NOTHING, SHARE = 1e-18, 1e-12


def unresisted_joints(links: Sequence[Link], joints: Sequence[Joint]) -> tuple[str, ...]:
    """The joints that move no inertia and have no rotor: forces on them have no finite answer."""
    values = axis_inertias(links, joints)
    rotors = {joint.name: joint.armature for joint in joints}
    return tuple(name for name, value in values.items() if value + rotors[name] <= 0)


def massless_movers(links: Sequence[Link], joints: Sequence[Joint]) -> list[str]:
    """Links that a joint moves although neither they nor what is fixed to them has mass or inertia."""
    heavy = {link.name: link.mass > 0 or bool(link.inertia.any()) for link in links}
    for joint in reversed(depth_first(links, joints)):
        if joint.kind == "fixed":
            heavy[joint.parent] |= heavy[joint.child]
    return [joint.child for joint in joints if joint.kind != "fixed" and not heavy[joint.child]]


def axis_inertias(links: Sequence[Link], joints: Sequence[Joint]) -> dict[str, float]:
    """The diagonal of the mass matrix at q = 0, by joint name: aᵀ I a [kg·m²], or the mass moved [kg].

    I is the inertia of everything beyond the joint, about a point of its axis; what is no more than rounding is 0. A
    joint of several freedoms has the least of its values. Links and joints must form a tree.
    """
    moved = depth_first(links, joints)
    poses = _poses(links, moved)
    moments = {link.name: _moments(link, *poses[link.name]) for link in links}
    for joint in reversed(moved):
        moments[joint.parent] = moments[joint.parent] + moments[joint.child]
    return {
        joint.name: _resistance(joint, moments[joint.child], *poses[joint.child])
        for joint in moved
        if joint.kind != "fixed"
    }


def _resistance(joint: Joint, moments: Array, rotation: Array, position: Array) -> float:
    mass, first, second = float(moments[0]), moments[1:4], moments[4:].reshape(3, 3)
    if joint.kind == "prismatic":
        return mass
    position = position + rotation @ joint.anchor
    about = second - np.outer(first, position) - np.outer(position, first) + mass * np.outer(position, position)
    if joint.kind in ("spherical", "floating"):
        least = _unless_rounding(float(np.linalg.eigvalsh(np.trace(about) * np.eye(3) - about)[0]), about)
        return least if joint.kind == "spherical" else min(mass, least)
    axis = rotation @ joint.axis
    turning = _unless_rounding(float(np.trace(about) - axis @ about @ axis), about)
    return min(mass, turning) if joint.kind == "planar" else turning


def _unless_rounding(value: float, about: Array) -> float:
    return value if value > NOTHING + SHARE * float(np.trace(about)) else 0.0


def depth_first(links: Sequence[Link], joints: Sequence[Joint]) -> list[Joint]:
    """The joints, each behind the one its parent link hangs on, in the order in which the engine numbers them."""
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    children = {joint.child for joint in joints}
    roots = [link.name for link in links if link.name not in children]
    ordered, waiting = [], [joint for root in roots[::-1] for joint in below.get(root, [])[::-1]]
    while waiting:
        ordered.append(waiting.pop())
        waiting += below.get(ordered[-1].child, [])[::-1]
    return ordered


def _poses(links: Sequence[Link], order: Sequence[Joint]) -> dict[str, tuple[Array, Array]]:
    poses = {link.name: (np.eye(3), np.zeros(3)) for link in links}
    for joint in order:
        rotation, position = poses[joint.parent]
        poses[joint.child] = rotation @ joint.rotation, position + rotation @ joint.position
    return poses


def _moments(link: Link, rotation: Array, position: Array) -> Array:
    """Mass, m r and ∫ r rᵀ dm about the root's origin, in one row, so that they add up."""
    centre = position + rotation @ link.com
    about_centre = 0.5 * np.trace(link.inertia) * np.eye(3) - rotation @ link.inertia @ rotation.T
    second = about_centre + link.mass * np.outer(centre, centre)
    return np.concatenate([[link.mass], link.mass * centre, second.ravel()])

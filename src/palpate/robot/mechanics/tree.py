"""A robot as plain data: links, joints and frames in a tree, whatever file or table they came from.

Lengths m, angles rad, masses kg, inertias kg·m². Every pose is given in the parent link's frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from palpate.checks import Array

JointKind = Literal["revolute", "continuous", "prismatic", "fixed", "floating", "spherical", "planar"]
JOINT_KINDS: tuple[JointKind, ...] = (
    "revolute",
    "continuous",
    "prismatic",
    "fixed",
    "floating",
    "spherical",
    "planar",
)
FREEDOMS: dict[JointKind, int] = dict(zip(JOINT_KINDS, (1, 1, 1, 0, 6, 3, 3)))


def _zeros() -> Array:
    return np.zeros(3)


def _identity() -> Array:
    return np.eye(3)


@dataclass(frozen=True)
class Mesh:
    """Triangles: vertices (n × 3), and for each face its three vertices (m × 3)."""

    vertices: Array
    faces: np.ndarray


@dataclass(frozen=True)
class Shape:
    """What a link looks like, or collides with.

    Attributes:
        kind: "box" (size = three full edge lengths), "sphere" (radius), "cylinder" or "capsule"
            (radius, length along z), or "mesh" (three scale factors).
        mesh: for kind "mesh", the path of its file or its triangles.
    """

    kind: Literal["box", "sphere", "cylinder", "capsule", "mesh"]
    size: tuple[float, ...]
    position: Array = field(default_factory=_zeros)
    rotation: Array = field(default_factory=_identity)
    rgba: tuple[float, float, float, float] | None = None
    mesh: str | Mesh | None = None


@dataclass(frozen=True)
class Link:
    """A rigid body.

    Attributes:
        mass: kg; 0 for a frame, or for a link whose mass nobody gave.
        com: centre of mass in the link frame.
        inertia: 3×3 tensor about the centre of mass, link-frame axes.
    """

    name: str
    mass: float = 0.0
    com: Array = field(default_factory=_zeros)
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Mimic:
    """Ties a joint to another: q = multiplier · q_joint + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """What connects a link to its parent.

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
        """Name of the link that is nobody's child."""
        children = {joint.child for joint in self.joints}
        return next(link.name for link in self.links if link.name not in children)

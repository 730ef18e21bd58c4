"""A named robot prepared for the recursive algorithms: every joint along z, offsets near the base, few parameters.

Three rewritings, none of which changes a joint torque:

1. Each link's frame is turned so that its joint acts along z (a permutation of axes).
2. Frames slide along their own axes until the offset to the next joint has no component along the axis: offsets move
   towards the base, where velocities have fewer components.
3. What of a link's mass is unchanged by turning about its axis (mass, first moment and second moment along the axis)
   is counted as part of the parent; for a sliding link, all second moments are. Of ten parameters seven remain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

import numpy as np

from palpate.checks import Array
from palpate.equations.algebra.graph import PARAMETER, Graph, Node
from palpate.equations.algebra.vectors import SYMMETRIC, congruent, plus, six_entries, symmetric
from palpate.equations.model.mechanism import Kind, Mechanism, MovingLink
from palpate.equations.model.naming import CoordinateNames, FixedRotation, NamedFrame, NamedLink, Term, coordinates_of

Vector = list[Node]
Matrix = list[list[Node]]
# Columns of the permutation that brings an axis to z: new axes in terms of the old.
_TO_Z = {
    0: ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
    1: ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
    2: ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


@dataclass
class Mass:
    """m, h = ∫ r dm and S = ∫ r rᵀ dm about the link's origin (S as xx, yy, zz, xy, xz, yz)."""

    m: Node
    h: Vector
    S: Vector

    def __add__(self, other: Mass) -> Mass:
        return Mass(self.m + other.m, plus(self.h, other.h), plus(self.S, other.S))


@dataclass
class ChainLink:
    """A link in its rewritten frame.

    Attributes:
        axes: the frame's own axes (columns) in the link's frame: entries 0, ±1.
        position: of the frame in the parent's, at q = 0.
        shift: how far the origin was moved along z.
        cos, sin, slide: of the joint's coordinate; slide is 0 for a hinge.
    """

    kind: Kind
    parent: int
    axes: tuple[tuple[int, ...], ...]
    rotation: FixedRotation
    position: Vector
    mass: Mass
    armature: Node
    cos: Node
    sin: Node
    slide: Node
    shift: Node
    parent_axes: tuple[tuple[int, ...], ...]


class Model(Protocol):
    """A mechanism whose numbers are terms."""

    mechanism: Mechanism
    renamed: Mapping[str, str]
    links: list[NamedLink]
    gravity: tuple[Term, ...]


class Chain:
    """The rewritten robot in a graph: parameters and state as nodes."""

    def __init__(self, model: Model) -> None:
        self.model, self.graph = model, Graph()
        self.names: CoordinateNames = coordinates_of(model.mechanism, model.renamed)
        graph = self.graph
        self.q = [graph.symbol(name) for name in self.names.q]
        self.v = [graph.symbol(name) for name in self.names.v]
        self.a = [graph.symbol(name) for name in self.names.a]
        coupling = model.mechanism.coupling
        self.map = np.eye(len(self.v)) if coupling is None else coupling.map  # G: all velocities of the independent
        self.gravity = [self.term(x) for x in model.gravity]
        self.links = [self._link(i) for i in range(len(model.links))]
        self._slide_origins()
        self.real_masses = [k.mass for k in self.links]
        self._regroup()

    # ------------------------------------------------------------------ terms and coordinates

    def term(self, term: Term) -> Node:
        """A term as a node."""
        node = self.graph.node(term.coefficient)
        for name, power in term.powers:
            node = node * self.graph.power(self.graph.symbol(name, PARAMETER), power)
        return node

    def full(self, reduced: Sequence[Node]) -> list[Node]:
        """Velocities (or accelerations) of all joints from those of the independent ones."""
        return self._combined(self.map, reduced)

    def reduced(self, full: Sequence[Node]) -> list[Node]:
        """Forces on the independent coordinates from those on all joints: Gᵀ f."""
        return self._combined(self.map.T, full)

    def reduced_matrix(self, M: Matrix) -> Matrix:
        """Gᵀ M G."""
        return congruent(self.reduced, M)

    def _combined(self, factors: Array, values: Sequence[Node]) -> list[Node]:
        return [self.graph.sum(_coefficient(x) * value for x, value in zip(row, values) if x) for row in factors]

    @property
    def first_freedoms(self) -> list[int]:
        """LinkFrame of each link's first velocity among all: a free base has six."""
        counts = [6 if link.kind == "free" else 1 for link in self.links]
        return [0, *accumulate(counts)][:-1]

    def _joint_positions(self) -> list[Node]:
        """The position of every hinge and slide (none for a free base)."""
        base = (6, 7) if self.model.mechanism.floating else (0, 0)
        full = self._combined(self.map[base[0] :, base[0] :], self.q[base[1] :])
        coupling = self.model.mechanism.coupling
        offsets = np.zeros(len(full)) if coupling is None else coupling.position_offset[base[1] :]
        return [x + _coefficient(float(b)) for x, b in zip(full, offsets)]

    # ------------------------------------------------------------------ links

    def _link(self, index: int) -> ChainLink:
        named = self.model.links[index]
        link = named.link
        axes, parent_axes = axes_of(link), self._axes(link.parent)
        cos, sin, slide = self._joint(index)
        position = along(parent_axes, [self.term(x) for x in named.position])
        return ChainLink(
            link.kind, link.parent, axes, named.rotation, position, self._mass(index, axes),
            self.term(named.armature), cos, sin, slide, self.graph.zero, parent_axes,
        )  # fmt: skip

    def _axes(self, index: int) -> tuple[tuple[int, ...], ...]:
        return _TO_Z[2] if index < 0 else axes_of(self.model.links[index].link)

    def _joint(self, index: int) -> tuple[Node, Node, Node]:
        graph = self.graph
        kind = self.model.links[index].link.kind
        if kind == "free":
            return graph.one, graph.zero, graph.zero
        q = self._joint_positions()[index - (1 if self.model.mechanism.floating else 0)]
        return (graph.cos(q), graph.sin(q), graph.zero) if kind == "revolute" else (graph.one, graph.zero, q)

    def _mass(self, index: int, axes: tuple[tuple[int, ...], ...]) -> Mass:
        """Mass, first and second moments about the link's origin."""
        named = self.model.links[index]
        m, com = self.term(named.mass), along(axes, [self.term(x) for x in named.com])
        tensor = congruent(lambda v: along(axes, v), [[self.term(x) for x in row] for row in named.inertia])
        half = (tensor[0][0] + tensor[1][1] + tensor[2][2]) / 2
        S = [half - tensor[k][k] for k in range(3)] + [-tensor[0][1], -tensor[0][2], -tensor[1][2]]
        point = _square(com)
        return Mass(m, [m * x for x in com], [s + m * p for s, p in zip(S, point)])

    # ------------------------------------------------------------------ moving vectors between frames

    def to_parent(self, index: int, v: Vector) -> Vector:
        """A vector of the link's frame in the parent's axes."""
        link = self.links[index]
        x, y, z = v
        return self.fixed_to_parent(index, [link.cos * x - link.sin * y, link.sin * x + link.cos * y, z])

    def to_child(self, index: int, v: Vector) -> Vector:
        """A vector of the parent's frame in the link's axes."""
        link = self.links[index]
        x, y, z = self.fixed_to_child(index, v)
        return [link.cos * x + link.sin * y, link.cos * y - link.sin * x, z]

    def fixed_to_parent(self, index: int, v: Vector) -> Vector:
        """The same without the joint's own turn."""
        link = self.links[index]
        return along(link.parent_axes, self.rotated(link.rotation, _out_of(link.axes, v)))

    def fixed_tensor(self, index: int, S: Vector) -> Vector:
        """R S Rᵀ of a link's second moments, without the joint's own turn."""
        return six_entries(congruent(lambda v: self.fixed_to_parent(index, v), symmetric(S)))

    def fixed_to_child(self, index: int, v: Vector) -> Vector:
        """The same without the joint's own turn."""
        link = self.links[index]
        return along(link.axes, self.rotated_back(link.rotation, _out_of(link.parent_axes, v)))

    def rotated(self, rotation: FixedRotation, v: Vector) -> Vector:
        """R v for a fixed turn R = Q Rz Ry Rx."""
        for axis, name in reversed(rotation.angles):
            v = self._elementary(axis, name, 1, v)
        return [self.graph.sum(self.term(t) * x for t, x in zip(row, v)) for row in rotation.matrix]

    def rotated_back(self, rotation: FixedRotation, v: Vector) -> Vector:
        """Rᵀ v."""
        v = [self.graph.sum(self.term(rotation.matrix[j][i]) * v[j] for j in range(3)) for i in range(3)]
        for axis, name in rotation.angles:
            v = self._elementary(axis, name, -1, v)
        return v

    def _elementary(self, axis: int, name: str, sense: int, v: Vector) -> Vector:
        angle = self.graph.symbol(name, PARAMETER)
        c, s = self.graph.cos(angle), sense * self.graph.sin(angle)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        out = list(v)
        out[i], out[j] = c * v[i] - s * v[j], s * v[i] + c * v[j]
        return out

    def frame_origin(self, frame: NamedFrame) -> Vector:
        """A frame's origin in its link's rewritten frame."""
        point = along(self._axes(frame.link), [self.term(x) for x in frame.position])
        return [point[0], point[1], point[2] - self.links[frame.link].shift]

    # ------------------------------------------------------------------ the rewritings

    def _slide_origins(self) -> None:
        for index in reversed(range(len(self.links))):
            link = self.links[index]
            children = [i for i, k in enumerate(self.links) if k.parent == index]
            if len(children) == 1 and link.kind != "free":
                self._slide(index, self.links[children[0]].position[2])

    def _slide(self, index: int, shift: Node) -> None:
        """Move a link's origin along its z: its own pose, mass and the children's positions follow."""
        link, m = self.links[index], self.links[index].mass
        link.shift = shift
        moved = self.fixed_to_parent(index, [self.graph.zero, self.graph.zero, shift])
        link.position = plus(link.position, moved)
        hx, hy, hz = m.h
        xx, yy, zz, xy, xz, yz = m.S
        zz, xz, yz = zz - 2 * shift * hz + shift * shift * m.m, xz - shift * hx, yz - shift * hy
        link.mass = Mass(m.m, [hx, hy, hz - shift * m.m], [xx, yy, zz, xy, xz, yz])
        for child in self.links:
            if child.parent == index:
                child.position = [child.position[0], child.position[1], child.position[2] - shift]

    def _regroup(self) -> None:
        for index in reversed(range(len(self.links))):
            link = self.links[index]
            if link.kind == "revolute":
                self._give_axial(index)
            elif link.kind == "prismatic":
                self._give_second_moments(index)

    def _give_axial(self, index: int) -> None:
        """The part of a hinged link's mass that turning does not change, to the parent."""
        graph, link = self.graph, self.links[index]
        m, hz, zz = link.mass.m, link.mass.h[2], link.mass.S[2]
        if link.parent >= 0:
            p, u = link.position, self.fixed_to_parent(index, [graph.zero, graph.zero, graph.one])
            S = [m * a + hz * b + zz * c for a, b, c in zip(_square(p), _twice(p, u), _square(u))]
            self.links[link.parent].mass += Mass(m, [m * x + hz * y for x, y in zip(p, u)], S)
        xx, yy, _, xy, xz, yz = link.mass.S
        link.mass = Mass(graph.zero, [*link.mass.h[:2], graph.zero], [xx, yy, graph.zero, xy, xz, yz])

    def _give_second_moments(self, index: int) -> None:
        """A sliding link's second moments, to the parent: sliding does not change what they do."""
        graph, link = self.graph, self.links[index]
        if link.parent >= 0:
            moved = self.fixed_tensor(index, link.mass.S)
            self.links[link.parent].mass += Mass(graph.zero, [graph.zero] * 3, moved)
        link.mass = Mass(link.mass.m, link.mass.h, [graph.zero] * 6)


def _coefficient(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)


def axes_of(link: MovingLink) -> tuple[tuple[int, ...], ...]:
    """Axes in which a link's joint acts along +z; rows are new axes in components of the link's frame."""
    x, y, z = _TO_Z[link.axis]
    if link.sign > 0:
        return x, y, z
    return y, x, tuple(-k for k in z)


def along(axes: tuple[tuple[int, ...], ...], v: Vector) -> Vector:
    """Components along the new axes."""
    graph = v[0].graph
    return [graph.sum(k * x for k, x in zip(axis, v) if k) for axis in axes]


def _out_of(axes: tuple[tuple[int, ...], ...], v: Vector) -> Vector:
    """Components along the old axes."""
    graph = v[0].graph
    return [graph.sum(axes[j][i] * v[j] for j in range(3) if axes[j][i]) for i in range(3)]


def _square(a: Vector) -> Vector:
    """a aᵀ."""
    return [a[i] * a[j] for i, j in SYMMETRIC]


def _twice(a: Vector, b: Vector) -> Vector:
    """a bᵀ + b aᵀ."""
    return [a[i] * b[j] + b[i] * a[j] for i, j in SYMMETRIC]

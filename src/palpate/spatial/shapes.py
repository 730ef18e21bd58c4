"""The shapes that surfaces can have, each once: its sizes, what the engine calls it, and the distance to it.

To add one, write its distance and its line in SHAPES.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from palpate.checks import Array
from palpate.engine.kernels import caller, kernel
from palpate.engine.records import Vector
from palpate.spatial.height_field import height_field_distance, packed_heights
from palpate.spatial.mesh import mesh_distance, packed_mesh

# size: half lengths and radii as the engine has them, or a whole height field or mesh; p: a point in the shape's axes.
# Each returns the distance of p to the surface, negative inside, and writes the outward normal there.


@kernel
def plane_distance(size: Vector, p: Vector, normal: Vector) -> float:
    """Everything below z = 0 is inside."""
    normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
    return p[2]


@kernel
def sphere_distance(size: Vector, p: Vector, normal: Vector) -> float:
    """size: radius."""
    r = math.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2)
    for i in range(3):
        normal[i] = p[i] / r if r > 0.0 else (1.0 if i == 2 else 0.0)
    return r - size[0]


@kernel
def box_distance(size: Vector, p: Vector, normal: Vector) -> float:
    """size: half edges."""
    outside, deepest, axis = 0.0, -math.inf, 0
    for i in range(3):
        gap = abs(p[i]) - size[i]
        if gap > deepest:
            deepest, axis = gap, i
        normal[i] = math.copysign(gap, p[i]) if gap > 0.0 else 0.0
        outside += normal[i] * normal[i]
    if outside > 0.0:
        distance = math.sqrt(outside)
        for i in range(3):
            normal[i] /= distance
        return distance
    normal[axis] = math.copysign(1.0, p[axis])
    return deepest


@kernel
def cylinder_distance(size: Vector, p: Vector, normal: Vector) -> float:
    """size: radius, half length along z."""
    r = math.sqrt(p[0] ** 2 + p[1] ** 2)
    radial, axial = r - size[0], abs(p[2]) - size[1]
    ux, uy = (p[0] / r, p[1] / r) if r > 0.0 else (1.0, 0.0)
    up = math.copysign(1.0, p[2])
    normal[0] = normal[1] = normal[2] = 0.0
    if radial > 0.0 and axial > 0.0:
        distance = math.sqrt(radial**2 + axial**2)
        normal[0], normal[1], normal[2] = ux * radial / distance, uy * radial / distance, up * axial / distance
        return distance
    if radial > axial:
        normal[0], normal[1] = ux, uy
        return radial
    normal[2] = up
    return axial


@dataclass(frozen=True)
class Shape:
    """One shape.

    Attributes:
        sizes: what its numbers are, in the order a person gives them.
        halves: which of them are whole lengths that the engine takes by half.
        geom: the engine's word for it.
        distance: `distance(size, p, normal)`, see above.
        data: what it needs besides its sizes, "heights" or "triangles"; such shapes are for compliant contact.
    """

    sizes: tuple[str, ...]
    halves: tuple[int, ...]
    geom: str
    distance: Any  # a kernel
    data: str = ""

    def form(self, size: Sequence[float], data: Any = None) -> Array:
        """Numbers that the distance takes: the engine's sizes, or what `data` (heights; vertices and faces) becomes."""
        if self.data == "heights":
            return packed_heights(size, data)
        return packed_mesh(*data) if self.data == "triangles" else np.array(self.engine_size(size))

    def engine_size(self, size: Sequence[float]) -> list[float]:
        """Three numbers as the engine and the distance take them; a plane is drawn half a metre each way."""
        if self.data:
            return [0.0, 0.0, 0.0]
        if not self.sizes:
            return [0.5, 0.5, 0.01]
        given = [x / 2 if k in self.halves else x for k, x in enumerate(size)]
        return given + [0.0] * (3 - len(given))


SHAPES = {
    "plane": Shape((), (), "plane", plane_distance),
    "box": Shape(("edge along x", "edge along y", "edge along z"), (0, 1, 2), "box", box_distance),
    "sphere": Shape(("radius",), (), "sphere", sphere_distance),
    "cylinder": Shape(("radius", "length"), (1,), "cylinder", cylinder_distance),
    "height-field": Shape(("length along x", "length along y"), (), "mesh", height_field_distance, "heights"),
    "mesh": Shape((), (), "mesh", mesh_distance, "triangles"),
}


# distance(size, p, normal) of the shape at an address: a new shape recompiles nothing.
call_distance = caller(types.float64, *[types.float64[::1]] * 3)

"""The distance to a closed mesh of triangles: the nearest point of all of them, found in a tree of boxes.

Inside or outside is told by the normal at that point: of its triangle, of the two at its edge, or of those around its
corner weighted by their angles, which decides rightly for every closed mesh that does not cut itself.
"""

from __future__ import annotations

import math

import numpy as np

from palpate.checks import Array
from palpate.engine.kernels import kernel
from palpate.engine.records import Vector
from palpate.errors import InvalidInput
from palpate.spatial.height_field import LONGEST, SHORTEST

MOST_TRIANGLES = 20_000
_FLAT = 1e-12  # of the longest side squared: a smaller area is none
_LEAF = 4  # triangles of a box that is not divided further
# A mesh is one vector: how many boxes, its extent, then the boxes in depth-first order, then the triangles.
_HEAD, _BOX, _TRIANGLE = 2, 9, 30
_SKIP, _START, _COUNT = 6, 7, 8  # of a box, after its two corners: the box after all below it, its triangles


def packed_mesh(vertices: Array, faces: Array) -> Array:
    """The mesh as one vector.

    Args:
        vertices: (n, 3), m.
        faces: (m, 3), counter-clockwise seen from outside.

    Raises:
        InvalidInput: open, inside out, too large, or no numbers.
    """
    vertices, faces = join_vertices(np.asarray(vertices, dtype=float), np.asarray(faces, dtype=np.int64))
    _refuse_what_has_no_inside(vertices, faces)
    corners = vertices[faces]
    order, boxes = _tree(corners)
    normals = _normals(vertices, faces)
    triangles = np.concatenate([corners.reshape(-1, 9), normals], axis=1)[order]
    extent = float(np.ptp(vertices, axis=0).max())
    return np.concatenate([[len(boxes), extent], np.array(boxes).ravel(), triangles.ravel()])


def join_vertices(vertices: Array, faces: Array) -> tuple[Array, Array]:
    """Corners that are one place made one, and triangles without an area left out.

    One place is what a millionth of the extent does not tell apart; a file of single triangles repeats every corner.
    """
    if len(faces) > MOST_TRIANGLES:
        raise InvalidInput(
            f"the mesh has {len(faces)} triangles, at most {MOST_TRIANGLES} are taken", hint="simplify it first"
        )
    if not len(faces) or not np.isfinite(vertices).all():
        raise InvalidInput("the mesh has no triangles" if not len(faces) else "the mesh has a corner that is no number")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise InvalidInput(f"the mesh names corner {int(faces.max()) + 1}, it has {len(vertices)}")
    extent = float(np.ptp(vertices, axis=0).max())
    if not SHORTEST <= extent <= np.abs(vertices).max() * 2 <= 2 * LONGEST:
        raise InvalidInput(
            f"the mesh is {extent:g} m long and reaches {np.abs(vertices).max():g} m far;"
            f" {SHORTEST:g} m to {LONGEST:g} m are taken",
            hint="give `scale`, such as 0.001 for a file in millimetres",
        )
    _, first, inverse = np.unique(np.round(vertices / (1e-6 * extent)), axis=0, return_index=True, return_inverse=True)
    faces = inverse.reshape(-1)[faces]
    a, b, c = faces.T
    return vertices[first], faces[(a != b) & (b != c) & (c != a)]


def decimate(vertices: Array, faces: np.ndarray, most: int) -> tuple[Array, np.ndarray]:
    """A mesh of at most `most` triangles: vertices that share a cell of a grid become one, ever larger cells.

    A surface moves by less than the diagonal of a cell; the grid begins at 64 cells along the longest side.
    """
    vertices, faces = np.asarray(vertices, dtype=float), np.asarray(faces, dtype=int)
    low, cells = vertices.min(axis=0), 64.0
    side = max(float(np.ptp(vertices, axis=0).max()), 1e-9)
    while len(faces) > most and cells >= 2:
        x, y, z = np.floor((vertices - low) / side * cells).astype(int).T
        _, cluster = np.unique((x * 100 + y) * 100 + z, return_inverse=True)  # at most 65 cells along a side
        count = np.bincount(cluster)
        merged = np.column_stack([np.bincount(cluster, vertices[:, i]) / count for i in range(3)])
        joined = cluster[faces]
        flat = (joined[:, 0] == joined[:, 1]) | (joined[:, 1] == joined[:, 2]) | (joined[:, 0] == joined[:, 2])
        a, b, c = np.sort(joined[~flat], axis=1).T
        _, kept = np.unique((a * len(merged) + b) * len(merged) + c, return_index=True)
        vertices, faces, cells = merged, joined[~flat][kept], cells / 1.4
    return vertices, faces


def _refuse_what_has_no_inside(vertices: Array, faces: Array) -> None:
    """Every edge must be run through once each way, and the volume within be positive."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    forward = edges[:, 0] * len(vertices) + edges[:, 1]
    backward = edges[:, 1] * len(vertices) + edges[:, 0]
    _, counts = np.unique(forward, return_counts=True)
    unpaired = int((~np.isin(forward, backward)).sum())
    if len(faces) < 4 or unpaired or counts.max() > 1:
        what = f"{unpaired} edges have no neighbour" if unpaired else f"{int((counts > 1).sum())} edges have too many"
        raise InvalidInput(
            f"the mesh is not closed: {what if len(faces) >= 4 else f'it has {len(faces)} triangles'}",
            hint="close its holes and turn its faces to one side, so that it has an inside",
        )
    a, b, c = np.moveaxis(vertices[faces] - vertices.mean(axis=0), 1, 0)
    volume = float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6
    if volume <= 0:
        raise InvalidInput(
            f"the mesh is inside out: its volume is {volume:.3g} m³", hint="turn its faces, so that they look outward"
        )


def _normals(vertices: Array, faces: Array) -> Array:
    """(m, 21): the normal of each triangle, of its edges ab, bc, ca, and of its corners a, b, c.

    A triangle whose corners lie on one line has no normal of its own and takes the mean of its neighbours'.
    """
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size, longest = np.linalg.norm(across, axis=1), np.ptp(corners, axis=1).max(axis=1)
    flat = size < _FLAT * longest**2
    face = across / np.where(flat, 1.0, size)[:, None] * ~flat[:, None]
    sides = {(int(f[k]), int(f[(k + 1) % 3])): row for k in range(3) for row, f in enumerate(faces)}
    # The neighbour runs through an edge the other way.
    neighbour = np.array([[sides[int(f[(k + 1) % 3]), int(f[k])] for k in range(3)] for f in faces])
    mean = face[neighbour[flat]].sum(axis=1)
    face[flat] = mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), _FLAT)
    at_corner = np.zeros_like(vertices)
    for k in range(3):
        one, other = corners[:, (k + 1) % 3] - corners[:, k], corners[:, (k + 2) % 3] - corners[:, k]
        angle = np.arctan2(np.linalg.norm(np.cross(one, other), axis=1), np.einsum("ij,ij->i", one, other))
        np.add.at(at_corner, faces[:, k], angle[:, None] * face)
    edges = [face + face[neighbour[:, k]] for k in range(3)]
    return np.concatenate([face, *edges, *(at_corner[faces[:, k]] for k in range(3))], axis=1)


def _tree(corners: Array) -> tuple[np.ndarray, list[list[float]]]:
    """The triangles' order, and boxes in depth-first order: halves along the longest side, down to a few triangles."""
    order: list[int] = []
    boxes: list[list[float]] = []
    low, high, middle = corners.min(axis=1), corners.max(axis=1), corners.mean(axis=1)

    def divide(triangles: np.ndarray) -> None:
        box = [*low[triangles].min(axis=0), *high[triangles].max(axis=0), 0.0, float(len(order)), 0.0]
        boxes.append(box)
        if len(triangles) <= _LEAF:
            order.extend(triangles.tolist())
            box[_COUNT] = float(len(triangles))
        else:
            axis = int(np.argmax(np.ptp(middle[triangles], axis=0)))
            ranked = triangles[np.argsort(middle[triangles, axis], kind="stable")]
            divide(ranked[: len(ranked) // 2])
            divide(ranked[len(ranked) // 2 :])
        box[_SKIP] = float(len(boxes))

    divide(np.arange(len(corners)))
    return np.array(order), boxes


@kernel
def _squared_to_box(mesh: Vector, box: int, p: Vector) -> float:
    squared = 0.0
    for i in range(3):
        out = max(mesh[box + i] - p[i], 0.0, p[i] - mesh[box + 3 + i])
        squared += out * out
    return squared


@kernel
def _along(mesh: Vector, start: int, end: int, p: Vector) -> float:
    """(end − start) · (p − start)."""
    total = 0.0
    for i in range(3):
        total += (mesh[end + i] - mesh[start + i]) * (p[i] - mesh[start + i])
    return total


@kernel
def _on_triangle(mesh: Vector, a: int, p: Vector) -> tuple[float, float, int]:
    """The point of a triangle nearest to p as a + s (b − a) + t (c − a), and what it lies on.

    0 the face, 1 to 3 the edges ab, bc, ca, 4 to 6 the corners: the place of its normal.
    """
    b, c = a + 3, a + 6
    ab_p, ac_p = _along(mesh, a, b, p), _along(mesh, a, c, p)
    if ab_p <= 0.0 and ac_p <= 0.0:
        return 0.0, 0.0, 4
    ab_ab = ab_ac = ac_ac = 0.0
    for i in range(3):
        u, w = mesh[b + i] - mesh[a + i], mesh[c + i] - mesh[a + i]
        ab_ab += u * u
        ab_ac += u * w
        ac_ac += w * w
    ab_b, ac_b = ab_p - ab_ab, ac_p - ab_ac
    if ab_b >= 0.0 and ac_b <= ab_b:
        return 1.0, 0.0, 5
    ab_c, ac_c = ab_p - ab_ac, ac_p - ac_ac
    if ac_c >= 0.0 and ab_c <= ac_c:
        return 0.0, 1.0, 6
    over_c = ab_p * ac_b - ab_b * ac_p
    if over_c <= 0.0 and ab_p >= 0.0 and ab_b <= 0.0:
        return ab_p / (ab_p - ab_b), 0.0, 1
    over_b = ab_c * ac_p - ab_p * ac_c
    if over_b <= 0.0 and ac_p >= 0.0 and ac_c <= 0.0:
        return 0.0, ac_p / (ac_p - ac_c), 3
    over_a = ab_b * ac_c - ab_c * ac_b
    if over_a <= 0.0 and ac_b - ab_b >= 0.0 and ab_c - ac_c >= 0.0:
        t = (ac_b - ab_b) / ((ac_b - ab_b) + (ab_c - ac_c))
        return 1.0 - t, t, 2
    whole = over_a + over_b + over_c
    return over_b / whole, over_c / whole, 0


@kernel
def _squared_to(mesh: Vector, a: int, p: Vector, s: float, t: float) -> float:
    squared = 0.0
    for i in range(3):
        away = p[i] - (mesh[a + i] + s * (mesh[a + 3 + i] - mesh[a + i]) + t * (mesh[a + 6 + i] - mesh[a + i]))
        squared += away * away
    return squared


@kernel
def _nearest_below(mesh: Vector, box: int, p: Vector, nearest: int, best: float) -> tuple[int, float]:
    """The nearest of one box's own triangles, if it is nearer than what was found."""
    first = _HEAD + int(mesh[0]) * _BOX + int(mesh[box + _START]) * _TRIANGLE
    for k in range(int(mesh[box + _COUNT])):
        a = first + k * _TRIANGLE
        s, t, _ = _on_triangle(mesh, a, p)
        squared = _squared_to(mesh, a, p, s, t)
        if squared < best:
            nearest, best = a, squared
    return nearest, best


@kernel
def nearest_triangle(mesh: Vector, p: Vector) -> int:
    """Where the triangle nearest to p begins: straight down to a near one first, then all whose boxes are nearer."""
    count, box = int(mesh[0]), _HEAD
    while mesh[box + _COUNT] == 0.0:
        left = box + _BOX
        right = _HEAD + int(mesh[left + _SKIP]) * _BOX
        box = left if _squared_to_box(mesh, left, p) <= _squared_to_box(mesh, right, p) else right
    nearest, best = _nearest_below(mesh, box, p, 0, math.inf)
    k = 0
    while k < count:
        box = _HEAD + k * _BOX
        if _squared_to_box(mesh, box, p) >= best:
            k = int(mesh[box + _SKIP])
            continue
        nearest, best = _nearest_below(mesh, box, p, nearest, best)
        k += 1
    return nearest


@kernel
def mesh_distance(size: Vector, p: Vector, normal: Vector) -> float:
    """size: a mesh."""
    a = nearest_triangle(size, p)
    s, t, feature = _on_triangle(size, a, p)
    n, side, length = a + 9 + 3 * feature, 0.0, 0.0
    for i in range(3):
        normal[i] = p[i] - (size[a + i] + s * (size[a + 3 + i] - size[a + i]) + t * (size[a + 6 + i] - size[a + i]))
        side += normal[i] * size[n + i]
        length += size[n + i] ** 2
    gap = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    sign = -1.0 if side < 0.0 else 1.0
    if feature > 0 and gap > 1e-9 * size[1]:
        for i in range(3):
            normal[i] *= sign / gap
    else:
        for i in range(3):
            normal[i] = size[n + i] / math.sqrt(length)
    return sign * gap

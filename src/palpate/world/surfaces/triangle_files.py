"""Triangles of a surface from a file: STL and OBJ."""

from __future__ import annotations

import struct

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.spatial.mesh import MOST_TRIANGLES

_SOLID = b"solid"
Triangles = tuple[Array, Array]


def from_stl(content: bytes) -> Triangles:
    """Binary or text: three corners for each triangle."""
    count = struct.unpack_from("<I", content, 80)[0] if len(content) >= 84 else 0
    if content.lstrip().startswith(_SOLID) and len(content) != 84 + 50 * count:
        words = [line.split() for line in content.decode("ascii", errors="replace").splitlines()]
        corners = np.array([[float(x) for x in w[1:4]] for w in words if w[:1] == ["vertex"]]).reshape(-1, 3)
    else:
        if len(content) < 84 + 50 * count or not count:
            raise InvalidInput(f"an STL of {len(content)} bytes does not hold the {count} triangles it claims")
        rows = np.frombuffer(
            content, dtype=np.dtype([("n", "<f4", 3), ("p", "<f4", (3, 3)), ("a", "<u2")]), count=count, offset=84
        )
        corners = rows["p"].reshape(-1, 3).astype(float)
    _refuse_many(len(corners) // 3)
    if len(corners) % 3:
        raise InvalidInput(f"an STL has three corners for each triangle, this one has {len(corners)} corners")
    return corners, np.arange(len(corners)).reshape(-1, 3)


def from_obj(content: bytes) -> Triangles:
    """Lines v and f; faces of more than three corners as fans."""
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for line in content.decode("utf-8", errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            named = [int(word.split("/")[0]) for word in words[1:]]
            ring = [k - 1 if k > 0 else len(vertices) + k for k in named]
            faces += [[ring[0], ring[k], ring[k + 1]] for k in range(1, len(ring) - 1)]
            _refuse_many(len(faces))
    return np.array(vertices).reshape(-1, 3), np.array(faces, dtype=np.int64).reshape(-1, 3)


def _refuse_many(count: int) -> None:
    if count > MOST_TRIANGLES:
        raise InvalidInput(
            f"the mesh has {count} triangles, at most {MOST_TRIANGLES} are taken", hint="simplify it first"
        )

"""Reads COLLADA files and prints their triangles by colour. Runs alone, in a process of its own.

Called by `limited.py` with the arguments FILES, a JSON list of paths, and MOST, the number of triangles that all of
them may have together; of those behind it the answer says that they have too many. The answer is a
line of JSON with one entry for each file: why it cannot be read, or a list of [colour, vertices, faces], colour being
[red, green, blue, 1] or null and the others counts. Behind it stand, part by part, the vertices (m, three floats of 8
bytes each) and the faces (three integers of 8 bytes each), little-endian.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Parts = dict[tuple[float, ...] | None, tuple[Any, Any]]


def _colour(material: Any) -> tuple[float, ...] | None:
    """The diffuse colour; transparency is left out, since programs write it with opposite meanings."""
    diffuse: Any = getattr(getattr(material, "effect", None), "diffuse", None)
    plain = isinstance(diffuse, tuple) and len(diffuse) >= 3  # else a texture
    return (*(round(min(max(float(x), 0.0), 1.0), 4) for x in diffuse[:3]), 1.0) if plain else None


class _Budget:
    """Triangles that may still be read: a file of a hundred lines can show one mesh a billion times."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def allows(self, count: int) -> bool:
        """Whether `count` more may be read; an empty instance counts as one."""
        self.left -= count + 1
        return self.left >= 0


def _triangles(document: Any, budget: _Budget) -> Iterator[tuple[tuple[float, ...] | None, Any, Any]]:
    """Colour, vertices and faces of everything in the scene that has a surface."""
    for geometry in document.scene.objects("geometry"):
        if not budget.allows(0):
            return
        for primitive in geometry.primitives():
            if not budget.allows(len(primitive)):
                return
            made = primitive.triangleset() if hasattr(primitive, "triangleset") else primitive
            if getattr(made, "vertex_index", None) is None or made.vertex_index.shape[1:] != (3,) or not len(made):
                continue  # lines
            yield _colour(primitive.material), made.vertex, made.vertex_index


def _parts(path: str, budget: _Budget) -> Parts:
    """Vertices, m, and faces by colour. Axes are the file's own, as RViz takes them."""
    import collada
    import numpy as np
    from collada import common

    document: Any = collada.Collada(
        io.BytesIO(Path(path).read_bytes()), ignore=[common.DaeUnsupportedError, common.DaeBrokenRefError]
    )
    metre = document.assetInfo.unitmeter or 1.0
    parts: Parts = {}
    for colour, vertices, faces in _triangles(document, budget):
        used, index = np.unique(faces, return_inverse=True)  # parts of several colours share one list of vertices
        before, above = parts.get(colour, (np.zeros((0, 3)), np.zeros((0, 3), dtype=int)))
        points = np.concatenate([before, vertices[used] * metre])
        parts[colour] = points, np.concatenate([above, index.reshape(-1, 3) + len(before)])
    return parts


def _read(path: str, budget: _Budget) -> Parts | str:
    """The parts of a file, or what is wrong with it."""
    import numpy as np

    try:
        parts = _parts(path, budget)
    except Exception as error:  # the library raises whatever its file provokes
        return f"{type(error).__name__}: {error}"[:200]
    if budget.left < 0:
        return f"more than {budget.most} triangles in all"
    if not parts:
        return "it holds no triangles"
    sound = all(np.isfinite(vertices).all() for vertices, _ in parts.values())
    return parts if sound else "a coordinate is not a number"


def main() -> None:
    """Read all files, then print them."""
    budget = _Budget(int(sys.argv[2]))
    answers = [_read(path, budget) for path in json.loads(sys.argv[1])]
    heads = [a if isinstance(a, str) else [[c, len(v), len(f)] for c, (v, f) in a.items()] for a in answers]
    out = sys.stdout.buffer
    out.write(json.dumps(heads).encode() + b"\n")
    for parts in answers:
        for vertices, faces in () if isinstance(parts, str) else parts.values():
            out.write(vertices.astype("<f8").tobytes() + faces.astype("<i8").tobytes())


if __name__ == "__main__":
    main()

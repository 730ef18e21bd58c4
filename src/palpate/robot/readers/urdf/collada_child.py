"""Reads COLLADA files and prints their triangles by colour as an .npz archive. Runs alone, in a process of its own.

Called by path as `python -I collada_child.py SECONDS BYTES FILES`, FILES being a JSON list of paths. In the archive,
file k has `k.colours` (parts × 4: red, green, blue, 1; all −1 where the file gives none) and for each part j
`k.j.vertices` (n × 3, m) and `k.j.faces` (m × 3), or `k.error`, why it cannot be read.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NO_COLOUR = (-1.0,) * 4


def _limit(seconds: float, memory: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # systems without such limits
        import resource

        cpu = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 2))  # a signal first, then the end
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _colour(material: Any) -> tuple[float, ...]:
    """The diffuse colour; transparency is left out, since programs write it with opposite meanings."""
    diffuse = getattr(getattr(material, "effect", None), "diffuse", None)
    plain = isinstance(diffuse, tuple) and len(diffuse) >= 3  # else a texture
    return (*(round(min(max(float(x), 0.0), 1.0), 4) for x in diffuse[:3]), 1.0) if plain else NO_COLOUR


def _triangles(document: Any) -> Iterator[tuple[tuple[float, ...], Any, Any]]:
    """Colour, vertices and faces of everything in the scene that has a surface."""
    for geometry in document.scene.objects("geometry"):
        for primitive in geometry.primitives():
            made = primitive.triangleset() if hasattr(primitive, "triangleset") else primitive
            if getattr(made, "vertex_index", None) is None or made.vertex_index.shape[1:] != (3,) or not len(made):
                continue  # lines
            yield _colour(primitive.material), made.vertex, made.vertex_index


def _parts(path: str) -> dict[tuple[float, ...], tuple[Any, Any]]:
    """Vertices, m, and faces by colour. Axes are the file's own, as RViz takes them."""
    import collada
    import numpy as np
    from collada import common

    document = collada.Collada(
        io.BytesIO(Path(path).read_bytes()), ignore=[common.DaeUnsupportedError, common.DaeBrokenRefError]
    )
    metre = document.assetInfo.unitmeter or 1.0
    parts: dict[tuple[float, ...], tuple[Any, Any]] = {}
    for colour, vertices, faces in _triangles(document):
        used, index = np.unique(faces, return_inverse=True)  # parts of several colours share one list of vertices
        points = vertices[used] * metre
        if not np.isfinite(points).all():
            raise ValueError("a coordinate is not a number")
        before, above = parts.get(colour, (np.zeros((0, 3)), np.zeros((0, 3), dtype=int)))
        parts[colour] = np.concatenate([before, points]), np.concatenate([above, index.reshape(-1, 3) + len(before)])
    if not parts:
        raise ValueError("it holds no triangles")
    return parts


def main() -> None:
    """Limits itself first, then loads the library."""
    seconds, memory, files = sys.argv[1:]
    _limit(float(seconds), int(memory))
    import numpy as np

    arrays: dict[str, Any] = {}
    for k, path in enumerate(json.loads(files)):
        try:
            parts = _parts(path)
        except Exception as error:  # the library raises whatever its file provokes
            arrays[f"{k}.error"] = np.array(f"{type(error).__name__}: {error}"[:200])
            continue
        arrays[f"{k}.colours"] = np.array(list(parts))
        for j, (vertices, faces) in enumerate(parts.values()):
            arrays |= {f"{k}.{j}.vertices": vertices, f"{k}.{j}.faces": faces}
    answer = io.BytesIO()
    np.savez(answer, **arrays)
    sys.stdout.buffer.write(answer.getvalue())


if __name__ == "__main__":
    main()

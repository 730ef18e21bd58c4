"""COLLADA meshes (.dae) of a URDF, read by pycollada in a process of its own: a mesh comes from a stranger."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from palpate.robot.mechanics.tree import Mesh
from palpate.robot.readers.findings import printable
from palpate.robot.readers.guarded import CompileLimits, limit_words, run_guarded
from palpate.spatial.mesh import decimated

SUFFIX = ".dae"
NEEDS = "is a COLLADA file, which needs pycollada"
INSTALL = "pip install 'palpate[meshes]'"
_CHILD = Path(__file__).with_name("collada_child.py")
_LIMITS = CompileLimits(seconds=60.0)
_MOST_TRIANGLES, _FEWEST = 1500, 60  # of a whole file, and of each colour in it: a replay shows no more
_RGBA = tuple[float, float, float, float]


@dataclass(frozen=True)
class ColladaMesh:
    """What a file holds.

    Attributes:
        parts: triangles by colour; None is the colour of a part to which the file gives none, or a texture.
        problem: why there are none, or None.
    """

    parts: tuple[tuple[_RGBA | None, Mesh], ...] = ()
    problem: str | None = None


def read_collada(paths: Sequence[Path]) -> dict[Path, ColladaMesh]:
    """The meshes of these files by path, read together, and once per process; one that cannot be read says why."""
    if not paths:
        return {}
    return _read(tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths))


@lru_cache(maxsize=16)
def _read(files: tuple[tuple[Path, int, int], ...]) -> dict[Path, ColladaMesh]:
    paths = [path for path, _, _ in files]
    if importlib.util.find_spec("collada") is None:
        return {path: ColladaMesh(problem=NEEDS) for path in paths}
    done = run_guarded(_CHILD, [*limit_words(_LIMITS), json.dumps([str(path) for path in paths])], _LIMITS, bare=True)
    if done is None or done.returncode != 0:
        said = f"could not be read with the others in {_LIMITS.seconds:g} s and {_LIMITS.memory / 2**30:.3g} GiB"
        return {path: ColladaMesh(problem=said) for path in paths}
    with np.load(io.BytesIO(done.stdout), allow_pickle=False) as arrays:
        return {path: _mesh(k, arrays) for k, path in enumerate(paths)}


def _mesh(k: int, arrays: np.lib.npyio.NpzFile) -> ColladaMesh:
    if f"{k}.error" in arrays:
        return ColladaMesh(problem=f"cannot be read as COLLADA ({printable(str(arrays[f'{k}.error']))})")
    parts, colours = [], arrays[f"{k}.colours"].tolist()
    total = sum(len(arrays[f"{k}.{j}.faces"]) for j in range(len(colours)))
    for j, colour in enumerate(colours):
        rgba = None if colour[0] < 0 else (colour[0], colour[1], colour[2], colour[3])
        vertices, faces = arrays[f"{k}.{j}.vertices"], arrays[f"{k}.{j}.faces"]
        share = max(_MOST_TRIANGLES * len(faces) // total, _FEWEST)
        parts.append((rgba, Mesh(*decimated(vertices, faces, share))))
    return ColladaMesh(tuple(parts))

"""COLLADA meshes (.dae) of a URDF, read by pycollada in a process of its own: a mesh comes from a stranger."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from palpate.robot.mechanics.tree import Mesh
from palpate.robot.readers.findings import printable
from palpate.robot.readers.guarded import PLAIN_LIMITS, run_guarded

SUFFIX = ".dae"
_CHILD = Path(__file__).with_name("collada_child.py")
_LIMITS = PLAIN_LIMITS
_MOST_READ = 2_000_000  # triangles of all files of a model, each instance counted
_MOST_TRIANGLES, _FEWEST = 1500, 60  # of a whole file, and of each colour in it: a replay shows no more
_RGBA = tuple[float, float, float, float]


@dataclass(frozen=True)
class ColladaMesh:
    """The meshes of a COLLADA file.

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
    done = run_guarded(_CHILD, [json.dumps([str(path) for path in paths]), str(_MOST_READ)], _LIMITS, bare=True)
    if done is None or done.returncode != 0:
        problem = f"could not be read with the others in {_LIMITS.seconds:g} s and {_LIMITS.memory / 2**30:.3g} GiB"
        return {path: ColladaMesh(problem=problem) for path in paths}
    head, _, data = done.stdout.partition(b"\n")
    answer = io.BytesIO(data)
    return {path: _mesh(parts, answer) for path, parts in zip(paths, json.loads(head))}


def _mesh(parts: str | list[tuple[list[float] | None, int, int]], answer: io.BytesIO) -> ColladaMesh:
    """One file of the answer, whose numbers come next."""
    if isinstance(parts, str):
        return ColladaMesh(problem=f"cannot be read as COLLADA ({printable(parts)})")
    from palpate.spatial.mesh import decimate  # which loads numba: reading a model without such meshes does not

    total, made = sum(faces for _, _, faces in parts), []
    for colour, vertex_count, face_count in parts:
        vertices = np.frombuffer(answer.read(24 * vertex_count), "<f8").reshape(-1, 3)
        faces = np.frombuffer(answer.read(24 * face_count), "<i8").reshape(-1, 3)
        share = max(_MOST_TRIANGLES * face_count // total, _FEWEST)
        rgba = (colour[0], colour[1], colour[2], colour[3]) if colour else None
        made.append((rgba, Mesh(*decimate(vertices, faces, share))))
    return ColladaMesh(tuple(made))

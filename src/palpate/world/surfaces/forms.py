"""Surfaces: their sizes, heights or triangles, for distances and drawing."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.errors import FileError, InvalidInput, PalpateError, shortened
from palpate.files import open_regular
from palpate.spatial.height_field import HALF_X, HALF_Y, heights_on
from palpate.spatial.mesh import join_vertices
from palpate.spatial.shapes import SHAPES
from palpate.world.config import Surface
from palpate.world.surfaces.height_files import from_csv, from_npy, from_png
from palpate.world.surfaces.triangle_files import Triangles, from_obj, from_stl

MOST_BYTES = 50_000_000
_CELLS = 21  # along each side of a drawn height field
FileState = tuple[str, int, int]  # a file, and what changes when it does


def form_of(surface: Surface) -> Array:
    """Numbers of a surface's shape that its distance takes.

    Raises:
        FileError: its file cannot be read.
        InvalidInput: what is in the file is no height field, or no closed mesh.
    """
    if not SHAPES[surface.shape].data:
        return SHAPES[surface.shape].form(surface.size)
    try:
        state = None if surface.file is None else _file_state(surface.name, surface.file)
        return _form(surface.shape, surface.size, surface.heights, surface.scale, state)
    except InvalidInput as error:
        where = f"surface {surface.name!r}" + ("" if surface.file is None else f", {_short_name(surface.file)}")
        raise InvalidInput(f"{where}: {error.args[0]}", hint=error.hint) from error


def drawn_mesh(surface: Surface) -> Triangles:
    """Vertices and faces that show a height field, as a block down to its lowest point, or a mesh as it is."""
    form = form_of(surface)
    if SHAPES[surface.shape].data == "triangles":
        assert surface.file is not None
        vertices, faces = _content("triangles", _file_state(surface.name, surface.file))
        return join_vertices(vertices * surface.scale, faces)
    return _block(form)


@lru_cache(maxsize=8)
def _form(
    shape: str, size: tuple[float, ...], heights: tuple[tuple[float, ...], ...], scale: float, state: FileState | None
) -> Array:
    """Numbers of a shape with data: from its heights, or from its file."""
    if state is None:
        return SHAPES[shape].form(size, np.array(heights))
    content = _content(SHAPES[shape].data, state)
    data = scale * content if SHAPES[shape].data == "heights" else (content[0] * scale, content[1])
    return SHAPES[shape].form(size, data)


@lru_cache(maxsize=8)
def _content(data: str, state: FileState) -> Any:
    """Heights from the smallest y on, or vertices and faces, in units of the file."""
    file, readers = state[0], _READERS[data]
    reader = readers.get(Path(file).suffix.lower())
    if reader is None:
        takes = f"heights are in one of {', '.join(readers)}" if data == "heights" else "a mesh is an .stl or .obj"
        raise FileError(f"cannot read {_short_name(file)}: {takes}")
    try:
        with open_regular(file, most_bytes=MOST_BYTES) as opened:
            return reader(opened.read(MOST_BYTES + 1))
    except PalpateError:
        raise
    except (ValueError, TypeError, IndexError, OSError, EOFError, SyntaxError, MemoryError, struct.error) as error:
        why = getattr(error, "strerror", None) or shortened(" ".join(str(error).split()))
        raise FileError(f"cannot read {_short_name(file)}: {why}") from error


def _short_name(file: str) -> str:
    return shortened(os.path.basename(file))


def _file_state(name: str, file: str) -> FileState:
    try:
        state = os.stat(file)
    except (OSError, ValueError) as error:
        raise FileError(
            f"surface {name!r}: cannot read {shortened(file)}: {getattr(error, 'strerror', None) or error}",
            hint="paths are relative to the scenario file",
        ) from error
    return file, state.st_mtime_ns, state.st_size


def _block(field: Array) -> Triangles:
    """The spline on a grid of cells, walls below its edges, and a floor."""
    n = _CELLS + 1
    x, y = np.linspace(-field[HALF_X], field[HALF_X], n), np.linspace(-field[HALF_Y], field[HALF_Y], n)
    top = heights_on(field, x, y)
    low = top.min() - 0.05 * (field[HALF_X] + field[HALF_Y])
    X, Y = np.meshgrid(x, y)
    above = np.column_stack([X.ravel(), Y.ravel(), top.ravel()])
    k = (np.arange(_CELLS)[:, None] * n + np.arange(_CELLS)).ravel()
    faces = [np.column_stack([k, k + 1, k + n + 1]), np.column_stack([k, k + n + 1, k + n])]
    i = np.arange(n)
    rim = np.concatenate([i[:-1], n * i[:-1] + n - 1, n * n - 1 - i[:-1], n * (n - 1 - i[:-1])])
    below = above[rim] * [1.0, 1.0, 0.0] + [0.0, 0.0, low]
    base, next_index = n * n + np.arange(len(rim)), np.roll(np.arange(len(rim)), -1)
    faces += [np.column_stack([rim, base, base[next_index]]), np.column_stack([rim, base[next_index], rim[next_index]])]
    middle = n * n + len(rim)
    faces += [np.column_stack([base[next_index], base, np.full(len(rim), middle)])]
    return np.concatenate([above, below, [[0.0, 0.0, low]]]), np.concatenate(faces)


_READERS: dict[str, dict[str, Callable[[bytes], Any]]] = {
    "heights": {".npy": from_npy, ".csv": from_csv, ".png": from_png},
    "triangles": {".stl": from_stl, ".obj": from_obj},
}

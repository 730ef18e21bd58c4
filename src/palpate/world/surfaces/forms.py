"""What a surface's distance reads and what is drawn of it: its sizes, or the heights or triangles of a file."""

from __future__ import annotations

import os
import struct
from functools import lru_cache
from pathlib import Path

import numpy as np

from palpate.checks import Array
from palpate.errors import FileError, InvalidInput, PalpateError, TooLarge, shortened
from palpate.files import open_regular
from palpate.lazy import check_extra
from palpate.spatial.height_field import HALF_X, HALF_Y, heights_on
from palpate.spatial.mesh import MOST_TRIANGLES, joined
from palpate.spatial.shapes import SHAPES
from palpate.world.config import Surface

MOST_BYTES = 50_000_000
_CELLS = 21  # along each side of a drawn height field
_SOLID = b"solid"
Triangles = tuple[Array, Array]


def form_of(surface: Surface) -> Array:
    """What the distance of a surface's shape takes.

    Raises:
        FileError: its file cannot be read.
        InvalidInput: what is in the file is no height field, or no closed mesh.
    """
    shape = SHAPES[surface.shape]
    if not shape.data:
        return shape.form(surface.size)
    try:
        if surface.file is None:
            return _from_heights(surface.size, surface.heights)
        return _from_file(surface.shape, surface.size, surface.scale, *_state(surface.name, surface.file))
    except InvalidInput as error:
        where = f"surface {surface.name!r}" + ("" if surface.file is None else f", {_shown(surface.file)}")
        raise InvalidInput(f"{where}: {error.args[0]}", hint=error.hint) from error


def drawn_mesh(surface: Surface) -> Triangles:
    """Vertices and faces that show a height field, as a block down to its lowest place, or a mesh as it is."""
    form = form_of(surface)
    if SHAPES[surface.shape].data == "triangles":
        assert surface.file is not None
        vertices, faces = _triangles(*_state(surface.name, surface.file))
        return joined(vertices * surface.scale, faces)
    return _block(form)


@lru_cache(maxsize=8)
def _from_heights(size: tuple[float, ...], heights: tuple[tuple[float, ...], ...]) -> Array:
    return SHAPES["height-field"].form(size, np.array(heights))


@lru_cache(maxsize=8)
def _from_file(shape: str, size: tuple[float, ...], scale: float, file: str, changed: int, length: int) -> Array:
    if SHAPES[shape].data == "heights":
        return SHAPES[shape].form(size, scale * _heights(file, changed, length))
    vertices, faces = _triangles(file, changed, length)
    return SHAPES[shape].form((), (vertices * scale, faces))


def _shown(file: str) -> str:
    return shortened(os.path.basename(file))


def _state(name: str, file: str) -> tuple[str, int, int]:
    """A file, and what changes when it does."""
    try:
        state = os.stat(file)
    except (OSError, ValueError) as error:
        raise FileError(
            f"surface {name!r}: cannot read {shortened(file)}: {getattr(error, 'strerror', None) or error}",
            hint="paths are relative to the scenario file",
        ) from error
    return file, state.st_mtime_ns, state.st_size


def _content(file: str) -> bytes:
    try:
        with open_regular(file, most_bytes=MOST_BYTES) as opened:
            return opened.read(MOST_BYTES + 1)
    except (FileError, TooLarge):
        raise
    except OSError as error:
        raise FileError(f"cannot read {_shown(file)}: {error.strerror}") from error


# ------------------------------------------------------------------------------------------------ heights


@lru_cache(maxsize=8)
def _heights(file: str, changed: int, length: int) -> Array:
    """Heights in units of the file, from the smallest y on."""
    readers = {".npy": _from_npy, ".csv": _from_csv, ".png": _from_png}
    reader = readers.get(Path(file).suffix.lower())
    if reader is None:
        raise FileError(f"cannot read {_shown(file)}: heights are in one of {', '.join(readers)}")
    content = _content(file)
    try:
        return np.asarray(reader(content), dtype=float)
    except PalpateError:
        raise
    except (ValueError, TypeError, OSError, EOFError, SyntaxError, MemoryError) as error:
        raise FileError(f"cannot read {_shown(file)}: {shortened(' '.join(str(error).split()))}") from error


def _from_npy(content: bytes) -> Array:
    import io

    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = reader(stream)
    if kind.kind not in "fiu" or len(shape) != 2 or int(np.prod(shape)) * kind.itemsize > len(content):
        raise InvalidInput(f"heights are an array of numbers with rows and columns, this is one of {shape} {kind}")
    return np.load(io.BytesIO(content), allow_pickle=False)


def _from_csv(content: bytes) -> Array:
    lines = content.decode("utf-8-sig").splitlines()
    return np.loadtxt(lines, delimiter=",", ndmin=2)


def _from_png(content: bytes) -> Array:
    """0 for black to 1 for white; the picture as seen from above, its lower edge at the smallest y."""
    import io

    check_extra("PIL", "figures", "a picture of heights")
    from PIL import Image

    picture = Image.open(io.BytesIO(content), formats=("PNG",))
    if picture.width * picture.height > 10_000_000:
        raise InvalidInput(f"the picture has {picture.width} by {picture.height} points, too many for heights")
    deep = picture.mode.startswith("I")  # 16 bits of grey
    grey = np.asarray(picture if deep else picture.convert("L"), dtype=float)
    return grey[::-1] / (65535.0 if deep else 255.0)


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


# ------------------------------------------------------------------------------------------------ triangles


@lru_cache(maxsize=8)
def _triangles(file: str, changed: int, length: int) -> Triangles:
    """Vertices and faces in units of the file."""
    suffix, content = Path(file).suffix.lower(), b""
    if suffix not in (".stl", ".obj"):
        raise FileError(f"cannot read {_shown(file)}: a mesh is an .stl or .obj")
    content = _content(file)
    try:
        if suffix == ".obj":
            return _from_obj(content.decode("utf-8", errors="replace"))
        return _from_stl(content)
    except PalpateError:
        raise
    except (ValueError, IndexError, struct.error) as error:
        raise FileError(f"cannot read {_shown(file)}: {shortened(' '.join(str(error).split()))}") from error


def _from_stl(content: bytes) -> Triangles:
    """Binary or text: three corners for each triangle."""
    count = struct.unpack_from("<I", content, 80)[0] if len(content) >= 84 else 0
    if content.lstrip().startswith(_SOLID) and len(content) != 84 + 50 * count:
        words = [line.split() for line in content.decode("ascii", errors="replace").splitlines()]
        corners = np.array([[float(x) for x in w[1:4]] for w in words if w[:1] == ["vertex"]]).reshape(-1, 3)
    else:
        if len(content) < 84 + 50 * count or not count:
            raise InvalidInput(f"an STL of {len(content)} bytes does not hold the {count} triangles it claims")
        _refuse_many(count)
        rows = np.frombuffer(
            content, dtype=np.dtype([("n", "<f4", 3), ("p", "<f4", (3, 3)), ("a", "<u2")]), count=count, offset=84
        )
        corners = rows["p"].reshape(-1, 3).astype(float)
    _refuse_many(len(corners) // 3)
    if len(corners) % 3:
        raise InvalidInput(f"an STL has three corners for each triangle, this one has {len(corners)} corners")
    return corners, np.arange(len(corners)).reshape(-1, 3)


def _from_obj(text: str) -> Triangles:
    """Lines v and f; faces of more than three corners as fans."""
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for line in text.splitlines():
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

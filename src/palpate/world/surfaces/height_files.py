"""Heights of a surface from a file: NumPy arrays, CSV tables and pictures."""

from __future__ import annotations

import io

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.lazy import check_extra


def from_npy(content: bytes) -> Array:
    """Heights of a NumPy array with rows and columns."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = reader(stream)
    if kind.kind not in "fiu" or len(shape) != 2 or int(np.prod(shape)) * kind.itemsize > len(content):
        raise InvalidInput(f"heights are an array of numbers with rows and columns, this is one of {shape} {kind}")
    return np.load(io.BytesIO(content), allow_pickle=False).astype(float)


def from_csv(content: bytes) -> Array:
    """Heights of a table whose columns are separated by commas."""
    lines = content.decode("utf-8-sig").splitlines()
    return np.loadtxt(lines, delimiter=",", ndmin=2)


def from_png(content: bytes) -> Array:
    """0 for black to 1 for white; the picture as seen from above, its lower edge at the smallest y."""
    check_extra("PIL", "figures", "a picture of heights")
    from PIL import Image

    picture = Image.open(io.BytesIO(content), formats=("PNG",))
    if picture.width * picture.height > 10_000_000:
        raise InvalidInput(f"the picture has {picture.width} by {picture.height} points, too many for heights")
    deep = picture.mode.startswith("I")  # 16 bits of grey
    grey = np.asarray(picture if deep else picture.convert("L"), dtype=float)
    return grey[::-1] / (65535.0 if deep else 255.0)

"""MATLAB files up to version 7 by SciPy; version 7.3 is HDF5, and refused by name."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from palpate.errors import FileError, InvalidInput
from palpate.tools.logs.table import Progress, Stream, Table, refuse_empty


def read(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read every real array of one or two axes as columns: q[0], q[1] … of the longer axis's rows."""
    from scipy.io import loadmat

    with open(path, "rb") as file:
        start = file.read(128)
    if b"MATLAB 7.3" in start or start.startswith(b"\x89HDF"):
        raise InvalidInput(
            f"{path} is a MATLAB file of version 7.3, which is not read", hint="save it with -v7: save('x.mat', '-v7')"
        )
    try:
        content = loadmat(path, squeeze_me=False, struct_as_record=True)
    except Exception as error:  # SciPy's reader fails in many ways on damaged files
        raise FileError(f"cannot read {path}: it is damaged or no MATLAB file ({error})") from error
    arrays = {n: v for n, v in content.items() if not n.startswith("__") and _is_numeric(v)}
    length = max((max(v.shape) for v in arrays.values()), default=0)
    columns: dict[str, np.ndarray] = {}
    for name, value in arrays.items():
        columns |= _columns(name, value, length)
    refuse_empty(str(path), length)
    progress(1, 1)
    columns = {n: c for n, c in columns.items() if wanted is None or n in wanted}
    left = [n for n in content if not n.startswith("__") and n not in arrays]
    notes = tuple(f"variable {n!r} is no real matrix and was left out" for n in left)
    return Table(str(path), "mat", (Stream("", columns),), notes)


def _is_numeric(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "fiu"


def _columns(name: str, value: np.ndarray, length: int) -> dict[str, np.ndarray]:
    """Columns of a matrix whose longer axis is time; a matrix of another length is a setting, not a column."""
    rows = value if value.shape[0] == length else value.T
    if rows.shape[0] != length:
        return {}
    numbers = np.ascontiguousarray(rows, dtype=np.float64)
    if numbers.shape[1] == 1:
        return {name: numbers[:, 0]}
    return {f"{name}[{k}]": numbers[:, k] for k in range(numbers.shape[1])}

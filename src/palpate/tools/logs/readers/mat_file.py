"""MATLAB files up to version 7 by SciPy; version 7.3 is HDF5, and refused by name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import FileError, InvalidInput
from palpate.tools.logs.readers.table import FEWEST_ROWS, Progress, Stream, Table, refuse_empty, refuse_too_much

_DEEPEST = 4  # structures inside structures


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
    arrays, left = _arrays(content)
    table = table_of_arrays(path, "mat", arrays, wanted)
    progress(1, 1)
    return replace(table, notes=(*table.notes, *(f"variable {n!r} is no real matrix and was left out" for n in left)))


def _arrays(content: dict[str, Any], prefix: str = "") -> tuple[dict[str, np.ndarray], list[str]]:
    """Matrices of numbers by name, those inside structures as `data.q`, and the names of everything else."""
    arrays: dict[str, np.ndarray] = {}
    left: list[str] = []
    for name, value in content.items():
        path = f"{prefix}{name}"
        if name.startswith("__"):
            continue
        if is_numeric(value):
            arrays[path] = value
        elif isinstance(value, np.ndarray) and value.dtype.names and value.size == 1 and path.count(".") < _DEEPEST:
            inner, more = _arrays({n: value[n].item() for n in value.dtype.names}, f"{path}.")
            arrays, left = arrays | inner, left + more
        else:
            left.append(path)
    return arrays, left


def table_of_arrays(path: Path, kind: str, arrays: dict[str, np.ndarray], wanted: Collection[str] | None) -> Table:
    """Columns of every array whose longer axis is time, one stream for each length, the longest first."""
    streams: dict[int, dict[str, np.ndarray]] = {}
    for name, value in arrays.items():
        rows = value if value.ndim == 1 or value.shape[0] >= value.shape[1] else value.T
        if len(rows) >= FEWEST_ROWS:  # a shorter one is a setting
            streams.setdefault(len(rows), {}).update(_columns(name, rows))
    refuse_empty(str(path), max(streams, default=max((v.size for v in arrays.values()), default=0)))
    kept = {n: {k: v for k, v in s.items() if wanted is None or k in wanted} for n, s in streams.items()}
    refuse_too_much(str(path), sum(v.nbytes for s in kept.values() for v in s.values()))
    return Table(str(path), kind, tuple(Stream("", kept[n]) for n in sorted(kept, reverse=True)))


def is_numeric(value: object) -> bool:
    """Whether a value is an array of numbers with one or two axes."""
    return isinstance(value, np.ndarray) and value.ndim in (1, 2) and value.dtype.kind in "fiub"


def _columns(name: str, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of an array: q, or q[0], q[1] …"""
    numbers = np.ascontiguousarray(rows, dtype=np.float64).reshape(len(rows), -1)
    if numbers.shape[1] == 1:
        return {name: numbers[:, 0]}
    return {f"{name}[{k}]": numbers[:, k] for k in range(numbers.shape[1])}

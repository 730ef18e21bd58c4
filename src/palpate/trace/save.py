"""Writing a trace to Parquet, CSV or NumPy's npz."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from palpate.checks import Array
from palpate.errors import TraceError
from palpate.files import a_path, atomic_write
from palpate.parquet import Column, ParquetWriter
from palpate.trace.header import HEADER_KEY, SEAL_KEY, header_text, seal

if TYPE_CHECKING:
    from palpate.trace.trace import Trace

NPZ_HEADER, NPZ_SEAL = "__palpate__", "__palpate_sha256__"
ROWS_AT_ONCE = 65_536


def save_trace(trace: Trace, path: str | os.PathLike[str]) -> Path:
    """Write `trace` whole or not at all, as the suffix of `path` says."""
    write = _WRITERS.get(a_path(path, "a trace's file").suffix.lower())
    if write is None:
        raise TraceError(
            f"cannot save a trace as {os.fspath(path)!r}: its suffix must be one of {', '.join(_WRITERS)}",
            hint=".parquet keeps everything and is the smallest",
        )
    return atomic_write(path, lambda file: write(trace, file))


def _write_parquet(trace: Trace, file: BinaryIO) -> None:
    header, columns = header_text(trace), trace.table()
    writer = ParquetWriter(file, [Column(name) for name in columns])
    for start in range(0, len(trace), ROWS_AT_ONCE):  # one group at a time: little is in memory twice
        writer.write([column[start : start + ROWS_AT_ONCE] for column in columns.values()])
    writer.close({HEADER_KEY: header, SEAL_KEY: seal(header, trace)})


def _write_npz(trace: Trace, file: BinaryIO) -> None:
    header = header_text(trace)
    # Not np.savez: a channel called "file" would meet its argument of that name.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in trace:
            _add_array(archive, name, trace[name])
        _add_array(archive, NPZ_HEADER, np.array(header))
        _add_array(archive, NPZ_SEAL, np.array(seal(header, trace)))


def _add_array(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    entry = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, so that equal traces give equal bytes
    entry.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(entry, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)


def _write_csv(trace: Trace, file: BinaryIO) -> None:
    units = [unit for channel in trace.channels.values() for unit in channel.column_units]
    columns = trace.table()
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(f"{name} ({unit})" for name, unit in zip(columns, units))
    for start in range(0, len(trace), ROWS_AT_ONCE):
        writer.writerows(_rows(columns, start))
    text.detach()  # leaves the file open for its owner


def _rows(columns: dict[str, Array], start: int) -> list[list[float]]:
    return np.column_stack([column[start : start + ROWS_AT_ONCE] for column in columns.values()]).tolist()


_WRITERS: dict[str, Callable[[Trace, BinaryIO], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".npz": _write_npz,
}

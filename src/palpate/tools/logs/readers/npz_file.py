"""NumPy archives: palpate's own traces, and anybody's arrays by name."""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from palpate.errors import FileError, PalpateError
from palpate.parquet import check_memory
from palpate.tools.logs.readers.mat_file import is_numeric, table_of_arrays
from palpate.tools.logs.readers.parquet_file import read_trace
from palpate.tools.logs.readers.table import Progress, Table
from palpate.trace.load import npz_array
from palpate.trace.save import NPZ_HEADER


def read(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read every array of numbers with one or two axes; pickled objects are never loaded."""
    arrays: dict[str, np.ndarray] = {}
    left: list[str] = []
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
            if any(entry.filename.removesuffix(".npy") == NPZ_HEADER for entry in entries):
                return read_trace(path, wanted, progress)
            check_memory(sum(entry.file_size for entry in entries))
            for done, entry in enumerate(entries):
                name = entry.filename.removesuffix(".npy")
                try:
                    value = npz_array(archive, entry.filename)
                except ValueError:  # a pickled object
                    value = None
                if is_numeric(value):
                    arrays[name] = np.asarray(value)
                else:
                    left.append(name)
                progress(done + 1, len(entries))
    except PalpateError as error:
        raise FileError(f"cannot read {path}: {error.args[0]}") from error
    except Exception as error:  # a damaged archive can fail anywhere inside the library
        raise FileError(f"cannot read {path}: it is damaged or no NumPy archive ({error})") from error
    table = table_of_arrays(path, "npz", arrays, wanted)
    notes = tuple(f"array {name!r} holds no numbers in rows and was left out" for name in left)
    return replace(table, notes=notes)

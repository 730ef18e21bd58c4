"""Reading a trace's file, and refusing what is none."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from palpate.checks import Array
from palpate.errors import DamagedTable, PalpateError, TraceError
from palpate.files import a_path, open_regular
from palpate.parquet import check_memory, is_ours, read_columns, read_footer
from palpate.trace.channel import TIME
from palpate.trace.header import HEADER_KEY, SEAL_KEY, check_entries, header_from_text, seal
from palpate.trace.partial import SUFFIX, joined_columns, read_partial
from palpate.trace.save import NPZ_HEADER, NPZ_SEAL
from palpate.trace.trace import Trace

MOST_BYTES = 64 << 30  # of a trace's file
_FOREIGN = "it was not written by palpate (no description of a trace inside)"
_HINT = "save traces with Trace.save; a damaged one can be made again from its scenario and seed"


def load_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a trace written by `Trace.save` as `.parquet` or `.npz`, or what a run under way has left as `.parts`.

    Raises:
        TraceError: the file is missing, foreign, damaged, changed since, or of a newer format.
    """
    read = _reader(a_path(path, "a trace"))
    try:
        with open_regular(path, most_bytes=MOST_BYTES) as file:
            return _whole(read, file)
    except PalpateError as error:
        reason = error.args[0].removeprefix(f"cannot read {path}: ")
        raise TraceError(f"cannot load a trace from {path}: {reason}", hint=error.hint or _HINT) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error  # ValueError: a name with a null character
        raise TraceError(f"cannot read {path}: {reason}", hint="check the path") from error


def _reader(path: Path) -> Callable[[BinaryIO], Trace]:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        raise TraceError(
            f"cannot load {path}: a .csv file keeps only the numbers",
            hint="save the trace as .parquet to load it again",
        )
    if suffix not in _READERS:
        raise TraceError(f"cannot load {path}: its suffix must be one of {', '.join(_READERS)}")
    return _READERS[suffix]


def _whole(read: Callable[[BinaryIO], Trace], file: BinaryIO) -> Trace:
    if not file.read(1):
        raise TraceError("it is empty")
    file.seek(0)
    try:
        return read(file)
    except Exception as error:  # a damaged file can fail anywhere inside the readers
        if isinstance(error, PalpateError) and not isinstance(error, DamagedTable):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TraceError(f"it is damaged or of another kind ({reason})") from error


def _trace(text: str, written_seal: str, entries: dict[str, Array], *, by_column: bool) -> Trace:
    """A trace from its description, its seal and its arrays: one for each column, or one for each channel."""
    header = header_from_text(text)
    names = {c: c.columns if by_column else (c.name,) for c in (TIME, *header.channels)}
    check_entries(entries, [name for parts in names.values() for name in parts])
    for name, array in entries.items():
        if array.dtype != np.float64:
            raise TraceError(f"{name!r} holds {array.dtype}, not float64")
    data = {c: joined_columns(c, entries) if by_column else entries[c.name] for c in header.channels}
    trace = Trace(entries[TIME.name], data, header.outcome, header.events, header.facts, own=True)
    if seal(text, trace) != written_seal:
        raise TraceError("it was changed after it was written (its checksum does not fit)")
    return trace


def _read_parquet(file: BinaryIO) -> Trace:
    if not is_ours(file):
        raise TraceError(_FOREIGN)
    footer = read_footer(file)
    if HEADER_KEY not in footer.metadata:
        raise TraceError(_FOREIGN)
    footer.check_numbers()
    entries = {name: values.to_numpy() for name, values in read_columns(file).items()}
    return _trace(footer.metadata[HEADER_KEY], footer.metadata.get(SEAL_KEY, ""), entries, by_column=True)


def _read_npz(file: BinaryIO) -> Trace:
    with zipfile.ZipFile(file) as archive:
        check_memory(2 * sum(entry.file_size for entry in archive.infolist()))
        arrays = {name.removesuffix(".npy"): npz_array(archive, name) for name in archive.namelist()}
    if NPZ_HEADER not in arrays:
        raise TraceError(_FOREIGN)
    header, sealed = str(arrays.pop(NPZ_HEADER)), str(arrays.pop(NPZ_SEAL, ""))
    return _trace(header, sealed, arrays, by_column=False)


def npz_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """One array of a NumPy archive, never larger than its entry, never a pickled object."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as file:
        version = np.lib.format.read_magic(file)
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, kind = head(file)
        if math.prod(shape) * kind.itemsize > size:
            raise TraceError(f"{name!r} announces {shape}, more than the file holds")
    with archive.open(name) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        file.read()  # the archive checks an entry's checksum only at its very end
        return array


_READERS: dict[str, Callable[[BinaryIO], Trace]] = {
    ".parquet": _read_parquet,
    ".npz": _read_npz,
    SUFFIX: read_partial,
}

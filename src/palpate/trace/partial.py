"""The file of a run that is still under way: samples so far, readable whatever ends the process.

It is a row of parts, each behind its length in eight bytes (little-endian): first the description, a text, then batches
of samples, each a Parquet file. What a killed process left is read up to its last whole part.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from palpate.checks import Array
from palpate.errors import FileError, TraceError
from palpate.files import open_new
from palpate.parquet import Column, ParquetWriter, read_columns
from palpate.trace.channel import TIME, Channel
from palpate.trace.header import Header, header_from_text, header_text
from palpate.trace.trace import Trace

SUFFIX = ".parts"
MAGIC = b"palpate parts\n"
_LENGTH = 8  # bytes of a part's length
_ROWS = 16_384  # of one batch: what is in memory twice


class PartialFile:
    """A trace that grows."""

    def __init__(self, path: Path, empty: Trace) -> None:
        """Begin a file.

        Args:
            path: where; an older file there is replaced, a symbolic link is refused.
            empty: a trace without samples: channels, facts, and the outcome that holds if this file is all there is.

        Raises:
            FileError: the system refuses.
        """
        self._path = path
        self._columns = [Column(name) for channel in empty.channels.values() for name in channel.columns]
        with self._told():
            self._file = open_new(path)
            self._file.write(MAGIC)
            self._part(header_text(empty).encode())
            self._file.flush()

    def append(self, times: Array, data: Mapping[Channel, Array]) -> None:
        """Add samples; they are on their way to the disk when this returns.

        Raises:
            FileError: the system refuses, as on a full disk.
        """
        with self._told():
            for start in range(0, len(times), _ROWS):
                rows = slice(start, start + _ROWS)
                count = len(times[rows])
                columns = [times[rows], *(c for array in data.values() for c in array[rows].reshape(count, -1).T)]
                batch = io.BytesIO()
                writer = ParquetWriter(batch, self._columns)
                writer.write(columns)
                writer.close()
                self._part(batch.getvalue())
            self._file.flush()

    def _part(self, content: bytes) -> None:
        self._file.write(len(content).to_bytes(_LENGTH, "little") + content)

    def close(self) -> None:
        """End the file."""
        with contextlib.suppress(OSError):  # a full disk: what is written is kept as it is
            self._file.close()

    @contextlib.contextmanager
    def _told(self) -> Any:
        try:
            yield
        except OSError as error:
            raise FileError(
                f"cannot write {self._path}: {error.strerror or error}", hint="check free space and permissions"
            ) from error


def read_partial(file: BinaryIO) -> Trace:
    """What a run under way, or one whose process was killed, has left.

    Raises:
        TraceError: foreign, or nothing whole inside.
    """
    parts = _parts(file)
    described = next(parts, None)
    if described is None:
        raise TraceError("it was not written by palpate (no description of a trace inside)")
    return _trace(header_from_text(described.decode()), _batches(parts))


def _parts(file: BinaryIO) -> Iterator[bytes]:
    if file.read(len(MAGIC)) != MAGIC:
        return
    while len(head := file.read(_LENGTH)) == _LENGTH:
        length = int.from_bytes(head, "little")
        if length > os.fstat(file.fileno()).st_size - file.tell():
            return
        yield file.read(length)


def _batches(parts: Iterator[bytes]) -> list[dict[str, Array]]:
    found = []
    with contextlib.suppress(ValueError):  # damaged: what comes before it is good
        for part in parts:
            found.append({name: values.to_numpy() for name, values in read_columns(io.BytesIO(part)).items()})
    return found


def _trace(header: Header, batches: list[dict[str, Array]]) -> Trace:
    names = [name for c in (TIME, *header.channels) for name in c.columns]
    missing = [name for name in names if any(name not in batch for batch in batches)]
    if missing:
        raise TraceError(f"it lacks {', '.join(map(repr, missing[:5]))}")
    columns = {name: np.concatenate([np.zeros(0), *(batch[name] for batch in batches)]) for name in names}
    count = len(columns[TIME.name])
    data = {
        c: np.stack([columns[name] for name in c.columns], axis=-1).reshape(count, *c.shape) for c in header.channels
    }
    times = columns[TIME.name]
    last = float(times[-1]) if count else 0.0
    period = header.facts.period
    outcome = replace(header.outcome, time=last, tick=round(last / period) if period else 0)
    return Trace(times, data, outcome, header.events, header.facts)

"""The file of a run that is still under way: samples so far, readable whatever ends the process.

It is a row of parts, each behind its length in eight bytes (little-endian): first the description, a text with its
SHA-256 on a line of its own, then batches of samples, each a Parquet file. What a killed process left is read up to its
last whole part; a warning says how many bytes behind it are not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from palpate.checks import Array
from palpate.errors import DamagedTable, TraceError
from palpate.files import open_new, refusals
from palpate.parquet import Column, ParquetWriter, check_memory, read_columns, read_footer
from palpate.trace.channel import TIME, Channel
from palpate.trace.header import Header, header_from_text, header_text
from palpate.trace.trace import Trace

SUFFIX = ".parts"
MAGIC = b"palpate parts\n"
_LENGTH = 8  # bytes of a part's length
_MOST_PARTS = 1_000_000  # a run writes one every two seconds
_MOST_DESCRIPTION = 32 << 20  # bytes
_COPIES = 3  # of a sample: as read, joined, and in the trace
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
        with refusals(self._path):
            self._file = open_new(path)
            self._file.write(MAGIC)
            text = header_text(empty)
            self._part(f"{text}\n{_checksum(text)}".encode())
            self._file.flush()

    def append(self, times: Array, data: Mapping[Channel, Array]) -> None:
        """Add samples; they are on their way to the disk when this returns.

        Raises:
            FileError: the system refuses, as on a full disk.
        """
        with refusals(self._path):
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


def read_partial(file: BinaryIO) -> Trace:
    """Trace that a run under way, or one whose process was killed, has left.

    Raises:
        TraceError: foreign, or nothing whole inside.
    """
    parts = _parts(file)
    start, length = next(parts, (0, 0))
    if not 0 < length <= _MOST_DESCRIPTION:
        raise TraceError("it was not written by palpate (no description of a trace inside)")
    file.seek(start)
    text, _, written = file.read(length).decode().partition("\n")
    if written and written != _checksum(text):
        raise TraceError("its description is damaged (its checksum does not fit)")
    header = header_from_text(text)
    batches, end = _batches(file, parts, header)
    return _trace(header, batches, file.seek(0, os.SEEK_END) - max(end, start + length))


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _parts(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Where each whole part starts, and its length."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    at = len(MAGIC) if file.read(len(MAGIC)) == MAGIC else size
    for _ in range(_MOST_PARTS):
        file.seek(at)
        head = file.read(_LENGTH)
        start, length = at + _LENGTH, int.from_bytes(head, "little")
        if len(head) < _LENGTH or not length or start + length > size:
            return
        yield start, length
        at = start + length
    raise TraceError(f"it has more than {_MOST_PARTS} parts")


def _batches(file: BinaryIO, parts: Iterator[tuple[int, int]], header: Header) -> tuple[list[dict[str, Array]], int]:
    """The samples up to the first part that is damaged, and where they end; refused unless they fit into memory."""
    names = [name for channel in (TIME, *header.channels) for name in channel.columns]
    sections, rows = [], 0
    with contextlib.suppress(DamagedTable):
        for start, length in parts:
            footer = read_footer(file, start, length)
            footer.check_numbers()
            if list(footer.columns) != names:
                raise TraceError(f"part {len(sections) + 1} holds other columns than its description announces")
            sections.append((start, length))
            rows += footer.rows
    check_memory(_COPIES * 8 * rows * len(names))
    batches: list[dict[str, Array]] = []
    end = 0
    with contextlib.suppress(DamagedTable):
        for start, length in sections:
            values = read_columns(file, start=start, size=length)
            batches.append({name: column.to_numpy() for name, column in values.items()})
            end = start + length
    return batches, end


def joined_columns(channel: Channel, columns: Mapping[str, Array]) -> Array:
    """A channel's samples, (samples, *shape), from its columns."""
    parts = [columns[name] for name in channel.columns]
    return np.stack(parts, axis=-1).reshape(len(parts[0]), *channel.shape) if channel.shape else parts[0]


def _trace(header: Header, batches: list[dict[str, Array]], unread: int) -> Trace:
    names = [name for c in (TIME, *header.channels) for name in c.columns]
    columns = {name: np.concatenate([np.zeros(0), *(batch[name] for batch in batches)]) for name in names}
    data, times = {c: joined_columns(c, columns) for c in header.channels}, columns[TIME.name]
    last = float(times[-1]) if len(times) else 0.0
    period = header.facts.period
    outcome = replace(header.outcome, time=last, tick=round(last / period) if period else 0)
    facts = header.facts
    if unread:
        told = f"the last {unread} bytes of the partial trace are damaged or incomplete: its samples end at {last:g} s"
        facts = replace(facts, warnings=(*facts.warnings, told))
    return Trace(times, data, outcome, header.events, facts)

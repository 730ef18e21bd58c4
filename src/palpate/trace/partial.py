"""The file of a run that is still under way: samples so far, readable whatever ends the process.

It is an Arrow stream: a description, then batches of samples one after another. What a killed process left is read up
to its last whole batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from palpate.checks import Array
from palpate.errors import FileError, TraceError
from palpate.trace.channel import TIME, Channel
from palpate.trace.header import HEADER_KEY, Header, header_from_text, header_text
from palpate.trace.trace import Trace

SUFFIX = ".arrows"
_ROWS = 16_384  # of one batch: what is in memory twice


class PartialFile:
    """A trace that grows."""

    def __init__(self, path: Path, empty: Trace) -> None:
        """Begin a file.

        Args:
            path: where; an older file there is replaced, a symbolic link is not followed.
            empty: a trace without samples: channels, facts, and the outcome that holds if this file is all there is.

        Raises:
            FileError: the system refuses.
        """
        import pyarrow as pa

        self._path = path
        columns = [name for channel in empty.channels.values() for name in channel.columns]
        metadata = {HEADER_KEY: header_text(empty)}
        self._schema: Any = pa.schema([(name, pa.float64()) for name in columns], metadata=metadata)
        with self._told():
            path.unlink(missing_ok=True)
            self._file = open(path, "xb")  # noqa: SIM115 - open as long as the run goes on
            options = pa.ipc.IpcWriteOptions(compression="zstd")
            self._writer: Any = pa.ipc.new_stream(self._file, self._schema, options=options)
            self._file.flush()

    def append(self, times: Array, data: Mapping[Channel, Array]) -> None:
        """Add samples; they are on their way to the disk when this returns.

        Raises:
            FileError: the system refuses, as on a full disk.
        """
        import pyarrow as pa

        with self._told():
            for start in range(0, len(times), _ROWS):
                rows = slice(start, start + _ROWS)
                count = len(times[rows])
                columns = [times[rows], *(c for array in data.values() for c in array[rows].reshape(count, -1).T)]
                arrays = [pa.array(np.ascontiguousarray(column)) for column in columns]
                self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
            self._file.flush()

    def close(self) -> None:
        """End the file."""
        with contextlib.suppress(OSError):  # a full disk: what is written is kept as it is
            self._writer.close()
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
    import pyarrow as pa

    stream = pa.ipc.open_stream(file)
    metadata = stream.schema.metadata or {}
    if HEADER_KEY.encode() not in metadata:
        raise TraceError("it was not written by palpate (no description of a trace inside)")
    header = header_from_text(metadata[HEADER_KEY.encode()].decode())
    batches = _whole_batches(stream)
    table = pa.Table.from_batches(batches, schema=stream.schema)
    return _trace(header, table)


def _whole_batches(stream: Any) -> list[Any]:
    import pyarrow as pa

    batches = []
    while True:
        try:
            batches.append(stream.read_next_batch())
        except (StopIteration, OSError, pa.ArrowInvalid):
            return batches


def _trace(header: Header, table: Any) -> Trace:
    columns = {name: column.to_numpy() for name, column in zip(table.column_names, table.columns)}
    missing = [name for c in (TIME, *header.channels) for name in c.columns if name not in columns]
    if missing:
        raise TraceError(f"it lacks {', '.join(map(repr, missing[:5]))}")
    count = len(table)
    data = {
        c: np.stack([columns[name] for name in c.columns], axis=-1).reshape(count, *c.shape) for c in header.channels
    }
    times = columns[TIME.name]
    last = float(times[-1]) if count else 0.0
    period = header.facts.period
    outcome = replace(header.outcome, time=last, tick=round(last / period) if period else 0)
    return Trace(times, data, outcome, header.events, header.facts)

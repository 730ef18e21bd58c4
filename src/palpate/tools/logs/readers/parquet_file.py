"""Parquet files by pyarrow, and palpate's own traces."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from palpate.errors import DamagedTable, FileError, TraceError
from palpate.lazy import check_extra
from palpate.parquet import is_ours
from palpate.tools.logs.readers.naming import Known
from palpate.tools.logs.readers.table import Growing, Progress, Room, Stream, Table, refuse_empty
from palpate.trace import load_trace


def read(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read the numeric columns of a Parquet file, batch by batch; a trace of palpate as one."""
    try:
        with open(path, "rb") as file:
            own = is_ours(file)
    except DamagedTable as error:
        raise FileError(f"cannot read {path}: {error.args[0]}") from error
    if own:
        return read_trace(path, wanted, progress)
    check_extra("pyarrow", "logs", "reading a Parquet recording")
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, **_BOUNDED) as file:
            fields = list(file.schema_arrow)
            columns, total, done = _Columns(wanted), file.metadata.num_rows, 0
            for batch in file.iter_batches(65536, columns=[f.name for f in fields if columns.takes(f)]):
                columns.add(batch)
                done += batch.num_rows
                progress(done, total)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"cannot read {path}: {' '.join(str(error).split())[:300]}") from error
    pa.default_memory_pool().release_unused()
    refuse_empty(str(path), total)
    numbers, begins = columns.growing.ended() if columns.growing is not None else ({}, ((0, 0),))
    notes = tuple(f"column {name!r} holds no numbers" for name in columns.left)
    return Table(str(path), "parquet", (Stream("", numbers, begins=begins),), (*columns.room.notes(), *notes))


# Else whole row groups are held, which may be the whole file, and the last one still while the next is read.
_BOUNDED: dict[str, Any] = {"buffer_size": 1 << 20, "pre_buffer": False}


class _Columns:
    """Columns of numbers, times and lists of numbers, whose entries become columns: q[0], q[1] …"""

    def __init__(self, wanted: Collection[str] | None) -> None:
        self.wanted, self.left, self.room = wanted, [], Room()
        self.growing: Growing | None = None

    def takes(self, field: Any) -> bool:
        """Whether a field of the file holds numbers that are wanted."""
        import pyarrow as pa

        kinds = pa.types
        entry = field.type.value_type if _is_list(field.type) else field.type
        numeric = kinds.is_floating(entry) or kinds.is_integer(entry) or kinds.is_timestamp(entry)
        self.left += [] if numeric else [field.name]
        asked = self.wanted is None or isinstance(self.wanted, Known) or field.name in self.wanted
        return numeric and (
            asked or (_is_list(field.type) and any(n.startswith(f"{field.name}[") for n in self.wanted or ()))
        )

    def add(self, batch: Any) -> None:
        """Append a batch of rows."""
        parts = dict(part for name, column in zip(batch.schema.names, batch.columns) for part in _parts(name, column))
        kept = {
            n: v for n, v in parts.items() if self.wanted is None or isinstance(self.wanted, Known) or n in self.wanted
        }
        if self.growing is None:
            self.growing = Growing(list(kept), self.room)
        self.growing.add(kept[name] for name in self.growing.names)


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _parts(name: str, column: Any) -> Iterator[tuple[str, np.ndarray]]:
    """A column as one or more columns of numbers; times in seconds. Lists of unequal length are left out."""
    import pyarrow as pa
    from pyarrow import compute as arrow

    compute: Any = arrow
    if pa.types.is_timestamp(column.type):
        yield name, 1e-9 * column.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy(zero_copy_only=False)
    elif not _is_list(column.type):
        yield name, column.to_numpy(zero_copy_only=False)
    else:
        lengths = compute.list_value_length(column).unique().to_pylist()
        if len(lengths) == 1 and lengths[0]:
            flat = np.asarray(compute.list_flatten(column).to_numpy(zero_copy_only=False), dtype=float)
            for k, values in enumerate(flat.reshape(len(column), lengths[0]).T):
                yield f"{name}[{k}]", values


def read_trace(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read a trace that palpate saved, its channels column by column, such as q[joint1]."""
    try:
        trace = load_trace(path)
    except TraceError as error:
        raise FileError(str(error.args[0]), hint=error.hint) from error
    columns: dict[str, np.ndarray] = {}
    for name, channel in trace.channels.items():
        values = trace[name].reshape(len(trace), -1)
        for k, column in enumerate(channel.columns):
            if wanted is None or column in wanted:
                columns[column] = values[:, k]
    refuse_empty(str(path), len(trace))
    progress(1, 1)
    return Table(str(path), "palpate trace", (Stream("", columns),))

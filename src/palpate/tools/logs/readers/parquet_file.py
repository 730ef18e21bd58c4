"""Parquet files by pyarrow, and palpate's own traces."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from palpate.errors import DamagedTable, FileError, TraceError
from palpate.lazy import check_extra
from palpate.parquet import is_ours
from palpate.tools.logs.table import Growing, Progress, Stream, Table, refuse_empty
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
        with parquet.ParquetFile(path) as file:
            fields = [f for f in file.schema_arrow if wanted is None or f.name in wanted]
            numeric = [f.name for f in fields if pa.types.is_floating(f.type) or pa.types.is_integer(f.type)]
            growing, total = Growing(numeric, str(path)), file.metadata.num_rows
            done = 0
            for batch in file.iter_batches(65536, columns=numeric):
                growing.add(column.to_numpy(zero_copy_only=False) for column in batch.columns)
                done += batch.num_rows
                progress(done, total)
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"cannot read {path}: {' '.join(str(error).split())[:300]}") from error
    columns = growing.columns()
    refuse_empty(str(path), len(next(iter(columns.values()), ())))
    left = [f.name for f in fields if f.name not in numeric]
    return Table(str(path), "parquet", (Stream("", columns),), tuple(f"column {n!r} holds no numbers" for n in left))


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

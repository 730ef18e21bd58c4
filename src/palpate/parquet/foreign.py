"""Tables of numbers that other programs wrote, through pyarrow (the extra `parquet`)."""

from __future__ import annotations

import os

import numpy as np

from palpate.errors import DamagedTable
from palpate.files import open_regular
from palpate.lazy import check_extra
from palpate.parquet.footer import check_memory
from palpate.parquet.layout import MOST_COLUMNS
from palpate.parquet.read import is_ours, read_columns
from palpate.parquet.section import MOST_BYTES


def read_numbers(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The columns of a Parquet file of any program; NaN where a number is missing.

    Raises:
        DamagedTable: it is no Parquet file, damaged, too large, or has a column of something else than numbers.
        MissingExtra: another program wrote it, and pyarrow is not installed.
        FileError: a folder, FIFO or device, or it cannot be read.
    """
    if is_ours(path):
        return {name: values.to_numpy() for name, values in read_columns(path).items()}
    check_extra("pyarrow", "parquet", f"reading {os.fspath(path)}, a Parquet file that palpate did not write,")
    return _through_pyarrow(path)


def _through_pyarrow(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with open_regular(path, most_bytes=MOST_BYTES) as file:
            table = parquet.ParquetFile(file)
            if table.metadata.num_columns > MOST_COLUMNS:
                raise DamagedTable(f"it has {table.metadata.num_columns} columns; at most {MOST_COLUMNS} are read")
            check_memory(16 * table.metadata.num_rows * table.metadata.num_columns)
            for column in table.schema_arrow:
                if not pa.types.is_primitive(column.type) or pa.types.is_temporal(column.type):
                    raise DamagedTable(f"column {column.name!r} holds {column.type}, not numbers")
            return {name: column.to_numpy() for name, column in zip(table.schema_arrow.names, table.read().columns)}
    except (pa.ArrowException, OSError) as error:
        raise DamagedTable(" ".join(str(error).split())) from error

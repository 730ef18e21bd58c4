"""Writing a Parquet file, one group of rows at a time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from palpate.errors import TooLarge
from palpate.parquet import layout
from palpate.parquet.compression import compressed
from palpate.parquet.layout import Column
from palpate.parquet.thrift import encoded
from palpate.parquet.values import plain, runs


class ParquetWriter:
    """A file that grows by groups of rows; `close` makes it whole."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._file, self._columns = file, tuple(columns)
        self._at = self._rows = 0
        self._groups: list[dict[str, Any]] = []
        if len(columns) > layout.MOST_COLUMNS:
            raise TooLarge(f"a table of {len(columns)} columns; at most {layout.MOST_COLUMNS} are written")
        self._write(layout.MAGIC)

    def write(self, values: Sequence[Sequence[Any] | np.ndarray]) -> None:
        """Add a group of rows: the values of each column, all of one length.

        Raises:
            TooLarge: more rows or texts than a group holds, or a group behind one that was not full.
        """
        count = len(values[0]) if values else 0
        if not count:
            return
        if count > layout.MOST_ROWS or (self._groups and self._groups[-1]["rows"] < layout.LEAST_ROWS):
            raise TooLarge(f"groups hold {layout.LEAST_ROWS} to {layout.MOST_ROWS} rows, only the last one fewer")
        begin = self._at
        chunks = [self._chunk(column, part) for column, part in zip(self._columns, values, strict=True)]
        self._groups.append({"chunks": chunks, "packed": self._at - begin, "rows": count})
        self._rows += count

    def close(self, metadata: Mapping[str, str] | None = None) -> None:
        """Write the footer; the file stays open.

        Raises:
            TooLarge: it is larger than a footer that is read.
        """
        pairs = [{"key": key, "text": text} for key, text in (metadata or {}).items()]
        footer = {
            "version": layout.VERSION,
            "schema": layout.schema(self._columns),
            "rows": self._rows,
            "groups": self._groups,
            **({"metadata": pairs} if pairs else {}),
            "creator": layout.CREATOR,
        }
        content = encoded(layout.FOOTER, footer)
        if len(content) > layout.MOST_FOOTER or len(self._groups) * len(self._columns) > layout.MOST_CHUNKS:
            raise TooLarge(
                f"a table whose description takes {len(content)} bytes; at most {layout.MOST_FOOTER} are read"
            )
        self._write(content + len(content).to_bytes(4, "little") + layout.MAGIC)

    def _chunk(self, column: Column, values: Sequence[Any] | np.ndarray) -> dict[str, Any]:
        """A column's values as one page; what the footer says of it."""
        start = self._at
        count, body = _body(column, values)
        if column.type == layout.BYTES and (count > layout.MOST_ENTRIES or len(body) > layout.MOST_TEXT):
            raise TooLarge(
                f"column {column.name!r} holds {count} texts of {len(body)} bytes in one group;"
                f" at most {layout.MOST_ENTRIES} of {layout.MOST_TEXT} bytes are written"
            )
        packed = compressed(body)
        crc = int.from_bytes(zlib.crc32(packed).to_bytes(4, "big"), "big", signed=True)
        head = encoded(layout.PAGE, layout.page_head(count, len(body), len(packed), crc))
        self._write(head + packed)
        size = len(head) + len(body)
        return {"file_offset": 0, "about": layout.about(column, count, size, self._at - start, start)}

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._at += len(content)


def _body(column: Column, values: Sequence[Any] | np.ndarray) -> tuple[int, bytes]:
    """How many levels a page has, and its content: levels of repetition and definition, then what is there."""
    if column.kind == "texts":
        return _list_body(values)
    if not column.optional:
        return len(values), plain(column.type, values)
    present = np.array([value is not None for value in values])
    return len(values), runs(present) + plain(column.type, [value for value in values if value is not None])


def _list_body(rows: Sequence[Any] | np.ndarray) -> tuple[int, bytes]:
    """Lists of texts: 0 no list, 1 an empty one, 3 an entry; an entry that is not the first of its list repeats."""
    defined = [level for row in rows for level in ([0] if row is None else [3] * len(row) or [1])]
    repeated = [int(index > 0) for row in rows for index in range(len(row or ()) or 1)]
    texts = [text for row in rows for text in row or ()]
    return len(defined), runs(np.array(repeated)) + runs(np.array(defined)) + plain(layout.BYTES, texts)

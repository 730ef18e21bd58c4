"""Writing a Parquet file, one group of rows at a time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import numpy as np

from palpate.parquet.codec import ZSTD, compressed
from palpate.parquet.thrift import BINARY, I32, I64, LIST, STRUCT, encoded
from palpate.parquet.values import BOOLEAN, BYTES, DOUBLE, INT32, INT64, plain, runs

Kind = Literal["double", "int64", "int32", "bool", "text", "texts"]
_TYPES = {"double": DOUBLE, "int64": INT64, "int32": INT32, "bool": BOOLEAN, "text": BYTES, "texts": BYTES}
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_RLE = 3  # Encoding; plain is 0
_UTF8, _LISTED = 0, 3  # ConvertedType
MAGIC = b"PAR1"


@dataclass(frozen=True)
class Column:
    """A column: its name, what it holds, and whether a value may be missing (None)."""

    name: str
    kind: Kind = "double"
    optional: bool = False

    @property
    def path(self) -> list[str]:
        """The names down to the values."""
        return [self.name, "list", "element"] if self.kind == "texts" else [self.name]


class ParquetWriter:
    """A file that grows by groups of rows; `close` makes it whole."""

    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._file, self._columns = file, tuple(columns)
        self._at = self._rows = 0
        self._groups: list[dict[int, Any]] = []
        self._write(MAGIC)

    def write(self, values: Sequence[Sequence[Any] | np.ndarray]) -> None:
        """Add rows: the values of each column, all of one length."""
        count = len(values[0]) if values else 0
        if not count:
            return
        begin = self._at
        chunks = [(STRUCT, self._chunk(column, part)) for column, part in zip(self._columns, values, strict=True)]
        listed = (STRUCT, [fields for _, fields in chunks])
        self._groups.append({1: (LIST, listed), 2: (I64, self._at - begin), 3: (I64, count)})
        self._rows += count

    def close(self, metadata: Mapping[str, str] | None = None) -> None:
        """Write the footer; the file stays open."""
        pairs = [{1: (BINARY, key), 2: (BINARY, text)} for key, text in (metadata or {}).items()]
        footer = {
            1: (I32, 2),
            2: (LIST, (STRUCT, _schema(self._columns))),
            3: (I64, self._rows),
            4: (LIST, (STRUCT, self._groups)),
            **({5: (LIST, (STRUCT, pairs))} if pairs else {}),
            6: (BINARY, "palpate"),
        }
        content = encoded(footer)
        self._write(content + len(content).to_bytes(4, "little") + MAGIC)

    def _chunk(self, column: Column, values: Sequence[Any] | np.ndarray) -> dict[int, Any]:
        """A column's values as one page; what the footer says of it."""
        kind, place = _TYPES[column.kind], self._at
        count, body = _body(column, values)
        packed = compressed(body)
        head = encoded(
            {
                1: (I32, 0),
                2: (I32, len(body)),
                3: (I32, len(packed)),
                4: (I32, _signed(zlib.crc32(packed))),
                5: (STRUCT, {1: (I32, count), 2: (I32, 0), 3: (I32, _RLE), 4: (I32, _RLE)}),
            }
        )
        self._write(head + packed)
        about = {
            1: (I32, kind),
            2: (LIST, (I32, [0, _RLE])),
            3: (LIST, (BINARY, column.path)),
            4: (I32, ZSTD),
            5: (I64, count),
            6: (I64, len(head) + len(body)),
            7: (I64, len(head) + len(packed)),
            9: (I64, place),
        }
        return {2: (I64, 0), 3: (STRUCT, about)}

    def _write(self, content: bytes) -> None:
        self._file.write(content)
        self._at += len(content)


def _signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def _body(column: Column, values: Sequence[Any] | np.ndarray) -> tuple[int, bytes]:
    """How many levels a page has, and its content: levels of repetition and definition, then what is there."""
    kind = _TYPES[column.kind]
    if column.kind == "texts":
        return _list_body(values)
    if not column.optional:
        return len(values), plain(kind, values)
    there = np.array([value is not None for value in values])
    return len(values), _levels(there, 1) + plain(kind, [value for value in values if value is not None])


def _list_body(rows: Sequence[Any] | np.ndarray) -> tuple[int, bytes]:
    """Lists of texts: 0 no list, 1 an empty one, 3 an entry; an entry that is not the first of its list repeats."""
    defined = [level for row in rows for level in ([0] if row is None else [3] * len(row) or [1])]
    repeated = [int(place > 0) for row in rows for place in range(len(row or ()) or 1)]
    texts = [text for row in rows for text in row or ()]
    return len(defined), _levels(np.array(repeated), 1) + _levels(np.array(defined), 2) + plain(BYTES, texts)


def _levels(levels: np.ndarray, width: int) -> bytes:
    content = runs(levels.astype(np.int64), width)
    return len(content).to_bytes(4, "little") + content


def _schema(columns: Sequence[Column]) -> list[dict[int, Any]]:
    root = {4: (BINARY, "schema"), 5: (I32, len(columns))}
    return [root, *(element for column in columns for element in _elements(column))]


def _elements(column: Column) -> list[dict[int, Any]]:
    if column.kind == "texts":
        return [
            {3: (I32, _OPTIONAL), 4: (BINARY, column.name), 5: (I32, 1), 6: (I32, _LISTED), 10: (STRUCT, {3: _EMPTY})},
            {3: (I32, _REPEATED), 4: (BINARY, "list"), 5: (I32, 1)},
            _leaf("element", "text", optional=True),
        ]
    return [_leaf(column.name, column.kind, column.optional)]


def _leaf(name: str, kind: Kind, optional: bool) -> dict[int, Any]:
    text = {6: (I32, _UTF8), 10: (STRUCT, {1: _EMPTY})} if kind == "text" else {}
    return {1: (I32, _TYPES[kind]), 3: (I32, _OPTIONAL if optional else _REQUIRED), 4: (BINARY, name)} | text


_EMPTY = (STRUCT, {})

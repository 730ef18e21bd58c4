"""Layout of our Parquet files: their descriptions, their columns, and limits of size.

Writer and reader share this page, so that the reader accepts exactly what the writer writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from palpate.parquet.thrift import BINARY, I32, I64, SIGNED, Many, Struct

MAGIC = b"PAR1"
TAIL = 8  # bytes behind the footer: its length, and the magic again
CREATOR = "palpate"
VERSION = 2

MOST_FOOTER = 32 << 20  # bytes
MOST_COLUMNS = 20_000
MOST_CHUNKS = 1 << 18  # columns × groups of rows
MOST_ROWS = 1 << 16  # of a group
LEAST_ROWS = 1 << 10  # of a group that is not the last
MOST_ENTRIES = 1 << 19  # of the lists of texts in a group
MOST_TEXT = 64 << 20  # bytes of the texts in a group
_MOST_PAIRS = 16

BOOLEAN, INT32, INT64, DOUBLE, BYTES = 0, 1, 2, 5, 6  # Type
PLAIN, RLE = 0, 3  # Encoding
ZSTD = 6  # CompressionCodec
DATA_PAGE = 0  # PageType
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2  # FieldRepetitionType
_UTF8, _LISTED = 0, 3  # ConvertedType

_EMPTY = Struct()
_LOGICAL = Struct("text list", text=(1, _EMPTY), list=(3, _EMPTY))
_ELEMENT = Struct(
    "type repetition children converted logical", type=(1, I32), repetition=(3, I32), name=(4, BINARY),
    children=(5, I32), converted=(6, I32), logical=(10, _LOGICAL),
)  # fmt: skip
_DATA = Struct(count=(1, I32), encoding=(2, I32), defined=(3, I32), repeated=(4, I32))
PAGE = Struct(kind=(1, I32), size=(2, I32), packed=(3, I32), crc=(4, SIGNED), data=(5, _DATA))
_ABOUT = Struct(
    type=(1, I32), encodings=(2, Many(I32, 2)), path=(3, Many(BINARY, 3)), codec=(4, I32), count=(5, I64),
    size=(6, I64), packed=(7, I64), start=(9, I64),
)  # fmt: skip
_CHUNK = Struct(file_offset=(2, I64), about=(3, _ABOUT))
_GROUP = Struct(chunks=(1, Many(_CHUNK, MOST_COLUMNS)), packed=(2, I64), rows=(3, I64))
_PAIR = Struct(key=(1, BINARY), text=(2, BINARY))
FOOTER = Struct(
    "metadata", version=(1, I32), schema=(2, Many(_ELEMENT, 3 * MOST_COLUMNS + 1)), rows=(3, I64),
    groups=(4, Many(_GROUP, MOST_CHUNKS)), metadata=(5, Many(_PAIR, _MOST_PAIRS)), creator=(6, BINARY),
)  # fmt: skip

Kind = Literal["double", "int64", "int32", "bool", "text", "texts"]
_TYPES: dict[Kind, int] = dict(zip(get_args(Kind), (DOUBLE, INT64, INT32, BOOLEAN, BYTES, BYTES)))


@dataclass(frozen=True)
class Column:
    """A column: its name, what it holds, and whether a value may be missing (None)."""

    name: str
    kind: Kind = "double"
    optional: bool = False

    @property
    def type(self) -> int:
        """The number of its type."""
        return _TYPES[self.kind]

    @property
    def levels(self) -> tuple[int, int]:
        """The largest levels of repetition and definition."""
        return (1, 3) if self.kind == "texts" else (0, int(self.optional))


def about(column: Column, count: int, size: int, packed: int, start: int) -> dict[str, Any]:
    """Footer's entry of one column in one group: values, bytes before and after compression, and position."""
    path = [column.name, "list", "element"] if column.kind == "texts" else [column.name]
    return {
        "type": column.type, "encodings": [PLAIN, RLE], "path": [name.encode() for name in path], "codec": ZSTD,
        "count": count, "size": size, "packed": packed, "start": start,
    }  # fmt: skip


def page_head(count: int, size: int, packed: int, crc: int) -> dict[str, Any]:
    """Header of a page."""
    data = {"count": count, "encoding": PLAIN, "defined": RLE, "repeated": RLE}
    return {"kind": DATA_PAGE, "size": size, "packed": packed, "crc": crc, "data": data}


def schema(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The columns as the footer lists them, parents first."""
    root = {"name": b"schema", "children": len(columns)}
    return [root, *(element for column in columns for element in _elements(column))]


def _elements(column: Column) -> list[dict[str, Any]]:
    name = column.name.encode()
    if column.kind != "texts":
        return [_leaf(name, column.kind, column.optional)]
    listed = {"converted": _LISTED, "logical": {"list": {}}}
    return [
        {"repetition": _OPTIONAL, "name": name, "children": 1} | listed,
        {"repetition": _REPEATED, "name": b"list", "children": 1},
        _leaf(b"element", "text", optional=True),
    ]


def _leaf(name: bytes, kind: Kind, optional: bool) -> dict[str, Any]:
    text = {"converted": _UTF8, "logical": {"text": {}}} if kind == "text" else {}
    return {"type": _TYPES[kind], "repetition": _OPTIONAL if optional else _REQUIRED, "name": name} | text


def columns_from(elements: Sequence[dict[str, Any]]) -> list[Column]:
    """The columns behind a schema; whether it is exactly theirs is for the caller to compare."""
    kinds: dict[int, Kind] = {number: kind for kind, number in reversed(_TYPES.items())}  # bytes are "text"
    columns: list[Column] = []
    at = 1
    while at < len(elements):
        element, name = elements[at], elements[at]["name"].decode()
        if "type" in element:
            columns.append(Column(name, kinds.get(element["type"], "double"), element.get("repetition") == _OPTIONAL))
            at += 1
        else:
            columns.append(Column(name, "texts", optional=True))
            at += 3
    return columns

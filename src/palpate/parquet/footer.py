"""The footer of a Parquet file: its columns and groups of rows, each compared with what palpate writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palpate.errors import DamagedTable, TooLarge
from palpate.memory import free_bytes, shown_bytes
from palpate.parquet import layout
from palpate.parquet.compression import most_compressed
from palpate.parquet.layout import Column
from palpate.parquet.section import Section, footer_bytes
from palpate.parquet.thrift import Decoder
from palpate.parquet.values import plain_size

FOOTER_END = bytes([len(layout.CREATOR)]) + layout.CREATOR.encode() + b"\x00"  # of our footers
_HEAD = 64  # bytes before a page; 40 are the most that our numbers take
_PER_VALUE = 16  # bytes of a value beside itself
_COPIES = 3  # of a column: as read, joined, and in the caller's array

Chunk = dict[str, Any]  # what the footer says of one column in one group of rows: `layout.about`
_Group = tuple[int, list[Chunk]]  # rows, and a chunk for each column


@dataclass(frozen=True)
class Footer:
    """Attributes: number of rows, names of the columns in order, key-value metadata."""

    rows: int
    columns: tuple[str, ...]
    metadata: dict[str, str]
    _columns: dict[str, Column] = field(default_factory=dict, repr=False)
    _groups: tuple[_Group, ...] = field(default=(), repr=False)

    def check_numbers(self) -> None:
        """Refuse a table with anything but numbers in it, none of them missing.

        Raises:
            DamagedTable: which column holds something else.
        """
        for column in self._columns.values():
            if column.kind != "double" or column.optional:
                gaps = ", some of which may be missing" if column.optional else ""
                raise DamagedTable(f"column {column.name!r} holds {column.kind} values{gaps}")


def check_memory(needed: int) -> None:
    """Refuse what does not fit into memory.

    Raises:
        TooLarge: how much it needs, and how much there is.
    """
    free = free_bytes()
    if free is not None and needed > free:
        raise TooLarge(f"reading it takes {shown_bytes(needed)}, and {shown_bytes(free)} of memory are free")


def footer_of(section: Section, whole: bool = False) -> Footer:
    """The footer; if the whole table is to be read, one that does not fit into memory is refused early."""
    content, end = footer_bytes(section)
    if not content.endswith(FOOTER_END):
        raise DamagedTable("it was not written by palpate")
    reader = Decoder(content)
    try:
        read = reader.struct(layout.FOOTER, groups=lambda items, before: _groups(items, before, end, whole))
        metadata = {pair["key"].decode(): pair["text"].decode() for pair in read.get("metadata", [])}
    except (UnicodeDecodeError, LookupError) as error:
        raise DamagedTable("its description is damaged") from error
    if reader.at != len(content) or read["version"] != layout.VERSION:
        raise DamagedTable("a description that palpate does not write")
    columns, groups = read["groups"]
    return Footer(read["rows"], tuple(columns), metadata, columns, groups)


def _groups(
    listed: Iterator[dict[str, Any]], before: dict[str, Any], end: int, whole: bool
) -> tuple[dict[str, Column], tuple[_Group, ...]]:
    """Columns and groups of rows; each group is checked before the next is looked at.

    Pages fill the file from the magic to the footer, and every group but the last is full enough.
    """
    columns = layout.columns_from(before["schema"])
    named, missing, at = {column.name: column for column in columns}, before["rows"], len(layout.MAGIC)
    if len(named) != len(columns) or before["schema"] != layout.schema(columns):
        raise DamagedTable("columns that palpate does not write")
    if whole:
        check_memory(8 * missing * len(columns))
    groups: list[_Group] = []
    for group in listed:
        rows = group["rows"]
        full = layout.LEAST_ROWS <= rows < missing or rows == missing
        fits = (len(groups) + 1) * len(columns) <= layout.MOST_CHUNKS
        if not (0 < rows <= layout.MOST_ROWS and full and fits) or len(group["chunks"]) != len(columns):
            raise DamagedTable(
                f"a group of {rows} rows and {len(group['chunks'])} columns, which palpate does not write"
            )
        groups.append((rows, _chunks(group, columns, at)))
        at, missing = at + group["packed"], missing - rows
    if at != end or missing:
        raise DamagedTable(f"{end - at} bytes and {missing} rows are missing")
    return named, tuple(groups)


def _chunks(group: dict[str, Any], columns: Sequence[Column], at: int) -> list[Chunk]:
    """The chunks of a group, each compared with what is written and can be."""
    start = at
    for column, chunk in zip(columns, group["chunks"]):
        _check_chunk(column, group["rows"], chunk["about"], at)
        at += chunk["about"]["packed"]
    if group["packed"] != at - start or any(chunk["file_offset"] for chunk in group["chunks"]):
        raise DamagedTable("a group that palpate does not write")
    return [chunk["about"] for chunk in group["chunks"]]


def _check_chunk(column: Column, rows: int, chunk: Chunk, at: int) -> None:
    count, size, packed = chunk["count"], chunk["size"], chunk["packed"]
    if chunk != layout.about(column, count, size, packed, at):
        raise DamagedTable(f"a description of column {column.name!r} that palpate does not write")
    if not rows <= count <= (layout.MOST_ENTRIES if column.kind == "texts" else rows):
        raise DamagedTable(f"column {column.name!r} has {count} values in {rows} rows")
    if size > _HEAD + _most_bytes(column, count) or packed > most_compressed(size):
        raise DamagedTable(f"column {column.name!r} announces {packed} bytes for {count} values")


def _most_bytes(column: Column, count: int) -> int:
    """The most that the page of `count` values takes: two bytes for each level beside them."""
    if column.type == layout.BYTES:
        return layout.MOST_TEXT
    return plain_size(column.type, count) + (4 + 2 * count if column.optional else 0)


def groups_with_rows(footer: Footer, first: int, stop: int) -> tuple[Footer, slice]:
    """The groups that hold some rows, as a footer of their own, and where in them the rows are."""
    ends = np.cumsum([rows for rows, _ in footer._groups]).tolist()
    spans = [(end - group[0], end, group) for end, group in zip(ends, footer._groups)]
    kept = [(begin, group) for begin, end, group in spans if end > first and begin < stop]
    before, groups = kept[0][0] if kept else 0, tuple(group for _, group in kept)
    return replace(footer, rows=sum(rows for rows, _ in groups), _groups=groups), slice(first - before, stop - before)


def needed_bytes(footer: Footer, names: Sequence[str]) -> int:
    """Bytes that columns take while they are read."""
    places = [footer.columns.index(name) for name in names]
    listed = [chunks[index] for _, chunks in footer._groups for index in places]
    return sum(_COPIES * chunk["size"] + _PER_VALUE * chunk["count"] for chunk in listed)

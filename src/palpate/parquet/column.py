"""One column of a Parquet file: its pages unpacked and joined."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from palpate.errors import DamagedTable
from palpate.parquet import layout
from palpate.parquet.compression import uncompressed
from palpate.parquet.footer import Chunk, Footer
from palpate.parquet.layout import Column
from palpate.parquet.section import Section
from palpate.parquet.thrift import Decoder
from palpate.parquet.values import from_plain, from_runs


class Values:
    """A column as read: numbers, booleans, texts or lists of texts, some of them missing."""

    def __init__(self, content: np.ndarray | list[Any], present: np.ndarray | None = None) -> None:
        """Take one value per row; `present` tells which numbers or booleans are there, all by default."""
        self._content, self._present = content, None if present is None or present.all() else present

    def __len__(self) -> int:
        return len(self._content)

    def __getitem__(self, rows: slice) -> Values:
        """Some rows."""
        return Values(self._content[rows], None if self._present is None else self._present[rows])

    def to_list(self) -> list[Any]:
        """Python's values, None where one is missing."""
        values = self._content.tolist() if isinstance(self._content, np.ndarray) else list(self._content)
        if self._present is None:
            return values
        return [value if present else None for value, present in zip(values, self._present)]

    def to_numpy(self) -> np.ndarray:
        """Numbers as they are, as float64 with NaN if one is missing; anything else as objects."""
        if not isinstance(self._content, np.ndarray):
            values = np.empty(len(self), dtype=object)
            values[:] = self.to_list()
            return values
        return self._content if self._present is None else np.where(self._present, self._content, np.nan)


_Page = tuple[np.ndarray, np.ndarray, Any]  # levels of repetition and definition, and the values that are there


def column_of(section: Section, footer: Footer, name: str) -> Values:
    """A column of the table, from all of its groups."""
    column, index = footer._columns[name], footer.columns.index(name)
    try:
        pages = [_page(section, column, chunks[index]) for _, chunks in footer._groups]
        values = _joined(column, pages)
    except (UnicodeDecodeError, LookupError) as error:
        raise DamagedTable(f"column {name!r} is damaged") from error
    if len(values) != footer.rows:
        raise DamagedTable(f"column {name!r} has {len(values)} rows of {footer.rows}")
    return values


def _page(section: Section, column: Column, chunk: Chunk) -> _Page:
    content, count = section.read(chunk["start"], chunk["packed"]), chunk["count"]
    reader = Decoder(content)
    head = reader.struct(layout.PAGE)
    packed = reader.take(len(content) - reader.at)
    size = chunk["size"] - (len(content) - len(packed))
    if head["crc"] & 0xFFFFFFFF != zlib.crc32(packed):
        raise DamagedTable("a page's checksum does not fit")
    if head != layout.page_head(count, size, len(packed), head["crc"]):
        raise DamagedTable(f"a page of column {column.name!r} that palpate does not write")
    body = Decoder(uncompressed(packed, size))
    no_levels = np.zeros(0, np.uint8)
    repeated, defined = (from_runs(body, most, count) if most else no_levels for most in column.levels)
    present = int(np.count_nonzero(defined == column.levels[1])) if column.levels[1] else count
    return repeated, defined, from_plain(body, column.type, present)


def _joined(column: Column, pages: list[_Page]) -> Values:
    none = (np.zeros(0, np.uint8), np.zeros(0, np.uint8), from_plain(Decoder(b""), column.type, 0))
    repeated, defined, values = zip(none, *pages)
    content: Any = list(chain(*values)) if column.type == layout.BYTES else np.concatenate(values)
    if column.kind == "texts":
        return Values(_lists(iter(content), np.concatenate(defined).tolist(), np.concatenate(repeated).tolist()))
    if not column.optional:
        return Values(content)
    present = np.concatenate(defined) == 1
    if column.type == layout.BYTES:
        texts = iter(content)
        return Values([next(texts) if there else None for there in present])
    whole = np.zeros(len(present), content.dtype)
    whole[present] = content
    return Values(whole, present)


def _lists(entries: Iterator[str], defined: list[int], repeated: list[int]) -> list[list[str] | None]:
    """Lists again: one begins where nothing repeats; level 0 is no list, 1 an empty one, 3 an entry."""
    rows: list[Any] = []
    for level, again in zip(defined, repeated):
        if level == 2 or (again and (level != 3 or not rows or not rows[-1])):
            raise DamagedTable("levels that palpate does not write")
        if again:
            rows[-1].append(next(entries))
        else:
            rows.append([next(entries)] if level == 3 else [] if level else None)
    return rows

"""Reading a Parquet file that palpate wrote: its footer without its pages, or some of its columns.

The reader is strict. Every length is compared with the file, with the limits of `layout` and with free memory before
anything is allocated, and pages must follow each other without gaps, so that no file costs more than its own size
explains.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from palpate.errors import DamagedTable, FileError, TooLarge
from palpate.files import open_regular
from palpate.lazy import check_extra
from palpate.memory import free_bytes, shown_bytes
from palpate.parquet import layout
from palpate.parquet.layout import MOST_COLUMNS, Column, Decoder
from palpate.parquet.values import from_plain, from_runs, most_compressed, plain_size, uncompressed

Source = str | os.PathLike[str] | BinaryIO
MOST_BYTES = 64 << 30  # of a file
_END = bytes([len(layout.CREATOR)]) + layout.CREATOR.encode() + b"\x00"  # of our footers
_HEAD = 64  # bytes before a page; 40 are the most that our numbers take
_PER_VALUE = 16  # bytes of a value beside itself
_COPIES = 3  # of a column: as read, joined, and in the caller's array


_Chunk = dict[str, Any]  # what the footer says of one column in one group of rows: `layout.about`
_Group = tuple[int, list[_Chunk]]  # rows, and a chunk for each column


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


def check_memory(needed: int) -> None:
    """Refuse what does not fit into memory.

    Raises:
        TooLarge: how much it needs, and how much there is.
    """
    free = free_bytes()
    if free is not None and needed > free:
        raise TooLarge(f"reading it takes {shown_bytes(needed)}, and {shown_bytes(free)} of memory are free")


def is_ours(source: Source) -> bool:
    """Whether a file ends as those that palpate writes, by the creator that its footer names."""
    with _opened(source) as section:
        return _footer_bytes(section)[0].endswith(_END)


def read_footer(source: Source, start: int = 0, size: int | None = None) -> Footer:
    """What a Parquet file says of itself; nothing is unpacked.

    Args:
        source: the file.
        start, size: the bytes of the file that hold the table; all of them by default.

    Raises:
        DamagedTable: it is no Parquet file that palpate wrote, or damaged.
        FileError: a folder, FIFO or device, or it cannot be read.
    """
    with _opened(source, start, size) as section:
        return _footer(section)


def read_columns(
    source: Source,
    names: Sequence[str] | None = None,
    rows: tuple[int, int] | None = None,
    start: int = 0,
    size: int | None = None,
) -> dict[str, Values]:
    """Columns of a Parquet file, all of them if not said, in the order asked for; or rows from … to of them.

    Raises:
        DamagedTable: it is no Parquet file that palpate wrote, damaged, or lacks a column.
        TooLarge: it does not fit into memory.
        FileError: a folder, FIFO or device, or it cannot be read.
    """
    with _opened(source, start, size) as section:
        footer, cut = _footer(section, whole=names is None and rows is None), slice(None)
        if rows is not None:
            footer, cut = _groups_of(footer, *rows)
        wanted = list(footer.columns if names is None else names)
        for name in wanted:
            if name not in footer._columns:
                raise DamagedTable(f"it has no column {name!r}")
        check_memory(_needed(footer, wanted))
        columns = {name: _column(section, footer, name) for name in wanted}
    return columns if rows is None else {name: values[cut] for name, values in columns.items()}


# ---------------------------------------------------------------------------------------------- bytes


@dataclass(frozen=True)
class _Section:
    """The part of a file that holds a table; nothing outside of it is read."""

    file: BinaryIO
    start: int
    size: int

    def read(self, at: int, count: int) -> bytes:
        if not 0 <= at <= at + count <= self.size:
            raise DamagedTable("a part beyond the file's end")
        self.file.seek(self.start + at)
        return self.file.read(count)


@contextlib.contextmanager
def _opened(source: Source, start: int = 0, size: int | None = None) -> Iterator[_Section]:
    if isinstance(source, str | os.PathLike):
        try:
            with open_regular(source, most_bytes=MOST_BYTES) as file, _opened(file, start, size) as section:
                yield section
        except DamagedTable as error:
            raise DamagedTable(f"cannot read {os.fspath(source)}: {error.args[0]}") from error
        except OSError as error:
            raise FileError(f"cannot read {os.fspath(source)}: {error.strerror or error}") from error
        return
    remaining = source.seek(0, os.SEEK_END) - start
    if start < 0 or not 0 <= (remaining if size is None else size) <= remaining:
        raise DamagedTable("a part beyond the file's end")
    yield _Section(source, start, remaining if size is None else size)


def _footer_bytes(section: _Section) -> tuple[bytes, int]:
    """The footer, and where it starts."""
    least = len(layout.MAGIC) + layout.TAIL
    if section.size < least or section.read(0, len(layout.MAGIC)) != layout.MAGIC:
        raise DamagedTable("no Parquet file")
    tail = section.read(section.size - layout.TAIL, layout.TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != layout.MAGIC or length > section.size - least:
        raise DamagedTable("it does not end as a Parquet file does")
    if length > layout.MOST_FOOTER:
        raise DamagedTable(f"a description of {length} bytes; at most {layout.MOST_FOOTER} are read")
    at = section.size - layout.TAIL - length
    return section.read(at, length), at


# ---------------------------------------------------------------------------------------------- the footer


def _footer(section: _Section, whole: bool = False) -> Footer:
    """The footer; if the whole table is to be read, one that does not fit into memory is refused early."""
    content, end = _footer_bytes(section)
    if not content.endswith(_END):
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


def _chunks(group: dict[str, Any], columns: Sequence[Column], at: int) -> list[_Chunk]:
    """The chunks of a group, each compared with what is written and can be."""
    start = at
    for column, chunk in zip(columns, group["chunks"]):
        _check_chunk(column, group["rows"], chunk["about"], at)
        at += chunk["about"]["packed"]
    if group["packed"] != at - start or any(chunk["file_offset"] for chunk in group["chunks"]):
        raise DamagedTable("a group that palpate does not write")
    return [chunk["about"] for chunk in group["chunks"]]


def _check_chunk(column: Column, rows: int, chunk: _Chunk, at: int) -> None:
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


def _groups_of(footer: Footer, first: int, stop: int) -> tuple[Footer, slice]:
    """The groups that hold some rows, as a footer of their own, and where in them the rows are."""
    ends = np.cumsum([rows for rows, _ in footer._groups]).tolist()
    spans = [(end - group[0], end, group) for end, group in zip(ends, footer._groups)]
    kept = [(begin, group) for begin, end, group in spans if end > first and begin < stop]
    before, groups = kept[0][0] if kept else 0, tuple(group for _, group in kept)
    return replace(footer, rows=sum(rows for rows, _ in groups), _groups=groups), slice(first - before, stop - before)


def _needed(footer: Footer, names: Sequence[str]) -> int:
    """Bytes that columns take while they are read."""
    places = [footer.columns.index(name) for name in names]
    listed = [chunks[index] for _, chunks in footer._groups for index in places]
    return sum(_COPIES * chunk["size"] + _PER_VALUE * chunk["count"] for chunk in listed)


# ---------------------------------------------------------------------------------------------- one column


_Page = tuple[np.ndarray, np.ndarray, Any]  # levels of repetition and definition, and the values that are there


def _column(section: _Section, footer: Footer, name: str) -> Values:
    column, index = footer._columns[name], footer.columns.index(name)
    try:
        pages = [_page(section, column, chunks[index]) for _, chunks in footer._groups]
        values = _joined(column, pages)
    except (UnicodeDecodeError, LookupError) as error:
        raise DamagedTable(f"column {name!r} is damaged") from error
    if len(values) != footer.rows:
        raise DamagedTable(f"column {name!r} has {len(values)} rows of {footer.rows}")
    return values


def _page(section: _Section, column: Column, chunk: _Chunk) -> _Page:
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


# ----------------------------------------------------------------------------------------------
# Tables of numbers that other programs wrote, through pyarrow (the extra `parquet`).


def read_numbers(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The columns of a Parquet file, whoever wrote it; NaN where a number is missing.

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

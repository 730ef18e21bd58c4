"""Reading a Parquet file: its footer without its pages, or some of its columns."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import numpy as np

from palpate.errors import DamagedTable
from palpate.parquet.codec import uncompressed
from palpate.parquet.thrift import Decoder
from palpate.parquet.values import BOOLEAN, from_plain, from_runs
from palpate.parquet.write import MAGIC

Source = str | os.PathLike[str] | BinaryIO
_TAIL = 8  # the footer's length, and the magic again
_BAD = (LookupError, TypeError, AttributeError, OverflowError, ValueError, struct.error, StopIteration, RuntimeError)
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3  # PageType
_PLAIN, _RLE, _INDICES = 0, 3, (2, 8)  # Encoding


@dataclass(frozen=True)
class _Leaf:
    """A column's values in the schema: how often they may be undefined or repeated on the way down."""

    kind: int
    defined: int
    repeated: int
    path: tuple[str, ...]


@dataclass(frozen=True)
class Footer:
    """Attributes: number of rows, names of the columns in order, key-value metadata."""

    rows: int
    columns: tuple[str, ...]
    metadata: dict[str, str]
    _leaves: tuple[_Leaf, ...] = field(default=(), repr=False)
    _groups: tuple[dict[int, Any], ...] = field(default=(), repr=False)


class Values:
    """A column as read: numbers, booleans, texts or lists of texts, some of them missing."""

    def __init__(self, content: np.ndarray | list[Any], there: np.ndarray | None = None) -> None:
        self._content, self._there = content, there if there is not None and not there.all() else None

    def __len__(self) -> int:
        return len(self._content) if self._there is None else len(self._there)

    def __getitem__(self, rows: slice) -> Values:
        """Some rows."""
        if self._there is None:
            return Values(self._content[rows])
        before = np.r_[0, np.cumsum(self._there)]
        start, stop, _ = rows.indices(len(self))
        return Values(self._content[before[start] : before[stop]], self._there[start:stop])

    def to_list(self) -> list[Any]:
        """Python's values, None where one is missing."""
        found = self._content.tolist() if isinstance(self._content, np.ndarray) else self._content
        if self._there is None:
            return list(found)
        rest = iter(found)
        return [next(rest) if there else None for there in self._there]

    def to_numpy(self) -> np.ndarray:
        """Numbers as they are, as float64 with NaN if one is missing; anything else as objects."""
        if not isinstance(self._content, np.ndarray):
            found = np.empty(len(self), dtype=object)
            found[:] = self.to_list()
            return found
        if self._there is None:
            return self._content
        found = np.full(len(self), np.nan)
        found[self._there] = self._content
        return found


def read_footer(source: Source) -> Footer:
    """What a Parquet file says of itself; nothing is unpacked.

    Raises:
        DamagedTable: it is no Parquet file, or damaged.
        OSError: it cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            return read_footer(file)
    try:
        return _footer(Decoder(_footer_bytes(source)).structure())
    except DamagedTable:
        raise
    except _BAD as error:
        raise DamagedTable("its footer is damaged") from error


def read_columns(
    source: Source, names: Sequence[str] | None = None, rows: tuple[int, int] | None = None
) -> dict[str, Values]:
    """Columns of a Parquet file, all of them if not said, in the order asked for; or rows from … to of them.

    Raises:
        DamagedTable: it is no Parquet file, damaged, lacks a column, or holds one that cannot be read here.
        OSError: it cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file:
            return read_columns(file, names, rows)
    footer, cut = read_footer(source), slice(None)
    if rows is not None:
        footer, cut = _groups_of(footer, *rows)
    wanted = footer.columns if names is None else names
    for name in wanted:
        if name not in footer.columns:
            raise DamagedTable(f"it has no column {name!r}")
    found = {name: _column(source, footer, name) for name in wanted}
    return found if rows is None else {name: values[cut] for name, values in found.items()}


def _groups_of(footer: Footer, first: int, stop: int) -> tuple[Footer, slice]:
    """The groups that hold some rows, as a footer of their own, and where in them the rows are."""
    ends = np.cumsum([group[3] for group in footer._groups])
    kept = [place for place, end in enumerate(ends) if end > first and end - footer._groups[place][3] < stop]
    before = int(ends[kept[0]]) - footer._groups[kept[0]][3] if kept else 0
    groups = tuple(footer._groups[place] for place in kept)
    return replace(footer, rows=sum(group[3] for group in groups), _groups=groups), slice(first - before, stop - before)


def _footer_bytes(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if size < len(MAGIC) + _TAIL or file.read(len(MAGIC)) != MAGIC:
        raise DamagedTable("no Parquet file")
    file.seek(size - _TAIL)
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - len(MAGIC) - _TAIL:
        raise DamagedTable("it does not end as a Parquet file does")
    file.seek(size - _TAIL - length)
    return file.read(length)


def _footer(found: dict[int, Any]) -> Footer:
    pairs = {pair[1].decode(): pair.get(2, b"").decode() for pair in found.get(5, [])}
    elements = iter(found[2])
    leaves = [leaf for _ in range(next(elements).get(5, 0)) for leaf in _leaves(elements, (), 0, 0)]
    groups = tuple(found.get(4, ()))
    rows = sum(group[3] for group in groups)
    if rows != found[3] or any(group[3] < 0 for group in groups):
        raise DamagedTable("its footer is damaged")
    return Footer(rows, tuple(dict.fromkeys(leaf.path[0] for leaf in leaves)), pairs, tuple(leaves), groups)


def _leaves(elements: Iterator[dict[int, Any]], path: tuple[str, ...], defined: int, repeated: int) -> Iterator[_Leaf]:
    """The leaves below the next element; the tree is listed parents first."""
    element = next(elements, None)
    if element is None or len(path) > 8:
        raise DamagedTable("its footer is damaged")
    repetition = element.get(3, 0)
    path, defined, repeated = (*path, element[4].decode()), defined + (repetition > 0), repeated + (repetition == 2)
    if 1 in element:
        yield _Leaf(element[1], defined, repeated, path)
    for _ in range(element.get(5, 0)):
        yield from _leaves(elements, path, defined, repeated)


# ---------------------------------------------------------------------------------------------- one column


@dataclass
class _Page:
    """What a page adds: levels, and the values that are there."""

    defined: np.ndarray
    repeated: np.ndarray
    values: np.ndarray | list[Any]


def _column(file: BinaryIO, footer: Footer, name: str) -> Values:
    places = [place for place, leaf in enumerate(footer._leaves) if leaf.path[0] == name]
    leaf = footer._leaves[places[0]]
    if len(places) > 1 or leaf.repeated > 1 or (leaf.repeated and leaf.kind == BOOLEAN):
        raise DamagedTable(f"column {name!r} is nested; numbers, texts and lists of them are read")
    try:
        chunks = [group[1][places[0]][3] for group in footer._groups if group[3]]
        if not leaf.repeated and sum(chunk[5] for chunk in chunks) != footer.rows:
            raise DamagedTable(f"column {name!r} has not {footer.rows} rows")
        pages = [page for chunk in chunks for page in _pages(file, chunk, leaf)]
        found = _joined(pages, leaf)
    except DamagedTable:
        raise
    except _BAD as error:
        raise DamagedTable(f"column {name!r} is damaged") from error
    if len(found) != footer.rows:
        raise DamagedTable(f"column {name!r} has {len(found)} rows of {footer.rows}")
    return found


def _joined(pages: list[_Page], leaf: _Leaf) -> Values:
    empty: Any = from_plain(leaf.kind, b"", 0)
    parts = [page.values for page in pages]
    if isinstance(empty, list):
        values: Any = [value for part in parts for value in part]
    else:
        values = np.concatenate([empty, *parts])
    if not leaf.defined:
        return Values(values)
    defined = np.concatenate([np.zeros(0, np.int64), *(page.defined for page in pages)])
    if not leaf.repeated:
        return Values(values, defined == leaf.defined)
    repeated = np.concatenate([np.zeros(0, np.int64), *(page.repeated for page in pages)])
    return Values(_lists(Values(values, defined == leaf.defined).to_list(), defined, repeated, leaf))


def _lists(entries: list[Any], defined: np.ndarray, repeated: np.ndarray, leaf: _Leaf) -> list[Any]:
    """Lists again: one begins where nothing is repeated; below the levels of the list itself it is empty or missing."""
    inner = leaf.defined - 1 if len(leaf.path) == 3 else leaf.defined  # of an entry that may itself be missing
    found: list[Any] = []
    for entry, level, again in zip(entries, defined.tolist(), repeated.tolist()):
        if again:
            found[-1].append(entry)
        else:
            found.append([entry] if level >= inner else None if level < inner - 1 else [])
    return found


def _pages(file: BinaryIO, chunk: dict[int, Any], leaf: _Leaf) -> Iterator[_Page]:
    """The data pages of a column's part, looked up in its dictionary where it has one."""
    start = min(chunk[9], chunk.get(11) or chunk[9])
    if start < 0 or not 0 <= chunk[7] <= file.seek(0, os.SEEK_END) - start:
        raise DamagedTable("a part beyond the file's end")
    file.seek(start)
    content = file.read(chunk[7])
    reader = Decoder(content)
    dictionary: Any = None
    missing = chunk[5]
    while missing > 0:
        head = reader.structure()
        packed = reader.take(head[3])
        if 4 in head and head[4] & 0xFFFFFFFF != zlib.crc32(packed):
            raise DamagedTable("a page's checksum does not fit")
        if head[1] == _DICTIONARY:
            dictionary = from_plain(leaf.kind, uncompressed(chunk[4], packed, head[2]), head[7][1])
        elif head[1] in (_DATA, _DATA_2):
            count = (head[5] if head[1] == _DATA else head[8])[1]
            if not 0 < count <= missing:
                raise DamagedTable(f"a page of {count} values where {missing} are missing")
            yield (_data if head[1] == _DATA else _data_2)(packed, head, chunk[4], leaf, dictionary)
            missing -= count


def _data(packed: bytes, head: dict[int, Any], codec: int, leaf: _Leaf, dictionary: Any) -> _Page:
    """A page of the first kind: everything compressed, each set of levels behind its length."""
    about = head[5]
    reader = Decoder(uncompressed(codec, packed, head[2]))
    levels = []
    for most in (leaf.repeated, leaf.defined):
        content = reader.take(int.from_bytes(reader.take(4), "little")) if most else b""
        levels.append(_levels(content, most, about[1]))
    return _page(levels, reader.content[reader.at :], about[2], leaf, dictionary)


def _data_2(packed: bytes, head: dict[int, Any], codec: int, leaf: _Leaf, dictionary: Any) -> _Page:
    """A page of the second kind: levels stand before what is compressed."""
    about = head[8]
    middle, end = about[6], about[6] + about[5]
    levels = [
        _levels(packed[:middle], leaf.repeated, about[1]),
        _levels(packed[middle:end], leaf.defined, about[1]),
    ]
    rest = packed[end:]
    body = uncompressed(codec, rest, head[2] - end) if about.get(7, True) and rest else rest
    return _page(levels, body, about[4], leaf, dictionary)


def _levels(content: bytes, most: int, count: int) -> np.ndarray:
    return from_runs(content, most.bit_length(), count) if most else np.zeros(count, np.int64)


def _page(levels: list[np.ndarray], content: bytes, encoding: int, leaf: _Leaf, dictionary: Any) -> _Page:
    repeated, defined = levels
    count = int(np.count_nonzero(defined == leaf.defined))
    if encoding == _PLAIN:
        values = from_plain(leaf.kind, content, count)
    elif encoding in _INDICES and dictionary is not None:
        values = _looked_up(dictionary, from_runs(content[1:], content[0], count) if count else np.zeros(0, int))
    elif encoding == _RLE and leaf.kind == BOOLEAN:
        values = from_runs(content[4:], 1, count).astype(bool)
    else:
        raise DamagedTable(f"its values are written in an encoding that is not read here ({encoding})")
    return _Page(defined, repeated, values)


def _looked_up(dictionary: Any, places: np.ndarray) -> Any:
    if isinstance(dictionary, list):
        return [dictionary[place] for place in places.tolist()]
    return dictionary[places]

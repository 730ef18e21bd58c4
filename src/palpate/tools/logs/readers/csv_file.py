"""Comma or blank separated tables: libfranka's, ur-rtde's, anybody's, with or without header, remarks and units."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from palpate.errors import FileError, InvalidInput, PalpateError
from palpate.lazy import check_extra
from palpate.tools.logs.readers.naming import Known
from palpate.tools.logs.readers.table import Growing, Progress, Room, Stream, Table, refuse_empty

_BLOCK = 4 << 20  # bytes read at once
_LONGEST_HEAD = 1 << 20
_BLANKS, _MARGIN = re.compile(rb"[ \t]+"), re.compile(rb"^ | (?=\r?$)", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?|[-+]?(nan|inf)|", re.IGNORECASE)


@dataclass(frozen=True)
class _Layout:
    """How a table is written.

    Attributes:
        names: of the columns; column 1, column 2 … where the file has none.
        separator: between columns.
        skipped: lines before the first row of numbers.
        decimal_comma: 0,5 for a half.
        notes: what is unusual about it.
    """

    names: list[str]
    separator: str
    skipped: int
    decimal_comma: bool = False
    notes: tuple[str, ...] = ()


def read(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read a table in blocks of 4 MiB by pyarrow, whose numbers are those nearest to the digits."""
    check_extra("pyarrow", "logs", "reading a CSV recording")
    layout = _layout(path)
    kind = _kind(layout.names)
    if isinstance(wanted, Known) and kind == "csv":
        return Table(str(path), kind, ())  # nothing says what its columns mean: no row needs to be read
    kept = [name for name in layout.names if wanted is None or name in wanted]
    room = Room()
    growing = Growing(kept, room)
    try:
        skipped = _blocks(path, layout, growing, progress)
    except PalpateError:
        raise
    except Exception as error:  # pyarrow's own errors, of many classes
        raise FileError(f"cannot read {path}: {' '.join(str(error).split())[:300]}") from error
    if kept or growing.rows:
        refuse_empty(str(path), growing.rows)
    columns, begins = growing.ended()
    notes = tuple(f"column {name!r} holds no numbers and was left out" for name in sorted(skipped))
    columns = {name: values for name, values in columns.items() if name not in skipped}
    return Table(str(path), kind, (Stream("", columns, begins=begins),), (*layout.notes, *room.notes(), *notes))


def _layout(path: Path) -> _Layout:
    """The layout from the first lines: comments, names, units, numbers."""
    lines = _head(path)
    first = next((k for k, line in enumerate(lines) if _is_numeric(line)), None)
    if first is None:
        raise InvalidInput(f"{path} has no row of numbers in its first {len(lines)} lines")
    separator = _separator(lines[first])
    comma = separator == ";" and any("," in cell for cell in _cells(lines[first], separator))
    before = [line for line in lines[:first] if line.strip()]
    count = len(_cells(lines[first], separator))
    for line in before:  # the names come before units and after remarks
        names = _cells(line.lstrip("#%/ "), _separator(line) if separator == " " else separator)
        if len(names) == count and count > 1 and not all(_NUMBER.fullmatch(name) for name in names):
            more = f"; {len(before) - 1} other lines before the numbers left out" if len(before) > 1 else ""
            return _Layout(_unique(names, path), separator, first, comma, (more[2:],) if more else ())
    if before and not all(line.lstrip().startswith(("#", "%", "//")) for line in before):
        found = len(_cells(before[0], _separator(before[0])))
        raise InvalidInput(
            f"{path}: the first line has {found} names, the rows have {count} columns",
            hint="put # before a line that is no header: columns are then counted",
        )
    names = [f"column {k}" for k in range(1, count + 1)]
    return _Layout(names, separator, first, comma, (f"the file has no header: column 1 … column {count}",))


def _head(path: Path) -> list[str]:
    with open(path, "rb") as file:
        start = file.read(_LONGEST_HEAD)
    try:
        text = start.decode("utf-8-sig", errors="ignore" if len(start) == _LONGEST_HEAD else "strict")
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {path}: it is no UTF-8 text") from error
    return text.splitlines()[:200]


def _is_numeric(line: str) -> bool:
    """Whether a line is a row of numbers: half of its cells or more, the first or second among them."""
    cells = _cells(line, _separator(line))
    numbers = [bool(cell) and bool(_NUMBER.fullmatch(cell)) for cell in cells]
    return sum(numbers) >= max(1, 0.5 * len(cells)) and any(numbers[:2]) if line.strip() else False


def _separator(line: str) -> str:
    if ";" in line:
        return ";"
    if "," in line:
        return ","
    return "\t" if "\t" in line and not any(map(_are_numbers, line.split("\t"))) else " "


def _are_numbers(cell: str) -> bool:
    """Whether a cell between tabs holds several numbers, so that blanks separate columns too."""
    parts = cell.split()
    return len(parts) > 1 and all(_NUMBER.fullmatch(part) for part in parts)


def _cells(line: str, separator: str) -> list[str]:
    parts = re.split(r"[ \t]+", line.strip()) if separator == " " else line.rstrip("\r\n").split(separator)
    return [part.strip().strip('"').strip() for part in parts]


def _unique(names: list[str], path: Path) -> list[str]:
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise InvalidInput(f"{path} has more than one column {twice[0]!r}")
    return [name or f"column {k}" for k, name in enumerate(names, 1)]


def _blocks(path: Path, layout: _Layout, growing: Growing, progress: Progress) -> set[str]:
    """Fill `growing`; which of its columns hold texts."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    total, done, texts = path.stat().st_size, 0, set()
    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(
            column_names=layout.names, skip_rows=layout.skipped, block_size=_BLOCK, use_threads=False
        ),
        "parse_options": csv.ParseOptions(delimiter=layout.separator, ignore_empty_lines=True),
        "convert_options": csv.ConvertOptions(
            include_columns=list(growing.names),
            column_types={name: pa.string() for name in growing.names},
            strings_can_be_null=False,
        ),
    }
    with open(path, "rb") as file, csv.open_csv(_Evened(file, layout), **options) as reader:
        for batch in reader:
            columns = []
            for name, column in zip(growing.names, batch.columns):
                numbers = _numbers(column, layout.decimal_comma)
                if numbers is None:
                    texts.add(name)
                    numbers = np.full(len(column), np.nan)
                columns.append(numbers)
            growing.add(columns)
            done = min(total, done + _BLOCK)
            progress(done, total)
    pa.default_memory_pool().release_unused()
    return texts


class _Evened:
    """A file to read whose runs of blanks and tabs are one blank each, none at the ends of a line; others as it is."""

    closed = False

    def __init__(self, file: BinaryIO, layout: _Layout) -> None:
        self.file, self.blanks = file, layout.separator == " "

    def read(self, size: int = -1) -> bytes:
        """The next bytes, whole lines where blanks separate; b"" at the end."""
        block = self.file.read(size)
        if not self.blanks:
            return block
        block += self.file.readline() if block else b""
        return _MARGIN.sub(b"", _BLANKS.sub(b" ", block))

    def close(self) -> None:
        """Nothing: who opened the file closes it."""


def _numbers(column: Any, decimal_comma: bool) -> Any:
    """A column of texts as numbers, blanks as NaN, dates as seconds; None where there is another text."""
    import pyarrow as pa
    from pyarrow import compute as arrow

    compute: Any = arrow  # whose functions are made at import
    trimmed = compute.utf8_trim_whitespace(column)
    if decimal_comma:
        trimmed = compute.replace_substring(trimmed, ",", ".")
    blank = compute.is_in(compute.utf8_lower(trimmed), pa.array(["", "nan", "null", "none", "na", "n/a"]))
    texts = compute.if_else(blank, None, trimmed)
    try:
        return texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        pass
    try:
        return 1e-9 * texts.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None


def _kind(names: Collection[str]) -> str:
    if {"state.q[0]", "state.dq[0]"} <= set(names):
        return "libfranka csv"
    if {"timestamp", "actual_q_0"} <= set(names):
        return "ur-rtde csv"
    return "csv"

"""Comma or blank separated tables with a header: libfranka's, ur-rtde's, anybody's."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from palpate.errors import FileError, InvalidInput, PalpateError
from palpate.lazy import check_extra
from palpate.tools.logs.table import Growing, Progress, Stream, Table, refuse_empty

_BLOCK = 4 << 20  # bytes read at once
_LONGEST_HEADER = 1 << 20


def read(path: Path, wanted: Collection[str] | None, progress: Progress) -> Table:
    """Read a table in blocks of 4 MiB by pyarrow, whose numbers are those nearest to the digits."""
    check_extra("pyarrow", "logs", "reading a CSV recording")
    header = _header(path)
    separator = "," if "," in header else ";" if ";" in header else "\t" if "\t" in header else " "
    names = _names(header, separator, path)
    kept = [name for name in names if wanted is None or name in wanted]
    growing = Growing(kept, str(path))
    try:
        skipped = _blocks(path, names, separator, growing, progress)
    except PalpateError:
        raise
    except Exception as error:  # pyarrow's own errors, of many classes
        raise FileError(f"cannot read {path}: {' '.join(str(error).split())[:300]}") from error
    columns = growing.columns()
    refuse_empty(str(path), len(next(iter(columns.values()), ())))
    notes = tuple(f"column {name!r} holds no numbers and was left out" for name in skipped)
    columns = {name: values for name, values in columns.items() if name not in skipped}
    return Table(str(path), _kind(names), (Stream("", columns),), notes)


def _header(path: Path) -> str:
    with open(path, "rb") as file:
        line = file.readline(_LONGEST_HEADER)
    try:
        return line.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {path}: its first line is no UTF-8 text") from error


def _names(header: str, separator: str, path: Path) -> list[str]:
    names = [part.strip().strip('"') for part in re.split(r" +" if separator == " " else re.escape(separator), header)]
    if all(re.fullmatch(r"[-+.\deE]*", name) for name in names):
        raise InvalidInput(
            f"{path} has no header: its first line holds numbers", hint="name the columns in a first line"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"{path} has more than one column {twice[0]!r}")
    return names


def _blocks(path: Path, names: list[str], separator: str, growing: Growing, progress: Progress) -> set[str]:
    """Fill `growing`; which of its columns hold texts."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    total, done, texts = path.stat().st_size, 0, set()
    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(column_names=names, skip_rows=1, block_size=_BLOCK, use_threads=False),
        "parse_options": csv.ParseOptions(delimiter=separator, ignore_empty_lines=True),
        "convert_options": csv.ConvertOptions(
            include_columns=list(growing.names),
            column_types={name: pa.string() for name in growing.names},
            strings_can_be_null=False,
        ),
    }
    with csv.open_csv(path, **options) as reader:
        for batch in reader:
            columns = []
            for name, column in zip(growing.names, batch.columns):
                numbers = _numbers(column)
                if numbers is None:
                    texts.add(name)
                    numbers = np.full(len(column), np.nan)
                columns.append(numbers)
            growing.add(columns)
            done = min(total, done + _BLOCK)
            progress(done, total)
    return texts


def _numbers(column: Any) -> Any:
    """A column of texts as numbers, blanks as NaN; None where there is a text that is no number."""
    import pyarrow as pa
    from pyarrow import compute as arrow

    compute: Any = arrow  # whose functions are made at import
    trimmed = compute.utf8_trim_whitespace(column)
    blank = compute.is_in(compute.utf8_lower(trimmed), pa.array(["", "nan", "null", "none", "na"]))
    try:
        return compute.if_else(blank, None, trimmed).cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None


def _kind(names: Collection[str]) -> str:
    if {"state.q[0]", "state.dq[0]"} <= set(names):
        return "libfranka csv"
    if {"timestamp", "actual_q_0"} <= set(names):
        return "ur-rtde csv"
    return "csv"

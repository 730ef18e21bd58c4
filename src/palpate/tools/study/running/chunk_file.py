"""The file of a chunk: its rows as one line of JSON, and their checksum before it.

It lives until the table is made, and one is written every few runs: a Parquet file, which costs as much as a run, is
for the table.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from palpate.errors import DamagedTable
from palpate.files import read_text, write_file


def write_chunk(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of a chunk, whole or not at all."""
    content = json.dumps(columns, default=lambda number: number.item())
    write_file(path, f"{_checksum(content)}\n{content}\n")


def read_chunk(path: Path) -> dict[str, list[Any]]:
    """The columns of a chunk; the same numbers to the last bit.

    Raises:
        DamagedTable: these are not the columns that were written.
        FileError: there is no such file.
    """
    checksum, _, content = read_text(path).partition("\n")
    content = content.removesuffix("\n")
    if checksum != _checksum(content):
        raise DamagedTable(f"{path} is damaged: its checksum does not fit")
    try:
        columns = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedTable(f"{path} holds no rows: {error}") from error
    if not isinstance(columns, dict) or not all(isinstance(values, list) for values in columns.values()):
        raise DamagedTable(f"{path} holds no columns")
    return columns


def _checksum(content: str) -> str:
    return f"{zlib.crc32(content.encode()):08x}"

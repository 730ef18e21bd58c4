"""The part of a file that holds a Parquet table, and the bytes of its footer."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from palpate.errors import DamagedTable, FileError
from palpate.files import open_regular
from palpate.parquet import layout

Source = str | os.PathLike[str] | BinaryIO
MOST_BYTES = 64 << 30  # of a file


@dataclass(frozen=True)
class Section:
    """The part of a file that holds a table; nothing outside of it is read."""

    file: BinaryIO
    start: int
    size: int

    def read(self, at: int, count: int) -> bytes:
        """`count` bytes from `at` on, counted from the start of the section."""
        if not 0 <= at <= at + count <= self.size:
            raise DamagedTable("a part beyond the file's end")
        self.file.seek(self.start + at)
        return self.file.read(count)


@contextlib.contextmanager
def opened_section(source: Source, start: int = 0, size: int | None = None) -> Iterator[Section]:
    """A file, opened, as the section of it that holds a table."""
    if isinstance(source, str | os.PathLike):
        try:
            with open_regular(source, most_bytes=MOST_BYTES) as file, opened_section(file, start, size) as section:
                yield section
        except DamagedTable as error:
            raise DamagedTable(f"cannot read {os.fspath(source)}: {error.args[0]}") from error
        except OSError as error:
            raise FileError(f"cannot read {os.fspath(source)}: {error.strerror or error}") from error
        return
    remaining = source.seek(0, os.SEEK_END) - start
    if start < 0 or not 0 <= (remaining if size is None else size) <= remaining:
        raise DamagedTable("a part beyond the file's end")
    yield Section(source, start, remaining if size is None else size)


def footer_bytes(section: Section) -> tuple[bytes, int]:
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

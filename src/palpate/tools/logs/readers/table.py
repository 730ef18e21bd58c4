"""Raw columns of a recording, as its file has them: no unit, frame or meaning yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, TooLarge, UnknownName

FEWEST_ROWS = 10
MOST_BYTES = 1 << 30  # of the columns that are kept, in memory
Progress = Callable[[int, int], None]  # bytes or rows done, of how many


@dataclass(frozen=True)
class Stream:
    """Columns that share one clock: a table, or a topic of a bag.

    Attributes:
        name: of the topic, "" for a table.
        columns: each column's numbers, float64, all of one length.
        stamp: the stream's own clock, s, where its format has one.
        received: the recorder's clock, s, where its format has one besides.
    """

    name: str
    columns: dict[str, Array]
    stamp: Array | None = None
    received: Array | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))


@dataclass(frozen=True)
class Table:
    """Everything numeric that was read from a file.

    Attributes:
        path: the file or folder, as given.
        kind: what it is, such as "libfranka csv" or "rosbag2".
        streams: one, or one per topic.
        notes: what was left out on the way.
        sha256: of the file's bytes.
    """

    path: str
    kind: str
    streams: tuple[Stream, ...]
    notes: tuple[str, ...] = ()
    sha256: str = ""

    @property
    def columns(self) -> dict[str, tuple[Stream, Array]]:
        """Every column by name, with the stream it belongs to."""
        return {name: (s, values) for s in self.streams for name, values in s.columns.items()}

    def column(self, name: str) -> tuple[Stream, Array]:
        """A column and its stream.

        Raises:
            UnknownName: there is none of that name.
        """
        columns = self.columns
        if name not in columns:
            raise UnknownName(f"column of {self.path}", name, columns)
        return columns[name]


@dataclass
class Growing:
    """Columns that grow chunk by chunk, refused before they fill the memory."""

    names: Sequence[str]
    path: str
    chunks: dict[str, list[Array]] = field(default_factory=dict)
    bytes: int = 0

    def add(self, columns: Iterable[Array]) -> None:
        """Append one chunk of each column.

        Raises:
            TooLarge: the columns together take more than `MOST_BYTES`.
        """
        for name, values in zip(self.names, columns, strict=True):
            numbers = np.ascontiguousarray(values, dtype=np.float64)
            self.chunks.setdefault(name, []).append(numbers)
            self.bytes += numbers.nbytes
        refuse_too_much(self.path, self.bytes)

    def columns(self) -> dict[str, Array]:
        """The whole columns; what was collected is let go of."""
        return {name: np.concatenate(self.chunks.pop(name)) for name in self.names if name in self.chunks}


def refuse_too_much(path: str, size: int) -> None:
    """Refuse columns that together take more than `MOST_BYTES`."""
    if size > MOST_BYTES:
        raise TooLarge(
            f"{path}: the columns that are needed take more than {MOST_BYTES >> 20} MiB",
            hint="name fewer columns in the map, or cut the recording",
        )


def refuse_empty(path: str, rows: int) -> None:
    """Refuse a recording of fewer than `FEWEST_ROWS` rows."""
    if rows < FEWEST_ROWS:
        raise InvalidInput(f"{path} has {rows} rows; a recording needs at least {FEWEST_ROWS}")

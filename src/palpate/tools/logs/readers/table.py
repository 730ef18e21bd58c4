"""Raw columns of a recording, as its file has them: no unit, frame or meaning yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, TooLarge, UnknownName

FEWEST_ROWS = 10
MOST_BYTES = 1 << 30  # of the columns of a file that is read at once
KEPT_BYTES = 128 << 20  # of the columns of a file that is read in blocks
STRETCH = 1 << 15  # rows that are kept, or let go of, together
Progress = Callable[[int, int], None]  # bytes or rows done, of how many


@dataclass(frozen=True)
class Stream:
    """Columns that share one clock: a table, or a topic of a bag.

    Attributes:
        name: of the topic, "" for a table.
        columns: each column's numbers, float64, all of one length.
        stamp: the stream's own clock, s, where its format has one.
        received: the recorder's clock, s, where its format has one besides.
        begins: rows at which a stretch begins that does not follow the one before, and their numbers in the file.
    """

    name: str
    columns: dict[str, Array]
    stamp: Array | None = None
    received: Array | None = None
    begins: tuple[tuple[int, int], ...] = ((0, 0),)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def numbers(self) -> Array:
        """Number of each row in the file."""
        rows = np.arange(len(self))
        first, number = np.array(self.begins).T
        which = np.searchsorted(first, rows, side="right") - 1
        return rows - first[which] + number[which]


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
    """Columns that grow chunk by chunk, of which a long recording keeps stretches within bounded memory.

    Rows are gathered in stretches of `STRETCH`. Once all columns that share `room` take more than `KEPT_BYTES`, every
    second stretch is let go of, and of those that follow as many: what is kept is spread evenly over the recording.
    """

    names: Sequence[str]
    room: Room
    stretches: list[tuple[int, Array]] = field(default_factory=list)
    every: int = 1
    rows: int = 0
    _open: Array | None = None

    def __post_init__(self) -> None:
        self.room.growing.append(self)

    def add(self, columns: Iterable[Array]) -> None:
        """Append one chunk of each column."""
        chunk = [np.asarray(values) for values in columns]
        count, done = len(chunk[0]) if chunk else 0, 0
        while done < count:
            filled = self.rows % STRETCH
            part = slice(done, done + min(STRETCH - filled, count - done))
            if self.rows // STRETCH % self.every == 0:
                self._fill(filled, [values[part] for values in chunk])
            self.rows += part.stop - part.start
            done = part.stop
            if self.rows % STRETCH == 0:
                self._close()

    def _fill(self, filled: int, parts: list[Array]) -> None:
        if self._open is None:
            self._open = np.empty((len(self.names), STRETCH))
        for row, values in zip(self._open, parts, strict=True):
            row[filled : filled + len(values)] = values

    def _close(self) -> None:
        """End the stretch that is being filled."""
        if self._open is not None:
            number = (self.rows - 1) // STRETCH
            self.stretches.append((number * STRETCH, self._open[:, : self.rows - number * STRETCH]))
            self._open = None
            self.room.thin()

    def thin(self) -> None:
        """Let go of every second stretch, and of every second one to come."""
        self.every *= 2
        self.stretches = [one for one in self.stretches if one[0] // STRETCH % self.every == 0]

    @property
    def bytes(self) -> int:
        """Memory that the stretches take."""
        return sum(values.nbytes for _, values in self.stretches)

    def ended(self) -> tuple[dict[str, Array], tuple[tuple[int, int], ...]]:
        """The columns, and where their stretches begin: rows that are kept, with their numbers in the file."""
        self._close()
        begins = np.cumsum([0, *(values.shape[1] for _, values in self.stretches)])[:-1]
        numbers = [number for number, _ in self.stretches]
        columns = {
            name: np.concatenate([values[k] for _, values in self.stretches])
            for k, name in enumerate(self.names)
            if self.stretches
        }
        self.stretches = []
        jumps = [k == 0 or numbers[k] - numbers[k - 1] != begins[k] - begins[k - 1] for k in range(len(numbers))]
        return columns, tuple((int(row), n) for row, n, jump in zip(begins, numbers, jumps) if jump) or ((0, 0),)


class Room:
    """The memory that all columns of a file share."""

    def __init__(self) -> None:
        self.growing: list[Growing] = []

    def thin(self) -> None:
        """Halve the largest ones until all of them fit into `KEPT_BYTES`."""
        while sum(one.bytes for one in self.growing) > KEPT_BYTES:
            largest = max(self.growing, key=lambda one: one.bytes)
            if len(largest.stretches) < 2:
                return
            largest.thin()

    def notes(self) -> tuple[str, ...]:
        """A sentence where a recording is too long to be kept whole; to be asked before the columns are taken."""
        return tuple(
            f"of {one.rows} rows one stretch of {STRETCH} in {one.every} is kept: the whole takes more than"
            f" {KEPT_BYTES >> 20} MiB"
            for one in self.growing
            if one.every > 1
        )


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

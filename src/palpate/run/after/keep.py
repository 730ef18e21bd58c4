"""Samples on their way out of the loop: into the arrays of the trace, and into a file that outlives the process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.engine.kernels import kernel
from palpate.engine.records import Integers, ReadMatrix, Vector
from palpate.errors import FileError, NotKept, UnknownName
from palpate.run.assemble.assemble import Assembly
from palpate.run.loop.state import Loop
from palpate.trace import Channel, Trace
from palpate.trace.channel import TIME
from palpate.trace.partial import PartialFile

EVERY = 2.0  # s between two writings; a run that is over sooner writes nothing on the way


class Keeper:
    """Takes the samples of each batch out of the loop, up to the first that is not finite.

    Attributes:
        count: samples kept.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.assembly, self.count, self._broken = assembly, 0, False
        samples = assembly.run.clock.steps // assembly.run.record.stride + 1
        self._times = np.empty(samples)  # pages that are never written take no memory
        self._arrays = {channel: np.empty((samples, *channel.shape)) for channel in assembly.chosen}

    def take(self) -> None:
        """Move what the loop has recorded since the last time."""
        L = self.assembly.loop
        fresh, rows, L.recorded = L.recorded, L.record, 0
        good = _finite(rows[:fresh])
        if self._broken or not good:
            self._broken = self._broken or fresh > 0
            return
        self._broken = good < fresh
        span, column = slice(self.count, self.count + good), 0
        self._times[span] = L.times[:good]
        for channel, array in self._arrays.items():
            array[span] = rows[:good, column : column + channel.size].reshape(good, *channel.shape)
            column += channel.size
        self.count += good

    @property
    def times(self) -> Array:
        """Instants kept, s."""
        return self._times[: self.count]

    @property
    def data(self) -> dict[Channel, Array]:
        """Every channel's samples kept."""
        return {channel: array[: self.count] for channel, array in self._arrays.items()}

    @property
    def named(self) -> dict[str, Array]:
        """The same by name, time among them."""
        return {TIME.name: self.times, **{channel.name: array for channel, array in self.data.items()}}


class Channels:
    """Samples of runs that are kept in one batch, sorted by channel: those of the next run take the place of the last.

    Runs of a block have the same channels and the same number of samples, so that there is room for one of them.
    """

    def __init__(self, assembly: Assembly) -> None:
        """Make room for a run's samples."""
        loop, sizes = assembly.loop, [channel.size for channel in assembly.chosen]
        self._samples, width = loop.record.shape
        self._sizes, self._sorted = np.array(sizes, dtype=np.int64), np.empty(self._samples * width)
        self._arrays: dict[str, Array] = {}
        start = 0
        for channel in assembly.chosen:
            count = self._samples * channel.size
            self._arrays[channel.name] = self._sorted[start : start + count].reshape(self._samples, *channel.shape)
            start += count

    def take(self, loop: Loop) -> dict[str, Array]:
        """Samples that the loop has recorded, by name, time among them, up to the first that is not finite."""
        fresh, loop.recorded = loop.recorded, 0
        good = sort_by_channel(loop.record, fresh, self._sizes, self._sorted)
        arrays = {TIME.name: loop.times[:good], **self._arrays}
        return arrays if good == self._samples else {name: array[:good] for name, array in arrays.items()}


@kernel
def sort_by_channel(rows: ReadMatrix, count: int, sizes: Integers, out: Vector) -> int:
    """Put the columns of each channel next to each other; how many rows there are before the first not finite."""
    for k in range(count):
        column, start, sum_of_zeros = 0, 0, 0.0
        for channel in range(sizes.size):
            size = sizes[channel]
            for i in range(size):
                x = rows[k, column + i]
                out[start + k * size + i] = x
                sum_of_zeros += 0.0 * x
            column += size
            start += rows.shape[0] * size
        if sum_of_zeros != 0.0:  # NaN
            return k
    return count


class Noted(Mapping[str, Array]):
    """A run's arrays by name, which note what is read of them: the next run of a sweep need keep no more.

    Every channel that the run has is among the names; to read one of which nothing was kept raises NotKept.
    """

    def __init__(self, arrays: Mapping[str, Array], names: Mapping[str, Any], read: set[str]) -> None:
        self._arrays, self._names, self._read = arrays, names, read

    def __getitem__(self, name: str) -> Array:
        array = self._arrays.get(name)
        if array is not None:
            self._read.add(name)
            return array
        if name not in self._names:
            raise UnknownName("channel", str(name), self._names)
        self._read.add(name)
        raise NotKept(f"nothing was kept of channel {name!r}")

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def get(self, name: str, default: Any = None) -> Any:
        """An array, or the default for a name that no channel has."""
        return self[name] if name in self._names else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _finite(rows: Array) -> int:
    """How many rows there are before the first that is not finite."""
    finite = np.isfinite(rows)
    return len(rows) if finite.all() else int(np.argmin(finite.all(axis=1)))


class Partial:
    """Writes what a keeper holds to a file, now and then, for the case that the process ends before the run does."""

    def __init__(self, keeper: Keeper, path: str | os.PathLike[str] | None, empty: Callable[[], Trace]) -> None:
        self._keeper, self._path, self._empty = keeper, path, empty
        self._file: PartialFile | None = None
        self._written, self._last = 0, time.monotonic()
        self.trouble: str | None = None

    def update(self) -> None:
        """Write what is new if it is time to; a disk that is full costs this file, not the run."""
        if self._path is None or self.trouble is not None or time.monotonic() - self._last < EVERY:
            return
        try:
            self._write(Path(self._path))
        except FileError as error:
            self.trouble = f"the partial trace could not be kept up to date: {error.args[0]}"

    def _write(self, path: Path) -> None:
        if self._file is None:
            self._file = PartialFile(path, self._empty())
        new = slice(self._written, self._keeper.count)
        self._file.append(self._keeper.times[new], {c: array[new] for c, array in self._keeper.data.items()})
        self._written, self._last = self._keeper.count, time.monotonic()

    def close(self) -> None:
        """Close the file; it stays until a complete one replaces it."""
        if self._file is not None:
            self._file.close()

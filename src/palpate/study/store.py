"""The folder of a sweep: its plan, the chunks that are done, and at last one table.

sweep.json         the plan
scenario.toml      the scenario before anything varies
chunks/<run>.parquet   rows from that run on, each file whole or absent; gone once the table is there
table.parquet      every row, in the order of the runs
traces/<run>.parquet   the traces that are kept
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.errors import FileError, InvalidInput
from palpate.files import atomic_write
from palpate.study import rows as R
from palpate.study.design import Point, Stage
from palpate.study.plan import Plan, differences, plan_from_text
from palpate.study.worker import Result
from palpate.toml import toml_text

if TYPE_CHECKING:
    import pyarrow as pa

PLAN, SCENARIO, CHUNKS, TABLE, TRACES = "sweep.json", "scenario.toml", "chunks", "table.parquet", "traces"
KEY = "palpate.sweep"  # the plan, in the table's own metadata
ROWS_PER_GROUP = 20_000


class Store:
    """What is known of a sweep so far, on disk."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.plan = folder, plan
        self._lock: Any = None

    @property
    def path(self) -> Path:
        """The table."""
        return self.folder / TABLE

    @property
    def complete(self) -> bool:
        """Whether the table is there."""
        return self.path.is_file()

    # ------------------------------------------------------------------ opening

    @classmethod
    def begin(cls, folder: str | os.PathLike[str], plan: Plan) -> Store:
        """A new folder for a sweep, or that of the same sweep, to go on with.

        Raises:
            FileError: the folder holds something else, or another sweep.
        """
        place = Path(folder)
        if (place / PLAN).is_file():
            store = cls.open(place)
            if changed := differences(plan, store.plan):
                raise FileError(
                    f"{place} holds another sweep: {'; '.join(changed)}",
                    hint="name another folder with --out, or go on with that one: palpate sweep --resume " + str(place),
                )
            return store
        check_place(place)
        with _told(place):
            (place / CHUNKS).mkdir(parents=True, exist_ok=True)
        text = f"# What a sweep varies around.\n\n{toml_text(plan.scenario)}"
        atomic_write(place / SCENARIO, lambda file: file.write(text.encode()))
        atomic_write(place / PLAN, lambda file: file.write(plan.text().encode()))
        return cls(place, plan)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """The folder of a sweep that was begun."""
        path = Path(folder) / PLAN
        try:
            return cls(Path(folder), plan_from_text(path.read_text("utf-8"), str(path)))
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"{folder} holds no sweep ({error})", hint="give the folder of a sweep") from error

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep a second process from working on the same folder."""
        try:
            import fcntl
        except ImportError:  # not every system has it
            yield
            return
        with open(self.folder / PLAN, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise FileError(f"another process is working on the sweep in {self.folder}") from error
            yield

    # ------------------------------------------------------------------ chunks

    def missing(self, stage: Stage) -> list[tuple[int, int]]:
        """The chunks of a stage that are not done: first run and the one after the last."""
        if self.complete:
            return []
        return [chunk for chunk in self._chunks(stage) if not self._done(*chunk)]

    def _chunks(self, stage: Stage) -> Iterator[tuple[int, int]]:
        end = stage.first + stage.count
        for first in range(stage.first, end, self.plan.chunk):
            yield first, min(first + self.plan.chunk, end)

    def _file(self, first: int) -> Path:
        return self.folder / CHUNKS / f"{first:010d}.parquet"

    def _done(self, first: int, stop: int) -> bool:
        import pyarrow.parquet as pq

        if not self._file(first).is_file():
            return False
        try:
            return pq.read_metadata(self._file(first)).num_rows == stop - first
        except (OSError, ValueError):  # damaged: made again
            return False

    def write(self, points: Sequence[Point], results: Sequence[Result]) -> None:
        """Keep a chunk: its traces first, so that rows never promise what is not there."""
        for result in results:
            if result.trace is not None:
                self.write_trace(result.run, result.trace)
        content = R.table(self.plan, [R.record(self.plan, p, r) for p, r in zip(points, results)])
        atomic_write(self._file(results[0].run), lambda file: _write(file, content.schema, [content], {}))

    def trace_path(self, run: int) -> Path:
        """Where the trace of a run is kept."""
        return self.folder / TRACES / f"{run:010d}.parquet"

    def write_trace(self, run: int, content: bytes) -> None:
        """Keep a trace."""
        with _told(self.folder):
            (self.folder / TRACES).mkdir(exist_ok=True)
        atomic_write(self.trace_path(run), lambda file: file.write(content))

    # ------------------------------------------------------------------ reading

    def columns(self, names: Sequence[str], first: int = 0, count: int | None = None) -> dict[str, list[Any]]:
        """Columns of the runs first … first + count − 1, all of them by default, in the order of the runs."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = list(dict.fromkeys(names))
        if self.complete:
            found = pq.read_table(self.path, columns=list(names)).slice(first, count)
        else:
            stop = None if count is None else first + count
            files = [f for f in self._files() if first <= int(f.stem) and (stop is None or int(f.stem) < stop)]
            parts = [pq.read_table(file, columns=list(names)) for file in files]
            found = pa.concat_tables(parts) if parts else R.table(self.plan, []).select(list(names))
        return {name: found.column(name).to_pylist() for name in names}

    def _files(self) -> list[Path]:
        return sorted((self.folder / CHUNKS).glob("*.parquet"))

    # ------------------------------------------------------------------ the end

    def merge(self, runs: int) -> None:
        """Make one table of the first `runs` rows; then drop the chunks."""
        import pyarrow.parquet as pq

        if not self.complete:
            parts = (pq.read_table(file) for file in self._files() if int(file.stem) < runs)
            meta = {KEY: self.plan.text()}
            atomic_write(self.path, lambda file: _write(file, R.schema(self.plan), parts, meta))
            found = pq.read_metadata(self.path).num_rows
            if found != runs:
                self.path.unlink()
                raise FileError(f"the chunks in {self.folder} hold {found} runs, {runs} were made")
        for file in self._files():
            file.unlink()
        with contextlib.suppress(OSError):
            (self.folder / CHUNKS).rmdir()


def check_place(folder: Path) -> None:
    """Refuse a place where no sweep may be written."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file", hint="give a folder")
    found = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if set(found) - {CHUNKS, SCENARIO}:
        raise FileError(
            f"{folder} holds other things than a sweep: {', '.join(found[:5])}", hint="give a new or empty folder"
        )


@contextlib.contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(
            f"cannot write in {folder}: {error.strerror}", hint="check free space and permissions of the folder"
        ) from error


def _write(file: Any, form: pa.Schema, parts: Iterable[pa.Table], meta: dict[str, str]) -> None:
    """Tables one after the other as Parquet, in row groups of one size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, form, version="2.6", compression="zstd", write_page_checksum=True) as writer:
        waiting: list[pa.Table] = []
        for part in parts:
            waiting.append(part.cast(form))
            if sum(map(len, waiting)) >= ROWS_PER_GROUP:
                writer.write_table(pa.concat_tables(waiting), row_group_size=ROWS_PER_GROUP)
                waiting = []
        if waiting or not meta:
            writer.write_table(pa.concat_tables(waiting or [form.empty_table()]))
        if meta:
            writer.add_key_value_metadata(meta)


def read_plan(table: str | os.PathLike[str]) -> Plan:
    """The plan in a table's own metadata."""
    import pyarrow.parquet as pq

    meta = pq.read_metadata(table).metadata or {}
    if KEY.encode() not in meta:
        raise InvalidInput(f"{table} is no table of a sweep")
    return plan_from_text(meta[KEY.encode()].decode(), str(table))

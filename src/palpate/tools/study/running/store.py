"""The folder of a sweep: its plan, the chunks that are done, and at last one table.

sweep.json         the plan
scenario.toml      the scenario before anything varies
chunks/<run>.json   rows from that run on, each file whole or absent; gone once the table is there
table.parquet      every row, in the order of the runs
traces/<run>.parquet   the traces that are kept
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from palpate.errors import DamagedTable, FileError, PalpateError
from palpate.files import atomic_write, make_folder, read_text, remove_litter, write_file
from palpate.parquet import ParquetWriter, read_columns, read_footer
from palpate.toml import toml_text
from palpate.tools.study.plans.plan import Plan, differences, plan_from_text
from palpate.tools.study.plans.points import PlannedRun, PlanStage
from palpate.tools.study.running.chunk_file import read_chunk, write_chunk
from palpate.tools.study.running.table import record, schema, units
from palpate.tools.study.running.worker import RunResult

PLAN, SCENARIO, CHUNKS, TABLE, TRACES = "sweep.json", "scenario.toml", "chunks", "table.parquet", "traces"
# In the table's own metadata: the plan, the units of metrics, and a checksum of the two.
KEY, UNITS, SEAL = "palpate.sweep", "palpate.units", "palpate.sha256"
ROWS_PER_GROUP = 20_000


class Store:
    """The folder of a sweep: its plan and the rows that are done."""

    def __init__(self, folder: Path, plan: Plan, temporary: object = None) -> None:
        self.folder, self.plan = folder, plan
        self._temporary = temporary  # a temporary folder lives as long as the store

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
    def begin(cls, folder: str | os.PathLike[str] | None, plan: Plan, temporary: object = None) -> Store:
        """A new folder for a sweep, or that of the same sweep, to go on with; a temporary one if none is given.

        Raises:
            FileError: the folder holds something else, or another sweep.
        """
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="palpate-sweep-")
            folder = temporary.name
        path = make_folder(folder)
        if (path / PLAN).is_file():
            store = cls.open(path)
            if changed := differences(plan, store.plan):
                raise FileError(
                    f"{path} holds another sweep: {'; '.join(changed)}",
                    hint="name another folder with --out, or go on with that one: palpate sweep --resume " + str(path),
                )
            return store
        check_content(path, "a sweep", PLAN, {CHUNKS, SCENARIO})
        kept = plan.seen_from(path)
        write_file(path / SCENARIO, f"# What a sweep varies around.\n\n{toml_text(kept.scenario)}")
        write_file(path / PLAN, kept.text())
        return cls(path, plan, temporary)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Store:
        """The folder of a sweep that was begun."""
        path = Path(folder) / PLAN
        try:
            plan = plan_from_text(read_text(path), str(path)).read_in(folder)
        except FileError as error:
            raise FileError(f"{folder} holds no sweep: {error.args[0]}", hint="give the folder of a sweep") from error
        except (AttributeError, TypeError, LookupError) as error:  # a scenario that palpate does not write
            raise FileError(f"{path} describes no sweep: its scenario is damaged ({error})") from error
        store = cls(Path(folder), plan)
        if store.complete:
            store.check_table()
        return store

    def check_table(self) -> None:
        """Compare the table's description with the plan.

        Raises:
            DamagedTable: it is damaged, or the table of another sweep.
        """
        footer = read_footer(self.path)
        if footer.columns != tuple(column.name for column in schema(self.plan)):
            raise DamagedTable(f"{self.path} has other columns than the sweep of {PLAN}")
        described = {key: text for key, text in footer.metadata.items() if key != SEAL}
        if described.keys() != {KEY, UNITS} or footer.metadata.get(SEAL, _seal(described)) != _seal(described):
            raise DamagedTable(f"{self.path} is damaged: the checksum of its description does not fit")

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep a second process from working on the same folder, in which no link leads elsewhere."""
        for name in (PLAN, TABLE, CHUNKS, TRACES):
            if (self.folder / name).is_symlink():
                raise FileError(f"{self.folder / name} is a symbolic link", hint="put the file itself there")
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

    def missing(self, stage: PlanStage) -> list[tuple[int, int]]:
        """The chunks of a stage that are not done: first run and the one after the last."""
        if self.complete:
            return []
        size, end = self.plan.chunk, stage.first + stage.count
        chunks = [(first, min(first + size, end)) for first in range(stage.first, end, size)]
        return [chunk for chunk in chunks if not self._done(*chunk)]

    def _file(self, first: int) -> Path:
        return self.folder / CHUNKS / f"{first:010d}.json"

    def _done(self, first: int, stop: int) -> bool:
        if not self._file(first).is_file():
            return False
        try:
            columns = read_chunk(self._file(first))
        except PalpateError:  # damaged: made again
            return False
        names = [column.name for column in schema(self.plan)]
        return list(columns) == names and all(len(values) == stop - first for values in columns.values())

    def write(self, points: Sequence[PlannedRun], results: Sequence[RunResult]) -> None:
        """Keep a chunk: its traces first, so that rows never promise what is not there."""
        for result in results:
            if result.trace is not None:
                make_folder(self.folder / TRACES)
                write_file(self.trace_path(result.run), result.trace)
        rows = [record(self.plan, point, result) for point, result in zip(points, results)]
        make_folder(self.folder / CHUNKS)
        names = [column.name for column in schema(self.plan)]
        write_chunk(self._file(results[0].run), {name: [row.get(name) for row in rows] for name in names})

    def trace_path(self, run: int) -> Path:
        """Where the trace of a run is kept."""
        return self.folder / TRACES / f"{run:010d}.parquet"

    # ------------------------------------------------------------------ reading

    def columns(self, names: Sequence[str], first: int = 0, count: int | None = None) -> dict[str, list[Any]]:
        """Columns of the runs first … first + count − 1, all of them by default, in the order of the runs."""
        names, stop = list(dict.fromkeys(names)), None if count is None else first + count
        if self.complete:
            return {name: values.to_list()[first:stop] for name, values in read_columns(self.path, names).items()}
        files = [f for f in self._files() if first <= int(f.stem) and (stop is None or int(f.stem) < stop)]
        parts = [read_chunk(file) for file in files]
        return {name: [value for part in parts for value in part[name]] for name in names}

    def _files(self) -> list[Path]:
        return sorted((self.folder / CHUNKS).glob("*.json"))

    # ------------------------------------------------------------------ the end

    def merge(self, runs: int) -> None:
        """Make one table of the first `runs` rows; then drop the chunks."""
        if not self.complete:
            files = [file for file in self._files() if int(file.stem) < runs]
            names = [column.name for column in schema(self.plan)]
            parts = ([part[name] for name in names] for part in map(read_chunk, files))
            meta = {
                KEY: self.plan.seen_from(self.folder).text(),
                UNITS: json.dumps(units(self.plan), ensure_ascii=False),
            }
            meta[SEAL] = _seal(meta)
            atomic_write(self.path, lambda file: self._write(file, parts, meta))
            rows = read_footer(self.path).rows
            if rows != runs:
                self.path.unlink()
                raise FileError(f"the chunks in {self.folder} hold {rows} runs, {runs} were made")
        for file in self._files():
            file.unlink()
        remove_litter(self.folder / CHUNKS)
        with contextlib.suppress(OSError):
            (self.folder / CHUNKS).rmdir()

    def _write(self, file: BinaryIO, parts: Iterable[list[list[Any]]], meta: dict[str, str]) -> None:
        """Rows one part after the other, in groups of one size."""
        writer = ParquetWriter(file, schema(self.plan))
        waiting: list[list[Any]] = []
        for part in parts:
            waiting = [one + more for one, more in zip(waiting, part)] if waiting else part
            while len(waiting[0]) >= ROWS_PER_GROUP:
                writer.write([column[:ROWS_PER_GROUP] for column in waiting])
                waiting = [column[ROWS_PER_GROUP:] for column in waiting]
        writer.write(waiting)
        writer.close(meta)


def _seal(described: Mapping[str, str]) -> str:
    return hashlib.sha256("".join(f"{key}\n{described[key]}\n" for key in sorted(described)).encode()).hexdigest()


def check_content(folder: Path, what: str, begun: str, parts: Collection[str] = ()) -> None:
    """Refuse a folder that holds other things than one that was begun there (its file `begun`) or parts of it."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"{folder} is a file", hint="give a folder")
    entries = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if begun not in entries and set(entries) - set(parts):
        raise FileError(
            f"{folder} holds other things than {what}: {', '.join(entries[:5])}", hint="give a new or empty folder"
        )

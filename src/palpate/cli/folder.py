"""The folder of a run: claimed before the simulation, and emptied only of a run's own files.

A marker, written before anything else, says that palpate made the folder. A later run may replace the files of a run
there; whatever has another name is left alone, and a folder without the marker is refused unless it is empty. While a
run is at work the folder is locked.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import palpate as pp
from palpate.cli.signals import undivided
from palpate.errors import FileError, MissingExtra, shortened
from palpate.files import is_there, make_folder, open_lock, remove_litter, write_file
from palpate.toml import toml_text

if TYPE_CHECKING:
    from palpate.metrics import MetricResult
    from palpate.scenario.model import Scenario
    from palpate.trace import Trace

SCENARIO, TRACE, METRICS, FIGURES, REPORT = "scenario.toml", "trace.parquet", "metrics.json", "figures", "report.html"
PARTIAL, MARKER, LOCK = "trace.partial.parts", ".palpate-run.json", ".palpate-run.lock"
_FILES = (SCENARIO, METRICS, TRACE, PARTIAL, REPORT)
MOST_RUNS = 100_000


class RunFolder:
    """A folder that belongs to one run at a time.

    Attributes:
        path: where it is.
    """

    def __init__(self, path: Path, made: bool) -> None:
        self.path, self._made = path, made
        self._lock = open_lock(path / LOCK)

    def empty(self) -> None:
        """Take away what an earlier run left, and what a killed one did not clean up."""
        for file in self._replaceable():
            file.unlink()
        for folder in (self.path, self.path / FIGURES):
            remove_litter(folder)
        with contextlib.suppress(OSError):  # not there, or somebody's files are in it
            (self.path / FIGURES).rmdir()
        write_file(self.path / MARKER, f'{{"palpate": "{pp.__version__}"}}\n')

    def _replaceable(self) -> list[Path]:
        """The files of an earlier run; refused if a link or something else has the name of one."""
        for name in (MARKER, FIGURES, *_FILES):
            file = self.path / name
            if file.is_symlink():
                raise _in_the_way(file, "is a symbolic link")
            if name != FIGURES and file.exists() and not file.is_file():
                raise _in_the_way(file, "is no regular file")
        drawn = sorted((self.path / FIGURES).glob("*.png"))
        if drawn:
            from palpate.views.figures import is_palpates

            drawn = [file for file in drawn if is_palpates(file)]
        return [file for name in _FILES if (file := self.path / name).is_file()] + drawn

    @property
    def partial(self) -> Path | None:
        """Partial trace that the run has written, where it has lasted long enough."""
        return self.path / PARTIAL if (self.path / PARTIAL).is_file() else None

    def write_run(self, scenario: Scenario, trace: Trace, results: Sequence[MetricResult]) -> Path:
        """Write what must not be lost: the scenario as run, the trace, the metrics; return the trace's file."""
        from palpate.scenario.file.places import seen_from

        heading = f"# As run by palpate {pp.__version__}: every setting, defaults included.\n\n"
        text = heading + toml_text(seen_from(scenario.as_data(), self.path))
        trace.save(self.path / TRACE)
        write_file(self.path / SCENARIO, text)
        write_file(self.path / METRICS, pp.metrics.as_json(results))
        (self.path / PARTIAL).unlink(missing_ok=True)
        return self.path / TRACE

    def write_pages(self, trace: Trace, results: Sequence[MetricResult]) -> Path:
        """Write report and figures, and return the report's file; without matplotlib no figures.

        That there are none is said at the first run of those that lie side by side.
        """
        pp.views.report(trace, self.path / REPORT, results)
        try:
            pp.views.save_figures(trace, self.path / FIGURES)
        except MissingExtra as error:
            if not any(other.parent != self.path for other in self.path.parent.glob(f"*/{TRACE}")):
                print(f"note: the report is whole, the folder has no figures/*.png: {error}", file=sys.stderr)
        return self.path / REPORT

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        """Unlock; a folder that was made for a run that never was goes away again."""
        with undivided():
            kept = any((self.path / name).exists() for name in (TRACE, PARTIAL, SCENARIO))
            useless = kind is not None and self._made and not kept
            for name in (LOCK, MARKER) if useless else (LOCK,):
                (self.path / name).unlink(missing_ok=True)
            self._lock.close()
            if useless:
                with contextlib.suppress(OSError):  # not empty: not ours to take away
                    self.path.rmdir()
                    self.path.parent.rmdir()


def claim_folder(wanted: str | None, name: str, running: str) -> RunFolder:
    """A folder to write a run into, made, tried and locked before anything is computed.

    Args:
        wanted: the one asked for, or None for the next free runs/<name>-<n>.
        name: of the scenario.
        running: the scenario's name or file, which must not lie in the folder.

    Raises:
        FileError: it cannot be made or written, is a link, holds other things than a run, or the scenario itself.
        InUse: another run is at work there.
    """
    try:
        if wanted is None:
            return _started(next_folder(name), made=True)
        folder = Path(wanted)
        check_folder(folder, running)
        made = not folder.exists()
        return _started(make_folder(folder), made)
    except OSError as error:
        raise FileError(
            f"cannot make the run's folder: {error.strerror or error}: {error.filename}", hint="name one with --out DIR"
        ) from error


def _started(folder: Path, made: bool) -> RunFolder:
    claimed = RunFolder(folder, made)
    try:
        claimed.empty()
    except BaseException as error:
        claimed.__exit__(type(error))
        raise
    return claimed


def check_folder(folder: Path, running: str) -> None:
    """Refuse a place where no run may be written."""
    if folder.is_symlink():
        raise FileError(
            f"--out {folder} is a symbolic link", hint=f"give the folder itself: {os.path.realpath(folder)}"
        )
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileError(f"--out {folder} is a file", hint="give a folder")
    source = Path(running)
    if source.is_file() and source.resolve().is_relative_to(folder.resolve()):
        raise FileError(f"--out {folder} holds the scenario being run, {running}", hint="give another folder")
    remove_litter(folder)
    entries = {entry.name for entry in folder.iterdir()} - {LOCK}
    if entries and MARKER not in entries:
        raise FileError(
            f"--out {folder} holds other things than a run: {', '.join(sorted(entries)[:5])}",
            hint="give a new or empty folder, or that of an earlier run, which is then replaced",
        )


def next_folder(name: str) -> Path:
    """The next free runs/<name>-<n>, made."""
    above = Path("runs")
    if not above.is_dir():  # runs itself may be a link to a larger disk
        make_folder(above)
    for number in range(1, MOST_RUNS):
        folder = above / f"{name}-{number}"
        try:
            return make_folder(folder, exist_ok=False)
        except FileExistsError:
            continue
    raise FileError(f"{above} holds {MOST_RUNS} runs of {name}", hint="name another folder with --out DIR")


def _in_the_way(file: Path, problem: str) -> FileError:
    return FileError(f"{file} {problem}, and would be replaced", hint="move it away, or give another folder with --out")


def find_trace(location: str) -> Path:
    """The trace meant by a file, or by the folder of a run: what a killed run left if there is nothing better.

    Raises:
        FileError: there is no such file or folder, or the folder holds no run.
    """
    path = Path(location)
    if not is_there(path):
        raise FileError(f"there is no file or folder {shortened(location)}", hint=_runs_hint())
    if not path.is_dir():
        return path
    for name in (TRACE, PARTIAL):
        if (path / name).is_file():
            return path / name
    raise FileError(f"{location} holds no run: there is no {TRACE} in it", hint=_runs_hint())


def _runs_hint() -> str:
    folders = sorted(run.parent for run in Path("runs").glob(f"*/{TRACE}"))
    some = ", ".join(map(str, folders[:4]))
    return f"runs here: {some}{', …' if len(folders) > 4 else ''}" if folders else "palpate run SCENARIO makes one"

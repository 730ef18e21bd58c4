"""The folder of a run: claimed before the simulation, and emptied only of what palpate itself wrote there.

A manifest lists every file of a run with its checksum. A later run may replace these files as long as nobody has
changed them since; whatever else lies in the folder is left alone. While a run is at work the folder is locked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.errors import FileError, InUse

if TYPE_CHECKING:
    from palpate.metrics import MetricResult
    from palpate.scenario.model import Scenario
    from palpate.trace import Trace

SCENARIO, TRACE, METRICS, FIGURES, REPORT = "scenario.toml", "trace.parquet", "metrics.json", "figures", "report.html"
PARTIAL, MANIFEST, LOCK = "trace.partial.parts", ".palpate-run.json", ".palpate-run.lock"
MOST_RUNS = 100_000


class RunFolder:
    """A folder that belongs to one run at a time.

    Attributes:
        path: where it is.
    """

    def __init__(self, path: Path, made: bool) -> None:
        self.path, self._made = path, made
        self._lock: Any = _locked(path)
        self._sums: dict[str, str | None] = {}

    def empty(self) -> None:
        """Take away what an earlier run left, and what a killed one did not clean up."""
        for name in self._replaceable():
            (self.path / name).unlink(missing_ok=True)
        for litter in self.path.rglob(".palpate-*.part"):
            litter.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not there, or somebody's files are in it
            (self.path / FIGURES).rmdir()
        self._sums = dict.fromkeys((SCENARIO, METRICS, TRACE, PARTIAL, REPORT))
        self._write_manifest()

    def _replaceable(self) -> list[str]:
        """The files of the earlier run; refused if one was changed since, or a name is taken by something else."""
        listed = _manifest(self.path)
        for name, checksum in listed.items():
            file = self.path / name
            if file.is_symlink() or (file.exists() and not file.is_file()):
                raise FileError(f"{file} is no regular file", hint="move it away, or give another folder with --out")
            if file.is_file() and checksum is not None and _checksum(file) != checksum:
                raise FileError(
                    f"{file} was changed after palpate wrote it, and would be replaced",
                    hint="move it away, or give another folder with --out",
                )
        for name in (SCENARIO, METRICS, TRACE, PARTIAL, REPORT, FIGURES):
            file = self.path / name
            if file.is_symlink() or (name not in (*listed, FIGURES) and file.exists()):
                what = "is a symbolic link" if file.is_symlink() else "was not written by palpate"
                raise FileError(f"{file} {what}, and would be replaced", hint="give another folder with --out")
        return list(listed)

    def wrote(self, *files: Path) -> None:
        """Note files of this run."""
        for file in files:
            self._sums[file.relative_to(self.path).as_posix()] = _checksum(file)
        self._write_manifest()

    def write_run(self, scenario: Scenario, trace: Trace, results: Sequence[MetricResult]) -> Path:
        """Write what must not be lost: the scenario as run, the trace, the metrics; return the trace's file."""
        from palpate import __version__
        from palpate.files import atomic_write
        from palpate.metrics import as_json
        from palpate.scenario.places import seen_from
        from palpate.toml import toml_text

        said = f"# As run by palpate {__version__}: every setting, defaults included.\n\n"
        text = said + toml_text(seen_from(scenario.as_data(), self.path))
        files = [
            trace.save(self.path / TRACE),
            atomic_write(self.path / SCENARIO, lambda file: file.write(text.encode())),
            atomic_write(self.path / METRICS, lambda file: file.write(as_json(results).encode())),
        ]
        (self.path / PARTIAL).unlink(missing_ok=True)
        self.wrote(*(self.path / file.name for file in files))
        return self.path / TRACE

    def write_pages(self, trace: Trace, results: Sequence[MetricResult]) -> Path:
        """Write report and figures, and return the report's file; no figures without matplotlib, which is said."""
        from palpate.errors import MissingExtra
        from palpate.views import report, save_figures

        if (self.path / FIGURES).is_symlink():
            raise FileError(f"{self.path / FIGURES} is a symbolic link", hint="give another folder with --out")
        report(trace, self.path / REPORT, results)
        self.wrote(self.path / REPORT)
        try:
            figures = save_figures(trace, self.path / FIGURES)
        except MissingExtra as error:
            print(f"note: the report is whole, the folder has no figures/*.png: {error}", file=sys.stderr)
            return self.path / REPORT
        self.wrote(*(self.path / FIGURES / file.name for file in figures))
        return self.path / REPORT

    def _write_manifest(self) -> None:
        from palpate.files import atomic_write

        text = json.dumps({"palpate": 1, "files": self._sums}, indent=1)
        atomic_write(self.path / MANIFEST, lambda file: file.write(text.encode()))

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        """Unlock; a folder that was made for a run that never was goes away again."""
        nothing = not any((self.path / name).exists() for name in (TRACE, PARTIAL, SCENARIO))
        if kind is not None and nothing and self._made:
            (self.path / MANIFEST).unlink(missing_ok=True)
        (self.path / LOCK).unlink(missing_ok=True)
        self._lock.close()
        if kind is not None and nothing and self._made:
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
            return _started(_next_free(Path("runs"), name), made=True)
        folder = Path(wanted)
        check_folder(folder, running)
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        return _started(folder, made)
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
    found = {entry.name for entry in folder.iterdir()} - {LOCK}
    if found and MANIFEST not in found:
        raise FileError(
            f"--out {folder} holds other things than a run: {', '.join(sorted(found)[:5])}",
            hint="give a new or empty folder, or that of an earlier run, which is then replaced",
        )


def make_folder(wanted: None, name: str) -> Path:
    """The next free runs/<name>-<n>, made."""
    try:
        return _next_free(Path("runs"), name)
    except OSError as error:
        raise FileError(
            f"cannot make the run's folder: {error.strerror}: {error.filename}", hint="name one with --out DIR"
        ) from error


def _next_free(above: Path, name: str) -> Path:
    above.mkdir(exist_ok=True)
    for number in range(1, MOST_RUNS):
        folder = above / f"{name}-{number}"
        try:
            folder.mkdir()
            return folder
        except FileExistsError:
            continue
    raise FileError(f"{above} holds {MOST_RUNS} runs of {name}", hint="name another folder with --out DIR")


def _manifest(folder: Path) -> dict[str, str | None]:
    """What an earlier run wrote, by names below the folder; {} where there was none."""
    file = folder / MANIFEST
    if file.is_symlink() or not file.is_file():
        return {}
    try:
        listed = json.loads(file.read_text(encoding="utf-8"))["files"]
        names = {str(name): checksum for name, checksum in listed.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise FileError(f"{file} is damaged", hint="give another folder with --out") from error
    for name in names:
        if not _below(folder, name):
            raise FileError(f"{file} lists {name!r}, which is not in the folder", hint="give another folder with --out")
    return names


def _below(folder: Path, name: str) -> bool:
    """Whether a listed name stays in the folder: no way up, no link on the way."""
    parts = Path(name).parts
    way = [folder.joinpath(*parts[:k]) for k in range(1, len(parts))]
    return bool(parts) and not Path(name).is_absolute() and ".." not in parts and not any(w.is_symlink() for w in way)


def _checksum(file: Path) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _locked(folder: Path) -> Any:
    """The open lock file of a folder; the system lets go of it when the process ends, however it ends."""
    file = open(folder / LOCK, "a+b")  # noqa: SIM115 - open as long as the run goes on
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise InUse(f"another run is writing into {folder}", hint="wait for it, or give another folder") from error
    return file


def find_trace(place: str) -> Path:
    """The trace meant by a file, or by the folder of a run: what a killed run left if there is nothing better.

    Raises:
        FileError: there is no such file or folder, or the folder holds no run.
    """
    from palpate.errors import shortened
    from palpate.files import is_there

    path = Path(place)
    if not is_there(path):
        raise FileError(f"there is no file or folder {shortened(place)}", hint=_runs_hint())
    if not path.is_dir():
        return path
    for name in (TRACE, PARTIAL):
        if (path / name).is_file():
            return path / name
    raise FileError(f"{place} holds no run: there is no {TRACE} in it", hint=_runs_hint())


def _runs_hint() -> str:
    found = sorted(run.parent for run in Path("runs").glob(f"*/{TRACE}"))
    some = ", ".join(map(str, found[:4]))
    return f"runs here: {some}{', …' if len(found) > 4 else ''}" if found else "palpate run SCENARIO makes one"

"""The folder of a run: where it is made, what may be replaced there, and what is written into it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from palpate.errors import FileError

if TYPE_CHECKING:
    from palpate.metrics import MetricResult
    from palpate.scenario.model import Scenario
    from palpate.trace import Trace

SCENARIO, TRACE, METRICS, FIGURES, REPORT = "scenario.toml", "trace.parquet", "metrics.json", "figures", "report.html"
MOST_RUNS = 100_000


def check_folder(wanted: str | None) -> None:
    """Refuse a place where no run may be written, before anything is computed."""
    if wanted is None or not (folder := Path(wanted)).exists():
        return
    if not folder.is_dir():
        raise FileError(f"--out {folder} is a file", hint="give a folder")
    found = {entry.name for entry in folder.iterdir()}
    if found and SCENARIO not in found:
        raise FileError(
            f"--out {folder} holds other things than a run: {', '.join(sorted(found)[:5])}",
            hint="give a new or empty folder, or that of an earlier run, which is then replaced",
        )


def make_folder(wanted: str | None, name: str) -> Path:
    """An empty folder for a run: the one asked for, or the next free runs/<name>-<n>.

    A folder that holds an earlier run is emptied of that run; one that holds anything else is refused.
    """
    check_folder(wanted)
    try:
        return _next_free(Path("runs"), name) if wanted is None else _emptied(Path(wanted))
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


def _emptied(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in (SCENARIO, TRACE, METRICS, REPORT):
        (folder / name).unlink(missing_ok=True)
    if (folder / FIGURES).is_dir() and not (folder / FIGURES).is_symlink():
        shutil.rmtree(folder / FIGURES)
    return folder


def write_run(folder: Path, scenario: Scenario, trace: Trace, results: Sequence[MetricResult], pages: bool) -> Path:
    """Write everything a run leaves, and return what to look at first."""
    from palpate import __version__
    from palpate.files import atomic_write
    from palpate.metrics import as_json
    from palpate.toml import toml_text

    text = f"# As run by palpate {__version__}: every setting, defaults included.\n\n{toml_text(scenario.as_data())}"
    atomic_write(folder / SCENARIO, lambda file: file.write(text.encode()))
    trace.save(folder / TRACE)
    atomic_write(folder / METRICS, lambda file: file.write(as_json(results).encode()))
    if not pages:
        return folder / TRACE
    from palpate.views import report, save_figures

    save_figures(trace, folder / FIGURES)
    report(trace, folder / REPORT, results)
    return folder / REPORT


def find_trace(place: str) -> Path:
    """The trace meant by a file, or by the folder of a run.

    Raises:
        FileError: there is no such file or folder, or the folder holds no run.
    """
    path = Path(place)
    if path.is_dir() and not (path / TRACE).exists():
        raise FileError(f"{place} holds no run: there is no {TRACE} in it", hint=_runs_hint())
    if not path.exists():
        raise FileError(f"there is no file or folder {place}", hint=_runs_hint())
    return path / TRACE if path.is_dir() else path


def _runs_hint() -> str:
    found = sorted(run.parent for run in Path("runs").glob(f"*/{TRACE}"))
    some = ", ".join(map(str, found[:4]))
    return f"runs here: {some}{', …' if len(found) > 4 else ''}" if found else "palpate run SCENARIO makes one"

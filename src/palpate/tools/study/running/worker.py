"""One run of a sweep: the seam between studies and simulation.

Everything that a sweep knows about running is here, so that a faster way to run (a scene built once and changed in
place, metrics without a whole trace) has one place to go to.
"""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from palpate.errors import FileError, NotApplicable, NotKept, PalpateError
from palpate.metrics import METRICS
from palpate.metrics.table import MetricResult, judge
from palpate.run.assemble.carrier import EQUATIONS
from palpate.run.prepared import Prepared
from palpate.run.simulate import simulate_quietly
from palpate.scenario.file.load import overridden
from palpate.tools.study.plans.plan import CRASHED, IMPOSSIBLE, REFUSED, file_digest
from palpate.tools.study.running.shipping import bare_names, moved
from palpate.trace import Trace
from palpate.user_code import is_address, load

Row = dict[str, Any]
_SINGULAR = "smallest_singular_value"
_GROUP = 64  # runs between two looks at whether to stop


@dataclass(frozen=True)
class Job:
    """Data that all runs of a sweep share.

    Attributes:
        scenario: data, before what varies.
        metrics: to compute.
        traces: "all" or "failing" to hand traces back with the rows.
        files: SHA-256 of files the scenario names, to be found alike wherever the run is made.
        own: metrics written in Python, by name; they only work in this process.
        contents: of files, by path, for machines that have not got them, and against edits while the sweep runs.
    """

    scenario: Mapping[str, Any]
    metrics: tuple[str, ...]
    traces: str = "none"
    files: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Callable[[Trace], float]] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class RunTask:
    """One run: its number, the `key=value` texts that make it, and why it is not to be made, if it is not."""

    run: int
    overrides: tuple[str, ...]
    refusal: str | None = None


@dataclass(frozen=True)
class RunResult:
    """A run's row, and its trace as the bytes of a Parquet file where it is kept."""

    run: int
    row: Row
    trace: bytes | None = None


def run_row(
    scenario: Mapping[str, Any],
    overrides: Sequence[str],
    metrics: Sequence[str] | None = None,
    own: Mapping[str, Callable[[Trace], float]] | None = None,
) -> Row:
    """Make one run; whatever happens to it is a row.

    Robot and scene are those of the last run of the same scenario in this thread wherever only numbers differ; nothing
    is predicted, and no whole trace is made.

    Args:
        scenario: plain data.
        overrides: `key=value` texts, as `--set` takes them.
        metrics: names to compute; all if not given.
        own: further metrics, by name, from a trace to a number.

    Returns:
        outcome, reason, end_time, passed, failed, warnings, and a number or None for each metric.
    """
    names = tuple(METRICS) if metrics is None else metrics
    try:
        load_metrics(names, scenario)
        row = None if own else _narrow_row(scenario, overrides, names)
        if row is None:
            singular = bool(own) or any(map(is_address, names)) or _SINGULAR in {*names, *scenario.get("metrics", {})}
            row, trace = _row_of(*prepared_for(scenario).run(overrides, singular=singular), names)
            row |= {name: float(compute(trace)) for name, compute in (own or {}).items()}
        return row
    except PalpateError as error:
        return empty_row(IMPOSSIBLE, str(error), names)
    except Exception as error:  # a defect, or an engine's own error: it costs this run, not the sweep
        forget()
        return empty_row(CRASHED, f"{type(error).__name__}: {error}", names)


def _narrow_row(scenario: Mapping[str, Any], overrides: Sequence[str], names: Sequence[str]) -> Row | None:
    """The row of a run that keeps no more of its channels than was read of the runs before.

    None where that does not do: something else is read, the run failed, or others' code may read what it likes.
    """
    if (asked := _asked(scenario, names)) is None:
        return None
    try:
        prepared = prepared_for(scenario)
        read = _last.read.setdefault(asked, set())
        bounds, trace = prepared.run(overrides, singular=_SINGULAR in asked, read=read)
        return _row_of(bounds, trace, names)[0] if trace.outcome.ok or trace.outcome.kind == "interrupted" else None
    except NotKept:
        return None


def _asked(scenario: Mapping[str, Any], names: Sequence[str]) -> frozenset[str] | None:
    """The metrics that are asked for; None where one is not palpate's own, and may read what it likes."""
    asked = frozenset((*names, *scenario.get("metrics", {})))
    return asked if asked <= METRICS.shipped.keys() else None


def _row_of(bounds: Mapping[str, Any], trace: Trace, names: Sequence[str]) -> tuple[Row, Trace]:
    """The row of a trace, and the trace."""
    if trace.outcome.kind == "interrupted":
        signal.default_int_handler(signal.SIGINT, None)  # the run took Ctrl-C for itself; it is meant for the sweep
    bounded = {name: judge(METRICS[name], trace, bound) for name, bound in bounds.items()}
    known = [name for name in names if name in METRICS.shipped or is_address(name) or name in METRICS]
    return _row(trace, bounded) | {name: _value(name, bounded, trace) for name in known}, trace


def load_metrics(names: Iterable[str], scenario: Mapping[str, Any]) -> None:
    """Load the code of own metrics, of the modules that a scenario's data names."""
    for name in names:
        if ":" in name and is_address(name):
            load(name, scenario.get("modules", {}))


def whole_trace(scenario: Mapping[str, Any], overrides: Sequence[str]) -> Trace:
    """The trace of a run with everything that is known about it."""
    return simulate_quietly(overridden(scenario, overrides))


def _value(name: str, bounded: Mapping[str, MetricResult], trace: Trace) -> float | None:
    if name in bounded:
        return bounded[name].value
    try:
        return float(METRICS[name].compute(trace))
    except NotApplicable:
        return None


def _row(trace: Trace, bounded: Mapping[str, MetricResult]) -> Row:
    broken = [name for name, result in bounded.items() if result.passed is False]
    outcome = trace.outcome
    return {
        "outcome": outcome.kind,
        "reason": outcome.reason,
        "end_time": float(outcome.time),
        "passed": outcome.ok and not broken,
        "failed": broken,
        "warnings": list(trace.warnings),
    }


def empty_row(outcome: str, reason: str, metrics: Sequence[str]) -> Row:
    """The row of a run that gave nothing."""
    row: Row = {"outcome": outcome, "reason": reason, "end_time": None, "passed": False, "failed": [], "warnings": []}
    return row | dict.fromkeys(metrics)


def run_chunk(job: Job, tasks: Sequence[RunTask], stopped: Callable[[], bool] = lambda: False) -> list[RunResult]:
    """Make several runs, in order; none any more once it is stopped."""
    check_files({file: digest for file, digest in job.files.items() if file not in job.contents})
    here, results = replace(job, scenario=moved(job.scenario, job.contents)), list[RunResult]()
    while len(results) < len(tasks) and not stopped():
        group = tasks[len(results) : len(results) + _GROUP]
        together = _rows_together(here, group)
        group = group if together else group[:1]  # what is read of the first tells what the others have to keep
        results += [run_task(here, task, together.get(task.run)) for task in group if not stopped()]
    return results


def _rows_together(job: Job, tasks: Sequence[RunTask]) -> dict[int, Row]:
    """Rows of those runs that could be made several in one compiled call; the others are to be made alone."""
    rows, asked = dict[int, Row](), _asked(job.scenario, job.metrics)
    if job.own or asked is None or len(tasks) < 2:
        return rows
    try:
        prepared = prepared_for(job.scenario)
        if not (read := _last.read.get(asked)):
            return rows
        many = [task for task in tasks if task.refusal is None]
        texts = [task.overrides for task in many]
        for place, bounds, trace in prepared.several(texts, singular=_SINGULAR in asked, read=read):
            with suppress(NotKept):
                rows[many[place].run] = _row_of(bounds, trace, job.metrics)[0]
    except Exception:  # as the run that is at fault will say when it is made alone
        forget()
    return rows


def run_task(job: Job, task: RunTask, row: Row | None = None) -> RunResult:
    """Make one run of a sweep, or only the rest of it where its row is known."""
    if task.refusal is not None:
        return RunResult(task.run, empty_row(REFUSED, task.refusal, job.metrics))
    row = row or run_row(job.scenario, task.overrides, job.metrics, job.own)
    row["reason"] = bare_names(row["reason"], job.files)
    kept = job.traces == "all" or (job.traces == "failing" and not row["passed"])
    kept = kept and row["outcome"] not in (IMPOSSIBLE, CRASHED)
    return RunResult(task.run, row, _as_bytes(whole_trace(job.scenario, task.overrides)) if kept else None)


def check_files(files: Mapping[str, str]) -> None:
    """Refuse to run where a file of the scenario is missing or another than where the sweep was planned."""
    wrong = [path for path, digest in files.items() if file_digest(path) != digest]
    if wrong:
        raise FileError(
            f"{', '.join(wrong)} is missing here, or was changed since the sweep began",
            hint="put the files of the scenario at the same place on every machine, and leave them as they were",
        )


def _as_bytes(trace: Trace) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return trace.save(Path(folder) / "trace.parquet").read_bytes()


class _Last(threading.local):
    """The scenario that a thread's last run belonged to."""

    scenario: Mapping[str, Any] | None = None
    prepared: Prepared | None = None

    def __init__(self) -> None:
        self.read: dict[frozenset[str], set[str]] = {}  # channels that were read of its runs, for their metrics


_last = _Last()


def prepared_for(scenario: Mapping[str, Any]) -> Prepared:
    """The runs of a scenario in this thread; those of the scenario before are let go."""
    if _last.prepared is None or (_last.scenario is not scenario and _last.scenario != scenario):
        _last.prepared, _last.read = Prepared(scenario), {}
    _last.scenario = scenario
    return _last.prepared


def is_compiled(scenario: Mapping[str, Any]) -> bool:
    """Whether the runs of a scenario are the compiled loop on the plant's equations, and nothing of others' code.

    Such a run calls nothing that could end its process, and its loop leaves the interpreter free.
    """
    if scenario.get("modules") or any(is_address(name) for name in scenario.get("metrics", {})):
        return False
    try:
        kept, _ = prepared_for(scenario).ready(dict(scenario))
    except Exception:  # as its runs will say
        return False
    return kept.assembly.compiled and kept.assembly.carrier.name == EQUATIONS


def forget() -> None:
    """Let this thread's last scenario go, after something went wrong in it."""
    _last.prepared = None

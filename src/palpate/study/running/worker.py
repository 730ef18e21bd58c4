"""One run of a sweep: the seam between studies and simulation.

Everything that a sweep knows about running is here, so that a faster way to run (a scene built once and changed in
place, metrics without a whole trace) has one place to go to.
"""

from __future__ import annotations

import json
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from palpate.errors import FileError, NotApplicable, PalpateError
from palpate.metrics import METRICS
from palpate.metrics.table import Bound, MetricResult, judge
from palpate.run.assemble.renew import Renewable
from palpate.run.build import build
from palpate.run.simulate import execute_bare, simulate_quietly
from palpate.scenario.checking.checks import contradictions
from palpate.scenario.file.load import STAND_IN, overridden, scenario_from_data
from palpate.scenario.file.overrides import apply_overrides
from palpate.scenario.model import Scenario
from palpate.study.plans.plan import CRASHED, IMPOSSIBLE, REFUSED, file_digest
from palpate.study.running.shipping import bare_names, moved
from palpate.trace import Trace
from palpate.user_code import is_address, load

Row = dict[str, Any]
_SINGULAR = "smallest_singular_value"


@dataclass(frozen=True)
class Job:
    """What the runs of a sweep share.

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
        singular = bool(own) or any(map(is_address, names)) or _SINGULAR in {*names, *scenario.get("metrics", {})}
        bounds, trace = prepared_for(scenario).run(overrides, singular=singular)
        if trace.outcome.kind == "interrupted":
            signal.default_int_handler(signal.SIGINT, None)  # the run took Ctrl-C for itself; it is meant for the sweep
        bounded = {name: judge(METRICS[name], trace, bound) for name, bound in bounds.items()}
        row = _row(trace, bounded)
        row |= {name: _value(name, bounded, trace) for name in names if is_address(name) or name in METRICS}
        return row | {name: float(compute(trace)) for name, compute in (own or {}).items()}
    except PalpateError as error:
        return empty_row(IMPOSSIBLE, str(error), names)
    except Exception as error:  # a defect, or an engine's own error: it costs this run, not the sweep
        forget()
        return empty_row(CRASHED, f"{type(error).__name__}: {error}", names)


def load_metrics(names: Iterable[str], scenario: Mapping[str, Any]) -> None:
    """Load the code of own metrics, of the modules that a scenario's data names."""
    for name in filter(is_address, names):
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


def run_chunk(job: Job, tasks: Sequence[RunTask]) -> list[RunResult]:
    """Make several runs, in order."""
    check_files({file: digest for file, digest in job.files.items() if file not in job.contents})
    here = replace(job, scenario=moved(job.scenario, job.contents))
    return [run_task(here, task) for task in tasks]


def run_task(job: Job, task: RunTask) -> RunResult:
    """Make one run of a sweep."""
    if task.refusal is not None:
        return RunResult(task.run, empty_row(REFUSED, task.refusal, job.metrics))
    row = run_row(job.scenario, task.overrides, job.metrics, job.own)
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


# ----------------------------------------------------------------------------------------------
# Many runs of one scenario, with robot and scene built once and changed in place where only numbers change.


# Sections whose numbers an assembled run can take over, and what stands for the others while they are typed.
_SECTIONS = {"control": "law", "reference": "reference", "world": "world", "run": "clock"}
_ALONE = {"world", "run"}  # typed without the others


class Prepared:
    """A scenario's runs, one after the other; each uses the assembly of the last one it can.

    What is refused, and every number of every run, is the same as if each were built from nothing.
    """

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        """Take a scenario's data, before what varies."""
        self._data = dict(scenario)
        self._kept: Renewable | None = None
        self._built: dict[str, Any] = {}  # the data that the kept assembly was built from, and what they say
        self._scenario: Scenario | None = None

    def run(self, overrides: Sequence[str], *, singular: bool = True) -> tuple[Mapping[str, Bound], Trace]:
        """Make one run with `key=value` texts on top: the bounds it must keep, and a trace for its metrics.

        Args:
            overrides: as `--set` takes them.
            singular: whether the trace notes the smallest singular value on the way.

        Raises:
            PalpateError: the parameters are refused.
        """
        data = apply_overrides(self._data, overrides)
        kept, bounds = self._renew(data) or self._build(data)
        trace = execute_bare(kept.assembly, singular=singular)
        if kept.assembly.rescues.said is not None:  # the engine gave up: nothing of it may be used again
            self._kept = None
        return bounds, trace

    def _build(self, data: dict[str, Any]) -> tuple[Renewable, Mapping[str, Bound]]:
        self._kept = None  # also where building fails half-way
        scenario = scenario_from_data(data).with_code()
        self._kept, self._built, self._scenario = Renewable(build(scenario)), data, scenario
        return self._kept, scenario.metrics

    def _renew(self, data: Mapping[str, Any]) -> tuple[Renewable, Mapping[str, Bound]] | None:
        """The kept assembly made ready for a run, and its bounds; what is refused is left to the long way."""
        changed = {name for name in {**data, **self._built} if data.get(name) != self._built.get(name)}
        if self._kept is None or self._scenario is None or not changed <= {*_SECTIONS, "metrics"}:
            return None
        try:
            typed = self._typed(data, changed, self._scenario)
            changes = {_SECTIONS[name]: section for name, section in typed.items() if name in _SECTIONS}
            fits = self._kept.renew(replace(self._kept.first, **changes))
            return (self._kept, typed.get("metrics", self._scenario.metrics)) if fits else None
        except (PalpateError, ValidationError):
            return None

    def _typed(self, data: Mapping[str, Any], changed: set[str], built: Scenario) -> dict[str, Any]:
        alone = {name for name in changed if name in _ALONE and name in data}
        typed: dict[str, Any] = {
            name: _typed_again(getattr(built, name), self._built.get(name, {}), data[name]) for name in alone
        }
        if others := changed - alone:
            given = {name: data[name] for name in (*others, "modules") if name in data}
            scenario = _from_json(Scenario.__pydantic_validator__, {**STAND_IN, **given})
            typed |= {name: getattr(scenario, name) for name in others}
        if contradictions(typed)[0]:
            raise PalpateError("sections contradict each other")
        return typed


def _typed_again(known: BaseModel, before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """A section from its data; of the one that is known, everything whose data are the same is taken over."""
    kind = type(known)
    if not after.keys() <= kind.model_fields.keys():
        raise PalpateError("unknown keys")
    parts = {
        name: getattr(known, name)
        if name in before and before[name] == value
        else _from_json(_validator(kind, name), value)
        for name, value in after.items()
    }
    return kind.__pydantic_validator__.validate_python(parts, strict=True)


@cache
def _validator(kind: type[BaseModel], name: str) -> Any:
    """The validator of one field of a section."""
    field = kind.model_fields[name]
    return TypeAdapter(Annotated[field.annotation, field]).validator  # pyright: ignore


def _from_json(validator: Any, data: Any) -> Any:
    return validator.validate_json(json.dumps(data, default=str), strict=True)


class _Last(threading.local):
    """The scenario that a thread's last run belonged to."""

    scenario: Mapping[str, Any] | None = None
    prepared: Prepared | None = None


_last = _Last()


def prepared_for(scenario: Mapping[str, Any]) -> Prepared:
    """The runs of a scenario in this thread; those of the scenario before are let go."""
    if _last.prepared is None or (_last.scenario is not scenario and _last.scenario != scenario):
        _last.prepared = Prepared(scenario)
    _last.scenario = scenario
    return _last.prepared


def forget() -> None:
    """Let this thread's last scenario go, after something went wrong in it."""
    _last.prepared = None

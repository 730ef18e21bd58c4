"""sweep: many runs of a scenario, one table, and what it proves."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from palpate.control import LAWS
from palpate.control.references import REFERENCES
from palpate.display import notebook_progress
from palpate.errors import FileError, InvalidInput, StudyError
from palpate.metrics import METRICS
from palpate.module_copies import texts_of
from palpate.scenario.file.load import overridden
from palpate.scenario.model import Scenario
from palpate.tools.study.drivers.drive import drive
from palpate.tools.study.drivers.search import Driver
from palpate.tools.study.planning import check_points, make_plan
from palpate.tools.study.plans import plan as plans
from palpate.tools.study.plans.axis import Spec
from palpate.tools.study.plans.plan import Plan
from palpate.tools.study.plans.points import PlanStage
from palpate.tools.study.result import Sweep
from palpate.tools.study.running.address import cluster_address
from palpate.tools.study.running.pool import InProcess, LocalPool, NoRuns, Threads, cores
from palpate.tools.study.running.store import Store
from palpate.tools.study.running.worker import Job, RunTask, check_files, is_compiled, load_metrics, run_row
from palpate.world.sensing.sensor import SENSORS

if TYPE_CHECKING:
    from palpate.tools.study.running.cluster import DaskCluster
    from palpate.trace import Trace

    Executor = InProcess | NoRuns | Threads | LocalPool | DaskCluster


Progress = Callable[[int, int, int], None]  # runs done, runs there will be, runs that did not pass
SHORT = 5.0  # s: what takes no longer is not worth starting processes for


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    vary: Mapping[str, Spec] | None = None,
    *,
    method: str | None = None,
    runs: int | None = None,
    repeat: int | None = None,
    seed: int | None = None,
    metrics: Sequence[str] | None = None,
    metric: str | None = None,
    traces: str | None = None,
    until: str | None = None,
    rare: str | None = None,
    by: str | None = None,
    confidence: float = 0.95,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Run a scenario many times and say what that proves.

    Args:
        scenario: a scenario, its shipped name, or its file; its [sweep] table holds where nothing else is said.
        vary: keys and what they may be: "100:2000:20", "normal(1, 0.05)", a list…; see palpate.tools.study.plans.spec.
        method: grid, random, latin, sobol, saltelli (for sensitivity), map (a boundary over two parameters).
        runs, repeat, seed: how many, how often each with different noise, and the seed of the draws.
        metrics, metric: columns to compute, all by default; which ranks the runs, the first with a bound by default.
        traces: which to keep: "none", "all", "failing", "best" or "worst".
        until: "failure<0.01" or "width<0.02": stop by a confidence sequence, after at most `runs` runs.
        rare: "force_peak>40": a small probability by importance sampling, with `runs` runs.
        by: what a map asks of a run: "passed", "ended" (it did not diverge) or "force_peak<40".
        confidence: of every interval.
        out: folder, where an unfinished sweep goes on; by default a temporary one that goes with the result.
        workers, cluster: runs at a time, 0 for this thread alone; or a cluster: "tcp://…", "local:4", "slurm:job.toml".
        progress: called with (runs done, runs there will be, runs that did not pass); a bar in a notebook.

    Raises:
        InvalidInput: what varies is not understood, or no point of it gives a scenario.
        StudyError: no workers, or the cluster is gone.
        FileError: the folder cannot be written, or holds something else; what was written is kept.
    """
    plan = make_plan(
        scenario, vary, method=method, runs=runs, repeat=repeat, seed=seed, metrics=metrics, metric=metric,
        traces=traces, until=until, rare=rare, by=by, confidence=confidence,
    )  # fmt: skip
    check_points(plan)
    return finish(Store.begin(out, plan), workers, cluster, progress or notebook_progress())


def finish(
    store: Store,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
    own: Mapping[str, Callable[[Trace], float]] | None = None,
    driver: Callable[[Store], Driver] = drive,
) -> Sweep:
    """Make the runs of a sweep that are missing, and its table."""
    _check_unchanged(store)
    if not store.complete:
        overridden(store.plan.scenario, ()).with_code()  # said and refused here, before workers begin
        load_metrics(store.plan.metrics, store.plan.scenario)
    with store.held():
        executor = InProcess() if store.complete else executor_for(store.plan, workers, cluster)
        try:
            finding = _run_driver(store, driver(store), executor, progress, own)
        except FileError as error:
            command = "tune" if store.plan.method == "tune" else "sweep"
            again = f"then go on with palpate {command} --resume {store.folder}"
            raise FileError(str(error.args[0]), hint=f"{error.hint}; {again}") from error
        finally:
            executor.close()
    return Sweep(store, finding)


def _check_unchanged(store: Store) -> None:
    """Refuse to go on with other versions or other files than a sweep began with: its rows would not fit together."""
    plan, now = store.plan, plans.versions()
    if store.complete:
        return
    then = {name: plan.versions.get(name) for name in now}
    if changed := [f"{name} {then[name]} then, {now[name]} now" for name in now if then[name] != now[name]]:
        raise FileError(
            f"the sweep in {store.folder} began with other versions: {'; '.join(changed)}",
            hint="install those again, or begin a new sweep in another folder",
        )
    check_files(plan.files)


def _run_driver(
    store: Store,
    driver: Driver,
    executor: Executor,
    progress: Progress | None,
    own: Mapping[str, Callable[[Trace], float]] | None,
) -> Any:
    """Make what the driver asks for; what it found."""
    made = failed = total = 0
    try:
        while True:
            stage = next(driver)
            for done, bad in _run_stage(store, stage, executor, own or {}):
                made, failed = made + done, failed + bad
                if progress is not None:
                    progress(made, max(store.plan.runs, made), failed)
            total = stage.first + stage.count
    except StopIteration as end:
        store.merge(total)
        return end.value


def open_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """The result of a finished sweep, from its folder."""
    store = Store.open(folder)
    if not store.complete:
        raise InvalidInput(f"the sweep in {folder} is not finished", hint=f"palpate sweep --resume {folder}")
    return Sweep(store, _run_driver(store, drive(store), NoRuns(), None, None))


def _run_stage(store: Store, stage: PlanStage, executor: Executor, own: Mapping[str, Callable[[Trace], float]]) -> Any:
    """Make what is missing of a stage; gives numbers of runs done and of those that did not pass, as they arrive."""
    plan = store.plan
    missing = store.missing(stage)
    there = stage.count - sum(stop - first for first, stop in missing)
    if there:
        yield there, 0
    kept = plan.traces if plan.traces in ("all", "failing") else "none"
    job = Job(plan.scenario, plan.metrics, kept, plan.files, own, texts_of(plan.scenario.get("modules", {})))

    def tasks(first: int, stop: int) -> list[RunTask]:
        points = enumerate(stage.points(first, stop), first)
        return [RunTask(run, tuple(plan.overrides(point)), point.refusal) for run, point in points]

    chunks = (tasks(*chunk) for chunk in missing)
    for chunk, results in executor.results(job, chunks):
        store.write(stage.points(chunk[0].run, chunk[-1].run + 1), results)
        yield len(results), sum(not result.row["passed"] for result in results)


def executor_for(plan: Plan, workers: int | None, cluster: str | None) -> Executor:
    """Where the runs are made: a cluster, processes, or here where that is sooner done."""
    if known_here := _known_here(plan):
        if workers or cluster is not None:
            raise StudyError(
                f"{known_here!r} is registered in this process and unknown to others",
                hint="put it into a file and name it module:name, or make the runs in this process: workers=0",
            )
        return InProcess()
    if cluster is not None:
        from palpate.tools.study.running.cluster import DaskCluster

        address = cluster_address(cluster)
        return DaskCluster(address, plan.runs, 0.0 if address.job_file is None else time_per_run(plan, SHORT))
    wanted = cores() if workers is None else workers
    if wanted < 0 or wanted > 10_000:
        raise InvalidInput(f"--workers must be 0 (this process alone) or more, got {wanted}")
    if wanted == 0 or (workers is None and time_per_run(plan, SHORT) * plan.runs < SHORT):
        return InProcess()
    only_ours = all(name in METRICS.shipped for name in plan.metrics)
    return Threads(wanted) if only_ours and is_compiled(plan.scenario) else LocalPool(wanted)


def _known_here(plan: Plan) -> str | None:
    """A law, reference, sensor or metric of a plan that only this process knows."""
    custom = plan.scenario.get("world", {}).get("sensors", {}).get("custom", {})
    named = [
        (LAWS, plan.scenario["control"].get("law")),
        (REFERENCES, plan.scenario.get("reference", {}).get("kind")),
        *((SENSORS, sensor.get("kind")) for sensor in custom.values()),
        *((METRICS, name) for name in plan.metrics),
    ]
    return next((name for table, name in named if name in table.registered), None)


def time_per_run(plan: Plan, enough: float = 2.0, samples: Iterable[Sequence[str]] = ((), ())) -> float:
    """How long a run takes, s: the median of some; the first compiles and loads and counts only where it is alone.

    Args:
        plan: of the sweep.
        enough: s after which no further run is measured; 20 times that, if it is the first.
        samples: `key=value` texts of the runs to measure; the scenario itself, twice, if not given.
    """
    spent: list[float] = []
    for texts in samples:
        start = time.perf_counter()
        run_row(plan.scenario, texts, plan.metrics)
        spent.append(time.perf_counter() - start)
        if spent[0] > 20 * enough or sum(spent[1:]) > enough:
            break
    return float(median(spent[1:] or spent))

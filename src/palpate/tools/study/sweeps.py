"""sweep: many runs of a scenario, one table, and what it proves."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from palpate.control import LAWS
from palpate.control.references import REFERENCES
from palpate.display import notebook_progress
from palpate.errors import FileError, InvalidInput, PalpateError, StudyError, check_names
from palpate.metrics import METRICS
from palpate.scenario.file.load import folder_of, load_scenario, overridden, with_modules
from palpate.scenario.file.places import read_from
from palpate.scenario.model import Scenario
from palpate.tools.study.analysis import drivers
from palpate.tools.study.analysis.maps import map_spans
from palpate.tools.study.plans import plan as plans
from palpate.tools.study.plans.axis import Axis, Spec, axes_of, override
from palpate.tools.study.plans.plan import Plan, PlanStage
from palpate.tools.study.result import Sweep
from palpate.tools.study.running.address import cluster_address
from palpate.tools.study.running.pool import Here, LocalPool, NoRuns, cores
from palpate.tools.study.running.store import Store
from palpate.tools.study.running.worker import Job, RunTask, check_files, load_metrics, run_row
from palpate.user_code import is_address, texts_of
from palpate.world.sensing.sensor import SENSORS

if TYPE_CHECKING:
    from palpate.tools.study.running.cluster import DaskCluster
    from palpate.trace import Trace

    Executor = Here | NoRuns | LocalPool | DaskCluster

Progress = Callable[[int, int, int], None]  # runs done, runs there will be, runs that did not pass
SHORT = 5.0  # s: what takes no longer is not worth starting processes for
TRIES = 16  # points that are looked at before a sweep begins


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
        vary: keys and what they may be: "100:2000:20", "normal(1, 0.05)", a list…; see palpate.tools.study.plans.axis.
        method: grid, random, latin, sobol, saltelli (for sensitivity), map (a boundary over two parameters).
        runs, repeat, seed: how many, how often each with different noise, and the seed of the draws.
        metrics, metric: columns to compute, all by default; which ranks the runs, the first with a bound by default.
        traces: which to keep: "none", "all", "failing", "best" or "worst".
        until: "failure<0.01" or "width<0.02": stop by a confidence sequence, after at most `runs` runs.
        rare: "force_peak>40": a small probability by importance sampling, with `runs` runs.
        by: what a map asks of a run: "passed", "ended" (it did not diverge) or "force_peak<40".
        confidence: of every interval.
        out: folder, where an unfinished sweep goes on; by default a temporary one that goes with the result.
        workers, cluster: processes, 0 for this one alone; or a cluster: "tcp://…", "local:4", "slurm:job.toml".
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
    driver: Callable[[Store], drivers.Driver] = drivers.drive,
) -> Sweep:
    """Make the runs of a sweep that are missing, and its table."""
    _check_unchanged(store)
    if not store.complete:
        overridden(store.plan.scenario, ()).with_code()  # said and refused here, before workers begin
        load_metrics(store.plan.metrics, store.plan.scenario)
    with store.held():
        executor = Here() if store.complete else executor_for(store.plan, workers, cluster)
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
    driver: drivers.Driver,
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
    return Sweep(store, _run_driver(store, drivers.drive(store), NoRuns(), None, None))


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
        return Here()
    if cluster is not None:
        from palpate.tools.study.running.cluster import DaskCluster

        address = cluster_address(cluster)
        return DaskCluster(address, plan.runs, 0.0 if address.job_file is None else time_per_run(plan, SHORT))
    wanted = cores() if workers is None else workers
    if wanted < 0 or wanted > 10_000:
        raise InvalidInput(f"--workers must be 0 (this process alone) or more, got {wanted}")
    if wanted == 0 or (workers is None and time_per_run(plan, SHORT) * plan.runs < SHORT):
        return Here()
    return LocalPool(wanted)


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


def drawn(plan: Plan, count: int) -> Iterator[list[str]]:
    """The `key=value` texts of so many points of a sweep, drawn over its ranges.

    Runs of them in turn cost what the sweep's do: a robot is built again wherever what varies asks for it.
    """
    for point in range(count):
        values = [axis.at(u) for axis, u in zip(plan.axes, plans.chances(plan.seed, point, len(plan.axes)))]
        yield [override(axis, value, plan.scenario) for axis, value in zip(plan.axes, values)]


# ---------------------------------------------------------------------------------------------- the plan


def make_plan(
    scenario: Scenario | str | os.PathLike[str],
    vary: Mapping[str, Spec] | None = None,
    overrides: Sequence[str] = (),
    **wanted: Any,
) -> Plan:
    """A plan from what was asked for, filled up from the scenario's [sweep] table; see `sweep`."""
    typed = (scenario if isinstance(scenario, Scenario) else load_scenario(scenario, overrides)).with_code()
    sets = [word for text in overrides for word in ("--set", text)]
    words = () if isinstance(scenario, Scenario) else (os.fspath(scenario), *sets)
    if any(os.path.isabs(part.strip("'\"")) for word in words for part in word.split("=", 1)):
        words = ()  # a path of the user's machine; the scenario that is written down says the same
    from_file = {} if typed.sweep is None else typed.sweep.model_dump(mode="json", exclude_none=True)
    requested = {**from_file, **{key: value for key, value in wanted.items() if value is not None}}
    varied = {**from_file.get("vary", {}), **(vary or {})}
    data = read_from({key: value for key, value in typed.as_data().items() if key != "sweep"}, os.getcwd())
    folder = Path.cwd() if isinstance(scenario, Scenario) else folder_of(scenario)
    data = with_modules(data, folder, requested.get("metrics", ()))
    load_metrics(requested.get("metrics", ()), data)
    axes = axes_of(varied)
    method, runs, options = _method(axes, requested)
    traces, metrics = requested.get("traces", "none"), _metrics(requested.get("metrics"), data)
    check_names("choice of traces", [traces], plans.KEPT_TRACES)
    plan = Plan(
        scenario=data, source=words, vary={axis.key: axis.spec for axis in axes}, method=method, runs=runs,
        repeat=requested.get("repeat", 1), seed=_seed(requested.get("seed", 0)), metrics=metrics,
        traces=traces, chunk=plans.chunk_size(runs, traces), options=options, files=plans.file_digests(data),
        versions=plans.versions(),
    )  # fmt: skip
    return _checked(plan)


def _method(axes: tuple[Axis, ...], requested: Mapping[str, Any]) -> tuple[str, int, dict[str, Any]]:
    """Method, runs and options of a plan."""
    names = ("confidence", "until", "rare", "by", "metric")
    options = {name: requested[name] for name in names if requested.get(name) is not None}
    asked = "rare" if requested.get("rare") else requested.get("method")
    check_names("method", [] if asked is None else [asked], plans.METHODS)
    if not 0 < float(options.setdefault("confidence", 0.95)) < 1:
        raise InvalidInput(f"a confidence lies between 0 and 1, got {options['confidence']:g}")
    method, runs = plans.planned_runs(asked, axes, requested.get("runs"), requested.get("repeat", 1))
    if method == "map":
        options["cells"] = plans.map_cells(axes)
    return method, runs, options


def _seed(seed: Any) -> int:
    if not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InvalidInput(f"the sweep's seed must be a whole number from 0 to 2^63 − 1, got {seed!r}")
    return seed


def _metrics(wanted: Sequence[str] | None, data: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns, in the table's order; those with a bound always."""
    check_names("metric", wanted or (), METRICS)
    bounded = data.get("metrics", {})
    own = dict.fromkeys(filter(is_address, (*bounded, *(wanted or ()))))
    asked = {*bounded, *(METRICS.keys() - METRICS.registered.keys() if wanted is None else wanted)}
    return (*(name for name in METRICS if name in asked), *own)


def _checked(plan: Plan) -> Plan:
    """What can be said about a plan before anything is run."""
    if plan.method == "map":
        map_spans(plan)
        if "by" in plan.options and plan.options["by"] not in ("passed", "ended"):
            drivers.parse_rule(plan.options["by"], "--by", plan.metrics)
    elif "by" in plan.options:
        raise InvalidInput("--by is what a map asks of a run; it goes with --method map")
    if plan.method == "rare":
        drivers.score_of(plan)
    if "until" in plan.options:
        drivers.check_until(plan.options["until"])
        if plan.method != "random":
            raise InvalidInput("--until needs independent draws: --method random")
    check_names("metric", [plan.options["metric"]] if plan.options.get("metric") else [], plan.metrics)
    return plan


def check_points(plan: Plan) -> None:
    """Refuse a sweep none of whose points gives a scenario: a misspelt key, a value of the wrong kind."""
    problem: PalpateError | None = None
    for texts in drawn(plan, TRIES):
        try:
            overridden(plan.scenario, texts).with_code()
            return
        except PalpateError as error:
            problem = problem or error
    raise InvalidInput(f"no point of this sweep gives a scenario; the first one: {problem}")

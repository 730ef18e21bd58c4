"""The plan of a sweep, from what was asked for and from the scenario's [sweep] table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from palpate.errors import InvalidInput, PalpateError, check_names
from palpate.metrics import METRICS
from palpate.scenario.file.load import load_scenario, overridden
from palpate.scenario.file.places import read_from
from palpate.scenario.file.sources import folder_of, with_modules
from palpate.scenario.model import Scenario
from palpate.tools.study.analysis.maps import map_spans
from palpate.tools.study.drivers.rare import score_of
from palpate.tools.study.drivers.rules import parse_rule
from palpate.tools.study.drivers.stopping import check_until
from palpate.tools.study.plans import plan as plans
from palpate.tools.study.plans.axis import Axis, Spec
from palpate.tools.study.plans.override import override
from palpate.tools.study.plans.plan import Plan
from palpate.tools.study.plans.points import METHODS, chances, map_cells, planned_runs
from palpate.tools.study.plans.spec import axes_of
from palpate.tools.study.running.worker import load_metrics
from palpate.user_code import is_address

TRIES = 16  # points that are looked at before a sweep begins


def draw_overrides(plan: Plan, count: int) -> Iterator[list[str]]:
    """The `key=value` texts of `count` points of a sweep, drawn over its ranges.

    Runs of them in turn cost what the sweep's do: a robot is built again wherever what varies asks for it.
    """
    for point in range(count):
        values = [axis.at(u) for axis, u in zip(plan.axes, chances(plan.seed, point, len(plan.axes)))]
        yield [override(axis, value, plan.scenario) for axis, value in zip(plan.axes, values)]


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
    check_names("method", [] if asked is None else [asked], METHODS)
    if not 0 < float(options.setdefault("confidence", 0.95)) < 1:
        raise InvalidInput(f"a confidence lies between 0 and 1, got {options['confidence']:g}")
    method, runs = planned_runs(asked, axes, requested.get("runs"), requested.get("repeat", 1))
    if method == "map":
        options["cells"] = map_cells(axes)
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
    """Check a plan's rules and metrics before anything is run, and return it."""
    if plan.method == "map":
        map_spans(plan)
        if "by" in plan.options and plan.options["by"] not in ("passed", "ended"):
            parse_rule(plan.options["by"], "--by", plan.metrics)
    elif "by" in plan.options:
        raise InvalidInput("--by is what a map asks of a run; it goes with --method map")
    if plan.method == "rare":
        score_of(plan)
    if "until" in plan.options:
        check_until(plan.options["until"])
        if plan.method != "random":
            raise InvalidInput("--until needs independent draws: --method random")
    check_names("metric", [plan.options["metric"]] if plan.options.get("metric") else [], plan.metrics)
    return plan


def check_points(plan: Plan) -> None:
    """Refuse a sweep none of whose points gives a scenario: a misspelt key, a value of the wrong kind."""
    problem: PalpateError | None = None
    for texts in draw_overrides(plan, TRIES):
        try:
            overridden(plan.scenario, texts).with_code()
            return
        except PalpateError as error:
            problem = problem or error
    raise InvalidInput(f"no point of this sweep gives a scenario; the first one: {problem}")

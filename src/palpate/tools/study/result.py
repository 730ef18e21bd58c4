"""What a sweep leaves: its table, and every run of it at hand."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import ceil, floor, isfinite, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.checks import Array
from palpate.display import shown
from palpate.errors import InvalidInput, check_names
from palpate.files import make_folder, write_file
from palpate.forking import cached_property
from palpate.metrics import METRICS
from palpate.parquet import Footer, Values, read_columns, read_footer
from palpate.scenario.file.overrides import parse_override
from palpate.tools.study.analysis import statistics
from palpate.tools.study.analysis.broken import broken_bounds, distances
from palpate.tools.study.analysis.maps import BoundaryMap
from palpate.tools.study.analysis.statistics import RareEstimate
from palpate.tools.study.analysis.telling import telling_shares
from palpate.tools.study.plans.axis import Axis, Value
from palpate.tools.study.plans.plan import CRASHED, ENDED, IMPOSSIBLE, INDEPENDENT, MOST_KEPT, REFUSED, PlannedRun
from palpate.tools.study.running.store import SCENARIO, Store
from palpate.tools.study.running.worker import whole_trace

if TYPE_CHECKING:
    import pandas

    from palpate.trace import Trace

SUMMARY = "summary.json"
RAN = (*ENDED, "diverged")


class Sweep:
    """A finished sweep.

    Attributes:
        plan: what was asked for.
        folder: where its table and traces are.
        path: the table, a Parquet file.
        finding: what the method found: a BoundaryMap, a RareEstimate, the interval of a sweep that stopped by itself,
            or None.
    """

    def __init__(self, store: Store, finding: Any = None) -> None:
        self.store, self.finding = store, finding
        self.plan, self.folder, self.path = store.plan, store.folder, store.path

    @property
    def map(self) -> BoundaryMap:
        """The map of a sweep by method "map"."""
        if not isinstance(self.finding, BoundaryMap):
            raise InvalidInput("this sweep made no map", hint='sweep(…, method="map") does')
        return self.finding

    @property
    def rare(self) -> RareEstimate:
        """The estimate of a sweep with `rare`."""
        if not isinstance(self.finding, RareEstimate):
            raise InvalidInput("this sweep looked for no rare failure", hint='sweep(…, rare="force_peak>40") does')
        return self.finding

    # ------------------------------------------------------------------ the table

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns."""
        return self._footer.columns

    @cached_property
    def _footer(self) -> Footer:
        return read_footer(self.path)

    def __len__(self) -> int:
        return self._footer.rows

    def __getitem__(self, name: str) -> list[Any]:
        """A column, in the order of the runs; None where it says nothing."""
        return self._column(name).to_list()

    def numbers(self, name: str) -> Array:
        """A column as floats, NaN where it says nothing."""
        return self._column(name).to_numpy().astype(np.float64)

    def is_one_of(self, name: str, values: Sequence[Any]) -> Array:
        """Which runs have one of these values in a column."""
        return np.array([value in values for value in self[name]], dtype=bool)

    @cached_property
    def passed(self) -> Array:
        """Which runs passed."""
        return self.is_one_of("passed", [True])

    def row(self, run: int) -> dict[str, Any]:
        """Everything about one run."""
        if not 0 <= run < len(self):
            raise InvalidInput(f"there is no run {run}; they are numbered 0 to {len(self) - 1}")
        return {name: values.to_list()[0] for name, values in read_columns(self.path, rows=(run, run + 1)).items()}

    def _column(self, name: str) -> Values:
        check_names("column", [name], self.columns)
        return read_columns(self.path, [name])[name]

    def table(self) -> dict[str, list[Any]]:
        """The whole table, by columns."""
        return {name: values.to_list() for name, values in read_columns(self.path).items()}

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame({name: values.to_numpy() for name, values in read_columns(self.path).items()})

    # ------------------------------------------------------------------ one run

    def values(self, run: int) -> dict[str, Value]:
        """The parameters of a run."""
        return self._values(self.row(run))

    def _values(self, row: Mapping[str, Any]) -> dict[str, Value]:
        return {axis.key: _read(axis, row[axis.key]) for axis in self.plan.axes}

    def overrides(self, run: int) -> list[str]:
        """The `key=value` texts that make a run."""
        return self._overrides(self.row(run), run)

    def _overrides(self, row: Mapping[str, Any], run: int) -> list[str]:
        return self.plan.overrides(PlannedRun(tuple(self._values(row).values()), row["seed"], run))

    def command(self, run: int) -> str:
        """The command that makes this very run again."""
        return self._command(self.row(run), run)

    def _command(self, row: Mapping[str, Any], run: int) -> str:
        here = self.folder.relative_to(Path.cwd()) if self.folder.is_relative_to(Path.cwd()) else self.folder
        source = self.plan.source or (str(here / SCENARIO),)
        words = [*source, *(word for text in self._overrides(row, run) for word in ("--set", text))]
        return shlex.join(["palpate", "run", *words])

    def commands(self, runs: Sequence[int]) -> dict[int, str]:
        """The commands of several runs, with one look at the table."""
        keys = [axis.key for axis in self.plan.axes]
        columns = {name: self[name] for name in (*keys, "seed")}
        return {run: self._command({name: values[run] for name, values in columns.items()}, run) for run in runs}

    def trace(self, run: int) -> Trace:
        """The trace of a run, made again: the same numbers."""
        return whole_trace(self.plan.scenario, self.overrides(run))

    # ------------------------------------------------------------------ what it says

    @property
    def metric(self) -> str | None:
        """What ranks the runs: as asked for, or the first metric with a bound."""
        bounded = [name for name in self.plan.metrics if name in self.plan.scenario.get("metrics", {})]
        return self.plan.options.get("metric") or next(iter(bounded), None)

    def badness(self) -> Array:
        """How badly each run did, by the ranking metric: larger is worse, +inf where it ended badly or has no number.

        Beyond `most` or below `least`, whichever the bound has; the distance from the middle where it has both.
        Without a metric 1 for a run that did not pass. −inf for what never ran.
        """
        ran, ended = self.is_one_of("outcome", RAN), self.is_one_of("outcome", ENDED)
        if self.metric is None:
            return np.where(ran, (~self.passed).astype(float), -np.inf)
        values, bound = self.numbers(self.metric), self.plan.scenario.get("metrics", {}).get(self.metric, {})
        least, most = bound.get("least"), bound.get("most")
        if least is not None and most is not None:
            values = np.abs(values - (least + most) / 2)
        elif least is not None:
            values = -values
        return np.where(ran, np.where(ended & np.isfinite(values), values, np.inf), -np.inf)

    def worst(self, count: int = MOST_KEPT) -> list[int]:
        """The runs that did worst, worst first; what never ran is left out.

        First those that ended badly, then those that broke a bound, by how far they are beyond the one they broke (as a
        share of it) or by the metric asked for, then the others by the ranking metric.
        """
        bad = self.badness()
        beyond = np.zeros(len(bad)) if self.plan.options.get("metric") else distances(self)
        order = np.lexsort((np.arange(len(bad)), -bad, -beyond, self.passed, ~np.isposinf(bad)))
        return [int(run) for run in order if bad[run] > -np.inf][:count]

    def best(self, count: int = 1) -> list[int]:
        """The runs that did best, best first: those that passed, if any did."""
        bad = self.badness()
        bad[np.isneginf(bad)] = np.inf
        keys = (np.arange(len(bad)), bad, ~self.passed)
        return [int(run) for run in np.lexsort(keys) if np.isfinite(bad[run])][:count]

    def failing(self) -> list[int]:
        """Runs that ran and did not pass."""
        return np.flatnonzero(~self.passed & self.is_one_of("outcome", RAN)).tolist()

    def pareto(self, first: str, second: str) -> list[int]:
        """The runs that no other one beats in both metrics, smaller being better."""
        return statistics.pareto_front(self.numbers(first), self.numbers(second)).tolist()

    def sensitivity(self, metric: str) -> list[statistics.Sensitivity]:
        """Sobol indices of a metric, from a sweep by method "saltelli"."""
        if self.plan.method != "saltelli":
            raise InvalidInput("sensitivity needs a sweep by method saltelli", hint="--method saltelli")
        keys = [axis.key for axis in self.plan.axes]
        rows = self.numbers(metric).reshape(-1, len(keys) + 2)
        confidence, A, AB, B = self.plan.options["confidence"], rows[:, 0], rows[:, 1:-1], rows[:, -1]
        return statistics.indices(keys, A, AB, B, confidence, self.plan.seed)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Everything there is to say, as plain data."""
        return summarise(self)

    @property
    def sentence(self) -> str:
        """What the runs prove, in a sentence."""
        return str(self.summary["sentence"])

    def __repr__(self) -> str:
        return f"<Sweep: {len(self)} runs in {self.folder}>"

    def _repr_html_(self) -> str:
        return shown("sweep_html")(self)

    def save_summary(self, summary: dict[str, Any] | None = None) -> Path:
        """Write the summary beside the table."""
        text = json.dumps(summary or self.summary, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        return write_file(self.folder / SUMMARY, text)

    def keep_traces(self) -> list[Path]:
        """Make and keep the traces of the best or worst runs, where the plan asks for them."""
        wanted = {"best": self.best, "worst": self.worst}.get(self.plan.traces)
        runs: Sequence[int] = [] if wanted is None else wanted(MOST_KEPT)
        for run in runs:
            if not self.store.trace_path(run).is_file():
                make_folder(self.store.trace_path(run).parent)
                self.trace(run).save(self.store.trace_path(run))
        return sorted(self.store.trace_path(0).parent.glob("*.parquet"))


def _read(axis: Axis, stored: Value) -> Value:
    """A value as it was before it became text."""
    texts = all(isinstance(value, str) for value in axis.values or ())
    if not isinstance(stored, str) or (axis.values and texts):
        return stored
    return parse_override(f"x={stored}")[1]


# ----------------------------------------------------------------------------------------------
# What a sweep says at the end: counts, a sentence that holds, worst cases with their commands, all as plain data.


NAMED = 5  # runs of a kind that are named
MOST_LINES = 3000  # points of a line that are written down
_NUMBER = re.compile(r"(?<![A-Za-z_\d])[-+−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")  # not the 2 of joint2


def summarise(sweep: Sweep, pareto: tuple[str, str] | None = None) -> dict[str, Any]:
    """Everything there is to say about a sweep.

    Args:
        sweep: the runs.
        pareto: two metrics whose front is wanted.
    """
    plan, counts = sweep.plan, _counts(sweep)
    broken = broken_bounds(sweep)
    sentences = [*_probability_sentences(sweep), *_finding_sentences(sweep), *_scenario_bound(sweep)]
    facts: dict[str, Any] = {
        "scenario": plan.scenario.get("name"),
        "description": plan.scenario.get("description", ""),
        "method": plan.method,
        "runs": len(sweep),
        "vary": plan.vary,
        "seed": plan.seed,
        "repeat": plan.repeat,
        "metric": sweep.metric,
        "unit": unit_of(sweep.metric),
        "confidence": plan.options.get("confidence", 0.95),
        "counts": counts,
        "counted": _counted(len(sweep), counts),
        "sentence": "".join(sentences[:1]),
        "said": [*(one.sentence for one in broken), *sentences[1:]],
        "bounds": _bounds(plan.scenario),
        "broken": {one.metric: len(one.runs) for one in broken},
        "failures": [{"metric": one.metric, "runs": len(one.runs), "sentence": one.sentence} for one in broken],
        "worst": [run_summary(sweep, run) for run in sweep.worst()],
        "best": [run_summary(sweep, run) for run in sweep.best()],
        "failing": [run_summary(sweep, run) for run in _failing(sweep)],
        "named": _first_bad_runs(sweep),
        "warnings": _warnings(sweep),
    }
    told = telling_shares(sweep, list(facts["broken"]))
    return facts | told | _sensitivity(sweep) | _map(sweep) | (_pareto(sweep, *pareto) if pareto else {})


def _bounds(scenario: dict[str, Any]) -> dict[str, dict[str, float]]:
    """What each bounded metric must keep, without the ends that are open."""
    bounds = scenario.get("metrics", {}).items()
    return {name: {end: limit for end, limit in bound.items() if limit is not None} for name, bound in bounds}


def _failing(sweep: Sweep) -> list[int]:
    """One failing run: another than the worst, if there is one."""
    failing, worst = sweep.failing(), sweep.worst(1)
    return [run for run in failing if run not in worst][:1] or failing[:1]


# ---------------------------------------------------------------------------------------------- counts


def _counts(sweep: Sweep) -> dict[str, int]:
    broke = int(np.count_nonzero(sweep.is_one_of("outcome", ENDED) & ~sweep.passed))
    kinds = ("diverged", IMPOSSIBLE, CRASHED, REFUSED)
    others = {kind: int(np.count_nonzero(sweep.is_one_of("outcome", [kind]))) for kind in kinds}
    return {"passed": int(np.count_nonzero(sweep.passed)), "broke a bound": broke, **others}


def unit_of(metric: str | None) -> str:
    """A metric's unit, "1" where it has none."""
    return METRICS[metric].unit if metric is not None and metric in METRICS else "1"


def _counted(runs: int, counts: dict[str, int]) -> str:
    parts = [f"{count} {kind}" for kind, count in counts.items() if count or kind == "passed"]
    return f"{runs} runs: {', '.join(parts)}"


def _first_bad_runs(sweep: Sweep) -> dict[str, list[dict[str, Any]]]:
    """The first runs of each kind that is no plain success, with their reasons."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for kind in ("diverged", IMPOSSIBLE, CRASHED):
        for run in np.flatnonzero(sweep.is_one_of("outcome", [kind]))[:NAMED].tolist():
            reason = " ".join(str(sweep.row(run)["reason"]).split())
            groups.setdefault(kind, []).append({"run": run, "reason": reason, "command": sweep.command(run)})
    return groups


def _warnings(sweep: Sweep) -> list[str]:
    """Warnings by how many runs have them; those that differ in their numbers alone are one, told of the worst."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for run, texts in enumerate(sweep["warnings"]):
        for text in texts or ():
            groups.setdefault(_NUMBER.sub("#", text), []).append((run, text))
    most = sorted(groups.values(), key=len, reverse=True)
    shown = [_counted_warning(one) for one in most[:NAMED]]
    return [*shown, f"{len(most) - NAMED} more kinds of warnings"] if len(most) > NAMED else shown


def _counted_warning(told: list[tuple[int, str]]) -> str:
    """One warning of many runs, in the words of the run whose first differing number is largest."""
    runs, alike = {run for run, _ in told}, len({text for _, text in told}) == 1
    count = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    if alike:
        return f"{count}: {told[0][1]}"
    numbers = [[float(x.replace("−", "-")) for x in _NUMBER.findall(text)] for _, text in told]
    place = next(k for k in range(len(numbers[0])) if len({row[k] for row in numbers}) > 1)
    largest = max(range(len(told)), key=lambda k: abs(numbers[k][place]))
    return f"{count}, largest in run {told[largest][0]}: {told[largest][1]}"


def run_summary(sweep: Sweep, run: int) -> dict[str, Any]:
    """What there is to say about one run."""
    row = sweep.row(run)
    bounds = sweep.plan.scenario.get("metrics", {})
    return {
        "run": run,
        "broken": {
            name: {"value": row.get(name), "unit": unit_of(name), **bounds.get(name, {})} for name in row["failed"]
        },
        "value": None if sweep.metric is None else row[sweep.metric],
        **{name: row[name] for name in ("outcome", "passed", "failed", "reason")},
        "values": sweep.values(run),
        "command": sweep.command(run),
    }


# ---------------------------------------------------------------------------------------------- what is proved


def _independent(sweep: Sweep) -> np.ndarray:
    """The runs that are independent draws: all, or rows A and B of a sensitivity design."""
    runs = np.arange(len(sweep))
    if sweep.plan.method == "saltelli":
        part = runs % (len(sweep.plan.axes) + 2)
        return runs[(part == 0) | (part == len(sweep.plan.axes) + 1)]
    return runs[runs % sweep.plan.repeat == 0]


def _probability_sentences(sweep: Sweep) -> list[str]:
    plan = sweep.plan
    if plan.method in ("rare", "map", "tune"):
        return []
    if plan.method not in INDEPENDENT:
        bad = int(np.count_nonzero(~sweep.passed))
        why = "a grid is no draw" if plan.method == "grid" else f"{plan.method} points are not independent draws"
        return [f"{bad} of {len(sweep)} runs did not pass; {why}, so no probability is given"]
    drawn = _independent(sweep)
    failures = int(np.count_nonzero(~sweep.passed[drawn]))
    confidence = float(plan.options["confidence"])
    if isinstance(sweep.finding, statistics.Interval):
        interval, how = sweep.finding, "a confidence sequence, valid at every number of runs"
    else:
        most = statistics.failure_bound(failures, len(drawn), confidence)
        interval, how = statistics.Interval(0.0, most, confidence), "exact one-sided bound, Clopper–Pearson"
    return [_probability(interval, failures, len(drawn), how, sweep)]


def _probability(interval: statistics.Interval, failures: int, runs: int, how: str, sweep: Sweep) -> str:
    held = f"with {percent(interval.confidence)} confidence"
    evidence = f"({failures} of {runs} independent runs failed; {how})"
    never = int(np.count_nonzero(sweep.is_one_of("outcome", (IMPOSSIBLE, CRASHED))))
    note = f"; {never} that could not run count as failures" if never else ""
    if interval.low == 0.0:
        return f"P(failure) < {percent(interval.high, up=True)} {held} {evidence}{note}"
    ends = f"{percent(interval.low, up=False)} and {percent(interval.high, up=True)}"
    return f"P(failure) lies between {ends} {held} {evidence}{note}"


def _scenario_bound(sweep: Sweep) -> list[str]:
    """The largest value seen, as a bound on a new draw."""
    if sweep.plan.method not in INDEPENDENT or sweep.metric is None or isinstance(sweep.finding, statistics.Interval):
        return []
    drawn, confidence = _independent(sweep), float(sweep.plan.options["confidence"])
    values = np.where(sweep.is_one_of("outcome", ENDED), sweep.numbers(sweep.metric), np.nan)[drawn]
    missing = int(np.count_nonzero(~np.isfinite(values)))
    if missing == len(values):
        return []
    level = statistics.scenario_level(len(drawn), confidence, discarded=missing)
    unit = unit_of(sweep.metric)
    worst = f"{np.nanmax(values):.6g}{'' if unit == '1' else ' ' + unit}"
    besides = f", the {missing} runs that ended badly or have none counted as beyond it" if missing else ""
    return [
        f"the largest {sweep.metric} seen, {worst}, is exceeded with probability < {percent(level, up=True)}, "
        f"confidence {percent(confidence)} (scenario bound, one free number{besides})"
    ]


def _finding_sentences(sweep: Sweep) -> list[str]:
    if isinstance(sweep.finding, RareEstimate):
        return [rare_sentence(sweep.finding, str(sweep.plan.options["rare"]))]
    if isinstance(sweep.finding, BoundaryMap):
        finding = sweep.finding
        share = f"{finding.runs} runs, {finding.share:.1%} of a grid as fine".replace("%", " %")
        if not finding.boundary:
            verdict = "good" if finding.verdicts.all() else "bad" if not finding.verdicts.any() else "mixed"
            return [f"the map is {verdict} everywhere it was looked at ({finding.runs} runs); no boundary"]
        return [
            f"{int(finding.verdicts.sum())} of {finding.runs} runs of the map were good; boundary found with {share}"
        ]
    return []


def rare_sentence(estimate: RareEstimate, rule: str) -> str:
    """What is known of a small probability."""
    note = f"; {estimate.note}" if estimate.note else ""
    held = f"with {percent(estimate.interval.confidence)} confidence"
    if estimate.probability is None:
        return f"P({rule}) < {percent(estimate.interval.high, up=True)} {held} after {estimate.runs} runs{note}"
    less = estimate.plain_runs / estimate.runs
    low, high = estimate.interval.low, estimate.interval.high
    return (
        f"P({rule}) = {estimate.probability:.3g}, between {low:.3g} and {high:.3g} {held} "
        f"({estimate.runs} runs, {estimate.hits} of them hits;"
        f" plain sampling would need {less:.3g} times as many{note})"
    )


# ---------------------------------------------------------------------------------------------- further findings


def _sensitivity(sweep: Sweep) -> dict[str, Any]:
    if sweep.plan.method != "saltelli" or sweep.metric is None:
        return {}
    try:
        return {"sensitivity": [asdict(one) for one in sweep.sensitivity(sweep.metric)]}
    except InvalidInput as error:
        return {"sensitivity": [], "sensitivity_note": str(error)}


def _pareto(sweep: Sweep, first: str, second: str) -> dict[str, Any]:
    runs = sweep.pareto(first, second)[:MOST_LINES]
    points = np.column_stack([sweep.numbers(name)[runs] for name in (first, second)]).tolist()
    return {"pareto": {"metrics": [first, second], "runs": runs, "points": points}}


def _map(sweep: Sweep) -> dict[str, Any]:
    if not isinstance(sweep.finding, BoundaryMap):
        return {}
    finding = sweep.finding
    return {
        "map": {
            "keys": [axis.key for axis in sweep.plan.axes],
            "log": [finding.x.log, finding.y.log],
            "ends": [[finding.x.low, finding.x.high], [finding.y.low, finding.y.high]],
            "points": finding.points.tolist(),
            "good": finding.verdicts.tolist(),
            "boundary": [line[:MOST_LINES].tolist() for line in finding.boundary],
            "predicted": [],
        }
    }


def percent(share: float, up: bool | None = None) -> str:
    """A share in per cent, three digits; rounded away from the safe side where `up` says which that is."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    value = 100.0 * share
    step = 10.0 ** (floor(log10(abs(value))) - 2)
    rounded = round(value / step) * step if up is None else (ceil if up else floor)(value / step) * step
    return f"{rounded:.6g} %" if isfinite(rounded) else "–"

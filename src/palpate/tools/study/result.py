"""The result of a sweep: its table, and access to each of its runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.checks import Array
from palpate.display import shown
from palpate.errors import InvalidInput, check_names
from palpate.files import make_folder, write_file
from palpate.forking import cached_property
from palpate.parquet import Footer, Values, read_columns, read_footer
from palpate.scenario.file.overrides import parse_override
from palpate.tools.study.analysis.broken import distances
from palpate.tools.study.analysis.maps import BoundaryMap
from palpate.tools.study.analysis.pareto import pareto_front
from palpate.tools.study.analysis.rare import RareEstimate
from palpate.tools.study.analysis.sobol import SobolIndex, estimate_indices
from palpate.tools.study.plans.axis import Axis, Value
from palpate.tools.study.plans.plan import ENDED, MOST_KEPT
from palpate.tools.study.plans.points import PlannedRun
from palpate.tools.study.running.store import SCENARIO, Store
from palpate.tools.study.running.worker import whole_trace
from palpate.tools.study.summary import summarise

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
        """The metric that ranks the runs: as asked for, or the first with a bound."""
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
        return pareto_front(self.numbers(first), self.numbers(second)).tolist()

    def sensitivity(self, metric: str) -> list[SobolIndex]:
        """Sobol indices of a metric, from a sweep by method "saltelli"."""
        if self.plan.method != "saltelli":
            raise InvalidInput("sensitivity needs a sweep by method saltelli", hint="--method saltelli")
        keys = [axis.key for axis in self.plan.axes]
        rows = self.numbers(metric).reshape(-1, len(keys) + 2)
        confidence, A, AB, B = self.plan.options["confidence"], rows[:, 0], rows[:, 1:-1], rows[:, -1]
        return estimate_indices(keys, A, AB, B, confidence, self.plan.seed)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Everything there is to say, as plain data."""
        return summarise(self)

    @property
    def sentence(self) -> str:
        """A sentence on what the runs prove."""
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

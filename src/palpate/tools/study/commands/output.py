"""Output of the commands that make many runs: lines that are printed, and pages that are written."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.tables import number, print_table
from palpate.errors import PalpateError

if TYPE_CHECKING:
    from palpate.tools.study import Sweep
    from palpate.trace import Trace

REPORT = "report.html"
MOST_REPLAYS = 12  # runs of a sweep all of which its page can replay; of a larger one the notable ones
MOST_COMMANDS = 20_000  # runs whose command is written down for the page, which draws fewer


def print_summary(summary: Mapping[str, Any], quiet: bool) -> None:
    """Print what a sweep says."""
    if not quiet:
        print(f"{summary['scenario']}: {summary['counted']}")
    for line in (summary["sentence"], *summary["said"]):
        if line:
            print(line)
    if quiet:
        return
    for kind, named in summary["named"].items():
        for one in named[:3]:
            print(f"{kind}: run {one['run']}: {one['reason']}")
    for warning in summary["warnings"]:
        print(f"warning: {warning}")
    _print_sensitivity(summary)
    _print_front(summary)
    _print_runs(summary)


def _print_runs(summary: Mapping[str, Any]) -> None:
    """The worst runs and the best, each with its command."""
    unit = "" if summary["unit"] == "1" else f" {summary['unit']}"
    worst = [("worst", one) for one in summary["worst"][:3]]
    for title, one in [*worst, *(("best", one) for one in summary["best"][:1])]:
        value = "" if one["value"] is None else f", {summary['metric']} {number(one['value'])}{unit}"
        if one["broken"]:
            value = ", broke " + ", ".join(_broken_bound(name, bound) for name, bound in one["broken"].items())
        print(f"\n{title}: run {one['run']}, {one['outcome']}{value}\n  {one['command']}")


def _broken_bound(name: str, bound: Mapping[str, Any]) -> str:
    """A bound that a run broke: the metric, its value, what was allowed."""
    unit = "" if bound["unit"] == "1" else f" {bound['unit']}"
    words = {"least": "at least", "most": "at most"}
    allowed = ", ".join(f"{words[end]} {bound[end]:g}" for end in words if bound.get(end) is not None)
    return f"{name} {number(bound['value'])}{unit} ({allowed})"


def _print_sensitivity(summary: Mapping[str, Any]) -> None:
    if summary.get("sensitivity_note"):
        print(f"sensitivity: {summary['sensitivity_note']}")
    if not summary.get("sensitivity"):
        return
    rows = []
    for one in summary["sensitivity"]:
        ends = [f"{number(one[k]['low'])} to {number(one[k]['high'])}" for k in ("first_interval", "total_interval")]
        rows.append([one["key"], number(one["first"]), ends[0], number(one["total"]), ends[1]])
    print(f"\nsensitivity of {summary['metric']} (Sobol indices, {100 * summary['confidence']:g} % intervals):")
    print_table(["key", "alone", "", "with others", ""], rows, "lrlrl")


def _print_front(summary: Mapping[str, Any]) -> None:
    if not summary.get("pareto"):
        return
    front = summary["pareto"]
    rows = [[str(run), *map(number, point)] for run, point in list(zip(front["runs"], front["points"]))[:10]]
    print(f"\nPareto front, {len(front['runs'])} of {summary['runs']} runs:")
    print_table(["run", *front["metrics"]], rows, "rrr")


def write_pages(sweep: Sweep, summary: dict[str, Any], folder: Path, pages: bool, mapped: Sweep | None = None) -> Path:
    """Write the summary and the report, in which some runs can be replayed; return where to look.

    Args:
        sweep: the runs.
        summary: what they say.
        folder: where to write.
        pages: whether to write the report.
        mapped: the runs of a study's map, if it has one.
    """
    sweep.save_summary(summary)
    if not pages:
        return sweep.path
    commands = {str(run): text for run, text in sweep.commands(range(min(len(sweep), MOST_COMMANDS))).items()}
    if mapped is not None:
        commands |= {f"map {run}": text for run, text in mapped.commands(range(len(mapped))).items()}
    pp.views.sweep_report(sweep.path, summary, folder / REPORT, _traces(sweep, summary), commands)
    return folder / REPORT


def _traces(sweep: Sweep, summary: Mapping[str, Any]) -> dict[str, Trace]:
    """Traces of the runs that the page replays, made again."""
    traces = {}
    for run in _replayed(sweep, summary):
        try:
            traces[str(run)] = sweep.trace(run)
        except PalpateError as error:  # what cannot be made again is still in the table
            print(f"note: no replay of run {run}: {error}", file=sys.stderr)
    return traces


def _replayed(sweep: Sweep, summary: Mapping[str, Any]) -> list[int]:
    """Runs that the page replays: all that ran of a small sweep, else the best, the worst and a failing one."""
    from palpate.tools.study.result import RAN

    notable = [one["run"] for name in ("best", "worst", "failing") for one in summary[name][:1]]
    chosen = range(len(sweep)) if len(sweep) <= MOST_REPLAYS else dict.fromkeys(notable)
    ran = sweep.is_one_of("outcome", RAN)
    return [run for run in chosen if ran[run]]

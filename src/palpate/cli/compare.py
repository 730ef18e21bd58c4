"""Print which settings of two or more runs differ, and their metrics side by side, and write a page with their replays
side by side and their plots laid over each other.

examples:
  palpate run panda-wall && palpate run panda-wall --set world.surfaces.wall.stiffness=2e4
  palpate compare runs/panda-wall-1 runs/panda-wall-2
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.console import open_page
from palpate.cli.folder import find_trace, use_modules_beside
from palpate.cli.tables import number, print_json, print_table
from palpate.errors import InvalidInput

if TYPE_CHECKING:
    from palpate.metrics import MetricResult
    from palpate.trace import Trace


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "compare", help="metrics and plots of several runs side by side", description=__doc__
    )
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="trace files, or folders of runs; two or more")
    parser.add_argument("--out", default="compare.html", metavar="FILE", help="page to write (compare.html)")
    parser.add_argument("--open", action="store_true", help="show it in the browser")
    parser.add_argument("--json", action="store_true", help="print settings and metrics as JSON, nothing else")


def run(args: argparse.Namespace) -> int:
    """Load, evaluate, print, write."""
    from palpate.views.pages.comparison import differences

    if len(args.traces) < 2:
        raise InvalidInput("compare takes two or more runs, got one", hint="palpate compare A B")
    paths = [find_trace(location) for location in args.traces]
    names = short_names(paths)
    traces = [pp.load_trace(path) for path in paths]
    for path in paths:
        use_modules_beside(path)
    table = aligned([pp.metrics.evaluate(trace) for trace in traces])
    settings, page = differences(traces), pp.views.compare(traces, names, args.out)
    if args.json:
        _print_json(names, traces, settings, table, page)
        return 0
    rows = [
        [f"{row[0].name} [{row[0].unit}]", *(number(result.value) for result in row)]
        for row in zip(*table)
        if any(result.value is not None for result in row)
    ]
    align = "l" + "r" * len(names)
    if settings:
        print_table(["setting", *names], [[key, *values] for key, values in settings.items()], align)
        print()
    else:
        print("the same settings\n")
    print_table(["metric", *names], [["outcome", *(t.outcome.kind for t in traces)], *rows], align)
    print(f"\nwrote {page}")
    if args.open:
        open_page(page)
    return 0


def _print_json(
    names: Sequence[str], traces: Sequence[Trace], settings: dict[str, list[str]], table: Sequence[Any], page: Path
) -> None:
    metrics = {row[0].name: {"unit": row[0].unit, "values": [result.value for result in row]} for row in zip(*table)}
    outcomes = [trace.outcome.kind for trace in traces]
    answer = {"runs": list(names), "outcomes": outcomes, "settings": settings, "metrics": metrics, "page": str(page)}
    print_json(answer)


def aligned(table: Sequence[Sequence[MetricResult]]) -> list[list[MetricResult]]:
    """The same metrics for every run; own ones of another run's scenario have no value."""
    every = {result.name: replace(result, value=None) for row in table for result in row}
    return [list({**every, **{result.name: result for result in row}}.values()) for row in table]


def short_names(paths: Sequence[Path]) -> list[str]:
    """What to call each run: its folder or file, numbered where that is not enough."""
    names: list[str] = []
    for path in paths:
        name = path.resolve().parent.name if path.name == "trace.parquet" else path.stem
        taken = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({taken + 1})" if taken else name)
    return names

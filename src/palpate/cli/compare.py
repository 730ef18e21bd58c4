"""Compare runs, or run a scenario under several laws on the same draws and compare those.

Of two or more runs it prints which settings differ and their metrics side by side. With --laws it runs SCENARIO under
each law: draw k has the same values and noise for all of them, so that differences are paired. Both write a page with
plots laid over each other and replays side by side.

examples:
  palpate run panda-wall && palpate run panda-wall --set world.surfaces.wall.stiffness=2e4
  palpate compare runs/panda-wall-1 runs/panda-wall-2
  palpate compare --laws cartesian-impedance,shaped-impedance,parallel-force panda-wall
  palpate compare --laws cartesian-impedance,direct-force panda-wall --vary 'world.plant.mass_scale=normal(1, 0.05)' \\
      --gains direct-force.proportional=1 --runs 300
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import palpate as pp
from palpate.cli.console import open_page
from palpate.cli.folder import find_trace
from palpate.cli.judged import add_code_option, judged
from palpate.cli.tables import number, print_json, print_table
from palpate.errors import InvalidInput


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("compare", help="compare several runs, or laws on common draws", description=__doc__)
    parser.add_argument("traces", nargs="+", metavar="TRACE",
                        help="trace files, or folders of runs, two or more; with --laws one SCENARIO")  # fmt: skip
    parser.add_argument("--out", metavar="FILE", help="page to write (compare.html); with --laws a folder")
    add_code_option(parser, "compute the scenarios' own metrics again")
    parser.add_argument("--open", action="store_true", help="show it in the browser")
    parser.add_argument("--json", action="store_true", help="print settings and metrics as JSON, nothing else")


def run(args: argparse.Namespace) -> int:
    """Load, evaluate, print, write."""
    from palpate.views.pages.comparison import differences, side_by_side

    if len(args.traces) < 2:
        raise InvalidInput("compare takes two or more runs, got one", hint="palpate compare A B")
    paths = [find_trace(location) for location in args.traces]
    names = short_names(paths)
    traces = [pp.load_trace(path) for path in paths]
    results = judged(paths, traces, code=args.code, bounded=False)
    settings, metrics = differences(traces), side_by_side(results)
    page = pp.views.compare(traces, names, args.out or "compare.html", results)
    outcomes = [trace.outcome.kind for trace in traces]
    if args.json:
        values = {name: {"unit": metric.unit, "values": values} for name, (metric, values) in metrics.items()}
        runs = {"runs": names, "outcomes": outcomes, "settings": settings, "metrics": values, "page": str(page)}
        print_json(runs)
        return 0
    align = "l" + "r" * len(names)
    if settings:
        print_table(["setting", *names], [[key, *values] for key, values in settings.items()], align)
        print()
    else:
        print("the same settings\n")
    known = [(metric, values) for metric, values in metrics.values() if any(value is not None for value in values)]
    rows = [[f"{metric.name} [{metric.unit}]", *map(number, values)] for metric, values in known]
    print_table(["metric", *names], [["outcome", *outcomes], *rows], align)
    print(f"\nwrote {page}")
    if args.open:
        open_page(page)
    return 0


def short_names(paths: Sequence[Path]) -> list[str]:
    """Name of each run: its folder or file, numbered where that is not enough."""
    names: list[str] = []
    for path in paths:
        name = path.resolve().parent.name if path.name == "trace.parquet" else path.stem
        taken = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({taken + 1})" if taken else name)
    return names

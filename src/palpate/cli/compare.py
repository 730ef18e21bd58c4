"""`palpate compare A B …`: runs side by side."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "compare",
        help="metrics and plots of several runs side by side",
        description="Print the metrics of two or more runs side by side and write a page that overlays their plots.",
        epilog="example: palpate compare runs/panda-wall-1 runs/panda-wall-2",
    )
    parser.add_argument("traces", nargs="+", metavar="TRACE", help="trace files, or folders of runs; two or more")
    parser.add_argument("--out", default="compare.html", metavar="FILE", help="page to write (compare.html)")


def run(args: argparse.Namespace) -> int:
    """Load, evaluate, print, write."""
    from palpate.cli.folder import find_trace
    from palpate.cli.tables import number, print_table
    from palpate.errors import InvalidInput
    from palpate.metrics import evaluate
    from palpate.trace import load_trace
    from palpate.views import compare

    if len(args.traces) < 2:
        raise InvalidInput("compare takes two or more runs, got one", hint="palpate compare A B")
    paths = [find_trace(place) for place in args.traces]
    names = short_names(paths)
    traces = [load_trace(path) for path in paths]
    table = [evaluate(trace) for trace in traces]
    rows = [
        [f"{row[0].name} [{row[0].unit}]", *(number(result.value) for result in row)]
        for row in zip(*table)
        if any(result.value is not None for result in row)
    ]
    print_table(["metric", *names], [["outcome", *(t.outcome.kind for t in traces)], *rows], "l" + "r" * len(names))
    print(f"\nwrote {compare(traces, names, args.out)}")
    return 0


def short_names(paths: Sequence[Path]) -> list[str]:
    """What to call each run: its folder or file, numbered where that is not enough."""
    names: list[str] = []
    for path in paths:
        name = path.resolve().parent.name if path.name == "trace.parquet" else path.stem
        taken = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({taken + 1})" if taken else name)
    return names

"""Write one self-contained page: what was run, metrics, plots, 3D replay.

example: palpate report runs/panda-wall-1
"""

from __future__ import annotations

import argparse
from pathlib import Path

import palpate as pp
from palpate.cli.console import open_page
from palpate.cli.folder import REPORT, find_trace
from palpate.cli.judged import add_code_option, judged


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("report", help="write the report of a trace", description=__doc__)
    parser.add_argument("trace", metavar="TRACE", help="a trace file (.parquet, .npz), or the folder of a run")
    parser.add_argument("--out", metavar="FILE", help="page to write (report.html beside the trace)")
    add_code_option(parser, "compute the scenario's own metrics again")
    parser.add_argument("--open", action="store_true", help="show it in the browser")


def run(args: argparse.Namespace) -> int:
    """Load, judge by the bounds the trace carries, write."""
    path = find_trace(args.trace)
    trace = pp.load_trace(path)
    [results] = judged([path], [trace], code=args.code, bounded=True)
    out = Path(args.out) if args.out else path.parent / REPORT
    written = pp.report(trace, out, results)
    print(f"wrote {written}")
    if args.open:
        open_page(written)
    return 0

"""Write one self-contained page of a run: what was run, metrics, plots, 3D replay; or the replay alone.

examples:
  palpate report runs/panda-wall-1
  palpate report runs/panda-wall-1 --replay
"""

from __future__ import annotations

import argparse
from pathlib import Path

import palpate as pp
from palpate.cli.console import open_page
from palpate.cli.folder import REPORT, find_trace
from palpate.cli.judged import add_code_option, judged
from palpate.cli.signals import was_expected
from palpate.errors import InvalidInput
from palpate.trace import Trace


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("report", help="write the report of a trace, or its 3D replay", description=__doc__)
    parser.add_argument("trace", metavar="TRACE", help="a trace file (.parquet, .npz), or the folder of a run")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", metavar="FILE", help="page to write (report.html or replay.html beside the trace)")
    where.add_argument("--serve", action="store_true", help="with --replay: serve it until Ctrl-C instead")
    parser.add_argument("--replay", action="store_true", help="the 3D replay alone")
    parser.add_argument("--port", type=int, metavar="N", help="with --serve: the port (any free one)")
    add_code_option(parser, "compute the scenario's own metrics again")
    parser.add_argument("--open", action="store_true", help="show it in the browser")


def run(args: argparse.Namespace) -> int:
    """Load, judge by the bounds the trace carries, write."""
    if args.serve and not args.replay:
        raise InvalidInput("--serve serves the replay alone", hint="palpate report TRACE --replay --serve")
    if args.port is not None and not args.serve:
        raise InvalidInput("--port is that of --serve", hint="palpate report TRACE --replay --serve --port N")
    path = find_trace(args.trace)
    trace = pp.load_trace(path)
    if args.serve:
        return _serve(trace, args.port or 0)
    written = _replay(args, path, trace) if args.replay else _report(args, path, trace)
    print(f"wrote {written}")
    if args.open:
        open_page(written)
    return 0


def _report(args: argparse.Namespace, path: Path, trace: Trace) -> Path:
    [results] = judged([path], [trace], code=args.code, bounded=True)
    return pp.report(trace, Path(args.out) if args.out else path.parent / REPORT, results)


def _replay(args: argparse.Namespace, path: Path, trace: Trace) -> Path:
    return pp.views.replay(trace, Path(args.out) if args.out else path.parent / "replay.html")


def _serve(trace: Trace, port: int) -> int:
    server = pp.views.serve_replay(trace, port)
    print(f"serving {server.url} until Ctrl-C", flush=True)
    server.wait()
    was_expected()
    return 0

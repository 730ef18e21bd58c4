"""Write the 3D replay of a trace as one self-contained page, or serve it on the loopback address.

example: palpate replay runs/panda-wall-1
"""

from __future__ import annotations

import argparse
from pathlib import Path

import palpate as pp
from palpate.cli.console import open_page
from palpate.cli.folder import find_trace
from palpate.cli.signals import was_expected


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser("replay", help="write or serve the 3D replay of a trace", description=__doc__)
    parser.add_argument("trace", metavar="TRACE", help="a trace file (.parquet, .npz), or the folder of a run")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", metavar="FILE", help="page to write (replay.html beside the trace)")
    where.add_argument("--serve", action="store_true", help="serve it until Ctrl-C instead")
    parser.add_argument("--open", action="store_true", help="show the written page in the browser")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port to serve on (any free one)")


def run(args: argparse.Namespace) -> int:
    """Load and write, or serve."""
    path = find_trace(args.trace)
    trace = pp.load_trace(path)
    if not args.serve:
        page = pp.views.replay(trace, Path(args.out) if args.out else path.parent / "replay.html")
        print(f"wrote {page}")
        if args.open:
            open_page(page)
        return 0
    server = pp.views.serve_replay(trace, args.port)
    print(f"serving {server.url} until Ctrl-C", flush=True)
    server.wait()
    was_expected()
    return 0

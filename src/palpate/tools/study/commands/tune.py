"""Search the values of keys that make a metric smallest, within the scenario's bounds and your own.

examples:
  palpate tune panda-wall --over control.damping.0=20:300 --minimise force_settling_time --keep 'force_peak<22'
  palpate tune panda-wall --over 'control.stiffness*=0.2:5:log' --over 'control.damping*=0.2:5:log' --minimise effort
  palpate tune --resume runs/panda-wall-tune-1

The scenario's own bounds are kept too. Points that gain design calls unstable are never simulated.
Exit code: 0; 1 if no point keeps every bound; 2 for bad input. Needs Optuna: pip install 'palpate[tune]'.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from palpate.cli.console import patience, starting
from palpate.cli.folder import next_folder
from palpate.errors import InvalidInput
from palpate.tools.study.commands.common import SweepProgress, add_common, checked_cluster, interruptible, parse_varied
from palpate.tools.study.commands.output import write_pages

if TYPE_CHECKING:
    from palpate.tools.study import Tuned

DONE, NOTHING_KEEPS = 0, 1


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "tune", help="search for gains that minimise a metric within bounds", description=__doc__
    )
    add_common(parser, "search")
    parser.add_argument("--over", metavar="KEY=WHERE", action="append", default=[],
                        help="a key and its range: 100:2000, 1e3:1e5:log, or a,b,c (repeatable)")  # fmt: skip
    parser.add_argument("--minimise", metavar="METRIC", help="metric to minimise (palpate list metrics)")
    parser.add_argument("--keep", metavar="BOUND", action="append", default=[],
                        help="force_peak<25 (repeatable)")  # fmt: skip
    parser.add_argument("--runs", type=int, metavar="N", default=100, help="points to try (100)")
    parser.add_argument("--no-theory", action="store_true", help="also simulate points predicted to be unstable")


def run(args: argparse.Namespace) -> int:
    """Search, say, write."""
    if args.resume is None and (args.scenario is None or args.minimise is None or not args.over):
        raise InvalidInput("tune needs a SCENARIO, --over and --minimise, or --resume DIR", hint="palpate tune --help")
    with patience(starting, args.quiet):
        import palpate.tools.study.tuning as _  # noqa: F401 - loaded here, where patience is told

        checked_cluster(args.cluster)
    name = Path(args.scenario or args.resume or ".").stem
    wanted = args.resume or args.out
    folder = next_folder(f"{name}-tune") if wanted is None else Path(wanted)
    with interruptible(folder, "tune"), SweepProgress(name, args.quiet) as progress:
        tuned = _searched(args, folder, progress)
    return _print_result(tuned, folder, args)


def _searched(args: argparse.Namespace, folder: Path, progress: object) -> Tuned:
    from palpate.tools.study.analysis.maps import refuse
    from palpate.tools.study.running.store import Store
    from palpate.tools.study.tuning import resume, tune

    theory = None if args.no_theory else refuse
    where = {"workers": args.workers, "cluster": args.cluster, "progress": progress}
    if args.resume is not None:
        return resume(Store.open(args.resume), theory, **where)
    return tune(
        args.scenario, parse_varied(args.over), args.minimise, keep=args.keep, runs=args.runs, seed=args.seed or 0,
        refuse=theory, out=folder, overrides=args.overrides, **where,
    )  # fmt: skip


def _print_result(tuned: Tuned, folder: Path, args: argparse.Namespace) -> int:
    from palpate.tools.study.counts import run_summary

    summary = dict(tuned.sweep.summary)
    summary |= {"sentence": tuned.sentence, "said": [], "best": [run_summary(tuned.sweep, tuned.run)]}
    summary |= {"bounds": tuned.bounds, "edges": tuned.at_edges, "pareto": tuned.front}
    output = write_pages(tuned.sweep, summary, folder, not args.no_report)
    if not args.quiet:
        print(f"{summary['scenario']}: {summary['counted']}")
    print(tuned.sentence)
    if not args.quiet:
        print(f"\n  {tuned.command}\n")
    print(f"see {output}")
    return DONE if tuned.kept else NOTHING_KEEPS

"""`palpate sweep --uncertain`: all uncertain quantities within stated spreads, and how often the scenario fails.

Masses, centres of mass, friction, walls, sensors and delay are drawn from stated spreads, those that the scenario has.
The folder holds two sweeps, draws/ and map/, and report.html. The same command with --out continues it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.console import patience, starting
from palpate.cli.folder import next_folder
from palpate.cli.tables import print_table
from palpate.errors import InvalidInput
from palpate.tools.study.commands.common import (
    SweepProgress,
    checked_cluster,
    interruptible,
    parse_varied,
    print_job_script,
)
from palpate.tools.study.commands.output import print_summary, write_pages

if TYPE_CHECKING:
    from palpate.tools.study import Robustness

DONE = 0


def run(args: argparse.Namespace) -> int:
    """Draw, map, say, write."""
    with patience(starting, args.quiet):
        from palpate.tools.study.robust import RUNS, robustness, study_folder

        address = checked_cluster(args.cluster)
        folder, request = study_folder(args.resume) if args.resume else _request(args, RUNS)
    if args.dry_run:
        _show(request)
        print_job_script(address)
        return DONE
    folder = folder or next_folder(f"{Path(request['scenario']).stem}-study")
    progress = SweepProgress(str(request["scenario"]), args.quiet)
    with interruptible(folder), progress:
        study = robustness(**request, out=folder, workers=args.workers, cluster=args.cluster, progress=progress)
    summary = _joined(study)
    with patience("writing the report …", args.quiet or args.no_report):
        output = write_pages(study.draws, summary, folder, not args.no_report, study.map)
    if not args.quiet:
        _print_spreads(study)
    print_summary(summary, args.quiet)
    print(f"{'' if args.quiet else chr(10)}see {output}")
    return DONE


def _request(args: argparse.Namespace, runs: int) -> tuple[Path | None, dict[str, Any]]:
    if args.scenario is None:
        raise InvalidInput("sweep needs a SCENARIO, or --resume DIR", hint="palpate sweep --help")
    if args.map is not None and len(args.map) != 2:
        raise InvalidInput(f"a map has two keys, --map was given {len(args.map)} times")
    over = {} if args.no_map else None if args.map is None else parse_varied(args.map)
    request = {
        "scenario": args.scenario, "overrides": args.overrides, "vary": parse_varied(args.vary),
        "without": args.without, "runs": runs if args.runs is None else args.runs, "seed": args.seed or 0, "over": over,
        "confidence": 0.95 if args.confidence is None else args.confidence,
    }  # fmt: skip
    return None if args.out is None else Path(args.out), request


def _show(request: dict[str, Any]) -> None:
    from palpate.tools.study.robust import map_axes, spreads

    scenario = pp.load_scenario(request["scenario"], request["overrides"]).with_code()
    kept, left_out = spreads(scenario, request["vary"], request["without"])
    rows = [[one.key, one.spec, one.why] for one in kept]
    rows += [[key, str(spec), "as asked for"] for key, spec in request["vary"].items()]
    print(f"{scenario.name}: {request['runs']} independent draws of")
    print_table(["key", "spread", "what it is"], rows, "lll")
    for key, reason in left_out.items():
        print(f"left out: {key}: {reason}")
    stretches = map_axes(scenario) if request["over"] is None else request["over"]
    print(f"map: {' against '.join(f'{key} ({spec})' for key, spec in stretches.items()) or 'none'}")


def _joined(study: Robustness) -> dict[str, Any]:
    """The summary of the draws, with the map's findings in it."""
    summary = dict(study.draws.summary)
    summary["spreads"] = {one.key: one.why for one in study.spreads}
    summary["left_out"] = study.left_out
    if study.map is not None:
        summary["map"] = study.map.summary["map"]
        summary["said"] = [*summary["said"], study.map.sentence]
    return summary


def _print_spreads(study: Robustness) -> None:
    print_table(["drawn", "from", "what it is"], [[one.key, one.spec, one.why] for one in study.spreads], "lll")
    for key, reason in study.left_out.items():
        print(f"left out: {key}: {reason}")
    print()

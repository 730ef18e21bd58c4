"""`palpate compare --laws`: several laws on common draws, as tables and as a page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.console import open_page, patience, starting
from palpate.cli.folder import next_folder
from palpate.cli.tables import number, print_json, print_table
from palpate.errors import InvalidInput, check_names
from palpate.files import write_file
from palpate.tools.study.commands.common import SweepProgress, parse_varied
from palpate.user_code import is_address

if TYPE_CHECKING:
    from palpate.tools.study import LawComparison

REPORT, DATA = "report.html", "laws.json"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of a comparison of laws."""
    group = parser.add_argument_group("laws on common draws")
    group.add_argument("--laws", metavar="A,B,C", help="run SCENARIO under each of these laws, on the same draws")
    group.add_argument("--vary", metavar="KEY=WHAT", action="append", default=[],
                       help="what the draws vary (repeatable; those of sweep --uncertain)")  # fmt: skip
    group.add_argument("--runs", type=int, metavar="N", help="draws, each run by every law (150)")
    group.add_argument("--gains", metavar="LAW.GAIN=VALUE", action="append", default=[],
                       help="a gain of one of the laws (repeatable)")  # fmt: skip
    group.add_argument("--own-gains", action="store_true", help="take over no gains from the scenario's law")
    group.add_argument("--metric", metavar="NAME", help="one more metric to compare; smaller is better")
    group.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
                       help="change a setting of the scenario first (repeatable)")  # fmt: skip
    group.add_argument("--seed", type=int, metavar="N", help="seed of the draws (0)")
    group.add_argument("--confidence", type=float, metavar="P", help="confidence level of every interval (0.95)")
    group.add_argument("--workers", type=int, metavar="N", help="runs at a time (one per core; 0: in this thread)")
    group.add_argument("--quiet", action="store_true", help="print only the result and where to find the page")


ALONE = ("vary", "runs", "gains", "own_gains", "metric", "overrides", "seed", "confidence", "workers", "quiet")


def _refuse_without_laws(args: argparse.Namespace) -> None:
    """Refuse options that only a comparison of laws has."""
    options = {"overrides": "set"}
    given = [
        f"--{options.get(name, name).replace('_', '-')}"
        for name in ALONE
        if getattr(args, name) not in (None, [], False)
    ]
    if given:
        raise InvalidInput(f"{', '.join(given)} goes with --laws", hint="palpate compare --laws A,B SCENARIO")


def run(args: argparse.Namespace, command: Callable[[argparse.Namespace], int]) -> int:
    """Compare laws where some are named, else runs."""
    if args.laws is not None:
        return _compare_laws(args)
    _refuse_without_laws(args)
    return command(args)


def _compare_laws(args: argparse.Namespace) -> int:
    """Run every law, print the tables, write the page."""
    if len(args.traces) != 1:
        raise InvalidInput(
            f"--laws takes one SCENARIO, got {len(args.traces)}", hint="palpate compare --laws A,B SCENARIO"
        )
    with patience(starting, args.quiet):
        from palpate.control import LAWS
        from palpate.tools.study.laws import RUNS, compare

        names = _names(args.laws)
        check_names("law", [name for name in names if not is_address(name)], LAWS)
        laws = with_gains(names, args.gains)
    scenario = args.traces[0]
    folder = next_folder(f"{Path(scenario).stem}-laws") if args.out is None else Path(args.out)
    with _continued(folder), SweepProgress(Path(scenario).stem, args.quiet) as progress:
        result = compare(
            scenario, laws, parse_varied(args.vary), runs=RUNS if args.runs is None else args.runs, seed=args.seed or 0,
            metric=args.metric, confidence=0.95 if args.confidence is None else args.confidence,
            take_over=not args.own_gains, overrides=args.overrides, out=folder, workers=args.workers, progress=progress,
        )  # fmt: skip
    data = result.as_data()
    with patience("writing the page …", args.quiet):
        page = _written(result, data, folder)
    if args.json:
        print_json({**data, "page": str(page)})
        return 0
    print_laws(data, args.quiet)
    print(f"{'' if args.quiet else chr(10)}see {page}")
    if args.open:
        open_page(page)
    return 0


@contextmanager
def _continued(folder: Path) -> Iterator[None]:
    """Say how to go on with a comparison that is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"palpate: finished runs are kept; the same command with --out {folder} continues", file=sys.stderr)
        raise


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if len(set(names)) < max(2, len(names)):
        raise InvalidInput(f"--laws takes two or more different laws, got {text!r}", hint="palpate list laws")
    return names


def with_gains(laws: Sequence[str], texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The laws, each with the gains that are given for it as LAW.GAIN=VALUE."""
    from palpate.scenario.file.overrides import UNSET, parse_override

    gains: dict[str, dict[str, Any]] = {law: {} for law in laws}
    for text in texts:
        law = next((law for law in laws if text.startswith(f"{law}.")), None)
        path, value = parse_override(text.removeprefix(f"{law}.")) if law is not None else ((), UNSET)
        if law is None or len(path) != 1 or value is UNSET:
            raise InvalidInput(f"--gains takes LAW.GAIN=VALUE, got {text!r}", hint=f"the laws are {', '.join(laws)}")
        gains[law][path[0]] = value
    return gains


def _written(result: LawComparison, data: Mapping[str, Any], folder: Path) -> Path:
    """The page and its numbers."""
    write_file(folder / DATA, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    traces = {law: result.trace(law) for law in result.laws}
    return pp.views.laws_report(traces, data, folder / REPORT)


def print_laws(data: Mapping[str, Any], quiet: bool) -> None:
    """Print what a comparison says."""
    print(data["sentence"])
    if quiet:
        return
    for text in data["swaps"].values():
        print(f"gains: {text}")
    for key, reason in data["left_out"].items():
        print(f"not varied: {key}: {reason}")
    level = f"{100 * data['confidence']:g} %"
    print(f"\nfailures (exact one-sided bounds, {level} each)")
    ranks = _ties({law: one["rank"] for law, one in data["failures"].items()})
    rows = [
        [law, ranks[law], f"{one['failures']} of {one['runs']}", f"< {100 * one['bound']:.3g} %"]
        for law, one in data["failures"].items()
    ]
    print_table(["law", "rank", "failed", "P(failure)"], rows, "lrrr")
    for one in data["metrics"].values():
        _print_metric(one, data["laws"][0], level)


def _print_metric(one: Mapping[str, Any], first: str, level: str) -> None:
    unit = "" if one["unit"] == "1" else f" [{one['unit']}]"
    print(
        f"\n{one['label']}{unit}, {one['better']} is better; differences from {first}, {level} for all pairs together"
    )
    ranks = _ties({law: row["rank"] for law, row in one["laws"].items()})
    rows = []
    for law, row in one["laws"].items():
        interval = "–" if row["interval"] is None else " to ".join(f"{x:+.4g}" for x in row["interval"])
        apart = "–" if row["difference"] is None else f"{row['difference']:+.4g}"
        rows.append([law, ranks[law], number(row["mean"]), apart, interval, str(row["pairs"])])
    print_table(["law", "rank", "mean", "difference", "interval", "draws"], rows, "lrrrrr")


def _ties(ranks: Mapping[str, int]) -> dict[str, str]:
    held = list(ranks.values())
    return {law: f"{rank}{'=' if held.count(rank) > 1 else ''}" for law, rank in ranks.items()}

"""What the commands that make many runs share: options, progress, interruption, and what is printed and written."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.cli.console import SOON, Progress
from palpate.cli.tables import number, print_table
from palpate.errors import InvalidInput, TraceError
from palpate.files import make_folder

if TYPE_CHECKING:
    from palpate.study import Sweep
    from palpate.study.running.address import ClusterAddress

REPORT, REPLAYS = "report.html", "replays"


def add_common(parser: argparse.ArgumentParser) -> None:
    """Options of every command that makes many runs."""
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
                        help="change a setting of the scenario first (repeatable)")  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N", help="of the draws (0)")
    parser.add_argument("--out", metavar="DIR", help="folder to write; what is unfinished there goes on")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (one per processor; 0: none but this one)")
    parser.add_argument("--cluster", metavar="WHERE",
                        help="tcp://HOST:PORT, scheduler.json, local:N, slurm:FILE.toml or pbs:FILE.toml")  # fmt: skip
    parser.add_argument("--no-report", action="store_true", help="write no report.html")
    parser.add_argument("--quiet", action="store_true", help="print what is proved and where to look, nothing else")


def checked_cluster(text: str | None) -> ClusterAddress | None:
    """What `--cluster` names, refused before anything is planned or written."""
    from palpate.study.running.address import cluster_address

    return None if text is None else cluster_address(text)


def print_job_script(address: ClusterAddress | None) -> None:
    """Show what a batch system would be handed."""
    if address is not None and address.job_file is not None:
        print(f"\njob script for {address.kind}:\n\n{address.job_script().rstrip()}\n")


def varied(texts: Sequence[str]) -> dict[str, Any]:
    """`--vary` texts as keys and what they may be; a key named twice is refused."""
    from palpate.study.plans.axis import parse_vary

    specs: dict[str, Any] = {}
    for key, spec in map(parse_vary, texts):
        if key in specs:
            raise InvalidInput(f"{key} is varied twice")
        specs[key] = spec
    return specs


@contextmanager
def interruptible(folder: Path, command: str) -> Iterator[None]:
    """Say how to go on with a sweep that is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"palpate: finished runs are kept; go on with\n  palpate {command} --resume {folder}", file=sys.stderr)
        raise


class SweepProgress(Progress):
    """Called with (runs done, runs there will be, runs that did not pass); shows throughput and time left."""

    counted = True
    first: int | None = None

    def __call__(self, done: int, total: int, failed: int) -> None:
        """Show how far it is."""
        if self.first is None or done < self.first:  # what was there already, or the sweep before, says nothing of it
            self.first, self.started = done, time.perf_counter()
            return
        elapsed = time.perf_counter() - self.started
        if self.quiet or elapsed < SOON:
            return
        speed = (done - self.first) / elapsed
        text = f"{speed:.3g} runs/s" + (f", {failed} did not pass" if failed else "")
        self.show(done, total, text, f"{done} of {total} runs, {(total - done) / speed:.0f} s left, {text}")


# ---------------------------------------------------------------------------------------------- what is said


def tell(summary: Mapping[str, Any], quiet: bool) -> None:
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
    _tell_sensitivity(summary)
    _tell_front(summary)
    _tell_runs(summary)


def _tell_runs(summary: Mapping[str, Any]) -> None:
    """The worst runs and the best, each with its command."""
    unit = "" if summary["unit"] == "1" else f" {summary['unit']}"
    worst = [("worst", one) for one in summary["worst"][:3]]
    for title, one in [*worst, *(("best", one) for one in summary["best"][:1])]:
        value = "" if one["value"] is None else f", {summary['metric']} {number(one['value'])}{unit}"
        print(f"\n{title}: run {one['run']}, {one['outcome']}{value}\n  {one['command']}")


def _tell_sensitivity(summary: Mapping[str, Any]) -> None:
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


def _tell_front(summary: Mapping[str, Any]) -> None:
    if not summary.get("pareto"):
        return
    front = summary["pareto"]
    rows = [[str(run), *map(number, point)] for run, point in list(zip(front["runs"], front["points"]))[:10]]
    print(f"\nPareto front, {len(front['runs'])} of {summary['runs']} runs:")
    print_table(["run", *front["metrics"]], rows, "rrr")


def write_pages(sweep: Sweep, summary: dict[str, Any], folder: Path, pages: bool) -> Path:
    """Write the summary, and the report with replays of best, worst and one failing run; return where to look."""
    from palpate.views import replay, sweep_report

    sweep.save_summary(summary)
    if not pages:
        return sweep.path
    links: dict[str, str] = {}
    for name in ("best", "worst", "failing"):
        for one in summary[name][:1]:
            make_folder(folder / REPLAYS)
            target = f"{REPLAYS}/run-{one['run']}.html"
            if target not in links.values():
                try_replay(lambda run=one["run"], to=target: replay(sweep.trace(run), folder / to))
            if (folder / target).is_file():
                links[name] = target
    sweep_report(sweep.path, summary, folder / REPORT, links)
    return folder / REPORT


def try_replay(make: Any) -> None:
    """A run that left nothing to show has no replay."""
    try:
        make()
    except TraceError as error:
        print(f"note: no replay: {error}", file=sys.stderr)

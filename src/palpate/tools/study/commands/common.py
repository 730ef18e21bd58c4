"""Options, progress and interruption of the commands that make many runs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palpate.cli.console import SOON, Progress
from palpate.errors import InvalidInput

if TYPE_CHECKING:
    from palpate.tools.study.running.address import ClusterAddress


def add_common(parser: argparse.ArgumentParser, what: str) -> None:
    """Options of every command that makes many runs; `what` it calls them together."""
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help="a shipped name, or a .toml file")
    parser.add_argument("--resume", metavar="DIR", help=f"continue the {what} in this folder; needs no SCENARIO")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
                        help="change a setting of the scenario first (repeatable)")  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the draws (0)")
    parser.add_argument("--out", metavar="DIR", help="folder to write; an unfinished one is continued")
    parser.add_argument("--workers", type=int, metavar="N", help="runs at a time (one per core; 0: in this thread)")
    parser.add_argument("--cluster", metavar="WHERE",
                        help="tcp://HOST:PORT, scheduler.json, local:N, slurm:FILE.toml or pbs:FILE.toml")  # fmt: skip
    parser.add_argument("--no-report", action="store_true", help="write no report.html")
    parser.add_argument("--quiet", action="store_true", help="print only the result and where to find the report")


def checked_cluster(text: str | None) -> ClusterAddress | None:
    """The address that `--cluster` names; a bad one is refused before anything is planned or written."""
    from palpate.tools.study.running.address import cluster_address

    return None if text is None else cluster_address(text)


def print_job_script(address: ClusterAddress | None) -> None:
    """Show what a batch system would be handed."""
    if address is not None and address.job_file is not None:
        print(f"\njob script for {address.kind}:\n\n{address.job_script().rstrip()}\n")


def parse_varied(texts: Sequence[str]) -> dict[str, Any]:
    """`--vary` texts as keys and what they may be; a key named twice is refused."""
    from palpate.tools.study.plans.spec import parse_vary

    specs: dict[str, Any] = {}
    for key, spec in map(parse_vary, texts):
        if key in specs:
            raise InvalidInput(f"{key} is varied twice")
        specs[key] = spec
    return specs


@contextmanager
def interruptible(folder: Path, command: str = "sweep") -> Iterator[None]:
    """Say how to go on with a sweep that is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"palpate: finished runs are kept; continue with\n  palpate {command} --resume {folder}", file=sys.stderr)
        raise


class SweepProgress(Progress):
    """Called with (runs done, runs there will be, runs that did not pass); shows throughput and time left."""

    counted = True
    first: int | None = None

    def __call__(self, done: int, total: int, failed: int) -> None:
        """Show how far it is."""
        if self.first is None or done <= self.first:  # what was there already, or the sweep before, says nothing of it
            self.first, self.started = done, time.perf_counter()
            return
        elapsed = time.perf_counter() - self.started
        if self.quiet or elapsed < SOON:
            return
        speed = (done - self.first) / elapsed
        text = f"{speed:.3g} runs/s" + (f", {failed} did not pass" if failed else "")
        self.show(done, total, text, f"{done} of {total} runs, {(total - done) / speed:.0f} s left, {text}")

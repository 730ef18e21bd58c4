"""Patience: what a user sees while something takes long. A bar on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SOON, EVERY = 2.0, 10.0  # s: before anything is shown; between two plain lines


def starting() -> str:
    """What takes so long before a run: compiling, where the loop is not in the kernel cache yet."""
    from palpate.engine.cache import is_kept
    from palpate.engine.numba_parts import choice
    from palpate.engine.shipped import is_shipped

    if choice().reason:
        return "compiling kernels, in each process, about 80 s …"
    loop = Path(__file__).parents[1] / "run" / "loop.py"
    return (
        "loading …"
        if is_kept(loop, "run_steps") or is_shipped(loop, "run_steps")
        else "compiling kernels, once, about a minute …"
    )


@contextmanager
def patience(message: str | Callable[[], str], quiet: bool = False) -> Iterator[None]:
    """Say `message` if the block takes longer than SOON; on a terminal it stays, with the time, until the end."""
    ended = threading.Event()
    shown = threading.Thread(target=_wait_and_tell, args=(message, ended, sys.stderr.isatty()), daemon=True)
    if not quiet:
        shown.start()
    try:
        yield
    finally:
        ended.set()
        if not quiet:
            shown.join()  # so that its line is gone before the next one comes


def _wait_and_tell(message: str | Callable[[], str], ended: threading.Event, terminal: bool) -> None:
    if ended.wait(SOON):
        return
    text = message if isinstance(message, str) else message()
    if not terminal:
        print(text, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(text, total=None)
        ended.wait()


class RunProgress:
    """Called with (simulated time, duration); shows time left and real-time factor once a run takes long."""

    def __init__(self, name: str, quiet: bool = False, compiled: Callable[[], float] = lambda: 0.0) -> None:
        """Start the clock; `compiled` tells the seconds spent compiling so far, which say nothing of those to come."""
        self.name, self.quiet, self.compiled = name, quiet, compiled
        self.terminal = sys.stderr.isatty()  # asked once: the bar puts a stream of its own in that place
        self.told = time.perf_counter()
        self.started = self.told - compiled()
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, simulated: float, duration: float) -> None:
        """Show how far it is."""
        elapsed = time.perf_counter() - self.started - self.compiled()
        share = simulated / duration
        if self.quiet or share <= 0 or elapsed / share < SOON or (elapsed < SOON and share < 0.01):
            return
        if self.terminal:
            self._show_bar(simulated, duration, simulated / elapsed)
        elif time.perf_counter() - self.told > EVERY:
            self.told = time.perf_counter()
            left = elapsed / share - elapsed
            text = f"{self.name}: {share:.0%}, {left:.0f} s left, {simulated / elapsed:.2g} × real time"
            print(text, file=sys.stderr, flush=True)

    def _show_bar(self, simulated: float, duration: float, factor: float) -> None:
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %")]
            self.bar = Progress(
                *columns, TimeRemainingColumn(), TextColumn("{task.fields[speed]}"),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task(self.name, total=duration, speed="")
            self.bar.start()
        self.bar.update(self.task, completed=simulated, speed=f"{factor:.2g} × real time")

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            self.bar.stop()

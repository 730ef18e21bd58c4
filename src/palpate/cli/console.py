"""Patience: what a user sees while something takes long. A bar on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TextIO

SOON, EVERY = 2.0, 10.0  # s: before anything is shown; between two plain lines


def starting() -> str:
    """What takes so long before a run: compiling, where the loop is not in the kernel cache yet."""
    from palpate.engine.compiling.cache import is_kept
    from palpate.engine.compiling.numba_parts import choice
    from palpate.engine.compiling.shipped import is_shipped

    if choice().reason:
        return "compiling kernels, in each process, about 80 s …"
    loop = Path(__file__).parents[1] / "run" / "loop" / "loop.py"
    return (
        "loading …"
        if is_kept(loop, "run_steps") or is_shipped(loop, "run_steps")
        else "compiling kernels, once, about a minute …"
    )


def open_page(page: Path) -> None:
    """Show a page in the user's browser; one line says so where there is none."""
    if page.suffix != ".html":
        print("palpate: --open: there is no page to show", file=sys.stderr)
    elif not open_address(page.resolve().as_uri()):
        print(f"palpate: --open: no display and no browser here; open {page} elsewhere", file=sys.stderr)


def open_address(address: str) -> bool:
    """Show an address in the user's browser; False where there is none."""
    import os
    import webbrowser

    seen = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    return seen and webbrowser.open(address)


@contextmanager
def patience(message: str | Callable[[], str], quiet: bool = False) -> Iterator[None]:
    """Say `message` if the block takes longer than SOON; on a terminal it stays, with the time, until the end.

    A message that has to be found is found here, in the caller's thread: two threads that import the same package at
    once can see it half made.
    """
    if quiet:
        yield
        return
    said, ended = _Message("loading …"), threading.Event()
    shown = threading.Thread(target=said.tell, args=(ended, sys.stderr), daemon=True)
    shown.start()
    try:
        said.text = message if isinstance(message, str) else message()
        yield
    finally:
        ended.set()
        shown.join()  # so that its line is gone before the next one comes


class _Message:
    """A text for those who wait; it may change until it is shown."""

    def __init__(self, text: str) -> None:
        self.text = text

    def tell(self, ended: threading.Event, stream: TextIO) -> None:
        """Wait, then print it once, or on a terminal with the time until the end. Imports nothing."""
        started = time.perf_counter()
        if ended.wait(SOON):
            return
        if not stream.isatty():
            print(self.text, file=stream, flush=True)
            return
        while not ended.wait(0.2):
            print(f"\r{self.text} {time.perf_counter() - started:.0f} s", end="", file=stream, flush=True)
        print("\r\x1b[K", end="", file=stream, flush=True)


class Progress:
    """How far something is: a bar on a terminal, a plain line now and then elsewhere; on stderr.

    Attributes:
        counted: whether the bar shows "3 of 20" instead of a percentage.
    """

    counted = False

    def __init__(self, name: str, quiet: bool = False) -> None:
        self.name, self.quiet = name, quiet
        self.terminal = sys.stderr.isatty()  # asked once: the bar puts a stream of its own in that place
        self.started = self.reported = time.perf_counter()
        self.bar: Any = None
        self.task: Any = None

    def show(self, done: float, total: float, speed: str, line: str) -> None:
        """Show `done` of `total` and the speed; on no terminal print `line` instead, once every ten seconds."""
        if self.terminal:
            self._show_bar(done, total, speed)
        elif time.perf_counter() - self.reported > EVERY:
            self.reported = time.perf_counter()
            print(f"{self.name}: {line}", file=sys.stderr, flush=True)

    def _show_bar(self, done: float, total: float, speed: str) -> None:
        if self.bar is None:
            from rich import progress
            from rich.console import Console

            count = progress.MofNCompleteColumn() if self.counted else "{task.percentage:>3.0f} %"
            self.bar = progress.Progress(
                "{task.description}", progress.BarColumn(), count, progress.TimeRemainingColumn(),
                "{task.fields[speed]}", console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task(self.name, total=total, completed=done, speed="")
            self.bar.start()
        self.bar.update(self.task, completed=done, total=total, speed=speed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.bar is not None:
            self.bar.stop()


class RunProgress(Progress):
    """Called with (simulated time, duration); shows time left and real-time factor once a run takes long."""

    def __init__(self, name: str, quiet: bool = False, compiled: Callable[[], float] = lambda: 0.0) -> None:
        """Start the clock; `compiled` tells the seconds spent compiling so far, which say nothing of those to come."""
        super().__init__(name, quiet)
        self.compiled = compiled
        self.started -= compiled()

    def __call__(self, simulated: float, duration: float) -> None:
        """Show how far it is."""
        elapsed = time.perf_counter() - self.started - self.compiled()
        share = simulated / duration
        if self.quiet or share <= 0 or elapsed / share < SOON or (elapsed < SOON and share < 0.01):
            return
        speed = f"{simulated / elapsed:.2g} × real time"
        self.show(simulated, duration, speed, f"{share:.0%}, {elapsed / share - elapsed:.0f} s left, {speed}")

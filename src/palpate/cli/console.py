"""Patience: what a user sees while something takes long. A bar on a terminal, plain lines elsewhere, on stderr."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TextIO

SOON, EVERY = 2.0, 10.0  # s: before anything is shown; between two plain lines


def starting() -> str:
    """Message before a run that must compile, because the loop is not in the kernel cache yet."""
    from palpate.engine.compiling.numba_parts import choice
    from palpate.engine.compiling.shipped import is_compiled

    if choice().reason:
        return "compiling kernels, in each process, about 80 s …"
    loop = Path(__file__).parents[1] / "run" / "loop" / "loop.py"
    return "loading …" if is_compiled(loop, "run_steps") else "compiling kernels, once, about a minute …"


def open_page(page: Path) -> None:
    """Show a page in the user's browser; one line says so where there is none."""
    if page.suffix != ".html":
        print("palpate: --open: there is no page to show", file=sys.stderr)
    elif not open_address(page.resolve().as_uri()):
        print(f"palpate: --open: no display and no browser here; open {page} elsewhere", file=sys.stderr)


def open_address(address: str) -> bool:
    """Show an address in the user's browser; False where there is none."""
    import webbrowser

    named = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return (named or sys.platform in ("win32", "darwin")) and webbrowser.open(address)


@contextmanager
def patience(message: str | Callable[[], str], quiet: bool = False) -> Iterator[None]:
    """Say `message` if the block takes longer than SOON; on a terminal it stays, with the time, until the end.

    A message that has to be found is found here, in the caller's thread: two threads that import the same package at
    once can see it half made.
    """
    if quiet:
        yield
        return
    shown_text, ended = ["loading …"], threading.Event()
    thread = threading.Thread(target=_show_message, args=(shown_text, ended, sys.stderr), daemon=True)
    thread.start()
    try:
        shown_text[0] = message if isinstance(message, str) else message()
        yield
    finally:
        ended.set()
        thread.join()  # so that its line is gone before the next one comes


def _show_message(message: list[str], ended: threading.Event, stream: TextIO) -> None:
    """Wait, then print the text, which may change until then: once, or on a terminal with the time until the end.

    Imports nothing.
    """
    started = time.perf_counter()
    if ended.wait(SOON):
        return
    if not stream.isatty():
        print(message[0], file=stream, flush=True)
        return
    while not ended.wait(0.2):
        print(f"\r{message[0]} {time.perf_counter() - started:.0f} s", end="", file=stream, flush=True)
    print("\r\x1b[K", end="", file=stream, flush=True)


class Progress:
    """How far something is: a bar on a terminal, a plain line now and then elsewhere; on stderr.

    Attributes:
        counted: whether the bar shows "3 of 20" instead of a percentage.
        elapsed: whether it shows the time spent instead of the time left.
    """

    counted = elapsed = False

    def __init__(self, name: str, quiet: bool = False) -> None:
        self.name, self.quiet = name, quiet
        self.terminal = sys.stderr.isatty()  # asked once: the bar puts a stream of its own in that place
        self.started = time.perf_counter()
        self.due = self.started + EVERY  # when the next plain line is printed
        self.bar: Any = None
        self.task: Any = None

    def show(self, done: float, total: float, speed: str, line: str) -> None:
        """Show `done` of `total` and the speed; on no terminal print `line` instead, once every ten seconds."""
        if self.terminal:
            self._show_bar(done, total, speed)
        elif (now := time.perf_counter()) > self.due:
            self.due = now + EVERY
            print(f"{self.name}: {line}", file=sys.stderr, flush=True)

    def _show_bar(self, done: float, total: float, text: str) -> None:
        if self.bar is None:
            from rich import progress
            from rich.console import Console

            count = progress.MofNCompleteColumn() if self.counted else "{task.percentage:>3.0f} %"
            clock = progress.TimeElapsedColumn() if self.elapsed else progress.TimeRemainingColumn()
            columns = "{task.description}", progress.BarColumn(), count, clock, "{task.fields[text]}"
            self.bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(self.name, total=total, completed=done, text="")
            self.bar.start()
        self.bar.update(self.task, completed=done, total=total, text=text)

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


class CompileProgress(Progress):
    """While it is entered, kernels that are compiled are counted and shown; those from the cache take no time.

    How many there will be is known from the code: a kernel needs every kernel that its function names, and theirs.
    """

    counted = elapsed = True

    def __init__(self, quiet: bool = False) -> None:
        super().__init__("compiling, once", quiet)
        self.expected: set[Any] = set()
        self.done: set[Any] = set()
        self.depth = 0
        self.since = self.spent = 0.0  # s

    def __enter__(self) -> Self:
        if not self.quiet:
            from palpate.engine.compiling.numba_parts import choice, observers

            self.name = "compiling" if choice().reason else "compiling, once"
            observers.append(self)
        return self

    def __exit__(self, *problem: object) -> None:
        if not self.quiet:
            from palpate.engine.compiling.numba_parts import observers

            observers.remove(self)
        super().__exit__()

    def begin(self, kernel: Any) -> None:
        """A kernel is being compiled, perhaps for the sake of another."""
        now = time.perf_counter()
        if not self.expected:
            self.started, self.due = now, now + SOON
        if self.depth == 0:
            self.since = now
            self.expected |= needed(kernel)
        self.depth += 1
        done, total = len(self.done), len(self.expected)
        line = f"{done} of {total} kernels, {now - self.started:.0f} s"
        self.show(done, total, kernel.py_func.__name__.strip("_"), line)

    def end(self, kernel: Any) -> None:
        """It is done."""
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.perf_counter() - self.since
        self.done.add(kernel)
        self.expected.add(kernel)


def needed(kernel: Any) -> set[Any]:
    """A kernel, every kernel that its function names, and theirs."""
    from palpate.engine.kernels import Kernel

    reached: set[Any] = set()
    waiting = [kernel]
    while waiting:
        one = waiting.pop()
        if one in reached:
            continue
        reached.add(one)
        function = one.py_func
        named = [function.__globals__.get(name) for name in function.__code__.co_names]
        waiting += [other for other in named if isinstance(other, Kernel)]
    return reached

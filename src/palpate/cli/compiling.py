"""Compiling in view: which kernel, how many of how many, and how long it has taken; on stderr."""

from __future__ import annotations

import sys
import time
from typing import Any

from palpate.cli.console import EVERY, SOON


class CompileProgress:
    """While it is entered, kernels that are compiled are counted and shown; those from the cache take no time.

    How many there will be is known from the code: a kernel needs every kernel that its function names, and theirs.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.title = "compiling, once"
        self.quiet, self.terminal = quiet, sys.stderr.isatty()
        self.expected: set[Any] = set()
        self.done: set[Any] = set()
        self.depth = 0
        self.started = self.reported = self.since = 0.0
        self.spent = 0.0  # s
        self.bar: Any = None

    def __enter__(self) -> CompileProgress:
        if not self.quiet:
            from palpate.engine.compiling.numba_parts import choice, observers

            self.title = "compiling" if choice().reason else "compiling, once"
            observers.append(self)
        return self

    def __exit__(self, *problem: object) -> None:
        if not self.quiet:
            from palpate.engine.compiling.numba_parts import observers

            observers.remove(self)
            if self.bar is not None:
                self.bar.stop()

    def begin(self, kernel: Any) -> None:
        """A kernel is being compiled, perhaps for the sake of another."""
        if not self.expected:
            self.started = self.reported = time.perf_counter()
        if self.depth == 0:
            self.since = time.perf_counter()
            self.expected |= needed(kernel)
        self.depth += 1
        self.show(kernel)

    def end(self, kernel: Any) -> None:
        """It is done."""
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.perf_counter() - self.since
        self.done.add(kernel)
        self.expected.add(kernel)

    def show(self, kernel: Any) -> None:
        """Say how far it is: a bar on a terminal, a line now and then elsewhere."""
        now, name = time.perf_counter(), kernel.py_func.__name__.strip("_")
        if self.terminal:
            self._show_bar(name)
        elif now - self.started > SOON and (now - self.reported > EVERY or self.reported == self.started):
            self.reported = now
            text = f"{self.title}: {len(self.done)} of {len(self.expected)} kernels, {now - self.started:.0f} s"
            print(text, file=sys.stderr, flush=True)

    def _show_bar(self, name: str) -> None:
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self.bar = Progress(
                TextColumn(self.title), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                TextColumn("{task.description}"), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task(name, total=len(self.expected))
            self.bar.start()
        self.bar.update(self.task, completed=len(self.done), total=len(self.expected), description=name)


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

"""When ticks are due, and how the operating system is asked to keep to it."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

_COMMAND_SHARE = 0.8  # of a tick that a command may take
_PRIORITY = 10  # of 1 to 99, among real-time programs


@contextlib.contextmanager
def real_time(wanted: bool) -> Iterator[None]:
    """Inside, this thread runs before all ordinary programs where the system lets it; its children do not.

    Linux lets the administrator, and users with a limit for it (`ulimit -r`); elsewhere nothing changes.
    """
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        if wanted:
            os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(_PRIORITY))
    except (AttributeError, OSError):  # not on macOS and Windows; not permitted
        yield
        return
    try:
        yield
    finally:
        if wanted:
            os.sched_setscheduler(0, *before)


@contextlib.contextmanager
def no_collector() -> Iterator[None]:
    """No garbage collection inside: it would stop the robot for milliseconds."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@dataclass
class Pace:
    """When ticks are due.

    Attributes:
        factor: simulated over real time.
        waits: whether the world waits for the client's commands instead of counting them as lost.
        late: ticks that began more than one period after they were due; the schedule then restarts.
        slipped: s of real time lost by them.
    """

    period: float
    factor: float = 1.0
    waits: bool = False
    late: int = 0
    slipped: float = 0.0
    _due: float = 0.0

    @property
    def step(self) -> float:
        """s of real time for a tick."""
        return self.period / self.factor

    def begin(self) -> float:
        """Wait until the next tick is due, and return until when its command may arrive.

        The client's time begins with the tick as it begins, so that a server that wakes late takes nothing of it.
        """
        now = time.monotonic()
        self._due = self._due + self.step if self._due else now
        if now < self._due:
            time.sleep(self._due - now)
            now = time.monotonic()
        elif now - self._due > self.step:
            self.late += not self.waits
            self.slipped += now - self._due
            self._due = now
        return now + _COMMAND_SHARE * self.step

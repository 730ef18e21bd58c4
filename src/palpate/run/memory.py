"""What the record of a run takes, and whether there is room for it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from palpate.errors import TooLarge
from palpate.run.run import Run
from palpate.trace import Channel

WORTH_TELLING = 200e6  # bytes
_SHARE = 1.5  # of the record: what a run takes at its peak
_CONTROL_GROUP = Path("/sys/fs/cgroup")


def record_bytes(run: Run, chosen: Iterable[Channel]) -> int:
    """How many bytes a run's samples take: 8 for each column and time at each of them."""
    samples = run.clock.steps // run.record.stride + 1
    return 8 * samples * (1 + sum(channel.size for channel in chosen))


def free_bytes() -> int | None:
    """Memory that can still be had: the least of the machine's, its control group's and the process's own limit."""
    known = [free for free in (_free_in_machine(), _free_in_group(), _free_in_process()) if free is not None]
    return min(known) if known else None


def refuse_too_large(run: Run, chosen: Iterable[Channel]) -> None:
    """Refuse a run whose record does not fit, before anything is computed.

    Raises:
        TooLarge: what it needs, what there is, and how to need less.
    """
    chosen = tuple(chosen)
    needed, free = record_bytes(run, chosen), free_bytes()
    if free is not None and _SHARE * needed > free:
        samples = run.clock.steps // run.record.stride + 1
        raise TooLarge(
            f"the record of this run needs {told(needed)} ({samples} samples of {needed // samples} bytes), and"
            f" {told(free)} of memory are free",
            hint="record fewer channels (record.channels), every tenth step (record.stride = 10), or a shorter run",
        )


def told(size: float) -> str:
    """A number of bytes for people."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size / 1e3:.3g} kB"


def _free_in_machine() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return next(1024 * int(line.split()[1]) for line in text.splitlines() if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _free_in_group() -> int | None:
    try:
        most = (_CONTROL_GROUP / "memory.max").read_text(encoding="ascii").strip()
        used = (_CONTROL_GROUP / "memory.current").read_text(encoding="ascii").strip()
        return max(int(most) - int(used), 0) if most != "max" else None
    except (OSError, ValueError):
        return None


def _free_in_process() -> int | None:
    """What `ulimit -v` leaves: the limit on the process's address space, less what it has taken of it."""
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return max(most - pages * resource.getpagesize(), 0)
    except (ImportError, OSError, ValueError):
        return None

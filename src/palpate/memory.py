"""How much memory can still be had."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

_CONTROL_GROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int | None:
    """Memory that can still be had, the least of: the machine's, the control group's, the process's own limit."""
    known: list[int] = []
    for measure in (_free_in_machine, _free_in_group, _free_in_process):
        with suppress(ImportError, AttributeError, OSError, StopIteration, ValueError):  # this system has no such thing
            known.append(measure())
    return min(known, default=None)


def shown_bytes(size: float) -> str:
    """A number of bytes for people."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} bytes"


def _free_in_machine() -> int:
    with suppress(OSError, StopIteration, ValueError):
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return next(1024 * int(line.split()[1]) for line in text.splitlines() if line.startswith("MemAvailable:"))
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _free_in_group() -> int:
    """Bytes that the control group leaves; its limit is the word "max", no number, where it sets none."""
    most, used = ((_CONTROL_GROUP / f"memory.{name}").read_text(encoding="ascii") for name in ("max", "current"))
    return max(int(most) - int(used), 0)


def _free_in_process() -> int:
    """Bytes that `ulimit -v` leaves."""
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return sys.maxsize
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    return max(most - used, 0)

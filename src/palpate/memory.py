"""How much memory can still be had."""

from __future__ import annotations

import os
from pathlib import Path

_CONTROL_GROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int | None:
    """Memory that can still be had, the least of: the machine's, the control group's, the process's own limit."""
    known = [size for size in (_free_in_machine(), _free_in_group(), _free_in_process()) if size is not None]
    return min(known) if known else None


def shown_bytes(size: float) -> str:
    """A number of bytes for people."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} bytes"


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
    """What `ulimit -v` leaves."""
    try:
        import resource

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY:
            return None
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        return max(most - used, 0)
    except (ImportError, OSError, ValueError):
        return None

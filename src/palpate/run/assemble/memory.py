"""What the record of a run takes, and whether there is room for it."""

from __future__ import annotations

from collections.abc import Iterable

from palpate.errors import TooLarge
from palpate.memory import free_bytes, shown_bytes
from palpate.run.run import Run
from palpate.trace import Channel

_SHARE = 1.5  # of the record: what a run takes at its peak


def record_bytes(run: Run, chosen: Iterable[Channel]) -> int:
    """How many bytes a run's samples take: 8 for each column and time at each of them."""
    samples = run.clock.steps // run.record.stride + 1
    return 8 * samples * (1 + sum(channel.size for channel in chosen))


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
            f"the record of this run needs {shown_bytes(needed)} ({samples} samples of {needed // samples} bytes), and"
            f" {shown_bytes(free)} of memory are free",
            hint="record fewer channels (record.channels), every tenth step (record.stride = 10), or a shorter run",
        )

"""Fields that the loop keeps of each recorded step."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.run.loop.row import Layout
from palpate.run.run import Run
from palpate.trace import Channel

BATCH = 4000  # physics steps between two looks at the clock, the progress bar and Ctrl-C


def kept_fields(run: Run, rows: Layout, chosen: tuple[Channel, ...]) -> dict[str, Any]:
    """Fields of the loop for the channels that are kept of each recorded step."""
    names = asked_for(run, chosen)
    return {
        "orientation_is_kept": any(name.startswith("tool_quat_wxyz") for name in names),
        "target_is_kept": any(name.startswith("target_") for name in names),
        "kept": _column_ranges(rows, chosen),
        "record": np.empty((samples_of(run), sum(channel.size for channel in chosen))),
    }


def samples_of(run: Run) -> int:
    """How many samples the loop has room for."""
    return min(run.clock.steps, BATCH) // run.record.stride + 1


def asked_for(run: Run, chosen: tuple[Channel, ...]) -> list[str]:
    """Names of the channels and columns that are recorded or watched."""
    return [channel.name for channel in chosen] + [rule.column for rule in run.stop]


def _column_ranges(rows: Layout, chosen: tuple[Channel, ...]) -> np.ndarray:
    """The chosen columns of the row as runs (first, how many); neighbours are one run."""
    runs: list[list[int]] = []
    for channel in chosen:
        start = rows.starts[channel.name]
        if runs and sum(runs[-1]) == start:
            runs[-1][1] += channel.size
        else:
            runs.append([start, channel.size])
    return np.array(runs, dtype=np.int64).ravel()

"""Runs of what a document prints, labelled as printed, beside the right thing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palpate.errors import InvalidInput
from palpate_documents.d000.runs import pole_runs
from palpate_documents.d001.runs import stop_runs
from palpate_documents.d002.runs import force_loop_runs
from palpate_documents.d004.runs import fall_runs
from palpate_documents.printed_claims import CLAIMS, Runs


def runs_as_printed(number: str) -> Runs:
    """Runs of document `number`, or of one of its claims ("004.44"), as printed and right: names and traces.

    Raises:
        InvalidInput: nothing of that document is a run.
    """
    if number in CLAIMS:
        return CLAIMS[number]()
    if number not in _MAKERS:
        known = ", ".join((*_MAKERS, *CLAIMS))
        raise InvalidInput(f"document {number} prints nothing that can be run as printed", hint=f"one of {known}")
    return _MAKERS[number]()


_MAKERS: dict[str, Callable[[], Runs]] = {"000": pole_runs, "001": stop_runs, "002": force_loop_runs, "004": fall_runs}
# Metrics that say something about these runs.
RUN_METRICS = {
    "000": ("tilt_max", "tilt_rms", "tilt_end", "saturation_time"),
    "001": ("stop_time", "stop_distance", "stop_deviation"),
    "002": ("force_peak", "force_steady_error", "force_error_rms"),
    "004": ("energy_residual",),
}


def distances_from_right(runs: Runs) -> list[tuple[float, float] | None]:
    """How far the tool (m) and the joints (rad or m) of each run get from the right run that starts alike."""
    rights = [trace for name, trace in runs if name.startswith("right")]
    distances: list[tuple[float, float] | None] = []
    for _, trace in runs:
        right = next((one for one in rights if np.array_equal(one["q"][0], trace["q"][0])), trace)
        n = min(len(trace.time), len(right.time))
        if trace is right or n < 2:
            distances.append(None)
            continue
        tool = np.linalg.norm(trace["tool_position"][:n] - right["tool_position"][:n], axis=1)
        distances.append((float(tool.max()), float(np.abs(trace["q"][:n] - right["q"][:n]).max())))
    return distances

"""A pole on the tool: how far from upright."""

from __future__ import annotations

from palpate.checks import Array
from palpate.errors import NotApplicable
from palpate.metrics.signals import channel, rms, steady
from palpate.trace import Trace


def _tilt(trace: Trace) -> Array:
    if "pole.tilt" not in trace and trace.facts.world and trace.facts.world.get("pole") is None:
        raise NotApplicable("there is no pole")
    return channel(trace, "pole.tilt")


def tilt_max(trace: Trace) -> float:
    """Largest angle of the pole from the vertical, rad."""
    return float(_tilt(trace).max())


def tilt_rms(trace: Trace) -> float:
    """RMS of that angle, rad."""
    return rms(trace.time, _tilt(trace))


def tilt_end(trace: Trace) -> float:
    """Largest angle over the last tenth of the run, rad."""
    return float(_tilt(trace)[steady(trace)].max())

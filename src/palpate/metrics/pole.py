"""A pole on the tool: how far from upright."""

from __future__ import annotations

from palpate.checks import Array
from palpate.errors import NotApplicable
from palpate.metrics.signals import channel, steady
from palpate.trace import Trace


def tilt(trace: Trace) -> Array:
    """Angle of the pole from the vertical per sample, rad."""
    if "pole.tilt" not in trace and trace.facts.world and trace.facts.world.get("pole") is None:
        raise NotApplicable("there is no pole")
    return channel(trace, "pole.tilt")


def tilt_end(trace: Trace) -> float:
    """Largest angle over the last tenth of the run, rad."""
    return float(tilt(trace)[steady(trace)].max())

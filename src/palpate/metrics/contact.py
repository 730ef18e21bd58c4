"""Touching: how hard, how long, how often, and what energy went through."""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.errors import NeverHappened
from palpate.metrics.kernels import energy_given, time_above_zero
from palpate.metrics.signals import channel, contact_changes, once, rms, touching
from palpate.metrics.step import force_error
from palpate.trace import Trace


def force_error_rms(trace: Trace) -> float:
    """RMS of the force error along the wanted force from first contact on, N; over the whole run without contact."""
    error, on = force_error(trace), touching(trace)
    start = min(int(np.argmax(on)), len(trace) - 2)
    return rms(trace.time[start:], error[start:])


def first_touchdown(trace: Trace) -> float:
    """When a gap first closes, s, as located by exact contact."""
    times = [float(e["time"]) for e in trace.facts.contact_events if e["what"] == "touchdown"]
    if not times:
        raise NeverHappened("there is no touchdown of an exact contact")
    return min(times)


def contact_time(trace: Trace) -> float:
    """s in contact."""
    return time_above_zero(channel(trace, "contact_force"), trace.time)


def first_contact(trace: Trace) -> float:
    """When contact first begins, s."""
    starts, _ = contact_changes(trace)
    if not len(starts):
        raise NeverHappened("there is no contact")
    return float(trace.time[starts[0]])


def felt_after(trace: Trace) -> float:
    """From the first contact or push until the law's surroundings react to it, s."""
    mode, touched = channel(trace, "reaction.mode"), channel(trace, "contact_force") > 0
    if "push_wrench" in trace:
        touched = touched | np.any(trace["push_wrench"] != 0, axis=1)
    if not touched.any():
        raise NeverHappened("there is no contact and no push")
    first = int(np.argmax(touched))
    felt = np.flatnonzero(mode[first:] > 0)
    if not felt.size:
        raise NeverHappened("the contact was not felt")
    return float(trace.time[first + felt[0]] - trace.time[first])


def tank_least(trace: Trace) -> float:
    """The least energy in the tank around the law, J."""
    return float(channel(trace, "reaction.tank").min())


def bounces(trace: Trace) -> float:
    """How often contact begins again after it was lost."""
    starts, _ = contact_changes(trace)
    return float(max(len(starts) - 1, 0))


def chatter(trace: Trace) -> float:
    """Changes between contact and no contact per second, after first contact, Hz."""
    starts, ends = contact_changes(trace)
    if not len(starts):
        raise NeverHappened("there is no contact")
    span = trace.time[-1] - trace.time[starts[0]]
    return float((len(starts) - 1 + len(ends)) / span) if span > 0 else 0.0


@once
def energy_out(trace: Trace) -> Array:
    """E(t) = −∫₀ᵗ Fᵀ V dt, J: what the controlled robot has given out through the contact port.

    F is the wrench of the environment on the robot and V the tool's twist, both at the tool's origin, so that
    Fᵀ V flows into the robot and −Fᵀ V out of it. Trapezoidal. Exact for contacts of the tool's own link.
    """
    energy = np.empty(len(trace))
    energy_given(channel(trace, "contact_wrench"), channel(trace, "tool_twist"), trace.time, energy)
    return energy


def contact_energy_out(trace: Trace) -> float:
    """E at the end, J."""
    return float(energy_out(trace)[-1])

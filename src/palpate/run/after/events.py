"""Events of a finished run: warnings, guards, faults, contact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from palpate.checks import Array
from palpate.run.after.causes import LIMITS
from palpate.run.assemble.assemble import Assembly
from palpate.trace import Event


def events_of(assembly: Assembly, named: Mapping[str, Array], warnings: Iterable[str]) -> list[Event]:
    """Events of a run in order of their kinds: warnings, guards, faults, contact."""
    events, times = [Event(0.0, 0, "checks", "warning", text) for text in warnings], named["time"]
    ticks = np.arange(len(times)) * assembly.run.record.stride // assembly.loop.ratio
    if "guard" in named:
        events += _guard_events(times, named["guard"].astype(int), ticks)
    events += _fault_events(assembly, times)
    if assembly.exact is not None:
        events += assembly.exact.trace_events(assembly.run.clock.control_period)
    elif "contact_force" in named:
        events += _contact_events(times, named["contact_force"], ticks)
    return events


def _guard_events(times: Array, flags: np.ndarray, ticks: np.ndarray) -> list[Event]:
    events = []
    for bit, name in LIMITS.items():
        on = (flags & bit) != 0
        for k in np.flatnonzero(on & ~np.r_[False, on[:-1]]):
            last = min(k + int(np.argmin(np.r_[on[k:], False])), len(times) - 1)
            time, span = float(times[k]), float(times[last] - times[k])
            text = f"{name} changed the command for {span:.4g} s"
            events.append(Event(time, int(ticks[k]), "guard", "intervention", text, span))
    return events


def _fault_events(assembly: Assembly, times: Array) -> list[Event]:
    """The faults that came within the run."""
    end, period, events = float(times[-1]) if len(times) else 0.0, assembly.run.clock.control_period, []
    for fault in assembly.run.world.faults:
        if fault.at <= end:
            text = f"{fault.what} {'from here on' if fault.duration is None else f'for {fault.duration:g} s'}"
            events.append(Event(fault.at, round(fault.at / period), "fault", fault.what, text))
    return events


def _contact_events(times: Array, force: Array, ticks: np.ndarray) -> list[Event]:
    touching = force > 0
    change = np.flatnonzero(touching[1:] != touching[:-1]) + 1
    starts = np.r_[[0] if len(touching) and touching[0] else [], change].astype(int)
    return [
        Event(
            float(times[k]), int(ticks[k]), "contact", "start" if touching[k] else "end",
            "contact began" if touching[k] else "contact ended",
        )
        for k in starts
    ]  # fmt: skip

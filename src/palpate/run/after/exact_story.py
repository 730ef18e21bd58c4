"""What a run of exact contact tells its trace: how it ended, its events, what it took for granted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palpate.trace import Event, Outcome
from palpate.world.config import World

if TYPE_CHECKING:
    from palpate.contact.motion import events as contact
    from palpate.run.exact import ExactPlant

_MEANING = {
    "touchdown": "touches",
    "impact": "has an impact without collision",
    "edge": "leaves an edge",
    "stick": "sticks",
    "slip": "slips",
    "reversal": "slips the other way",
    "side": "changes sides",
    "graze": "grazes its surface",
    "lift-off": "lifts off",
    "zeno": "has bounced infinitely often",
    "painleve": "has no or several solutions",
    "dependent": "is redundant with other contacts",
    "limit": "leaves its range",
}


def exact_outcome(exact: ExactPlant, period: float) -> Outcome:
    """How a run ended whose equations had no answer, or which was told to stop there."""
    t = exact.time
    tick = int(t / period + 1e-9)
    if exact.trouble is not None:
        return Outcome("diverged", str(exact.trouble), t, tick, "exact contact")
    last = next((e for e in reversed(exact.events) if e.what == "painleve"), None)
    name = last.contact if last else "a contact"
    kind = f"{last.detail['kind']}, coefficient {last.detail['coefficient']:.6g} 1/kg" if last else "no answer"
    return Outcome("stopped", f"Painlevé's paradox at {name!r} ({kind})", t, tick, name)


def event_table(exact: ExactPlant | None) -> list[dict[str, Any]]:
    """Every event as plain data, in order."""
    return [] if exact is None else [_row(event) for event in exact.events]


def _row(event: contact.ContactEvent) -> dict[str, Any]:
    row = {"time": event.time, "what": event.what, "contact": event.contact}
    row |= {"before": event.before, "after": event.after, "where": [float(x) for x in event.where]}
    return row | {"detail": {key: _plain(value) for key, value in event.detail.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def trace_events(exact: ExactPlant, period: float) -> list[Event]:
    """The same for a trace's list of events."""
    return [
        Event(
            event.time,
            int(event.time / period + 1e-9),
            f"contact.{event.contact}",
            event.what,
            f"{event.contact} {_MEANING.get(event.what, event.what)}: {_change(event)}",
        )
        for event in exact.events
    ]


def _change(event: contact.ContactEvent) -> str:
    return event.before if event.before == event.after else f"{event.before} → {event.after}"


def stop_warnings(exact: ExactPlant | None) -> list[str]:
    """Joints that met their stops, and when first."""
    if exact is None:
        return []
    from palpate.contact.touch.contacts import JointStop

    stops = {name: t.joint for name, t in zip(exact.system.names, exact.system.contacts) if isinstance(t, JointStop)}
    first: dict[str, float] = {}
    for event in exact.events:
        if event.contact in stops and event.what == "touchdown":
            first.setdefault(stops[event.contact], event.time)
    return [f"{joint} reached its stop at {t:.6g} s, which acts as an exact contact" for joint, t in first.items()]


def exact_assumptions(world: World) -> list[str]:
    """What exact contact takes for granted, in plain words."""
    notes = [
        "contact is exact: rigid surfaces, Coulomb friction, instantaneous impacts;"
        " forces are multipliers, impulses are listed with the events",
        "bodies touch at points and spheres, not along whole links; joints stop without rebound",
        "between two physics steps the joint torques are held",
    ]
    if world.pushes:
        notes.append("pushes act as joint forces held over each physics step")
    return notes

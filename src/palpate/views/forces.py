"""The arrows of a replay: contact forces where they act, and pushes."""

from __future__ import annotations

from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.trace import Trace
from palpate.views.ghost import carried
from palpate.views.kinematics import Path, scene_of
from palpate.views.pages.interactive import packed

_CONTACT, _PUSH = [213, 60, 0], [190, 60, 140]  # colours
_SMALLEST_FORCE = 1e-6  # N; below, no arrow
_EXACT = "contact."  # channels of exact contacts, one each


def arrows(trace: Trace, rows: np.ndarray, paths: list[Path], reach: float) -> list[dict[str, Any]]:
    """Forces on one scale: the largest is as long as a third of the arm's reach.

    Exact contacts have an arrow each; the sum of all others stands on its line of action.
    """
    if "tool_position" not in trace:
        return []
    tool = trace["tool_position"][rows]
    made = _exact(trace, rows, paths) or _total(trace, rows, "contact", _CONTACT, reach)
    made += _total(trace, rows, "push", _PUSH, reach)
    largest = [float(np.linalg.norm(one["every"], axis=1).max(initial=0.0)) for one in made]
    scale = reach / 3 / max([size for size in largest if size > _SMALLEST_FORCE], default=1.0)
    return [
        {
            **{key: one[key] for key in ("name", "label", "colour")},
            "scale": scale,
            "force": packed(one["every"][rows]),
            "start": packed(tool if one["start"] is None else one["start"]),
        }
        for one, size in zip(made, largest)
        if size > _SMALLEST_FORCE
    ]


def _total(trace: Trace, rows: np.ndarray, name: str, colour: list[int], reach: float) -> list[dict[str, Any]]:
    if f"{name}_wrench" not in trace:
        return []
    wrench = trace[f"{name}_wrench"]
    start = trace["tool_position"][rows] + _line_of_action(wrench[rows], reach)
    return [{"name": name, "label": name, "colour": colour, "every": wrench[:, :3], "start": start}]


def _line_of_action(wrench: Array, reach: float) -> Array:
    """From the tool to the nearest point of the line on which the force acts: f × n / |f|².

    Zero where the moment has no such line within half the arm's reach: it is then no force at a point.
    """
    force, moment = wrench[:, :3], wrench[:, 3:]
    square = np.sum(force**2, axis=1, keepdims=True)
    offset = np.cross(force, moment) / np.maximum(square, _SMALLEST_FORCE**2)
    return np.where(np.linalg.norm(offset, axis=1, keepdims=True) < reach / 2, offset, 0.0)


def _exact(trace: Trace, rows: np.ndarray, paths: list[Path]) -> list[dict[str, Any]]:
    """An arrow for each exact contact, at the point that its events tell, carried along by the body it belongs to."""
    names = [name.removeprefix(_EXACT) for name in trace if name.startswith(_EXACT)]
    bodies = [b for b, body in enumerate(scene_of(trace)) if b and not body["surface"]]
    made = []
    for name in names:
        events = [event for event in trace.facts.contact_events if event["contact"] == name]
        start = None
        if events and bodies:
            points = np.array([event["where"] for event in events])
            frames = np.searchsorted(trace.time[rows], [event["time"] for event in events]).clip(0, len(rows) - 1)
            start = carried(points, frames, paths, bodies)[0]
        made.append(
            {"name": "contact", "label": name, "colour": _CONTACT, "every": trace[_EXACT + name], "start": start}
        )
    return made

"""Arrows of a replay: the forces on the robot, on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.checks import Array
from palpate.trace import Trace
from palpate.views.pages.interactive import packed

_CONTACT, _POINT, _PUSH = [213, 60, 0], [230, 140, 40], [190, 60, 140]  # colours
SMALLEST_FORCE = 1e-6  # N; below, no arrow
FORCES, _POSITION = "contact.", "contact_position."  # channels of single contacts, two each
_MOST_LABELS = 4  # contacts that are labelled each; more of them are drawn beside their sum, which is labelled


@dataclass(frozen=True)
class Force:
    """A force in the frames that are shown: N, and the points where it acts, m, both in world axes.

    Attributes:
        look: its name, label and colour.
        force, start: (frames, 3).
        largest: its largest size in the whole run, N.
    """

    look: dict[str, Any]
    force: Array
    start: Array
    largest: float


def arrows(trace: Trace, rows: np.ndarray, reach: float) -> list[dict[str, Any]]:
    """Forces on one scale: the largest is as long as a third of the arm's reach."""
    seen = [one for one in forces_on(trace, rows, reach) if one.largest > SMALLEST_FORCE]
    scale = reach / 3 / max([one.largest for one in seen], default=1.0)
    return [{**one.look, "scale": scale, "force": packed(one.force), "start": packed(one.start)} for one in seen]


def forces_on(trace: Trace, rows: np.ndarray, reach: float) -> list[Force]:
    """Every force on the robot: single contacts where they are recorded, else their sum, and the sum of pushes."""
    if "tool_position" not in trace:
        return []
    names = [name.removeprefix(FORCES) for name in trace if name.startswith(FORCES)]
    many = len(names) > _MOST_LABELS
    single = [_single(trace, rows, name, _POINT if many else _CONTACT, "" if many else name) for name in names]
    total = _total(trace, rows, "contact", _CONTACT, reach) if many or not names else []
    return [*total, *single, *_total(trace, rows, "push", _PUSH, reach)]


def _single(trace: Trace, rows: np.ndarray, name: str, colour: list[int], label: str) -> Force:
    start = trace[_POSITION + name] if _POSITION + name in trace else trace["tool_position"]
    return _force({"name": "contact", "label": label, "colour": colour}, trace[FORCES + name], rows, start[rows])


def _total(trace: Trace, rows: np.ndarray, name: str, colour: list[int], reach: float) -> list[Force]:
    """The sum of all forces of a kind, on its line of action."""
    if f"{name}_wrench" not in trace:
        return []
    wrench = trace[f"{name}_wrench"]
    start = trace["tool_position"][rows] + _line_of_action(wrench[rows], reach)
    return [_force({"name": name, "label": name, "colour": colour}, wrench[:, :3], rows, start)]


def _force(look: dict[str, Any], every: Array, rows: np.ndarray, start: Array) -> Force:
    return Force(look, every[rows], start, float(np.linalg.norm(every, axis=1).max(initial=0.0)))


def _line_of_action(wrench: Array, reach: float) -> Array:
    """From the tool to the nearest point of the line on which the force acts: f × n / |f|².

    Zero where the moment has no such line within half the arm's reach: it is then no force at a point.
    """
    force, moment = wrench[:, :3], wrench[:, 3:]
    square = np.sum(force**2, axis=1, keepdims=True)
    offset = np.cross(force, moment) / np.maximum(square, SMALLEST_FORCE**2)
    return np.where(np.linalg.norm(offset, axis=1, keepdims=True) < reach / 2, offset, 0.0)

"""Gains that may be changed in C, and their bounds."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from palpate.control.law import Law
from palpate.control.rig import Rig
from palpate.errors import PalpateError
from palpate.robot.robot import Robot
from palpate.tools.exporting.code.image import Image, Part
from palpate.tools.exporting.gain_table import gain_about

Bounds = tuple[float, float]
_CHANGE = 1.25
MOST_TIMES = 10.0  # upper bound of a gain as a multiple of its exported value, the one that was verified


def adjustable(law: Law, robot: Robot, image: Image, parts: list[Part]) -> dict[str, Bounds]:
    """Bounds of the gains that may be changed in C, by name.

    Each was changed as a setting, and no other followed; or the table of gains says that the law reads it as it is. At
    most it is `MOST_TIMES` the exported one, which is the one that was verified.
    """
    bounds = {part.name: (0.0, math.inf) for part in parts if part.real and gain_about(part).kind}
    by_setting = {part.path[-1]: part for part in parts if part.real and part.path[0] != "around"}
    before = _words_of_gains(law, robot)
    for name in type(law).model_fields:
        if name in by_setting and _is_number(getattr(law, name)):
            part, after = by_setting[name], _scaled(law, robot, name, _CHANGE)
            if after is not None and before is not None and _only(before, after, part.path):
                bounds[part.name] = _bounds(law, robot, name)
    words = {part.name: np.array(image.words[part.word : part.word + part.count]) for part in parts}
    most = {name: MOST_TIMES * float(np.abs(words[name].view(np.float64)).max()) for name in bounds}
    return {name: (low, min(high, most[name] or MOST_TIMES)) for name, (low, high) in bounds.items()}


def _is_number(value: Any) -> bool:
    numbers = value if isinstance(value, tuple) else (value,)
    return all(isinstance(x, float) and x != 0.0 for x in numbers)


def _scaled(law: Law, robot: Robot, name: str, factor: float) -> dict[tuple[str, ...], Any] | None:
    """The gains where a setting is multiplied; None where that is refused."""
    value = getattr(law, name)
    new = tuple(factor * x for x in value) if isinstance(value, tuple) else factor * value
    return _words_of_gains(law, robot, {name: new})


def _words_of_gains(law: Law, robot: Robot, changes: dict[str, Any] | None = None) -> dict[tuple[str, ...], Any] | None:
    """The words of a law's gains by their paths; None where the law refuses its settings."""
    image = Image()
    try:
        record = law.model_copy(update=changes or {}).suited(robot, Rig()).gains(robot)
    except PalpateError:
        return None
    parts = image.parts_of(record)
    return {part.path: np.array(image.words[part.word : part.word + part.count]) for part in parts}


def _only(before: dict[tuple[str, ...], Any], after: dict[tuple[str, ...], Any], path: tuple[str, ...]) -> bool:
    if before.keys() != after.keys():
        return False
    same = all(np.array_equal(before[other], after[other]) for other in before if other != path)
    old, new = before[path].view(np.float64), after[path].view(np.float64)
    return same and bool(np.all(new == _CHANGE * old))


def _bounds(law: Law, robot: Robot, name: str) -> Bounds:
    """The setting's own bounds, 0 where the law refuses other signs; one that is not reached is its neighbour."""
    high = sys.float_info.max
    low = -high
    for bound in type(law).model_fields[name].metadata:
        low = max(low, getattr(bound, "ge", low), math.nextafter(getattr(bound, "gt", -math.inf), math.inf))
        high = min(high, getattr(bound, "le", high), math.nextafter(getattr(bound, "lt", math.inf), -math.inf))
    if low < 0.0 and _scaled(law, robot, name, -1.0) is None:
        low = math.nextafter(0.0, math.inf) if _scaled(law, robot, name, 0.0) is None else 0.0
    return low, high

"""Which gains may be changed in C: those that are a setting as it stands, and that nothing else is derived from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from palpate.control.law import Law, Rig
from palpate.errors import PalpateError
from palpate.exporting.code.image import Image, Part, parts_of
from palpate.robot.robot import Robot

Bounds = tuple[float, float]
_CHANGE = 1.25


def adjustable(law: Law, robot: Robot, parts: list[Part]) -> dict[tuple[str, ...], Bounds]:
    """Bounds of the gains that may be changed, by their path: each was changed as a setting, and no other followed."""
    bounds = {}
    names = {part.path[-1]: part.path for part in parts if part.real}
    before = _values(law, robot)
    for name in type(law).model_fields:
        if name in names and (value := getattr(law, name)) is not None and _is_number(value):
            path = names[name]
            after = _scaled(law, robot, name, _CHANGE)
            if after is not None and before is not None and _only(before, after, path):
                bounds[path] = _bounds(law, robot, name)
    return bounds


def _is_number(value: Any) -> bool:
    numbers = value if isinstance(value, tuple) else (value,)
    return all(isinstance(x, float) and x != 0.0 for x in numbers)


def _scaled(law: Law, robot: Robot, name: str, factor: float) -> dict[tuple[str, ...], Any] | None:
    """The gains where a setting is multiplied; None where that is refused."""
    value = getattr(law, name)
    new = tuple(factor * x for x in value) if isinstance(value, tuple) else factor * value
    try:
        return _values(law.model_copy(update={name: new}), robot)
    except PalpateError:
        return None


def _values(law: Law, robot: Robot) -> dict[tuple[str, ...], Any] | None:
    image = Image()
    try:
        record = law.suited(robot, Rig()).gains(robot)
    except PalpateError:
        return None
    parts = list(parts_of(record, image))
    return {part.path: np.array(image.words[part.word : part.word + part.count]) for part in parts}


def _only(before: dict[tuple[str, ...], Any], after: dict[tuple[str, ...], Any], path: tuple[str, ...]) -> bool:
    if before.keys() != after.keys():
        return False
    same = all(np.array_equal(before[other], after[other]) for other in before if other != path)
    old, new = before[path].view(np.float64), after[path].view(np.float64)
    return same and bool(np.all(new == _CHANGE * old))


def _bounds(law: Law, robot: Robot, name: str) -> Bounds:
    """The setting's own bounds, 0 where the law refuses other signs; one that is not reached is its neighbour."""
    low, high = -math.inf, math.inf
    for bound in type(law).model_fields[name].metadata:
        if hasattr(bound, "ge"):
            low = max(low, bound.ge)
        if hasattr(bound, "gt"):
            low = max(low, math.nextafter(bound.gt, math.inf))
        if hasattr(bound, "le"):
            high = min(high, bound.le)
        if hasattr(bound, "lt"):
            high = min(high, math.nextafter(bound.lt, -math.inf))
    if low < 0.0 and _scaled(law, robot, name, -1.0) is None:
        low = math.nextafter(0.0, math.inf) if _scaled(law, robot, name, 0.0) is None else 0.0
    return max(low, -1.7976931348623157e308), min(high, 1.7976931348623157e308)

"""Events on one time line: what the simulated run did, beside what the arm did, found by the same rules in both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.robot import JointLimits


@dataclass(frozen=True)
class Happening:
    """One kind of event: when it was predicted and when it happened first, s; None where it never was."""

    what: str
    predicted: float | None
    happened: float | None


@dataclass(frozen=True)
class Course:
    """Input of the rules: time, joints, torques, and the size of the contact force where it is known."""

    time: Array
    q: Array
    v: Array
    torque: Array
    force: Array | None = None


def happenings(
    recorded: Course, simulated: Course | None, limits: JointLimits, joints: tuple[str, ...]
) -> list[Happening]:
    """Contacts, limits and reversals of fortune in order of time, predicted beside happened."""
    largest = _largest_force(recorded, simulated)
    real = dict(_first_times(recorded, limits, joints, largest))
    predicted = dict(_first_times(simulated, limits, joints, largest)) if simulated is not None else {}
    every = [Happening(what, predicted.get(what), real.get(what)) for what in dict.fromkeys([*predicted, *real])]
    return sorted(every, key=lambda one: min(t for t in (one.predicted, one.happened) if t is not None))


def _largest_force(*courses: Course | None) -> float:
    forces = [float(np.max(c.force)) for c in courses if c is not None and c.force is not None and len(c.force)]
    return max(forces, default=0.0)


def _first_times(
    course: Course, limits: JointLimits, joints: tuple[str, ...], largest: float
) -> Iterator[tuple[str, float]]:
    """The first time of each event."""
    start = course.time[0]
    if course.force is not None and largest > 1.0:
        touch = course.force > 0.1 * largest
        if touch.any():
            first = int(np.argmax(touch))
            yield "first contact", float(course.time[first] - start)
            yield "largest force", float(course.time[int(np.argmax(course.force))] - start)
            after = ~touch[first:]
            if after.any():
                yield "contact lost", float(course.time[first + int(np.argmax(after))] - start)
    beyond = {
        "position limit": (course.q < limits.lower) | (course.q > limits.upper),
        "speed limit": np.abs(course.v) > limits.velocity,
        "torque limit": np.abs(course.torque) > limits.torque,
    }
    for what, broken in beyond.items():
        for k in np.flatnonzero(broken.any(axis=0)):
            yield f"{what} of {joints[k]} broken", float(course.time[int(np.argmax(broken[:, k]))] - start)

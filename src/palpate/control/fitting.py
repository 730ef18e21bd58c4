"""Settings of a law fitted to a robot: one number per joint, and robots that a law cannot drive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot


def per_joint(
    robot: Robot, value: float | Sequence[float], name: str, *, least: float | None = None, above: float | None = None
) -> Array:
    """One number per degree of freedom, from one for all or one each; `least` and `above` are lower bounds."""
    if isinstance(value, int | float):
        return np.full(robot.nv, finite_number(value, name, least=least, above=above))
    numbers = finite_array(value, f"{name} for {robot.name}", (robot.nv,))
    for joint, number in zip(robot.dof_names, numbers):
        finite_number(number, f"{name} of joint {joint}", least=least, above=above)
    return numbers


def refuse_free_base(robot: Robot, law: str) -> None:
    """Laws that subtract coordinates need as many of them as velocities: no free base, no ball joint."""
    if robot.nq != robot.nv:
        raise InvalidInput(
            f"law {law!r} cannot drive {robot.name}: it has {robot.nq} coordinates for {robot.nv} velocities",
            hint="use a robot with a fixed base and single-axis joints",
        )

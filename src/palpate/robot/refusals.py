"""What a kernel's status says about a robot's state, as the error that is raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from palpate.checks import Array
from palpate.engine.lanes import LIMIT
from palpate.errors import BadRotation, InvalidInput, NotFinite, PalpateError
from palpate.robot.mechanics import kernels, tree_kernels

if TYPE_CHECKING:
    from palpate.robot.robot import Robot


def refusal(robot: Robot, status: int, arguments: Sequence[Array], third: str = "", where: str = "") -> PalpateError:
    """The error behind a status; `arguments` are q, v and what `third` names, `where` says of which state."""
    if status == kernels.BAD_QUATERNION:
        return bad_quaternion(robot, where)
    if status == tree_kernels.NOT_POSITIVE:
        return InvalidInput(f"the mass matrix{where} of {robot.name} is not positive definite")
    if status == tree_kernels.TOO_FAR:
        return _too_far(robot, arguments[0], where)
    index = {kernels.BAD_POSITION: 0, kernels.BAD_VELOCITY: 1, kernels.BAD_INPUT: 2}[status]
    return not_finite(robot, ("q", "v", third)[index], arguments[index], where)


def bad_quaternion(robot: Robot, where: str = "") -> BadRotation:
    """A quaternion that is not of length 1."""
    what = f"q{where} of {robot.name} holds a quaternion whose norm is not 1 (wxyz, after the base position)"
    return BadRotation(what, hint="normalise it before calling")


def not_finite(robot: Robot, name: str, values: Array, where: str = "") -> NotFinite:
    """The first number that is NaN or infinite, by the name of its coordinate."""
    labels = robot.coordinate_names if name in ("q", "seed") else robot.dof_names
    index = int(np.flatnonzero(~np.isfinite(values))[0])
    return NotFinite(f"{name}{where} of {robot.name} must be finite, got {values[index]} at {labels[index]}")


def _too_far(robot: Robot, q: Array, where: str) -> InvalidInput:
    first = 7 if robot.nq > robot.nv else 0  # after a free base
    index = first + int(np.flatnonzero(np.abs(q[first:]) >= LIMIT)[0])
    what = f"q{where} of {robot.name} is {q[index]:.6g} at {robot.coordinate_names[index]}, beyond ±{LIMIT:.0f}"
    return InvalidInput(what, hint="take whole turns off an angle before calling")

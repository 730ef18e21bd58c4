"""Promises of a law on the end of a run, to be compared with what happened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palpate.checks import Array
from palpate.control.steps.reach import DIRECTIONS, AxesAt, world_axes


@dataclass(frozen=True)
class Promise:
    """Statements that hold once nothing has changed for long, up to what the law's own closed loop leaves.

    Attributes:
        joints: whether every joint is at its target.
        motion: directions among x … rz along which the tool is at its goal.
        force: directions along which the wrench of the environment on the tool is the wanted one.
        rest: whether every joint stands still.
        axes: that the directions are along (see `steps.reach.AxesAt`).
        position, quat_wxyz: channels of the goal: the target's, or those of a frame that the law shows.
        yields: whether a wrench moves the tool from its goal as the law's linear model says.
        rate: 1/s, of a double pole at which an error dies out, where the law has no linear model.
        what: that is promised, in words, where "the tool" would not do.
    """

    joints: bool = False
    motion: tuple[str, ...] = ()
    force: tuple[str, ...] = ()
    rest: bool = False
    axes: AxesAt = world_axes
    position: str = "target_position"
    quat_wxyz: str = "target_quat_wxyz"
    yields: bool = True
    rate: float | None = None
    what: str = "the tool"


def promise_axes(promise: Promise, rotation: Array, directions: tuple[str, ...]) -> Array:
    """Rows over [linear; angular], world axes, of some of a promise's directions where the tool is turned so."""
    R = promise.axes(rotation)
    linear, angular = (R, R) if R.ndim == 2 else R
    into = np.zeros((6, 6))
    into[:3, :3], into[3:, 3:] = linear.T, angular.T
    return into[[DIRECTIONS.index(d) for d in directions]]

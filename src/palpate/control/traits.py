"""Traits of a law that whoever runs, judges or predicts it may ask for: whose target it follows, what it promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from palpate.checks import Array
from palpate.control.promise import Promise
from palpate.control.reads import Reads
from palpate.control.steps.reach import directions_of, reachable
from palpate.robot.robot import Robot

# Whose target a law follows: the tool's, or the joints'.
Follows = Literal["tool", "joints", "nothing"]


def no_promises(robot: Robot) -> tuple[Promise, ...]:
    """Nothing promised."""
    return ()


def no_directions(robot: Robot) -> None:
    """No choice of directions."""


def no_bound(robot: Robot) -> None:
    """No bound on accelerations."""


def no_spring(gains: Any) -> None:
    """No spring at the tool."""


@dataclass(frozen=True)
class LawTraits:
    """Traits of a law beyond its equation; everything has a default, and `traits_of` finds some in the kernel.

    Attributes:
        follows: whose target it follows, the tool's, the joints' or none; None for both.
        holds: whether an arm that nothing touches can stand still under it.
        yields: whether its spring presses towards a goal behind a surface, so that a desired wrench is none to it.
        drops_motion: whether the target's position does not count along its force directions.
        force_directions: those along which it controls a force, among x … rz; None where it does not choose them.
        task_directions: those of the tool that it follows, along its `axes_at`; None for all of them, or none.
        promises: what to compare with the end of every run, of the target as its kernel reads it; see `Promise`.
        acceleration_bound: bounds on joint accelerations that it keeps at its ticks, one each; None if it keeps none.
        spring_damper: K and D at the tool, 6×6, where the kernel reads them, to be changed between ticks; None if it
            has none.
        ignored: inherited settings that its equation does not have, and why.
    """

    follows: Follows | None = None
    holds: bool = True
    yields: bool = False
    drops_motion: bool = False
    force_directions: tuple[str, ...] | None = None
    task_directions: Callable[[Robot], tuple[str, ...] | None] = no_directions
    promises: Callable[[Robot], tuple[Promise, ...]] = no_promises
    acceleration_bound: Callable[[Robot], Array | None] = no_bound
    spring_damper: Callable[[Any], tuple[Array, Array] | None] = no_spring
    ignored: Mapping[str, str] = field(default_factory=dict)


def traits_of(reads: Reads) -> LawTraits:
    """Traits of a law that reads these fields of the tick: it follows and promises the target that it reads."""
    follows = _followed(reads)
    return LawTraits(
        follows=follows,
        task_directions=partial(_directions, reads),
        promises=partial(promises_of, follows, reads),
    )


def _followed(reads: Reads) -> Follows:
    if not set(reads.target) <= {"q", "v", "a"}:
        return "tool"
    return "joints" if reads.target else "nothing"


def _directions(reads: Reads, robot: Robot) -> tuple[str, ...] | None:
    return directions_of(reads.target) if len(directions_of(reads.target)) == 3 else None


def promises_of(follows: Follows | None, reads: Reads, robot: Robot) -> tuple[Promise, ...]:
    """Promises of a law that follows joints or the tool, of the target as it reads it."""
    if follows == "joints":
        return (Promise(joints=True),)
    return (Promise(motion=reachable(robot, directions_of(reads.target))),) if follows == "tool" else ()

"""The posture that laws at the tool hold beneath their task by joint springs: settings, and what the clock bears."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from palpate.config import PerJoint, setting
from palpate.control.law import Rig
from palpate.control.steps.reach import POSTURE, posture_defaults
from palpate.control.steps.task_space import TaskLaw
from palpate.robot.robot import Robot


def posture_setting(letter: str, unit: str, usual: float) -> Any:
    """A gain of the posture that a law at the tool holds beneath it by joint springs; left open by default."""
    return setting(
        None, unit, f"{letter} of the null-space posture; {usual:g}, less on joints too light for the period"
    )


class PostureLaw(TaskLaw):
    """Settings of the laws at the tool that hold a posture beneath it by joint springs; abstract."""

    posture_stiffness: PerJoint | None = posture_setting("k", "N·m/rad", POSTURE[0])
    posture_damping: PerJoint | None = posture_setting("d", "N·m·s/rad", POSTURE[1])

    def suited(self, robot: Robot, rig: Rig) -> Self:
        """With a posture that the loop's period bears, where none is given."""
        return with_posture(super().suited(robot, rig), robot, rig)

    def posture_gains(self) -> tuple[PerJoint, PerJoint]:
        """k and d, once suited."""
        return self.posture_stiffness or 0.0, self.posture_damping or 0.0


L = TypeVar("L", bound=TaskLaw)


def with_posture(law: L, robot: Robot, rig: Rig) -> L:
    """A law with `posture_stiffness` and `posture_damping` that the loop's period bears, where they are left open."""
    left = [name for name in ("posture_stiffness", "posture_damping") if getattr(law, name) is None]
    if not left or robot.nq != robot.nv or not law.chosen():  # the latter two are refused later, by name
        return law
    k, d = posture_defaults(robot, robot.home if rig.q is None else rig.q, law.chosen(), law.axes_at, rig.lag)
    own = {"posture_stiffness": k, "posture_damping": d}
    return law.model_copy(update={name: own[name] for name in left})

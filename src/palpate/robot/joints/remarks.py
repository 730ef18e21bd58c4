"""What is not known of a robot's joints, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from palpate.robot.build import JOINTS
from palpate.robot.robot import Robot

_DRIVEN = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


def joint_remarks(robot: Robot) -> list[str]:
    """A sentence on rotor inertia and one on friction where they are not known; none for joints that are ideal."""
    if robot.text(JOINTS) == "ideal" or robot.unresisted:
        return []
    rotors = _without(robot, robot.model.dof_armature)
    friction = _without(robot, robot.model.dof_damping + robot.model.dof_frictionloss)
    said = []
    if rotors:
        where = "along the wrist" if len(rotors) == robot.nv else f"along {_listed(rotors)}"
        said.append(f"{_known('rotor inertia', rotors, robot)}: predicted limits are pessimistic {where}")
    if friction:
        said.append(
            f"{_known('friction', friction, robot)}: the real arm's steady errors and stick–slip are not predicted"
        )
    return said


def _without(robot: Robot, numbers: np.ndarray) -> list[str]:
    """Hinges and slides, among the independent joints, for which there is no number."""
    model = robot.model
    kinds = model.jnt_type[model.dof_jntid[robot.coordinates.kept]]
    lacking = np.isin(kinds, _DRIVEN) & (numbers[robot.coordinates.kept] == 0)
    return [name for name, lacks in zip(robot.dof_names, lacking) if lacks]


def _known(what: str, joints: Sequence[str], robot: Robot) -> str:
    return f"no {what} known" + ("" if len(joints) == robot.nv else f" of {_listed(joints)}")


def _listed(joints: Sequence[str]) -> str:
    return ", ".join(joints[:6]) + (" …" if len(joints) > 6 else "")

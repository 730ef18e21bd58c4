"""Which joints of a plant are elastic: springs and motors taken over from a compiled scene."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.robot.robot import Robot
from palpate.world.config import World
from palpate.world.driver import per_joint


@dataclass(frozen=True)
class Elasticity:
    """Springs and motors of a plant's joints, per joint, SI units.

    Attributes:
        stiffness: K, N·m/rad or N/m.
        damping: D of the spring.
        inertia: B of the motor, felt at the joint.
        viscous, coulomb: friction of the motor.
        breakaway: friction at rest beyond `coulomb`.
        stribeck: speed at which e^−1 of that is left.
    """

    stiffness: Array
    damping: Array
    inertia: Array
    viscous: Array
    coulomb: Array
    breakaway: Array
    stribeck: Array


def is_elastic(robot: Robot, world: World) -> bool:
    """Whether the joints of a robot give in this world."""
    return world.plant.joint_stiffness is not None or robot.joint_stiffness is not None


def take_over_drives(model: mujoco.MjModel, robot: Robot, world: World) -> Elasticity | None:
    """Motors and springs of a compiled scene, which the engine is relieved of; None where joints are rigid."""
    if not is_elastic(robot, world):
        _refuse_without_springs(world)
        return None
    _refuse_what_has_no_springs(robot, world)
    change, n = world.plant, robot.nv
    stiffness = _given(robot, change.joint_stiffness, robot.joint_stiffness, "joint_stiffness")
    known = Elasticity(
        stiffness,
        _given(robot, change.gear_damping, robot.gear_damping, "gear_damping"),
        model.dof_armature[:n].copy(),
        model.dof_damping[:n].copy(),
        model.dof_frictionloss[:n].copy(),
        per_joint(robot, change.breakaway, "breakaway"),
        np.full(n, change.stribeck_speed),
    )
    for values, what, hint in (
        (known.stiffness, "joint_stiffness", "world.plant.joint_stiffness, N·m/rad"),
        (known.inertia, "rotor inertia", "world.plant.rotor_inertia, kg·m²"),
    ):
        if not (values > 0.0).all():
            joint = robot.dof_names[int(np.argmin(values))]
            raise InvalidInput(
                f"an elastic joint needs a {what}, and {joint} of {robot.name} has none", hint=f"give {hint}"
            )
    model.dof_damping[:n] = model.dof_frictionloss[:n] = 0.0
    set_armature(model, np.zeros(n))
    return known


def set_armature(model: mujoco.MjModel, armature: Array) -> None:
    """Let the engine count so much inertia as part of the first joints' links."""
    model.dof_armature[: len(armature)] = armature
    mujoco.mj_setConst(model, mujoco.MjData(model))  # which keeps the inertia of simple bodies


def _given(robot: Robot, given: object, known: Array | None, name: str) -> Array:
    if given is not None:
        return per_joint(robot, given, name)  # pyright: ignore[reportArgumentType]
    return np.zeros(robot.nv) if known is None else known.copy()


def _refuse_without_springs(world: World) -> None:
    """Settings of elastic joints mean nothing for rigid ones."""
    driver = world.driver.facts
    asked = {
        "world.plant.gear_damping": world.plant.gear_damping is not None,
        "world.plant.breakaway": bool(np.any(world.plant.breakaway)),
        "world.sensors.encoders": world.sensors.encoders != "motor",
        "world.driver.torque_feedback": bool(np.any(driver.torque_feedback)),
        "world.driver.torque_rate_feedback": bool(np.any(driver.torque_rate_feedback)),
        "world.driver.torque_bandwidth": bool(driver.torque_bandwidth),
    }
    for name, is_asked in asked.items():
        if is_asked:
            raise InvalidInput(
                f"{name} is for elastic joints, and these are rigid",
                hint='set robot.joints = "elastic", or give world.plant.joint_stiffness',
            )


def _refuse_what_has_no_springs(robot: Robot, world: World) -> None:
    """Refuse by name what elastic joints are not simulated with."""
    refused = {
        "exact contact": world.is_exact,
        "a free object": bool(world.objects),
        "a pole": world.pole is not None,
        "a free base": robot.nq != robot.nv,
        "joints that follow others": robot.coordinates.coupled,
        "a robot without masses": bool(robot.unresisted),
    }
    for what, there in refused.items():
        if there:
            raise InvalidInput(
                f"elastic joints are not simulated with {what}",
                hint='make surfaces compliant, or set robot.joints = "as_built"',
            )

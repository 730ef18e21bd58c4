"""A pole that stands on the tool, as a body of the scene."""

from __future__ import annotations

import mujoco

from palpate.checks import Array
from palpate.robot.robot import Robot
from palpate.spatial import quat_from_matrix
from palpate.world.config import Pole, World


def add_pole(spec: mujoco.MjSpec, robot: Robot, world: World, q_start: Array) -> None:
    """Stand the pole of a world, if it has one, upright on the tool."""
    pole = world.pole
    if pole is None:
        return
    frame = robot.frame()
    holder = spec.body(robot.model.body(frame.body).name)
    R_WH = robot.pose(q_start, robot.model.body(frame.body).name).rotation
    body = holder.add_body(name="pole", pos=frame.offset, quat=quat_from_matrix(R_WH.T))
    body.explicitinertial = True
    body.mass, body.ipos = pole.mass + pole.rod_mass, [0.0, 0.0, pole.centre]
    body.inertia = _pole_inertia(pole)
    kind = mujoco.mjtJoint.mjJNT_BALL if pole.joint == "ball" else mujoco.mjtJoint.mjJNT_HINGE
    axes = {"pole": [0, 0, 1]} if pole.joint == "ball" else {"pole_x": [1, 0, 0], "pole_y": [0, 1, 0]}
    for joint in [body.add_joint(name=name, type=kind, axis=axis) for name, axis in axes.items()]:
        joint.damping, joint.frictionloss = [pole.pivot_damping, 0.0, 0.0], pole.pivot_friction
    body.add_site(name="pole_tip", pos=[0.0, 0.0, pole.length])  # a frame that pushes can name
    rod, ball = (0.55, 0.36, 0.2, 1.0), (0.8, 0.2, 0.2, 1.0)
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER, fromto=[0, 0, 0, 0, 0, pole.length], size=[0.008, 0, 0],
        rgba=rod, contype=0, conaffinity=0, mass=0,
    )  # fmt: skip
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=[0, 0, pole.length], size=[pole.radius, 0, 0],
        rgba=ball, contype=0, conaffinity=0, mass=0,
    )  # fmt: skip


def _pole_inertia(pole: Pole) -> list[float]:
    """About the centre of mass: a point and a thin rod; about the rod the least that the engine does not take for 0."""
    least = max(1e-12 * pole.mass, 1e-13)
    rod = pole.rod_mass * (pole.length**2 / 12 + (pole.length / 2 - pole.centre) ** 2)
    across = pole.mass * (pole.length - pole.centre) ** 2 + rod
    return [max(across, least)] * 2 + [least]

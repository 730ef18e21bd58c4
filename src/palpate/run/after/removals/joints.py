"""Removals of a run's joints: their friction and their stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from palpate.robot.robot import Robot
from palpate.run.after.removals.removal import Removal, with_part
from palpate.run.assemble.assemble import Assembly
from palpate.run.run import Run
from palpate.world.config import World
from palpate.world.plants.plant import dry_friction


def of_joints(assembly: Assembly) -> Iterator[Removal]:
    """Friction and stops of the joints."""
    run, watch = assembly.run, assembly.loop.watch
    friction = dry_friction(run.robot, World(plant=run.world.plant))  # compensated or not: another driver may not be
    if friction.any():
        most = int(np.argmax(friction))
        unit = "N" if run.robot.dof_units[most] == "m" else "N·m"
        size = f"up to {friction[most]:.3g} {unit}, {run.robot.dof_names[most]}"
        yield Removal(f"friction of the joints ({size})", _frictionless)
    if assembly.plant.elastic is not None:
        yield Removal("gears that give", _with_rigid_gears)
    if watch.on and watch.beyond_steps.any():
        names = [name for name, steps in zip(run.robot.dof_names, watch.beyond_steps) if steps]
        yield Removal(f"the joint stops ({', '.join(names)})", _without_stops)


def _with_rigid_gears(run: Run) -> Run:
    changed = with_part("plant", joint_stiffness=None, gear_damping=None, breakaway=0.0)(run)
    changed = with_part("sensors", encoders="motor")(changed)
    changed = with_part("driver", torque_feedback=0.0, torque_rate_feedback=0.0, torque_bandwidth=0.0)(changed)
    return replace(changed, robot=run.robot.with_rigid_joints())


def _frictionless(run: Run) -> Run:
    changed = with_part("plant", joint_friction=0.0, joint_damping=0.0)(run)

    def smooth(joint: Any) -> None:
        joint.frictionloss, joint.damping = 0.0, 0.0 * np.asarray(joint.damping)

    return replace(changed, robot=_with_joints(run.robot, smooth))


def _without_stops(run: Run) -> Run:
    def unlimited(joint: Any) -> None:
        joint.limited = False

    return replace(run, robot=_with_joints(run.robot, unlimited), q_start=run.start()[0])


def _with_joints(robot: Robot, change: Callable[[Any], None]) -> Robot:
    spec = robot.spec()
    for joint in spec.joints:
        change(joint)
    return Robot(spec, name=robot.name, tool_frame=robot.tool_frame, warnings=robot.warnings)

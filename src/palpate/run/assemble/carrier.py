"""Who moves the plant of a run: its own equations, or the engine, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from palpate.errors import InvalidInput
from palpate.run.run import Run
from palpate.world.plants.plant import Plant, build_plant, contact_geoms, rigid_surfaces
from palpate.world.rigid.pairs import obstacles_to_holding, shape_meets_rigid

EQUATIONS, ENGINE = "equations", "engine"
_IN_WORDS = {
    EQUATIONS: "the plant's equations of motion",
    ENGINE: "the physics engine",
    "exact": "exact contact",
    "servos": "its servos only",
}
_MOST_ENTRIES = 465  # of M, below its diagonal too: a chain of 30 joints; beyond, equations take long to compile
_OFF = ("mjDSBL_SPRING", "mjDSBL_DAMPER", "mjDSBL_EULERDAMP", "mjDSBL_FRICTIONLOSS", "mjDSBL_EQUALITY")
_ON = ("mjENBL_OVERRIDE", "mjENBL_SLEEP")


@dataclass(frozen=True)
class Carrier:
    """Who moves a plant: "equations", "engine", "exact" or "servos", and why it is not the equations.

    `reason` is empty where the engine was asked for.
    """

    name: str
    reason: str = ""

    def __str__(self) -> str:
        asked = ", as asked" if self.name == ENGINE else ""
        return f"moved by {_IN_WORDS[self.name]}{f': {self.reason}' if self.reason else asked}"


def carrier_before(run: Run) -> Carrier:
    """Carrier of the plant of a run that is not assembled yet."""
    return carrier_of(run, build_plant(run.robot, run.world, run.clock.timestep, run.clock.integrator, run.start()[0]))


def carrier_of(run: Run, plant: Plant) -> Carrier:
    """Who moves the plant of a run.

    Raises:
        InvalidInput: equations were asked for, and cannot.
    """
    name = "servos" if run.robot.unresisted else "exact" if run.world.is_exact else ENGINE
    reason = 'physics = "engine" was asked for' if run.clock.physics == ENGINE else next(_obstacles(run, plant), "")
    if reason and plant.elastic and (rigid := rigid_surfaces(run.world)):
        raise InvalidInput(
            f"elastic joints meet the rigid surface {rigid[0].name!r} on the plant's equations only: {reason}",
            hint='make the surface compliant, or set robot.joints = "as_built"',
        )
    if reason and shape_meets_rigid(run.world):
        raise InvalidInput(
            f"contact shape {run.world.contact_shapes[0].name!r} meets a rigid surface, which takes the plant's"
            f" equations: {reason}",
            hint="a compliant surface takes any number of points on either plant; or give the shape a smaller count",
        )
    if run.clock.physics == ENGINE:
        return Carrier(name)
    if reason and run.clock.physics == EQUATIONS:
        raise InvalidInput(
            f'physics = "equations" cannot move this plant: {reason}', hint='physics = "auto" chooses what is possible'
        )
    if not reason and run.clock.physics != EQUATIONS and _entries(plant.model) > _MOST_ENTRIES:
        reason = f"{plant.model.nv} degrees of freedom, whose equations take long to compile"
    return Carrier(name, reason) if reason else Carrier(EQUATIONS)


def _entries(model: mujoco.MjModel) -> int:
    """Entries of the mass matrix that are not zero, on and below its diagonal: each joint with those that carry it."""
    depth: list[int] = []
    for parent in model.dof_parentid:
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    return sum(depth)


def _obstacles(run: Run, plant: Plant) -> Iterator[str]:
    """Reasons why a run needs the engine, in plain words."""
    world, robot = run.world, run.robot
    if robot.unresisted:
        yield "the robot's masses are unknown, and its joints follow their commands exactly"
    if world.is_exact:
        yield "exact contact has its own integrator, from event to event"
    if run.clock.integrator == "implicit":
        yield 'integrator = "implicit" is the engine\'s'
    yield from obstacles_to_holding(plant, world)
    for item in world.objects:
        yield f"object {item.name!r} moves freely beside the robot"
    for name, sensor in world.sensors.custom.items():
        if sensor.reads_plant:
            yield f"sensor {name!r} may read any body of the engine"
    yield from _of_model(plant.model, len(contact_geoms(robot, world)) * len(rigid_surfaces(world)))


def _of_model(model: mujoco.MjModel, pairs: int) -> Iterator[str]:
    from palpate.equations.model.mechanism import obstacle

    if reason := obstacle(model):
        yield reason
    if model.npair > pairs or model.nflex or model.nplugin:
        yield "its file has contact pairs, flexible bodies or plugins of its own"
    for array, what in ((model.dof_dampingpoly, "dampers"), (model.jnt_stiffnesspoly, "springs")):
        if np.any(array):
            yield f"it has {what} that are not linear"
    if np.any(model.body_gravcomp) or model.opt.density or model.opt.viscosity:
        yield "it floats: gravity compensation of bodies, or a fluid around it"
    if np.any(model.jnt_stiffness[model.jnt_type < 2]):
        yield "its free base hangs on a spring"
    flags = mujoco.mjtDisableBit, mujoco.mjtEnableBit
    if any(model.opt.disableflags & getattr(flags[0], bit, 0) for bit in _OFF):
        yield "options of its file switch forces off"
    if any(model.opt.enableflags & getattr(flags[1], bit, 0) for bit in _ON):
        yield "options of its file change how the engine steps"

"""Contact between the robot and rigid surfaces and objects, as the engine reports it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco

from palpate.robot.robot import Robot
from palpate.world.config import World

POINT_NUMBERS = 13  # of one contact: found, force, position, normal, tangent
_MOST_POINTS = 8  # contacts of one geom with another that are told apart, the strongest; a sphere has one
_NEAREST, _STRONGEST, _SUM = 1, 2, 3  # which of several contacts, or how they become one
_WRENCH, _POINT = ("FORCE", "TORQUE", "POS"), ("FORCE", "POS", "NORMAL", "TANGENT")


@dataclass(frozen=True)
class RigidSensor:
    """One of the engine's contact sensors: where it writes in sensordata, and what.

    `side` is "robot" or "wrist" for the net wrench on all of the robot or on what lies beyond its wrist sensor, and
    "distance" for the robot's deepest penetration.
    """

    address: int
    side: str
    body: str  # of the robot: a root, or the wrist
    other: str  # geom that it touches


def add_contact_sensors(
    spec: mujoco.MjSpec, robot: Robot, world: World, touching: Sequence[str], rigid: Sequence[str]
) -> dict[str, tuple[str, str, str]]:
    """Let the engine report net wrenches and the deepest penetration: sensor names, side, body and other geom of each.

    The engine gives the wrench that its first partner does to the second, so the robot comes second. An object on a
    surface is no contact of the robot.

    Args:
        spec: the scene.
        robot: the nominal robot.
        world: what is around it.
        touching: the robot's geoms that touch.
        rigid: names of rigid surfaces.
    """
    model = robot.model
    roots = sorted({int(model.body_rootid[model.geom(name).bodyid[0]]) for name in touching})
    wrist = robot.frame(world.sensors.wrench.frame).body
    sides = {}
    for other in _others(world, rigid) if touching else ():
        for body, kind, wanted, reduce in [
            *((root, "robot", _WRENCH, _SUM) for root in roots),
            *((root, "distance", ("DIST",), _NEAREST) for root in roots),
            (wrist, "wrist", _WRENCH, _SUM),
        ]:
            name, partner = f"{kind} {body} {other}", (mujoco.mjtObj.mjOBJ_XBODY, model.body(body).name)
            _add(spec, name, other, partner, wanted, reduce)
            sides[name] = kind, partner[1], other
    return sides


def add_point_sensors(
    spec: mujoco.MjSpec, robot: Robot, world: World, touching: Sequence[str], rigid: Sequence[str]
) -> dict[str, tuple[str, int]]:
    """Let the engine report single contacts: names, the sensor of each, and how far behind its start they are."""
    made = {}
    for other in _others(world, rigid):
        for geom in touching:
            name = point_name(geom, other, len(touching))
            count = 1 if robot.model.geom(geom).type[0] == mujoco.mjtGeom.mjGEOM_SPHERE else _MOST_POINTS
            _add(spec, f"points {name}", other, (mujoco.mjtObj.mjOBJ_GEOM, geom), _POINT, _STRONGEST, count)
            for k in range(count):
                made[name if count == 1 else f"{name}-{k + 1}"] = f"points {name}", k * POINT_NUMBERS
    return made


def point_name(geom: str, other: str, geoms: int) -> str:
    """Name of a geom's contact with another: the other's, and the geom's before it where several touch."""
    thing = other.partition(" ")[2]
    return thing if geoms == 1 else f"{geom.replace(' ', '_')}-{thing}"


def _others(world: World, rigid: Sequence[str]) -> list[str]:
    """Geoms that the engine lets the robot touch."""
    return [f"surface {name}" for name in rigid] + [f"object {thing.name}" for thing in world.objects]


def _add(
    spec: mujoco.MjSpec,
    name: str,
    geom: str,
    partner: tuple[Any, str],
    wanted: Sequence[str],
    reduce: int,
    count: int = 1,
) -> None:
    """A contact sensor of a geom with a partner: which numbers, how several contacts become fewer, how many."""
    sensor = spec.add_sensor(
        name=name,
        type=mujoco.mjtSensor.mjSENS_CONTACT,
        objtype=mujoco.mjtObj.mjOBJ_GEOM,
        objname=geom,
        reftype=partner[0],
        refname=partner[1],
    )
    fields = [getattr(mujoco.mjtConDataField, f"mjCONDATA_{field}") for field in ("FOUND", *wanted)]
    sensor.intprm[:3] = [sum(1 << int(field) for field in fields), reduce, count]

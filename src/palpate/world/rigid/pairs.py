"""Which points of a robot meet which rigid surfaces, and where each of them is reported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.engine.physics import Physics
from palpate.robot.frames import frames_of
from palpate.world.config import World
from palpate.world.forces.contact import PointState, SurfaceState
from palpate.world.plants.contact_sensors import POINT_NUMBERS, point_name
from palpate.world.plants.plant import Plant, contact_geoms, point_of_geom, rigid_surfaces
from palpate.world.rigid.contact import RigidTouch, ShapeReadings
from palpate.world.surfaces.contact_points import ContactPoint, points_of_shapes

MOST_PAIRS = 12  # points times rigid surfaces that equations hold
WRENCH_NUMBERS, DISTANCE_NUMBERS = 10, 2  # of a reading


def obstacles_to_holding(plant: Plant, world: World) -> Iterator[str]:
    """Reasons why equations cannot hold a world's rigid surfaces, in plain words."""
    surfaces, robot = rigid_surfaces(world), plant.robot
    if not surfaces:
        return
    name = surfaces[0].name
    for geom in contact_geoms(robot, world):
        kind = robot.model.geom(geom).type[0]
        if kind != mujoco.mjtGeom.mjGEOM_SPHERE:
            shape = mujoco.mjtGeom(kind).name.removeprefix("mjGEOM_").lower()
            yield f"geom {geom!r}, a {shape}, meets the rigid surface {name!r}, where equations hold spheres only"
            return
    pairs = len(pairs_of(plant, world))
    if pairs > MOST_PAIRS:
        points = f"{pairs // len(surfaces)} points of the robot meet {len(surfaces)} rigid surface"
        yield f"{points}{'s' * (len(surfaces) > 1)}; equations hold {MOST_PAIRS} pairs"


def shape_meets_rigid(world: World) -> bool:
    """Whether contact shapes meet rigid surfaces, which the engine cannot hold."""
    return bool(world.contact_shapes and rigid_surfaces(world))


def pairs_of(plant: Plant, world: World) -> list[tuple[ContactPoint, str]]:
    """Points of the robot, spheres by geom and those of contact shapes, and the rigid surfaces that they can meet."""
    surfaces = rigid_surfaces(world)
    if not surfaces:
        return []
    points = [point_of_geom(plant.model, geom) for geom in contact_geoms(plant.robot, world)]
    points += points_of_shapes(plant.robot, world, frames_of(plant.model))
    return [(point, surface.name) for surface in surfaces for point in points]


def rigid_touches(
    plant: Plant,
    world: World,
    surfaces: Sequence[SurfaceState],
    felt: Collection[int],
    physics: Physics,
    shapes: ShapeReadings,
) -> list[RigidTouch]:
    """Every pair of a point and a rigid surface.

    Args:
        plant: the compiled scene.
        world: what the robot meets.
        surfaces: all surfaces as the loop has them.
        felt: bodies that the wrist sensor feels.
        physics: where the engine's contact sensors write.
        shapes: where contact shapes are reported.
    """
    states = dict(zip((surface.name for surface in plant.surfaces), surfaces))
    readings, touches = Readings(plant, world, physics, shapes), []
    for at, name in pairs_of(plant, world):
        same = {key: getattr(at, key) for key in ("body", "offset", "radius", "on_robot", "share")}
        point = PointState(felt=at.body in felt, **same)
        touches.append(RigidTouch(point=point, surface=states[name], **readings.of(at, name, felt=point.felt)))
    return touches


class Readings:
    """Where the engine's contact sensors write, and where contact shapes are reported."""

    def __init__(self, plant: Plant, world: World, physics: Physics, shapes: ShapeReadings) -> None:
        self._plant, self._data, self._shapes = plant, physics.sensordata, shapes
        self._geoms = contact_geoms(plant.robot, world)

    def of(self, point: ContactPoint, surface: str, *, felt: bool) -> dict[str, Array]:
        """Readings of a point on a surface, by the fields of `RigidTouch`; empty where there is none."""
        none = np.zeros(0)
        if point.group:
            own = self._shapes
            return {"on_robot": own.wrench, "deepest": own.depth, "on_wrist": own.felt if felt else none, "alone": none}
        model, other = self._plant.model, f"surface {surface}"
        root = model.body(int(model.body_rootid[point.body])).name
        alone = self._plant.rigid_points.get(point_name(point.name, other, len(self._geoms)))
        return {
            "on_robot": self._sensor("robot", root, other, WRENCH_NUMBERS),
            "deepest": self._sensor("distance", root, other, DISTANCE_NUMBERS),
            "on_wrist": self._sensor("wrist", None, other, WRENCH_NUMBERS) if felt else none,
            "alone": none if alone is None else self._data[alone : alone + POINT_NUMBERS],
        }

    def _sensor(self, side: str, body: str | None, other: str, size: int) -> Array:
        for sensor in self._plant.rigid_sensors:
            if sensor.side == side and sensor.other == other and body in (None, sensor.body):
                return self._data[sensor.address : sensor.address + size]
        return np.zeros(0)

"""Exact contact of a world: its surfaces, pins and the robot's joint stops as one hybrid system."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from palpate.checks import Array
from palpate.robot.robot import Robot
from palpate.spatial import quat_from_matrix
from palpate.tools.contact.motion.hybrid import HybridSystem
from palpate.tools.contact.touch.contacts import (
    Box,
    Contact,
    Cylinder,
    JointStop,
    Pin,
    Plane,
    Ride,
    Shape,
    Sphere,
    Touch,
)
from palpate.world.config import Surface, World
from palpate.world.plants.plant import ContactPoint, Plant, surface_rotation, touch_name, true_robot


def touches_of(plant: Plant, world: World) -> list[Contact | Pin]:
    """Every contact point of the robot with every surface, point by point, then the pins."""
    points, surfaces = [p for p in plant.points if p.on_robot], plant.surfaces
    contacts: list[Contact | Pin] = [_contact(plant, p, surface, len(points)) for p in points for surface in surfaces]
    return contacts + [Pin(frame=pin.frame, name=pin.name) for pin in world.pins]


def joint_stops(robot: Robot) -> list[JointStop]:
    """The ends of the joints' travels, without rebound."""
    if robot.nq != robot.nv:
        return []
    sides = (("lower", robot.limits.lower), ("upper", robot.limits.upper))
    return [
        JointStop(name, float(at[j]), side)  # pyright: ignore[reportArgumentType]
        for j, name in enumerate(robot.dof_names)
        for side, at in sides
        if np.isfinite(at[j])
    ]


def exact_system(plant: Plant, robot: Robot, world: World) -> HybridSystem:
    """The plant as a hybrid system: surfaces and pins first, then the joints' stops."""
    true, rules = true_robot(robot, world), world.exact
    contacts: list[Touch] = [*touches_of(plant, world), *joint_stops(true)]
    return HybridSystem(true, contacts, equations=True, **rules.model_dump())


def _contact(plant: Plant, point: ContactPoint, surface: Surface, points: int) -> Contact:
    return Contact(
        _SHAPES[surface.shape](surface.position, surface_rotation(surface), surface.size),
        frame=plant.model.body(point.body).name,
        offset=point.offset,
        radius=point.radius,
        law=surface.impact_law,
        **{name: getattr(surface, name) for name in ("friction", "static_friction", "restitution", "two_sided")},
        ride=None if surface.motion is None else Ride(**surface.motion.model_dump()),
        name=touch_name(point, surface, points),
    )


_SHAPES: dict[str, Callable[[Sequence[float], Array, Sequence[float]], Shape]] = {
    "plane": lambda position, axes, size: Plane(position, axes[:, 2]),
    "sphere": lambda position, axes, size: Sphere(position, size[0]),
    "cylinder": lambda position, axes, size: Cylinder(position, size[0], size[1], axes[:, 2]),
    "box": lambda position, axes, size: Box(position, size, quat_from_matrix(axes)),
}

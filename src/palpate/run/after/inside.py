"""Links that stand in a surface which they do not touch: only points, spheres and named links do."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.robot.catalogue import is_textbook
from palpate.run.assemble.assemble import Assembly
from palpate.world.config import Surface
from palpate.world.plants.distances import depths
from palpate.world.surfaces.contact_points import link_points

_NEAR = 0.25  # m about what touches: farther links are on the other side of an endless plane by intention
_DEEP = 5e-3  # m behind a surface, beyond what touches it
_NAMED = 3  # links that a sentence names


def links_inside(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A sentence for each surface in which links near the touching point are, at the start, the end or the peak."""
    run, plant = assembly.run, assembly.plant
    still = [surface for surface in plant.surfaces if surface.motion is None]
    if not still or assembly.exact is not None or "q" not in named or not len(named["q"]):
        return []
    if plant.model.nq != run.robot.nq or is_textbook(run.robot.name):  # a textbook's links are drawn as thick rods
        return []
    deepest: dict[str, dict[str, float]] = {surface.name: {} for surface in still}
    clouds, data = _clouds(assembly), mujoco.MjData(plant.model)
    for sample in _samples(named):
        data.qpos[:] = named["q"][sample]
        mujoco.mj_kinematics(plant.model, data)
        for surface in still:
            centre, touching = _touching(assembly, data, surface)
            for link, (body, points) in clouds.items():
                positions = data.xpos[body] + points @ data.xmat[body].reshape(3, 3).T
                positions = positions[np.linalg.norm(positions - centre, axis=1) < _NEAR]
                depth = float(depths(surface, positions, 0.0).max()) if len(positions) else 0.0
                if depth > max(touching, 0.0) + _DEEP:
                    deepest[surface.name][link] = max(depth, deepest[surface.name].get(link, 0.0))
    touches = plant.points[0].name if plant.points else "the tip"
    return [_sentence(name, links, touches) for name, links in deepest.items() if links]


def _sentence(surface: str, links: dict[str, float], touches: str) -> str:
    worst = sorted(links, key=lambda link: -links[link])
    listed = ", ".join(worst[:_NAMED]) + (" …" if len(worst) > _NAMED else "")
    return (
        f"{listed}: up to {1e3 * links[worst[0]]:.3g} mm inside {surface!r}, which only {touches!r} touches; let links"
        " touch it (world.contact_links), or move it"
    )


def _samples(named: Mapping[str, Array]) -> list[int]:
    last, force = len(named["q"]) - 1, named.get("contact_force")
    return sorted({0, last, *([] if force is None else [int(np.argmax(force))])})


def _clouds(assembly: Assembly) -> dict[str, tuple[int, Array]]:
    """The robot's moving links that touch nothing as a whole, each with its body and the points drawn of it."""
    model, robot, world = assembly.plant.model, assembly.run.robot, assembly.run.world
    clouds = {}
    for b in range(1, robot.model.nbody):
        link = robot.model.body(b).name
        body = model.body(link).id
        points = None if model.body_weldid[body] == 0 or link in world.contact_links else link_points(model, body)
        if points is not None:
            clouds[link] = body, points
    return clouds


def _touching(assembly: Assembly, data: mujoco.MjData, surface: Surface) -> tuple[Array, float]:
    """Where the surface is touched, or would be first, and how deep that is."""
    plant = assembly.plant
    tool = data.xpos[plant.tool.body] + data.xmat[plant.tool.body].reshape(3, 3) @ plant.tool.offset
    touching = [(tool, 0.0)]
    for point in plant.points:
        if point.on_robot:
            centre = data.xpos[point.body] + data.xmat[point.body].reshape(3, 3) @ point.offset
            touching.append((centre, float(depths(surface, centre[None], point.radius)[0])))
    return max(touching[1:] or touching, key=lambda item: item[1])

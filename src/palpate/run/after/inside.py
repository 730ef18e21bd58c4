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
_EXACT = ("plane", "box", "sphere", "cylinder")  # whose distance changes by no more than a point moves
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
    links, data = _links(assembly), mujoco.MjData(plant.model)
    clouds: dict[str, Array | None] = {}
    for sample in _samples(named):
        data.qpos[:] = named["q"][sample]
        mujoco.mj_kinematics(plant.model, data)
        for surface in still:
            centre, touching = _touching(assembly, data, surface)
            reaching = _reaching(plant.model, data, surface, centre, max(touching, 0.0) + _DEEP)
            for link, body in links.items():
                if body not in reaching:
                    continue
                points = clouds[link] = clouds[link] if link in clouds else link_points(plant.model, body)
                if points is None:
                    continue
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


def _links(assembly: Assembly) -> dict[str, int]:
    """The robot's moving links that touch nothing as a whole, each with its body."""
    model, robot, world = assembly.plant.model, assembly.run.robot, assembly.run.world
    bodies = {link: model.body(link).id for link in (robot.model.body(b).name for b in range(1, robot.model.nbody))}
    return {link: b for link, b in bodies.items() if model.body_weldid[b] != 0 and link not in world.contact_links}


def _reaching(model: mujoco.MjModel, data: mujoco.MjData, surface: Surface, centre: Array, deep: float) -> set[int]:
    """Bodies of which a point may be near the centre and deeper than `deep`, by the balls around their geoms."""
    balls = model.geom_rbound
    may = np.linalg.norm(data.geom_xpos - centre, axis=1) < balls + _NEAR
    if surface.shape in _EXACT:
        may[may] = depths(surface, data.geom_xpos[may], 0.0) + balls[may] > deep
    return set(model.geom_bodyid[may].tolist())


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

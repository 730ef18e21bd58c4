"""Whether a run touched anything, and how near it came where it did not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.spatial.shapes import SHAPES
from palpate.world.plants.plant import surface_rotation
from palpate.world.surfaces.forms import form_of

if TYPE_CHECKING:
    from palpate.run.assemble.assemble import Assembly

_LOOKS = 200  # samples of a run that are looked at


def contact_remarks(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A sentence where there was something to touch and it was never touched: the closest distance, and to what."""
    world, plant = assembly.run.world, assembly.plant
    if not world.surfaces or assembly.exact is not None or not {"contact_force", "q"} <= set(named):
        return []
    if not len(named["q"]) or np.any(named["contact_force"] > 0):  # a run that has not begun says nothing
        return []
    if _was_touched(assembly):
        every = assembly.run.record.stride
        return [f"a surface was touched, between two of the recorded samples: every {every}th step is recorded"]
    still = [surface for surface in plant.surfaces if surface.motion is None]
    points = [point for point in plant.points if point.on_robot]
    if not still or not points or plant.model.nq != assembly.run.robot.nq:
        return ["no surface was touched"]
    data, q = mujoco.MjData(plant.model), named["q"]
    forms = [(SHAPES[s.shape].distance, form_of(s), surface_rotation(s).T, np.array(s.position)) for s in still]
    distances = np.empty((min(len(q), _LOOKS), len(points), len(still)))
    for row, sample in enumerate(np.linspace(0, len(q) - 1, len(distances)).astype(int)):
        data.qpos[:] = q[sample]
        mujoco.mj_kinematics(plant.model, data)
        for k, point in enumerate(points):
            centre = data.xpos[point.body] + data.xmat[point.body].reshape(3, 3) @ point.offset
            for j, (distance, form, R, origin) in enumerate(forms):
                distances[row, k, j] = distance(form, R @ (centre - origin), np.zeros(3)) - point.radius
    _, k, j = np.unravel_index(np.argmin(distances), distances.shape)
    return [
        f"no surface was touched; the closest distance was {1e3 * distances.min():.3g} mm, from {points[k].name!r} to"
        f" {still[j].name!r}"
    ]


def _was_touched(assembly: Assembly) -> bool:
    """Whether the loop found the robot in a surface at any step, recorded or not."""
    L = assembly.loop
    return any(c.point.on_robot and c.looks for c in L.contacts) or any(reading.looks for reading in L.rigid)

"""Contact of a finished run: how it went, and how close an untouched surface was."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.run.after.observed.wrench_sensor import NOTICED
from palpate.run.assemble.assemble import Assembly
from palpate.world.plants.distances import depths

_MOST_SAMPLES = 200  # samples of a run that are searched for the closest distance
_LAST_SHARE = 1 / 3  # of the time since the first touch: what is judged
# It bounces from so many losses of contact on, and so large a share of that time without contact.
_MIN_LOSSES, _MIN_FREE_SHARE = 3, 0.02
_LEADS = ("target_position", "target_q", "target_wrench")


def contact_story(named: Mapping[str, Array]) -> tuple[list[str], list[str]]:
    """How the contact went, and a warning where it is lost again and again under a target that stands still."""
    force = named.get("contact_force")
    touched = np.flatnonzero(force > 0) if force is not None else np.zeros(0, dtype=int)
    if force is None or not len(touched):
        return [], []
    since = force.ravel()[touched[0] :] > 0
    text = f"in contact {100 * since.mean():.3g} % of the time since the first touch, lost {_times_lost(since)} times"
    last = since[-max(int(_LAST_SHARE * len(since)), 1) :]
    lost, free = _times_lost(last), 1.0 - last.mean()
    if lost < _MIN_LOSSES or free <= _MIN_FREE_SHARE or not _stands_still(named, len(last)):
        return [text], []
    span = float(named["time"][-1] - named["time"][-len(last)])
    return [text], [
        f"contact bounces: lost {lost} times in the last {span:.3g} s, {100 * free:.3g} % of this time without contact;"
        " more damping of the wall or law, less delay of the wrench, or a slower approach end it"
    ]


def _times_lost(touching: Array) -> int:
    """How often contact was lost."""
    return int(np.count_nonzero(touching[:-1] & ~touching[1:]))


def _stands_still(named: Mapping[str, Array], samples: int) -> bool:
    """Whether in the last `samples` nothing pushed and the target stood still: neither takes the tool away."""
    if not {*_LEADS, "push_wrench"} <= set(named) or named["push_wrench"][-samples:].any():
        return False
    return all(np.ptp(named[name][-samples:], axis=0).max(initial=0.0) <= NOTICED for name in _LEADS)


def contact_remarks(assembly: Assembly, named: Mapping[str, Array]) -> list[str]:
    """A sentence where there was something to touch and it was never touched: the closest distance, and to what."""
    world, plant = assembly.run.world, assembly.plant
    if not world.surfaces or assembly.exact is not None or not {"contact_force", "q"} <= set(named):
        return []
    if not len(named["q"]) or np.any(named["contact_force"] > 0):  # a run that has not begun says nothing
        return []
    L = assembly.loop
    # Whether the loop found the robot in a surface at any step, recorded or not.
    if any(c.point.on_robot and c.looks for c in L.contacts) or any(reading.looks for reading in L.rigid):
        every = assembly.run.record.stride
        return [f"a surface was touched, between two of the recorded samples: every {every}th step is recorded"]
    still = [surface for surface in plant.surfaces if surface.motion is None]
    points = [point for point in plant.points if point.on_robot]
    if not still or not points or plant.model.nq != assembly.run.robot.nq:
        return ["no surface was touched"]
    data, q = mujoco.MjData(plant.model), named["q"]
    samples = np.linspace(0, len(q) - 1, min(len(q), _MOST_SAMPLES)).astype(int)
    centres = np.empty((len(points), len(samples), 3))
    for row, sample in enumerate(samples):
        data.qpos[:] = q[sample]
        mujoco.mj_kinematics(plant.model, data)
        for k, point in enumerate(points):
            centres[k, row] = data.xpos[point.body] + data.xmat[point.body].reshape(3, 3) @ point.offset
    distances = {
        (point.name, surface.name): float(-depths(surface, centre, point.radius).max())
        for point, centre in zip(points, centres)
        for surface in still
    }
    (point, surface), closest = min(distances.items(), key=lambda item: item[1])
    return [f"no surface was touched; the closest distance was {1e3 * closest:.3g} mm, from {point!r} to {surface!r}"]

"""The same task in other people's engines, written by us as well as we can: what a competent user would write.

A Panda holds its tool with a spring and damper 4 cm behind a compliant wall, 1 kHz. Each peer module has a class with
`run(ticks) -> contact force at the end`, recording what palpate records.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array


@dataclass(frozen=True)
class PressingTask:
    """An arm pressing its tip on a wall x = `wall`, whose normal is −x.

    Attributes:
        model: the compiled world.
        body, offset: the tool frame.
        tip_body, tip_offset, tip_radius: the sphere that touches.
        q_start: posture at the start, also the posture to hold.
        position, quat_wxyz: the target of the tool.
        K, D: six each. posture: stiffness and damping in the null space.
        wall, stiffness, damping: of the wall.
        limit: joint torques.
        timestep: s.
    """

    model: mujoco.MjModel
    body: int
    offset: Array
    tip_body: int
    tip_offset: Array
    tip_radius: float
    q_start: Array
    position: Array
    quat_wxyz: Array
    K: Array
    D: Array
    posture: tuple[float, float]
    wall: float
    stiffness: float
    damping: float
    limit: Array
    timestep: float


class Record:
    """What palpate records of such a run, one array per channel."""

    def __init__(self, ticks: int, n: int) -> None:
        sizes = {"q": n, "v": n, "tau": n, "spring": n, "damper": n, "null_space": n, "bias": n}
        sizes |= {"position": 3, "quat_wxyz": 4, "twist": 6, "target": 7, "contact": 3, "depth": 1}
        self.arrays = {name: np.zeros((ticks, size)) for name, size in sizes.items()}

    def write(self, tick: int, **values: ArrayLike) -> None:
        """One row per channel."""
        for name, value in values.items():
            self.arrays[name][tick] = value

"""Named frames of a compiled model: its bodies and sites."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.robot.kernels import Place


@dataclass(frozen=True)
class Frame:
    """A frame fixed on a body: its place and axes there."""

    name: str
    body: int
    offset: Array
    turn: Array

    @cached_property
    def place(self) -> Place:
        """The frame as compiled code reads it."""
        return Place(body=self.body, offset=self.offset.copy(), turn=self.turn.copy())


def frames_of(model: mujoco.MjModel) -> dict[str, Frame]:
    """Every named body and site of a compiled model as a frame."""
    frames = {model.body(b).name: Frame(model.body(b).name, b, np.zeros(3), np.eye(3)) for b in range(model.nbody)}
    for s in range(model.nsite):
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.site_quat[s])
        name = model.site(s).name
        frames[name] = Frame(name, int(model.site_bodyid[s]), model.site_pos[s].copy(), turn.reshape(3, 3))
    frames.pop("", None)
    return frames


def default_tool(model: mujoco.MjModel) -> str:
    """A site named `tool`, or else the deepest body of the tree."""
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, "tool") >= 0:
        return "tool"
    depth = np.zeros(model.nbody, dtype=int)
    for b in range(1, model.nbody):
        depth[b] = depth[model.body_parentid[b]] + 1
    return model.body(int(np.argmax(depth))).name

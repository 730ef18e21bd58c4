"""What a controller asks of a model at one state, and where a thread works it out."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import mujoco

from palpate.checks import Array
from palpate.engine.physics import Physics
from palpate.robot.mechanics import kernels


@dataclass(frozen=True)
class Terms:
    """Everything a controller asks of a model at (q, v), for one frame E.

    Attributes:
        M: mass matrix, n×n.
        bias: C(q, v) v + g(q).
        gravity: g(q).
        position, rotation: pose of E in the world.
        J: geometric Jacobian 6×n, rows [linear; angular], world axes.
        drift: J̇ v.
    """

    M: Array
    bias: Array
    gravity: Array
    position: Array
    rotation: Array
    J: Array
    drift: Array


class Workspace(threading.local):
    """One thread's engine data and scratch: a Robot is shared between threads, its data never is."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.data = mujoco.MjData(model)
        self.physics = Physics.of(model, self.data)
        sizes = {"nv": model.nv}
        self.terms, self.coriolis = kernels.ModelTerms(sizes), kernels.CoriolisWork(sizes)

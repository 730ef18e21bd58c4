"""What a controller asks of a model at a state or at many, and where a thread works it out."""

from __future__ import annotations

import math
import threading
from typing import NamedTuple

import mujoco

from palpate.checks import Array
from palpate.engine.physics import Physics
from palpate.robot.joints.coupling import Coordinates
from palpate.robot.mechanics import kernels


class Terms(NamedTuple):
    """Everything a controller asks of a model at (q, v), for one frame E.

    Of N states (`Robot.terms_batch`) each has a first axis of length N.

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


def reduced_terms(full: kernels.ModelTerms, coordinates: Coordinates) -> Terms:
    """The engine's terms of all joints as those of the independent coordinates."""
    M, J = coordinates.reduce_matrix(full.M.copy()), coordinates.reduce_columns(full.J.copy())
    forces = coordinates.reduce_force(full.bias.copy()), coordinates.reduce_force(full.gravity.copy())
    return Terms(M, *forces, full.position.copy(), full.rotation.copy(), J, full.drift.copy())


class TermsLayout:
    """Where the terms of a state lie in one row of numbers, for a number of velocities.

    Attributes:
        shapes: of each of the terms.
        where: the part of a row that holds each.
        size: numbers in a row.
    """

    def __init__(self, nv: int) -> None:
        self.shapes = dict(zip(Terms._fields, ((nv, nv), (nv,), (nv,), (3,), (3, 3), (6, nv), (6,))))
        self.where: dict[str, slice] = {}
        self.size = 0
        for name, shape in self.shapes.items():
            end = self.size + math.prod(shape)
            self.where[name], self.size = slice(self.size, end), end

    def views(self, rows: Array) -> Terms:
        """The terms in rows of numbers, one row for each state."""
        return Terms(*(rows[:, self.where[name]].reshape(-1, *shape) for name, shape in self.shapes.items()))


class Workspace(threading.local):
    """One thread's engine data and scratch: a Robot is shared between threads, its data never is."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self.data = mujoco.MjData(model)
        self.physics = Physics.of(model, self.data)
        sizes = {"nv": model.nv}
        self.terms, self.coriolis = kernels.ModelTerms(sizes), kernels.CoriolisWork(sizes)

"""Joints of the plant that follow others exactly: the engine's soft equality, relieved of all its work.

A tie between two joints is C v̇ = v̇_f − s v̇_l = 0. The engine holds it by a stiff spring in the accelerations, which
gives a little. The force that this spring had to give is taken over as an applied force λ, and the accelerations are
found again: the method of multipliers. Each turn leaves a ten-thousandth of what the spring had to give, beside stops,
friction and contacts too, so that a few turns end at rounding. Followers' positions and velocities are then written
from their leaders'.
"""

from __future__ import annotations

import mujoco
import numpy as np

from palpate.engine.kernels import kernel
from palpate.engine.library import mju_copy
from palpate.engine.physics import Physics
from palpate.engine.records import Kept, Matrix, Record, Vector, sized
from palpate.engine.views import address_of
from palpate.errors import ModelError
from palpate.robot.joints.coupling import Coordinates, ties_of
from palpate.robot.robot import Robot

MOST_TURNS = 12
HARDEST = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp: the engine's stiffest equality
SOLVER_TOLERANCE = 1e-15


class Tie(Record):
    """One joint that follows another, by indices in the plant's velocities and coordinates."""

    follower: int
    follower_place: int
    near: int  # the joint it is tied to, −1: to nothing
    near_slope: float
    leader: int  # the independent joint at the end of the chain of ties, −1: none
    leader_place: int
    slope: float
    constant: float


class Ties(Record):
    """The plant's ties and the forces that hold them."""

    each: list[Tie]
    force: Kept[Vector] = sized("ties")  # λ
    given: Vector = sized("ties")  # what the engine's equalities still had to give


def hold_ties(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Make the equalities of a coupled robot's scene as hard as the engine has them, and its solver exact."""
    if not robot.coordinates.coupled:
        return
    for equality in spec.equalities:
        equality.solimp = HARDEST
    spec.option.tolerance = SOLVER_TOLERANCE


def plant_ties(model: mujoco.MjModel, robot: Robot) -> Ties:
    """The ties of a compiled scene; the robot's joints come first in it."""
    coordinates, ties = robot.coordinates, ties_of(robot.model)
    if not coordinates.coupled:
        return Ties({"ties": 0})
    if ties_of(model) != ties or int(model.eq_active0.sum()) != len(ties):
        raise ModelError(f"the scene around {robot.name} changes how its joints are tied")
    each = [_tie(robot.model, coordinates, f, near, slope) for f, (near, slope, _) in ties.items()]
    return Ties({"ties": len(each)}, each=each)


def _tie(model: mujoco.MjModel, c: Coordinates, joint: int, near: int, near_slope: float) -> Tie:
    follower, position_index = int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
    column = np.flatnonzero(c.map[follower])
    leads = len(column) > 0
    return Tie(
        follower=follower,
        follower_place=position_index,
        near=int(model.jnt_dofadr[near]) if near >= 0 else -1,
        near_slope=near_slope,
        leader=int(c.kept[column[0]]) if leads else -1,
        leader_place=int(c.position_of[c.kept[column[0]]]) if leads else -1,
        slope=float(c.map[follower, column[0]]) if leads else 0.0,
        constant=float(c.position_offset[position_index]),
    )


@kernel
def add_tie_forces(ties: Ties, applied: Vector) -> None:
    """applied += Cᵀ λ."""
    for k in range(len(ties.each)):
        tie = ties.each[k]
        applied[tie.follower] += ties.force[k]
        if tie.near >= 0:
            applied[tie.near] -= tie.near_slope * ties.force[k]


@kernel
def take_over(ties: Ties, p: Physics) -> bool:
    """Take the equalities' forces over; whether they had nothing left to give but rounding."""
    n, most, held = ties.given.size, 0.0, 0.0
    if n == 0:
        return True
    mju_copy(address_of(ties.given), p.efc_force, n)  # equalities come first, in the order of the model
    for k in range(n):
        ties.force[k] += ties.given[k]
        most = max(most, abs(ties.given[k]))
        held = max(held, abs(ties.force[k]))
    return most <= 1e-13 * held + 1e-15


@kernel
def fold(tie: Tie, M: Matrix, r: Vector) -> None:
    """Give a follower's row and column of M r to its leader and leave 1 and 0 behind."""
    f, to, s = tie.follower, tie.leader, tie.slope
    if to >= 0:
        for i in range(r.size):
            M[i, to] += s * M[i, f]
        for i in range(r.size):
            M[to, i] += s * M[f, i]
        r[to] += s * r[f]
    for i in range(r.size):
        M[f, i] = M[i, f] = 0.0
    M[f, f], r[f] = 1.0, 0.0


@kernel
def fold_columns(tie: Tie, J: Matrix, rows: int) -> None:
    """Give a follower's column of the first rows of J to its leader."""
    for r in range(rows):
        if tie.leader >= 0:
            J[r, tie.leader] += tie.slope * J[r, tie.follower]
        J[r, tie.follower] = 0.0


@kernel
def follow(ties: Ties, p: Physics) -> None:
    """Write followers' positions and velocities from their leaders'."""
    for k in range(len(ties.each)):
        tie = ties.each[k]
        p.qpos[tie.follower_place], p.qvel[tie.follower] = tie.constant, 0.0
        if tie.leader >= 0:
            p.qpos[tie.follower_place] += tie.slope * p.qpos[tie.leader_place]
            p.qvel[tie.follower] = tie.slope * p.qvel[tie.leader]

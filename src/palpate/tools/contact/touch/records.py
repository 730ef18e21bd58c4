"""The robot and its contacts as a kernel sees them: named records over Python's tables, and scratch arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from palpate.checks import Array
from palpate.engine.physics import Physics
from palpate.engine.records import (
    Cube,
    IntegerAt,
    IntegerMatrix,
    Integers,
    Matrix,
    RealAt,
    Record,
    Sized,
    Vector,
    sized,
)
from palpate.equations.code.tree_program import FrameTerms, TreeCode, TreePlace, TreeTerms
from palpate.robot.joints.coupled import CoupledModel

SURFACE, PIN, STOP, DRY = 0, 1, 2, 3  # DRY: the friction of a joint, a brake at a lever arm
COAST_TERMS = 4  # of the polynomial that carries a singular constraint's force
# Margins of a contact: gap or normal force; slip or friction; the face's edge; leverage on its normal.
NORMAL_MARGIN, SLIP_MARGIN, EDGE_MARGIN, LEVERAGE_MARGIN, MARGINS = 0, 1, 2, 3, 4


class Touching(Record):
    """One contact: what it is, then (from `mode` on) the state it is in. In Python a row of a table `CONTACT`."""

    kind: IntegerAt
    form: IntegerAt  # the shape's code
    body: IntegerAt
    offset: Vector = sized(3)  # of the point, in the body
    radius: RealAt
    lengths: Vector = sized(3)
    rotation: Matrix = sized(3, 3)  # the surface's axes as columns, world
    origin: Vector = sized(3)  # its position before it moves; where a pin holds its point
    outward: RealAt
    velocity: Vector = sized(3)
    start: RealAt
    stop: RealAt
    amplitude: Vector = sized(3)
    frequency: RealAt
    friction: RealAt
    hold: RealAt  # static friction
    two_sided: IntegerAt
    freedoms: IntegerAt  # tangential directions the point can move along: 0, 1 or 2
    plane: Vector = sized(3)  # normal of the plane the point moves in, where that is one
    directions: Matrix = sized(3, 3)  # of a pin, as rows; `freedoms` of them
    joint: IntegerAt  # of a stop: index in q
    dof: IntegerAt  # and in v; of a joint's friction too
    lever: RealAt  # m (1 for a slide): arm at which a joint's friction acts, so that its numbers are m/s and N as well
    grip: RealAt  # N: the largest force of a joint's friction, F/lever
    limit: RealAt  # position of the stop, rad or m
    direction: RealAt  # +1 for a lower stop, −1 for an upper
    mobility: RealAt  # typical size of J M⁻¹ Jᵀ, 1/kg: what "singular" is measured against
    mode: IntegerAt
    sign: RealAt  # of the slip along the one tangent
    side: RealAt  # of a two-sided contact's force
    slip: Vector = sized(3)  # direction in which a slip in two directions began
    feature: IntegerAt  # face, edge or corner in contact; −1 for the nearest
    moving: RealAt  # 1 while the steady ride is on
    coast: IntegerAt  # 1 while a singular constraint is carried through
    since: RealAt
    wedged: IntegerAt  # 1 while it rests wedged between others, under one of many forces: `anchor`
    anchor: Vector = sized(3)  # force when the modes were last found: where rows depend, forces stay nearest to it
    creep: IntegerAt  # 1 while a slow slip keeps the direction `slip`: see `accelerations.follow_creep`


class ContactState(Record):
    """Geometry and motion of one contact at a state. In Python a row of a table `CONTACT_STATE`."""

    gap: RealAt
    rate: RealAt
    point: Vector = sized(3)  # the point, or the ball's centre, world
    normal: Vector = sized(3)
    slide: Vector = sized(3)  # tangential velocity of the touching point over the surface; of a pin, all of it
    surface_velocity: Vector = sized(3)
    bend: RealAt  # g̈ = n·J a + bend
    drift: Vector = sized(3)  # u̇ = J a + drift
    tangents: Matrix = sized(2, 3)
    slip_direction: Vector = sized(3)
    across: Vector = sized(3)  # the tangent at right angles to it
    feature: IntegerAt
    force: Vector = sized(3)  # of the surface on the robot, world (a stop's: its torque in the first place)
    normal_force: RealAt
    friction_force: RealAt  # size of the tangential force
    margin: Vector = sized(4)  # one per margin; each falls through 0 where the mode ends


def _table(record: type[Record]) -> np.dtype:
    """The rows of a table that records of a class are laid over."""
    columns = []
    for field in record.fields.values():
        code = "i8" if field.kind.element == types.int64 else "f8"
        columns.append((field.name, code, field.default.shape if isinstance(field.default, Sized) else ()))
    return np.dtype(columns)


CONTACT, CONTACT_STATE = _table(Touching), _table(ContactState)


def rows_over(record: type[Record], table: Array) -> list[Any]:
    """One record per row of a table, with the table's own numbers."""
    scalar = {name for name, field in record.fields.items() if not field.kind.dimensions}
    return [
        record(**{name: table[name][i : i + 1] if name in scalar else table[name][i] for name in record.fields})
        for i in range(len(table))
    ]


class HeldRows(Record):
    """Results of the last evaluation for all held rows together."""

    determinant: float = 0.0  # of the friction problem, times its orientation; infinite without friction
    rank: int = 0
    rows: int = 0
    residual: float = 0.0  # how far held accelerations stay from what they must be
    orientation: float = 1.0


class Work(Record):
    """Scratch of one evaluation; what is worth reading afterwards: M, bias, Jc, acceleration, verdict."""

    q: Vector = sized("nq")
    v: Vector = sized("nv")
    zero: Vector = sized("NV")  # accelerations of all joints
    J: Matrix = sized(6, "nv")
    J_rate: Matrix = sized(6, "nv")
    point_drift: Vector = sized(6)
    point: Vector = sized(3)  # of the contact being looked at, world
    normal: Vector = sized(3)
    bend: Matrix = sized(3, 3)
    normal_rate: Vector = sized(3)  # of the normal: H w
    local: Vector = sized(3)
    M: Matrix = sized("nv", "nv")
    bias: Vector = sized("nv")  # C v + g + losses
    L: Matrix = sized("nv", "nv")  # Cholesky factor of M
    Jc: Cube = sized("contacts", 3, "nv")
    rows: Matrix = sized("rows", "nv")
    forcing: Matrix = sized("rows", "nv")  # C: what each multiplier does to the joints
    pushes: Matrix = sized("rows", 3)  # world direction of each multiplier's force
    owner: Integers = sized("rows")
    inverse: Matrix = sized("rows", "nv")  # M⁻¹ Cᵀ, as rows
    S: Matrix = sized("rows", "rows")
    LU: Matrix = sized("rows", "rows")
    V: Matrix = sized("rows", "rows")
    drift: Vector = sized("rows")
    multipliers: Vector = sized("rows")
    anchors: Vector = sized("rows")  # multipliers that the anchors of the contacts amount to
    acceleration: Vector = sized("nv")
    verdict: HeldRows
    pull: Cube = sized("contacts", COAST_TERMS, "nv")  # a coasting contact's generalised force, by powers of time


class RobotTree(Record):
    """The robot's equations, where its terms are taken from them, and the contacts' points on its links."""

    on: bool
    now: bool = False  # at the state being looked at: numbers that equations are made for
    code: TreeCode
    terms: TreeTerms  # M and bias lie in `Work`
    places: list[TreePlace]
    frame: FrameTerms  # of the contact being looked at


class Machine(Record):
    """The robot and its contacts as compiled code sees them."""

    handle: Physics
    tree: RobotTree
    coupled: CoupledModel
    lossy: int
    joints: IntegerMatrix  # kind, index in q, index in v
    contacts: list[Touching]
    states: list[ContactState]
    work: Work
    tau: Vector = sized("nv")  # every generalised force but the contacts'
    force: int = 0  # address of a function that writes tau, 0 where tau is held


class StepControl(Record):
    """A way from step to step in the present modes: how far, with which step, and what must not happen on it."""

    until: float = 0.0
    stride: float = 1e-3  # the step to try next
    longest: float = math.inf  # s: no step is longer
    flight: float = math.inf  # s: how long the shortest flight that an impact began will last; steps follow it closely
    steps: int = 0  # since `counted`, s: so many steps must bring the time on
    counted: float = 0.0
    weight: float  # N: forces are 0 to 1e-10 of this and of the pressures
    dependent: bool = False  # whether held directions are known to depend on each other
    lower: Vector  # of the coordinates
    upper: Vector
    margins: Vector = sized("margins")  # at the present state
    noise: Vector = sized("margins")  # how far from 0 each counts as 0
    armed: Integers = sized("margins")  # which have been clear of 0 since the modes last changed

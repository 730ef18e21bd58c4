"""Forces of feet that stand, in compiled code: see `palpate.control.laws.standing` for the equations.

Everything a tick writes stands in a `Footing`; nothing allocates.
"""

from __future__ import annotations

import math

import numpy as np

from palpate.control.solve.hierarchy import solve_stack
from palpate.control.solve.orthogonal import Factors, factor, solve_factored
from palpate.control.solve.stack import Stack, make_stack
from palpate.control.steps.frames import (
    BodyMotions,
    BodyTree,
    frame_pose,
    motion_of,
    move_tree,
    point_drift,
    point_jacobian,
    tree_of,
)
from palpate.control.steps.linear_algebra import times
from palpate.control.tick import Tick
from palpate.engine.kernels import kernel, put
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.engine.views import part
from palpate.robot.mechanics.kernels import FrameOnBody
from palpate.robot.robot import Robot

BASE = 6  # velocities of the free base, which no motor drives
PER_FOOT = 5  # limits on the force of a foot: its load, and the four sides of its friction pyramid
_DEPENDENT = 1e-14  # a row of the feet whose rest is shorter than this fraction of the longest counts as none


class Foot(Record):
    """A frame that stands on the ground: the radius of its sphere, and how its centre moves."""

    frame: FrameOnBody
    radius: float = 0.0
    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    J: Matrix = sized(6, "nv")
    drift: Vector = sized(6)


class Footing(Record):
    """Everything a tick writes; columns of the trunk's six directions stand as rows."""

    feet: list[Foot]
    tree: BodyTree
    motion: BodyMotions
    most: Vector = sized("motors")  # |τ| of every motor
    J: Matrix = sized("rows", "nv")  # of the trunk, then of the points under the feet
    drift: Vector = sized("rows")
    all_rows: Factors  # of J
    still: Vector = sized("nv")  # v̇ with trunk and feet unaccelerated
    moving: Matrix = sized(6, "nv")  # v̇ per acceleration of the trunk
    M_still: Vector = sized("nv")  # M v̇ + b of the first,
    M_moving: Matrix = sized(6, "nv")  # and M v̇ of the second
    base: Factors  # of the base's six rows of it
    wish: Vector = sized(6)
    B: Matrix = sized("forces", 6)  # a = Bᵀ f + c
    c: Vector = sized(6)
    t: Vector = sized("motors")  # τ = T f + t; T stands among the limits
    acceleration: Vector = sized(6)
    stack: Stack


def make_footing(robot: Robot, feet: tuple[str, ...], radii: list[float]) -> Footing:
    """The problem of a machine on these feet, its numbers not yet set."""
    n, forces, rows = robot.nv, 3 * len(feet), BASE + 3 * len(feet)
    motors, most = n - BASE, robot.limits.torque[BASE:].copy()
    stack = make_stack(forces, BASE, 1, PER_FOOT * len(feet) + motors)
    stack.starts[:] = 0, BASE
    stack.units[PER_FOOT * len(feet) :] = np.where(np.isfinite(most), most, 1.0)
    frames = [robot.frame(name) for name in feet]
    return Footing(
        {"rows": rows, "nv": n, "motors": motors, "forces": forces},
        feet=[Foot({"nv": n}, frame=frame.record, radius=radius) for frame, radius in zip(frames, radii)],
        tree=tree_of(robot, [frame.body for frame in frames]),
        motion=motion_of(robot),
        most=most,
        all_rows=Factors({"rows": rows, "columns": n}),
        base=Factors({"rows": BASE, "columns": BASE}),
        stack=stack,
    )


@kernel
def _update_feet(x: Tick, f: Footing) -> None:
    """J and J̇ v of the trunk and of the points under the feet, o = (0, 0, −r): J_p = J_v − [o]× J_ω."""
    move_tree(f.tree, x.q, x.v, f.motion)
    for i in range(6):
        put(f.J[i], 0, x.J[i])
        f.drift[i] = x.drift[i]
    for k in range(len(f.feet)):
        foot, row = f.feet[k], BASE + 3 * k
        frame_pose(f.motion, foot.frame, foot.position, foot.rotation)
        point_jacobian(f.tree, f.motion, foot.frame.body, foot.position, foot.J)
        point_drift(f.motion, foot.frame.body, foot.position, foot.drift)
        r, J, d = foot.radius, foot.J, foot.drift
        for j in range(x.v.size):
            f.J[row, j], f.J[row + 1, j], f.J[row + 2, j] = J[0, j] - r * J[4, j], J[1, j] + r * J[3, j], J[2, j]
        f.drift[row], f.drift[row + 1], f.drift[row + 2] = d[0] - r * d[4], d[1] + r * d[3], d[2]


@kernel
def _accelerations(f: Footing) -> None:
    """v̇ = still + movingᵀ a of feet at rest and a trunk that accelerates by a."""
    for i in range(f.J.shape[0]):
        put(f.all_rows.L[i], 0, f.J[i])
        f.drift[i] = -f.drift[i]
    factor(f.all_rows, _DEPENDENT)
    solve_factored(f.all_rows, f.drift, f.still)
    for k in range(6):
        for i in range(f.drift.size):
            f.drift[i] = 1.0 if i == k else 0.0
        solve_factored(f.all_rows, f.drift, f.moving[k])


@kernel
def _base_rows(x: Tick, f: Footing) -> bool:
    """a = Bᵀ f + c, from the rows of the base; False where they do not tell a."""
    times(x.M, f.still, f.M_still)
    for i in range(x.v.size):
        f.M_still[i] += x.bias[i]
    for k in range(6):
        times(x.M, f.moving[k], f.M_moving[k])
        for i in range(6):
            f.base.L[i, k] = f.M_moving[k, i]
    factor(f.base, _DEPENDENT)
    if f.base.rank < BASE:
        return False
    for i in range(6):
        f.wish[i] = -f.M_still[i]
    solve_factored(f.base, f.wish, f.c)
    for k in range(f.B.shape[0]):
        solve_factored(f.base, part(f.J[BASE + k], 0, BASE), f.B[k])
    return True


@kernel
def _limit(f: Footing, friction: float, least: float) -> None:
    """Load and friction of every foot, then every motor: −τ_max − t ≤ T f ≤ τ_max − t."""
    s, side = f.stack.search, friction / math.sqrt(2.0)
    for k in range(len(f.feet)):
        for i in range(PER_FOOT):
            row = PER_FOOT * k + i
            s.lower[row], s.upper[row] = (least, math.inf) if i == 0 else (-math.inf, 0.0)
            s.C[row, 3 * k + 2] = 1.0 if i == 0 else -side
            if i > 0:
                s.C[row, 3 * k + (i - 1) // 2] = 1.0 if i % 2 == 1 else -1.0
    first = PER_FOOT * len(f.feet)
    for i in range(f.most.size):
        joint, row = BASE + i, first + i
        f.t[i] = f.M_still[joint]
        for k in range(6):
            f.t[i] += f.M_moving[k, joint] * f.c[k]
        for j in range(f.B.shape[0]):
            s.C[row, j] = -f.J[BASE + j, joint]
            for k in range(6):
                s.C[row, j] += f.M_moving[k, joint] * f.B[j, k]
        s.lower[row], s.upper[row] = -f.most[i] - f.t[i], f.most[i] - f.t[i]


@kernel
def _answer(f: Footing, support: Vector, motion: Vector) -> bool:
    """The two parts of τ, and the trunk's acceleration; False where one is no number."""
    force, C, first = f.stack.search.x, f.stack.search.C, PER_FOOT * len(f.feet)
    for i in range(6):
        support[i] = motion[i] = 0.0
        f.acceleration[i] = f.c[i]
        for j in range(force.size):
            f.acceleration[i] += f.B[j, i] * force[j]
    for i in range(f.most.size):
        carried, total = 0.0, f.t[i]
        for j in range(force.size):
            carried -= f.J[BASE + j, BASE + i] * force[j]
            total += C[first + i, j] * force[j]
        support[BASE + i], motion[BASE + i] = carried, total - carried
        if not math.isfinite(total):
            return False
    return True


@kernel
def solve_stance(
    x: Tick, f: Footing, wanted: Vector, friction: float, least: float, support: Vector, motion: Vector
) -> tuple[float, bool]:
    """Torques of the forces in `f.stack.search.x`: (by how many units limits gave way, whether solved)."""
    _update_feet(x, f)
    _accelerations(f)
    if not _base_rows(x, f):
        return 0.0, False
    level = f.stack.level
    for i in range(6):
        level.b[i] = wanted[i] - f.c[i]
        for j in range(f.B.shape[0]):
            level.A[i, j] = f.B[j, i]
    _limit(f, friction, least)
    relaxed, failed = solve_stack(f.stack)
    return relaxed, _answer(f, support, motion) and failed == 0

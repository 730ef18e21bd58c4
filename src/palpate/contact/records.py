"""What a kernel sees of the robot and its contacts: named records and scratch arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from palpate.checks import Array

SURFACE, PIN, STOP = 0, 1, 2
# Margins of a contact: gap or normal force; slip or friction; the face's edge; leverage on its normal.
NORMAL_MARGIN, SLIP_MARGIN, EDGE_MARGIN, LEVERAGE_MARGIN, MARGINS = 0, 1, 2, 3, 4

# One contact: what it is, then (from `mode` on) the state it is in.
CONTACT = np.dtype(
    [
        ("kind", "i8"),
        ("form", "i8"),  # the shape's code
        ("body", "i8"),
        ("offset", "f8", 3),  # of the point, in the body
        ("radius", "f8"),
        ("lengths", "f8", 3),
        ("turn", "f8", (3, 3)),  # the surface's axes as columns, world
        ("home", "f8", 3),  # its place before it moves; where a pin holds its point
        ("outward", "f8"),
        ("velocity", "f8", 3),
        ("start", "f8"),
        ("stop", "f8"),
        ("amplitude", "f8", 3),
        ("frequency", "f8"),
        ("friction", "f8"),
        ("hold", "f8"),  # static friction
        ("two_sided", "i8"),
        ("freedoms", "i8"),  # tangential directions the point can move along: 0, 1 or 2
        ("plane", "f8", 3),  # normal of the plane the point moves in, where that is one
        ("directions", "f8", (3, 3)),  # of a pin, as rows; `freedoms` of them
        ("joint", "i8"),  # of a stop: place in q
        ("dof", "i8"),  # and in v
        ("at", "f8"),
        ("way", "f8"),  # +1 for a lower stop, −1 for an upper
        ("mobility", "f8"),  # typical size of J M⁻¹ Jᵀ, 1/kg: what "singular" is measured against
        ("mode", "i8"),
        ("sign", "f8"),  # of the slip along the one tangent
        ("side", "f8"),  # of a two-sided contact's force
        ("slip", "f8", 3),  # direction in which a slip in two directions began
        ("feature", "i8"),  # face, edge or corner in contact; −1 for the nearest
        ("moving", "f8"),  # 1 while the steady ride is on
        ("coast", "i8"),  # 1 while a singular constraint is carried through
        ("since", "f8"),
    ],
    align=True,
)

# What is found of one contact at a state.
FOUND = np.dtype(
    [
        ("gap", "f8"),
        ("rate", "f8"),
        ("point", "f8", 3),  # the point, or the ball's centre, world
        ("normal", "f8", 3),
        ("slide", "f8", 3),  # tangential velocity of the touching point over the surface; of a pin, all of it
        ("carry", "f8", 3),  # the surface's own velocity
        ("bend", "f8"),  # g̈ = n·J a + bend
        ("drift", "f8", 3),  # u̇ = J a + drift
        ("tangents", "f8", (2, 3)),
        ("heading", "f8", 3),  # direction of slip
        ("feature", "i8"),
        ("force", "f8", 3),  # of the surface on the robot, world (a stop's: its torque in the first place)
        ("pressure", "f8"),  # normal force
        ("grip", "f8"),  # size of the tangential force
        ("margin", "f8", 4),  # one per margin; each falls through 0 where the mode ends
    ],
    align=True,
)


# What the last evaluation found of the held rows together.
VERDICT = np.dtype(
    [
        ("determinant", "f8"),  # of the friction problem, times its orientation; infinite without friction
        ("rank", "i8"),
        ("rows", "i8"),
        ("residual", "f8"),  # how far held accelerations stay from what they must be
        ("orientation", "f8"),
    ],
    align=True,
)

# Records and structured arrays of the types above, in compiled code; three numbers, in an array or a tuple.
Row = Any
Rows = NDArray[np.void]
Triple = Any


class Machine(NamedTuple):
    """The robot as compiled code sees it."""

    handle: Any  # Physics
    coupled: int
    lossy: int
    nq: int
    map: Array
    offset: Array
    joints: Array  # kind, place in q, place in v
    eye: Array


class Work(NamedTuple):
    """Scratch of one evaluation; what is worth reading afterwards: M, rest, Jc, acceleration, verdict."""

    q: Array
    v: Array
    q_full: Array
    v_full: Array
    zero_full: Array
    M_full: Array
    rest_full: Array
    J: Array
    J_rate: Array
    J_own: Array
    six: Array
    place: Array
    axes: Array
    normal: Array
    bend: Array
    local: Array
    M: Array
    rest: Array  # C v + g + losses
    L: Array  # Cholesky factor of M
    Jc: Array  # contact × 3 × nv
    rows: Array
    columns: Array
    pushes: Array  # world direction of each multiplier's force
    owner: Array
    inverse: Array  # M⁻¹ Cᵀ, as rows
    S: Array
    LU: Array
    V: Array
    drift: Array
    multipliers: Array
    acceleration: Array
    verdict: Rows  # one record of VERDICT
    pull: Array  # contact × 4 × nv: a coasting contact's generalised force as a cubic in time


class Step(NamedTuple):
    """One Runge–Kutta step: its tables, stages, result and dense output."""

    A: Array
    B: Array
    C: Array
    E3: Array
    E5: Array
    D: Array
    A_extra: Array
    C_extra: Array
    tolerance: Array  # relative, absolute
    K: Array
    F: Array
    point: Array
    y: Array
    error: Array
    lowest: Array  # of each margin over the stages
    highest: Array
    span: Array  # start and length
    scratch: Array
    x: Array  # fractions of the step at which to look at the margins
    margins: Array


def make_step(size: int, margins: int, relative: float, absolute: float, samples: int = 10) -> Step:
    """Tables of SciPy's DOP853 and room for a state of `size` numbers."""
    from scipy.integrate import DOP853

    def table(name: str) -> Array:
        return np.ascontiguousarray(getattr(DOP853, name), dtype=np.float64)

    shapes = {"K": (16, size), "F": (7, size), "point": size, "y": size, "error": 1, "lowest": margins}
    shapes |= {"highest": margins, "span": 2, "scratch": size, "margins": (samples, margins)}
    tables = {name: table(name) for name in ("A", "B", "C", "E3", "E5", "D")}
    tables |= {"A_extra": table("A_EXTRA"), "C_extra": table("C_EXTRA")}
    room = {name: np.zeros(shape) for name, shape in shapes.items()}
    x = np.linspace(0.0, 1.0, samples + 1)[1:]
    return Step(tolerance=np.array([relative, absolute]), x=x, **tables, **room)


def make_work(nq: int, nv: int, full_q: int, full_v: int, contacts: int) -> Work:
    """Scratch for a robot of nq coordinates and nv velocities (mimicking joints: full_q, full_v)."""
    rows = max(3 * contacts, 1)
    z: Any = np.zeros
    return Work(
        q=z(nq), v=z(nv), q_full=z(full_q), v_full=z(full_v), zero_full=z(full_v),
        M_full=z((full_v, full_v)), rest_full=z(full_v),
        J=z((6, full_v)), J_rate=z((6, full_v)), J_own=z((6, nv)), six=z(6),
        place=z(3), axes=z((3, 3)), normal=z(3), bend=z((3, 3)), local=z(3),
        M=z((nv, nv)), rest=z(nv), L=z((nv, nv)), Jc=z((max(contacts, 1), 3, nv)),
        rows=z((rows, nv)), columns=z((rows, nv)), pushes=z((rows, 3)), owner=z(rows, dtype=np.int64),
        inverse=z((rows, nv)), S=z((rows, rows)), LU=z((rows, rows)), V=z((rows, rows)),
        drift=z(rows), multipliers=z(rows),
        acceleration=z(nv), verdict=z(1, dtype=VERDICT), pull=z((max(contacts, 1), 4, nv)),
    )  # fmt: skip

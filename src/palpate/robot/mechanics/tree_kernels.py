"""Terms of a robot at one state by its compiled equations."""

from __future__ import annotations

import math

from palpate.engine.compiling.programs import call_program
from palpate.engine.kernels import kernel
from palpate.engine.lanes import LIMIT
from palpate.engine.records import Matrix, ReadMatrix, ReadVector, Record, Vector, sized
from palpate.engine.views import address_of
from palpate.equations.code.tree_program import TreeCode, TreeMotion, TreePlace
from palpate.robot.mechanics.kernels import BAD_POSITION, BAD_QUATERNION, BAD_VELOCITY, OK, QUAT_TOLERANCE

TOO_FAR = 5  # a joint's position at which sine and cosine are not computed any more
NOT_POSITIVE = 6  # a mass matrix that cannot be solved with
BAD_SHAPE = 7  # a state of another length
STATUSES = 8
Addresses = tuple[int, int, int, int, int, int, int, int]
TermArrays = tuple[Matrix, Vector, Vector, Vector, Matrix, Matrix, Vector]


class StateWork(Record):
    """Sizes of a robot's state, and scratch of one thread."""

    nq: int
    nv: int
    motion: TreeMotion
    twist: Vector = sized(6)


@kernel
def write_terms(
    code: TreeCode, q: ReadVector, v: ReadVector, frame: TreePlace, motion: TreeMotion, out: Addresses
) -> None:
    """All terms of one state, or of the states in lanes, to addresses."""
    M, bias, gravity, position, rotation, J, drift, twist = out
    moving = address_of(motion.origin), address_of(motion.rotation)
    rates = address_of(motion.twist), address_of(motion.acceleration)
    k = address_of(code.k)
    call_program(code.terms, (k, address_of(q), address_of(v), M, bias, gravity, *moving, *rates))  # pyright: ignore[reportCallIssue]
    results = position, rotation, J, drift, twist
    call_program(code.frames[frame.link], (k, *moving, *rates, address_of(frame.pose), *results))  # pyright: ignore[reportCallIssue]


@kernel
def check_state(q: ReadVector, v: ReadVector, free: int) -> int:
    """Whether a state's terms can be computed; `free` is 7 for a machine with a free base, else 0."""
    for i in range(q.size):
        if not math.isfinite(q[i]):
            return BAD_POSITION
        if i >= free and abs(q[i]) >= LIMIT:
            return TOO_FAR
    if free > 0:
        square = q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6]
        if abs(math.sqrt(square) - 1.0) > QUAT_TOLERANCE:
            return BAD_QUATERNION
    for i in range(v.size):
        if not math.isfinite(v[i]):
            return BAD_VELOCITY
    return OK


@kernel
def tree_terms(code: TreeCode, q: ReadVector, v: ReadVector, frame: TreePlace, work: StateWork, out: TermArrays) -> int:
    """All terms of one state."""
    if q.size != work.nq or v.size != work.nv:
        return BAD_SHAPE
    status = check_state(q, v, 7 if q.size > v.size else 0)
    if status == OK:
        M, bias, gravity, position, rotation, J, drift = out
        first = address_of(M), address_of(bias), address_of(gravity), address_of(position)
        write_terms(code, q, v, frame, work.motion,
              (*first, address_of(rotation), address_of(J), address_of(drift), address_of(work.twist)))  # fmt: skip
    return status


@kernel
def tree_jacobians(
    code: TreeCode, Q: ReadMatrix, v: ReadVector, frame: TreePlace, work: StateWork, out: TermArrays, J: Vector
) -> None:
    """The Jacobian at every row of Q, one after another; what J holds stays where a row is no position.

    `v` is anything finite, `out` is scratch.
    """
    one = out[5]
    for k in range(Q.shape[0]):
        if tree_terms(code, Q[k], v, frame, work, out) == OK:
            for i in range(6):
                for j in range(work.nv):
                    J[(6 * k + i) * work.nv + j] = one[i, j]

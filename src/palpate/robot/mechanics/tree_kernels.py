"""Terms of a robot by its compiled equations: one state, or many at once in lanes.

A state's terms are one row of numbers (`terms.TermsLayout`). For lanes each number of the row is LANES doubles side by
side, until the states' rows are written out.
"""

from __future__ import annotations

import math

from palpate.engine.arithmetic.lane_rows import DOUBLES_IN_LINE, fetch_for_writing, rows_from_lanes
from palpate.engine.compiling.programs import call_program
from palpate.engine.kernels import kernel
from palpate.engine.lanes import LIMIT
from palpate.engine.records import Matrix, ReadMatrix, ReadVector, Record, Vector, sized
from palpate.engine.views import address_of, flat, part
from palpate.equations.code.tree_program import LANES, TreeCode, TreeMotion, TreePlace
from palpate.robot.mechanics.kernels import BAD_INPUT, BAD_POSITION, BAD_QUATERNION, BAD_VELOCITY, OK, QUAT_TOLERANCE

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


class LaneWork(Record):
    """Scratch of one thread: LANES states side by side; `first` and `last` tell which numbers of a row are wanted.

    A row holds the terms (`TermsLayout`), then the frame's twist. `solver` is `solve` of `tree_solver`, which takes
    `none` for what is added to the diagonal.
    """

    q: Vector = sized("q")
    v: Vector = sized("v")
    a: Vector = sized("v")
    row: Vector = sized("row")
    motion: TreeMotion
    first: int
    last: int
    solver: int
    none: Vector = sized("v")
    result: Vector = sized("v")
    pivots: Vector = sized("v")


@kernel
def _call(code: TreeCode, q: ReadVector, v: ReadVector, frame: TreePlace, motion: TreeMotion, out: Addresses) -> None:
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
        _call(code, q, v, frame, work.motion,
              (*first, address_of(rotation), address_of(J), address_of(drift), address_of(work.twist)))  # fmt: skip
    return status


# ---------------------------------------------------------------------------------------------- many states


@kernel
def _gather(rows: ReadMatrix, start: int, into: Vector) -> None:
    """LANES rows side by side; the last one again where there are fewer."""
    for lane in range(LANES):
        row = min(start + lane, rows.shape[0] - 1)
        for i in range(rows.shape[1]):
            into[i * LANES + lane] = rows[row, i]


@kernel
def _scatter(source: Vector, first: int, last: int, out: Matrix, start: int) -> None:
    """Numbers first … last of the lanes' rows, one row after the other; whole blocks through vector registers.

    The part of memory that comes next is fetched while its terms are computed.
    """
    width = last - first
    if width < LANES or start + LANES > out.shape[0]:
        for lane in range(min(LANES, out.shape[0] - start)):
            for i in range(width):
                out[start + lane, i] = source[(first + i) * LANES + lane]
        return
    rows, begin = flat(out), 0
    while begin < width:
        begin = min(begin, width - LANES)  # the last block overlaps the one before
        numbers = address_of(part(source, (first + begin) * LANES, LANES))
        block = address_of(part(rows, start * width + begin, LANES))
        rows_from_lanes(LANES, numbers, block, width)  # pyright: ignore[reportCallIssue]
        begin += LANES
    for i in range(LANES):
        following = part(rows, (start + LANES + i) * width, width)
        for k in range(0, width, DOUBLES_IN_LINE):
            fetch_for_writing(address_of(part(following, k, 1)))  # pyright: ignore[reportCallIssue]


@kernel
def _terms_in_lanes(code: TreeCode, Q: ReadMatrix, V: ReadMatrix, frame: TreePlace, work: LaneWork, start: int) -> int:
    """Terms of LANES states into `work.row`; a status and the state it is about, or 0."""
    nv = V.shape[1]
    for row in range(start, min(start + LANES, Q.shape[0])):
        status = check_state(Q[row], V[row], 7 if Q.shape[1] > nv else 0)
        if status != OK:
            return row * STATUSES + status
    _gather(Q, start, work.q)
    _gather(V, start, work.v)
    row, bias, position, drift = work.row, nv * nv * LANES, (nv * nv + 2 * nv) * LANES, work.row.size - 12 * LANES
    forces = address_of(row), address_of(part(row, bias, nv)), address_of(part(row, bias + nv * LANES, nv))
    pose = address_of(part(row, position, 3)), address_of(part(row, position + 3 * LANES, 9))
    jacobian_and_drift = address_of(part(row, position + 12 * LANES, nv)), address_of(part(row, drift, 6))
    twist = address_of(part(row, drift + 6 * LANES, 6))
    _call(code, work.q, work.v, frame, work.motion, (*forces, *pose, *jacobian_and_drift, twist))
    return OK


@kernel
def rows_of_terms(code: TreeCode, Q: ReadMatrix, V: ReadMatrix, frame: TreePlace, work: LaneWork, out: Matrix) -> int:
    """The wanted terms of every state, a row for each; a status and the state it is about, or 0."""
    for start in range(0, Q.shape[0], LANES):
        status = _terms_in_lanes(code, Q, V, frame, work, start)
        if status != OK:
            return status
        _scatter(work.row, work.first, work.last, out, start)
    return OK


@kernel
def _gather_input(A: ReadMatrix, start: int, into: Vector) -> int:
    for row in range(start, min(start + LANES, A.shape[0])):
        for i in range(A.shape[1]):
            if not math.isfinite(A[row, i]):
                return row * STATUSES + BAD_INPUT
    _gather(A, start, into)
    return OK


@kernel
def rows_of_torques(code: TreeCode, Q: ReadMatrix, V: ReadMatrix, A: ReadMatrix, frame: TreePlace, work: LaneWork,
                    out: Matrix) -> int:  # fmt: skip
    """τ = M a + C v + g of every state."""
    nv, row, a = V.shape[1], work.row, work.a
    for start in range(0, Q.shape[0], LANES):
        status = _terms_in_lanes(code, Q, V, frame, work, start)
        status = _gather_input(A, start, a) if status == OK else status
        if status != OK:
            return status
        for i in range(nv):
            bias = (nv * nv + i) * LANES
            for lane in range(LANES):
                total = row[bias + lane]
                for j in range(nv):
                    total += row[(i * nv + j) * LANES + lane] * a[j * LANES + lane]
                row[bias + lane] = total
        _scatter(row, nv * nv, nv * nv + nv, out, start)
    return OK


@kernel
def rows_of_accelerations(code: TreeCode, Q: ReadMatrix, V: ReadMatrix, T: ReadMatrix, frame: TreePlace,
                          work: LaneWork, out: Matrix) -> int:  # fmt: skip
    """v̇ = M⁻¹ (τ − C v − g) of every state."""
    nv, row, a = V.shape[1], work.row, work.a
    for start in range(0, Q.shape[0], LANES):
        status = _terms_in_lanes(code, Q, V, frame, work, start)
        status = _gather_input(T, start, a) if status == OK else status
        if status != OK:
            return status
        for i in range(nv * LANES):
            a[i] -= row[nv * nv * LANES + i]
        matrix, result, pivots = address_of(row), address_of(work.result), address_of(work.pivots)
        call_program(work.solver, (matrix, address_of(work.none), address_of(a), result, pivots))  # pyright: ignore[reportCallIssue]
        for i in range(nv * LANES):
            if not work.pivots[i] > 0.0:
                return min(start + i % LANES, Q.shape[0] - 1) * STATUSES + NOT_POSITIVE
        _scatter(work.result, 0, nv, out, start)
    return OK

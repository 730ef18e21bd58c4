"""Terms, torques and accelerations of many states by a robot's compiled equations, several states at once in lanes.

Each number of a state's row (`terms.TermsLayout`) is LANES doubles side by side, until the states' rows are written
out.
"""

from __future__ import annotations

import math

from palpate.engine.arithmetic.lane_rows import DOUBLES_IN_LINE, fetch_for_writing, rows_from_lanes
from palpate.engine.compiling.programs import call_program
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, ReadMatrix, Record, Vector, sized
from palpate.engine.views import address_of, flat, part
from palpate.equations.code.tree_program import LANES, TreeCode, TreeMotion, TreePlace
from palpate.robot.mechanics.kernels import BAD_INPUT, OK
from palpate.robot.mechanics.tree_kernels import NOT_POSITIVE, STATUSES, check_state, write_terms


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
    write_terms(code, work.q, work.v, frame, work.motion, (*forces, *pose, *jacobian_and_drift, twist))
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

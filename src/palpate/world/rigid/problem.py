"""Contacts, joint stops and joint friction of a step as one problem for the velocities at its end.

    M̂ v = b + Σ Jᵀ p                       M̂ = M + h D,   b = M v₀ + h (all other forces)

with impulses p of three kinds of rows, each with the relative velocity u = J v − aim of its row:

    contact    p_n ≥ 0, u_n ≥ 0, p_n u_n = 0;   |p_t| ≤ μ p_n, and p_t = −μ p_n u_t/|u_t| where it slides (Coulomb)
    stop       p ≥ 0, u + R p ≥ 0, one of them 0
    friction   |p| ≤ h F, p = −h F sign u where it slides

`aim` holds what is left of a gap (−gap/h, so that a step ends on the surface and not behind it) and the surface's own
velocity. Rows are eliminated to the impulses: u = u₀ + A p, A = J M̂⁻¹ Jᵀ = Y Yᵀ with Y = J L⁻ᵀ, M̂ = L Lᵀ.

Where joints stick beside contacts the impulses are not unique. Every row that holds is therefore given a compliance of
`YIELD` of its own mobility about the impulse of the step before: of all impulses that hold, those that change least.
What the rows yield is then taken away, so that velocities are those of rigid rows.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.records import Integers, Kept, Matrix, Record, Vector, sized

YIELD = 1e-10  # compliance of a row that holds, of its own mobility
SETTLED = 1e-12  # of the largest velocity: an error that is rounding
OPEN, STICKING, SLIDING = range(3)  # modes; −SLIDING: joint friction the other way
_LEAST_PIVOT = 1e-13  # of the mass matrix
_LEAST_MOBILITY = 1e-6  # of the largest of all rows
_ROUNDING = 4e-16
_STANDING = 1e-9  # of the largest velocity: a joint with friction that is slower stands


class VelocityProblem(Record):
    """The problem of one step. Sizes: N velocities, contacts, rows = 3 contacts + 2 N (stops and friction)."""

    M: Matrix = sized("N", "N")  # M̂, then its factor L; the lower half is read
    momentum: Vector = sized("N")  # b
    v: Vector = sized("N")
    contacts: int = 0  # that are near; three rows each come first: normal, then two tangents
    stops: int = 0  # that are reached; one row each
    rubs: int = 0  # joints with friction; one row each
    rows: int = 0
    J: Matrix = sized("rows", "N")  # of contacts
    aim: Vector = sized("rows")
    mu: Vector = sized("contacts")
    dof: Integers = sized("rows")  # of stops and friction: the velocity that it acts on,
    sign: Vector = sized("rows")  # and which way
    bound: Vector = sized("rows")  # h F
    R: Vector = sized("rows")
    anchor: Vector = sized("rows")  # impulses of the step before
    impulse: Vector = sized("rows")
    # scratch
    y: Vector = sized("N")
    Y: Matrix = sized("rows", "N")
    A: Matrix = sized("rows", "rows")
    u_free: Vector = sized("rows")
    u: Vector = sized("rows")
    own: Vector = sized("rows")  # mobility of each row by itself
    loose: Vector = sized("rows")  # compliance
    pace: Vector = sized("rows")  # ρ
    mode: Integers = sized("rows")
    speed: float = 0.0  # the largest of any row, without impulses and by friction alone
    slope: Vector = sized("contacts")  # κ
    way: Matrix = sized("contacts", 2)  # ẑ, unit
    active: Integers = sized("rows")  # rows with unknown impulses
    K: Matrix = sized("rows", "rows")
    right: Vector = sized("rows")
    x: Vector = sized("rows")
    before: Vector = sized("rows")
    now: Vector = sized("N")
    ahead: Vector = sized("N")
    du: Vector = sized("rows")
    shift: Vector = sized("contacts")
    H: Matrix = sized("N", "N")
    push: Vector = sized(3)
    stiff: Matrix = sized(3, 3)
    # how steps went
    turns: int = 0  # Newton steps taken in this one
    unsettled: Kept[int] = 0  # steps without an answer of Coulomb's law, which took the relaxed one


@kernel
def prepare(w: VelocityProblem) -> bool:
    """Factor M̂; Y, A and the velocities without impulses."""
    if not factor_lower(w.M, w.v.size, _LEAST_PIVOT):
        return False
    n, m = w.v.size, w.rows
    for i in range(n):
        w.y[i] = (w.momentum[i] - dot(w.M[i], w.y, i)) / w.M[i, i]
    most = 0.0
    for r in range(m):
        _spread(w, r)
        for s in range(r + 1):
            w.A[r, s] = w.A[s, r] = dot(w.Y[r], w.Y[s], n)
        w.u_free[r] = dot(w.Y[r], w.y, n) - w.aim[r]
        most = max(most, w.A[r, r])
    w.speed = 0.0
    for r in range(m):
        w.own[r] = max(w.A[r, r], _LEAST_MOBILITY * most)
        w.speed = max(w.speed, abs(w.u_free[r]) + w.own[r] * (abs(w.anchor[r]) + w.bound[r]))
    return True


@kernel
def factor_lower(M: Matrix, n: int, least: float) -> bool:
    """M = L Lᵀ in place, the lower half."""
    for i in range(n):
        row = M[i]
        for j in range(i):
            row[j] = (row[j] - dot(row, M[j], j)) / M[j, j]
        pivot = row[i] - dot(row, row, i)
        if not pivot > least:
            return False
        row[i] = math.sqrt(pivot)
    return True


@kernel
def _spread(w: VelocityProblem, r: int) -> None:
    """Y[r] = L⁻¹ J[r]ᵀ."""
    n, y, first = w.v.size, w.Y[r], 0
    if r < 3 * w.contacts:
        put(y, 0, w.J[r])
    else:
        clear(y)
        first = w.dof[r]
        y[first] = w.sign[r]
    for i in range(first, n):
        total = y[i]
        for k in range(first, i):
            total -= w.M[i, k] * y[k]
        y[i] = total / w.M[i, i]


@kernel
def loosen(w: VelocityProblem, share: float) -> None:
    """Give every row but stops a compliance of a share of its own mobility, and the steps of the conditions."""
    for r in range(w.rows):
        w.loose[r] = w.R[r] if w.R[r] > 0.0 else share * w.own[r]
        w.pace[r] = 1.0 / (w.own[r] + w.loose[r])
    for c in range(w.contacts):
        r = 3 * c + 1
        w.pace[r] = w.pace[r + 1] = 2.0 / (w.own[r] + w.own[r + 1] + w.loose[r] + w.loose[r + 1])


@kernel
def find_row_velocities(w: VelocityProblem) -> None:
    """u = u₀ + A p, and what the rows yield."""
    for r in range(w.rows):
        w.u[r] = w.u_free[r] + dot(w.A[r], w.impulse, w.rows) + w.loose[r] * (w.impulse[r] - w.anchor[r])


@kernel
def error_of(w: VelocityProblem) -> float:
    """How far the impulses are from all conditions, as a velocity: |p − P(p − ρ u)|/ρ of the worst row."""
    worst = 0.0
    for c in range(w.contacts):
        n = 3 * c
        worst = max(worst, abs(w.impulse[n] - max(w.impulse[n] - w.pace[n] * w.u[n], 0.0)) / w.pace[n])
        x, y = w.impulse[n + 1] - w.pace[n + 1] * w.u[n + 1], w.impulse[n + 2] - w.pace[n + 2] * w.u[n + 2]
        most, size = w.mu[c] * max(w.impulse[n], 0.0), math.sqrt(x * x + y * y)
        share = 1.0 if size <= most else most / size
        x, y = w.impulse[n + 1] - share * x, w.impulse[n + 2] - share * y
        worst = max(worst, math.sqrt(x * x + y * y) / w.pace[n + 1])
    for r in range(3 * w.contacts, w.rows):
        over, most = w.impulse[r] - w.pace[r] * w.u[r], w.bound[r]
        held = max(over, 0.0) if r < w.rows - w.rubs else min(max(over, -most), most)
        worst = max(worst, abs(w.impulse[r] - held) / w.pace[r])
    return worst


@kernel
def end_velocities(w: VelocityProblem) -> None:
    """v = L⁻ᵀ (y + Yᵀ p); exactly 0 where a joint sticks, and where what is left of the terms is their rounding."""
    n = w.v.size
    for i in range(n):
        w.v[i], w.now[i] = w.y[i], abs(w.y[i])
    for r in range(w.rows):
        if w.impulse[r] != 0.0:
            for i in range(n):
                w.v[i] += w.Y[r, i] * w.impulse[r]
                w.now[i] += abs(w.Y[r, i] * w.impulse[r])
    for i in range(n - 1, -1, -1):
        w.v[i], w.now[i] = w.v[i] / w.M[i, i], w.now[i] / w.M[i, i]
        for j in range(i):
            w.v[j] -= w.M[i, j] * w.v[i]
            w.now[j] += abs(w.M[i, j]) * w.now[i]
    for i in range(n):
        if abs(w.v[i]) <= _ROUNDING * w.now[i]:
            w.v[i] = 0.0
    for r in range(w.rows - w.rubs, w.rows):
        if w.mode[r] == STICKING or abs(w.v[w.dof[r]]) <= _STANDING * w.speed:
            w.v[w.dof[r]] = 0.0

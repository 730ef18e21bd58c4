"""Compiled: a state brought back onto what the modes of its contacts hold, by the least changes in the metric M.

A gap g is closed by q ← q − M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁺ g, in a few Newton steps; what the modes do not allow of the velocities,
u = A v, is taken off in the same way.
"""

from __future__ import annotations

from palpate.engine.kernels import clear, dot, kernel, put
from palpate.engine.library import mj_integratePos
from palpate.engine.records import Vector
from palpate.engine.views import address_of
from palpate.tools.contact.modes.accelerations import OK, entry_of_row, update_kinematics
from palpate.tools.contact.modes.linear_algebra import cholesky, cholesky_solve, least_norm
from palpate.tools.contact.touch.contacts import FREE, SLIDING, STICKING
from palpate.tools.contact.touch.records import DRY, PIN, Machine, Work

_ROUNDS = 3
_CLOSED = 1e-15  # m


@kernel
def project(machine: Machine, t: float, y: Vector) -> bool:
    """Bring y = [q; v] back; False where a singular constraint is carried through, or the state is none."""
    work, moved = machine.work, True
    for i in range(len(machine.contacts)):
        if machine.contacts[i].coast:
            return False
    for _ in range(_ROUNDS):
        if update_kinematics(machine, t, y, True) != OK:
            return False
        m = _gap_rows(machine)
        moved = _largest(work.drift, m) >= _CLOSED
        if not moved:
            break
        if not _least_change(machine, m) or not _move(machine, y):
            return False
    if moved and update_kinematics(machine, t, y, True) != OK:
        return False
    if not _least_change(machine, _velocity_rows(machine)):
        return False
    first = y.size - work.v.size
    for k in range(work.v.size):
        y[first + k] -= work.acceleration[k]
    for i in range(len(machine.contacts)):
        if machine.contacts[i].kind == DRY and machine.contacts[i].mode == STICKING:
            y[first + machine.contacts[i].dof] = 0.0
    return True


@kernel
def _move(machine: Machine, y: Vector) -> bool:
    """Move the coordinates of y back by work.acceleration."""
    work = machine.work
    if work.q.size == work.v.size:
        for k in range(work.q.size):
            y[k] -= work.acceleration[k]
        return True
    if machine.coupled.on:
        return False
    mj_integratePos(machine.handle.model, address_of(y), address_of(work.acceleration), -1.0)
    return True


@kernel
def _largest(values: Vector, m: int) -> float:
    largest = 0.0
    for a in range(m):
        largest = max(largest, abs(values[a]))
    return largest


@kernel
def _add(work: Work, m: int, number: int, direction: Vector, value: float) -> int:
    """Row m: a contact's motion along a direction, and how much of it is to be taken off."""
    for k in range(work.v.size):
        work.rows[m, k] = entry_of_row(work, number, direction, k)
    work.drift[m] = value
    return m + 1


@kernel
def _gap_rows(machine: Machine) -> int:
    """Rows of the gaps of all closed contacts; how many."""
    work, m = machine.work, 0
    for i in range(len(machine.contacts)):
        c, f = machine.contacts[i], machine.states[i]
        if c.kind == PIN:
            for k in range(c.freedoms):
                m = _add(work, m, i, c.directions[k], dot(c.directions[k], f.normal, 3))
        elif c.kind != DRY and c.mode != FREE:
            m = _add(work, m, i, f.normal, f.gap)
    return m


@kernel
def _velocity_rows(machine: Machine) -> int:
    """Rows of the velocities that no mode allows: how many."""
    work, m = machine.work, 0
    for i in range(len(machine.contacts)):
        c, f = machine.contacts[i], machine.states[i]
        if c.kind == PIN:
            for k in range(c.freedoms):
                m = _add(work, m, i, c.directions[k], dot(c.directions[k], f.slide, 3))
            continue
        if c.mode == FREE:
            continue
        if c.kind != DRY:
            m = _add(work, m, i, f.normal, f.rate)
        if c.creep:
            m = _add(work, m, i, f.across, dot(f.across, f.slide, 3))
        if c.mode != SLIDING:
            for k in range(c.freedoms):
                m = _add(work, m, i, f.tangents[k], dot(f.tangents[k], f.slide, 3))
    return m


@kernel
def _least_change(machine: Machine, m: int) -> bool:
    """work.acceleration = M⁻¹ Aᵀ (A M⁻¹ Aᵀ)⁺ work.drift, A the m rows."""
    work, scale = machine.work, 0.0
    if not cholesky(work.M, work.L):
        return False
    for i in range(len(machine.contacts)):
        scale = max(scale, machine.contacts[i].mobility)
    for a in range(m):
        put(work.inverse[a], 0, work.rows[a])
        cholesky_solve(work.L, work.inverse[a])
    for a in range(m):
        for b in range(m):
            work.LU[a, b] = dot(work.rows[a], work.inverse[b], work.v.size)
    least_norm(work.LU, work.V, work.drift, work.multipliers, m, scale)
    clear(work.acceleration)
    for a in range(m):
        for k in range(work.v.size):
            work.acceleration[k] += work.inverse[a, k] * work.multipliers[a]
    return True

"""What is written down at a step, and the events that end a run."""

from __future__ import annotations

import math

from numba.extending import register_jitable

from palpate.control.law import T_POSITION, T_QUAT, T_TWIST, T_WRENCH
from palpate.engine import (
    H_DATA,
    H_ENERGY,
    H_MODEL,
    H_NQ,
    H_NV,
    H_QPOS,
    H_QVEL,
    address_of,
    mj_energyPos,
    mj_mulM,
    put,
    vector,
)
from palpate.run.state import (
    E_COLUMN,
    E_KIND,
    E_VALUE,
    I_EVENT,
    I_GUARD,
    I_NQ,
    I_NV,
    I_RECORDED,
    R_COMMAND,
    R_CONTACT,
    R_DEPTH,
    R_ENERGY,
    R_FORCE,
    R_GUARD,
    R_MEASURED,
    R_POSITION,
    R_PUSH,
    R_Q,
    R_Q_MEASURED,
    R_QUAT,
    R_REST,
    R_SURFACES,
    R_TARGET_POSITION,
    R_TARGET_Q,
    R_TARGET_QUAT,
    R_TARGET_TWIST,
    R_TARGET_V,
    R_TARGET_WRENCH,
    R_TAU,
    R_TERMS,
    R_TWIST,
    R_V,
    R_V_MEASURED,
    X_CONTACT_WORK,
    X_DEPTH,
    X_DISSIPATED,
    X_INJECTED,
    X_PUSHED,
    X_STORED,
    X_TIME,
)
from palpate.spatial.kernels import quat_from_matrix


@register_jitable
def fill_row(L):
    """Everything that can be recorded, in one row."""
    row, at, n, nq = L.row, L.at, L.i[I_NV], L.i[I_NQ]
    N, NQ = L.plant[H_NV], L.plant[H_NQ]
    q, v = vector(L.plant[H_QPOS], NQ), vector(L.plant[H_QVEL], N)
    put(row, at[R_Q], q[:nq])
    put(row, at[R_V], v[:n])
    put(row, at[R_Q_MEASURED], L.q)
    put(row, at[R_V_MEASURED], L.v)
    put(row, at[R_TAU], L.tau)
    put(row, at[R_COMMAND], L.command)
    for k in range(L.terms.shape[0]):
        put(row, at[R_TERMS] + k * n, L.terms[k])
    put(row, at[R_POSITION], L.true_position)
    quat_from_matrix(L.true_rotation, row[at[R_QUAT] : at[R_QUAT] + 4])
    put(row, at[R_TWIST], L.true_twist)
    task = nq + 2 * n
    put(row, at[R_TARGET_Q], L.target[:nq])
    put(row, at[R_TARGET_V], L.target[nq : nq + n])
    for k in range(3):
        row[at[R_TARGET_POSITION] + k] = L.target[task + T_POSITION + k]
    for k in range(4):
        row[at[R_TARGET_QUAT] + k] = L.target[task + T_QUAT + k]
    for k in range(6):
        row[at[R_TARGET_TWIST] + k] = L.target[task + T_TWIST + k]
        row[at[R_TARGET_WRENCH] + k] = L.target[task + T_WRENCH + k]
        row[at[R_CONTACT] + k] = L.contact_wrench[k]
        row[at[R_MEASURED] + k] = L.wrench[k]
        row[at[R_PUSH] + k] = L.push_wrench[k]
    row[at[R_DEPTH]] = L.x[X_DEPTH]
    f = L.contact_wrench
    row[at[R_FORCE]] = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
    _fill_energies(L, row[at[R_ENERGY] : at[R_ENERGY] + 6], v)
    row[at[R_GUARD]] = L.i[I_GUARD]
    put(row, at[R_REST], q[nq:])
    for s in range(L.places.shape[0]):
        put(row, at[R_SURFACES] + 3 * s, L.places[s])


@register_jitable
def _fill_energies(L, out, v):
    mj_energyPos(L.plant[H_MODEL], L.plant[H_DATA])
    momentum = L.stages[0]
    mj_mulM(L.plant[H_MODEL], L.plant[H_DATA], address_of(momentum), address_of(v))
    kinetic = 0.0
    for k in range(v.size):
        kinetic += 0.5 * v[k] * momentum[k]
    out[0] = kinetic
    out[1] = vector(L.plant[H_ENERGY], 1)[0]
    out[2] = L.x[X_STORED]
    out[3] = L.x[X_INJECTED]
    out[4] = L.x[X_PUSHED]
    out[5] = L.x[X_DISSIPATED] + L.x[X_CONTACT_WORK] - L.x[X_STORED]


@register_jitable
def record(L):
    k = L.i[I_RECORDED]
    for c in range(L.columns.size):
        L.record[k, c] = L.row[L.columns[c]]
    L.times[k] = L.x[X_TIME]
    L.i[I_RECORDED] = k + 1


@register_jitable
def event_happened(L):
    for k in range(L.events.shape[0]):
        value, kind = L.row[int(L.events[k, E_COLUMN])], int(L.events[k, E_KIND])
        if kind == 2:
            value = abs(value)
        hit = value < L.events[k, E_VALUE] if kind == 1 else value > L.events[k, E_VALUE]
        if hit:
            L.i[I_EVENT] = k
            return True
    return False

"""What is written down at a step, and the events that end a run."""

from __future__ import annotations

import math

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.control.law import T_ACCELERATION, T_POSITION, T_WRENCH
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
    part,
    put,
    vector,
)
from palpate.run.state import (
    E_COLUMN,
    E_KIND,
    E_VALUE,
    I_ENERGIES,
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
    """Everything that can be recorded, in one row; what `in_row` names is there already."""
    row, at, n, nq, target = L.row, L.at, L.i[I_NV], L.i[I_NQ], L.target
    q, v = L.plant[H_QPOS], vector(L.plant[H_QVEL], L.plant[H_NV])
    put(row, at[R_Q], vector(q, nq))
    put(row, at[R_V], part(v, 0, n))
    quat_from_matrix(L.true_rotation, part(row, at[R_QUAT], 4))
    task = nq + 2 * n
    put(row, at[R_TARGET_Q], part(target, 0, nq + n))
    put(row, at[R_TARGET_POSITION], part(target, task + T_POSITION, T_ACCELERATION - T_POSITION))
    put(row, at[R_TARGET_WRENCH], part(target, task + T_WRENCH, 6))
    row[at[R_DEPTH]] = L.x[X_DEPTH]
    f = L.contact_wrench
    row[at[R_FORCE]] = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
    if L.i[I_ENERGIES]:
        _fill_energies(L, part(row, at[R_ENERGY], 6), v)
    row[at[R_GUARD]] = L.i[I_GUARD]
    rest = L.plant[H_NQ] - nq
    put(row, at[R_REST], vector(q + 8 * nq, rest))
    put(row, at[R_REST] + rest, part(v, n, v.size - n))


def in_row(row: Array, at: np.ndarray, nq: int, n: int, terms: int, surfaces: int) -> dict[str, Array]:
    """The loop's arrays that live in the row itself, so that recording them costs nothing."""

    def block(group: int, *shape: int) -> Array:
        return row[at[group] : at[group] + math.prod(shape)].reshape(shape)

    return {
        "q": block(R_Q_MEASURED, nq),
        "v": block(R_V_MEASURED, n),
        "tau": block(R_TAU, n),
        "command": block(R_COMMAND, n),
        "terms": block(R_TERMS, terms, n),
        "true_position": block(R_POSITION, 3),
        "true_twist": block(R_TWIST, 6),
        "contact_wrench": block(R_CONTACT, 6),
        "wrench": block(R_MEASURED, 6),
        "push_wrench": block(R_PUSH, 6),
        "places": block(R_SURFACES, surfaces, 3),
    }


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
    """Copy what was chosen of the row: runs of columns, each a start and a length."""
    k, place, runs, row = L.i[I_RECORDED], 0, L.runs, L.row
    kept = L.record[k]
    for r in range(0, runs.size, 2):
        put(kept, place, part(row, runs[r], runs[r + 1]))
        place += runs[r + 1]
    L.times[k] = L.x[X_TIME]
    L.i[I_RECORDED] = k + 1


@register_jitable
def event_happened(L):
    """Whether a column has left its bound; which event it was is kept."""
    for k in range(L.events.shape[0]):
        value, kind = L.row[int(L.events[k, E_COLUMN])], int(L.events[k, E_KIND])
        if kind == 2:
            value = abs(value)
        hit = value < L.events[k, E_VALUE] if kind == 1 else value > L.events[k, E_VALUE]
        if hit:
            L.i[I_EVENT] = k
            return True
    return False

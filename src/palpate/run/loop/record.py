"""Record of a step, and the events that end a run."""

from __future__ import annotations

import math

from palpate.engine.kernels import kernel, put
from palpate.engine.maths import atan2, hypot
from palpate.engine.records import Vector
from palpate.engine.views import copy_long, part
from palpate.run.loop.energies import fill_energies
from palpate.run.loop.measure import true_state
from palpate.run.loop.state import Loop
from palpate.spatial.kernels import quat_from_matrix
from palpate.world.sensing.sensors import look_at_pole

_HALF_TURN = 1e-9  # |w| of a half turn


@kernel
def fill_row(L: Loop) -> None:
    """Everything that can be recorded and is not in the row already (see `Row`)."""
    r, q, v = L.row, L.plant.qpos, L.plant.qvel
    if len(L.touches) > 0:  # an exact contact may have changed velocities since they were measured
        true_state(L)
    if L.orientation_is_kept:
        put(L.quat_wxyz, 0, r.tool_quat_wxyz)
        quat_from_matrix(L.tool_rotation, r.tool_quat_wxyz)
        _first_sign(L.quat_wxyz, r.tool_quat_wxyz)
        _keep_sign(L.quat_wxyz, r.tool_quat_wxyz)
    if L.target_is_kept:
        _fill_target(L)
    if len(L.pushes) > 0:
        put(r.push_wrench, 0, L.pushed.wrench)
    f = r.contact_wrench
    r.contact_force[0] = math.sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2])
    if L.energies:
        fill_energies(L)
    r.guard[0] = L.guard_bits
    offset = 0
    for k in range(len(L.shows)):
        put(r.law, offset, L.shows[k].source)
        offset += L.shows[k].source.size
    if r.pole_tilt.size > 0:
        look_at_pole(L.camera, L.plant, r.tool_position, r.tool_twist)
        put(r.pole_AB, 0, L.camera.AB)
        r.pole_tilt[0] = atan2(hypot(r.pole_AB[0], r.pole_AB[1]), r.pole_AB[2])
    put(r.rest_q, 0, part(q, q.size - r.rest_q.size, r.rest_q.size))
    put(r.rest_v, 0, part(v, v.size - r.rest_v.size, r.rest_v.size))


@kernel(inline=True)
def _fill_target(L: Loop) -> None:
    """Copy the target into the row."""
    r, target = L.row, L.tick.target
    put(r.target_q, 0, target.q)
    put(r.target_v, 0, target.v)
    put(r.target_position, 0, target.position)
    put(L.quat_wxyz, 0, r.target_quat_wxyz)
    put(r.target_quat_wxyz, 0, target.quat_wxyz)
    _keep_sign(L.quat_wxyz, r.target_quat_wxyz)
    put(r.target_twist, 0, target.twist)
    put(r.target_wrench, 0, target.wrench)


@kernel
def _first_sign(before: Vector, quat_wxyz: Vector) -> None:
    """Of a half turn's first quaternion, whose w is 0 but for rounding, take the one whose largest part is positive."""
    most = 0
    for i in range(4):
        if before[i] != 0.0 or abs(quat_wxyz[0]) > _HALF_TURN:
            return
        most = i if abs(quat_wxyz[i]) > abs(quat_wxyz[most]) + _HALF_TURN else most
    before[most] = 1.0


@kernel
def _keep_sign(before: Vector, quat_wxyz: Vector) -> None:
    """Of the two quaternions of a rotation take the one nearer to the last: a channel that does not jump."""
    along = 0.0
    for i in range(4):
        along += before[i] * quat_wxyz[i]
    for i in range(4):
        quat_wxyz[i] = -quat_wxyz[i] if along < 0.0 else quat_wxyz[i]


@kernel(inline=True)
def record(L: Loop) -> None:
    """Copy what was chosen of the row: runs of columns, each a start and a length."""
    if L.recorded >= L.times.size:  # nobody took the samples away
        return
    offset, kept = 0, L.record[L.recorded]
    for k in range(0, L.kept.size, 2):
        size = L.kept[k + 1]
        copy_long(part(kept, offset, size), part(L.row_numbers, L.kept[k], size))
        offset += size
    L.times[L.recorded] = L.step * L.dt
    L.recorded += 1


@kernel
def event_happened(L: Loop) -> bool:
    """Whether a column has left its bound; which event it was is kept."""
    for k in range(len(L.stop)):
        rule = L.stop[k]
        value = L.row_numbers[rule.column]
        if rule.magnitude:
            value = abs(value)
        if value < rule.bound if rule.below else value > rule.bound:
            L.stopped_by = k
            return True
    return False

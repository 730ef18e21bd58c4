"""Wrenches on the clock: pulses, ramps, sinusoids and impulses on any body."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.engine import H_CVEL, H_XMAT, matrix, part, vector
from palpate.robot.kernels import add_generalized_force
from palpate.world.config import Push
from palpate.world.contact import point_state
from palpate.world.plant import Plant

KINDS = {"pulse": 0, "ramp": 1, "sine": 2, "impulse": 3}
U_KIND, U_BODY, U_OFFSET, U_WRENCH, U_START, U_DURATION, U_FREQUENCY, U_LOCAL, U_ROBOT, U_TURN, U_FELT, U_WIDTH = (
    0, 1, 2, 5, 11, 12, 13, 14, 15, 16, 25, 26,
)  # fmt: skip


def push_table(
    plant: Plant, pushes: tuple[Push, ...], timestep: float, robot_bodies: Collection[int], felt: Collection[int]
) -> Array:
    """The pushes' numbers; an impulse becomes a force over one physics step.

    Args:
        plant: where the pushed frames are.
        pushes: what acts.
        timestep: physics step, s.
        robot_bodies: bodies of the robot.
        felt: bodies beyond the wrist sensor, which feels what acts on them.
    """
    table = np.zeros((len(pushes), U_WIDTH))
    for row, push in zip(table, pushes):
        frame = plant.tool if push.frame is None else plant.frame(push.frame)
        row[U_KIND], row[U_BODY] = KINDS[push.kind], frame.body
        row[U_OFFSET : U_OFFSET + 3] = frame.offset
        row[U_TURN : U_TURN + 9] = frame.turn.ravel()
        scale = 1.0 / timestep if push.kind == "impulse" else 1.0
        row[U_WRENCH : U_WRENCH + 6] = [scale * x for x in (*push.force, *push.torque)]
        row[U_START], row[U_DURATION] = push.start, timestep if push.kind == "impulse" else push.duration
        row[U_FREQUENCY], row[U_LOCAL] = push.frequency, push.axes == "frame"
        row[U_ROBOT], row[U_FELT] = frame.body in robot_bodies, frame.body in felt
    return table


@register_jitable
def push_share(row, step_start, dt, t):
    """How much of a push's wrench acts at t, between −1 and 1.

    A push acts during whole steps, those that begin in [start, start + duration); half a step of slack keeps a start
    on the clock's grid from being lost to rounding.
    """
    since = step_start - row[U_START] + 0.5 * dt
    if since < 0.0 or since >= row[U_DURATION]:
        return 0.0
    kind = int(row[U_KIND])
    if kind == 1:
        return (t - row[U_START]) / row[U_DURATION]
    if kind == 2:
        return math.sin(2.0 * math.pi * row[U_FREQUENCY] * (t - row[U_START]))
    return 1.0


@register_jitable
def apply_pushes(handle, table, step_start, dt, t, force, total, felt, tool_point, work):
    """Add every push at t to the generalised force and return their power.

    total collects those on the robot, felt those beyond the wrist sensor, as wrenches at tool_point.
    """
    power = 0.0
    p, v, f, n = part(work, 0, 3), part(work, 3, 3), part(work, 6, 3), part(work, 9, 3)
    for k in range(table.shape[0]):
        row = table[k]
        share = push_share(row, step_start, dt, t)
        if share == 0.0:
            continue
        body = int(row[U_BODY])
        point_state(handle, body, part(row, U_OFFSET, 3), p, v)
        _world_wrench(handle, row, share, body, f, n)
        add_generalized_force(handle, body, f, n, p, force)
        power += f[0] * v[0] + f[1] * v[1] + f[2] * v[2] + spin_power(handle, body, n)
        if row[U_ROBOT] > 0.5:
            add_wrench(total, f, n, p, tool_point)
        if row[U_FELT] > 0.5:
            add_wrench(felt, f, n, p, tool_point)
    return power


@register_jitable
def spin_power(handle, body, n):
    """n · ω of a body."""
    twist = vector(handle[H_CVEL] + 48 * body, 6)
    return n[0] * twist[0] + n[1] * twist[1] + n[2] * twist[2]


@register_jitable
def _world_wrench(handle, row, share, body, f, n):
    R = matrix(handle[H_XMAT] + 72 * body, 3, 3)
    for i in range(3):
        if row[U_LOCAL] < 0.5:
            f[i], n[i] = share * row[U_WRENCH + i], share * row[U_WRENCH + 3 + i]
            continue
        f[i] = n[i] = 0.0
        for j in range(3):
            axis = R[i, 0] * row[U_TURN + j] + R[i, 1] * row[U_TURN + 3 + j] + R[i, 2] * row[U_TURN + 6 + j]
            f[i] += share * axis * row[U_WRENCH + j]
            n[i] += share * axis * row[U_WRENCH + 3 + j]


@register_jitable
def add_force(total, f, p, about):
    """Add force f acting at p to a wrench about another point."""
    x, y, z = p[0] - about[0], p[1] - about[1], p[2] - about[2]
    total[0] += f[0]
    total[1] += f[1]
    total[2] += f[2]
    total[3] += y * f[2] - z * f[1]
    total[4] += z * f[0] - x * f[2]
    total[5] += x * f[1] - y * f[0]


@register_jitable
def add_wrench(total, f, n, p, about):
    """Add force f and moment n acting at p to a wrench about another point."""
    add_force(total, f, p, about)
    for i in range(3):
        total[3 + i] += n[i]

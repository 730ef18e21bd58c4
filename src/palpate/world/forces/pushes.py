"""Wrenches on the clock: pulses, ramps, sinusoids and impulses on any body."""

from __future__ import annotations

import math
from collections.abc import Collection

from palpate.engine.kernels import kernel
from palpate.engine.maths import sin
from palpate.engine.physics import Physics
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.engine.views import fold
from palpate.robot.mechanics.kernels import add_generalized_force
from palpate.world.config import Push
from palpate.world.plants.bodies import add_wrench, point_on_body, velocity_at
from palpate.world.plants.plant import Plant

_KINDS = ("pulse", "ramp", "sine", "impulse")
_RAMP, _SINE = _KINDS.index("ramp"), _KINDS.index("sine")


class PushState(Record):
    """A push in the loop: where, what, when, and the wrench [f; n] it does now."""

    kind: int
    body: int
    offset: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    wrench: Vector = sized(6)
    local: bool  # whether the wrench is in the axes of the frame
    start: float
    duration: float
    frequency: float
    on_robot: bool
    felt: bool
    position: Vector = sized(3)
    velocity: Vector = sized(3)
    force: Vector = sized(3)
    moment: Vector = sized(3)


class Pushed(Record):
    """Sum of all pushes: generalised forces, and wrenches about the tool's origin."""

    force: Vector = sized("N")  # generalised, of the whole scene
    wrench: Vector = sized(6)  # on the robot
    felt: Vector = sized(6)  # beyond the wrist sensor
    power: float = 0.0


def push_state(
    plant: Plant, push: Push, timestep: float, robot_bodies: Collection[int], felt: Collection[int]
) -> PushState:
    """A push for the loop; an impulse becomes a force over one physics step.

    Args:
        plant: where the pushed frames are.
        push: what acts.
        timestep: physics step, s.
        robot_bodies: bodies of the robot.
        felt: bodies beyond the wrist sensor, which feels what acts on them.
    """
    frame = plant.frame(push.frame)
    blow = push.kind == "impulse"
    scale = 1.0 / timestep if blow else 1.0
    return PushState(
        kind=_KINDS.index(push.kind),
        body=frame.body,
        offset=frame.offset.copy(),
        rotation=frame.rotation.copy(),
        wrench=[scale * x for x in (*push.force, *push.torque)],
        local=push.axes == "frame",
        start=push.start,
        duration=timestep if blow else push.duration,
        frequency=push.frequency,
        on_robot=frame.body in robot_bodies,
        felt=frame.body in felt,
    )


@kernel
def push_share(u: PushState, step_start: float, dt: float, t: float) -> float:
    """How much of a push's wrench acts at t, between −1 and 1.

    A push acts during whole steps, those that begin in [start, start + duration); half a step of slack keeps a start
    on the clock's grid from being lost to rounding.
    """
    since = step_start - u.start + 0.5 * dt
    if since < 0.0 or since >= u.duration:
        return 0.0
    if u.kind == _RAMP:
        return (t - u.start) / u.duration
    if u.kind == _SINE:
        return sin(2.0 * math.pi * u.frequency * (t - u.start))
    return 1.0


@kernel
def apply_push(p: Physics, u: PushState, share: float, tool_position: Vector, total: Pushed) -> None:
    """Add a push to what all of them do."""
    _world_wrench(p, u, share)
    f, n, v, twist = u.force, u.moment, u.velocity, p.cvel[u.body]
    point_on_body(p, u.body, u.offset, u.position)
    velocity_at(p, u.body, u.position, v)
    add_generalized_force(p, u.body, f, n, u.position, total.force)
    total.power += f[0] * v[0] + f[1] * v[1] + f[2] * v[2] + (n[0] * twist[0] + n[1] * twist[1] + n[2] * twist[2])
    if u.on_robot:
        add_wrench(total.wrench, f, n, u.position, tool_position)
    if u.felt:
        add_wrench(total.felt, f, n, u.position, tool_position)


@kernel
def _world_wrench(p: Physics, u: PushState, share: float) -> None:
    R, f, n = fold(p.xmat[u.body], 0, 3, 3), u.force, u.moment
    for i in range(3):
        if not u.local:
            f[i], n[i] = share * u.wrench[i], share * u.wrench[3 + i]
            continue
        f[i] = n[i] = 0.0
        for j in range(3):
            axis = R[i, 0] * u.rotation[0, j] + R[i, 1] * u.rotation[1, j] + R[i, 2] * u.rotation[2, j]
            f[i] += share * axis * u.wrench[j]
            n[i] += share * axis * u.wrench[3 + j]

"""Spheres of a robot on rigid surfaces: where they touch, their rows in the velocity problem, and what they report.

A contact is a row u_n = n·J v − n·u_s ≥ closing(gap) and two for its friction. A gap is closed within a step, so that
the step ends on the surface; what is left behind it by the curvature of the motion is pushed out again, slowly. Forces
are written where the engine's contact sensors have theirs, so that the readers of a run need not know who held it.
"""

from __future__ import annotations

import math

from palpate.engine.kernels import clear, kernel, put
from palpate.engine.physics import Physics
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.spatial.shapes import call_distance
from palpate.world.forces.contact import PointState, SurfaceState
from palpate.world.plants.bodies import point_on_body, velocity_at
from palpate.world.rigid.problem import VelocityProblem

CLOSED = 1e-9  # m: a smaller gap is none
LEFT_INSIDE = 1e-7  # m: as deep as a contact may stay
FASTEST_RECOVERY = 0.05  # m/s
_NOTICED = 1e-3  # of LEFT_INSIDE: less than that beyond it is left alone
_MOST_ACCELERATION = 300.0  # m/s²: a contact that this could close within a step is near
_FOUND, _FORCE, _MOMENT, _POSITION = 0, 1, 4, 7  # of a net wrench in the engine's reading
_POINT_POSITION, _POINT_NORMAL, _POINT_TANGENT = 4, 7, 10  # of a single contact


class ShapeReadings(Record):
    """Readings of contact shapes on rigid surfaces, in the form of the engine's contact sensors, which have none."""

    wrench: State[Vector] = sized(10)  # on the robot
    felt: State[Vector] = sized(10)  # beyond its wrist sensor
    depth: State[Vector] = sized(2)


class RigidTouch(Record):
    """One sphere of the robot against one rigid surface. Readings are empty where nobody asks for them."""

    point: PointState
    surface: SurfaceState
    on_robot: Vector  # reading of the net wrench on the robot,
    on_wrist: Vector  # on what lies beyond its wrist sensor,
    deepest: Vector  # of the deepest penetration,
    alone: Vector  # and of this contact
    force: Kept[Vector] = sized(3)  # of the last step, world axes
    position: Vector = sized(3)
    axes: Matrix = sized(3, 3)  # normal and two tangents
    gap: float = 0.0
    row: int = -1  # first of its three in the problem, −1 where it is not near
    local: Vector = sized(3)  # scratch
    velocity: Vector = sized(3)


@kernel
def closing(gap: float, dt: float) -> float:
    """The least normal velocity that a step may end with, m/s."""
    if gap > CLOSED:
        return -gap / dt
    beyond = -gap - LEFT_INSIDE
    return min(beyond / dt, FASTEST_RECOVERY) if beyond > _NOTICED * LEFT_INSIDE else 0.0


@kernel
def is_near(p: Physics, c: RigidTouch, dt: float) -> bool:
    """Whether a sphere could meet its surface within a step; then its position, axes and gap are those of now."""
    s, normal, position = c.surface, c.axes[0], c.position
    point_on_body(p, c.point.body, c.point.offset, position)
    for i in range(3):
        c.local[i] = 0.0
        for j in range(3):
            c.local[i] += s.axes[j, i] * (position[j] - s.position[j])
    c.gap = call_distance(s.distance, s.form, c.local, normal) - c.point.radius
    velocity_at(p, c.point.body, position, c.velocity)
    speed = 0.0
    for i in range(3):
        speed = max(speed, abs(c.velocity[i] - s.speed[i]))
    if c.gap > dt * (4.0 * speed + _MOST_ACCELERATION * dt):
        return False
    for i in range(3):
        c.local[i] = s.axes[i, 0] * normal[0] + s.axes[i, 1] * normal[1] + s.axes[i, 2] * normal[2]
    for i in range(3):
        normal[i] = c.local[i]
        position[i] -= normal[i] * c.point.radius
    _set_tangents(c.axes)
    return True


@kernel
def _set_tangents(axes: Matrix) -> None:
    """Two tangents of a normal: across the world's axis that it is least along."""
    n, k = axes[0], 0
    for i in range(1, 3):
        if abs(n[i]) < abs(n[k]):
            k = i
    size = math.sqrt(1.0 - n[k] * n[k])
    for i in range(3):
        axes[1, i] = ((1.0 if i == k else 0.0) - n[k] * n[i]) / size
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        axes[2, i] = n[a] * axes[1, b] - n[b] * axes[1, a]


@kernel
def add_contact_rows(p: Physics, c: RigidTouch, w: VelocityProblem, dt: float) -> None:
    """The three rows of a contact that is near, behind those that are there."""
    first = 3 * w.contacts
    c.row, w.mu[w.contacts] = first, c.surface.friction
    w.contacts += 1
    for i in range(3):
        along, anchor = 0.0, 0.0
        for k in range(3):
            along += c.axes[i, k] * c.surface.speed[k]
            anchor += c.axes[i, k] * c.force[k]
        w.aim[first + i], w.anchor[first + i], w.R[first + i] = along, dt * anchor, 0.0
        w.bound[first + i] = 0.0
        clear(w.J[first + i])
    w.aim[first] += closing(c.gap, dt)
    _set_jacobian(p, c, w.J)


@kernel
def _set_jacobian(p: Physics, c: RigidTouch, J: Matrix) -> None:
    """Velocity of the contact along its axes from the joints that carry it, whose axes are at the world's origin."""
    body, x, first = c.point.body, c.position, c.row
    while body > 0 and p.body_dofnum[body] == 0:
        body = p.body_parentid[body]
    i = p.body_dofadr[body] + p.body_dofnum[body] - 1 if body > 0 else -1
    while i >= 0:
        axis = p.cdof[i]
        vx = axis[3] + axis[1] * x[2] - axis[2] * x[1]
        vy = axis[4] + axis[2] * x[0] - axis[0] * x[2]
        vz = axis[5] + axis[0] * x[1] - axis[1] * x[0]
        for k in range(3):
            J[first + k, i] = c.axes[k, 0] * vx + c.axes[k, 1] * vy + c.axes[k, 2] * vz
        i = p.dof_parentid[i]


@kernel
def take_force(c: RigidTouch, w: VelocityProblem, dt: float, generalised: Vector) -> None:
    """The contact's force of the step, also as a generalised one, and what is reported of it."""
    for i in range(3):
        c.force[i] = 0.0
    if c.row < 0:
        return
    for k in range(3):
        size = w.impulse[c.row + k] / dt
        for i in range(3):
            c.force[i] += c.axes[k, i] * size
        if size != 0.0:
            for i in range(generalised.size):
                generalised[i] += w.J[c.row + k, i] * size
    if w.impulse[c.row] > 0.0:
        _report(c, w, dt)


@kernel
def forget_readings(c: RigidTouch) -> None:
    """No contact is reported."""
    clear(c.on_robot)
    clear(c.on_wrist)
    clear(c.deepest)
    clear(c.alone)


@kernel
def _report(c: RigidTouch, w: VelocityProblem, dt: float) -> None:
    """Add the force where the engine's sensors would have it."""
    _add_to_wrench(c.on_robot, c.force, c.position)
    _add_to_wrench(c.on_wrist, c.force, c.position)
    if c.deepest.size > 0:
        c.deepest[1] = c.gap if c.deepest[0] == 0.0 else min(c.deepest[1], c.gap)
        c.deepest[0] = 1.0
    if c.alone.size > 0:
        c.alone[_FOUND] = 1.0
        for k in range(3):
            c.alone[_FORCE + k] = w.impulse[c.row + k] / dt
        put(c.alone, _POINT_POSITION, c.position)
        put(c.alone, _POINT_NORMAL, c.axes[0])
        put(c.alone, _POINT_TANGENT, c.axes[1])


@kernel
def _add_to_wrench(reading: Vector, force: Vector, position: Vector) -> None:
    """Add a force to a net wrench about the position of its first contact."""
    if reading.size == 0:
        return
    if reading[_FOUND] == 0.0:
        put(reading, _POSITION, position)
        reading[_FOUND] = 1.0
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        reading[_FORCE + i] += force[i]
        reading[_MOMENT + i] += (position[a] - reading[_POSITION + a]) * force[b]
        reading[_MOMENT + i] -= (position[b] - reading[_POSITION + b]) * force[a]

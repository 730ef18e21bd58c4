"""Compliant contact between spheres on moving bodies and surfaces, in N/m and N·s/m.

Normal: f = k δ + d δ̇ (Kelvin–Voigt) or f = k δᵉ (1 + c δ̇) (Hunt–Crossley), clipped at 0: a surface never pulls.
Tangential: a spring k_t stretched by the slip s and a damper, together at most μ f; beyond that the spring's foot
slides along, so a contact holds below μ f and slides above it.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numba.extending import register_jitable

from palpate.checks import Array
from palpate.engine import (
    H_BODY_ROOT,
    H_CVEL,
    H_NBODY,
    H_SUBTREE_COM,
    H_XMAT,
    H_XPOS,
    clear,
    int_vector,
    matrix,
    part,
    vector,
)
from palpate.world.plant import SHAPES, Plant, surface_rotation

# Columns of the surface table.
S_SHAPE, S_SIZE, S_STIFFNESS, S_DAMPING, S_MODEL, S_DISSIPATION, S_EXPONENT = 0, 1, 4, 5, 6, 7, 8
S_FRICTION, S_K_T, S_D_T, S_COMPLIANT, S_START, S_STOP, S_VELOCITY, S_AMPLITUDE, S_FREQUENCY = (
    9, 10, 11, 12, 13, 14, 15, 18, 21,
)  # fmt: skip
S_HOME, S_WIDTH = 22, 25
# Columns of the contact-point table.
P_BODY, P_OFFSET, P_RADIUS, P_ROBOT, P_FELT, P_WIDTH = 0, 1, 4, 5, 6, 7
# Columns of a contact's result: force on the point, where, penetration, stored energy, power taken up by the contact,
# the friction spring's stretch, power brought in by the surface's own motion.
C_FORCE, C_POINT, C_DEPTH, C_STORED, C_POWER, C_SLIP_NEXT, C_DRIVE, C_WIDTH = 0, 3, 6, 7, 8, 9, 12, 13
_TAU = 2.0 * math.pi


def surface_table(plant: Plant) -> tuple[Array, Array]:
    """The surfaces' numbers, and their axes (n×3×3); motion is applied by `move_surfaces`."""
    table, axes = np.zeros((len(plant.surfaces), S_WIDTH)), np.zeros((len(plant.surfaces), 3, 3))
    for row, R, s in zip(table, axes, plant.surfaces):
        row[S_SHAPE] = SHAPES[s.shape]
        half = {"box": 0.5, "cylinder": 1.0, "sphere": 1.0, "plane": 1.0}[s.shape]
        row[S_SIZE : S_SIZE + len(s.size)] = [half * x for x in s.size]
        row[S_STIFFNESS], row[S_DAMPING] = s.stiffness, s.damping
        row[S_MODEL], row[S_DISSIPATION], row[S_EXPONENT] = s.model == "hunt-crossley", s.dissipation, s.exponent
        row[S_FRICTION] = s.friction
        row[S_K_T] = s.stiffness if s.tangential_stiffness is None else s.tangential_stiffness
        row[S_D_T] = s.damping if s.tangential_damping is None else s.tangential_damping
        row[S_COMPLIANT] = s.contact == "compliant"
        row[S_HOME : S_HOME + 3] = s.position
        if s.motion is not None:
            row[S_START], row[S_STOP], row[S_FREQUENCY] = s.motion.start, s.motion.stop, s.motion.frequency
            row[S_VELOCITY : S_VELOCITY + 3] = s.motion.velocity
            row[S_AMPLITUDE : S_AMPLITUDE + 3] = s.motion.amplitude
        R[:] = surface_rotation(s)
    return table, axes


def point_table(plant: Plant, felt: Collection[int]) -> Array:
    """The contact points' numbers; `felt` are the bodies whose contacts the wrist sensor feels."""
    table = np.zeros((len(plant.points), P_WIDTH))
    for row, point in zip(table, plant.points):
        row[P_BODY], row[P_RADIUS], row[P_ROBOT] = point.body, point.radius, point.on_robot
        row[P_OFFSET : P_OFFSET + 3], row[P_FELT] = point.offset, point.body in felt
    return table


@register_jitable
def move_surface(row, t, place, speed):
    """Place and velocity of a surface at time t."""
    held = min(max(t - row[S_START], 0.0), max(row[S_STOP] - row[S_START], 0.0))
    moving = 1.0 if row[S_START] <= t < row[S_STOP] else 0.0
    angle = _TAU * row[S_FREQUENCY] * t
    for i in range(3):
        steady, swing = row[S_VELOCITY + i], row[S_AMPLITUDE + i]
        place[i] = row[S_HOME + i] + steady * held + swing * math.sin(angle)
        speed[i] = steady * moving + swing * _TAU * row[S_FREQUENCY] * math.cos(angle)


@register_jitable
def point_state(handle, body, offset, p, v):
    """World position and velocity of a point fixed on a body."""
    x = vector(handle[H_XPOS] + 24 * body, 3)
    R = matrix(handle[H_XMAT] + 72 * body, 3, 3)
    for i in range(3):
        p[i] = x[i] + R[i, 0] * offset[0] + R[i, 1] * offset[1] + R[i, 2] * offset[2]
    velocity_at(handle, body, p, v)


@register_jitable
def velocity_at(handle, body, p, v):
    """World velocity of the body's material point at p, from MuJoCo's com-based velocity [ω; v]."""
    twist = vector(handle[H_CVEL] + 48 * body, 6)
    root = int_vector(handle[H_BODY_ROOT], handle[H_NBODY])[body]
    c = vector(handle[H_SUBTREE_COM] + 24 * root, 3)
    x, y, z = p[0] - c[0], p[1] - c[1], p[2] - c[2]
    v[0] = twist[3] + twist[1] * z - twist[2] * y
    v[1] = twist[4] + twist[2] * x - twist[0] * z
    v[2] = twist[5] + twist[0] * y - twist[1] * x


@register_jitable
def signed_distance(row, p, n):
    """Distance of p (surface axes) to the surface, negative inside; n becomes the outward normal there."""
    shape = int(row[S_SHAPE])
    n[0] = n[1] = n[2] = 0.0
    if shape == 0:
        n[2] = 1.0
        return p[2]
    if shape == 2:
        r = math.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2)
        if r == 0.0:
            n[2] = 1.0
        else:
            for i in range(3):
                n[i] = p[i] / r
        return r - row[S_SIZE]
    if shape == 1:
        return _box_distance(row, p, n)
    return _cylinder_distance(row, p, n)


@register_jitable
def _box_distance(row, p, n):
    outside, deepest, axis = 0.0, -math.inf, 0
    for i in range(3):
        gap = abs(p[i]) - row[S_SIZE + i]
        if gap > deepest:
            deepest, axis = gap, i
        if gap > 0.0:
            n[i] = math.copysign(gap, p[i])
            outside += gap * gap
    if outside > 0.0:
        distance = math.sqrt(outside)
        for i in range(3):
            n[i] /= distance
        return distance
    n[axis] = math.copysign(1.0, p[axis])
    return deepest


@register_jitable
def _cylinder_distance(row, p, n):
    r = math.sqrt(p[0] ** 2 + p[1] ** 2)
    radial, axial = r - row[S_SIZE], abs(p[2]) - 0.5 * row[S_SIZE + 1]
    ux, uy = (p[0] / r, p[1] / r) if r > 0.0 else (1.0, 0.0)
    up = math.copysign(1.0, p[2])
    if radial > 0.0 and axial > 0.0:
        distance = math.sqrt(radial**2 + axial**2)
        n[0], n[1], n[2] = ux * radial / distance, uy * radial / distance, up * axial / distance
        return distance
    if radial > axial:
        n[0], n[1] = ux, uy
        return radial
    n[2] = up
    return axial


@register_jitable
def normal_force(row, depth, rate):
    """f(δ, δ̇) ≥ 0."""
    if row[S_MODEL] > 0.5:
        force = row[S_STIFFNESS] * depth ** row[S_EXPONENT] * (1.0 + row[S_DISSIPATION] * rate)
    else:
        force = row[S_STIFFNESS] * depth + row[S_DAMPING] * rate
    return max(force, 0.0)


@register_jitable
def stored_energy(row, depth):
    """∫ of the elastic part of the normal force, J."""
    if row[S_MODEL] < 0.5:
        return 0.5 * row[S_STIFFNESS] * depth * depth
    exponent = row[S_EXPONENT]
    return row[S_STIFFNESS] * depth ** (exponent + 1.0) / (exponent + 1.0)


@register_jitable
def contact(handle, point, row, axes, place, speed, slip, elapsed, work, out):
    """One contact point against one surface.

    Args:
        point, row, axes: its tables' rows; place, speed: where the surface is and how it moves.
        slip: stretch of the friction spring when the step began, world axes; elapsed: time since then.
        work: scratch of at least 12.
        out: the result, see the C_ columns; all 0 where nothing touches.
    """
    p, v, local, n = part(work, 0, 3), part(work, 3, 3), part(work, 6, 3), part(work, 9, 3)
    clear(out)
    body = int(point[P_BODY])
    point_state(handle, body, part(point, P_OFFSET, 3), p, v)
    for i in range(3):
        local[i] = 0.0
        for j in range(3):
            local[i] += axes[j, i] * (p[j] - place[j])
    gap = signed_distance(row, local, n) - point[P_RADIUS]
    if gap >= 0.0:
        return False
    for i in range(3):
        local[i] = axes[i, 0] * n[0] + axes[i, 1] * n[1] + axes[i, 2] * n[2]
    for i in range(3):
        n[i] = local[i]
        p[i] -= n[i] * point[P_RADIUS]
    velocity_at(handle, body, p, v)
    _forces(row, -gap, n, p, v, speed, slip, elapsed, out)
    return True


@register_jitable
def _forces(row, depth, n, p, v, speed, slip, elapsed, out):
    along = 0.0
    for i in range(3):
        v[i] -= speed[i]
        along += v[i] * n[i]
    force = normal_force(row, depth, -along)
    limit, size = row[S_FRICTION] * force, 0.0
    stretch_normal = 0.0
    for i in range(3):
        stretch_normal += slip[i] * n[i]
    if limit > 0.0:
        for i in range(3):
            tangent = v[i] - along * n[i]
            stretch = slip[i] - stretch_normal * n[i] + tangent * elapsed
            out[C_SLIP_NEXT + i] = stretch
            out[C_FORCE + i] = -row[S_K_T] * stretch - row[S_D_T] * tangent
            size += out[C_FORCE + i] ** 2
        size = math.sqrt(size)
    if limit <= 0.0 or size > limit:
        shrink = limit / size if limit > 0.0 else 0.0
        for i in range(3):
            out[C_FORCE + i] *= shrink
            # Sliding: the spring's foot follows, so that the spring alone carries the friction.
            out[C_SLIP_NEXT + i] = -out[C_FORCE + i] / row[S_K_T]
    stored = stored_energy(row, depth)
    for i in range(3):
        out[C_FORCE + i] += n[i] * force
        out[C_POINT + i] = p[i]
        stored += 0.5 * row[S_K_T] * out[C_SLIP_NEXT + i] ** 2
        out[C_POWER] -= out[C_FORCE + i] * v[i]
        out[C_DRIVE] += out[C_FORCE + i] * speed[i]
    out[C_DEPTH], out[C_STORED] = depth, stored

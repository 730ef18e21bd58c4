"""Compliant contact between spheres on moving bodies and surfaces, in N/m and N·s/m.

Normal: f = k δ + d δ̇ (Kelvin–Voigt) or f = k δᵉ (1 + c δ̇) (Hunt–Crossley), clipped at 0: a surface never pulls.
Tangential: a spring k_t stretched by the slip s and a damper, together at most μ f; beyond that the spring's foot
slides along, so a contact holds below μ f and slides above it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from itertools import product
from typing import Any

from palpate.engine.kernels import clear, kernel
from palpate.engine.maths import power, sin_cos
from palpate.engine.physics import Physics
from palpate.engine.records import Kept, Matrix, Record, State, Vector, sized
from palpate.spatial.shapes import SHAPES, call_distance
from palpate.world.config import Motion, Surface
from palpate.world.plants.bodies import point_on_body, velocity_at
from palpate.world.plants.plant import Plant, surface_rotation, touch_name
from palpate.world.surfaces.forms import form_of


class SurfaceState(Record):
    """A surface in the loop: what it is, and where it is now."""

    distance: int  # address of its shape's distance
    form: Vector  # what that takes: sizes, or a whole height field or mesh
    compliant: bool
    stiffness: float
    damping: float
    hunt_crossley: bool
    dissipation: float
    exponent: float
    friction: float
    tangential_stiffness: float
    tangential_damping: float
    home: Vector = sized(3)
    start: float
    stop: float
    velocity: Vector = sized(3)
    amplitude: Vector = sized(3)
    frequency: float
    mocap: int  # its index among the engine's moved bodies, −1 if it stands still
    axes: Matrix = sized(3, 3)
    position: Vector = sized(3)
    speed: Vector = sized(3)


class PointState(Record):
    """A sphere that can touch: on which body, where there, and who feels it."""

    body: int
    offset: Vector = sized(3)
    radius: float
    on_robot: bool
    felt: bool
    share: float  # of the surface's stiffness and damping


class PointContact(Record):
    """One point against one surface: what the surface does to the point now; all 0 where they do not touch."""

    point: PointState
    surface: SurfaceState
    slip: State[Vector] = sized(3)  # stretch of the friction spring when the step began, world axes
    slip_next: Vector = sized(3)  # and when it ends
    force: Vector = sized(3)
    position: Vector = sized(3)
    normal: Vector = sized(3)
    depth: float = 0.0
    looks: Kept[int] = 0  # that found it touching, one for each physics step or stage of one
    stored: float = 0.0  # J
    lost: float = 0.0  # W, by its own formula: dampers, and the sliding foot of the friction spring
    drive: float = 0.0  # W, brought in by the surface's own motion
    velocity: Vector = sized(3)  # scratch
    local: Vector = sized(3)  # scratch


def surface_state(surface: Surface, mocap: int, position: Vector) -> SurfaceState:
    """A surface for the loop; `position` is where its position is written."""
    motion = surface.motion or Motion(stop=0.0)
    return SurfaceState(
        **surface_numbers(surface),
        **{name: getattr(motion, name) for name in Motion.model_fields},
        distance=SHAPES[surface.shape].distance.pointer,
        form=form_of(surface),
        mocap=mocap,
        position=position,
    )


def surface_numbers(surface: Surface) -> dict[str, Any]:
    """Numbers of a surface's state that follow from its pose, stiffness and friction settings."""
    k_t, d_t = surface.tangential_stiffness, surface.tangential_damping
    same = ("stiffness", "damping", "dissipation", "exponent", "friction")
    return {name: getattr(surface, name) for name in same} | {
        "compliant": surface.contact == "compliant",
        "hunt_crossley": surface.model == "hunt-crossley",
        "tangential_stiffness": surface.stiffness if k_t is None else k_t,
        "tangential_damping": surface.damping if d_t is None else d_t,
        "home": surface.position,
        "axes": surface_rotation(surface),
    }


def contact_pairs(
    plant: Plant, surfaces: list[SurfaceState], felt: Collection[int], shown: Iterable[tuple[Vector, Vector]] = ()
) -> list[PointContact]:
    """Every contact point with every surface, point by point; `felt` are the bodies that the wrist sensor feels.

    `shown` is where those of `compliant_names` write force and position, if they are recorded.
    """
    same = ("body", "offset", "radius", "on_robot", "share")
    points = [PointState(felt=p.body in felt, **{name: getattr(p, name) for name in same}) for p in plant.points]
    pairs, rows = [], iter(shown)
    for point, surface in product(points, surfaces):
        row = next(rows, None) if point.on_robot and surface.compliant else None
        recorded = {} if row is None else {"force": row[0], "position": row[1]}
        pairs.append(PointContact(point=point, surface=surface, **recorded))
    return pairs


def compliant_names(plant: Plant) -> list[str]:
    """Names of the robot's compliant contacts, point by point."""
    points, surfaces = [p for p in plant.points if p.on_robot], [s for s in plant.surfaces if s.contact == "compliant"]
    return [touch_name(point, surface, len(points)) for point, surface in product(points, surfaces)]


@kernel
def move_surface(s: SurfaceState, t: float) -> None:
    """Position and velocity of a surface at time t."""
    held = min(max(t - s.start, 0.0), max(s.stop - s.start, 0.0))
    moving = 1.0 if s.start <= t < s.stop else 0.0
    rate = 2.0 * math.pi * s.frequency
    sine, cosine = sin_cos(rate * t) if rate > 0.0 else (0.0, 1.0)
    for i in range(3):
        s.position[i] = s.home[i] + s.velocity[i] * held + s.amplitude[i] * sine
        s.speed[i] = s.velocity[i] * moving + s.amplitude[i] * rate * cosine


@kernel
def elastic_force(s: SurfaceState, depth: float) -> float:
    """k δ, or k δᵉ of Hunt–Crossley."""
    return s.stiffness * power(depth, s.exponent) if s.hunt_crossley else s.stiffness * depth


@kernel
def normal_force(s: SurfaceState, depth: float, rate: float) -> float:
    """f(δ, δ̇) ≥ 0."""
    elastic = elastic_force(s, depth)
    return max(elastic * (1.0 + s.dissipation * rate) if s.hunt_crossley else elastic + s.damping * rate, 0.0)


@kernel
def stored_energy(s: SurfaceState, depth: float) -> float:
    """∫ of the elastic part of the normal force, J."""
    if not s.hunt_crossley:
        return 0.5 * s.stiffness * depth * depth
    return s.stiffness * power(depth, s.exponent + 1.0) / (s.exponent + 1.0)


@kernel
def find_contact(p: Physics, c: PointContact, elapsed: float) -> bool:
    """Whether the point is in the surface, and with what force that pushes back.

    elapsed: time since the step began, when the friction spring was stretched by `slip`.
    """
    s, position, normal, local = c.surface, c.position, c.normal, c.local
    clear(c.force)
    clear(c.slip_next)
    c.depth = c.stored = c.lost = c.drive = 0.0
    point_on_body(p, c.point.body, c.point.offset, position)
    for i in range(3):
        local[i] = 0.0
        for j in range(3):
            local[i] += s.axes[j, i] * (position[j] - s.position[j])
    gap = call_distance(s.distance, s.form, local, normal) - c.point.radius
    if gap >= 0.0:
        return False
    for i in range(3):
        local[i] = s.axes[i, 0] * normal[0] + s.axes[i, 1] * normal[1] + s.axes[i, 2] * normal[2]
    for i in range(3):
        normal[i] = local[i]
        position[i] -= normal[i] * c.point.radius
    c.depth = -gap
    c.looks += 1
    _push_back(p, c, elapsed)
    return True


@kernel
def _push_back(p: Physics, c: PointContact, elapsed: float) -> None:
    s, v, n, share = c.surface, c.velocity, c.normal, c.point.share
    velocity_at(p, c.point.body, c.position, v)
    along = 0.0
    for i in range(3):
        v[i] -= s.speed[i]
        along += v[i] * n[i]
    force = share * normal_force(s, c.depth, -along)
    # What is not elastic is lost: (f − k δᵉ) δ̇ ≥ 0, also where f is 0.
    c.lost = -(force - share * elastic_force(s, c.depth)) * along
    if s.friction * force > 0.0:
        _rub(c, along, s.friction * force, elapsed)
    c.stored = share * stored_energy(s, c.depth)
    for i in range(3):
        c.force[i] += n[i] * force
        c.stored += 0.5 * share * s.tangential_stiffness * c.slip_next[i] ** 2
        c.drive += c.force[i] * s.speed[i]


@kernel
def _rub(c: PointContact, along: float, limit: float, elapsed: float) -> None:
    """Friction: the spring stretched by the slip and the damper; beyond the limit the spring's foot slides along."""
    v, n, stiffness = c.velocity, c.normal, c.point.share * c.surface.tangential_stiffness
    damping, across, size = c.point.share * c.surface.tangential_damping, 0.0, 0.0
    for i in range(3):
        across += c.slip[i] * n[i]
    for i in range(3):
        tangent = v[i] - along * n[i]
        c.slip_next[i] = c.slip[i] - across * n[i] + tangent * elapsed
        c.force[i] = -stiffness * c.slip_next[i] - damping * tangent
        size += c.force[i] ** 2
    size = math.sqrt(size)
    if size > limit:
        for i in range(3):
            c.force[i] *= limit / size
            # Sliding: the spring's foot follows, so that the spring alone carries the friction.
            c.slip_next[i] = -c.force[i] / stiffness
    _add_rubbing_loss(c, along, size > limit, elapsed)


@kernel
def _add_rubbing_loss(c: PointContact, along: float, sliding: bool, elapsed: float) -> None:
    """d_t v_t² of the damper while it sticks; −f_t · (v_t − ṡ), friction times the speed of the foot, while it slides.

    ṡ is the mean rate of the stretch since the step began.
    """
    lost = 0.0
    for i in range(3):
        tangent = c.velocity[i] - along * c.normal[i]
        if sliding:
            rate = (c.slip_next[i] - c.slip[i]) / elapsed if elapsed > 0.0 else 0.0
            lost -= c.force[i] * (tangent - rate)
        else:
            lost += c.point.share * c.surface.tangential_damping * tangent * tangent
    c.lost += max(lost, 0.0)

"""Energies of a plant on its own equations, and loads on its bodies as joint forces, compiled."""

from __future__ import annotations

from palpate.engine.kernels import kernel
from palpate.engine.physics import Physics
from palpate.engine.records import Vector
from palpate.equations.code.tree_program import update_constants
from palpate.equations.model.symbols import INERTIAL
from palpate.world.plants.tree_plant import TreeBody, TreePlant


@kernel
def kinetic_energy(t: TreePlant, v: Vector) -> float:
    """½ vᵀ M v."""
    energy = 0.0
    for i in range(v.size):
        row, along = t.terms.M[i], 0.0
        for j in range(i):
            along += row[j] * v[j]
        energy += v[i] * (along + 0.5 * row[i] * v[i])
    return energy


@kernel
def potential_energy(t: TreePlant, p: Physics) -> float:
    """−Σ m g·x of all bodies, and ½ K (q − q₀)² of the joints' springs."""
    energy, g = t.standing, t.gravity
    for i in range(t.mass.size):
        o, R, h = t.terms.origin[i], t.terms.rotation[i], t.moment[i]
        for k in range(3):
            if g[k] != 0.0:
                moment = R[3 * k] * h[0] + R[3 * k + 1] * h[1] + R[3 * k + 2] * h[2]
                energy -= g[k] * (t.mass[i] * o[k] + moment)
    if t.sprung:
        for k in range(t.first, p.nv):
            stretch = p.qpos[k + t.extra] - t.spring_rest[k]
            energy += 0.5 * t.stiffness[k] * stretch * stretch
    return energy


@kernel
def add_load(t: TreePlant, body: int, mass: float, inertia: float) -> None:
    """Add a ball to the link that carries a body, at that body's centre of mass; a negative one leaves."""
    for k in range(len(t.bodies)):
        if t.bodies[k].body == body and t.bodies[k].link >= 0:
            _add_ball(t, t.bodies[k], mass, inertia)
    update_constants(t.code)


@kernel
def _add_ball(t: TreePlant, b: TreeBody, mass: float, inertia: float) -> None:
    """m' = m + μ, c' = (m c + μ r)/m', and both tensors about c' by the parallel axes."""
    start, p, before = INERTIAL * b.link, t.code.p, t.code.p[INERTIAL * b.link]
    total = before + mass
    share = before * mass / total if total > 0.0 else 0.0
    x, y, z = b.com[0] - p[start + 1], b.com[1] - p[start + 2], b.com[2] - p[start + 3]
    p[start] = total
    for i in range(3):
        apart = b.com[i] - p[start + 1 + i]
        p[start + 1 + i] += mass / total * apart if total > 0.0 else 0.0
        t.moment[b.link, i] += mass * b.centre[i]
    t.mass[b.link] += mass
    p[start + 4] += inertia + share * (y * y + z * z)
    p[start + 5] += inertia + share * (x * x + z * z)
    p[start + 6] += inertia + share * (x * x + y * y)
    p[start + 7] -= share * x * y
    p[start + 8] -= share * x * z
    p[start + 9] -= share * y * z

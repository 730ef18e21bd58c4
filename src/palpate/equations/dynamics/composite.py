"""The mass matrix on symbols, from composite masses."""

from __future__ import annotations

from palpate.equations.algebra.vectors import SYMMETRIC, cross, plus
from palpate.equations.dynamics.link_motions import base_rotation, position_in_parent, to_parent_point
from palpate.equations.dynamics.recursive import joint_share
from palpate.equations.model.chain import Chain, Mass, Matrix, Vector


def composite_masses(chain: Chain) -> list[Mass]:
    """Each link with everything it carries, about its origin."""
    masses = [k.mass for k in chain.links]
    for index in reversed(range(len(chain.links))):
        parent = chain.links[index].parent
        if parent >= 0:
            masses[parent] = masses[parent] + _in_parent(chain, index, masses[index])
    return masses


def _in_parent(chain: Chain, index: int, mass: Mass) -> Mass:
    """Moments about the parent's origin in its axes."""
    link = chain.links[index]
    xx, yy, zz, xy, xz, yz = mass.S
    if link.kind == "revolute":
        c, s = link.cos, link.sin
        bend = s * (xx - yy) + c * (2 * xy)
        xx, yy, xy = xx - s * bend, yy + s * bend, c * bend - xy
        xz, yz = c * xz - s * yz, s * xz + c * yz
    S = chain.fixed_tensor(index, [xx, yy, zz, xy, xz, yz])
    return moved_mass(Mass(mass.m, chain.to_parent(index, mass.h), S), position_in_parent(chain, index))


def moved_mass(mass: Mass, p: Vector) -> Mass:
    """Moments about a point from which their origin stands at p: h' = h + m p, S' = S + p hᵀ + h pᵀ + m p pᵀ."""
    m, h = mass.m, mass.h
    both = [h[i] * p[j] + (h[j] + m * p[j]) * p[i] for i, j in SYMMETRIC]
    return Mass(m, plus(h, [m * x for x in p]), plus(mass.S, both))


def mass_matrix(chain: Chain) -> Matrix:
    """M(q) by composite bodies: the force each joint's unit acceleration asks of the joints below it."""
    n = len(chain.full(chain.v))
    M = [[chain.graph.zero] * n for _ in range(n)]
    first_dofs = chain.first_freedoms
    composites = composite_masses(chain)
    for index in range(len(chain.links)):
        for k, (f, m) in enumerate(_unit_forces(chain, index, composites[index])):
            _fill_column(chain, M, index, first_dofs[index] + k, f, m)
        if chain.links[index].kind != "free":
            M[first_dofs[index]][first_dofs[index]] += chain.links[index].armature
    return chain.reduced_matrix(M)


def _unit_forces(chain: Chain, index: int, mass: Mass) -> list[tuple[Vector, Vector]]:
    """Force and moment that accelerate a composite body by 1 along each of the joint's freedoms."""
    zero, kind = chain.graph.zero, chain.links[index].kind
    hx, hy, hz = mass.h
    xx, yy, zz, xy, xz, yz = mass.S
    if kind == "revolute":
        return [([-hy, hx, zero], [-xz, -yz, xx + yy])]
    if kind == "prismatic":
        return [([zero, zero, mass.m], [hy, -hx, zero])]
    R = base_rotation(chain)
    translations = [([mass.m * x for x in row], cross(mass.h, list(row))) for row in R]
    rotations = [
        ([zero, -hz, hy], [yy + zz, -xy, -xz]),
        ([hz, zero, -hx], [-xy, xx + zz, -yz]),
        ([-hy, hx, zero], [-xz, -yz, xx + yy]),
    ]
    return translations + rotations


def _fill_column(chain: Chain, M: Matrix, index: int, column: int, f: Vector, n: Vector) -> None:
    """Carry a force from link `index` to the base, noting what each joint on the way holds."""
    at, first_dofs = index, chain.first_freedoms
    while at >= 0:
        for k, value in enumerate(joint_share(chain, at, f, n)):
            M[first_dofs[at] + k][column] = M[column][first_dofs[at] + k] = value
        if chain.links[at].parent >= 0:
            f, n = to_parent_point(chain, at, f, n)
        at = chain.links[at].parent

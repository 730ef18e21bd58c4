"""Motions of the links on symbols, each in its own axes, and the forces of their inertia."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palpate.equations.algebra.graph import Node
from palpate.equations.algebra.vectors import cross, plus, times, transposed
from palpate.equations.model.chain import Chain, Mass, Matrix, Vector


@dataclass
class LinkMotion:
    """A link's motion in its own axes: ω, ω̇, v̇ of the origin (gravity as an upward acceleration included), and
    U = [ω̇]× + [ω]×[ω]×, so that a point r of the link has the acceleration v̇ + U r."""

    w: Vector
    dw: Vector
    acc: Vector
    U: Matrix


def motions(chain: Chain, v: Sequence[Node], a: Sequence[Node]) -> list[LinkMotion]:
    """Every link's motion, from the base outwards."""
    zeros = [chain.graph.zero] * 3
    base = LinkMotion(list(zeros), list(zeros), [-g for g in chain.gravity], [list(zeros) for _ in range(3)])
    link_motions: list[LinkMotion] = []
    speeds, accelerations = chain.full(v), chain.full(a)
    for index, (link, dof) in enumerate(zip(chain.links, chain.first_freedoms)):
        before = link_motions[link.parent] if link.parent >= 0 else base
        if link.kind == "free":
            link_motions.append(_free_motion(chain, speeds, accelerations, base.acc))
        else:
            link_motions.append(_motion(chain, index, before, speeds[dof], accelerations[dof]))
    return link_motions


def _motion(chain: Chain, index: int, before: LinkMotion, rate: Node, acceleration: Node) -> LinkMotion:
    link = chain.links[index]
    w, dw = chain.to_child(index, before.w), chain.to_child(index, before.dw)
    acc = chain.to_child(index, plus(before.acc, times(before.U, position_in_parent(chain, index))))
    if link.kind == "revolute":
        dw = [dw[0] + w[1] * rate, dw[1] - w[0] * rate, dw[2] + acceleration]
        w = [w[0], w[1], w[2] + rate]
    else:
        acc = [acc[0] + 2 * (w[1] * rate), acc[1] - 2 * (w[0] * rate), acc[2] + acceleration]
    return LinkMotion(w, dw, acc, acceleration_map(w, dw))


def _free_motion(chain: Chain, v: Sequence[Node], a: Sequence[Node], start: Vector) -> LinkMotion:
    R = base_rotation(chain)
    w, dw = list(v[3:6]), list(a[3:6])
    acc = times(transposed(R), plus(list(a[:3]), start))
    return LinkMotion(w, dw, acc, acceleration_map(w, dw))


def acceleration_map(w: Vector, dw: Vector) -> Matrix:
    """U = [ω̇]× + [ω]×[ω]×."""
    xx, yy, zz = (x * x for x in w)
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        [-(yy + zz), xy - dw[2], xz + dw[1]],
        [xy + dw[2], -(xx + zz), yz - dw[0]],
        [xz - dw[1], yz + dw[0], -(xx + yy)],
    ]


def base_rotation(chain: Chain) -> Matrix:
    """R(quaternion) of a free base, wxyz, of unit length."""
    w, x, y, z = chain.q[3:7]
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def inertia_force(mass: Mass, motion: LinkMotion) -> tuple[Vector, Vector]:
    """Force m v̇ + U h and moment ∫ r × (v̇ + U r) dm about the origin."""
    U, h, acc = motion.U, mass.h, motion.acc
    xx, yy, zz, xy, xz, yz = mass.S
    force = plus([mass.m * x for x in acc], times(U, h))
    x2, y2, z2 = (x * x for x in motion.w)
    moment = [
        U[2][0] * xy + U[2][1] * yy + (z2 - y2) * yz - U[1][0] * xz - U[1][2] * zz,
        U[0][1] * yz + U[0][2] * zz + (x2 - z2) * xz - U[2][0] * xx - U[2][1] * xy,
        U[1][0] * xx + (y2 - x2) * xy + U[1][2] * xz - U[0][1] * yy - U[0][2] * yz,
    ]
    return force, plus(moment, cross(h, acc))


def to_parent_point(chain: Chain, index: int, f: Vector, n: Vector) -> tuple[Vector, Vector]:
    """A force and its moment about a link's origin, about the parent's origin in the parent's axes."""
    above = chain.to_parent(index, f)
    return above, plus(chain.to_parent(index, n), cross(position_in_parent(chain, index), above))


def position_in_parent(chain: Chain, index: int) -> Vector:
    """Where a link's origin stands in the parent's frame, a slide's travel included."""
    link = chain.links[index]
    if link.kind != "prismatic":
        return link.position
    return plus(link.position, chain.fixed_to_parent(index, [chain.graph.zero, chain.graph.zero, link.slide]))

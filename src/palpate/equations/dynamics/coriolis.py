"""The Coriolis matrix by recursion, Christoffel's own, and the energies of a chain.

A particle r of a link moves with ṙ = u + ω × r, and joint j moves it with J_j = u_j + ω_j × r, all in the base frame
with u at its origin. J_j is a gradient, so that C_ij = ∫ J_i · J̇_j dm is exactly the matrix of Christoffel symbols;
J̇_j = u̇_j + ω̇_j × r + ω_j × ṙ. The integrals are the moments m, h, S of the bodies carried, and K = ∫ ṙ rᵀ dm.
"""

from __future__ import annotations

from dataclasses import dataclass

from palpate.equations.algebra.graph import Node
from palpate.equations.dynamics.recursive import (
    Placed,
    cross,
    placed_links,
    plus,
    times,
    transposed,
)
from palpate.equations.model.chain import Chain, Mass, Matrix, Vector


@dataclass
class Screw:
    """ω and u of a joint's unit motion in the base frame, u at the base's origin, and their rates."""

    w: Vector
    u: Vector
    dw: Vector
    du: Vector


@dataclass
class Carried:
    """Moments about the base's origin of a link and all it carries, and K = ∫ ṙ rᵀ dm, P = ∫ ṙ dm."""

    mass: Mass
    K: Matrix
    P: Vector


def coriolis_matrix(chain: Chain) -> Matrix:
    """C(q, v) with C v the Coriolis and centrifugal force, Christoffel's for a fixed base; Ṁ − 2C is skew."""
    frames = placed_links(chain)
    screws, velocities = _screws(chain, frames)
    carried = _carried(chain, frames, velocities)
    n = sum(len(part) for part in screws)
    C = [[chain.graph.zero] * n for _ in range(n)]
    places, count = [], 0
    for part in screws:
        places.append(count)
        count += len(part)
    for index in range(len(chain.links)):
        _fill(chain, C, places, screws, carried[index], index)
    return _reduced(chain, C)


def _reduced(chain: Chain, C: Matrix) -> Matrix:
    if chain.model.mechanism.coupling is None:
        return C
    return transposed([chain.reduced(row) for row in transposed([chain.reduced(row) for row in C])])


def _screws(chain: Chain, frames: list[Placed]) -> tuple[list[list[Screw]], list[tuple[Vector, Vector]]]:
    """Every freedom's screw, and every link's (ω, u)."""
    zero = chain.graph.zero
    speeds = chain.full(chain.v)
    screws: list[list[Screw]] = []
    velocities: list[tuple[Vector, Vector]] = []
    dof = 0
    for index, link in enumerate(chain.links):
        w, u = velocities[link.parent] if link.parent >= 0 else ([zero] * 3, [zero] * 3)
        count = 6 if link.kind == "free" else 1
        rates = speeds[dof : dof + count]
        dof += count
        here = _directions(chain, index, frames[index])
        w = plus(w, _combined(rates, [d[0] for d in here]))
        u = plus(u, _combined(rates, [d[1] for d in here]))
        velocities.append((w, u))
        screws.append([_screw(link.kind, k, d, w, u) for k, d in enumerate(here)])
    return screws, velocities


def _directions(chain: Chain, index: int, frame: Placed) -> list[tuple[Vector, Vector]]:
    graph, kind = chain.graph, chain.links[index].kind
    still = [graph.zero] * 3
    if kind == "prismatic":
        return [(list(still), frame.columns[2])]
    if kind == "revolute":
        return [(frame.columns[2], cross(frame.origin, frame.columns[2]))]
    unit = [[graph.one if i == k else graph.zero for i in range(3)] for k in range(3)]
    return [(list(still), e) for e in unit] + [(c, cross(frame.origin, c)) for c in frame.columns]


def _screw(kind: str, number: int, direction: tuple[Vector, Vector], w: Vector, u: Vector) -> Screw:
    """The rates: directions fixed on the link turn with it; a free base's translations are fixed in the base frame."""
    angular, shift = direction
    if kind == "free" and number < 3:
        zero = [angular[0].graph.zero] * 3
        return Screw(angular, shift, zero, list(zero))
    return Screw(angular, shift, cross(w, angular), plus(cross(w, shift), cross(u, angular)))


def _combined(rates: list[Node], vectors: list[Vector]) -> Vector:
    graph = rates[0].graph
    return [graph.sum(r * v[k] for r, v in zip(rates, vectors)) for k in range(3)]


def _carried(chain: Chain, frames: list[Placed], velocities: list[tuple[Vector, Vector]]) -> list[Carried]:
    carried = []
    for link, frame, (w, u) in zip(chain.links, frames, velocities):
        mass = _in_base(link.mass, frame)
        S = _square(mass.S)
        turning = transposed([cross(w, [S[0][k], S[1][k], S[2][k]]) for k in range(3)])
        K = [[u[i] * mass.h[j] + turning[i][j] for j in range(3)] for i in range(3)]
        carried.append(Carried(mass, K, plus([mass.m * x for x in u], cross(w, mass.h))))
    for index in reversed(range(len(chain.links))):
        parent = chain.links[index].parent
        if parent >= 0:
            carried[parent] = _joined(carried[parent], carried[index])
    return carried


def _joined(a: Carried, b: Carried) -> Carried:
    mass = Mass(a.mass.m + b.mass.m, plus(a.mass.h, b.mass.h), plus(a.mass.S, b.mass.S))
    return Carried(mass, [plus(x, y) for x, y in zip(a.K, b.K)], plus(a.P, b.P))


def _in_base(mass: Mass, frame: Placed) -> Mass:
    """Moments about the base's origin: h' = m p + R h, S' = R S Rᵀ + p (R h)ᵀ + (R h) pᵀ + m p pᵀ."""
    p, h = frame.origin, frame.out(mass.h)
    rows = [frame.out(row) for row in _square(mass.S)]
    S = [frame.out([rows[0][k], rows[1][k], rows[2][k]]) for k in range(3)]
    total = [
        S[i][j] + h[i] * p[j] + (h[j] + mass.m * p[j]) * p[i] for i, j in zip((0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2))
    ]
    return Mass(mass.m, plus(h, [mass.m * x for x in p]), total)


def _square(S: Vector) -> Matrix:
    xx, yy, zz, xy, xz, yz = S
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def _inertia_times(mass: Mass, w: Vector, u: Vector) -> tuple[Vector, Vector]:
    """Moment and force of the spatial inertia: J ω + h × u, m u + ω × h, with J = tr(S) 1 − S."""
    trace = mass.S[0] + mass.S[1] + mass.S[2]
    Sw = times(_square(mass.S), w)
    moment = plus([trace * x - y for x, y in zip(w, Sw)], cross(mass.h, u))
    return moment, plus([mass.m * x for x in u], cross(w, mass.h))


def _fill(chain: Chain, C: Matrix, places: list[int], screws: list[list[Screw]], carried: Carried, index: int) -> None:
    """Row and column entries of one link's freedoms with those of the links below it."""
    for k, screw in enumerate(screws[index]):
        moment, force = _rate_force(carried, screw)
        back_moment, back_force, extra = _row_force(carried, screw)
        here, at = places[index] + k, index
        while at >= 0:
            for j, other in enumerate(screws[at]):
                there = places[at] + j
                C[there][here] = _dot(other.w, moment) + _dot(other.u, force)
                if at != index:
                    C[here][there] = _dot(other.dw, back_moment) + _dot(other.du, back_force) + _dot(other.w, extra)
            at = chain.links[at].parent


def _rate_force(carried: Carried, screw: Screw) -> tuple[Vector, Vector]:
    """∫ r × J̇_j dm and ∫ J̇_j dm."""
    moment, force = _inertia_times(carried.mass, screw.dw, screw.du)
    K = carried.K
    trace = K[0][0] + K[1][1] + K[2][2]
    turned = [trace * x - y for x, y in zip(screw.w, times(K, screw.w))]
    return plus(moment, turned), plus(force, cross(screw.w, carried.P))


def _row_force(carried: Carried, screw: Screw) -> tuple[Vector, Vector, Vector]:
    """What multiplies ω̇_j, u̇_j and ω_j of a freedom below in C_ij."""
    moment, force = _inertia_times(carried.mass, screw.w, screw.u)
    K = carried.K
    trace = K[0][0] + K[1][1] + K[2][2]
    extra = [trace * x - y for x, y in zip(screw.w, times(transposed(K), screw.w))]
    return moment, force, plus(cross(carried.P, screw.u), extra)


def _dot(a: Vector, b: Vector) -> Node:
    return a[0].graph.sum(x * y for x, y in zip(a, b))


def potential_energy(chain: Chain) -> Node:
    """V = −Σ m gᵀ p_c, zero at the base's origin."""
    total = chain.graph.zero
    for frame, mass in zip(placed_links(chain), chain.real_masses):
        first = plus([mass.m * x for x in frame.origin], frame.out(mass.h))
        total = total - _dot(chain.gravity, first)
    return total


def kinetic_energy(chain: Chain, M: Matrix) -> Node:
    """T = ½ vᵀ M v."""
    return chain.graph.node(1) / 2 * _dot(chain.v, times(M, chain.v))

"""The Coriolis matrix on symbols, from the screws of the joints in the base frame."""

from __future__ import annotations

from dataclasses import dataclass

from palpate.equations.algebra.vectors import congruent, cross, dot, plus, six_entries, symmetric, times, transposed
from palpate.equations.dynamics.base_frame import LinkPose, link_poses, unit_vectors
from palpate.equations.dynamics.composite import moved_mass
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
    frames = link_poses(chain)
    screws, velocities = _screws(chain, frames)
    carried = _carried(chain, frames, velocities)
    n = sum(len(part) for part in screws)
    C = [[chain.graph.zero] * n for _ in range(n)]
    for index in range(len(chain.links)):
        _fill(chain, C, screws, carried[index], index)
    return chain.reduced_matrix(C)


def _screws(chain: Chain, frames: list[LinkPose]) -> tuple[list[list[Screw]], list[tuple[Vector, Vector]]]:
    """Every freedom's screw, and every link's (ω, u)."""
    zero = chain.graph.zero
    speeds = chain.full(chain.v)
    screws: list[list[Screw]] = []
    velocities: list[tuple[Vector, Vector]] = []
    for index, (link, dof) in enumerate(zip(chain.links, chain.first_freedoms)):
        w, u = velocities[link.parent] if link.parent >= 0 else ([zero] * 3, [zero] * 3)
        directions = _directions(chain, index, frames[index])
        rates = speeds[dof : dof + len(directions)]
        w = plus(w, times(transposed([d[0] for d in directions]), rates))
        u = plus(u, times(transposed([d[1] for d in directions]), rates))
        velocities.append((w, u))
        screws.append([_screw(link.kind, k, d, w, u) for k, d in enumerate(directions)])
    return screws, velocities


def _directions(chain: Chain, index: int, frame: LinkPose) -> list[tuple[Vector, Vector]]:
    kind, still = chain.links[index].kind, [chain.graph.zero] * 3
    if kind == "prismatic":
        return [(list(still), frame.columns[2])]
    if kind == "revolute":
        return [(frame.columns[2], cross(frame.origin, frame.columns[2]))]
    return [(list(still), e) for e in unit_vectors(chain)] + [(c, cross(frame.origin, c)) for c in frame.columns]


def _screw(kind: str, number: int, direction: tuple[Vector, Vector], w: Vector, u: Vector) -> Screw:
    """The rates: directions fixed on the link turn with it; a free base's translations are fixed in the base frame."""
    angular, shift = direction
    if kind == "free" and number < 3:
        zero = [angular[0].graph.zero] * 3
        return Screw(angular, shift, zero, list(zero))
    return Screw(angular, shift, cross(w, angular), plus(cross(w, shift), cross(u, angular)))


def _carried(chain: Chain, frames: list[LinkPose], velocities: list[tuple[Vector, Vector]]) -> list[Carried]:
    carried = []
    for link, frame, (w, u) in zip(chain.links, frames, velocities):
        mass = _in_base(link.mass, frame)
        turning = transposed([cross(w, column) for column in symmetric(mass.S)])
        K = [[u[i] * mass.h[j] + turning[i][j] for j in range(3)] for i in range(3)]
        carried.append(Carried(mass, K, plus([mass.m * x for x in u], cross(w, mass.h))))
    for index in reversed(range(len(chain.links))):
        parent = chain.links[index].parent
        if parent >= 0:
            a, b = carried[parent], carried[index]
            carried[parent] = Carried(a.mass + b.mass, [plus(x, y) for x, y in zip(a.K, b.K)], plus(a.P, b.P))
    return carried


def _in_base(mass: Mass, frame: LinkPose) -> Mass:
    """Moments about the base's origin, in its axes."""
    S = six_entries(congruent(frame.to_base, symmetric(mass.S)))
    return moved_mass(Mass(mass.m, frame.to_base(mass.h), S), frame.origin)


def _trace_minus(A: Matrix, w: Vector) -> Vector:
    """(tr(A) 1 − A) w."""
    trace = A[0][0] + A[1][1] + A[2][2]
    return [trace * x - y for x, y in zip(w, times(A, w))]


def _inertia_times(mass: Mass, w: Vector, u: Vector) -> tuple[Vector, Vector]:
    """Moment and force of the spatial inertia: J ω + h × u, m u + ω × h, with J = tr(S) 1 − S."""
    moment = plus(_trace_minus(symmetric(mass.S), w), cross(mass.h, u))
    return moment, plus([mass.m * x for x in u], cross(w, mass.h))


def _fill(chain: Chain, C: Matrix, screws: list[list[Screw]], carried: Carried, index: int) -> None:
    """Row and column entries of one link's freedoms with those of the links below it."""
    first_dofs = chain.first_freedoms
    for k, screw in enumerate(screws[index]):
        moment, force = _rate_force(carried, screw)
        back_moment, back_force, extra = _row_force(carried, screw)
        dof, at = first_dofs[index] + k, index
        while at >= 0:
            for j, other in enumerate(screws[at]):
                other_dof = first_dofs[at] + j
                C[other_dof][dof] = dot(other.w, moment) + dot(other.u, force)
                if at != index:
                    C[dof][other_dof] = dot(other.dw, back_moment) + dot(other.du, back_force) + dot(other.w, extra)
            at = chain.links[at].parent


def _rate_force(carried: Carried, screw: Screw) -> tuple[Vector, Vector]:
    """∫ r × J̇_j dm and ∫ J̇_j dm."""
    moment, force = _inertia_times(carried.mass, screw.dw, screw.du)
    return plus(moment, _trace_minus(carried.K, screw.w)), plus(force, cross(screw.w, carried.P))


def _row_force(carried: Carried, screw: Screw) -> tuple[Vector, Vector, Vector]:
    """Factors of ω̇_j, u̇_j and ω_j of a freedom below in C_ij."""
    moment, force = _inertia_times(carried.mass, screw.w, screw.u)
    return moment, force, plus(cross(carried.P, screw.u), _trace_minus(transposed(carried.K), screw.w))

"""The recursive algorithms on symbols: inverse dynamics, mass matrix, Coriolis matrix, kinematics of the tool.

Nothing is ever expanded: every intermediate is a node of the chain's graph, and equal ones are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palpate.equations.algebra.graph import Node
from palpate.equations.algebra.vectors import (
    SYMMETRIC,
    congruent,
    cross,
    dot,
    minus,
    plus,
    six_entries,
    symmetric,
    times,
    transposed,
)
from palpate.equations.model.chain import Chain, Mass, Matrix, Vector, along
from palpate.equations.model.naming import NamedFrame

# ---------------------------------------------------------------------- inverse dynamics


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


def joint_forces(chain: Chain, forces: list[tuple[Vector, Vector]]) -> list[Node]:
    """The joints' share of a force and a moment on every link: those of all the links they carry."""
    shares: list[list[Node]] = [[] for _ in chain.links]
    for index in reversed(range(len(chain.links))):
        parent, (f, n) = chain.links[index].parent, forces[index]
        shares[index] = _joint_share(chain, index, f, n)
        if parent >= 0:
            above, moment = to_parent_point(chain, index, f, n)
            forces[parent] = plus(forces[parent][0], above), plus(forces[parent][1], moment)
    return [x for part in shares for x in part]


def _joint_share(chain: Chain, index: int, f: Vector, n: Vector) -> list[Node]:
    """What a link's joint holds of a force and a moment about the link's origin."""
    kind = chain.links[index].kind
    if kind == "free":
        return [*times(base_rotation(chain), f), *n]
    return [n[2] if kind == "revolute" else f[2]]


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


def inverse_dynamics(chain: Chain, v: Sequence[Node], a: Sequence[Node]) -> list[Node]:
    """τ = M a + C v + g by Newton and Euler, outwards and back."""
    forces = [inertia_force(link.mass, motion) for link, motion in zip(chain.links, motions(chain, v, a))]
    full = [f + r * x for f, r, x in zip(joint_forces(chain, forces), _rotors(chain), chain.full(a))]
    return chain.reduced(full)


def rotor_torques(chain: Chain, a: Sequence[Node]) -> list[Node]:
    """What accelerates the rotors, on the independent coordinates."""
    return chain.reduced([r * x for r, x in zip(_rotors(chain), chain.full(a))])


def _rotors(chain: Chain) -> list[Node]:
    """Rotor inertia of every degree of freedom."""
    zero = chain.graph.zero
    return [x for link in chain.links for x in ([zero] * 6 if link.kind == "free" else [link.armature])]


def bias(chain: Chain) -> list[Node]:
    """C(q, v) v + g(q)."""
    return inverse_dynamics(chain, chain.v, _zeros(chain))


def gravity(chain: Chain) -> list[Node]:
    """g(q)."""
    return inverse_dynamics(chain, _zeros(chain), _zeros(chain))


def _zeros(chain: Chain) -> list[Node]:
    return [chain.graph.zero] * len(chain.v)


# ---------------------------------------------------------------------- mass matrix


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
    return _moved(Mass(mass.m, chain.to_parent(index, mass.h), S), position_in_parent(chain, index))


def _moved(mass: Mass, p: Vector) -> Mass:
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
        for k, value in enumerate(_joint_share(chain, at, f, n)):
            M[first_dofs[at] + k][column] = M[column][first_dofs[at] + k] = value
        if chain.links[at].parent >= 0:
            f, n = to_parent_point(chain, at, f, n)
        at = chain.links[at].parent


# ---------------------------------------------------------------------- kinematics in the base frame


@dataclass
class LinkPose:
    """A link's frame in the base frame: origin, and axes as columns."""

    origin: Vector
    columns: list[Vector]

    def to_base(self, v: Vector) -> Vector:
        """A vector of the link's frame in base axes."""
        return times(transposed(self.columns), v)


def link_poses(chain: Chain) -> list[LinkPose]:
    """Pose of every link's frame in the base frame."""
    graph = chain.graph
    unit = _unit_vectors(chain)
    base = LinkPose([graph.zero] * 3, unit)
    frames: list[LinkPose] = []
    for index, link in enumerate(chain.links):
        if link.kind == "free":
            frames.append(LinkPose(list(chain.q[:3]), transposed(base_rotation(chain))))
            continue
        before = frames[link.parent] if link.parent >= 0 else base
        origin = plus(before.origin, before.to_base(position_in_parent(chain, index)))
        x, y, z = (before.to_base(chain.fixed_to_parent(index, axis)) for axis in unit)
        c, s = link.cos, link.sin
        columns = [[c * a + s * b for a, b in zip(x, y)], [c * b - s * a for a, b in zip(x, y)], z]
        frames.append(LinkPose(origin, columns))
    return frames


def frame_pose(chain: Chain, frames: list[LinkPose], frame: NamedFrame) -> tuple[Vector, Matrix]:
    """Position and rotation matrix of a frame fixed on a link."""
    link = frames[frame.link]
    origin = plus(link.origin, link.to_base(chain.frame_origin(frame)))
    inner = [chain.rotated(frame.rotation, unit) for unit in _unit_vectors(chain)]
    return origin, transposed([link.to_base(along(chain.links[frame.link].axes, axis)) for axis in inner])


def _unit_vectors(chain: Chain) -> Matrix:
    return [[chain.graph.one if i == k else chain.graph.zero for i in range(3)] for k in range(3)]


def jacobian(chain: Chain, frames: list[LinkPose], link: int, point: Vector) -> Matrix:
    """6×n, rows [linear; angular], base axes, at `point` of `link`; columns of joints that do not move it are zero."""
    zero, graph = chain.graph.zero, chain.graph
    columns: list[list[Node]] = []
    ancestors = _ancestors(chain, link)
    for index, k in enumerate(chain.links):
        axes, z = frames[index], frames[index].columns[2]
        arm = minus(point, axes.origin)
        if index not in ancestors:
            columns += [[zero] * 6] * (6 if k.kind == "free" else 1)
        elif k.kind == "free":
            columns += [[graph.one if r == c else zero for r in range(6)] for c in range(3)]
            columns += [[*cross(axis, arm), *axis] for axis in axes.columns]
        else:
            columns.append([*cross(z, arm), *z] if k.kind == "revolute" else [*z, zero, zero, zero])
    return [chain.reduced(row) for row in transposed(columns)]


def _ancestors(chain: Chain, link: int) -> set[int]:
    ancestors = set()
    while link >= 0:
        ancestors.add(link)
        link = chain.links[link].parent
    return ancestors


def drift(chain: Chain, frames: list[LinkPose], moving: list[LinkMotion], frame: NamedFrame) -> list[Node]:
    """J̇ v from motions at v̇ = 0: what is left of the frame's acceleration when gravity is taken out again."""
    motion, link = moving[frame.link], frames[frame.link]
    linear = plus(link.to_base(plus(motion.acc, times(motion.U, chain.frame_origin(frame)))), chain.gravity)
    return [*linear, *link.to_base(motion.dw)]


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
    return [(list(still), e) for e in _unit_vectors(chain)] + [(c, cross(frame.origin, c)) for c in frame.columns]


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
    return _moved(Mass(mass.m, frame.to_base(mass.h), S), frame.origin)


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
    """What multiplies ω̇_j, u̇_j and ω_j of a freedom below in C_ij."""
    moment, force = _inertia_times(carried.mass, screw.w, screw.u)
    return moment, force, plus(cross(carried.P, screw.u), _trace_minus(transposed(carried.K), screw.w))


def potential_energy(chain: Chain) -> Node:
    """V = −Σ m gᵀ p_c, zero at the base's origin."""
    total = chain.graph.zero
    for frame, mass in zip(link_poses(chain), chain.real_masses):
        first = plus([mass.m * x for x in frame.origin], frame.to_base(mass.h))
        total = total - dot(chain.gravity, first)
    return total


def kinetic_energy(chain: Chain, M: Matrix) -> Node:
    """T = ½ vᵀ M v."""
    return chain.graph.node(1) / 2 * dot(chain.v, times(M, chain.v))

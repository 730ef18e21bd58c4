"""The closed-form engine: a robot's kinematics and dynamics as trigonometric polynomials in normal form.

Everything is in the base frame, as a student derives it: link poses, centres of mass p_c, link Jacobians J_P and J_O,
tensors I(q) = R I Rᵀ, then
M = Σ m J_Pᵀ J_P + J_Oᵀ I J_O, V = −Σ m gᵀ p_c, and the three ways to the joint torques.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product as pairs

from palpate.equations.algebra.vectors import cross, dot, multiply, plus, times, transposed
from palpate.equations.model.naming import CoordinateNames, FixedRotation, NamedFrame, NamedModel, Term, coordinates_of
from palpate.forking import cached_property
from palpate.tools.derive.closed.trig import Ring, TrigPolynomial

Vector = list[TrigPolynomial]
Matrix = list[list[TrigPolynomial]]


class ClosedModel:
    """A robot's terms, each derived when first asked for."""

    def __init__(self, model: NamedModel) -> None:
        self.model, self.ring = model, Ring()
        self.names: CoordinateNames = coordinates_of(model.mechanism, model.renamed)
        self.n = len(self.names.v)
        self.v = [self.ring.variable(name) for name in self.names.v]
        self.a = [self.ring.variable(name) for name in self.names.a]

    # ------------------------------------------------------------------ elements

    def term(self, term: Term) -> TrigPolynomial:
        """A named constant."""
        result = self.ring.number(term.coefficient)
        for name, power in term.powers:
            result = result * self.ring.variable(name) ** power
        return result

    def vector(self, terms: Sequence[Term]) -> Vector:
        """A vector of named constants."""
        return [self.term(t) for t in terms]

    def fixed_rotation(self, rotation: FixedRotation) -> Matrix:
        """A fixed rotation."""
        R = [self.vector(row) for row in rotation.matrix]
        for axis, name in rotation.angles:
            R = multiply(R, self.elementary(axis, self.ring.cos({name: 1}), self.ring.sin({name: 1})))
        return R

    def elementary(self, axis: int, c: TrigPolynomial, s: TrigPolynomial) -> Matrix:
        """Rotation about x, y or z by the angle of cosine c and sine s."""
        R = [[self.ring.one if i == j else self.ring.zero for j in range(3)] for i in range(3)]
        i, j = (axis + 1) % 3, (axis + 2) % 3
        R[i][i] = R[j][j] = c
        R[i][j], R[j][i] = -s, s
        return R

    @cached_property
    def _joints(self) -> list[tuple[dict[str, int], Fraction]]:
        """Each joint's position as a combination of coordinates plus a constant."""
        coupling = self.model.mechanism.coupling
        if coupling is None:
            return [({name: 1}, Fraction(0)) for name in self.names.q]
        rows = []
        for row, offset in zip(coupling.map, coupling.position_offset):
            rows.append(({n: _fraction(x) for n, x in zip(self.names.q, row) if x}, Fraction(repr(float(offset)))))
        return rows

    def _joint_rotation(self, index: int) -> Matrix:
        link = self.model.links[index].link
        combination, offset = self._joints[index]
        c, s = self.ring.cos(combination), self.ring.sin(combination)
        if offset:
            c0, s0 = _cos_sin(offset)
            c, s = c * c0 - s * s0, s * c0 + c * s0
        return self.elementary(link.axis, c, s * link.sign)

    def _slide(self, index: int) -> TrigPolynomial:
        combination, offset = self._joints[index]
        return sum((self.ring.variable(n) * k for n, k in combination.items()), self.ring.number(offset))

    # ------------------------------------------------------------------ kinematics

    def joint_pose(self, index: int) -> tuple[Matrix, Vector]:
        """Rotation and position of a link's frame in its parent's, the joint's motion included."""
        named = self.model.links[index]
        R, p = self.fixed_rotation(named.rotation), self.vector(named.position)
        if named.link.kind == "revolute":
            return multiply(R, self._joint_rotation(index)), p
        along = [row[named.link.axis] * (self._slide(index) * named.link.sign) for row in R]
        return R, plus(p, along)

    @cached_property
    def link_poses(self) -> list[tuple[Matrix, Vector]]:
        """Rotation R and origin of every link's frame in the base frame."""
        poses: list[tuple[Matrix, Vector]] = []
        for index, named in enumerate(self.model.links):
            R, p = self.joint_pose(index)
            if named.link.parent >= 0:
                before, origin = poses[named.link.parent]
                R, p = multiply(before, R), plus(origin, times(before, p))
            poses.append((R, p))
        return poses

    def pose(self, frame: NamedFrame) -> tuple[Matrix, Vector]:
        """Rotation and position of a frame fixed on a link."""
        rotation, offset = self.fixed_rotation(frame.rotation), self.vector(frame.position)
        if frame.link < 0:
            return rotation, offset
        R, origin = self.link_poses[frame.link]
        return multiply(R, rotation), plus(origin, times(R, offset))

    @cached_property
    def coms(self) -> list[Vector]:
        """Centres of mass p_c in the base frame."""
        both = zip(self.link_poses, self.model.links)
        return [plus(origin, times(R, self.vector(named.com))) for (R, origin), named in both]

    def axis(self, index: int) -> Vector:
        """A joint's axis in the base frame."""
        link = self.model.links[index].link
        return [row[link.axis] * link.sign for row in self.link_poses[index][0]]

    def by_coordinate(self, f: TrigPolynomial, name: str) -> TrigPolynomial:
        """∂f/∂q."""
        return f.by_angle(name) + f.by_variable(name) if name in self.names.angles else f.by_variable(name)

    def rate(self, f: TrigPolynomial) -> TrigPolynomial:
        """df/dt of a function of q: Σ ∂f/∂q q̇."""
        return sum((self.by_coordinate(f, q) * v for q, v in zip(self.names.q, self.v)), self.ring.zero)

    def position_jacobian(self, p: Vector) -> Matrix:
        """∂p/∂q."""
        return [[self.by_coordinate(x, name) for name in self.names.q] for x in p]

    def rotation_jacobian(self, link: int) -> Matrix:
        """J_O: 3×n with ω = J_O q̇."""
        columns = [[self.ring.zero] * 3 for _ in range(self.n)]
        while link >= 0:
            if self.model.links[link].link.kind == "revolute":
                for name, k in self._joints[link][0].items():
                    column = self.names.q.index(name)
                    columns[column] = plus(columns[column], [x * k for x in self.axis(link)])
            link = self.model.links[link].link.parent
        return transposed(columns)

    @cached_property
    def link_jacobians(self) -> list[tuple[Matrix, Matrix]]:
        """(J_P, J_O) of every link, at its centre of mass."""
        return [(self.position_jacobian(com), self.rotation_jacobian(i)) for i, com in enumerate(self.coms)]

    @cached_property
    def tensors(self) -> list[Matrix]:
        """I(q) = R I Rᵀ of every link, about its centre of mass in base axes."""
        inertias = []
        for (R, _), named in zip(self.link_poses, self.model.links):
            inertias.append(multiply(multiply(R, [self.vector(row) for row in named.inertia]), transposed(R)))
        return inertias

    @cached_property
    def jacobian(self) -> Matrix:
        """6×n geometric Jacobian of the tool, rows [linear; angular], base axes."""
        _, p = self.pose(self.model.tool)
        return self.position_jacobian(p) + self.rotation_jacobian(self.model.tool.link)

    @cached_property
    def jacobian_rate(self) -> Matrix:
        """J̇."""
        return [[self.rate(x) for x in row] for row in self.jacobian]

    # ------------------------------------------------------------------ energies and matrices

    @property
    def gravity_vector(self) -> Vector:
        """Acceleration of free fall in the base frame."""
        return self.vector(self.model.gravity)

    @cached_property
    def potential(self) -> TrigPolynomial:
        """V = −Σ m gᵀ p_c, zero at the base's origin."""
        masses = [self.term(named.mass) for named in self.model.links]
        return -sum((m * dot(self.gravity_vector, p) for m, p in zip(masses, self.coms)), self.ring.zero)

    @cached_property
    def rotors(self) -> Matrix:
        """Rotor inertias on the independent coordinates: Gᵀ diag(Ir) G."""
        total = [[self.ring.zero] * self.n for _ in range(self.n)]
        for index, named in enumerate(self.model.links):
            inertia = self.term(named.armature)
            for (a, x), (b, y) in pairs(self._joints[index][0].items(), repeat=2):
                i, j = self.names.q.index(a), self.names.q.index(b)
                total[i][j] = total[i][j] + inertia * (x * y)
        return total

    def link_masses(self, index: int) -> Matrix:
        """One link's share of M: m J_Pᵀ J_P + J_Oᵀ I J_O."""
        named, (JP, JO) = self.model.links[index], self.link_jacobians[index]
        m = self.term(named.mass)
        P, turning = transposed(JP), transposed(JO)
        inner = [times(self.tensors[index], column) for column in turning]
        M = [[self.ring.zero] * self.n for _ in range(self.n)]
        for i in range(self.n):
            for j in range(i, self.n):
                M[i][j] = M[j][i] = m * dot(P[i], P[j]) + dot(turning[i], inner[j])
        return M

    @cached_property
    def mass_matrix(self) -> Matrix:
        """M(q), rotors included."""
        shares = [self.rotors, *map(self.link_masses, range(len(self.model.links)))]
        return [reduce(plus, rows) for rows in zip(*shares)]

    @cached_property
    def kinetic(self) -> TrigPolynomial:
        """T = ½ q̇ᵀ M q̇."""
        return dot(self.v, times(self.mass_matrix, self.v)) * Fraction(1, 2)

    @cached_property
    def gravity_force(self) -> Vector:
        """g = ∂V/∂q."""
        return [self.by_coordinate(self.potential, name) for name in self.names.q]

    @cached_property
    def christoffel(self) -> list[Matrix]:
        """c[i][j][k] = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i)."""
        n, M, half = self.n, self.mass_matrix, Fraction(1, 2)
        D = [[[self.by_coordinate(M[i][j], name) for name in self.names.q] for j in range(n)] for i in range(n)]
        indices = range(n)
        return [[[(D[i][j][k] + D[i][k][j] - D[j][k][i]) * half for k in indices] for j in indices] for i in indices]

    @cached_property
    def coriolis_matrix(self) -> Matrix:
        """C_ij = Σ_k c_ijk q̇_k."""
        return [[dot(symbols, self.v) for symbols in row] for row in self.christoffel]

    # ------------------------------------------------------------------ three ways to the torques

    @cached_property
    def momenta(self) -> list[tuple[TrigPolynomial, TrigPolynomial, TrigPolynomial]]:
        """∂L/∂q̇, d/dt ∂L/∂q̇ and ∂L/∂q of every coordinate, with L = T − V."""
        rows = []
        for q, v in zip(self.names.q, self.names.v):
            momentum = self.kinetic.by_variable(v)
            pushed = sum((momentum.by_variable(w) * a for w, a in zip(self.names.v, self.a)), self.ring.zero)
            slope = self.by_coordinate(self.kinetic, q) - self.by_coordinate(self.potential, q)
            rows.append((momentum, pushed + self.rate(momentum), slope))
        return rows

    @cached_property
    def lagrange(self) -> Vector:
        """τ = d/dt ∂L/∂q̇ − ∂L/∂q, from T and V alone."""
        return [rate - slope for _, rate, slope in self.momenta]

    @cached_property
    def projected(self) -> Vector:
        """τ = Σ J_Pᵀ m (J_P q̈ + J̇_P q̇ − g) + J_Oᵀ (I (J_O q̈ + J̇_O q̇) + ω × I ω)."""
        total = times(self.rotors, self.a)
        fall = self.gravity_vector
        for index, (named, (JP, _)) in enumerate(zip(self.model.links, self.link_jacobians)):
            weight = [self.term(named.mass) * -x for x in fall]
            pushed = times(self.link_masses(index), self.a)
            total = plus(total, plus(plus(pushed, self.link_bias(index)), times(transposed(JP), weight)))
        return total

    def link_bias(self, index: int) -> Vector:
        """One link's Coriolis and centrifugal force: J_Pᵀ m J̇_P q̇ + J_Oᵀ (I J̇_O q̇ + ω × I ω)."""
        (JP, JO), tensor = self.link_jacobians[index], self.tensors[index]
        m = self.term(self.model.links[index].mass)
        w = times(JO, self.v)
        force = [m * x for x in self.along(JP)]
        moment = plus(times(tensor, self.along(JO)), cross(w, times(tensor, w)))
        return plus(times(transposed(JP), force), times(transposed(JO), moment))

    def along(self, J: Matrix) -> Vector:
        """J̇ q̇."""
        return times([[self.rate(x) for x in row] for row in J], self.v)

    @cached_property
    def motions(self) -> list[tuple[Vector, Vector, Vector]]:
        """ω, ω̇ and the origin's acceleration (less gravity) of every link, in its own axes, outwards."""
        full_v, full_a = self._full(self.v), self._full(self.a)
        link_motions: list[tuple[Vector, Vector, Vector]] = []
        zero = self.ring.zero
        still = ([zero] * 3, [zero] * 3, [-x for x in self.gravity_vector])
        for index, named in enumerate(self.model.links):
            before = link_motions[named.link.parent] if named.link.parent >= 0 else still
            link_motions.append(self._outward(index, before, full_v[index], full_a[index]))
        return link_motions

    @cached_property
    def loads(self) -> list[tuple[Vector, Vector]]:
        """Force m a_c and moment about the origin that move each link alone, in its own axes."""
        return [self._load(index, motion) for index, motion in enumerate(self.motions)]

    @cached_property
    def carried(self) -> list[tuple[Vector, Vector]]:
        """Force and moment that each joint passes on: its link's and those of all it carries, in its own axes."""
        wrenches = list(self.loads)
        for index in reversed(range(len(wrenches))):
            parent = self.model.links[index].link.parent
            if parent >= 0:
                (f, n), (R, p) = wrenches[index], self.joint_pose(index)
                above = times(R, f)
                pf, pn = wrenches[parent]
                wrenches[parent] = plus(pf, above), plus(pn, plus(times(R, n), cross(p, above)))
        return wrenches

    @cached_property
    def newton_euler(self) -> Vector:
        """τ by Newton and Euler: motions outwards, forces back, each along its joint's axis."""
        torques = times(self.rotors, self.a)
        for index, (f, n) in enumerate(self.carried):
            link = self.model.links[index].link
            force = (n if link.kind == "revolute" else f)[link.axis] * link.sign
            for name, k in self._joints[index][0].items():
                coordinate = self.names.q.index(name)
                torques[coordinate] = torques[coordinate] + force * k
        return torques

    def _full(self, reduced: Vector) -> Vector:
        values = dict(zip(self.names.q, reduced))
        return [sum((values[n] * k for n, k in row.items()), self.ring.zero) for row, _ in self._joints]

    def _outward(
        self, index: int, before: tuple[Vector, Vector, Vector], rate: TrigPolynomial, acceleration: TrigPolynomial
    ) -> tuple[Vector, Vector, Vector]:
        """ω, ω̇ and the acceleration of a link's origin, in its own axes."""
        w, dw, acc = before
        R, p = self.joint_pose(index)
        back = transposed(R)
        acc = times(back, plus(acc, plus(cross(dw, p), cross(w, cross(w, p)))))
        w, dw = times(back, w), times(back, dw)
        link = self.model.links[index].link
        along = [self.ring.number(link.sign if k == link.axis else 0) for k in range(3)]
        push = [x * rate for x in along]
        if link.kind == "revolute":
            dw = plus(plus(dw, [x * acceleration for x in along]), cross(w, push))
            w = plus(w, push)
        else:
            acc = plus(plus(acc, [x * acceleration for x in along]), [x * 2 for x in cross(w, push)])
        return w, dw, acc

    def _load(self, index: int, motion: tuple[Vector, Vector, Vector]) -> tuple[Vector, Vector]:
        """m a_c and I ω̇ + ω × I ω + c × m a_c, about the link's origin."""
        named, (w, dw, acc) = self.model.links[index], motion
        c, tensor = self.vector(named.com), [self.vector(row) for row in named.inertia]
        m = self.term(named.mass)
        force = [m * x for x in plus(acc, plus(cross(dw, c), cross(w, cross(w, c))))]
        return force, plus(plus(times(tensor, dw), cross(w, times(tensor, w))), cross(c, force))


def _fraction(value: float) -> int | Fraction:
    return round(value) if float(value).is_integer() else Fraction(repr(float(value)))


def _cos_sin(angle: Fraction) -> tuple[Fraction, Fraction]:
    """Cosine and sine of a fixed angle as fractions on the unit circle: quarter turns exactly, others within 1e-13."""
    c, s = math.cos(angle), math.sin(angle)
    if abs(c * s) < 1e-12:
        return Fraction(round(c)), Fraction(round(s))
    t = Fraction(round(s / (1 + c) * 2**44), 2**44)
    return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)

"""Arms whose equations are known in closed form, and a maker of slips, for the checker's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import pytest
import sympy as sp

from palpate.tools.review.algebra.tree import (
    ONE,
    ZERO,
    Name,
    Neg,
    Node,
    Num,
    Power,
    Prod,
    Quot,
    Ref,
    Sum,
    Sym,
    Trig,
    number,
    rewrite,
    tidy_tree,
    walk,
)  # fmt: skip
from palpate.tools.review.mend.edits import COSTS


@dataclass(frozen=True)
class Arm:
    """An arm: its coordinates and rates, and its M, C, g and J as a person would write them."""

    name: str
    coordinates: list[sp.Symbol]
    rates: list[sp.Symbol]
    M: sp.Matrix
    C: sp.Matrix
    g: sp.Matrix
    J: sp.Matrix

    def quantity(self, what: str) -> sp.Matrix:
        return getattr(self, what)


def christoffel(M: sp.Matrix, q: list[sp.Symbol], v: list[sp.Symbol]) -> sp.Matrix:
    """C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q̇_k."""
    n = len(q)

    def entry(i: int, j: int) -> Any:
        parts = (
            (sp.diff(M[i, j], q[k]) + sp.diff(M[i, k], q[j]) - sp.diff(M[j, k], q[i])) * v[k] / 2 for k in range(n)
        )
        return sp.factor_terms(sp.expand(sum(parts)))

    return sp.Matrix(n, n, entry)


def _joints(n: int) -> tuple[list[sp.Symbol], list[sp.Symbol]]:
    return list(sp.symbols(f"q1:{n + 1}")), list(sp.symbols(f"dq1:{n + 1}"))


def planar2() -> Arm:
    """Two links with centres of mass at r_i and inertias I_i; angles from x, gravity along −y."""
    q, v = _joints(2)
    l1, l2, r1, r2, m1, m2, I1, I2, g = sp.symbols("l1 l2 r1 r2 m1 m2 I1 I2 g")
    c1, s1, c2 = sp.cos(q[0]), sp.sin(q[0]), sp.cos(q[1])
    c12, s12 = sp.cos(q[0] + q[1]), sp.sin(q[0] + q[1])
    M12 = I2 + m2 * (r2**2 + l1 * r2 * c2)
    M = sp.Matrix([[I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2 + 2 * l1 * r2 * c2), M12], [M12, I2 + m2 * r2**2]])
    gravity = sp.Matrix([(m1 * r1 + m2 * l1) * g * c1 + m2 * r2 * g * c12, m2 * r2 * g * c12])
    J = sp.Matrix([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])
    return Arm("planar2", q, v, M, christoffel(M, q, v), gravity, J)


def planar3() -> Arm:
    """Three thin rods of length l_i and mass m_i; angles from x, gravity along −y."""
    q, v = _joints(3)
    l, m, g = sp.symbols("l1:4"), sp.symbols("m1:4"), sp.Symbol("g")
    c2, c3, c23 = sp.cos(q[1]), sp.cos(q[2]), sp.cos(q[1] + q[2])
    a1 = m[0] * l[0] ** 2 / 3 + (m[1] + m[2]) * l[0] ** 2
    a2 = (m[1] / 3 + m[2]) * l[1] ** 2
    a3 = m[2] * l[2] ** 2 / 3
    b2, b23, b3 = (m[1] / 2 + m[2]) * l[0] * l[1] * c2, m[2] * l[0] * l[2] * c23 / 2, m[2] * l[1] * l[2] * c3 / 2
    M12, M13, M23 = a2 + a3 + b2 + b23 + 2 * b3, a3 + b23 + b3, a3 + b3
    M = sp.Matrix([[a1 + a2 + a3 + 2 * b2 + 2 * b23 + 2 * b3, M12, M13], [M12, a2 + a3 + 2 * b3, M23], [M13, M23, a3]])
    C = [sp.cos(sum(q[: i + 1])) for i in range(3)]
    S = [sp.sin(sum(q[: i + 1])) for i in range(3)]
    w = [(m[0] / 2 + m[1] + m[2]) * l[0] * g * C[0], (m[1] / 2 + m[2]) * l[1] * g * C[1], m[2] * l[2] * g * C[2] / 2]
    gravity = sp.Matrix([w[0] + w[1] + w[2], w[1] + w[2], w[2]])
    J = sp.Matrix([[-sum(l[k] * S[k] for k in range(i, 3)) for i in range(3)],
                   [sum(l[k] * C[k] for k in range(i, 3)) for i in range(3)]])  # fmt: skip
    return Arm("planar3", q, v, M, christoffel(M, q, v), gravity, J)


def spatial3() -> Arm:
    """The first three links of a UR5e: DH table (0, π/2, d1), (a2, 0, 0), (a3, 0, 0), one diagonal tensor per link."""
    q, v = _joints(3)
    d1, a2, a3, g = sp.symbols("d1 a2 a3 g")
    m1, m2, m3 = sp.symbols("m1:4")
    p13, p21, p23, p31, p33 = sp.symbols("p13 p21 p23 p31 p33")
    tensors = {f"I{i}_{k}{k}": sp.Symbol(f"I{i}_{k}{k}") for i in (1, 2, 3) for k in (1, 2, 3)}
    c2, s2, c3 = sp.cos(q[1]), sp.sin(q[1]), sp.cos(q[2])
    c23, s23 = sp.cos(q[1] + q[2]), sp.sin(q[1] + q[2])
    u2, u3 = a2 + p21, a3 + p31
    M11 = (
        tensors["I1_22"] + tensors["I2_11"] * s2**2 + tensors["I2_22"] * c2**2 + tensors["I3_11"] * s23**2
        + tensors["I3_22"] * c23**2 + m1 * p13**2 + m2 * (u2**2 * c2**2 + p23**2)
        + m3 * ((a2 * c2 + u3 * c23) ** 2 + p33**2)
    )  # fmt: skip
    M12 = -m2 * p23 * u2 * s2 - m3 * p33 * (a2 * s2 + u3 * s23)
    M13 = -m3 * p33 * u3 * s23
    M22 = tensors["I2_33"] + tensors["I3_33"] + m2 * u2**2 + m3 * (a2**2 + u3**2 + 2 * a2 * u3 * c3)
    M23 = tensors["I3_33"] + m3 * (u3**2 + a2 * u3 * c3)
    M = sp.Matrix([[M11, M12, M13], [M12, M22, M23], [M13, M23, tensors["I3_33"] + m3 * u3**2]])
    gravity = sp.Matrix([0, m2 * g * u2 * c2 + m3 * g * (a2 * c2 + u3 * c23), m3 * g * u3 * c23])
    c1, s1 = sp.cos(q[0]), sp.sin(q[0])
    reach, high = a2 * c2 + a3 * c23, a2 * s2 + a3 * s23
    J = sp.Matrix([
        [-s1 * reach, -c1 * high, -a3 * s23 * c1], [c1 * reach, -s1 * high, -a3 * s23 * s1], [0, reach, a3 * c23],
        [0, s1, s1], [0, -c1, -c1], [1, 0, 0],
    ])  # fmt: skip
    del d1
    return Arm("spatial3", q, v, M, christoffel(M, q, v), gravity, J)


def cartesian2() -> Arm:
    """A prismatic x axis that carries a prismatic y axis."""
    x, y, dx, dy = sp.symbols("x y dx dy")
    m1, m2, g = sp.symbols("m1 m2 g")
    M = sp.Matrix([[m1 + m2, 0], [0, m2]])
    return Arm("cartesian2", [x, y], [dx, dy], M, sp.zeros(2, 2), sp.Matrix([0, m2 * g]), sp.eye(2))


def pendulum() -> Arm:
    """A point mass on a rod, hanging at zero."""
    q, v, m, l, g = sp.symbols("theta dtheta m l g")
    return Arm("pendulum", [q], [v], sp.Matrix([m * l**2]), sp.zeros(1, 1), sp.Matrix([m * g * l * sp.sin(q)]),
               sp.Matrix([l * sp.cos(q), l * sp.sin(q)]))  # fmt: skip


_MADE: dict[str, Arm] = {}


def arm(name: str) -> Arm:
    """An arm, made once."""
    makers: list[Callable[[], Arm]] = [planar2, planar3, spatial3, cartesian2, pendulum]
    if name not in _MADE:
        _MADE[name] = {maker.__name__: maker for maker in makers}[name]()
    return _MADE[name]


# ------------------------------------------------------------------ slips


@dataclass(frozen=True)
class Slip:
    """A slip made in an expression: its kind, what it costs, and the expression with it."""

    kind: str
    cost: float
    tree: Node


class SlipMaker:
    """Makes the slips of COSTS at random places; shares nothing with the search but the tree and the table of costs."""

    def __init__(self, random: Random, names: list[Name], coordinates: list[Name], angles: list[Node]) -> None:
        self.random, self.names, self.coordinates, self.angles = random, names, coordinates, angles
        self.makers: dict[str, Callable[[Node], Iterator[tuple[int, Node]]]] = {
            "sign": self._sign, "factor of two": self._factor_of_two, "exponent": self._exponent,
            "sine for cosine": self._sine, "wrong index": self._index, "dot": self._dot, "wrong number": self._number,
            "wrong symbol": self._symbol, "swapped indices": self._swapped, "missing factor": self._missing_factor,
            "extra factor": self._extra_factor, "missing term": self._missing_term, "extra term": self._extra_term,
        }  # fmt: skip

    def make(self, tree: Node) -> Slip | None:
        """One slip of a random kind, or None if none of the kinds tried fits."""
        kinds = self.random.sample(list(self.makers), len(self.makers))
        for kind in kinds:
            options = list(self.makers[kind](tree))
            if options:
                place, instead = self.random.choice(options)
                return Slip(kind, COSTS[kind], tidy_tree(rewrite(tree, {place: instead})))
        return None

    def _nodes(self, tree: Node) -> Iterator[Node]:
        """All nodes outside angles."""
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            yield node
            match node:
                case Sum(terms=below) | Prod(factors=below):
                    waiting += below
                case Neg(operand=below) | Power(base=below):
                    waiting.append(below)
                case Quot():
                    waiting += [node.top, node.bottom]

    def _terms(self, tree: Node) -> list[Node]:
        found = [term for node in self._nodes(tree) if isinstance(node, Sum) for term in node.terms]
        return found + ([tree] if not isinstance(tree, Sum) else [])

    def _factors(self, tree: Node) -> list[Node]:
        return [node for node in self._nodes(tree) if isinstance(node, Sym | Trig)]

    def _sign(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for term in self._terms(tree):
            if not (isinstance(term, Num) and term.value == 0):
                yield id(term), term.operand if isinstance(term, Neg) else Neg(term)

    def _factor_of_two(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for term in self._terms(tree):
            if not isinstance(term, Num):
                size = self.random.choice([number(2), Num(Fraction(1, 2))])
                yield id(term), Neg(Prod((size, term.operand))) if isinstance(term, Neg) else Prod((size, term))

    def _exponent(self, tree: Node) -> Iterator[tuple[int, Node]]:
        powers = [node for node in self._nodes(tree) if isinstance(node, Power) and node.exponent == 2]
        inside = {id(node.base) for node in powers}
        yield from ((id(node), node.base) for node in powers)
        yield from ((id(node), Power(node, Fraction(2))) for node in self._factors(tree) if id(node) not in inside)

    def _sine(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._factors(tree):
            if isinstance(node, Trig):
                yield id(node), Trig("sin" if node.function == "cos" else "cos", node.angle, node.short)

    def _index(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._factors(tree):
            if isinstance(node, Trig):
                yield id(node), Trig(node.function, self.random.choice(self.angles), node.short)
            elif isinstance(node, Sym) and node.name.sub:
                same = [n for n in self.names if n[0] == node.name[0] and n[2] == node.name[2] and n != node.name]
                yield from ((id(node), Sym(name)) for name in same if name.sub)

    def _dot(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._factors(tree):
            if isinstance(node, Sym) and node.name.dots:
                yield id(node), Sym(node.name._replace(dots=self.random.choice([0, 2])))

    def _number(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._nodes(tree):
            if isinstance(node, Num) and node.value not in (0, 1):
                yield id(node), Num(node.value * self.random.choice([3, Fraction(1, 3), Fraction(3, 2)]))

    def _symbol(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._factors(tree):
            if isinstance(node, Sym):
                yield id(node), Sym(self.random.choice([name for name in self.names if name != node.name]))

    def _swapped(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._nodes(tree):
            if isinstance(node, Prod):
                marked = [one for one in node.factors if isinstance(one, Sym) and one.name.sub and not one.name.dots]
                pairs = [
                    (a, b) for a in marked for b in marked if a.name.sub != b.name.sub and a.name.base != b.name.base
                ]
                for a, b in pairs:
                    new = [Sym(a.name._replace(sub=b.name.sub)), Sym(b.name._replace(sub=a.name.sub))]
                    if all(one.name in self.names for one in new):
                        yield id(node), rewrite(node, {id(a): new[0], id(b): new[1]})

    def _missing_factor(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._nodes(tree):
            if isinstance(node, Prod):
                yield from ((id(f), ONE) for f in node.factors if isinstance(f, Sym | Trig))

    def _extra_factor(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for term in self._terms(tree):
            if not isinstance(term, Num | Neg):
                yield id(term), Prod((term, Sym(self.random.choice(self.names))))

    def _missing_term(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._nodes(tree):
            if isinstance(node, Sum):
                yield from ((id(term), ZERO) for term in node.terms)

    def _extra_term(self, tree: Node) -> Iterator[tuple[int, Node]]:
        for node in self._nodes(tree):
            if isinstance(node, Sum):
                factors = [Sym(self.random.choice(self.names)) for _ in range(self.random.randint(1, 3))]
                if self.random.random() < 0.5 and self.angles:
                    factors.append(Trig("cos", self.random.choice(self.angles), True))  # type: ignore[arg-type]
                yield id(node), Sum((*node.terms, Prod(tuple(factors)) if len(factors) > 1 else factors[0]))


@pytest.fixture(scope="session")
def make_arm() -> Callable[[str], Arm]:
    return arm


@pytest.fixture(scope="session")
def slip_maker() -> type[SlipMaker]:
    return SlipMaker


def uses(tree: Node) -> set[Name]:
    return {node.name for node in walk(tree) if isinstance(node, Sym | Ref)}

"""A tree of links with a symbol for every number, so that one program serves every robot of the same build.

What is exactly zero in the geometry, and quarter turns, shape the program; any other length or angle is a parameter,
and of masses, centres of mass, tensors, rotors and gravity all are, zeros too.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from palpate.checks import Array
from palpate.equations.algebra.vectors import SYMMETRIC
from palpate.equations.model.mechanism import Mechanism, MovingLink
from palpate.equations.model.naming import AXES, ZERO, FixedRotation, NamedLink, Term, exact_turn, fewest_angles

INERTIAL = 11  # parameters of a link: mass, centre of mass, tensor (xx yy zz xy xz yz), rotor


class TreeSymbols:
    """A mechanism with a symbol for each of its numbers, and their values.

    Attributes:
        links, gravity: as the recursive algorithms read them.
        values: value of each parameter by name, in the order of the parameter vector: for each link mass (kg), centre
            of mass (m, link frame), tensor about it (kg·m², xx yy zz xy xz yz, link axes) and rotor inertia; gravity
            (m/s², base axes); then lengths (m) and fixed angles (rad) that are not zero.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.renamed: Mapping[str, str] = {}
        self.values: dict[str, float] = {}
        inertial = [self._inertial(i, link) for i, link in enumerate(mechanism.links)]
        self.gravity = tuple(self._symbol(f"g{AXES[k]}", mechanism.gravity[k]) for k in range(3))
        self.links = [
            NamedLink(link, i, self._vector(i, link.position), self._rotation(i, link.rotation), *inertial[i])
            for i, link in enumerate(mechanism.links)
        ]

    @property
    def vector(self) -> Array:
        """The parameter vector."""
        return np.array(list(self.values.values()))

    @property
    def build(self) -> str:
        """Description of all that shapes the program: everything but the values of parameters."""
        coupling = self.mechanism.coupling
        lines = [f"{one.link.kind} {one.link.parent} {one.link.axis} {one.link.sign}" for one in self.links]
        lines += [f"{one.position} {one.rotation}" for one in self.links]
        if coupling is not None:
            lines.append(f"{coupling.map.tolist()} {coupling.position_offset.tolist()}")
        return "\n".join(lines)

    def _symbol(self, name: str, value: float) -> Term:
        self.values[name] = float(value)
        return Term(Fraction(1), ((name, 1),))

    def _inertial(self, i: int, link: MovingLink) -> tuple[Term, tuple[Term, ...], tuple[tuple[Term, ...], ...], Term]:
        mass = self._symbol(f"m{i}", link.mass)
        com = tuple(self._symbol(f"r{i}{AXES[k]}", link.com[k]) for k in range(3))
        tensor = [[ZERO] * 3 for _ in range(3)]
        for r, c in SYMMETRIC:
            tensor[r][c] = tensor[c][r] = self._symbol(f"I{i}{AXES[r]}{AXES[c]}", link.inertia[r, c])
        return mass, com, tuple(map(tuple, tensor)), self._symbol(f"Ir{i}", link.armature)

    def _vector(self, i: int, value: Array) -> tuple[Term, ...]:
        return tuple(self._symbol(f"p{i}{AXES[k]}", value[k]) if value[k] != 0.0 else ZERO for k in range(3))

    def _rotation(self, i: int, rotation: Array) -> FixedRotation:
        if np.array_equal(rotation, np.round(rotation)):
            return FixedRotation(exact_turn(rotation))
        quarter, angles = fewest_angles(rotation)
        for axis, angle in angles:
            self._symbol(f"a{i}{AXES[axis]}", angle)
        return FixedRotation(exact_turn(quarter), tuple((axis, f"a{i}{AXES[axis]}") for axis, _ in angles))

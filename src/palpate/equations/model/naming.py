"""Names for a robot's lengths, masses and tensors, as a textbook would choose them.

d and a are the Denavit–Hartenberg offsets along and across an axis, l the lengths of an arm whose axes are all
parallel, m masses, r (or lc) centres of mass, I tensors about them. What is exactly zero in the model gets no name.
Thin rods and point masses are recognised: their centre of mass and tensor are written with l and m.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from palpate.checks import Array
from palpate.equations.model.mechanism import LinkFrame, Mechanism, MovingLink
from palpate.errors import InvalidInput, check_names, shortened
from palpate.spatial import quat_from_matrix

_BASE = (("x", "y", "z", "qw", "qx", "qy", "qz"), ("vx", "vy", "vz", "wx", "wy", "wz"))
Mode = Literal["symbols", "numbers", "all"]
MODES: tuple[Mode, ...] = ("symbols", "numbers", "all")
Group = Literal["mass", "length", "gravity", "angle"]
AXES = "xyz"
_RECOGNISED = 1e-9  # relative: rods and points of a file are exact up to its digits, and to the engine's floor


@dataclass(frozen=True)
class CoordinateNames:
    """Names, in order.

    Attributes:
        q: coordinates. A free base comes first: position x, y, z and quaternion qw, qx, qy, qz.
        v: velocities, "dq1" for q̇1; a free base's are vx, vy, vz (world axes) and wx, wy, wz (body axes).
        a: accelerations, "ddq1" for q̈1.
        tau: generalised forces.
        angles: which of q are angles of joints.
    """

    q: tuple[str, ...]
    v: tuple[str, ...]
    a: tuple[str, ...]
    tau: tuple[str, ...]
    angles: tuple[str, ...]

    @property
    def inputs(self) -> dict[str, tuple[str, ...]]:
        """Inputs that a program may take: q, v and a."""
        return {"q": self.q, "v": self.v, "a": self.a}

    @property
    def quaternion(self) -> tuple[str, ...]:
        """The names of a free base's quaternion, wxyz; none for a fixed base."""
        return _BASE[0][3:] if _BASE[0][3] in self.q else ()


def coordinates_of(mechanism: Mechanism, renamed: Mapping[str, str]) -> CoordinateNames:
    """q1 … qn for the joints (mimicking ones left out), renamed as asked."""
    coupling, base = mechanism.coupling, mechanism.floating
    kept = range(len(mechanism.links) + 5) if coupling is None else {int(index) for index in coupling.kept}
    first = 5 if base else 0  # a free base is one link and six velocities
    joints = [
        (i if base else i + 1, link)
        for i, link in enumerate(mechanism.links)
        if i + first in kept and link.kind != "free"
    ]
    names = [renamed.get(f"q{n}", f"q{n}") for n, _ in joints]
    angles = tuple(name for name, (_, link) in zip(names, joints) if link.kind == "revolute")
    q, v = (list(part) if base else [] for part in _BASE)
    a = [f"d{name}" for name in v]
    tau = [f"f{name[1]}" if name[0] == "v" else f"n{name[1]}" for name in v] + [f"tau{n}" for n, _ in joints]
    return CoordinateNames(
        (*q, *names), (*v, *(f"d{n}" for n in names)), (*a, *(f"dd{n}" for n in names)), tuple(tau), angles
    )


@dataclass(frozen=True)
class Term:
    """coefficient · Π name^power: an entry of a vector or tensor."""

    coefficient: Fraction
    powers: tuple[tuple[str, int], ...] = ()

    def __mul__(self, other: Term) -> Term:
        powers = Counter(dict(self.powers)) + Counter(dict(other.powers))
        return Term(self.coefficient * other.coefficient, tuple(sorted(powers.items())))

    def scaled(self, factor: Fraction | int) -> Term:
        """The term times a number."""
        return Term(self.coefficient * factor, self.powers)


ZERO, ONE = Term(Fraction(0)), Term(Fraction(1))
_WHOLE = {0: ZERO, 1: ONE, -1: Term(Fraction(-1))}


def tidy(value: float) -> float:
    """The value without the last digits' rounding, which a model file's reader leaves behind."""
    return float(f"{value:.13g}")


def number(value: float) -> Term:
    """A number with the digits it was written with."""
    return Term(Fraction(repr(tidy(value))))


@dataclass(frozen=True)
class FixedRotation:
    """A fixed rotation: `matrix` (its entries terms), then elementary turns by named angles about x, y or z."""

    matrix: tuple[tuple[Term, ...], ...]
    angles: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class NamedConstant:
    """A named constant: its value in SI units, and what it is."""

    name: str
    value: float
    group: Group
    unit: str
    meaning: str


@dataclass(frozen=True)
class NamedFrame:
    """A frame on a link, with named lengths."""

    link: int
    position: tuple[Term, ...]
    rotation: FixedRotation


@dataclass(frozen=True)
class NamedLink:
    """A link of the mechanism with names for its numbers."""

    link: MovingLink
    number: int
    position: tuple[Term, ...]
    rotation: FixedRotation
    mass: Term
    com: tuple[Term, ...]
    inertia: tuple[tuple[Term, ...], ...]
    armature: Term


@dataclass
class NamedModel:
    """A mechanism with names: what both engines read."""

    mechanism: Mechanism
    mode: Mode
    renamed: Mapping[str, str]
    parameters: dict[str, NamedConstant] = field(default_factory=dict)
    links: list[NamedLink] = field(default_factory=list)
    gravity: tuple[Term, ...] = ()
    _known: dict[tuple[int, int], list[tuple[float, Term]]] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        first = 0 if self.mechanism.floating else 1  # joints count from 1; a free base is link 0
        self.numbers = list(range(first, first + len(self.mechanism.links)))
        self.planar = _axes_parallel(self.mechanism)
        # Geometry first: rods and points are written with its names.
        positions = [self.vector(link.parent, link.position, i) for i, link in enumerate(self.mechanism.links)]
        self.tool = self.named_frame(self.mechanism.tool)
        for i, link in enumerate(self.mechanism.links):
            self.links.append(self._named(i, link, positions[i]))
        self.gravity = self._gravity()
        coordinates = {f"q{n}" for n in self.numbers if n}
        check_names(f"symbol of {self.mechanism.name}", self.renamed, self._asked | coordinates)
        for symbol, name in self.renamed.items():
            if not name.isidentifier():
                raise InvalidInput(
                    f"the name {shortened(name)!r} for {symbol} must be letters, digits and _, a letter first"
                )

    # ------------------------------------------------------------------ what stands where

    def named_frame(self, frame: LinkFrame) -> NamedFrame:
        """A frame on a link, its lengths named like the link's own."""
        position = self.vector(frame.link, frame.position, None)
        return NamedFrame(frame.link, position, self._rotation(frame.rotation, "t"))

    def vector(self, owner: int, value: Array, child: int | None) -> tuple[Term, ...]:
        """A position in the frame of link `owner` (−1: the base) with a name for each component that is not zero."""
        if self.mode == "numbers":
            return tuple(number(x) for x in value)
        return tuple(self._component(owner, value, axis, child) for axis in range(3))

    def _component(self, owner: int, value: Array, axis: int, child: int | None) -> Term:
        x = float(value[axis])
        if abs(x) < 1e-12 * self.mechanism.size:
            return ZERO
        known = self._known.setdefault((owner, axis), [])
        for other, term in known:
            if abs(x - other) < 1e-12 * self.mechanism.size:
                return term
        name, sign = self._offset_name(owner, value, axis, child)
        n = self._number(owner)
        segment = f"link {n}: from its joint to the next" if n else "base: from its origin to the joint"
        term = self.symbol(name, sign * x, "length", "m", f"{segment}, along {AXES[axis]}").scaled(sign)
        known.append((x, term))
        return term

    def _offset_name(self, owner: int, value: Array, axis: int, child: int | None) -> tuple[str, int]:
        """A name for one component of an offset, and the sign with which it counts."""
        n = self._number(owner)
        joint_axis = self.mechanism.links[owner].axis if owner >= 0 else None
        next_axis = np.zeros(3)
        if child is not None and not self.planar:
            after = self.mechanism.links[child]
            next_axis = after.sign * after.rotation[:, after.axis]
        used = [k for k in range(3) if abs(value[k]) > 1e-12 * self.mechanism.size]
        across = [k for k in used if k != joint_axis and abs(next_axis[k]) != 1.0]
        if axis == joint_axis:
            return self._free(f"d{n}", f"{AXES[axis]}{n}"), 1
        if abs(next_axis[axis]) == 1.0:
            return self._free(f"d{self.numbers[child or 0]}", f"{AXES[axis]}{n}"), int(next_axis[axis])
        if len(across) == 1:
            sign = int(np.sign(value[axis])) if self.planar else 1
            return self._free(f"{'l' if self.planar else 'a'}{n}", f"{AXES[axis]}{n}"), sign
        return self._free(f"{AXES[axis]}{n}"), 1

    def _free(self, *names: str) -> str:
        """The first name not in use yet, or the last with a letter after it."""
        further = (f"{names[-1]}{letter}" for letter in _letters())
        return next(name for name in (*names, *further) if name not in self._asked)

    def _number(self, owner: int) -> int:
        return self.numbers[owner] if owner >= 0 else 0

    def symbol(self, name: str, value: float, group: Group, unit: str, meaning: str) -> Term:
        """A named constant as a term; the name may have been changed by the caller."""
        self._asked.add(name)
        name, value = self.renamed.get(name, name), tidy(value)
        known = self.parameters.setdefault(name, NamedConstant(name, value, group, unit, meaning))
        if abs(known.value - value) > 1e-12 * max(abs(value), abs(known.value)):
            raise InvalidInput(
                f"{name!r} cannot stand for both {known.value:g} and {value:g} {unit} ({known.meaning}; {meaning})",
                hint="give one name only to parameters of equal value",
            )
        return Term(Fraction(1), ((name, 1),))

    # ------------------------------------------------------------------ mass

    def _named(self, index: int, link: MovingLink, position: tuple[Term, ...]) -> NamedLink:
        n = self.numbers[index]
        rotation = self._rotation(link.rotation, str(n))
        mass, com, inertia = self._mass(index, link)
        armature = ZERO
        if link.armature:
            unit = "kg" if link.kind == "prismatic" else "kg·m²"
            armature = self._value(f"Ir{n}", link.armature, "mass", unit, f"rotor of joint {n}, felt at the joint")
        return NamedLink(link, n, position, rotation, mass, com, inertia, armature)

    def _mass(self, index: int, link: MovingLink) -> tuple[Term, tuple[Term, ...], tuple[tuple[Term, ...], ...]]:
        n = self.numbers[index]
        if link.mass == 0.0:
            return ZERO, (ZERO,) * 3, ((ZERO,) * 3,) * 3
        mass = self._value(f"m{n}", link.mass, "mass", "kg", f"mass of link {n}")
        shape = self._recognised(index, link, mass) if self.mode == "symbols" else None
        if shape is not None:
            return mass, *shape
        return mass, self._com(index, link), self._inertia(index, link)

    def _recognised(
        self, index: int, link: MovingLink, mass: Term
    ) -> tuple[tuple[Term, ...], tuple[tuple[Term, ...], ...]] | None:
        """Centre of mass and tensor of a thin rod or a point mass, if the link is one."""
        least = _RECOGNISED * link.mass * float(link.com @ link.com) + 1e-14
        for axis, known in ((k, self._known.get((index, k), [])) for k in range(3)):
            for value, length in known:
                along = value * np.eye(3)[axis]
                rod = link.mass * value**2 / 12 * (np.eye(3) - np.outer(np.eye(3)[axis], np.eye(3)[axis]))
                if _same(link.com, along) and np.abs(link.inertia).max() < least:
                    return _times(length, axis), ((ZERO,) * 3,) * 3
                if _same(link.com, along / 2) and np.abs(link.inertia - rod).max() < least:
                    across = (mass * length * length).scaled(Fraction(1, 12))
                    tensor = tuple(tuple(across if i == j != axis else ZERO for j in range(3)) for i in range(3))
                    return _times(length.scaled(Fraction(1, 2)), axis), tensor
        return None

    def _com(self, index: int, link: MovingLink) -> tuple[Term, ...]:
        n = self.numbers[index]
        present = [k for k in range(3) if abs(link.com[k]) > 1e-12 * self.mechanism.size]
        single = len(present) == 1 and present[0] != link.axis and self.planar and self.mode == "symbols"
        entries = [ZERO] * 3
        for k in range(3) if self.mode == "all" else present:
            x, meaning = float(link.com[k]), f"centre of mass of link {n}, along {AXES[k]}"
            sign = int(np.sign(x)) if single else 1
            name = f"lc{n}" if single else f"r{n}{AXES[k]}"
            entries[k] = self._value(name, sign * x, "length", "m", meaning).scaled(sign)
        return tuple(entries)

    def _inertia(self, index: int, link: MovingLink) -> tuple[tuple[Term, ...], ...]:
        n = self.numbers[index]
        least = 1e-11 * link.mass * self.mechanism.size**2
        rows = [[ZERO] * 3 for _ in range(3)]
        for i, j in itertools.combinations_with_replacement(range(3), 2):
            value = float(link.inertia[i, j])
            if abs(value) > least or self.mode == "all":
                meaning = f"tensor of link {n} about its centre of mass, {AXES[i]}{AXES[j]}"
                simple = self.planar and self.mode == "symbols" and i == j == link.axis
                name = f"I{n}" if simple else f"I{n}{AXES[i]}{AXES[j]}"
                rows[i][j] = rows[j][i] = self._value(name, value, "mass", "kg·m²", meaning)
        return tuple(tuple(row) for row in rows)

    def _value(self, name: str, value: float, group: Group, unit: str, meaning: str) -> Term:
        return number(value) if self.mode == "numbers" else self.symbol(name, value, group, unit, meaning)

    # ------------------------------------------------------------------ gravity and fixed turns

    def _gravity(self) -> tuple[Term, ...]:
        entries, present = [ZERO] * 3, [k for k in range(3) if self.mechanism.gravity[k] != 0.0]
        for k in present:
            value, sign = float(self.mechanism.gravity[k]), 1
            name, meaning = f"g{AXES[k]}", f"gravity along {AXES[k]} of the base"
            if len(present) == 1:
                name, meaning, sign = "g", "acceleration of free fall", int(np.sign(value))
            entries[k] = self._value(name, sign * value, "gravity", "m/s²", meaning).scaled(sign)
        return tuple(entries)

    def _rotation(self, rotation: Array, suffix: str) -> FixedRotation:
        """A fixed rotation: quarter turns exactly, other angles by name, or as numbers."""
        if np.array_equal(rotation, np.round(rotation)):
            return FixedRotation(exact_turn(rotation))
        if self.mode == "numbers":
            return FixedRotation(tuple(tuple(Term(x) for x in row) for row in exact_rotation(rotation)))
        quarter, angles = fewest_angles(rotation)
        named = []
        for axis, angle in angles:
            name = self._reuse(f"{('alpha', 'beta', 'gamma')[axis]}{suffix}", angle)
            meaning = f"fixed angle about {AXES[axis]} before joint {suffix}".replace("before joint t", "of the frame")
            self.symbol(name, angle, "angle", "rad", meaning)
            named.append((axis, self.renamed.get(name, name)))
        return FixedRotation(exact_turn(quarter), tuple(named))

    def _reuse(self, name: str, angle: float) -> str:
        """The name itself, or a further one where it already stands for another angle."""
        while name in self.parameters and abs(self.parameters[name].value - angle) > 1e-12:
            name += "b"
        return name


def _letters() -> list[str]:
    return [a + b for a in ("", *"bcdefghij") for b in "bcdefghijklmnopqrstuvwxyz"]


def _axes_parallel(mechanism: Mechanism) -> bool:
    """Whether every joint that turns does so about one direction."""
    directions = [axis for link, axis in zip(mechanism.links, mechanism.axes) if link.kind == "revolute"]
    parallel = all(abs(abs(d @ directions[0]) - 1) < 1e-9 for d in directions)
    return parallel and not mechanism.floating


def _times(term: Term, axis: int) -> tuple[Term, ...]:
    return tuple(term if k == axis else ZERO for k in range(3))


def _same(a: Array, b: Array) -> bool:
    return bool(np.abs(a - b).max() <= _RECOGNISED * max(float(np.abs(a).max()), 1e-12))


def exact_turn(matrix: Array) -> tuple[tuple[Term, ...], ...]:
    """A quarter turn as terms."""
    return tuple(tuple(_WHOLE[round(float(x))] for x in row) for row in matrix)


def fewest_angles(rotation: Array) -> tuple[Array, list[tuple[int, float]]]:
    """A quarter turn Q and the angles about z, y, x that follow it, as few as there are."""
    best: tuple[Array, list[tuple[int, float]]] | None = None
    for quarter in _quarter_turns():
        tilt = quarter.T @ rotation
        pitch = float(np.arctan2(-tilt[2, 0], np.hypot(tilt[0, 0], tilt[1, 0])))
        yaw, roll = float(np.arctan2(tilt[1, 0], tilt[0, 0])), float(np.arctan2(tilt[2, 1], tilt[2, 2]))
        angles = [(a, x) for a, x in ((2, yaw), (1, pitch), (0, roll)) if abs(x) > 1e-10]
        if abs(pitch) < 1.2 and (best is None or _cost(angles) < _cost(best[1])):
            best = quarter, angles
    return best if best is not None else (np.eye(3), [])


def exact_rotation(rotation: Array) -> list[list[Fraction]]:
    """A rotation within 1e-13 of the given one whose entries are fractions with R Rᵀ = 1 exactly.

    Rounded entries would leave 1e-16 of what should cancel, and expressions full of it.
    """
    w, x, y, z = (round(float(k) * 2**44) for k in quat_from_matrix(rotation))
    square = w * w + x * x + y * y + z * z
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return [[Fraction(k, square) for k in row] for row in rows]


def _cost(angles: list[tuple[int, float]]) -> tuple[int, float]:
    return len(angles), round(sum(abs(x) for _, x in angles), 9)


def _quarter_turns() -> list[Array]:
    """The 24 rotations with entries 0 and ±1, the identity first."""
    rotations = [np.eye(3)]
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            matrix = np.diag(signs) @ np.eye(3)[list(order)]
            if np.linalg.det(matrix) > 0 and not np.array_equal(matrix, np.eye(3)):
                rotations.append(matrix)
    return rotations

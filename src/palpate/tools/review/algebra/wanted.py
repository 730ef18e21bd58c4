"""Quantities that can be checked: their names, their numbers from a robot, and the fitting of shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from palpate.errors import BadShape, check_names
from palpate.tools.review.algebra.tree import Grid, Name, shape_text


@dataclass(frozen=True)
class QuantityKind:
    """A kind of quantity.

    Attributes:
        title: in words.
        left, right: whether Sᵀ stands before it and S after it when q = S θ + const replaces the coordinates.
        labels: what people write on the left of the equals sign.
        numeric: what a numeric robot says it is, (robot, q, q̇, q̈) to an array.
    """

    title: str
    left: bool = False
    right: bool = False
    labels: tuple[str, ...] = ()
    numeric: Callable[[Any, Any, Any, Any], Any] | None = None


def _column(values: Any) -> Any:
    return np.asarray(values, dtype=float).reshape(-1, 1)


def _coriolis_force(robot: Any, q: Any, v: Any, _: Any) -> Any:
    return _column(robot.bias(q, v) - robot.gravity(q))


def _pose(robot: Any, q: Any, *_: Any) -> Any:
    pose = robot.pose(q)
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = pose.rotation, pose.position
    return made


QUANTITIES: dict[str, QuantityKind] = {
    "FK": QuantityKind("forward kinematics", labels=("FK", "fk", "p", "x", "f"), numeric=_pose),
    "J": QuantityKind("the Jacobian", right=True, labels=("J",), numeric=lambda r, q, *_: r.jacobian(q)),
    "Jdot": QuantityKind("the rate of the Jacobian", right=True, labels=("Jdot", "dJ")),
    "h": QuantityKind("the drift J̇ q̇", labels=("h",),
                  numeric=lambda r, q, v, _: _column(r.jacobian_drift(q, v))),
    "M": QuantityKind("the mass matrix", True, True, ("M", "B", "H", "D"), lambda r, q, *_: r.mass_matrix(q)),
    "C": QuantityKind("the Coriolis matrix", True, True, ("C",), lambda r, q, v, _: r.coriolis_matrix(q, v)),
    "c": QuantityKind("the Coriolis and centrifugal forces C q̇", True, labels=("c", "n", "b"),
                  numeric=_coriolis_force),
    "g": QuantityKind("the gravity forces", True, labels=("g", "G"),
                  numeric=lambda r, q, *_: _column(r.gravity(q))),
    "T": QuantityKind("the kinetic energy", labels=("T", "KE", "K", "E_kin"),
                  numeric=lambda r, q, v, _: r.kinetic_energy(q, v)),
    "V": QuantityKind("the potential energy", labels=("V", "PE", "U", "P", "E_pot"),
                  numeric=lambda r, q, *_: r.potential_energy(q)),
    "tau": QuantityKind("the joint torques", True, labels=("tau", "u", "Q"),
                    numeric=lambda r, q, v, a: _column(r.inverse_dynamics(q, v, a, losses=False))),
    "equation": QuantityKind("the equations of motion", True),
    "expression": QuantityKind("the expression"),
}  # fmt: skip


def quantity(what: str) -> QuantityKind:
    """The kind of quantity of this name.

    Raises:
        UnknownName: with the names there are.
    """
    check_names("quantity", [what], QUANTITIES)
    return QUANTITIES[what]


def torque_names(coordinates: list[Name]) -> list[Name]:
    """τ1, τ2, … of the joints."""
    return [Name("tau", name.sub or str(number)) for number, name in enumerate(coordinates, 1)]


def label_quantity(label: Name) -> str | None:
    """Which quantity a name on the left of an equals sign is, if any."""
    text = label.base + (f"_{label.sub}" if label.sub else "")
    if label == Name("J", "", 1):
        return "Jdot"
    matches = [what for what, kind in QUANTITIES.items() if text in kind.labels and not label.dots]
    return matches[0] if matches else None


@dataclass(frozen=True)
class Selection:
    """The part of a quantity that is given.

    Attributes:
        words: which part, in words; empty for all of it.
        rows, columns: of the quantity, counted from 0.
        transposed: whether the part is given as its transpose.
    """

    words: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    transposed: bool = False

    def part(self, whole: Grid) -> Grid:
        """This part of a quantity, in the shape in which it is given."""
        part = whole.part(self.rows, self.columns)
        return part.transposed() if self.transposed else part

    def index(self, row: int, column: int) -> tuple[int, int]:
        """The entry of the quantity that an entry of the part is."""
        return (self.rows[column], self.columns[row]) if self.transposed else (self.rows[row], self.columns[column])


def fitting_selections(given: tuple[int, int], shape: tuple[int, int], what: str) -> list[Selection]:
    """The parts of a quantity that a given shape can mean.

    Raises:
        BadShape: no part has this shape.
    """
    rows, columns = tuple(range(shape[0])), tuple(range(shape[1]))
    if given == shape:
        return [Selection("", rows, columns)]
    if given == shape[::-1] and 1 in shape:
        return [Selection("read as its transpose", rows, columns, transposed=True)]
    candidates = list(_parts(given, shape, what))
    if not candidates:
        raise BadShape(
            f"{quantity(what).title} is {shape_text(shape)}, the one given is {shape_text(given)}",
            hint="give all of its entries; a Jacobian or a position may also have its x, y or z rows only",
        )
    return candidates


def _parts(given: tuple[int, int], shape: tuple[int, int], what: str) -> Iterable[Selection]:
    every = tuple(range(shape[1]))
    if what in ("equation", "tau", "g", "c") and given[1] == shape[1] == 1 and given[0] < shape[0]:
        for rows in combinations(range(shape[0]), given[0]):
            yield Selection(f"equation {' and '.join(str(row + 1) for row in rows)} of {shape[0]}", rows, every)
    if what == "FK" and shape == (4, 4):
        yield from _pose_parts(given)
    elif what in ("J", "Jdot", "h", "FK") and given[1] == shape[1] and given[0] < shape[0]:
        linear = tuple(range(min(3, shape[0])))
        if given[0] == 3:
            yield Selection("its linear rows", linear, every)
            yield from [Selection("its angular rows", (3, 4, 5), every)] if shape[0] == 6 else []
        groups = combinations(range(shape[0]), given[0]) if given[0] < 3 else ()
        for rows in groups:
            yield Selection(f"rows {' and '.join(str(row + 1) for row in rows)} of {shape[0]}", rows, every)
        if given[0] == 3 and shape[0] == 6:  # a planar arm: two directions and the angle
            for pair, angle in ((pair, angle) for pair in combinations(range(3), 2) for angle in range(3, 6)):
                yield Selection(f"rows {pair[0] + 1}, {pair[1] + 1} and {angle + 1} of 6", (*pair, angle), every)


def _pose_parts(given: tuple[int, int]) -> Iterable[Selection]:
    if given == (3, 3):
        yield Selection("its rotation", (0, 1, 2), (0, 1, 2))
    elif given == (3, 1):
        yield Selection("its position", (0, 1, 2), (3,))
    elif given[0] == 1 and given[1] in (2, 3):
        for rows in combinations(range(3), given[1]):
            words = f"{' and '.join('xyz'[row] for row in rows)} of its position, read as its transpose"
            yield Selection(words, rows, (3,), transposed=True)
    elif given[0] < 3 and given[1] == 1:
        for rows in combinations(range(3), given[0]):
            yield Selection(f"{' and '.join('xyz'[row] for row in rows)} of its position", rows, (3,))

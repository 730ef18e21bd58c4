"""What can be checked: how it changes with the coordinates, what people call it, what a robot says it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from palpate.errors import UnknownName
from palpate.review.algebra.tree import Name

Numeric = Callable[[Any, Any, Any, Any], Any]  # (robot, q, q̇, q̈) to an array


@dataclass(frozen=True)
class Quantity:
    """A kind of quantity.

    Attributes:
        title: in words.
        left, right: whether Sᵀ stands before it and S after it when q = S θ + const replaces the coordinates.
        labels: what people write on the left of the equals sign.
        numeric: what a numeric robot says it is.
    """

    title: str
    left: bool = False
    right: bool = False
    labels: tuple[str, ...] = ()
    numeric: Numeric | None = None


def _column(values: Any) -> Any:
    return np.asarray(values, dtype=float).reshape(-1, 1)


def _coriolis_force(robot: Any, q: Any, v: Any, _: Any) -> Any:
    return _column(robot.bias(q, v) - robot.gravity(q))


def _pose(robot: Any, q: Any, *_: Any) -> Any:
    pose = robot.pose(q)
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = pose.rotation, pose.position
    return made


QUANTITIES: dict[str, Quantity] = {
    "FK": Quantity("forward kinematics", labels=("FK", "fk", "p", "x", "f"), numeric=_pose),
    "J": Quantity("the Jacobian", right=True, labels=("J",), numeric=lambda r, q, *_: r.jacobian(q)),
    "Jdot": Quantity("the rate of the Jacobian", right=True, labels=("Jdot", "dJ")),
    "h": Quantity("the drift J̇ q̇", labels=("h",),
                  numeric=lambda r, q, v, _: _column(r.jacobian_drift(q, v))),
    "M": Quantity("the mass matrix", True, True, ("M", "B", "H", "D"), lambda r, q, *_: r.mass_matrix(q)),
    "C": Quantity("the Coriolis matrix", True, True, ("C",), lambda r, q, v, _: r.coriolis_matrix(q, v)),
    "c": Quantity("the Coriolis and centrifugal forces C q̇", True, labels=("c", "n", "b"),
                  numeric=_coriolis_force),
    "g": Quantity("the gravity forces", True, labels=("g", "G"),
                  numeric=lambda r, q, *_: _column(r.gravity(q))),
    "T": Quantity("the kinetic energy", labels=("T", "KE", "K", "E_kin"),
                  numeric=lambda r, q, v, _: r.kinetic_energy(q, v)),
    "V": Quantity("the potential energy", labels=("V", "PE", "U", "P", "E_pot"),
                  numeric=lambda r, q, *_: r.potential_energy(q)),
    "tau": Quantity("the joint torques", True, labels=("tau", "u", "Q"),
                    numeric=lambda r, q, v, a: _column(r.inverse_dynamics(q, v, a, losses=False))),
    "equation": Quantity("the equations of motion", True),
    "expression": Quantity("the expression"),
}  # fmt: skip


def quantity(what: str) -> Quantity:
    """The kind of quantity of this name.

    Raises:
        UnknownName: with the names there are.
    """
    if what not in QUANTITIES:
        raise UnknownName("quantity", what, QUANTITIES)
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

"""Quantities of a derivation, by name: symbol, meaning, on what it depends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palpate.errors import InvalidInput, UnknownName, check_names


@dataclass(frozen=True)
class Quantity:
    """One quantity of a derivation: its name, the symbol it is printed with, and one line about it."""

    name: str
    symbol: str
    meaning: str


QUANTITIES: dict[str, Quantity] = {
    q.name: q
    for q in (
        Quantity("position", "p", "position of the tool frame in the base frame"),
        Quantity("rotation", "R", "rotation of the tool frame in the base frame"),
        Quantity("J", "J", "geometric Jacobian of the tool frame, rows [linear; angular], base axes"),
        Quantity("Ja", "J_A", "analytical Jacobian of the tool frame"),
        Quantity("Jdot", "dJ", "rate of the geometric Jacobian"),
        Quantity("drift", "dJ dq", "J̇ q̇, the tool's acceleration when q̈ = 0"),
        Quantity("T", "T", "kinetic energy"),
        Quantity("V", "V", "potential energy of gravity, zero at the base's origin"),
        Quantity("M", "M", "mass matrix"),
        Quantity("C", "C", "Coriolis matrix (Christoffel symbols), Ṁ − 2C skew-symmetric"),
        Quantity("g", "g", "gravity force ∂V/∂q"),
        Quantity("bias", "h", "C q̇ + g"),
        Quantity("tau", "tau", "generalised forces M q̈ + C q̇ + g"),
        Quantity("Lambda", "Lambda", "task-space inertia (J M⁻¹ Jᵀ)⁻¹"),
        Quantity("mu", "mu", "task-space Coriolis force Λ (J M⁻¹ C q̇ − J̇ q̇)"),
        Quantity("p", "p_g", "task-space gravity force Λ J M⁻¹ g"),
    )
}
LINK_QUANTITIES: dict[str, str] = {
    "p_c": "centre of mass of link {} in the base frame",
    "J_P": "translational Jacobian of link {}, at its centre of mass",
    "J_O": "rotational Jacobian of link {}",
    "I_": "tensor of link {} about its centre of mass, base axes",
    "p_": "origin of link {}'s frame in the base frame",
    "R_": "rotation of link {}'s frame in the base frame",
}
_LINK = re.compile(rf"({'|'.join(LINK_QUANTITIES)})(\d+)")
TASK_ROWS = ("x", "y", "z", "rx", "ry", "rz")
DYNAMICS = ("M", "C", "g")


def quantity(name: str, links: Sequence[int]) -> Quantity:
    """Look a quantity up; `links` are the numbers a link quantity may end with."""
    if name in QUANTITIES:
        return QUANTITIES[name]
    match = _LINK.fullmatch(name)
    if match and int(match[2]) in links:
        return Quantity(name, name, LINK_QUANTITIES[match[1]].format(match[2]))
    numbers = [f"{prefix}{links[0]}" for prefix in LINK_QUANTITIES] if links else []
    raise UnknownName("quantity", name, [*QUANTITIES, *numbers])


_MOVING = ("C", "bias", "drift", "Jdot", "T", "mu")


def arguments(names: Sequence[str]) -> tuple[str, ...]:
    """Arguments of functions of these quantities: q, with v for what depends on velocities, with a for torques."""
    if "tau" in names:
        return ("q", "v", "a")
    return ("q", "v") if any(name in _MOVING for name in names) else ("q",)


def link_parts(name: str) -> tuple[str, int] | None:
    """("p_c", 2) for "p_c2"; None for a quantity that is not a link's."""
    match = _LINK.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def task_rows(names: Sequence[str] | None, moving: Sequence[bool], freedoms: int) -> list[int]:
    """Rows of the Jacobian that make the task.

    Args:
        names: among x, y, z, rx, ry, rz; None chooses the positions that move, or all six for six joints and more.
        moving: whether each row of the Jacobian is anything but zero.
        freedoms: how many independent coordinates there are.
    """
    if names is None:
        if freedoms >= 6 and all(moving):
            return list(range(6))
        rows = [row for row in range(3) if moving[row]] or [row for row in range(6) if moving[row]]
        return rows[:freedoms]
    check_names("task direction", names, TASK_ROWS)
    rows = [TASK_ROWS.index(name) for name in names]
    still = [TASK_ROWS[row] for row in rows if not moving[row]]
    if still:
        raise InvalidInput(f"the tool never moves along {', '.join(still)}", hint="leave it out of the task")
    if len(set(rows)) != len(rows) or not rows or len(rows) > freedoms:
        raise InvalidInput(f"a task of {len(rows)} direction(s) needs as many different ones, at most {freedoms}")
    return rows


def euler_rates(R: Any, angular: Any, euler: str) -> tuple[Any, Any, Any, Any, Any, Any]:
    """Rates of Euler angles from the rows of ω = J_O q̇ and the entries of R, in any arithmetic.

    Returns:
        a, b, s, first, middle, last: with c² = a² + b² the square of the middle angle's cosine and s its sine, the
        rates are first − s last/c², middle/c and last/c².
    """
    x, y, z = angular
    if euler == "XYZ":
        a, b, s = R[1][2], R[2][2], R[0][2]
        return a, b, s, x, [b * v - a * w for v, w in zip(y, z)], [a * v + b * w for v, w in zip(y, z)]
    if euler == "ZYX":
        a, b, s = R[0][0], R[1][0], R[2][0]
        return a, b, s, z, [a * v - b * w for v, w in zip(y, x)], [a * w + b * v for v, w in zip(y, x)]
    raise InvalidInput(f"Euler angles are 'XYZ' or 'ZYX' here, got {euler!r}")

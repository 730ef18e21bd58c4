"""Document 002: the planar arm, its equations, and the arm on the wall."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import sympy as sp

import palpate as pp
from palpate.checks import Array
from palpate.tools.contact import Plane
from palpate.tools.derive import Derivation
from palpate_documents.compare import remembered

XY = np.eye(6)[:2]
ON_WALL: dict[str, Any] = {"symbols": ["g"], "coordinates": ["theta_1"]}
FREE: dict[str, Any] = {"symbols": ["g"], "coordinates": ["theta_1", "theta_2"]}
_THETA = {f"{d}q{i}": f"{d}theta_{i}" for d in ("", "d", "dd") for i in (1, 2)}


@remembered
def arm() -> pp.Robot:
    """The arm; angles from x, gravity along −y."""
    return pp.load_robot("planar2")


@remembered
def equations() -> Derivation:
    """Its equations in l, m and g."""
    return pp.derive(arm(), names={"l1": "l", "l2": "l", "m1": "m", "m2": "m"})


def unit(expression: Any) -> Any:
    """With unit links and masses, and θ for q."""
    put = {sp.Symbol("l"): 1, sp.Symbol("m"): 1} | {sp.Symbol(a): sp.Symbol(b) for a, b in _THETA.items()}
    return expression.subs(put, simultaneous=True)


def along_wall(expression: Any) -> Any:
    """With θ2 = −2 θ1 and its rates."""
    return expression.subs({sp.Symbol(f"{d}theta_2"): -2 * sp.Symbol(f"{d}theta_1") for d in ("dd", "d", "")})


@remembered
def torques(from_y: bool = False) -> Any:
    """Torques of the free arm; with θ1 from the y axis if asked for."""
    torque = unit(equations()["tau"])
    return torque.subs(sp.Symbol("theta_1"), sp.Symbol("theta_1") + sp.pi / 2) if from_y else torque


@remembered
def reduced() -> Any:
    """The equation of motion left on the wall y = 0, from `Derivation.constrain`."""
    wall = equations().constrain("l*sin(q1) + l*sin(q1 + q2)", solve={"q2": "-2*q1"})
    return unit(wall.reduced)


def jacobian(q: Any, from_y: bool = False) -> Array:
    """J, x and y rows; with θ1 counted from the y axis if asked for."""
    return XY @ arm().jacobian(np.add(q, (pi / 2 if from_y else 0.0, 0.0)))


def wall() -> pp.contact.Contact:
    """The wall y = 0, two-sided: the tip slides along it without friction."""
    return pp.contact.Contact(Plane(normal=(0, 1, 0)), two_sided=True, name="wall")


def on_wall(theta: float, rate: float, torque: Any) -> pp.contact.Constrained:
    """The arm on the wall y = 0."""
    return pp.contact.constrained_dynamics(arm(), [theta, -2 * theta], [rate, -2 * rate], torque, [wall()])

"""Document 001: the arm of exercise 1, its start, and the stops that follow from it."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

import palpate as pp
from palpate.checks import Array
from palpate.tools.derive import Derivation
from palpate_documents.compare import remembered
from palpate_documents.stop_law import PrintedStop, printed_stop

XY = np.eye(6)[:2]
Q0, V0 = np.array([0.0, pi / 2, pi / 2]), np.array([pi, pi, 0.0])
BOUNDS = np.array([15.0, 10.0, 10.0]) * pi
PRINTED_J0 = np.array([[-1.0, -1.0, 0.0], [0.0, 1.0, 1.0]])
EQUAL = {"l1": "L", "l2": "L", "l3": "L", "m1": "m", "m2": "m", "m3": "m"}
RATES: dict[str, Any] = {"coordinates": ["q1", "q2", "q3"]}


@remembered
def arm() -> pp.Robot:
    """The planar 3R arm of exercise 1, L = 1 m."""
    return pp.load_robot("planar3", length=1.0)


@remembered
def rods() -> Derivation:
    """Its equations in L and m, all links equal."""
    return pp.derive(pp.load_robot("planar3"), names=EQUAL)


def jacobian(q: Any = Q0) -> Array:
    """J(q), x and y rows."""
    return XY @ arm().jacobian(q)


def drift(v: Any, q: Any = Q0) -> Array:
    """h = J̇ q̇, x and y."""
    return XY @ arm().jacobian_drift(q, v)


def true_stop(scale: float, method: Any = "optimal") -> pp.control.Stop:
    """The stop of the robot itself from `scale` times the document's speed."""
    v = scale * V0
    return pp.control.fastest_stop(jacobian(), drift(v), v, BOUNDS, method=method)


def true_law(scale: float) -> PrintedStop:
    """The stop by (5) and (6) for the robot itself."""
    return printed_stop(jacobian(), drift(scale * V0), scale * V0, BOUNDS)


def own_law(scale: float) -> PrintedStop:
    """The stop by (5) and (6) for the document's own J_0 and h_0."""
    return printed_stop(PRINTED_J0, drift(scale * V0), scale * V0, BOUNDS)


def own_stop(scale: float, method: Any = "optimal") -> pp.control.Stop:
    """The stop that follows from the document's own J_0 and h_0."""
    v = scale * V0
    return pp.control.fastest_stop(PRINTED_J0, drift(v), v, BOUNDS, method=method)


def scalar_rate(a: float, b: float, bound: float) -> float:
    """λ_i by (5) of one joint with given a and b of (3)."""
    return float(printed_stop(np.eye(2), [-b, 0.0], [-a, -1.0], [bound, 1e6]).rates[0])

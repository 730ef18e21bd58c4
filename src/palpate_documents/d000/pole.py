"""Document 000: the pole on the end-effector, its equations and a state to test them at."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import palpate as pp
from palpate.checks import Array
from palpate.tools.derive import derive_pole
from palpate_documents.compare import (
    remembered,
)

POLE = ["x_A", "y_A", "z_A", "x_AB", "y_AB"]
HEIGHT = {"z_{AB}": r"\sqrt{l^2 - x_{AB}^2 - y_{AB}^2}"}
PARAMETERS = ["m_e", "m_s", "l", "g", "f_x", "f_y", "f_z"]
XY, RATES, FORCE = np.array([0.3, -0.4]), np.array([1.5, 2.0]), np.array([1.0, -2.0, 12.0])  # the test state

equations = remembered(derive_pole)  # pole and end-effector from their energies


def written_out(expression: Any) -> Any:
    """With z_AB as its root."""
    root = sp.sqrt(sp.Symbol("l") ** 2 - sp.Symbol("x_AB") ** 2 - sp.Symbol("y_AB") ** 2)
    return expression.subs(sp.Symbol("z_AB"), root)


@remembered
def motion() -> Any:
    """Left minus right sides of the five equations of motion."""
    forces = sp.Matrix([*sp.symbols("f_x f_y f_z"), 0, 0])
    return written_out(sp.Matrix(equations()["tau"])) - forces


def model(**changes: float) -> pp.control.PoleModel:
    """The library's pole: l = 1 m, m_s = 0.1 kg, m_e = 1 kg."""
    return pp.control.PoleModel(**changes)


def raised(xy: Array, rates: Array) -> tuple[Array, Array]:
    """r_AB and its rate from their horizontal parts, upper hemisphere; l = 1 m."""
    z = np.sqrt(max(1.0 - xy @ xy, 1e-6))
    return np.array([*xy, z]), np.array([*rates, -(xy @ rates) / z])


def terms() -> tuple[Array, Array, Array]:
    """a_A, a_B and f_B of the pole at the test state."""
    return model().accelerations(*raised(XY, RATES), FORCE)


def accelerations() -> list[float]:
    """Accelerations of the five coordinates at the test state."""
    a_A, a_B, _ = terms()
    return [*a_A, *(a_B - a_A)[:2]]


def as_printed(xy: Array, rates: Array) -> tuple[Array, Array]:
    """M of (11) and C of (12) with the document's two slips put back in."""
    M, C = model().mass_and_bias(xy, rates)
    z = np.sqrt(1 - xy @ xy)
    M[2, 3] = -0.1 * xy[0] / z**2
    C[2] += 4 * 0.1 * xy[0] * xy[1] * rates[0] * rates[1] / z**3
    return M, C


@remembered
def arm() -> pp.Robot:
    """An iiwa 14 with the end-effector's 1 kg."""
    return pp.load_robot("iiwa14").with_payload(1.0)

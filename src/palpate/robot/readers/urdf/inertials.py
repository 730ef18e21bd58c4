"""Is a mass and inertia that of a body that can exist, and which existing body is nearest?

With Σ = ½ tr(I) 1 − I, the second moments of the mass distribution, I belongs to a body of positive
density exactly if Σ is positive semidefinite. In principal moments that is the triangle inequality A + B ≥ C,
and it implies that I itself is positive semidefinite.
"""

from __future__ import annotations

import numpy as np

from palpate.checks import Array
from palpate.robot.readers.xmlfile import Element, Report

# Files are written with a few digits: what is missing by less than this share of tr(I) is rounding.
ROUNDING = 1e-6
# kg, m, kg·m²: beyond this, squares and products lose all meaning.
LARGEST = 1e9
# kg·m²: a grain of sand has more.
NOTHING = 1e-12
# A repaired tensor keeps this share of tr(I) in every second moment, so that rounding cannot spoil it again.
FLOOR = 1e-6
DIGITS = 9  # of a repaired tensor: with that floor they keep it valid


def printed_entries(inertia: Array) -> tuple[float, ...]:
    """xx yy zz xy xz yz with as many digits as a repaired file gets, and no traces of round-off where one is zero."""
    six = inertia[(0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)]
    least = 1e-14 * float(np.abs(six).max())
    return tuple(float(f"{value:.{DIGITS}g}") if abs(value) > least else 0.0 for value in six)


def second_moment(inertia: Array) -> Array:
    """Σ = ½ tr(I) 1 − I [kg·m²], the integral of r rᵀ dm about the same point."""
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia


def inertia_from_second_moment(moment: Array) -> Array:
    """I = tr(Σ) 1 − Σ [kg·m²]."""
    return np.trace(moment) * np.eye(3) - moment


def principal_moments(inertia: Array) -> Array:
    """Eigenvalues of I [kg·m²], ascending: A ≤ B ≤ C."""
    return np.linalg.eigvalsh(inertia).astype(np.float64)


def triangle_margin(inertia: Array) -> float:
    """A + B − C [kg·m²]; negative where no body has this tensor. Equals twice the smallest second moment."""
    A, B, C = principal_moments(inertia)
    return float(A + B - C)


def tolerance(inertia: Array) -> float:
    """How far below zero a moment [kg·m²] may lie before it means anything: rounding, or next to nothing."""
    return max(ROUNDING * float(np.abs(principal_moments(inertia)).sum()), NOTHING)


def is_physical(inertia: Array) -> bool:
    """Whether a body of positive density has this tensor, up to the rounding of a few printed digits."""
    return triangle_margin(inertia) >= -tolerance(inertia)


def nearest_physical(inertia: Array) -> Array:
    """The nearest tensor a body can have, nearest in the Frobenius norm of Σ.

    Σ is projected on the matrices with no eigenvalue below a floor of 1e-6 of its positive part.
    Eigenvectors, thus principal axes, stay. A tensor without any positive second moment has no near body:
    the answer is then zero.
    """
    moments, axes = np.linalg.eigh(second_moment(inertia))
    floor = FLOOR * float(np.maximum(moments, 0.0).sum())
    projected = (axes * np.maximum(moments, floor)) @ axes.T
    return inertia_from_second_moment(projected)


def check_inertia(at: Element, mass: float | None, inertia: Array, report: Report) -> None:
    """Reports an inertia [kg·m², about the centre of mass] that no body has."""
    A, B, C = principal_moments(inertia).round(15)  # eigenvalues that are zero but for round-off
    hint = "palpate check --repair writes the nearest valid inertia"
    moments = f"principal moments {A:.4g}, {B:.4g}, {C:.4g} kg·m²"
    if is_physical(inertia):
        if mass == 0 and C > 0:
            report.warning(at, f"{moments} with mass 0", "no body: it resists turning and weighs nothing")
    elif (A + tolerance(inertia)) < 0:
        report.dynamics_error(at, moments, f"an inertia has no negative eigenvalue, here {A:.4g}", hint)
    else:
        margin = triangle_margin(inertia)
        rule = f"the triangle inequality A + B ≥ C is violated by {-margin:.3g} kg·m²"
        report.dynamics_error(at, moments, rule, hint)

"""An inertia tensor as people write it: three principal moments, six entries, or the whole matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.errors import BadShape, InvalidInput

ROUNDING = 1e-9  # of the largest entry


def tensor_from(value: ArrayLike, name: str = "inertia") -> Array:
    """The 3×3 tensor of three principal moments, of six entries (xx yy zz xy xz yz), or of a 3×3 matrix, kg·m²."""
    given = finite_array(value, name)
    if given.shape == (3,):
        return np.diag(given)
    if given.shape == (6,):
        xx, yy, zz, xy, xz, yz = given
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if given.shape != (3, 3):
        raise BadShape(
            f"{name} must be three principal moments, six entries (xx yy zz xy xz yz) or a 3×3 matrix,"
            f" got shape {given.shape}"
        )
    return given


def checked_inertia(value: ArrayLike, name: str = "inertia") -> Array:
    """`tensor_from`, refused unless symmetric, positive semidefinite and of real mass (triangle inequality)."""
    inertia = tensor_from(value, name)
    if fault := inertia_fault(inertia):
        raise InvalidInput(f"{name} {fault}", hint="no distribution of mass has such moments; check units and axes")
    return inertia


def inertia_fault(inertia: Array) -> str | None:
    """The reason why a 3×3 matrix cannot be the inertia of a body, or None."""
    scale = max(float(np.abs(inertia).max()), 1e-300)
    defect = float(np.abs(inertia - inertia.T).max())
    if defect > ROUNDING * scale:
        return f"must be symmetric; largest defect {defect:g} kg·m²"
    A, B, C = np.linalg.eigvalsh(inertia)
    if -ROUNDING * scale > A:
        return f"must have no negative principal moment, got {A:g}, {B:g}, {C:g} kg·m²"
    if C > (A + B) * (1 + ROUNDING) + 1e-300:
        return f"breaks the triangle inequality: {A:g} + {B:g} < {C:g} (by {C - A - B:g} kg·m²)"
    return None

"""Refusals this room shares: what is no rotation, no direction, no set of axes or no invertible map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.errors import BadRotation, InvalidInput, Singular, UnknownName

Axes = Literal["world", "body"]
"""Which axes the components of an angular velocity refer to: the world's, or those of the turning body."""

TOLERANCE = 1e-6
"""How far from orthonormal, or from unit length, an input may be; within it, the input is put right."""

SMALLEST_GAIN = 1e-6
"""A map with a singular value below this is not inverted: rates would grow a million times."""

LARGEST_ANGLE = 1e6
"""Longest rotation vector accepted, rad: beyond it too few digits of the angle are left."""


def filled(kernel: Callable[..., object], shape: int | tuple[int, ...], *inputs: Array | float) -> Array:
    """What a kernel writes into its last argument, an array of a shape."""
    out = np.empty(shape)
    kernel(*inputs, out)
    return out


def checked_vector(value: ArrayLike, name: str) -> Array:
    """`value` as three finite numbers."""
    return finite_array(value, name, (3,))


def checked_rotation(value: ArrayLike, name: str) -> Array:
    """`value` as a rotation matrix; small departures from RᵀR = I are projected away.

    Raises:
        BadRotation: if an entry of RᵀR − I exceeds 1e-6, or det R is not +1.
    """
    R = finite_array(value, name, (3, 3))
    defect = _defect(R)
    if not defect <= TOLERANCE:  # also true for the NaN of an overflow
        raise BadRotation(
            f"{name} must be orthonormal to {TOLERANCE:g}, but RᵀR − I reaches {defect:.3g}",
            hint="check for scaling, rounded digits or a row that is not a unit vector",
        )
    if np.linalg.det(R) < 0.0:
        raise BadRotation(
            f"{name} must have determinant +1, got {np.linalg.det(R):.6g}: a reflection, not a rotation",
            hint="its axes are left-handed; swap two of them or reverse one",
        )
    while defect > 1e-14:
        R = R @ (1.5 * np.eye(3) - 0.5 * R.T @ R)  # a Newton step towards the nearest rotation squares the defect
        defect = _defect(R)
    return R


def checked_quat(value: ArrayLike, name: str) -> Array:
    """`value` as a unit quaternion wxyz; refused unless its norm is within 1e-6 of one."""
    return _checked_unit(finite_array(value, name, (4,)), name, "quaternion (wxyz)")


def checked_axis(value: ArrayLike, name: str) -> Array:
    """`value` as a unit vector; refused unless its norm is within 1e-6 of one."""
    return _checked_unit(checked_vector(value, name), name, "axis")


def checked_rotation_vector(value: ArrayLike, name: str) -> Array:
    """`value` as a rotation vector no longer than `LARGEST_ANGLE`."""
    r = checked_vector(value, name)
    if np.abs(r).max() > LARGEST_ANGLE:
        raise InvalidInput(
            f"{name} must be at most {LARGEST_ANGLE:g} rad long, got {r}",
            hint="is it in radians?",
        )
    return r


def is_world(axes: Axes) -> bool:
    """True for "world", False for "body"; anything else is refused."""
    if axes not in ("world", "body"):
        raise UnknownName("axes", str(axes), ("world", "body"))
    return axes == "world"


def inverse(E: Array, where: str, smallest_gain: float = SMALLEST_GAIN) -> Array:
    """Inverse (smallest-norm right inverse if E is wide) of a map from rates to velocity.

    Raises:
        Singular: if the smallest singular value of E is below `smallest_gain`.
    """
    U, gains, Vt = np.linalg.svd(E, full_matrices=False)
    if gains[-1] < smallest_gain:
        raise Singular(f"{where}: no rates give every velocity there", float(gains[-1]), smallest_gain)
    return (Vt.T / gains) @ U.T


def _checked_unit(value: Array, name: str, kind: str) -> Array:
    norm = float(np.linalg.norm(value))
    if norm == 0.0:
        raise BadRotation(f"{name} must be a unit {kind}, got norm 0: it has no direction")
    if not abs(norm - 1.0) <= TOLERANCE:
        raise BadRotation(
            f"{name} must be a unit {kind} to {TOLERANCE:g}, got norm {norm:.9g} from {value}",
            hint="divide it by its norm first, if its direction is what you mean",
        )
    # An already unit value keeps its bits; dividing by a norm one ulp off would change them.
    return value if abs(norm - 1.0) < 4e-16 else value / norm


def _defect(R: Array) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(R.T @ R - np.eye(3)).max())

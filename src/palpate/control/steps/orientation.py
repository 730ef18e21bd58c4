"""Orientation errors: four ways to say how far, and which way, the tool must still turn.

All are vectors in world axes that turn measured into desired, all agree with log(R_d Rᵀ) for small errors (slope 1, so
that a gain means the same in each), and none depends on the sign of a quaternion. With θ the angle of R_d Rᵀ and u its
axis (θ ≤ 180°: the shorter way):

    kind             error              size       where it fades or jumps
    rotation-vector  θ u                θ          never fades; jumps from +π to −π at 180°
    quaternion       2 sin(½θ) u        2 sin ½θ   grows ever more slowly (2 instead of π at 180°); jumps there
    matrix           sin θ u            sin θ      fades beyond 90° and is 0 at 180°: an unstable rest
    euler            T(φ) φ             up to √2π  φ = XYZ Euler angles of R_d Rᵀ; turns by another way than u; its
                                                   direction jumps where the error's middle angle is ±90°
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numba.extending import register_jitable
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.engine import kernel
from palpate.errors import BadRotation, UnknownName
from palpate.spatial.kernels import (
    euler_xyz_from_matrix,
    euler_xyz_rate_matrix,
    matrix_from_rotation_vector,
    quat_error_world,
)

OrientationError = Literal["rotation-vector", "quaternion", "matrix", "euler"]
KINDS: tuple[OrientationError, ...] = ("rotation-vector", "quaternion", "matrix", "euler")
ORIENTATION_SCRATCH = 12  # numbers of scratch `write_orientation_error` needs


@register_jitable
def write_orientation_error(kind, quat_desired, quat, out, work):
    """out = the error of `kind` (a place in KINDS) between unit quaternions wxyz, world axes. Returns its angle θ."""
    quat_error_world(quat_desired, quat, out)
    angle = math.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])
    if kind == 0 or angle < 1e-6:
        return angle  # all kinds agree to rounding near zero
    if kind == 3:
        _euler_error(out, work)
        return angle
    scale = (2.0 * math.sin(0.5 * angle) if kind == 1 else math.sin(angle)) / angle
    for i in range(3):
        out[i] *= scale
    return angle


@register_jitable
def _euler_error(turn, work):
    """turn ← T(φ) φ with φ the XYZ Euler angles of the rotation vector `turn`."""
    angles, matrix = work[0:3], work[3:12].reshape((3, 3))
    matrix_from_rotation_vector(turn, matrix)
    euler_xyz_from_matrix(matrix, angles)
    euler_xyz_rate_matrix(angles, matrix)
    for i in range(3):
        turn[i] = matrix[i, 0] * angles[0] + matrix[i, 1] * angles[1] + matrix[i, 2] * angles[2]


@kernel("void(int64, float64[::1], float64[::1], float64[::1], float64[::1])")
def _write(kind, quat_desired, quat, out, work):
    write_orientation_error(kind, quat_desired, quat, out, work)


def orientation_error(kind: OrientationError, desired_quat_wxyz: ArrayLike, quat_wxyz: ArrayLike) -> Array:
    """The orientation error of a kind (see the module's table), rad, world axes.

    Args:
        kind: one of "rotation-vector", "quaternion", "matrix", "euler".
        desired_quat_wxyz, quat_wxyz: orientations R_d and R; normalised here, either sign.
    """
    if kind not in KINDS:
        raise UnknownName("orientation error", kind, KINDS)
    out = np.empty(3)
    _write(KINDS.index(kind), _unit(desired_quat_wxyz), _unit(quat_wxyz), out, np.empty(ORIENTATION_SCRATCH))
    return out


def _unit(quat_wxyz: ArrayLike) -> Array:
    quat = finite_array(quat_wxyz, "quat_wxyz", (4,))
    norm = float(np.linalg.norm(quat))
    if norm < 1e-12:
        raise BadRotation(f"a quaternion needs a direction, got {quat}")
    return quat / norm

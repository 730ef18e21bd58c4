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
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array
from palpate.engine.kernels import kernel
from palpate.engine.maths import sin
from palpate.engine.records import Matrix, ReadVector, Record, Vector, sized
from palpate.errors import BadRotation, check_names
from palpate.spatial.euler_kernels import euler_xyz_from_matrix, euler_xyz_rate_matrix
from palpate.spatial.kernels import matrix_from_rotation_vector, quat_error_world

OrientationError = Literal["rotation-vector", "quaternion", "matrix", "euler"]
KINDS: tuple[OrientationError, ...] = ("rotation-vector", "quaternion", "matrix", "euler")
_ROTATION_VECTOR, _QUATERNION, _MATRIX, _EULER = range(4)  # indices in KINDS


class OrientationWork(Record):
    """Scratch of `write_orientation_error`."""

    phi: Vector = sized(3)
    matrix: Matrix = sized(3, 3)


@kernel
def write_orientation_error(
    kind: int, quat_desired: ReadVector, quat: ReadVector, out: Vector, work: OrientationWork
) -> float:
    """out = the error of `kind` (an index in KINDS) between unit quaternions wxyz, world axes. Returns its angle θ."""
    quat_error_world(quat_desired, quat, out)
    theta = math.sqrt(out[0] * out[0] + out[1] * out[1] + out[2] * out[2])
    if kind == _ROTATION_VECTOR or theta < 1e-6:
        return theta  # all kinds agree to rounding near zero
    if kind == _EULER:
        _euler_error(out, work)
        return theta
    scale = (2.0 * sin(0.5 * theta) if kind == _QUATERNION else sin(theta)) / theta
    for i in range(3):
        out[i] *= scale
    return theta


@kernel
def _euler_error(error: Vector, work: OrientationWork) -> None:
    """error ← T(φ) φ with φ the XYZ Euler angles of the rotation vector `error`."""
    phi, T = work.phi, work.matrix
    matrix_from_rotation_vector(error, work.matrix)
    euler_xyz_from_matrix(work.matrix, phi)
    euler_xyz_rate_matrix(phi, T)
    for i in range(3):
        error[i] = T[i, 0] * phi[0] + T[i, 1] * phi[1] + T[i, 2] * phi[2]


def orientation_error(kind: OrientationError, desired_quat_wxyz: ArrayLike, quat_wxyz: ArrayLike) -> Array:
    """The orientation error of a kind (see the module's table), rad, world axes.

    Args:
        kind: one of "rotation-vector", "quaternion", "matrix", "euler".
        desired_quat_wxyz, quat_wxyz: orientations R_d and R; normalised here, either sign.
    """
    check_names("orientation error", [kind], KINDS)
    out = np.empty(3)
    write_orientation_error(
        KINDS.index(kind), _unit(desired_quat_wxyz), _unit(quat_wxyz), out, OrientationWork().address
    )
    return out


def _unit(quat_wxyz: ArrayLike) -> Array:
    quat = finite_array(quat_wxyz, "quat_wxyz", (4,))
    norm = float(np.linalg.norm(quat))
    if norm < 1e-12:
        raise BadRotation(f"a quaternion needs a direction, got {quat}")
    return quat / norm

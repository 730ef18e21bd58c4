"""Euler angles in any of the 24 sequences, which name the axes in the order of the angles.

Upper case is intrinsic, each turn about the axes already turned: "XYZ" is R = R_x(α) R_y(β) R_z(γ). Lower case is
extrinsic, each turn about the fixed axes: "xyz" is R = R_z(γ) R_y(β) R_x(α). Three different axes give Tait-Bryan
angles with |β| ≤ π/2; a repeated axis ("ZYZ") gives proper Euler angles with 0 ≤ β ≤ π. At the ends of the range of β
the first and last turn share an axis (gimbal lock): the last angle is then 0 to rounding, the first carries the whole
turn, and the angles still give R.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import UnknownName
from palpate.spatial import inputs, kernels
from palpate.spatial.batches import euler_from_each
from palpate.spatial.inputs import result_of
from palpate.spatial.rotation import matrix_from_quat

_INTRINSIC = tuple("".join(s) for s in itertools.product("XYZ", repeat=3) if s[0] != s[1] != s[2])

SEQUENCES: tuple[str, ...] = _INTRINSIC + tuple(s.lower() for s in _INTRINSIC)
"""Every known sequence: 12 intrinsic in upper case, 12 extrinsic in lower case."""


def matrix_from_euler(angles: ArrayLike, sequence: str) -> Array:
    """R of Euler angles, rad: R_i(α) R_j(β) R_k(γ) if intrinsic, R_k(γ) R_j(β) R_i(α) if extrinsic."""
    (i, j, k), (alpha, beta, gamma) = intrinsic_order(angles, sequence)
    return axis_rotation(i, alpha) @ axis_rotation(j, beta) @ axis_rotation(k, gamma)


def euler_from_matrix(R: ArrayLike, sequence: str) -> Array:
    """Euler angles of R, rad, in the order of `sequence`; at gimbal lock the last angle is 0."""
    (i, j, k), extrinsic = _axes(sequence)
    R = inputs.rotation(R, "R")
    out = np.empty((*R.shape[:-2], 3))
    euler_from_each(np.ascontiguousarray(R).reshape(-1, 3, 3), np.array([i, j, k, extrinsic]), out.reshape(-1, 3))
    return out[..., ::-1].copy() if extrinsic else out


def quat_from_euler(angles: ArrayLike, sequence: str) -> Array:
    """Unit quaternion wxyz of Euler angles: q_i(α) ⊗ q_j(β) ⊗ q_k(γ), reversed if extrinsic."""
    indices, ordered = intrinsic_order(angles, sequence)
    total = np.array([1.0, 0.0, 0.0, 0.0])
    for index, angle in zip(indices, ordered):
        factor = np.zeros((*np.shape(angle), 4))
        factor[..., 0], factor[..., 1 + index] = _cos_sin(0.5 * angle)
        total = result_of(kernels.quat_multiply, (4,), total, factor)
    return total


def euler_from_quat(quat_wxyz: ArrayLike, sequence: str) -> Array:
    """Euler angles of a unit quaternion, rad, in the order of `sequence`; at gimbal lock the last is 0."""
    return euler_from_matrix(matrix_from_quat(quat_wxyz), sequence)


def intrinsic_order(angles: ArrayLike, sequence: str) -> tuple[tuple[int, int, int], list[Any]]:
    """Axis indices and checked angles of the intrinsic sequence that makes the same rotation."""
    indices, extrinsic = _axes(sequence)
    values = inputs.vector(angles, "angles")
    ordered = values.tolist() if values.ndim == 1 else [values[..., i] for i in range(3)]
    return indices, ordered[::-1] if extrinsic else ordered


def axis_rotation(index: int, angle: Any) -> Array:
    """R_x, R_y or R_z (index 0, 1, 2) of `angle` rad, or of many angles."""
    j, k = (index + 1) % 3, (index + 2) % 3
    c, s = _cos_sin(angle)
    R = np.zeros((*np.shape(angle), 3, 3))
    R[..., index, index], R[..., j, j], R[..., j, k], R[..., k, j], R[..., k, k] = 1.0, c, -s, s, c
    return R


def _cos_sin(angle: Any) -> tuple[Any, Any]:
    many = isinstance(angle, np.ndarray)
    return (np.cos(angle), np.sin(angle)) if many else (math.cos(angle), math.sin(angle))


def _axes(sequence: str) -> tuple[tuple[int, int, int], bool]:
    if sequence not in SEQUENCES:
        raise UnknownName("Euler sequence (upper case intrinsic, lower case extrinsic)", str(sequence), SEQUENCES)
    extrinsic = sequence.islower()
    ordered = sequence[::-1] if extrinsic else sequence
    i, j, k = ("XYZ".index(letter) for letter in ordered.upper())
    return (i, j, k), extrinsic

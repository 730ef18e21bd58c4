"""Rotations as matrix, quaternion, angle-axis and rotation vector: conversions, products, interpolation.

R_WB takes components in B to components in W: v_W = R_WB v_B. Quaternions are wxyz and q and −q are one
rotation: results have w ≥ 0 wherever the quaternion comes from a matrix. Angles are in radians.

Every function takes batches: quaternions (…, 4), matrices (…, 3, 3), vectors (…, 3), angles (…). Axes before the last
are broadcast against each other, as NumPy does it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.spatial import inputs, kernels, vector_kernels
from palpate.spatial.inputs import product, result_of, times, transposed

Angle = float | Array
"""One angle, rad, or an array of them."""


def skew(v: ArrayLike) -> Array:
    """S(v), with S(v) u = v × u."""
    return result_of(vector_kernels.skew, (3, 3), inputs.vector(v, "v"))


def matrix_from_quat(quat_wxyz: ArrayLike) -> Array:
    """R of a unit quaternion: R v = vec(q ⊗ (0, v) ⊗ q*)."""
    return result_of(kernels.matrix_from_quat, (3, 3), inputs.quat(quat_wxyz, "quat_wxyz"))


def quat_from_matrix(R: ArrayLike) -> Array:
    """Unit quaternion wxyz of R, w ≥ 0; at w = 0 (half a turn) its largest component is positive."""
    return result_of(kernels.quat_from_matrix, (4,), inputs.rotation(R, "R"))


def matrix_from_rotation_vector(r: ArrayLike) -> Array:
    """exp S(r): the rotation by |r| rad about r (the exponential of SO(3))."""
    return result_of(kernels.matrix_from_rotation_vector, (3, 3), inputs.rotation_vector(r, "r"))


def rotation_vector_from_matrix(R: ArrayLike) -> Array:
    """log R of SO(3), of length at most π; at exactly π its first nonzero entry is positive."""
    return result_of(kernels.rotation_vector_from_matrix, (3,), inputs.rotation(R, "R"))


def quat_from_rotation_vector(r: ArrayLike) -> Array:
    """(cos ½θ, sin ½θ · r/θ), θ = |r|; continuous in r, so w < 0 when θ > π."""
    return result_of(kernels.quat_from_rotation_vector, (4,), inputs.rotation_vector(r, "r"))


def rotation_vector_from_quat(quat_wxyz: ArrayLike) -> Array:
    """Rotation vector of ±q, of length at most π; at exactly π its first nonzero entry is positive."""
    return result_of(kernels.rotation_vector_from_quat, (3,), inputs.quat(quat_wxyz, "quat_wxyz"))


def rotation_vector_from_angle_axis(angle: ArrayLike, axis: ArrayLike) -> Array:
    """r = angle · axis, with a unit axis."""
    return np.asarray(inputs.number(angle, "angle"))[..., None] * inputs.axis(axis, "axis")


def angle_axis_from_rotation_vector(r: ArrayLike) -> tuple[Angle, Array]:
    """(|r|, r/|r|); at r = 0 every axis is right and (1, 0, 0) is returned."""
    r = inputs.rotation_vector(r, "r")
    scale = np.abs(r).max(axis=-1, initial=0.0, keepdims=True)
    unscaled = np.where(scale > 0.0, r, [1.0, 0.0, 0.0]) / np.where(scale > 0.0, scale, 1.0)  # tiny squares underflow
    length = np.linalg.norm(unscaled, axis=-1, keepdims=True)
    angle = (scale * length)[..., 0]
    return angle if angle.ndim else float(angle), unscaled / length


def matrix_from_angle_axis(angle: ArrayLike, axis: ArrayLike) -> Array:
    """The rotation by `angle` rad about the unit vector `axis`."""
    return matrix_from_rotation_vector(rotation_vector_from_angle_axis(angle, axis))


def angle_axis_from_matrix(R: ArrayLike) -> tuple[Angle, Array]:
    """(angle, axis) of R, angle in [0, π]; at angle 0 the axis is (1, 0, 0)."""
    return angle_axis_from_rotation_vector(rotation_vector_from_matrix(R))


def quat_from_angle_axis(angle: ArrayLike, axis: ArrayLike) -> Array:
    """(cos ½angle, sin ½angle · axis), with a unit axis."""
    return quat_from_rotation_vector(rotation_vector_from_angle_axis(angle, axis))


def angle_axis_from_quat(quat_wxyz: ArrayLike) -> tuple[Angle, Array]:
    """(angle, axis) of ±q, angle in [0, π]; at angle 0 the axis is (1, 0, 0)."""
    return angle_axis_from_rotation_vector(rotation_vector_from_quat(quat_wxyz))


def quat_multiply(a_wxyz: ArrayLike, b_wxyz: ArrayLike) -> Array:
    """a ⊗ b of unit quaternions: R(a ⊗ b) = R(a) R(b)."""
    return result_of(kernels.quat_multiply, (4,), inputs.quat(a_wxyz, "a_wxyz"), inputs.quat(b_wxyz, "b_wxyz"))


def quat_conjugate(quat_wxyz: ArrayLike) -> Array:
    """q* = (w, −x, −y, −z), the inverse rotation."""
    return result_of(kernels.quat_conjugate, (4,), inputs.quat(quat_wxyz, "quat_wxyz"))


def rotate(quat_wxyz: ArrayLike, vectors: ArrayLike) -> Array:
    """vec(q ⊗ (0, v) ⊗ q*): one rotation for all vectors (…, 3), or one for each."""
    return rotate_vectors(matrix_from_quat(quat_wxyz), inputs.vector(vectors, "vectors"))


def rotate_vectors(R: Array, vectors: Array) -> Array:
    """R v: one matrix for all vectors, or one for each."""
    return vectors @ R.T if R.ndim == 2 else times(R, vectors)


def rotation_error(R_desired: ArrayLike, R: ArrayLike) -> Array:
    """log(R_d Rᵀ), rad, world axes: desired − measured, the turn still to make, by the shorter way."""
    return rotation_vector_from_matrix(
        product(inputs.rotation(R_desired, "R_desired"), transposed(inputs.rotation(R, "R")))
    )


def interpolate_rotation(R_start: ArrayLike, R_end: ArrayLike, s: ArrayLike) -> Array:
    """exp(s log(R_end R_startᵀ)) R_start: constant angular velocity, R_start at s = 0 and R_end at s = 1."""
    step = np.asarray(inputs.number(s, "s"))[..., None] * rotation_error(R_end, R_start)
    return product(matrix_from_rotation_vector(step), inputs.rotation(R_start, "R_start"))


def interpolate_quat(start_wxyz: ArrayLike, end_wxyz: ArrayLike, s: ArrayLike) -> Array:
    """Slerp by the shorter way: `start_wxyz` at s = 0, ±`end_wxyz` at s = 1."""
    start, end = inputs.quat(start_wxyz, "start_wxyz"), inputs.quat(end_wxyz, "end_wxyz")
    return result_of(kernels.quat_interpolate, (4,), start, end, inputs.number(s, "s"))

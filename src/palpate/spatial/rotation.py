"""Rotations as matrix, quaternion, angle-axis and rotation vector: conversions, products, interpolation.

R_WB takes components in B to components in W: v_W = R_WB v_B. Quaternions are wxyz and q and −q are one
rotation: results have w ≥ 0 wherever the quaternion comes from a matrix. Angles are in radians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array, finite_array, finite_number
from palpate.errors import BadShape
from palpate.spatial import kernels
from palpate.spatial.inputs import (
    checked_axis,
    checked_quat,
    checked_rotation,
    checked_rotation_vector,
    checked_vector,
    filled,
)


def skew(v: ArrayLike) -> Array:
    """S(v), with S(v) u = v × u."""
    return filled(kernels.skew, (3, 3), checked_vector(v, "v"))


def matrix_from_quat(quat_wxyz: ArrayLike) -> Array:
    """R of a unit quaternion: R v = vec(q ⊗ (0, v) ⊗ q*)."""
    return filled(kernels.matrix_from_quat, (3, 3), checked_quat(quat_wxyz, "quat_wxyz"))


def quat_from_matrix(R: ArrayLike) -> Array:
    """Unit quaternion wxyz of R, w ≥ 0; at w = 0 (half a turn) its largest component is positive."""
    return filled(kernels.quat_from_matrix, 4, checked_rotation(R, "R"))


def matrix_from_rotation_vector(r: ArrayLike) -> Array:
    """exp S(r): the rotation by |r| rad about r (the exponential of SO(3))."""
    return filled(kernels.matrix_from_rotation_vector, (3, 3), checked_rotation_vector(r, "r"))


def rotation_vector_from_matrix(R: ArrayLike) -> Array:
    """log R of SO(3), of length at most π; at exactly π its first nonzero entry is positive."""
    return filled(kernels.rotation_vector_from_matrix, 3, checked_rotation(R, "R"))


def quat_from_rotation_vector(r: ArrayLike) -> Array:
    """(cos ½θ, sin ½θ · r/θ), θ = |r|; continuous in r, so w < 0 when θ > π."""
    return filled(kernels.quat_from_rotation_vector, 4, checked_rotation_vector(r, "r"))


def rotation_vector_from_quat(quat_wxyz: ArrayLike) -> Array:
    """Rotation vector of ±q, of length at most π; at exactly π its first nonzero entry is positive."""
    return filled(kernels.rotation_vector_from_quat, 3, checked_quat(quat_wxyz, "quat_wxyz"))


def rotation_vector_from_angle_axis(angle: float, axis: ArrayLike) -> Array:
    """r = angle · axis, with a unit axis."""
    return finite_number(angle, "angle") * checked_axis(axis, "axis")


def angle_axis_from_rotation_vector(r: ArrayLike) -> tuple[float, Array]:
    """(|r|, r/|r|); at r = 0 every axis is right and (1, 0, 0) is returned."""
    r = checked_rotation_vector(r, "r")
    scale = np.abs(r).max()
    if scale == 0.0:
        return 0.0, np.array([1.0, 0.0, 0.0])
    unscaled = r / scale  # squares of tiny components would underflow
    length = float(np.linalg.norm(unscaled))
    return float(scale * length), unscaled / length


def matrix_from_angle_axis(angle: float, axis: ArrayLike) -> Array:
    """The rotation by `angle` rad about the unit vector `axis`."""
    return matrix_from_rotation_vector(rotation_vector_from_angle_axis(angle, axis))


def angle_axis_from_matrix(R: ArrayLike) -> tuple[float, Array]:
    """(angle, axis) of R, angle in [0, π]; at angle 0 the axis is (1, 0, 0)."""
    return angle_axis_from_rotation_vector(rotation_vector_from_matrix(R))


def quat_from_angle_axis(angle: float, axis: ArrayLike) -> Array:
    """(cos ½angle, sin ½angle · axis), with a unit axis."""
    return quat_from_rotation_vector(rotation_vector_from_angle_axis(angle, axis))


def angle_axis_from_quat(quat_wxyz: ArrayLike) -> tuple[float, Array]:
    """(angle, axis) of ±q, angle in [0, π]; at angle 0 the axis is (1, 0, 0)."""
    return angle_axis_from_rotation_vector(rotation_vector_from_quat(quat_wxyz))


def quat_multiply(a_wxyz: ArrayLike, b_wxyz: ArrayLike) -> Array:
    """a ⊗ b of unit quaternions: R(a ⊗ b) = R(a) R(b)."""
    return filled(kernels.quat_multiply, 4, checked_quat(a_wxyz, "a_wxyz"), checked_quat(b_wxyz, "b_wxyz"))


def quat_conjugate(quat_wxyz: ArrayLike) -> Array:
    """q* = (w, −x, −y, −z), the inverse rotation."""
    return filled(kernels.quat_conjugate, 4, checked_quat(quat_wxyz, "quat_wxyz"))


def rotate(quat_wxyz: ArrayLike, vectors: ArrayLike) -> Array:
    """vec(q ⊗ (0, v) ⊗ q*), for one vector (3,) or many (N, 3)."""
    return checked_points(vectors, "vectors") @ matrix_from_quat(quat_wxyz).T


def rotation_error(R_desired: ArrayLike, R: ArrayLike) -> Array:
    """log(R_d Rᵀ), rad, world axes: desired − measured, the turn still to make, by the shorter way."""
    return rotation_vector_from_matrix(checked_rotation(R_desired, "R_desired") @ checked_rotation(R, "R").T)


def interpolate_rotation(R_start: ArrayLike, R_end: ArrayLike, s: float) -> Array:
    """exp(s log(R_end R_startᵀ)) R_start: constant angular velocity, R_start at s = 0 and R_end at s = 1."""
    step = finite_number(s, "s") * rotation_error(R_end, R_start)
    return matrix_from_rotation_vector(step) @ checked_rotation(R_start, "R_start")


def interpolate_quat(start_wxyz: ArrayLike, end_wxyz: ArrayLike, s: float) -> Array:
    """Slerp by the shorter way: `start_wxyz` at s = 0, ±`end_wxyz` at s = 1."""
    start, end = checked_quat(start_wxyz, "start_wxyz"), checked_quat(end_wxyz, "end_wxyz")
    return filled(kernels.quat_interpolate, 4, start, end, finite_number(s, "s"))


def checked_points(value: ArrayLike, name: str) -> Array:
    """`value` as one finite point (3,) or many (N, 3)."""
    points = finite_array(value, name)
    if points.ndim not in (1, 2) or points.shape[-1] != 3:
        raise BadShape(f"{name} must have shape (3,) or (N, 3), got {points.shape}")
    return points

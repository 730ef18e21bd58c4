"""Rotations as matrix, quaternion, angle-axis, rotation vector and Euler angles: conversions, products, rates.

R_WB takes components in B to components in W: v_W = R_WB v_B. Quaternions are wxyz and q and −q are one
rotation: results have w ≥ 0 wherever the quaternion comes from a matrix. Angles are in radians.

Every function takes batches: quaternions (…, 4), matrices (…, 3, 3), vectors (…, 3), angles (…). Axes before the last
are broadcast against each other, as NumPy does it.

Euler angles are in any of the 24 sequences, which name the axes in the order of the angles. Upper case is intrinsic,
each turn about the axes already turned: "XYZ" is R = R_x(α) R_y(β) R_z(γ). Lower case is extrinsic, each turn about the
fixed axes: "xyz" is R = R_z(γ) R_y(β) R_x(α). Three different axes give Tait-Bryan angles with |β| ≤ π/2; a repeated
axis ("ZYZ") gives proper Euler angles with 0 ≤ β ≤ π. At the ends of the range of β the first and last turn share an
axis (gimbal lock): the last angle is then 0 to rounding, the first carries the whole turn, and the angles still give R.

Rates: ω is the angular velocity of the body in the world, rad/s, with components in world axes (axes="world",
S(ω) = Ṙ Rᵀ) or in body axes (axes="body", S(ω) = Rᵀ Ṙ); they differ by R: ω_world = R ω_body. A representation χ has
ω = E(χ) χ̇. Where E loses rank its inverse is refused (Singular) with the smallest singular value.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import InvalidInput, UnknownName
from palpate.spatial import inputs, kernels, rows
from palpate.spatial.inputs import TOLERANCE, Axes, inverse, is_world, product, result_of, times, transposed

Angle = float | Array
"""One angle, rad, or an array of them."""


def skew(v: ArrayLike) -> Array:
    """S(v), with S(v) u = v × u."""
    return result_of(kernels.skew, (3, 3), inputs.vector(v, "v"))


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
    return rotated(matrix_from_quat(quat_wxyz), inputs.vector(vectors, "vectors"))


def rotated(R: Array, vectors: Array) -> Array:
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


# --- Euler angles -------------------------------------------------------------------------------------------

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
    kernels.euler_from_each(
        np.ascontiguousarray(R).reshape(-1, 3, 3), np.array([i, j, k, extrinsic]), out.reshape(-1, 3)
    )
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


# --- rates of a matrix --------------------------------------------------------------------------------------


def angular_velocity_from_matrix_rate(R: ArrayLike, R_rate: ArrayLike, axes: Axes = "world") -> Array:
    """ω with S(ω) = Ṙ Rᵀ (world) or Rᵀ Ṙ (body); refused if that product is not skew to 1e-6."""
    R, R_rate = inputs.rotation(R, "R"), inputs.numbers(R_rate, "R_rate", (3, 3))
    S = R_rate @ transposed(R) if is_world(axes) else transposed(R) @ R_rate
    twice = S - transposed(S)
    _refuse_leaving(S + transposed(S), S, (-1, -2), "R_rate", "Ṙ Rᵀ must be skew, but its symmetric part")
    return 0.5 * np.stack([twice[..., 2, 1], twice[..., 0, 2], twice[..., 1, 0]], axis=-1)


def matrix_rate_from_angular_velocity(R: ArrayLike, omega: ArrayLike, axes: Axes = "world") -> Array:
    """Ṙ = S(ω) R (world) or R S(ω) (body)."""
    R, S = inputs.rotation(R, "R"), skew(inputs.vector(omega, "omega"))
    return S @ R if is_world(axes) else R @ S


# --- rates of a quaternion ----------------------------------------------------------------------------------


def quat_rate_matrix(quat_wxyz: ArrayLike, axes: Axes = "world") -> Array:
    """E (3×4) with ω = E q̇: 2 [−ε, ηI + S(ε)] (world) or 2 [−ε, ηI − S(ε)] (body), q = (η, ε)."""
    q = inputs.quat(quat_wxyz, "quat_wxyz")
    S = skew(q[..., 1:])
    square = q[..., :1, None] * np.eye(3) + (S if is_world(axes) else -S)
    return 2.0 * np.concatenate([-q[..., 1:, None], square], axis=-1)


def angular_velocity_from_quat_rate(quat_wxyz: ArrayLike, rate: ArrayLike, axes: Axes = "world") -> Array:
    """ω = 2 vec(q̇ ⊗ q*) (world) or 2 vec(q* ⊗ q̇) (body); refused if q̇ changes |q| by more than 1e-6."""
    q, rate = inputs.quat(quat_wxyz, "quat_wxyz"), inputs.numbers(rate, "rate", (4,))
    _refuse_leaving(rows.dot(q, rate)[..., None], rate, -1, "rate", "q · q̇ must be 0, but it")
    return times(quat_rate_matrix(q, axes), rate)


def quat_rate_from_angular_velocity(quat_wxyz: ArrayLike, omega: ArrayLike, axes: Axes = "world") -> Array:
    """q̇ = ½ (0, ω) ⊗ q (world) or ½ q ⊗ (0, ω) (body)."""
    q, omega = inputs.quat(quat_wxyz, "quat_wxyz"), inputs.vector(omega, "omega")
    return result_of(kernels.quat_rate_world if is_world(axes) else kernels.quat_rate_body, (4,), q, omega)


# --- rates of a rotation vector -----------------------------------------------------------------------------


def rotation_vector_rate_matrix(r: ArrayLike, axes: Axes = "world") -> Array:
    """E with ω = E ṙ: I ± ((1 − cos θ)/θ²) S(r) + ((θ − sin θ)/θ³) S(r)², + world, − body; θ = |r|.

    It is the identity at r = 0 and singular at θ = 2π, 4π….
    """
    out = result_of(kernels.left_jacobian, (3, 3), inputs.rotation_vector(r, "r"))
    return out if is_world(axes) else transposed(out).copy()


def angular_velocity_from_rotation_vector_rate(r: ArrayLike, rate: ArrayLike, axes: Axes = "world") -> Array:
    """ω = E(r) ṙ."""
    return times(rotation_vector_rate_matrix(r, axes), inputs.vector(rate, "rate"))


def rotation_vector_rate_from_angular_velocity(r: ArrayLike, omega: ArrayLike, axes: Axes = "world") -> Array:
    """ṙ = E(r)⁻¹ ω; refused at |r| = 2π, 4π…, where r may point anywhere."""
    E = inverse(rotation_vector_rate_matrix(r, axes), f"rotation-vector rates at {r}")
    return times(E, inputs.vector(omega, "omega"))


# --- rates of angle and axis --------------------------------------------------------------------------------


def angle_axis_rate_matrix(angle: ArrayLike, axis: ArrayLike, axes: Axes = "world") -> Array:
    """E (3×4) with ω = E (θ̇, ṅ): n θ̇ + sin θ ṅ ± (1 − cos θ) n × ṅ, + world, − body; singular at θ = 0, 2π…

    Only the part of ṅ across n counts, since |n| = 1.
    """
    theta, n = np.asarray(inputs.number(angle, "angle"))[..., None, None], inputs.axis(axis, "axis")
    sign = 1.0 if is_world(axes) else -1.0
    across = np.eye(3) - n[..., :, None] * n[..., None, :]
    axis_rate_matrix = np.sin(theta) * across + sign * 2.0 * np.sin(0.5 * theta) ** 2 * skew(n)
    first = np.broadcast_to(n[..., None], (*axis_rate_matrix.shape[:-1], 1))
    return np.concatenate([first, axis_rate_matrix], axis=-1)


def angular_velocity_from_angle_axis_rate(
    angle: ArrayLike, axis: ArrayLike, angle_rate: ArrayLike, axis_rate: ArrayLike, axes: Axes = "world"
) -> Array:
    """ω = E(θ, n) (θ̇, ṅ); refused if ṅ changes |n| by more than 1e-6."""
    n, n_rate = inputs.axis(axis, "axis"), inputs.vector(axis_rate, "axis_rate")
    _refuse_leaving(rows.dot(n, n_rate)[..., None], n_rate, -1, "axis_rate", "n · ṅ must be 0, but it")
    E, rate_of_angle = angle_axis_rate_matrix(angle, n, axes), np.asarray(inputs.number(angle_rate, "angle_rate"))
    return E[..., 0] * rate_of_angle[..., None] + times(E[..., 1:], n_rate)


def angle_axis_rate_from_angular_velocity(
    angle: ArrayLike, axis: ArrayLike, omega: ArrayLike, axes: Axes = "world"
) -> tuple[Angle, Array]:
    """(θ̇, ṅ) of ω, with ṅ across n; refused near θ = 0, 2π…, where the axis is free."""
    E = inverse(angle_axis_rate_matrix(angle, axis, axes), f"angle-axis rates at angle {angle}")
    rates = times(E, inputs.vector(omega, "omega"))
    return rates[..., 0] if rates.ndim > 1 else float(rates[0]), rates[..., 1:]


# --- rates of Euler angles ----------------------------------------------------------------------------------


def euler_rate_matrix(angles: ArrayLike, sequence: str, axes: Axes = "world") -> Array:
    """E with ω = E (α̇, β̇, γ̇): each column is the axis its angle turns about; singular at gimbal lock."""
    (i, j, k), (alpha, beta, gamma) = intrinsic_order(angles, sequence)
    R_i, R_j, one = axis_rotation(i, alpha), axis_rotation(j, beta), np.eye(3)
    first = np.broadcast_to(one[i], R_i.shape[:-1])
    E = np.stack([first, R_i @ one[j], R_i @ R_j @ one[k]], axis=-1)
    if not is_world(axes):
        E = transposed(R_i @ R_j @ axis_rotation(k, gamma)) @ E
    return E[..., ::-1].copy() if sequence.islower() else E


def angular_velocity_from_euler_rate(angles: ArrayLike, rate: ArrayLike, sequence: str, axes: Axes = "world") -> Array:
    """ω = E(α, β, γ) (α̇, β̇, γ̇)."""
    return times(euler_rate_matrix(angles, sequence, axes), inputs.vector(rate, "rate"))


def euler_rate_from_angular_velocity(angles: ArrayLike, omega: ArrayLike, sequence: str, axes: Axes = "world") -> Array:
    """(α̇, β̇, γ̇) = E⁻¹ ω; refused at gimbal lock."""
    E = inverse(euler_rate_matrix(angles, sequence, axes), f"Euler {sequence} rates at {angles} (gimbal lock)")
    return times(E, inputs.vector(omega, "omega"))


def _refuse_leaving(amount: Array, rate: Array, axes: int | tuple[int, int], name: str, rule: str) -> None:
    worst, size = (np.abs(values).max(axis=axes, initial=0.0) for values in (amount, rate))
    if np.any(worst > TOLERANCE * (1.0 + size)):
        raise InvalidInput(f"{name} leaves the rotations: {rule} reaches {worst.max():.3g}")

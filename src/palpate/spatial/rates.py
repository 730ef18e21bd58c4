"""Rates of a rotation's representations, and the angular velocity.

ω is the angular velocity of the body in the world, rad/s, with components in world axes (axes="world", S(ω) = Ṙ Rᵀ) or
in body axes (axes="body", S(ω) = Rᵀ Ṙ); they differ by R: ω_world = R ω_body. A representation χ has ω = E(χ) χ̇. Where
E loses rank its inverse is refused (Singular) with the smallest singular value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.spatial import inputs, kernels, rows
from palpate.spatial.euler import axis_rotation, intrinsic_order
from palpate.spatial.inputs import TOLERANCE, Axes, inverse, is_world, result_of, times, transposed
from palpate.spatial.rotation import Angle, skew


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

"""Positions in Cartesian, cylindrical and spherical coordinates, and their rates.

Cylindrical (ρ, θ, z): ρ ≥ 0 from the z axis, θ the azimuth from x towards y. Spherical (r, θ, φ): r ≥ 0 from
the origin, θ the same azimuth, φ in [0, π] down from the z axis. Metres and radians. On the z axis every
azimuth is right: 0 is returned there, and rates are refused.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.spatial import inputs
from palpate.spatial.inputs import inverse, times

NEAREST_AXIS = 1e-9
"""Distance from the z axis, m, within which azimuth rates are refused."""


def cartesian_from_cylindrical(coordinates: ArrayLike) -> Array:
    """(x, y, z) = (ρ cos θ, ρ sin θ, z), m."""
    rho, theta, z = _cylindrical(coordinates)
    return np.stack([rho * np.cos(theta), rho * np.sin(theta), z], axis=-1)


def cylindrical_from_cartesian(position: ArrayLike) -> Array:
    """(ρ, θ, z) = (√(x² + y²), atan2(y, x), z), θ in (−π, π]."""
    x, y, z = _parts(inputs.vector(position, "position") + 0.0)  # −0 would move the azimuth by π
    return np.stack([np.hypot(x, y), np.arctan2(y, x), z], axis=-1)


def cartesian_from_spherical(coordinates: ArrayLike) -> Array:
    """(x, y, z) = r (cos θ sin φ, sin θ sin φ, cos φ), m."""
    r, theta, phi = _spherical(coordinates)
    rho = r * np.sin(phi)
    return np.stack([rho * np.cos(theta), rho * np.sin(theta), r * np.cos(phi)], axis=-1)


def spherical_from_cartesian(position: ArrayLike) -> Array:
    """(r, θ, φ) = (|p|, atan2(y, x), atan2(√(x² + y²), z)), θ in (−π, π], φ in [0, π]."""
    x, y, z = _parts(inputs.vector(position, "position") + 0.0)
    rho = np.hypot(x, y)
    return np.stack([np.hypot(rho, z), np.arctan2(y, x), np.arctan2(rho, z)], axis=-1)


def cylindrical_rate_matrix(coordinates: ArrayLike) -> Array:
    """E_P with ṗ = E_P (ρ̇, θ̇, ż): columns e_ρ, ρ e_θ, e_z in Cartesian axes."""
    rho, theta, _ = _cylindrical(coordinates)
    c, s, none = np.cos(theta), np.sin(theta), np.zeros_like(rho)
    return _matrix([[c, -rho * s, none], [s, rho * c, none], [none, none, none + 1.0]])


def spherical_rate_matrix(coordinates: ArrayLike) -> Array:
    """E_P with ṗ = E_P (ṙ, θ̇, φ̇): columns e_r, r sin φ e_θ, r e_φ in Cartesian axes."""
    r, theta, phi = _spherical(coordinates)
    ct, st, cp, sp = np.cos(theta), np.sin(theta), np.cos(phi), np.sin(phi)
    last = [cp, np.zeros_like(r), -r * sp]
    return _matrix([[ct * sp, -r * st * sp, r * ct * cp], [st * sp, r * ct * sp, r * st * cp], last])


def velocity_from_cylindrical_rate(coordinates: ArrayLike, rate: ArrayLike) -> Array:
    """ṗ = E_P (ρ̇, θ̇, ż), m/s in Cartesian axes."""
    return times(cylindrical_rate_matrix(coordinates), inputs.vector(rate, "rate"))


def cylindrical_rate_from_velocity(coordinates: ArrayLike, velocity: ArrayLike) -> Array:
    """(ρ̇, θ̇, ż) = E_P⁻¹ ṗ; refused (Singular) on the z axis."""
    E = inverse(cylindrical_rate_matrix(coordinates), f"cylindrical rates at {coordinates}", NEAREST_AXIS)
    return times(E, inputs.vector(velocity, "velocity"))


def velocity_from_spherical_rate(coordinates: ArrayLike, rate: ArrayLike) -> Array:
    """ṗ = E_P (ṙ, θ̇, φ̇), m/s in Cartesian axes."""
    return times(spherical_rate_matrix(coordinates), inputs.vector(rate, "rate"))


def spherical_rate_from_velocity(coordinates: ArrayLike, velocity: ArrayLike) -> Array:
    """(ṙ, θ̇, φ̇) = E_P⁻¹ ṗ; refused (Singular) on the z axis, the origin included."""
    E = inverse(spherical_rate_matrix(coordinates), f"spherical rates at {coordinates}", NEAREST_AXIS)
    return times(E, inputs.vector(velocity, "velocity"))


def _cylindrical(coordinates: ArrayLike) -> list[Array]:
    parts = _parts(inputs.vector(coordinates, "cylindrical coordinates (ρ, θ, z)"))
    if np.any(parts[0] < 0.0):
        raise InvalidInput(f"the cylindrical radius ρ must be at least 0, got {parts[0].min():g}")
    return parts


def _spherical(coordinates: ArrayLike) -> list[Array]:
    parts = r, _, phi = _parts(inputs.vector(coordinates, "spherical coordinates (r, θ, φ)"))
    if np.any(r < 0.0):
        raise InvalidInput(f"the spherical radius r must be at least 0, got {r.min():g}")
    if np.any(outside := (phi < 0.0) | (phi > np.pi)):
        raise InvalidInput(
            f"the polar angle φ must lie in [0, π], got {phi[outside].flat[0]:g}",
            hint="the order is (r, θ azimuth, φ polar)",
        )
    return parts


def _parts(vectors: Array) -> list[Array]:
    return [vectors[..., i] for i in range(3)]


def _matrix(entries: list[list[Array]]) -> Array:
    return np.stack([np.stack(row, axis=-1) for row in entries], axis=-2)

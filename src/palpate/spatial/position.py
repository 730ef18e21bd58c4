"""Positions in Cartesian, cylindrical and spherical coordinates, and their rates.

Cylindrical (ρ, θ, z): ρ ≥ 0 from the z axis, θ the azimuth from x towards y. Spherical (r, θ, φ): r ≥ 0 from
the origin, θ the same azimuth, φ in [0, π] down from the z axis. Metres and radians. On the z axis every
azimuth is right: 0 is returned there, and rates are refused.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from palpate.checks import Array
from palpate.errors import InvalidInput
from palpate.spatial.inputs import checked_vector, inverse

NEAREST_AXIS = 1e-9
"""Distance from the z axis, m, within which azimuth rates are refused."""


def cartesian_from_cylindrical(coordinates: ArrayLike) -> Array:
    """(x, y, z) = (ρ cos θ, ρ sin θ, z), m."""
    rho, theta, z = _cylindrical(coordinates)
    return np.array([rho * math.cos(theta), rho * math.sin(theta), z])


def cylindrical_from_cartesian(position: ArrayLike) -> Array:
    """(ρ, θ, z) = (√(x² + y²), atan2(y, x), z), θ in (−π, π]."""
    x, y, z = checked_vector(position, "position") + 0.0  # −0 would move the azimuth by π
    return np.array([math.hypot(x, y), math.atan2(y, x), z])


def cartesian_from_spherical(coordinates: ArrayLike) -> Array:
    """(x, y, z) = r (cos θ sin φ, sin θ sin φ, cos φ), m."""
    r, theta, phi = _spherical(coordinates)
    rho = r * math.sin(phi)
    return np.array([rho * math.cos(theta), rho * math.sin(theta), r * math.cos(phi)])


def spherical_from_cartesian(position: ArrayLike) -> Array:
    """(r, θ, φ) = (|p|, atan2(y, x), atan2(√(x² + y²), z)), θ in (−π, π], φ in [0, π]."""
    x, y, z = checked_vector(position, "position") + 0.0
    return np.array([math.hypot(x, y, z), math.atan2(y, x), math.atan2(math.hypot(x, y), z)])


def cylindrical_rate_matrix(coordinates: ArrayLike) -> Array:
    """E_P with ṗ = E_P (ρ̇, θ̇, ż): columns e_ρ, ρ e_θ, e_z in Cartesian axes."""
    rho, theta, _ = _cylindrical(coordinates)
    c, s = math.cos(theta), math.sin(theta)
    return np.array([[c, -rho * s, 0.0], [s, rho * c, 0.0], [0.0, 0.0, 1.0]])


def spherical_rate_matrix(coordinates: ArrayLike) -> Array:
    """E_P with ṗ = E_P (ṙ, θ̇, φ̇): columns e_r, r sin φ e_θ, r e_φ in Cartesian axes."""
    r, theta, phi = _spherical(coordinates)
    ct, st, cp, sp = math.cos(theta), math.sin(theta), math.cos(phi), math.sin(phi)
    return np.array([[ct * sp, -r * st * sp, r * ct * cp], [st * sp, r * ct * sp, r * st * cp], [cp, 0.0, -r * sp]])


def velocity_from_cylindrical_rate(coordinates: ArrayLike, rate: ArrayLike) -> Array:
    """ṗ = E_P (ρ̇, θ̇, ż), m/s in Cartesian axes."""
    return cylindrical_rate_matrix(coordinates) @ checked_vector(rate, "rate")


def cylindrical_rate_from_velocity(coordinates: ArrayLike, velocity: ArrayLike) -> Array:
    """(ρ̇, θ̇, ż) = E_P⁻¹ ṗ; refused (Singular) on the z axis."""
    E = inverse(cylindrical_rate_matrix(coordinates), f"cylindrical rates at {coordinates}", NEAREST_AXIS)
    return E @ checked_vector(velocity, "velocity")


def velocity_from_spherical_rate(coordinates: ArrayLike, rate: ArrayLike) -> Array:
    """ṗ = E_P (ṙ, θ̇, φ̇), m/s in Cartesian axes."""
    return spherical_rate_matrix(coordinates) @ checked_vector(rate, "rate")


def spherical_rate_from_velocity(coordinates: ArrayLike, velocity: ArrayLike) -> Array:
    """(ṙ, θ̇, φ̇) = E_P⁻¹ ṗ; refused (Singular) on the z axis, the origin included."""
    E = inverse(spherical_rate_matrix(coordinates), f"spherical rates at {coordinates}", NEAREST_AXIS)
    return E @ checked_vector(velocity, "velocity")


def _cylindrical(coordinates: ArrayLike) -> Array:
    checked = checked_vector(coordinates, "cylindrical coordinates (ρ, θ, z)")
    if checked[0] < 0.0:
        raise InvalidInput(f"the cylindrical radius ρ must be at least 0, got {checked[0]:g}")
    return checked


def _spherical(coordinates: ArrayLike) -> Array:
    checked = checked_vector(coordinates, "spherical coordinates (r, θ, φ)")
    if checked[0] < 0.0:
        raise InvalidInput(f"the spherical radius r must be at least 0, got {checked[0]:g}")
    if not 0.0 <= checked[2] <= math.pi:
        raise InvalidInput(
            f"the polar angle φ must lie in [0, π], got {checked[2]:g}",
            hint="the order is (r, θ azimuth, φ polar)",
        )
    return checked

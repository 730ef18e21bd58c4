"""Cartesian, cylindrical and spherical coordinates, and velocities through the E_P matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from palpate import spatial as sp
from palpate.errors import BadShape, InvalidInput, NotFinite, Singular

quick = settings(deadline=None, max_examples=100)
points = arrays(float, 3, elements=st.floats(-1e3, 1e3))
rates = arrays(float, 3, elements=st.floats(-1.0, 1.0))
off_axis = st.tuples(st.floats(0.1, 5.0), st.floats(-3.0, 3.0), st.floats(0.1, 3.0)).map(np.array)

KINDS = {
    "cylindrical": (
        sp.cartesian_from_cylindrical,
        sp.velocity_from_cylindrical_rate,
        sp.cylindrical_rate_from_velocity,
    ),
    "spherical": (sp.cartesian_from_spherical, sp.velocity_from_spherical_rate, sp.spherical_rate_from_velocity),
}


@quick
@given(points)
def test_a_point_comes_back_from_cylindrical_and_spherical_coordinates(p: np.ndarray):
    scale = max(1.0, float(np.abs(p).max()))
    assert np.allclose(sp.cartesian_from_cylindrical(sp.cylindrical_from_cartesian(p)), p, rtol=0, atol=1e-15 * scale)
    assert np.allclose(sp.cartesian_from_spherical(sp.spherical_from_cartesian(p)), p, rtol=0, atol=2e-15 * scale)


def test_known_points_have_known_coordinates():
    assert np.allclose(sp.cylindrical_from_cartesian([0, 2, 5]), [2, math.pi / 2, 5])
    assert np.allclose(sp.cylindrical_from_cartesian([3, -4, 5]), [5, -math.atan2(4, 3), 5])
    assert np.allclose(sp.spherical_from_cartesian([0, -2, 0]), [2, -math.pi / 2, math.pi / 2])
    assert np.allclose(sp.spherical_from_cartesian([1, 0, -1]), [math.sqrt(2), 0, 3 * math.pi / 4])
    assert np.allclose(sp.cartesian_from_spherical([2, 0, 0]), [0, 0, 2])


def test_the_azimuth_on_the_axis_is_zero_whatever_the_sign_of_zero():
    for x in (0.0, -0.0):
        for y in (0.0, -0.0):
            assert sp.cylindrical_from_cartesian([x, y, 1])[1] == 0.0
            assert sp.spherical_from_cartesian([x, y, -1])[1] == 0.0
    assert sp.cylindrical_from_cartesian([-1, -0.0, 0])[1] == math.pi


@pytest.mark.parametrize("kind", KINDS)
@quick
@given(coordinates=off_axis, rate=rates)
def test_velocity_is_the_derivative_of_position(kind: str, coordinates: np.ndarray, rate: np.ndarray):
    position, velocity, back = KINDS[kind]
    step = 1e-5
    slope = (position(coordinates + step * rate) - position(coordinates - step * rate)) / (2 * step)
    found = velocity(coordinates, rate)
    assert np.allclose(found, slope, rtol=0, atol=3e-9)  # truncation of the difference, step² × radius
    assert np.allclose(back(coordinates, found), rate, atol=1e-12)


@pytest.mark.parametrize("radius", [0.0, 1e-10])
def test_rates_on_the_axis_are_refused_with_the_singular_value(radius: float):
    with pytest.raises(Singular, match=r"cylindrical rates.*smallest singular") as caught:
        sp.cylindrical_rate_from_velocity([radius, 0.3, 1.0], [1, 0, 0])
    assert caught.value.smallest_singular_value == pytest.approx(radius, abs=1e-20)
    with pytest.raises(Singular, match="spherical rates"):
        sp.spherical_rate_from_velocity([1.0, 0.3, radius], [1, 0, 0])
    with pytest.raises(Singular, match="spherical rates"):
        sp.spherical_rate_from_velocity([radius, 0.3, 1.0], [1, 0, 0])


def test_coordinates_outside_their_range_are_refused():
    with pytest.raises(InvalidInput, match=r"cylindrical radius ρ.*least 0, got -1"):
        sp.cartesian_from_cylindrical([-1, 0, 0])
    with pytest.raises(InvalidInput, match=r"spherical.*0, got -2"):
        sp.cartesian_from_spherical([-2, 0, 0])
    with pytest.raises(InvalidInput, match=r"polar angle φ.*lie.*\[0, π\], got 4"):
        sp.spherical_rate_matrix([1, 0, 4])
    with pytest.raises(NotFinite, match=r"position.*finite.*nan.*index 1"):
        sp.spherical_from_cartesian([0, np.nan, 0])
    with pytest.raises(BadShape):
        sp.cylindrical_from_cartesian([0, 1])

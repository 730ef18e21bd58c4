"""What this room refuses, and what its messages say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate import spatial as sp
from palpate.errors import BadRotation, BadShape, InvalidInput, NotFinite, UnknownName
from palpate.spatial.inputs import quat as checked_quat, rotation as checked_rotation

TAKES_MATRIX = [
    sp.quat_from_matrix,
    sp.rotation_vector_from_matrix,
    sp.angle_axis_from_matrix,
    lambda R: sp.euler_from_matrix(R, "XYZ"),
    lambda R: sp.rotation_error(R, np.eye(3)),
    lambda R: sp.rotation_error(np.eye(3), R),
    lambda R: sp.interpolate_rotation(np.eye(3), R, 0.5),
    lambda R: sp.Pose(np.zeros(3), R),
    lambda R: sp.rotate_axes(R, np.zeros(6)),
    lambda R: sp.matrix_rate_from_angular_velocity(R, np.zeros(3)),
    lambda R: sp.angular_velocity_from_matrix_rate(R, np.zeros((3, 3))),
]
TAKES_QUAT = [
    sp.matrix_from_quat,
    sp.rotation_vector_from_quat,
    sp.angle_axis_from_quat,
    sp.quat_conjugate,
    sp.quat_rate_matrix,
    lambda q: sp.quat_multiply(q, [1, 0, 0, 0]),
    lambda q: sp.quat_multiply([1, 0, 0, 0], q),
    lambda q: sp.rotate(q, np.zeros(3)),
    lambda q: sp.euler_from_quat(q, "ZYZ"),
    lambda q: sp.interpolate_quat(q, [1, 0, 0, 0], 0.5),
    lambda q: sp.Pose.from_quat(np.zeros(3), q),
    lambda q: sp.quat_rate_from_angular_velocity(q, np.zeros(3)),
    lambda q: sp.angular_velocity_from_quat_rate(q, np.zeros(4)),
]


@pytest.mark.parametrize("function", TAKES_MATRIX)
def test_what_is_no_rotation_matrix_is_refused_with_its_defect(function):
    with pytest.raises(BadRotation, match=r"orthonormal.*1e-06, but RᵀR − I reaches 8"):
        function(np.diag([1.0, 2.0, 3.0]))
    with pytest.raises(BadRotation, match=r"determinant \+1, got -1: a reflection"):
        function(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(BadRotation, match="reaches 1"):
        function(np.zeros((3, 3)))
    with pytest.raises(NotFinite, match=r"finite.*nan.*index \(0, 1\)"):
        function([[1, np.nan, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(BadShape, match=r"shape \(3, 3\), got \(4, 4\)"):
        function(np.eye(4))


@pytest.mark.parametrize("function", TAKES_QUAT)
def test_what_is_no_unit_quaternion_is_refused_with_its_norm(function):
    with pytest.raises(BadRotation, match=r"norm 0.*no direction"):
        function(np.zeros(4))
    with pytest.raises(BadRotation, match=r"got norm 2 from .*\n  hint: divide"):
        function([2.0, 0, 0, 0])
    with pytest.raises(NotFinite, match="got inf at index 3"):
        function([1.0, 0, 0, np.inf])
    with pytest.raises(BadShape, match=r"shape \(4,\), got \(3,\)"):
        function([1.0, 0, 0])


def test_a_huge_matrix_is_refused_although_its_products_overflow():
    with pytest.raises(BadRotation):
        sp.quat_from_matrix(np.full((3, 3), 1e300))


@pytest.mark.parametrize("axis", [[0, 0, 0], [1, 1, 0]])
def test_an_axis_that_is_not_a_unit_vector_is_refused(axis: list[float]):
    with pytest.raises(BadRotation, match=r"axis.*unit axis"):
        sp.matrix_from_angle_axis(0.3, axis)
    with pytest.raises(BadRotation, match=r"axis.*unit axis"):
        sp.angle_axis_rate_matrix(0.3, axis)


def test_a_matrix_within_tolerance_becomes_the_nearest_rotation():
    R = Rotation.from_rotvec([0.3, -2.0, 1.0]).as_matrix()
    bent = np.round(R, 7)
    U, _, Vt = np.linalg.svd(bent)
    found = checked_rotation(bent, "R")
    assert np.allclose(found, U @ Vt, atol=1e-15)
    assert np.abs(found.T @ found - np.eye(3)).max() < 1e-14
    assert checked_rotation(found, "R") is found


def test_a_quaternion_within_tolerance_is_normalised_and_an_exact_one_is_kept_to_the_bit():
    q = np.array([0.5, -0.5, 0.5, 0.5])
    assert np.allclose(checked_quat(q * (1 + 9e-7), "q"), q, atol=2e-16)
    assert np.array_equal(checked_quat(q, "q"), q)
    with pytest.raises(BadRotation):
        checked_quat(q * (1 + 1.1e-6), "q")


def test_an_absurdly_long_rotation_vector_is_refused():
    with pytest.raises(InvalidInput, match=r"most 1e\+06 rad long"):
        sp.matrix_from_rotation_vector([0, 1e200, 0])
    with pytest.raises(InvalidInput, match=r"angular.*twist"):
        sp.Pose.exp([0, 0, 0, 0, 0, 1e7])


def test_misspelt_axes_are_refused():
    with pytest.raises(UnknownName, match="unknown axes 'bodi'; known: body, world"):
        sp.quat_rate_matrix([1, 0, 0, 0], "bodi")  # pyright: ignore[reportArgumentType]


def test_a_number_that_is_not_finite_is_refused_by_name():
    with pytest.raises(NotFinite, match=r"s.*finite"):
        sp.interpolate_quat([1, 0, 0, 0], [1, 0, 0, 0], np.nan)
    with pytest.raises(NotFinite, match=r"angle.*finite"):
        sp.matrix_from_angle_axis(np.inf, [1, 0, 0])
    with pytest.raises(NotFinite, match=r"vectors.*finite"):
        sp.rotate([1, 0, 0, 0], [[0, 0, 0], [0, np.nan, 0]])
    with pytest.raises(BadShape, match=r"\(3,\), or \(…, 3\).*batch"):
        sp.rotate([1, 0, 0, 0], np.zeros((3, 2)))

"""Rotations: conversions, products, errors and interpolation, with scipy's Rotation as witness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation, Slerp

from palpate import spatial as sp

quick = settings(deadline=None, max_examples=60)
vectors = arrays(float, 3, elements=st.floats(-3.0, 3.0))
rotations = vectors.map(lambda r: Rotation.from_rotvec(r).as_matrix())


@quick
@given(vectors)
def test_every_representation_agrees_with_scipy(r: np.ndarray):
    witness = Rotation.from_rotvec(r)
    R, q = witness.as_matrix(), witness.as_quat(scalar_first=True)
    assert np.allclose(sp.matrix_from_rotation_vector(r), R, atol=1e-15)
    assert np.allclose(sp.matrix_from_quat(q), R, atol=1e-15)
    assert np.allclose(sp.quat_from_matrix(R), np.copysign(1.0, q[0]) * q, atol=1e-15)
    assert np.allclose(sp.rotation_vector_from_matrix(R), witness.as_rotvec(), atol=4e-15)
    assert np.allclose(sp.rotation_vector_from_quat(q), witness.as_rotvec(), atol=1e-15)
    angle, axis = sp.angle_axis_from_matrix(R)
    assert angle == pytest.approx(witness.magnitude(), abs=4e-15)
    assert np.allclose(sp.matrix_from_angle_axis(angle, axis), R, atol=4e-15)
    assert abs(sp.quat_from_angle_axis(angle, axis) @ q) == pytest.approx(1.0, abs=1e-15)
    assert np.allclose(sp.angle_axis_from_quat(q)[1], axis, atol=1e-12) or angle < 1e-3


@quick
@given(vectors, st.floats(-10.0, 10.0))
def test_angle_and_axis_make_the_rotation_vector(v: np.ndarray, angle: float):
    if np.linalg.norm(v) < 1e-3:
        return
    axis = v / np.linalg.norm(v)
    assert np.allclose(
        sp.matrix_from_angle_axis(angle, axis), Rotation.from_rotvec(angle * axis).as_matrix(), atol=4e-15
    )
    found_angle, found_axis = sp.angle_axis_from_rotation_vector(angle * axis)
    assert found_angle == pytest.approx(abs(angle), rel=1e-14)
    assert np.linalg.norm(found_axis) == pytest.approx(1.0, abs=4e-16)


def test_no_rotation_has_the_x_axis_and_a_tiny_one_keeps_its_own():
    assert sp.angle_axis_from_matrix(np.eye(3))[0] == 0.0
    assert np.array_equal(sp.angle_axis_from_quat([1, 0, 0, 0])[1], [1, 0, 0])
    angle, axis = sp.angle_axis_from_rotation_vector([0.0, -3e-200, 4e-200])
    assert angle == pytest.approx(5e-200, rel=1e-15)
    assert np.allclose(axis, [0, -0.6, 0.8], atol=1e-15)


@quick
@given(rotations, rotations, rotations)
def test_quaternion_products_form_a_group(A: np.ndarray, B: np.ndarray, C: np.ndarray):
    a, b, c = map(sp.quat_from_matrix, (A, B, C))
    left, right = sp.quat_multiply(sp.quat_multiply(a, b), c), sp.quat_multiply(a, sp.quat_multiply(b, c))
    assert np.allclose(left, right, atol=1e-15)
    assert np.allclose(sp.quat_multiply(a, sp.quat_conjugate(a)), [1, 0, 0, 0], atol=1e-15)
    assert np.allclose(sp.quat_multiply([1, 0, 0, 0], a), a, atol=1e-16)
    assert np.allclose(sp.matrix_from_quat(sp.quat_multiply(a, b)), A @ B, atol=2e-15)


@quick
@given(rotations, vectors)
def test_rotating_many_vectors_is_rotating_each(R: np.ndarray, v: np.ndarray):
    q = sp.quat_from_matrix(R)
    assert np.allclose(sp.rotate(q, v), R @ v, atol=4e-15)
    assert np.allclose(sp.rotate(q, [v, 2 * v]), [R @ v, 2 * R @ v], atol=1e-14)


def test_the_quaternion_example_of_document_003_gives_minus_x():
    half = math.sqrt(0.5)
    assert np.allclose(sp.rotate([half, 0, 0, half], [0, 1, 0]), [-1, 0, 0], atol=1e-15)


@pytest.mark.parametrize("angle", [1e-15, 1e-12, 1e-9, 1e-8, 1e-6, 1e-4])
def test_near_zero_log_undoes_exp_to_twelve_digits(angle: float):
    r = angle * np.array([2.0, -1.0, 2.0]) / 3.0
    for found in (
        sp.rotation_vector_from_matrix(sp.matrix_from_rotation_vector(r)),
        sp.rotation_vector_from_quat(sp.quat_from_rotation_vector(r)),
    ):
        assert np.allclose(found, r, rtol=1e-12, atol=0)


@pytest.mark.parametrize("gap", [1e-13, 1e-9, 1e-8, 1e-7, 1e-5])
def test_near_half_a_turn_log_undoes_exp(gap: float):
    r = (math.pi - gap) * np.array([2.0, -1.0, 2.0]) / 3.0
    found = sp.rotation_vector_from_matrix(Rotation.from_rotvec(r).as_matrix())
    assert np.allclose(found, r, rtol=0, atol=1e-12)


@quick
@given(rotations, rotations)
def test_the_error_is_desired_minus_measured_in_world_axes(D: np.ndarray, M: np.ndarray):
    error = sp.rotation_error(D, M)
    assert np.allclose(sp.matrix_from_rotation_vector(error) @ M, D, atol=4e-15)
    assert np.linalg.norm(error) <= math.pi + 1e-15
    if np.linalg.norm(error) < math.pi - 1e-6:
        assert np.allclose(D.T @ error, sp.rotation_vector_from_matrix(M.T @ D), atol=1e-14)
        assert np.allclose(M.T @ error, sp.rotation_vector_from_matrix(M.T @ D), atol=1e-14)


def test_a_desired_turn_to_the_left_is_a_positive_error_about_z():
    ahead = sp.matrix_from_rotation_vector([0, 0, 0.3])
    assert np.allclose(sp.rotation_error(ahead, np.eye(3)), [0, 0, 0.3])


@quick
@given(vectors, vectors, st.floats(0.0, 1.0))
def test_interpolation_is_slerp_by_the_shorter_way(r: np.ndarray, s: np.ndarray, share: float):
    A, B = Rotation.from_rotvec(r), Rotation.from_rotvec(s)
    if (B * A.inv()).magnitude() > math.pi - 1e-6:
        return  # two shorter ways
    expected = Slerp([0, 1], Rotation.concatenate([A, B]))(share).as_matrix()
    assert np.allclose(sp.interpolate_rotation(A.as_matrix(), B.as_matrix(), share), expected, atol=1e-14)
    a, b = A.as_quat(scalar_first=True), B.as_quat(scalar_first=True)
    for end in (b, -b):
        assert np.allclose(sp.matrix_from_quat(sp.interpolate_quat(a, end, share)), expected, atol=1e-14)


def test_inputs_are_never_changed():
    q, R = np.array([1.0 + 5e-7, 0, 0, 0]), np.eye(3) * (1 + 1e-7)
    q_before, R_before = q.copy(), R.copy()
    assert np.array_equal(sp.matrix_from_quat(q), np.eye(3))
    assert np.array_equal(sp.quat_from_matrix(R), [1, 0, 0, 0])
    sp.quat_multiply(q, q)
    assert np.array_equal(q, q_before)
    assert np.array_equal(R, R_before)

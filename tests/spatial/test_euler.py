"""Euler angles in all 24 sequences, with scipy's Rotation as witness."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from palpate import spatial as sp
from palpate.errors import NotFinite, UnknownName

quick = settings(deadline=None, max_examples=30)
angles = arrays(float, 3, elements=st.floats(-7.0, 7.0))
each_sequence = pytest.mark.parametrize("sequence", sp.SEQUENCES)


def locked(sequence: str, end: float) -> float:
    """A middle angle in gimbal lock."""
    return end * math.pi / 2 if len(set(sequence)) == 3 else (math.pi if end > 0 else 0.0)


def test_there_are_24_sequences():
    assert len(sp.SEQUENCES) == len(set(sp.SEQUENCES)) == 24


@each_sequence
@quick
@given(phi=angles)
def test_matrices_and_quaternions_of_angles_agree_with_scipy(sequence: str, phi: np.ndarray):
    witness = Rotation.from_euler(sequence, phi)
    assert np.allclose(sp.matrix_from_euler(phi, sequence), witness.as_matrix(), atol=2e-15)
    assert abs(sp.quat_from_euler(phi, sequence) @ witness.as_quat(scalar_first=True)) == pytest.approx(1, abs=1e-15)


@each_sequence
@quick
@given(r=arrays(float, 3, elements=st.floats(-3.0, 3.0)))
def test_angles_of_any_rotation_give_it_back_and_stay_in_range(sequence: str, r: np.ndarray):
    R = Rotation.from_rotvec(r).as_matrix()
    phi = sp.euler_from_matrix(R, sequence)
    assert np.allclose(
        sp.matrix_from_euler(phi, sequence), R, atol=3e-13
    )  # lock sets in at 1e-13, and three entries share its error
    assert (np.abs(phi) <= math.pi).all()
    low, high = (-math.pi / 2, math.pi / 2) if len(set(sequence)) == 3 else (0.0, math.pi)
    assert low <= phi[1] <= high


@each_sequence
def test_angles_away_from_lock_are_those_of_scipy(sequence: str):
    rng = np.random.default_rng(11)
    for witness in Rotation.random(50, rng=rng):
        found = sp.euler_from_matrix(witness.as_matrix(), sequence)
        assert np.allclose(found, witness.as_euler(sequence), atol=1e-12)
        q = witness.as_quat(scalar_first=True)
        assert np.allclose(sp.euler_from_quat(q, sequence), found, atol=1e-12)


@each_sequence
@pytest.mark.parametrize("end", [-1.0, 1.0])
@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-9, 1e-6])
def test_at_and_near_gimbal_lock_the_angles_still_give_the_rotation(sequence: str, end: float, gap: float):
    middle = locked(sequence, end) + (-gap if end > 0 else gap)
    R = sp.matrix_from_euler([0.7, middle, -0.4], sequence)
    phi = sp.euler_from_matrix(R, sequence)
    assert np.allclose(sp.matrix_from_euler(phi, sequence), R, rtol=0, atol=2e-13)


@each_sequence
@pytest.mark.parametrize("end", [-1.0, 1.0])
def test_at_gimbal_lock_the_last_angle_is_zero(sequence: str, end: float):
    R = sp.matrix_from_euler([0.7, locked(sequence, end), -0.4], sequence)
    phi = sp.euler_from_matrix(R, sequence)
    assert abs(phi[2]) < 1e-15
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of the lock
        assert np.allclose(phi[0], Rotation.from_matrix(R).as_euler(sequence)[0], atol=1e-12)


def test_upper_case_turns_about_moving_axes_and_lower_case_about_fixed_ones():
    phi = [0.3, -0.5, 0.8]
    x, y, z = (sp.matrix_from_rotation_vector(angle * axis) for angle, axis in zip(phi, np.eye(3)))
    assert np.allclose(sp.matrix_from_euler(phi, "XYZ"), x @ y @ z, atol=1e-15)
    assert np.allclose(sp.matrix_from_euler(phi, "xyz"), z @ y @ x, atol=1e-15)


def test_the_rotation_matrix_of_document_003_is_yaw_pitch_roll():
    yaw, pitch, roll = 0.3, -0.5, 0.8
    (cy, sy), (cp, sp_), (cr, sr) = ((math.cos(a), math.sin(a)) for a in (yaw, pitch, roll))
    printed = [
        [cy * cp, cy * sp_ * sr - sy * cr, cy * sp_ * cr + sy * sr],
        [sy * cp, sy * sp_ * sr + cy * cr, sy * sp_ * cr - cy * sr],
        [-sp_, cp * sr, cp * cr],
    ]
    assert np.allclose(sp.matrix_from_euler([yaw, pitch, roll], "ZYX"), printed, atol=1e-15)


@pytest.mark.parametrize("sequence", ["XXY", "xYz", "ABC", "", "XY", "xyzx"])
def test_an_unknown_sequence_is_refused_with_the_list(sequence: str):
    with pytest.raises(UnknownName, match=r"unknown Euler sequence .* known: XYX, XYZ, .*zyz") as caught:
        sp.matrix_from_euler([0, 0, 0], sequence)
    assert caught.value.known == sorted(sp.SEQUENCES)
    with pytest.raises(UnknownName):
        sp.euler_from_matrix(np.eye(3), sequence)


def test_angles_that_are_not_numbers_are_refused():
    with pytest.raises(NotFinite, match=r"angles.*finite.*inf.*index 2"):
        sp.quat_from_euler([0, 0, np.inf], "XYZ")

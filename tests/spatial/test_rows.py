"""Rotations of whole channels, against SciPy and against the functions of one rotation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate import spatial
from palpate.errors import BadRotation, BadShape
from palpate.spatial import rows

RANDOM = np.random.default_rng(4)
A, B = (Rotation.random(50, rng=np.random.default_rng(seed)) for seed in (1, 2))


def quats(turn: Rotation) -> np.ndarray:
    return turn.as_quat(scalar_first=True)


def test_products_and_rotation_vectors_agree_with_scipy():
    found = rows.rotation_vectors(rows.product(quats(A), rows.conjugate(quats(B))))
    np.testing.assert_allclose(found, (A * B.inv()).as_rotvec(), atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-13, 1e-8, 1e-4, 1.0, 3.1])
def test_small_turns_keep_their_digits(angle):
    quat = np.array([[np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0]])
    np.testing.assert_allclose(rows.rotation_vectors(quat)[0, 0], angle, rtol=1e-12, atol=1e-300)


def test_a_channel_turns_its_vectors_sample_by_sample():
    vectors = RANDOM.normal(size=(50, 3))
    np.testing.assert_allclose(rows.rotate(quats(A), vectors), A.apply(vectors), atol=1e-14)


def test_exponentials_go_back_to_their_rotation_vectors():
    r = RANDOM.uniform(-1, 1, (50, 3))
    np.testing.assert_allclose(rows.rotation_vectors(rows.quats_from_rotation_vectors(r)), r, atol=1e-14)
    assert rows.quats_from_rotation_vectors(np.zeros((1, 3))).tolist() == [[1, 0, 0, 0]]


def test_unit_quaternions_have_length_one():
    assert np.linalg.norm(rows.unit(3.0 * quats(A)), axis=1) == pytest.approx(np.ones(50), abs=1e-15)


@pytest.mark.parametrize("sequence", ["XYZ", "zyx", "ZYZ"])
def test_euler_angles_of_a_channel_are_those_of_its_samples(sequence):
    found = spatial.euler_from_quat(quats(A), sequence)
    assert found.tolist() == [spatial.euler_from_quat(quat, sequence).tolist() for quat in quats(A)]
    np.testing.assert_allclose(found, A.as_euler(sequence), atol=1e-12)


def test_an_empty_channel_has_no_angles_and_a_wrong_one_is_refused():
    assert spatial.euler_from_quat(np.zeros((0, 4)), "XYZ").shape == (0, 3)
    with pytest.raises(BadShape):
        spatial.euler_from_quat(np.zeros((2, 3)), "XYZ")
    with pytest.raises(BadRotation):
        spatial.euler_from_quat([[1, 0, 0, 0], [2, 0, 0, 0]], "XYZ")

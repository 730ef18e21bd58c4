"""Poses: the group of rigid motions, its exponential and logarithm, with Pinocchio as witness where it is there."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm

from palpate.errors import BadRotation, BadShape, InvalidInput, NotFinite
from palpate.spatial import Pose, adjoint_twist, adjoint_wrench, matrix_from_rotation_vector, skew

quick = settings(deadline=None, max_examples=60)
vectors = arrays(float, 3, elements=st.floats(-2.0, 2.0))
poses = st.builds(lambda p, r: Pose(p, matrix_from_rotation_vector(r)), vectors, vectors)
twists = arrays(float, 6, elements=st.floats(-1.7, 1.7))  # |ω| < π


def close(X: Pose, Y: Pose, slack: float = 1e-14) -> bool:
    return bool(np.allclose(X.matrix, Y.matrix, rtol=0, atol=slack))


@quick
@given(poses, poses, poses)
def test_poses_form_a_group(A: Pose, B: Pose, C: Pose):
    assert close((A @ B) @ C, A @ (B @ C))
    assert close(A @ A.inverse(), Pose.identity())
    assert close(A.inverse() @ A, Pose.identity())
    assert close(A @ Pose.identity(), A, 0.0)
    assert np.allclose((A @ B).matrix, A.matrix @ B.matrix, atol=1e-14)


@quick
@given(poses, poses, vectors)
def test_a_pose_carries_points_from_its_frame_to_the_parent(X_AB: Pose, X_BC: Pose, p_C: np.ndarray):
    p_A = (X_AB @ X_BC).apply(p_C)
    assert np.allclose(p_A, X_AB.apply(X_BC.apply(p_C)), atol=1e-14)
    assert np.allclose(X_AB.apply([p_C, 2 * p_C]), [X_AB.apply(p_C), X_AB.apply(2 * p_C)], atol=1e-14)
    assert np.allclose([*X_AB.apply(p_C), 1.0], X_AB.matrix @ [*p_C, 1.0], atol=1e-14)


@quick
@given(twists)
def test_exp_is_the_matrix_exponential_and_log_undoes_it(twist: np.ndarray):
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = skew(twist[3:]), twist[:3]
    X = Pose.exp(twist)
    assert np.allclose(X.matrix, expm(generator), atol=1e-13)
    assert np.allclose(X.log(), twist, atol=1e-13)


@quick
@given(twists)
def test_exp_and_log_agree_with_pinocchio(twist: np.ndarray):
    pin = pytest.importorskip("pinocchio")
    X = Pose.exp(twist)
    assert np.allclose(X.matrix, pin.exp6(twist).homogeneous, atol=1e-14)
    assert np.allclose(X.log(), pin.log6(pin.SE3(X.rotation, X.position)).vector, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-15, 1e-9, 1e-8, 1e-4])
def test_near_no_rotation_log_undoes_exp_to_twelve_digits(angle: float):
    twist = np.array([0.3, -0.2, 0.5, *(angle * np.array([0.6, -0.64, 0.48]))])
    assert np.allclose(Pose.exp(twist).log(), twist, rtol=1e-12, atol=0)


@pytest.mark.parametrize("gap", [1e-13, 1e-9, 1e-8, 1e-7, 1e-4])
def test_near_half_a_turn_log_undoes_exp(gap: float):
    twist = np.array([0.3, -0.2, 0.5, *((math.pi - gap) * np.array([0.6, -0.64, 0.48]))])
    assert np.allclose(Pose.exp(twist).log(), twist, rtol=0, atol=1e-12)


def test_at_exactly_half_a_turn_exp_undoes_log():
    X = Pose([1, 2, 3], np.diag([-1.0, 1.0, -1.0]))
    assert np.allclose(X.log()[3:], [0, math.pi, 0])
    assert close(Pose.exp(X.log()), X)


@quick
@given(poses, poses, st.floats(0.0, 1.0))
def test_interpolation_is_one_screw_from_start_to_end(A: Pose, B: Pose, s: float):
    assert close(A.interpolate(B, 0.0), A)
    assert close(A.interpolate(B, 1.0), B, 1e-12)
    step = (A.inverse() @ B).log()
    if np.linalg.norm(step[3:]) < math.pi - 1e-6:
        assert np.allclose((A.inverse() @ A.interpolate(B, s)).log(), s * step, atol=1e-12)


@quick
@given(poses, poses)
def test_the_error_is_desired_minus_measured_in_world_axes(desired: Pose, measured: Pose):
    error = measured.error_to(desired)
    assert np.allclose(measured.position + error[:3], desired.position, atol=1e-15)
    assert np.allclose(matrix_from_rotation_vector(error[3:]) @ measured.rotation, desired.rotation, atol=1e-14)


@quick
@given(poses)
def test_a_pose_comes_back_from_its_quaternion_and_its_matrix(X: Pose):
    assert close(Pose.from_quat(X.position, X.quat_wxyz), X)
    assert close(Pose.from_matrix(X.matrix), X, 0.0)
    assert X.quat_wxyz[0] >= 0.0


def test_the_arrays_of_a_pose_are_read_only_copies():
    position, rotation = np.ones(3), np.eye(3)
    X = Pose(position, rotation)
    position[0] = rotation[0, 0] = 5.0
    for pose in (X, pickle.loads(pickle.dumps(X)), copy.deepcopy(X), X @ X, X.inverse()):
        assert pose.rotation[0, 0] == 1.0
        with pytest.raises(ValueError, match="read-only"):
            pose.position[0] = 2.0
        with pytest.raises(ValueError, match="read-only"):
            pose.rotation[0, 0] = 2.0
    assert np.array_equal(X.position, np.ones(3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        X.position = np.zeros(3)  # pyright: ignore[reportAttributeAccessIssue]


def test_a_long_chain_of_products_stays_a_rotation():
    step, X = Pose.exp([0.1, 0, 0, 0.3, -0.2, 0.1]), Pose.identity()
    for _ in range(2000):
        X = X @ step
    assert np.abs(X.rotation.T @ X.rotation - np.eye(3)).max() < 2e-14


def test_what_is_no_pose_is_refused():
    with pytest.raises(NotFinite, match=r"position.*finite"):
        Pose([0, np.nan, 0], np.eye(3))
    with pytest.raises(BadShape, match=r"position.*shape"):
        Pose([0, 0], np.eye(3))
    with pytest.raises(BadRotation, match=r"rotation.*orthonormal"):
        Pose([0, 0, 0], 2 * np.eye(3))
    with pytest.raises(BadShape, match=r"matrix.*shape \(4, 4\)"):
        Pose.from_matrix(np.eye(3))
    transposed = Pose([1, 2, 3], np.eye(3)).matrix.T
    with pytest.raises(InvalidInput, match=r"last row .* must be 0 0 0 1, got \[1. 2. 3. 1.\]\n  hint: is it trans"):
        Pose.from_matrix(transposed)
    with pytest.raises(BadShape, match="twist"):
        Pose.exp([0, 0, 1])
    with pytest.raises(BadShape, match=r"points.*shape \(3,\)"):
        Pose.identity().apply([1, 2])


def test_only_poses_combine_with_poses():
    X = Pose.identity()
    matrix: Any = np.eye(4)
    for combine in (lambda Y: X @ Y, lambda Y: X.interpolate(Y, 0.5), X.error_to, adjoint_twist, adjoint_wrench):
        with pytest.raises(InvalidInput, match=r"Pose.*ndarray\n  hint: Pose.from_matrix"):
            combine(matrix)

"""Twists and wrenches between frames and points: definitions, power, and the adjoint of document 004."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from palpate.errors import BadShape, NotFinite
from palpate.spatial import (
    Pose,
    adjoint_twist,
    adjoint_wrench,
    matrix_from_rotation_vector,
    rotate_axes,
    shift_twist,
    shift_wrench,
    skew,
)

quick = settings(deadline=None, max_examples=60)
vectors = arrays(float, 3, elements=st.floats(-2.0, 2.0))
sixes = arrays(float, 6, elements=st.floats(-2.0, 2.0))
poses = st.builds(lambda p, r: Pose(p, matrix_from_rotation_vector(r)), vectors, vectors)


def hat(twist: np.ndarray) -> np.ndarray:
    out = np.zeros((4, 4))
    out[:3, :3], out[:3, 3] = skew(twist[3:]), twist[:3]
    return out


@quick
@given(poses, sixes)
def test_the_adjoint_of_twists_is_conjugation_by_the_pose(X_AB: Pose, V_B: np.ndarray):
    conjugated = X_AB.matrix @ hat(V_B) @ X_AB.inverse().matrix
    assert np.allclose(hat(adjoint_twist(X_AB) @ V_B), conjugated, atol=1e-13)


@quick
@given(poses, sixes, sixes)
def test_power_is_the_same_in_every_frame_and_at_every_point(X_AB: Pose, V_B: np.ndarray, F_B: np.ndarray):
    power = F_B @ V_B
    assert (adjoint_wrench(X_AB) @ F_B) @ (adjoint_twist(X_AB) @ V_B) == pytest.approx(power, abs=1e-12)
    r = X_AB.position
    assert shift_wrench(F_B, r) @ shift_twist(V_B, r) == pytest.approx(power, abs=1e-12)
    R = X_AB.rotation
    assert rotate_axes(R, F_B) @ rotate_axes(R, V_B) == pytest.approx(power, abs=1e-13)


@quick
@given(poses, poses)
def test_adjoints_compose_like_poses_and_invert_like_them(X_AB: Pose, X_BC: Pose):
    for adjoint in (adjoint_twist, adjoint_wrench):
        assert np.allclose(adjoint(X_AB @ X_BC), adjoint(X_AB) @ adjoint(X_BC), atol=1e-13)
        assert np.allclose(adjoint(X_AB.inverse()) @ adjoint(X_AB), np.eye(6), atol=1e-13)
    assert np.allclose(adjoint_wrench(X_AB) @ adjoint_twist(X_AB).T, np.eye(6), atol=1e-13)


@quick
@given(poses)
def test_adjoints_agree_with_pinocchio(X: Pose):
    pin = pytest.importorskip("pinocchio")
    witness = pin.SE3(X.rotation, X.position)
    assert np.allclose(adjoint_twist(X), witness.toActionMatrix(), atol=1e-15)
    assert np.allclose(adjoint_wrench(X), witness.toDualActionMatrix(), atol=1e-15)


@quick
@given(poses, sixes, sixes)
def test_an_adjoint_is_a_turn_of_axes_and_a_shift_of_point(X_AB: Pose, V_B: np.ndarray, F_B: np.ndarray):
    to_A = -X_AB.position  # from B's origin to A's, in A's axes
    assert np.allclose(adjoint_twist(X_AB) @ V_B, shift_twist(rotate_axes(X_AB.rotation, V_B), to_A), atol=1e-13)
    assert np.allclose(adjoint_wrench(X_AB) @ F_B, shift_wrench(rotate_axes(X_AB.rotation, F_B), to_A), atol=1e-13)


@quick
@given(sixes, vectors, vectors)
def test_a_shifted_twist_is_the_velocity_of_the_other_point(V: np.ndarray, p: np.ndarray, r_PQ: np.ndarray):
    # The body's point Q, moved for a short time by v at P and ω, as a trajectory.
    step = 1e-6
    v, omega = V[:3], V[3:]

    def point(t: float) -> np.ndarray:
        return p + t * v + matrix_from_rotation_vector(t * omega) @ r_PQ

    slope = (point(step) - point(-step)) / (2 * step)
    assert np.allclose(shift_twist(V, r_PQ)[:3], slope, rtol=0, atol=1e-8)  # rounding: ε·|p|/step
    assert np.array_equal(shift_twist(V, r_PQ)[3:], omega)


def test_a_force_above_a_point_has_a_lever_arm():
    at_tip = [1.0, 0, 0, 0, 0, 0]  # 1 N along x, acting at the tip, 2 m above the base
    assert np.allclose(shift_wrench(at_tip, [0, 0, -2.0]), [1, 0, 0, 0, 2, 0])
    assert np.allclose(adjoint_wrench(Pose([0, 0, 2.0], np.eye(3))) @ at_tip, [1, 0, 0, 0, 2, 0])


def test_the_adjoint_of_document_004_adds_a_moment_to_a_force_given_at_the_tool():
    X_0d = Pose([0.3, 0.2, 0.4], np.eye(3))
    wrench = np.array([1.0, 2.0, 3.0, 0, 0, 0])
    literal = adjoint_wrench(X_0d.inverse()) @ wrench
    assert np.allclose(literal[3:], [0.2, 0.5, -0.4], atol=1e-15)
    assert np.allclose(rotate_axes(X_0d.rotation.T, wrench), wrench, atol=0)


def test_the_adjoint_of_document_004_is_the_printed_block_matrix():
    X = Pose([0.3, -0.1, 0.7], matrix_from_rotation_vector([0.2, -0.9, 0.4]))
    R, S = X.rotation, skew(X.position)
    assert np.allclose(adjoint_wrench(X), np.block([[R, np.zeros((3, 3))], [S @ R, R]]), atol=0)


def test_malformed_twists_and_wrenches_are_refused():
    with pytest.raises(BadShape, match=r"twist.*shape \(6,\), got \(3,\)"):
        shift_twist([0, 0, 0], [0, 0, 0])
    with pytest.raises(NotFinite, match=r"wrench.*finite.*nan.*index 5"):
        shift_wrench([0, 0, 0, 0, 0, np.nan], [0, 0, 0])
    with pytest.raises(BadShape, match="r_PQ"):
        shift_wrench(np.zeros(6), [0, 0])

"""Angular velocity from the rates of each representation and back, against finite differences of the rotation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from palpate import spatial as sp
from palpate.errors import InvalidInput, NotFinite, Singular

quick = settings(deadline=None, max_examples=40)
vectors = arrays(float, 3, elements=st.floats(-1.5, 1.5))
rates = arrays(float, 3, elements=st.floats(-1.0, 1.0))
both_axes = pytest.mark.parametrize("axes", ["world", "body"])
STEP = 1e-5
# Rounding ε/STEP and truncation STEP² both stay below 1e-9.
SLACK: Any = {"rtol": 0.0, "atol": 1e-9}


def difference(rotation: Callable[[float], np.ndarray], axes: str) -> np.ndarray:
    """Angular velocity of R(t) at t = 0 by a central difference and the definition of ω."""
    R, R_rate = rotation(0.0), (rotation(STEP) - rotation(-STEP)) / (2 * STEP)
    S = R_rate @ R.T if axes == "world" else R.T @ R_rate
    return np.array([S[2, 1] - S[1, 2], S[0, 2] - S[2, 0], S[1, 0] - S[0, 1]]) / 2


def quat(r: np.ndarray) -> np.ndarray:
    return Rotation.from_rotvec(r).as_quat(scalar_first=True)


@both_axes
@quick
@given(r=vectors, omega=rates)
def test_matrix_rates_turn_into_angular_velocity_and_back(axes: Any, r: np.ndarray, omega: np.ndarray):
    R = Rotation.from_rotvec(r).as_matrix()
    rate = sp.matrix_rate_from_angular_velocity(R, omega, axes)
    assert np.allclose(sp.angular_velocity_from_matrix_rate(R, rate, axes), omega, atol=1e-15)

    def moved(t: float) -> np.ndarray:
        turn = sp.matrix_from_rotation_vector(t * omega)
        return turn @ R if axes == "world" else R @ turn

    assert np.allclose(difference(moved, axes), omega, **SLACK)
    assert np.allclose(rate, (moved(STEP) - moved(-STEP)) / (2 * STEP), **SLACK)


@both_axes
@quick
@given(r=vectors, omega=rates)
def test_quaternion_rates_hold_in_both_conventions(axes: Any, r: np.ndarray, omega: np.ndarray):
    q = quat(r)
    rate = sp.quat_rate_from_angular_velocity(q, omega, axes)
    pure = np.array([0.0, *omega])
    left, right = (pure, q) if axes == "world" else (q, pure)
    product = [
        left[0] * right[0] - left[1:] @ right[1:],
        *(left[0] * right[1:] + right[0] * left[1:] + np.cross(left[1:], right[1:])),
    ]
    assert np.allclose(rate, 0.5 * np.array(product), atol=1e-15)
    assert abs(rate @ q) < 1e-15
    assert np.allclose(sp.angular_velocity_from_quat_rate(q, rate, axes), omega, atol=1e-14)
    assert np.allclose(sp.quat_rate_matrix(q, axes) @ rate, omega, atol=1e-14)

    def moved(t: float) -> np.ndarray:
        return Rotation.from_quat(q + t * rate, scalar_first=True).as_matrix()

    assert np.allclose(difference(moved, axes), omega, **SLACK)


def test_the_quaternion_rate_matrix_printed_in_document_003_takes_body_angular_velocity():
    x, y, z = omega = np.array([0.4, -1.1, 0.7])
    q = quat(np.array([0.3, 0.9, -0.4]))
    printed = 0.5 * np.array([[0, -x, -y, -z], [x, 0, z, -y], [y, -z, 0, x], [z, y, -x, 0]]) @ q
    assert np.allclose(sp.quat_rate_from_angular_velocity(q, omega, "body"), printed, atol=1e-16)
    flipped = 0.5 * np.array([[0, -x, -y, -z], [x, 0, -z, y], [y, z, 0, -x], [z, -y, x, 0]]) @ q
    assert np.allclose(sp.quat_rate_from_angular_velocity(q, omega, "world"), flipped, atol=1e-16)


@both_axes
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-4, 1.0])
@quick
@given(r=vectors, rate=rates)
def test_rotation_vector_rates_agree_with_differences(axes: Any, size: float, r: np.ndarray, rate: np.ndarray):
    r = size * r
    omega = sp.angular_velocity_from_rotation_vector_rate(r, rate, axes)
    assert np.allclose(omega, difference(lambda t: sp.matrix_from_rotation_vector(r + t * rate), axes), **SLACK)
    assert np.allclose(sp.rotation_vector_rate_from_angular_velocity(r, omega, axes), rate, atol=1e-14)


@both_axes
@quick
@given(r=vectors, turn=rates, angle=st.floats(0.1, 6.0), angle_rate=st.floats(-1.0, 1.0))
def test_angle_axis_rates_agree_with_differences(
    axes: Any, r: np.ndarray, turn: np.ndarray, angle: float, angle_rate: float
):
    axis = Rotation.from_rotvec(r).as_matrix()[:, 0]
    axis_rate = np.cross(turn, axis)

    def moved(t: float) -> np.ndarray:
        return sp.matrix_from_angle_axis(angle + t * angle_rate, Rotation.from_rotvec(t * turn).apply(axis))

    omega = sp.angular_velocity_from_angle_axis_rate(angle, axis, angle_rate, axis_rate, axes)
    assert np.allclose(omega, difference(moved, axes), **SLACK)
    back = sp.angle_axis_rate_from_angular_velocity(angle, axis, omega, axes)
    assert back[0] == pytest.approx(angle_rate, abs=1e-13)
    assert np.allclose(back[1], axis_rate, atol=1e-13)


@both_axes
@pytest.mark.parametrize("sequence", sp.SEQUENCES)
@settings(deadline=None, max_examples=15)
@given(phi=vectors, rate=rates)
def test_euler_rates_agree_with_differences(axes: Any, sequence: str, phi: np.ndarray, rate: np.ndarray):
    omega = sp.angular_velocity_from_euler_rate(phi, rate, sequence, axes)
    # Three turns one after the other move on faster than one: truncation reaches a few STEP².
    witness = difference(lambda t: Rotation.from_euler(sequence, phi + t * rate).as_matrix(), axes)
    assert np.allclose(omega, witness, rtol=0, atol=3e-9)
    # The smallest singular value is known in closed form: √(1 − |sin β|), or √(1 − |cos β|) for a repeated axis.
    middle = abs(math.sin(phi[1]) if len(set(sequence)) == 3 else math.cos(phi[1]))
    smallest = math.sqrt(1 - middle)
    E = sp.euler_rate_matrix(phi, sequence, axes)
    assert np.linalg.svd(E, compute_uv=False)[-1] == pytest.approx(smallest, abs=2e-8)
    if smallest > 0.01:
        assert np.allclose(sp.euler_rate_from_angular_velocity(phi, omega, sequence, axes), rate, atol=1e-12)


@quick
@given(r=vectors, rate=rates)
def test_world_and_body_angular_velocity_differ_by_the_rotation(r: np.ndarray, rate: np.ndarray):
    phi, q = r, quat(r)
    for E, R in (
        (lambda axes: sp.rotation_vector_rate_matrix(r, axes), sp.matrix_from_rotation_vector(r)),
        (lambda axes: sp.euler_rate_matrix(phi, "ZXZ", axes), sp.matrix_from_euler(phi, "ZXZ")),
        (lambda axes: sp.euler_rate_matrix(phi, "yxz", axes), sp.matrix_from_euler(phi, "yxz")),
    ):
        assert np.allclose(E("world"), R @ E("body"), atol=4e-15)
    body_rate = sp.quat_rate_from_angular_velocity(q, rate, "body")
    world_rate = sp.quat_rate_from_angular_velocity(q, sp.matrix_from_quat(q) @ rate, "world")
    assert np.allclose(body_rate, world_rate, atol=1e-15)


def test_the_rate_matrix_of_document_004_is_the_general_one_for_intrinsic_xyz():
    omega = sp.angular_velocity_from_euler_rate([0.4, -0.6, 0.9], [0.3, -0.5, 0.8], "XYZ")
    assert omega[1] == pytest.approx(-0.7176511586, abs=5e-11)


@both_axes
@pytest.mark.parametrize("sequence", sp.SEQUENCES)
@pytest.mark.parametrize("gap", [0.0, 1e-8])
def test_euler_rates_at_gimbal_lock_are_refused_with_the_smallest_singular_value(axes: Any, sequence: str, gap: float):
    middle = (math.pi / 2 if len(set(sequence)) == 3 else 0.0) + gap
    with pytest.raises(Singular, match=f"Euler {sequence} rates .*gimbal lock.*smallest singular value") as caught:
        sp.euler_rate_from_angular_velocity([0.3, middle, 0.2], [1, 0, 0], sequence, axes)
    assert caught.value.smallest_singular_value == pytest.approx(gap / math.sqrt(2), abs=1e-15)


def test_rotation_vector_rates_are_refused_at_a_full_turn():
    with pytest.raises(Singular, match="rotation-vector rates"):
        sp.rotation_vector_rate_from_angular_velocity([0, 2 * math.pi, 0], [1, 0, 0])


@pytest.mark.parametrize("angle", [0.0, 1e-7, 2 * math.pi])
def test_angle_axis_rates_are_refused_where_the_axis_is_free(angle: float):
    with pytest.raises(Singular, match="angle-axis rates") as caught:
        sp.angle_axis_rate_from_angular_velocity(angle, [0, 0, 1], [1, 0, 0])
    assert caught.value.smallest_singular_value == pytest.approx(abs(2 * math.sin(angle / 2)), abs=1e-15)


def test_rates_that_leave_the_rotations_are_refused():
    with pytest.raises(InvalidInput, match=r"R_rate.*rotations: .*symmetric part reaches 2"):
        sp.angular_velocity_from_matrix_rate(np.eye(3), np.eye(3))
    with pytest.raises(InvalidInput, match=r"rate.*rotations: q · q̇ must be 0.*reaches 0.1"):
        sp.angular_velocity_from_quat_rate([1, 0, 0, 0], [0.1, 0, 0, 0])
    with pytest.raises(InvalidInput, match=r"axis_rate.*rotations: n · ṅ must be 0.*reaches 0.2"):
        sp.angular_velocity_from_angle_axis_rate(1.0, [0, 0, 1], 0.0, [0, 0, 0.2])


def test_an_angular_velocity_that_is_not_finite_is_refused():
    for back in (
        lambda w: sp.matrix_rate_from_angular_velocity(np.eye(3), w),
        lambda w: sp.quat_rate_from_angular_velocity([1, 0, 0, 0], w),
        lambda w: sp.rotation_vector_rate_from_angular_velocity([0, 0, 0], w),
        lambda w: sp.angle_axis_rate_from_angular_velocity(1.0, [1, 0, 0], w),
        lambda w: sp.euler_rate_from_angular_velocity([0, 0, 0], w, "XYZ"),
    ):
        with pytest.raises(NotFinite, match=r"omega.*finite.*nan.*index 1"):
            back([0.0, np.nan, 0.0])
